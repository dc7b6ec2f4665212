"""Model.encode: shapes, order, axes, values that can be checked without another implementation."""

import gc

import numpy as np
import pytest

import biowarp


def test_one_row_per_protein_in_input_order(model, short):
    rows = model.encode(short)
    assert rows.shape == (len(short), model.info.hidden)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert np.array_equal(model.encode(short[::-1]), rows[::-1])


def test_records_and_strings_give_the_same(model, proteins):
    few = proteins[:3]
    assert np.array_equal(model.encode(few), model.encode([record.sequence for record in few]))


def test_a_single_sequence_has_no_first_axis(model):
    assert np.array_equal(model.encode("MKTAYIAK"), model.encode(["MKTAYIAK"])[0])
    assert model.encode("MKT", per_residue=True).shape == (3, model.info.hidden)


def test_any_iterable(model, short):
    assert np.array_equal(model.encode(text for text in short[:3]), model.encode(tuple(short[:3])))


def test_no_sequences(model):
    assert model.encode([]).shape == (0, model.info.hidden)
    assert model.encode([], per_residue=True) == []


def test_lists_add_their_axis(model):
    hidden = model.info.hidden
    two = ["MKTAYIAK", "GGSGG"]
    assert model.encode(two, pooling=["mean"]).shape == (2, 1, hidden)
    assert model.encode(two, layers=[0]).shape == (2, 1, hidden)
    both = model.encode(two, pooling=["mean", "cls", "max", "eos"], layers=[0, 3, -1])
    assert both.shape == (2, 4, 3, hidden)
    for p, pooling in enumerate(["mean", "cls", "max", "eos"]):
        for k, layer in enumerate([0, 3, -1]):
            assert np.array_equal(both[:, p, k], model.encode(two, pooling=pooling, layers=layer))


def test_layers_come_in_the_order_asked(model):
    last = model.info.layers
    ascending = model.encode(["MKTAYIAK"], layers=[0, 2, last])[0]
    assert np.array_equal(model.encode(["MKTAYIAK"], layers=[-1, 0, 2, 0])[0], ascending[[2, 0, 1, 0]])
    assert np.array_equal(model.encode("MKTAYIAK", layers=-1 - last), ascending[0])
    per_residue = model.encode("MKTAYIAK", layers=[-1, 0], per_residue=True)
    assert per_residue.shape == (2, 8, model.info.hidden)
    assert np.array_equal(per_residue[1], model.encode("MKTAYIAK", layers=0, per_residue=True))


def test_poolings_agree_with_the_residues(model, short):
    residues = model.encode(short, per_residue=True)
    mean, largest = (model.encode(short, pooling=pooling) for pooling in ("mean", "max"))
    for n, rows in enumerate(residues):
        np.testing.assert_allclose(mean[n], rows.mean(axis=0, dtype=np.float64), rtol=1e-4, atol=1e-5)
        assert np.array_equal(largest[n], rows.max(axis=0))


def test_s55_mean_of_one_residue_is_its_row(model):
    assert np.array_equal(model.encode("M"), model.encode("M", per_residue=True)[0])


def test_s05_rows_are_residues(model, proteins):
    records = [record for record in proteins if len(record.sequence) < 300]
    for record, rows in zip(records, model.encode(records, per_residue=True)):
        assert rows.shape == (len(record.sequence.rstrip("*")), model.info.hidden), record.id
        assert rows.dtype == np.float32


def test_s35_batch_mates_and_budget_change_no_bit(model, short):
    together = model.encode(short)
    for n in (0, 3, len(short) - 1):
        assert np.array_equal(model.encode(short[n]), together[n])
    assert np.array_equal(model.encode(short, tokens=64), together)


def test_s15_lower_case_is_the_same_protein(model):
    assert np.array_equal(model.encode("mktayiak"), model.encode("MKTAYIAK"))


def test_arrays_outlive_the_model():
    model = biowarp.Model.from_pretrained()
    rows = model.encode(["MKTAYIAK"])
    residues = model.encode(["MKTAYIAK"], per_residue=True)[0]
    assert not rows.flags.owndata and not residues.flags.owndata  # views of the engine's memory, not copies
    kept = rows.copy(), residues.copy()
    del model
    gc.collect()
    assert np.array_equal(rows, kept[0]) and np.array_equal(residues, kept[1])
    rows += 1  # arrays are the caller's own
    residues[:] = 0


@pytest.mark.parametrize("layers", [7, -8, [0, 99], []])
def test_unknown_layers(model, layers):
    with pytest.raises(biowarp.UsageError, match="layer"):
        model.encode(["MKT"], layers=layers)


def test_unknown_pooling(model):
    with pytest.raises(biowarp.UsageError, match="mean, cls, max, eos"):
        model.encode(["MKT"], pooling="median")


def test_progress_reaches_the_end(model, short):
    calls = []
    model.encode(short, tokens=512, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (len(short), len(short))
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert len(calls) > 1


def test_progress_bar_goes_to_stderr(model, short, capsys):
    model.encode(short, progress=True)
    out, err = capsys.readouterr()
    assert out == "" and f"{len(short)}/{len(short)} sequences" in err


def test_an_exception_in_progress_ends_the_call(model, short):
    def stop(done, total):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        model.encode(short, tokens=64, progress=stop)
    assert model.encode(short[:1]).shape == (1, model.info.hidden)  # the model is usable afterwards
