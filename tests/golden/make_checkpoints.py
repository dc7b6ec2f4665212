#!/usr/bin/env python3
"""Writes the small checkpoints and golden values that the tests read.

    python tests/golden/make_checkpoints.py            # both
    python tests/golden/make_checkpoints.py checkpoints
    python tests/golden/make_checkpoints.py values

Needs torch, transformers, safetensors and peft (any recent version; the files in the tree were written by those named
in checkpoints/VERSIONS). One random model of 2 layers, width 16 and 2 heads of width 8 is written under every naming
that people have; all of them must load equal. Values: for each head width of the public sizes a tiny model, its inputs
and what Hugging Face computes in float64 and float32.
"""
import argparse
import collections
import json
import shutil
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from transformers import EsmConfig, EsmForMaskedLM, EsmForSequenceClassification, EsmModel

HERE = Path(__file__).parent
TOKENS = ("<cls> <pad> <eos> <unk> L A G V S E R T I D P K Q N F Y M H W C X B U Z O . - <null_1> <mask>").split()
LAYERS, HEADS, WIDTH, FEED_FORWARD = 2, 2, 16, 20
D = WIDTH // HEADS


def config(layers=LAYERS, heads=HEADS, width=WIDTH, feed_forward=FEED_FORWARD):
    return EsmConfig(vocab_size=33, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
                     intermediate_size=feed_forward, pad_token_id=1, mask_token_id=32, layer_norm_eps=1e-5,
                     position_embedding_type="rotary", token_dropout=True, emb_layer_norm_before=False,
                     max_position_embeddings=1026, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def randomize(model, seed):
    """Every parameter drawn from its name's own stream: biases and norms too, so that no mix-up goes unseen."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape)
            is_norm = "LayerNorm" in name or "layer_norm" in name
            if is_norm and name.endswith("weight"):
                parameter.copy_(1 + 0.2 * noise)
            elif parameter.dim() > 1:
                scale = 1.0 if "word_embeddings" in name else parameter.shape[-1] ** -0.5
                parameter.copy_(scale * noise)
            else:
                parameter.copy_(0.1 * noise)
    return model.eval()


def masked_lm(seed=7, **sizes):
    return randomize(EsmForMaskedLM(config(**sizes)), seed)


def classic_state(model):
    """State dict under the names that transformers 4 wrote: per-layer inv_freq, LayerNorm.weight, no decoder."""
    state = collections.OrderedDict()
    inv_freq = None
    for name, tensor in model.state_dict().items():
        if name.endswith("rotary_embeddings.inv_freq"):
            inv_freq = tensor
        elif name != "lm_head.decoder.weight":
            state[name] = tensor.detach().clone().contiguous()
    for i in range(model.config.num_hidden_layers):
        state[f"esm.encoder.layer.{i}.attention.self.rotary_embeddings.inv_freq"] = inv_freq.clone()
    return state


HF_TO_FAIR = {
    "attention.self.query": "self_attn.q_proj", "attention.self.key": "self_attn.k_proj",
    "attention.self.value": "self_attn.v_proj", "attention.output.dense": "self_attn.out_proj",
    "attention.LayerNorm": "self_attn_layer_norm", "attention.self.rotary_embeddings": "self_attn.rot_emb",
    "intermediate.dense": "fc1", "output.dense": "fc2", "LayerNorm": "final_layer_norm",
}


def fair_name(name):
    name = name.removeprefix("esm.")
    if name.startswith("encoder.layer."):
        _, _, layer, *rest = name.split(".")
        module, kind = ".".join(rest[:-1]), rest[-1]
        return f"layers.{layer}.{HF_TO_FAIR[module]}.{kind}"
    return {"embeddings.word_embeddings.weight": "embed_tokens.weight"}.get(name, name.removeprefix("encoder."))


ESME = [("self_attn_layer_norm", "self_attn.norm"), ("q_proj", "q"), ("k_proj", "k"), ("v_proj", "v"),
        ("out_proj", "out"), ("final_layer_norm", "final.0"), ("fc1", "final.1"), ("fc2", "final.3")]


def esme_name(name):
    name = fair_name(name)
    for old, new in ESME:
        name = name.replace(f".{old}.", f".{new}.")
    return {"lm_head.bias": "lm_head.final.bias"}.get(name, name)


def fuse(q, k, v, interleaved):
    if interleaved:
        return torch.stack([t.view(HEADS, D, *t.shape[1:]) for t in (q, k, v)], dim=1).flatten(0, 2).contiguous()
    return torch.cat([q, k, v]).contiguous()


def nv_state(state, prefix, rows, interleaved=True, fused=True):
    """NVIDIA's names; the embedding padded to `rows` with zeros, the bias with the lowest number."""
    out = {}
    for name, tensor in state.items():
        if "inv_freq" in name or "contact_head" in name or ".attention.self." in name:
            continue
        new = name.replace("esm.", "", 1) if name.startswith("esm.") else name
        new = new.replace("encoder.layer.", "encoder.layers.")
        for old, fresh in [("attention.LayerNorm.", "self_attention.layernorm_qkv.layer_norm_"),
                           ("attention.output.dense.", "self_attention.proj."),
                           ("intermediate.dense.", "layernorm_mlp.fc1_"), ("output.dense.", "layernorm_mlp.fc2_"),
                           ("LayerNorm.", "layernorm_mlp.layer_norm_"),
                           ("lm_head.layer_norm.", "lm_head.decoder.layer_norm_")]:
            if old in new:
                new = new.replace(old, fresh)
                break
        new = {"lm_head.bias": "lm_head.decoder.bias"}.get(new, new)
        if not new.startswith("lm_head."):
            new = prefix + new
        if new.endswith("word_embeddings.weight"):
            tensor = torch.cat([tensor, torch.zeros(rows - 33, WIDTH)])
        if new == "lm_head.decoder.bias":
            tensor = torch.cat([tensor, torch.full([rows - 33], torch.finfo(torch.float32).min)])
        out[new] = tensor.contiguous()
    out["lm_head.decoder.weight"] = out[f"{prefix}embeddings.word_embeddings.weight"].clone()
    for i in range(LAYERS):
        for kind in ("weight", "bias"):
            q, k, v = (state[f"esm.encoder.layer.{i}.attention.self.{s}.{kind}"] for s in ("query", "key", "value"))
            stem = f"{prefix}encoder.layers.{i}.self_attention.layernorm_qkv."
            if fused:
                out[stem + kind] = fuse(q, k, v, interleaved)
            else:
                out.update({f"{stem}query_{kind}": q, f"{stem}key_{kind}": k, f"{stem}value_{kind}": v})
    return out


def write_config(folder, **changes):
    values = {"architectures": ["EsmForMaskedLM"], "model_type": "esm", "hidden_size": WIDTH,
              "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": FEED_FORWARD,
              "vocab_size": 33, "mask_token_id": 32, "pad_token_id": 1, "layer_norm_eps": 1e-5,
              "position_embedding_type": "rotary", "token_dropout": True, "emb_layer_norm_before": False,
              "max_position_embeddings": 1026}
    values.update(changes)
    (folder / "config.json").write_text(json.dumps(values, indent=1) + "\n")


def shard(folder, state, suffix, save):
    """Two shards and their index."""
    names = sorted(state)
    halves = [names[: len(names) // 2], names[len(names) // 2:]]
    weight_map = {}
    for i, half in enumerate(halves, 1):
        file = f"{suffix[0]}-{i:05}-of-00002.{suffix[1]}"
        save({name: state[name] for name in half}, folder / file)
        weight_map.update({name: file for name in half})
    index = {"metadata": {"total_size": sum(t.numel() * 4 for t in state.values())}, "weight_map": weight_map}
    (folder / f"{suffix[0]}.{suffix[1]}.index.json").write_text(json.dumps(index, indent=1) + "\n")


def with_extras(state):
    """What old and exported files also hold and ESM-2 does not use."""
    extra = dict(state)
    extra["esm.embeddings.position_embeddings.weight"] = torch.zeros(4, WIDTH)
    extra["esm.embeddings.position_ids"] = torch.arange(4)[None]
    extra["esm.pooler.dense.weight"] = torch.zeros(WIDTH, WIDTH)
    extra["esm.pooler.dense.bias"] = torch.zeros(WIDTH)
    return extra


def write_hf(root, model, state):
    def folder(name, **changes):
        path = root / name
        path.mkdir(parents=True)
        write_config(path, **changes)
        return path

    save_file(state, folder("hf_safetensors") / "model.safetensors", {"format": "pt"})
    model.save_pretrained(root / "hf_save_pretrained")
    save_file(with_extras(state), folder("hf_extras") / "model.safetensors")
    torch.save(state, folder("hf_bin") / "pytorch_model.bin")
    shard(folder("hf_sharded_safetensors"), state, ("model", "safetensors"), save_file)
    shard(folder("hf_sharded_bin"), state, ("pytorch_model", "bin"), torch.save)
    body = {name.removeprefix("esm."): t for name, t in state.items()
            if name.startswith("esm.") and "contact_head" not in name}
    save_file(body, folder("hf_esm_model", architectures=["EsmModel"]) / "model.safetensors")
    wrapped = {f"module.model.{name}": t for name, t in state.items()}
    torch.save({"state_dict": wrapped, "epoch": 3, "hyper_parameters": {"lr": 1e-3}},
               folder("hf_lightning") / "model.ckpt")
    mixed = {name: t.half() if "intermediate" in name else t.bfloat16() if "query" in name else t
             for name, t in state.items()}
    save_file(mixed, folder("hf_mixed") / "model.safetensors")
    save_file({n: t.half() for n, t in state.items()}, folder("hf_f16") / "model.safetensors")
    save_file({n: t.bfloat16() for n, t in state.items()}, folder("hf_bf16") / "model.safetensors")

    classifier = EsmForSequenceClassification(config())
    classifier.esm.load_state_dict(model.esm.state_dict(), strict=False)
    classifier.save_pretrained(root / "hf_classifier")


def write_nv(root, state):
    layouts = {"nv_old_64": ("esm.", 64, True, True), "nv_new_33": ("model.", 33, True, True),
               "nv_plain_qkv": ("model.", 64, False, True), "nv_three_parts": ("model.", 33, True, False)}
    for name, (prefix, rows, interleaved, fused) in layouts.items():
        path = root / name
        path.mkdir(parents=True)
        write_config(path, model_type="nv_esm", architectures=["NVEsmForMaskedLM"], padded_vocab_size=rows,
                     qkv_weight_interleaved=interleaved, encoder_activation="gelu")
        tensors = nv_state(state, prefix, rows, interleaved, fused)
        tensors[f"{prefix}encoder.layers.0.self_attention.layernorm_qkv._extra_state"] = torch.zeros(8, dtype=torch.uint8)
        save_file(tensors, path / "model.safetensors")


def write_fair(root, state):
    path = root / "fair_esm"
    path.mkdir(parents=True)
    fair, contact = collections.OrderedDict(), collections.OrderedDict()
    for name, tensor in state.items():
        new = fair_name(name)
        if new.startswith("contact_head."):
            contact[new] = tensor
        elif new.startswith("lm_head."):
            fair["encoder." + new] = tensor
        else:
            fair["encoder.sentence_encoder." + new] = tensor
    fair["encoder.lm_head.weight"] = fair["encoder.sentence_encoder.embed_tokens.weight"]
    settings = argparse.Namespace(encoder_layers=LAYERS, encoder_embed_dim=WIDTH, encoder_attention_heads=HEADS,
                                  encoder_ffn_embed_dim=FEED_FORWARD, token_dropout=True, arch="esm2")
    torch.save({"cfg": {"model": settings, "task": argparse.Namespace(data="x"), "seed": 2**70}, "model": fair},
               path / "esm2_tiny.pt")
    torch.save({"model": contact}, path / "esm2_tiny-contact-regression.pt")
    plain = {fair_name(n): t for n, t in state.items()}
    plain["lm_head.weight"] = plain["embed_tokens.weight"]
    (root / "fair_state_dict").mkdir()
    torch.save(plain, root / "fair_state_dict" / "weights.pth")


def write_esme(root, state):
    path = root / "esme"
    path.mkdir(parents=True)
    esme = {esme_name(n): t for n, t in state.items() if "inv_freq" not in n and "contact_head" not in n}
    esme["lm_head.final.weight"] = esme["embed_tokens.weight"].clone()
    save_file(esme, path / "tiny.safetensors",
              {"format": "pt", "name": "esm2_tiny", "num_layers": str(LAYERS), "embed_dim": str(WIDTH),
               "attention_heads": str(HEADS)})


def write_plain(root, state):
    """State dicts without any config: the heads must come from inv_freq, or from the contact head."""
    (root / "state_dict_rotary").mkdir(parents=True)
    torch.save({n: t for n, t in state.items() if "contact_head" not in n}, root / "state_dict_rotary" / "w.pt")
    (root / "state_dict_contact").mkdir()
    save_file({n: t for n, t in state.items() if "inv_freq" not in n}, root / "state_dict_contact" / "w.safetensors")
    (root / "state_dict_nothing").mkdir()
    bare = {n: t for n, t in state.items() if "inv_freq" not in n and "contact_head" not in n}
    save_file(bare, root / "state_dict_nothing" / "w.safetensors")


def write_views(root, state):
    """One big storage, transposed and offset views, parameters instead of tensors, pickle protocol 4."""
    path = root / "hf_views"
    path.mkdir(parents=True)
    write_config(path)
    views = collections.OrderedDict()
    for name, tensor in state.items():
        if tensor.dim() == 2:
            turned = tensor.t().contiguous()
            padded = torch.zeros(turned.shape[0] + 1, turned.shape[1] + 3)
            padded[1:, 3:] = turned
            views[name] = padded[1:, 3:].t()
        elif "bias" in name:
            views[name] = torch.stack([tensor, tensor + 1], dim=1)[:, 0]
        else:
            views[name] = torch.nn.Parameter(tensor, requires_grad=False)
    torch.save(views, path / "pytorch_model.bin", pickle_protocol=4)


def write_lora(root, state):
    from peft import LoraConfig, get_peft_model

    for name, rslora, bias in (("lora", False, "none"), ("rslora", True, "none"), ("lora_bias", False, "lora_only")):
        model = EsmForMaskedLM(config())
        model.load_state_dict(state, strict=False)
        peft = get_peft_model(model, LoraConfig(r=4, lora_alpha=12, target_modules=["query", "value", "dense"],
                                                use_rslora=rslora, bias=bias, lora_dropout=0.0))
        torch.manual_seed(11)
        with torch.no_grad():
            for key, parameter in sorted(peft.named_parameters()):
                if "lora_" in key:
                    parameter.copy_(0.1 * torch.randn(parameter.shape))
                elif bias != "none" and key.endswith("bias") and "base_layer" in key:
                    parameter.add_(0.5)
        peft.save_pretrained(root / name)
        settings = json.loads((root / name / "adapter_config.json").read_text())
        settings["base_model_name_or_path"] = "../hf_safetensors"
        settings["target_modules"] = sorted(settings["target_modules"])
        (root / name / "adapter_config.json").write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n")
        (root / name / "README.md").unlink(missing_ok=True)
        merged = peft.merge_and_unload()
        (root / f"{name}_merged").mkdir()
        write_config(root / f"{name}_merged")
        save_file({n: t for n, t in classic_state(merged).items()}, root / f"{name}_merged" / "model.safetensors")

    model = EsmForSequenceClassification(config())
    peft = get_peft_model(model, LoraConfig(task_type="SEQ_CLS", r=2, lora_alpha=2, target_modules=["query"],
                                            modules_to_save=["classifier"]))
    peft.save_pretrained(root / "lora_classifier")
    (root / "lora_classifier" / "README.md").unlink(missing_ok=True)


def write_checkpoints(root):
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    model = masked_lm()
    state = classic_state(model)
    write_hf(root, model, state)
    write_nv(root, state)
    write_fair(root, state)
    write_esme(root, state)
    write_plain(root, state)
    write_views(root, state)
    write_lora(root, state)
    versions = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    (root / "VERSIONS").write_text("".join(f"{k} {v}\n" for k, v in versions.items()))


SEQUENCES = ["M", "MKTLLILAVVAA", "ACDEFGHIKLMNPQRSTVWY", "MK<mask>LXBUZO.-A<mask>GG", "MSKGEELFTGVVPILVELDGDVNGHKFSVSGEG"]


def tokenize(sequence):
    import re
    letters = re.findall(r"<mask>|.", sequence)
    return [0] + [TOKENS.index(letter) for letter in letters] + [2]


def run(model, tokens):
    ids = torch.tensor([tokens])
    with torch.no_grad():
        out = model(ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)
        contacts = model.predict_contacts(ids, torch.ones_like(ids))
    result = {f"hidden.{i}": hidden[0] for i, hidden in enumerate(out.hidden_states)}
    return {**result, "logits": out.logits[0], "contacts": contacts[0]}


def rotary_in_own_precision(self, x, position_ids, layer_type=None):
    """EsmRotaryEmbedding.forward with angles in float64 for a float64 model; float32 otherwise, as the original."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    angles = position_ids[..., None].to(dtype) * self.inv_freq.to(dtype)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def cast(model, dtype):
    """The model in another precision; rotary frequencies stay what they are."""
    rotary = model.esm.rotary_embeddings
    inv_freq = rotary.inv_freq.float()
    model.to(dtype)
    rotary.inv_freq = inv_freq
    type(rotary).forward = rotary_in_own_precision
    return model


def write_values(root):
    """values/<D>/ holds the checkpoint; values/<D>.safetensors its inputs, the results of float64
    (stored as float32) and the root mean square errors of Hugging Face's own float32 and bfloat16 runs."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for width, heads, layers in ((16, 3, 3), (24, 3, 3), (32, 2, 2), (64, 2, 2), (128, 1, 2)):
        model = masked_lm(seed=width, layers=layers, heads=heads, width=heads * width, feed_forward=40)
        model.set_attn_implementation("eager")
        folder = root / str(width)
        folder.mkdir()
        write_config(folder, hidden_size=heads * width, num_hidden_layers=layers, num_attention_heads=heads,
                     intermediate_size=40)
        state = {n: t if "inv_freq" in n else t.bfloat16() for n, t in classic_state(model).items()}
        save_file(state, folder / "model.safetensors")
        stored = {n: t.float() for n, t in state.items()}
        model.load_state_dict(stored, strict=False)
        model.tie_weights()
        golden = {}
        for index, sequence in enumerate(SEQUENCES):
            tokens = tokenize(sequence)
            exact, single, half = (run(cast(model, dtype), tokens)
                                   for dtype in (torch.float64, torch.float32, torch.bfloat16))
            golden[f"{index}.tokens"] = torch.tensor(tokens, dtype=torch.int32)
            for name in [f"hidden.{i}" for i in range(layers + 1)] + ["logits", "contacts"]:
                golden[f"{index}.{name}"] = exact[name].float().contiguous()
                for kind, run_result in (("f32", single), ("bf16", half)):
                    error = (run_result[name].double() - exact[name]).square().mean().sqrt()
                    golden[f"{index}.{name}.{kind}_error"] = error.float().reshape(1)
        save_file(golden, root / f"{width}.safetensors")


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["checkpoints", "values"]
    if "checkpoints" in chosen:
        write_checkpoints(HERE / "checkpoints")
    if "values" in chosen:
        write_values(HERE / "values")
