"""Every error is a class of biowarp, says what and where, and leaves the model usable."""

import pytest

import biowarp


def test_classes():
    assert biowarp.Error is biowarp.BiowarpError
    for error, builtin, kind, code in [
        (biowarp.UsageError, ValueError, "usage", 2),
        (biowarp.InputError, ValueError, "input", 3),
        (biowarp.DeviceError, RuntimeError, "device", 4),
        (biowarp.InternalError, RuntimeError, "internal", 1),
    ]:
        assert issubclass(error, biowarp.Error) and issubclass(error, builtin)
        assert (error.kind, error.exit_code) == (kind, code)


def test_s19_letter_that_cannot_be_read(model):
    with pytest.raises(biowarp.InputError) as caught:
        model.encode(["MKTAYIAK", "MK:L"])
    text = str(caught.value)
    assert ":" in text and "3" in text  # the character and its column
    assert model.encode(["MKL"]).shape[0] == 1


def test_letters_beyond_ascii(model):
    with pytest.raises(biowarp.InputError):
        model.encode(["MKé"])


@pytest.mark.parametrize("bad", [None, 3, b"MKT", ("id", "MKT")])
def test_not_a_sequence(model, bad):
    with pytest.raises(TypeError, match="sequence 1: expected a str or a biowarp.Record"):
        model.encode(["MKT", bad])


def test_not_iterable(model):
    with pytest.raises(TypeError):
        model.encode(5)


def test_no_such_model(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    for name in ("nobody/nothing", "/no/such/folder"):
        with pytest.raises(biowarp.Error, match=name) as caught:
            biowarp.Model.from_pretrained(name)
        assert caught.value.kind in ("usage", "input")


def test_folder_without_a_model(tmp_path):
    with pytest.raises(biowarp.Error):
        biowarp.Model.from_pretrained(tmp_path)


def test_unknown_dtype():
    with pytest.raises(biowarp.UsageError, match="bf16"):
        biowarp.Model.from_pretrained(dtype="f8")


def test_models_are_loaded_not_constructed():
    with pytest.raises(TypeError, match="from_pretrained"):
        biowarp.Model()
