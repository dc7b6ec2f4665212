"""Checkpoints that transformers and peft write load here; what `biowarp convert` writes loads there."""

import numpy as np
import peft
import pytest
import torch
from transformers import EsmForMaskedLM, EsmModel

from compare import assert_as_exact
from conftest import WIDTHS
from reference import Reference, tiny_model, tokenize

SEQUENCE = "MKTAYIAKQRQISFVKSHF<mask>RQLEERLGLIEVQ"


def assert_same_model(model, folder, precision="f32"):
    exact, theirs = (Reference(folder, p).forward(tokenize(SEQUENCE))[1] for p in ("exact", precision))
    assert_as_exact(model.logits(SEQUENCE), theirs, exact, precision, f"logits of {folder}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_save_pretrained_in_every_dtype(dtype, tmp_path, load):
    tiny_model(32).to(dtype).save_pretrained(tmp_path)
    assert_same_model(load(tmp_path), tmp_path)


def test_sharded_save_pretrained(tmp_path, load):
    tiny_model(64).save_pretrained(tmp_path, max_shard_size="200KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    assert_same_model(load(tmp_path), tmp_path)


def test_pytorch_model_bin(tmp_path, tiny, load):
    model = tiny_model(24)
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    loaded = load(tmp_path)
    saved = tmp_path / "hf"
    model.save_pretrained(saved)
    assert_same_model(loaded, saved)


def test_encoder_alone(tmp_path, load):
    """EsmModel has no `esm.` prefix and no language-model head."""
    model = tiny_model(16)
    model.esm.save_pretrained(tmp_path)
    loaded = load(tmp_path)
    assert not loaded.info.lm_head
    with torch.no_grad():
        ids = torch.tensor([tokenize("MKTAYIAK")])
        theirs = EsmModel.from_pretrained(tmp_path)(ids, torch.ones_like(ids)).last_hidden_state[0, 1:-1].numpy()
    np.testing.assert_allclose(loaded.encode("MKTAYIAK", per_residue=True), theirs, rtol=0, atol=2e-5)


@pytest.mark.parametrize("width", WIDTHS)
def test_convert_to_hf(width, tiny, load, program, tmp_path):
    program("convert", tiny(width), tmp_path / "out", "--to", "hf")
    before, after = (
        EsmForMaskedLM.from_pretrained(folder, attn_implementation="eager").eval()  # contacts need attention weights
        for folder in (tiny(width), tmp_path / "out")
    )
    with torch.no_grad():
        ids = torch.tensor([tokenize(SEQUENCE)])
        assert torch.equal(before(ids).logits, after(ids).logits)
        assert torch.equal(before.predict_contacts(ids, torch.ones_like(ids)),
                           after.predict_contacts(ids, torch.ones_like(ids)))
    assert np.array_equal(load(tmp_path / "out").logits(SEQUENCE), load(tiny(width)).logits(SEQUENCE))


@pytest.mark.parametrize("width", WIDTHS)
def test_convert_to_nv_esm_and_back(width, tiny, load, program, tmp_path):
    program("convert", tiny(width), tmp_path / "nv", "--to", "nv_esm")
    program("convert", tmp_path / "nv", tmp_path / "hf", "--to", "hf")
    before, after = (EsmForMaskedLM.from_pretrained(f).eval().state_dict() for f in (tiny(width), tmp_path / "hf"))
    for name, tensor in before.items():
        if "contact_head" not in name:  # nv_esm has none
            assert torch.equal(tensor, after[name]), name
    assert_same_model(load(tmp_path / "nv"), tiny(width))  # not to the bit: nv_esm keeps no rotary frequencies


def test_convert_dtype(tiny, program, tmp_path):
    program("convert", tiny(32), tmp_path / "out", "--to", "hf", "--dtype", "bf16")
    before, after = (EsmForMaskedLM.from_pretrained(f, dtype="auto") for f in (tiny(32), tmp_path / "out"))
    assert after.dtype == torch.bfloat16
    for name, tensor in before.named_parameters():
        assert torch.equal(tensor.to(torch.bfloat16), after.get_parameter(name)), name


ADAPTERS = {
    "plain": {"r": 4, "lora_alpha": 8, "target_modules": ["query", "key", "value"]},
    "every dense": {"r": 3, "lora_alpha": 5, "target_modules": ["query", "dense"]},
    "rslora": {"r": 4, "lora_alpha": 8, "target_modules": ["value"], "use_rslora": True},
}


@pytest.mark.parametrize("settings", ADAPTERS.values(), ids=ADAPTERS)
def test_s77_adapters_merge_as_peft_does(settings, tiny, load, tmp_path):
    base = EsmForMaskedLM.from_pretrained(tiny(32))
    model = peft.get_peft_model(base, peft.LoraConfig(**settings))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
    model.save_pretrained(tmp_path / "adapter")
    model.merge_and_unload().save_pretrained(tmp_path / "merged")

    merged = load(tiny(32), adapter=tmp_path / "adapter")
    assert not np.allclose(merged.logits(SEQUENCE), load(tiny(32)).logits(SEQUENCE), atol=0.1)
    assert_same_model(merged, tmp_path / "merged")
