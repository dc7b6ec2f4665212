"""A loaded model and what it computes for sequences in memory.

Letters in shapes: n sequences, C hidden width, L residues of a sequence, V = 33 tokens of the vocabulary.
"""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Sequence, Union

import numpy as np

from biowarp import _core
from biowarp._progress import Bar
from biowarp.errors import InputError, UsageError
from biowarp.records import Record

__all__ = ["VOCABULARY", "MaskedPerplexity", "Model", "ModelInfo", "PseudoPerplexity"]

#: Tokens of ESM-2 in the order of the columns of :meth:`Model.logits`.
VOCABULARY: tuple[str, ...] = ("<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>")

Protein = Union[str, Record]
Progress = Union[bool, Callable[[int, int], object]]
FloatArray = np.ndarray


@dataclass(frozen=True)
class ModelInfo:
    """What a loaded model is.

    Attributes:
        name, path, format, hash: what was asked for, where it was found, its file format, a hash of its weights.
        layers, hidden, heads, feed_forward, vocabulary: sizes of the network.
        parameters: number of weights.
        weight_bytes: bytes they take in memory in ``dtype``.
        dtype: arithmetic of the matrix products: ``"f32"``, ``"bf16"`` or ``"int8"``.
        device: instruction set and processor.
        threads: threads that compute.
        lm_head, contact_head: whether :meth:`Model.logits` and :meth:`Model.contacts` work.
        demonstration: the model shipped with biowarp, chosen because no name was given. It is not Meta's ESM-2.
        notes: what a person should know about this checkpoint.
    """

    name: str
    path: str
    format: str
    hash: str
    layers: int
    hidden: int
    heads: int
    feed_forward: int
    vocabulary: int
    parameters: int
    weight_bytes: int
    dtype: str
    device: str
    threads: int
    lm_head: bool
    contact_head: bool
    demonstration: bool
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class MaskedPerplexity:
    """Result of :meth:`Model.perplexity`.

    Attributes:
        loss: mean negative log likelihood (natural log) over the scored residues.
        perplexity: exp(loss).
        positions: number of scored residues.
    """

    loss: float
    perplexity: float
    positions: int


@dataclass(frozen=True)
class PseudoPerplexity:
    """Result of :meth:`Model.pseudo_perplexity`.

    Attributes:
        pll_sum: sum of the residues' natural log likelihoods, each with only itself masked.
        pll_mean: pll_sum / positions.
        pppl: exp(-pll_mean).
        positions: number of residues.
    """

    pll_sum: float
    pll_mean: float
    pppl: float
    positions: int


class Model:
    """An ESM-2 model. Make one with :meth:`from_pretrained`.

    Calls may come from any number of threads (they take turns, the GIL is released), and from processes made by fork
    or spawn. Pickling keeps the name and options, and loads the model again where it is unpickled.
    """

    __slots__ = ("_core", "_info", "_options")

    _core: _core.Model
    _info: ModelInfo
    _options: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("use biowarp.Model.from_pretrained(name)")

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str] = "",
        *,
        revision: str = "",
        adapter: str | os.PathLike[str] = "",
        dtype: str = "f32",
        threads: int = 0,
        tanh_gelu: bool = False,
    ) -> Model:
        """Loads a model.

        Args:
            name: hub name (``"facebook/esm2_t33_650M_UR50D"``), short name (``"650M"``, ``"t33"``), folder, file,
                or ``"random:650M"`` for random weights. Empty: the small demonstration model shipped with biowarp, with
                a warning that says so.
            revision: branch, tag or commit on the hub; empty: main.
            adapter: folder of a PEFT LoRA adapter to merge into the weights.
            dtype: ``"f32"``, ``"bf16"`` or ``"int8"``, the arithmetic of the matrix products. Results are float32.
            threads: 0 for every processor this process may use.
            tanh_gelu: TransformerEngine's GELU in place of the exact one.

        Raises:
            UsageError: no such model or option; says where it was looked for.
            InputError: a checkpoint that cannot be read, with the full list of wrong tensors.
            DeviceError: the processor lacks what ``dtype`` needs, or memory is short.
        """
        options: dict[str, Any] = {
            "name": os.fspath(name),
            "revision": revision,
            "adapter": os.fspath(adapter),
            "dtype": dtype,
            "threads": threads,
            "tanh_gelu": tanh_gelu,
        }
        self = object.__new__(cls)
        self._core = _core.Model.load(
            options["name"], revision, options["adapter"], dtype, threads, tanh_gelu
        )
        self._info = ModelInfo(**self._core.info())
        self._options = options
        if self._info.demonstration:
            warnings.warn(
                f"using the demonstration model {self._info.name} that comes with biowarp. It is not Meta's ESM-2: "
                "name a model for real work",
                stacklevel=2,
            )
        return self

    @property
    def info(self) -> ModelInfo:
        """Sizes, origin and abilities of the model."""
        return self._info

    def encode(
        self,
        sequences: Protein | Iterable[Protein],
        pooling: str | Sequence[str] = "mean",
        layers: int | Sequence[int] = -1,
        tokens: int = 0,
        progress: Progress = False,
        per_residue: bool = False,
    ) -> FloatArray | list[FloatArray]:
        """Embeddings in the order of the input.

        Args:
            sequences: strings or :class:`Record` objects; or a single one, then the result has no axis n.
            pooling: ``"mean"`` over residues, ``"cls"`` (begin token), ``"max"`` over residues, ``"eos"`` (end
                token); or a list of these. Not used with ``per_residue``.
            layers: 0 (embedding) to ``info.layers``; negative counts from the end, -1 is the last one, after the
                final norm; or a list of these.
            tokens: token budget of a batch; 0: chosen from model and memory. Never changes a result.
            progress: True for a bar on standard error, or a function called with (sequences done, sequences in all).
                The function must not call this model.
            per_residue: one row per residue in place of one per protein.

        Returns:
            float32 array [n, C]; a list of poolings or layers, even of one, adds its axis: [n, poolings, layers, C].
            With ``per_residue`` a list of n float32 arrays [L, C], or [layers, L, C] for a list of layers, without
            rows for the begin and end tokens. A protein without residues has zeros as its mean and maximum.

        Raises:
            InputError: a letter that cannot be read; names sequence (from 1), character and column.
            UsageError: an unknown pooling or layer.
            DeviceError: a sequence too long for the memory of this machine.
            KeyboardInterrupt: between two batches.
        """
        texts, single = _texts(sequences)
        asked = [layers] if isinstance(layers, (int, np.integer)) else list(layers)
        ascending, order = self._resolve_layers(asked)
        report = Bar() if progress is True else progress or None
        if per_residue:
            arrays = [a[order] if order is not None else a
                      for a in self._core.encode_per_residue(texts, ascending, tokens, report)]
            if isinstance(layers, (int, np.integer)):
                arrays = [a[0] for a in arrays]
            return arrays[0] if single else arrays
        poolings = [pooling] if isinstance(pooling, str) else list(pooling)
        pooled = self._core.encode(texts, poolings, ascending, tokens, report)
        if order is not None:
            pooled = pooled[:, :, order]
        if isinstance(layers, (int, np.integer)):
            pooled = pooled[:, :, 0]
        if isinstance(pooling, str):
            pooled = pooled[:, 0]
        return pooled[0] if single else pooled

    def logits(self, sequences: Protein | Iterable[Protein]) -> FloatArray | list[FloatArray]:
        """Language-model logits.

        Args:
            sequences: one string or :class:`Record`, or several.

        Returns:
            float32 array [L + 2, V] for one sequence, a list of them for several. Rows are the begin token, the
            residues, the end token; columns follow ESM-2's vocabulary (:data:`biowarp.VOCABULARY`).

        Raises:
            InputError: the model has no language-model head, or a letter cannot be read.
        """
        return self._each(self._core.logits, sequences)

    def contacts(self, sequences: Protein | Iterable[Protein]) -> FloatArray | list[FloatArray]:
        """Contact probabilities of residue pairs.

        Args:
            sequences: one string or :class:`Record`, or several.

        Returns:
            float32 array [L, L] for one sequence, symmetric, between 0 and 1; a list of them for several.

        Raises:
            InputError: the model has no trained contact head, or a letter cannot be read.
        """
        return self._each(self._core.contacts, sequences)

    def perplexity(
        self,
        sequences: Protein | Iterable[Protein],
        *,
        mask_rate: float = 0.15,
        scheme: str = "80/10/10",
        random: str = "aa",
        seed: int = 0,
        max_length: int = 1022,
    ) -> MaskedPerplexity:
        """Masked-language-model loss and perplexity.

        Each residue is selected with probability ``mask_rate``; the loss is the mean of -ln p(true letter) over all
        selected residues of all sequences, p being the softmax over the vocabulary. Selection depends on ``seed``, the
        number of the sequence and of the residue alone, so that models can be compared on the same residues.

        Args:
            sequences: one string or :class:`Record`, or several.
            mask_rate: probability that a residue is selected.
            scheme: ``"80/10/10"``: of the selected 80 % are masked, 10 % become a random letter, 10 % stay; or
                ``"mask"``: all are masked.
            random: random letters come from the 20 amino acids (``"aa"``) or all tokens (``"vocab"``).
            seed: of the selection.
            max_length: residues of each sequence that are used, from its start; 0: all.

        Returns:
            :class:`MaskedPerplexity` with Python float numbers.

        Raises:
            InputError: the model has no language-model head, or a letter cannot be read.
            UsageError: a rate, scheme or letter source that does not exist.
        """
        texts, _ = _texts(sequences)
        return MaskedPerplexity(*self._core.masked_loss(texts, mask_rate, scheme, random, seed, max_length))

    def pseudo_log_likelihood(self, sequences: Protein | Iterable[Protein]) -> FloatArray | list[FloatArray]:
        """Log likelihood of each residue with only that residue masked (L forward passes for L residues).

        Args:
            sequences: one string or :class:`Record`, or several.

        Returns:
            float64 array [L] of natural logs for one sequence, a list of them for several.

        Raises:
            InputError: the model has no language-model head, or a letter cannot be read.
        """
        return self._each(self._core.pseudo_log_likelihood, sequences)

    def pseudo_perplexity(self, sequences: Protein | Iterable[Protein]) -> PseudoPerplexity:
        """Pseudo-perplexity over all residues of all sequences.

        Args:
            sequences: one string or :class:`Record`, or several.

        Returns:
            :class:`PseudoPerplexity` with Python float numbers.

        Raises:
            InputError: the model has no language-model head, a letter cannot be read, or there are no residues.
        """
        texts, _ = _texts(sequences)
        positions, total = 0, 0.0
        for text in texts:
            logs = self._core.pseudo_log_likelihood(text)
            positions, total = positions + len(logs), total + float(logs.sum())
        if positions == 0:
            raise InputError("pseudo-perplexity: expected at least one residue, got none")
        return PseudoPerplexity(total, total / positions, math.exp(-total / positions), positions)

    def _each(
        self, compute: Callable[[str], FloatArray], sequences: Protein | Iterable[Protein]
    ) -> FloatArray | list[FloatArray]:
        texts, single = _texts(sequences)
        results = [compute(text) for text in texts]
        return results[0] if single else results

    def _resolve_layers(self, asked: list[int]) -> tuple[list[int], list[int] | None]:
        """Layer numbers ascending without repeats, and where each asked one is among them (None: as asked)."""
        last = self._info.layers
        resolved = [layer + last + 1 if layer < 0 else layer for layer in asked]
        for given, layer in zip(asked, resolved):
            if not 0 <= layer <= last:
                raise UsageError(f"layers: expected 0 to {last} or -1 to {-last - 1}, got {given}")
        if not resolved:
            raise UsageError("layers: expected at least one layer number, got none")
        ascending = sorted(set(resolved))
        return ascending, None if ascending == resolved else [ascending.index(layer) for layer in resolved]

    def __repr__(self) -> str:
        info = self._info
        return (f"<biowarp.Model {info.name!r}: {info.layers} layers, width {info.hidden}, "
                f"{info.parameters / 1e6:.1f} M parameters, {info.dtype}, {info.threads} threads>")

    def __reduce__(self) -> tuple[Any, ...]:
        return _reload, (dict(self._options, name=_absolute(self._options["name"]),
                              adapter=_absolute(self._options["adapter"])), self._info.hash)


def _reload(options: dict[str, Any], expected_hash: str) -> Model:
    model = Model.from_pretrained(**options)
    if model.info.hash != expected_hash:
        raise InputError(f"model {options['name']!r} has changed since it was pickled: "
                         f"expected hash {expected_hash}, found {model.info.hash}")
    return model


def _absolute(name: str) -> str:
    """Names of existing files and folders hold in another working directory too; other names stay."""
    return os.path.abspath(name) if name and os.path.exists(name) else name


def _texts(sequences: Protein | Iterable[Protein]) -> tuple[list[str], bool]:
    """Letters of each sequence, and whether a single one was given."""
    if isinstance(sequences, (str, Record)):
        return [_text(sequences, 0)], True
    return [_text(sequence, number) for number, sequence in enumerate(sequences)], False


def _text(sequence: Protein, number: int) -> str:
    if isinstance(sequence, str):
        return str(sequence)
    if isinstance(sequence, Record):
        if sequence.error:
            raise InputError(f"{sequence.file}:{sequence.line}: record {sequence.id}: {sequence.error}")
        return sequence.sequence
    raise TypeError(f"sequence {number}: expected a str or a biowarp.Record, got {type(sequence).__name__}")
