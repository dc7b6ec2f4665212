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
