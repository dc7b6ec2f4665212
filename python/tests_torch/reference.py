"""Hugging Face transformers as the reference: tiny checkpoints, and runs in float64, float32 and bfloat16."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import EsmConfig, EsmForMaskedLM
from transformers.models.esm import modeling_esm

VOCABULARY = ("<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>")
MASK = VOCABULARY.index("<mask>")


def tiny_config(width: int, heads: int = 3, layers: int = 3) -> EsmConfig:
    hidden = width * heads
    return EsmConfig(
        vocab_size=33, mask_token_id=32, pad_token_id=1, hidden_size=hidden, num_hidden_layers=layers,
        num_attention_heads=heads, intermediate_size=4 * hidden, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, max_position_embeddings=1026, layer_norm_eps=1e-5,
        position_embedding_type="rotary", token_dropout=True, emb_layer_norm_before=False,
    )


def tiny_model(width: int, heads: int = 3, layers: int = 3, seed: int = 0) -> EsmForMaskedLM:
    """A random model whose every part matters: biases, norms and attention are far from their start values."""
    model = EsmForMaskedLM(tiny_config(width, heads, layers)).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if "LayerNorm" in name or "layer_norm" in name:
                parameter.copy_((1 if name.endswith("weight") else 0) + 0.2 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.2 * noise)
            elif ".query." in name or ".key." in name:
                parameter.copy_(noise * 2 / parameter.shape[1] ** 0.5)
            elif "embeddings" in name:
                parameter.copy_(noise)
            elif "contact_head" in name:
                parameter.copy_(5 * noise)  # corrected attentions are small
            else:
                parameter.copy_(noise / parameter.shape[-1] ** 0.5)
        model.lm_head.decoder.weight.copy_(model.esm.embeddings.word_embeddings.weight)
    return model


def tokens_of(sequence: str) -> list[int]:
    """Letters to token ids with begin and end; "<mask>" is one residue."""
    ids, at = [0], 0
    while at < len(sequence):
        token = "<mask>" if sequence.startswith("<mask>", at) else sequence[at]
        ids.append(VOCABULARY.index(token))
        at += len(token)
    return [*ids, 2]


def _rotate(q, k, cos, sin, unsqueeze_dim=1):
    """apply_rotary_pos_emb without its cast to float32."""
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    half = modeling_esm.rotate_half
    return q * cos + half(q) * sin, k * cos + half(k) * sin


def _angles(model: EsmForMaskedLM):
    """cos and sin for every position in float64, from frequencies that were never rounded to float32."""
    width = model.config.hidden_size // model.config.num_attention_heads
    frequencies = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)

    def forward(x, position_ids, layer_type=None):
        angles = position_ids[..., None].to(torch.float64) * frequencies
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()

    return forward


@contextmanager
def exact_rotary(model: EsmForMaskedLM):
    """Transformers rounds rotary positions to float32 in every precision; inside, a float64 model stays float64."""
    before = modeling_esm.apply_rotary_pos_emb
    modeling_esm.apply_rotary_pos_emb = _rotate
    model.esm.rotary_embeddings.forward = _angles(model)
    try:
        yield
    finally:
        modeling_esm.apply_rotary_pos_emb = before
        del model.esm.rotary_embeddings.forward


class Reference:
    """One checkpoint run by transformers in float64 ("exact"), float32 or bfloat16, a sequence at a time."""

    DTYPES = {"exact": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16}

    def __init__(self, folder: str | Path, precision: str) -> None:
        self.exact = precision == "exact"
        self.model = EsmForMaskedLM.from_pretrained(
            folder, dtype=self.DTYPES[precision], attn_implementation="eager"
        ).eval()

    def _run(self, compute):
        with torch.no_grad():
            if not self.exact:
                return compute()
            with exact_rotary(self.model):
                return compute()

    def forward(self, tokens: list[int]) -> tuple[list, object]:
        """Hidden states 0..layers [L + 2, C], the last one after the final norm, and logits [L + 2, V]; float64."""
        ids = torch.tensor([tokens])
        out = self._run(lambda: self.model(ids, torch.ones_like(ids), output_hidden_states=True))
        return [state[0].double().numpy() for state in out.hidden_states], out.logits[0].double().numpy()

    def contacts(self, tokens: list[int]):
        """[L, L], float64."""
        ids = torch.tensor([tokens])
        return self._run(lambda: self.model.predict_contacts(ids, torch.ones_like(ids)))[0].double().numpy()

    def loss(self, inputs: list[list[int]], targets: list[list[int]]) -> tuple[float, int]:
        """Mean -ln p over positions whose target is not -100, and their number."""
        total, count = 0.0, 0
        for ids, wanted in zip(inputs, targets):
            _, logits = self.forward(ids)
            rows = [i for i, target in enumerate(wanted) if target != -100]
            logs = torch.log_softmax(torch.from_numpy(logits), dim=-1)
            total -= sum(float(logs[i, wanted[i]]) for i in rows)
            count += len(rows)
        return total / count, count
