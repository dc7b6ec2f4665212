"""Hidden states of every layer, logits and contacts against transformers.

Sequences are odd lengths from 1 up, with masks and rare letters; transformers runs each alone, so pads play no part.
"""

import numpy as np
import pytest

from compare import assert_as_exact, assert_cosine
from conftest import WIDTHS
from reference import tokenize

LETTERS = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVVHSLAKWKRQTLGQHDFSAGEGLYTHMKALRPDEDRLS"
SEQUENCES = [
    "M",
    "MK",
    "MKTAYIAKQRQISFV",
    LETTERS[:31],
    "MK<mask>AYIAKQ<mask><mask>ISFVKSHFSRQ",
    "MXBZUO.-KTAYIAW",
    LETTERS,
    (LETTERS * 4)[:257],
    (LETTERS * 10)[7:610],
]


def check_states(model, forward, folder, precision, sequence):
    exact, exact_logits = forward(folder, "exact", sequence)
    theirs, theirs_logits = forward(folder, precision, sequence)
    layers = range(model.info.layers + 1)
    residues = model.encode(sequence, layers=layers, per_residue=True)
    begin, end = model.encode(sequence, layers=layers, pooling=["cls", "eos"])
    ours = np.concatenate([begin[:, None], residues, end[:, None]], axis=1)
    name = f"{sequence[:12]} ({len(tokenize(sequence))} tokens)"
    for layer in layers:
        assert_as_exact(ours[layer], theirs[layer], exact[layer], precision, f"{name} layer {layer}")
    assert_as_exact(model.logits(sequence), theirs_logits, exact_logits, precision, f"{name} logits")


@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda s: f"{len(s)}")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_tiny_checkpoints(precision, width, sequence, tiny, load, forward):
    check_states(load(tiny(width), precision), forward, tiny(width), precision, sequence)


@pytest.mark.parametrize("number", range(0, 20, 3))
@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_demonstration_model(precision, number, demonstration, load, forward, proteins):
    check_states(load(demonstration, precision), forward, demonstration, precision, proteins[number])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_contacts(precision, width, tiny, load, reference):
    """One verdict over several lengths: five residues alone are too few errors to compare."""
    model = load(tiny(width), precision)
    sequences = ("MKTAY", LETTERS[:61], (LETTERS * 2)[:150])
    exact, theirs = ([reference(tiny(width), p).contacts(tokenize(s)) for s in sequences] for p in ("exact", precision))
    ours = model.contacts(sequences)
    for mine, right in zip(ours, exact):
        assert mine.shape == right.shape
        np.testing.assert_allclose(mine, mine.T, rtol=0, atol=1e-6)
        assert right.std() > 0.01, "the test model's contacts say nothing"
    assert_as_exact(*(np.concatenate([a.ravel() for a in maps]) for maps in (ours, theirs, exact)), precision, "contacts")


def test_int8_keeps_the_direction_of_every_residue(demonstration, load, forward, proteins):
    model = load(demonstration, "int8")
    for number, sequence in enumerate(proteins):
        states, _ = forward(demonstration, "f32", sequence)
        assert_cosine(model.encode(sequence, per_residue=True), states[-1][1:-1], 0.999, f"protein {number}")


@pytest.mark.parametrize("precision", ["f32", "bf16", "int8"])
@pytest.mark.parametrize("width", WIDTHS)
def test_s35_batch_mates_change_no_bit(width, precision, tiny, load):
    model = load(tiny(width), precision)
    together = model.encode(SEQUENCES, per_residue=True)
    for sequence, rows in zip(SEQUENCES, together):
        assert np.array_equal(model.encode(sequence, per_residue=True), rows), len(sequence)
    for tokens in (1, 100, 100_000):
        again = model.encode(SEQUENCES, per_residue=True, tokens=tokens)
        assert all(np.array_equal(a, b) for a, b in zip(again, together)), tokens
    alone = load(tiny(width), precision, threads=1).encode(SEQUENCES, per_residue=True)
    assert all(np.array_equal(a, b) for a, b in zip(alone, together)), "threads"
