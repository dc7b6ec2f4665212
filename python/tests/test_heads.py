"""Logits, contacts and what a model tells about itself."""

import numpy as np
import pytest

import biowarp


def test_logits(model):
    logits = model.logits("MKTAYIAK")
    assert logits.shape == (10, len(biowarp.VOCABULARY)) and logits.dtype == np.float32
    assert np.isfinite(logits).all()
    several = model.logits(["MKT", "MKTAYIAK"])
    assert [a.shape for a in several] == [(5, 33), (10, 33)]
    assert np.array_equal(several[1], logits)


def test_logits_know_a_protein(model, proteins):
    """Columns of the logits are the vocabulary: the model prefers the letters it is shown."""
    gfp = proteins[0].sequence
    best = model.logits(gfp)[1:-1].argmax(axis=1)
    hits = sum(biowarp.VOCABULARY[column] == letter for column, letter in zip(best, gfp))
    assert hits > 0.5 * len(gfp)


def test_s42_contacts_without_a_trained_head(model):
    assert not model.info.contact_head
    with pytest.raises(biowarp.InputError, match="contact"):
        model.contacts("MKTAYIAK")


def test_masked_perplexity(model, short):
    result = model.perplexity(short, seed=1)
    assert result.perplexity == pytest.approx(np.exp(result.loss), rel=1e-12)
    residues = sum(map(len, short))
    assert 0.10 * residues < result.positions < 0.20 * residues
    assert 1 < result.perplexity < 25
    assert model.perplexity(short, seed=1) == result
    assert model.perplexity(short, seed=2) != result
    assert model.perplexity(short, seed=1, scheme="mask").loss > result.loss  # nothing left to read off
    assert model.perplexity(short, mask_rate=1.0, max_length=10).positions == sum(min(len(s), 10) for s in short)


def test_s57_pseudo_log_likelihood_masks_the_residue_it_reads(model):
    """Residue i is scored from row i + 1 of the logits with <mask> in its place, ends included."""
    sequence = "MKTAYIAK"
    logs = model.pseudo_log_likelihood(sequence)
    assert logs.shape == (8,) and logs.dtype == np.float64
    for i, letter in enumerate(sequence):
        row = model.logits(sequence[:i] + "<mask>" + sequence[i + 1:])[i + 1].astype(np.float64)
        expected = row[biowarp.VOCABULARY.index(letter)] - np.logaddexp.reduce(row)
        assert logs[i] == pytest.approx(expected, abs=1e-5)


def test_pseudo_perplexity_names_sum_mean_and_exponential(model):
    logs = np.concatenate(model.pseudo_log_likelihood(["MKTAYIAK", "MK"]))
    result = model.pseudo_perplexity(["MKTAYIAK", "MK"])
    assert result.positions == 10
    assert result.pll_sum == pytest.approx(logs.sum())
    assert result.pll_mean == pytest.approx(logs.mean())
    assert result.pppl == pytest.approx(np.exp(-logs.mean()))
    with pytest.raises(biowarp.InputError):
        model.pseudo_perplexity([])


def test_info(model):
    info = model.info
    assert (info.layers, info.hidden, info.heads, info.feed_forward, info.vocabulary) == (6, 320, 20, 1280, 33)
    assert info.demonstration and info.lm_head and info.dtype == "f32"
    assert 7_000_000 < info.parameters < 8_000_000
    assert info.weight_bytes >= 4 * info.parameters * 0.9
    assert info.threads >= 1 and info.hash and info.format == "hf"
    assert "7.5 M parameters" in repr(model)


def test_random_model_of_a_public_shape():
    model = biowarp.Model.from_pretrained("random:8M:1")
    assert (model.info.layers, model.info.hidden) == (6, 320)
    again = biowarp.Model.from_pretrained("random:8M:1")
    assert np.array_equal(model.encode("MKTAYIAK"), again.encode("MKTAYIAK"))
    other = biowarp.Model.from_pretrained("random:8M:2")
    assert not np.array_equal(model.encode("MKTAYIAK"), other.encode("MKTAYIAK"))
