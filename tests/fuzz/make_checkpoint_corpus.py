#!/usr/bin/env python3
"""Writes corpus/{safetensors,torch,config}: a few hundred bytes each, valid and broken. Needs torch and safetensors."""
import argparse
import collections
import json
import struct
from pathlib import Path

import torch
from safetensors.torch import save

CORPUS = Path(__file__).parent / "corpus"


def write(folder, name, data):
    path = CORPUS / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def safetensors_files():
    tensors = {"a.weight": torch.arange(4.0).reshape(2, 2), "a.bias": torch.ones(2, dtype=torch.bfloat16)}
    plain = save(tensors)
    write("safetensors", "two", plain)
    write("safetensors", "metadata", save(tensors, {"num_layers": "2", "name": "esm2"}))
    write("safetensors", "empty", struct.pack("<Q", 2) + b"{}")
    write("safetensors", "cut", plain[:-3])
    hole = json.dumps({"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}}).encode()
    write("safetensors", "hole", struct.pack("<Q", len(hole)) + hole + b"xy")
    huge = json.dumps({"a": {"dtype": "F64", "shape": [2**40, 2**40], "data_offsets": [0, 8]}}).encode()
    write("safetensors", "huge_shape", struct.pack("<Q", len(huge)) + huge + b"12345678")
    write("safetensors", "nested", struct.pack("<Q", 600) + b'{"a":' + b"[" * 595)


def torch_file(name, value, **options):
    path = CORPUS / "torch" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(value, path, **options)


def torch_files():
    state = collections.OrderedDict(w=torch.arange(6.0).reshape(2, 3), v=torch.arange(6.0).reshape(2, 3).t())
    torch_file("state_dict", state)
    torch_file("protocol4", state, pickle_protocol=4)
    torch_file("namespace", {"cfg": {"model": argparse.Namespace(encoder_layers=2, token_dropout=True)}, "model": state,
                             "seed": 2**70, "lr": 0.5, "list": [1, (2, None), {"x": b"bytes"}]})
    torch_file("parameter", {"p": torch.nn.Parameter(torch.ones(2)), "half": torch.ones(2, dtype=torch.float16)})
    torch_file("legacy", {"w": torch.ones(1)}, _use_new_zipfile_serialization=False)

    class Evil:
        def __reduce__(self):
            import os
            return os.system, ("true",)

    torch_file("evil", {"w": torch.ones(1), "x": Evil()})


def config_files():
    base = {"architectures": ["EsmForMaskedLM"], "model_type": "esm", "hidden_size": 16, "num_hidden_layers": 2,
            "num_attention_heads": 2, "layer_norm_eps": 1e-5, "token_dropout": True, "esmfold_config": None}
    write("config", "esm", json.dumps(base).encode())
    write("config", "wrong_types", json.dumps({**base, "hidden_size": "16"}).encode())
    write("config", "lora", json.dumps({"peft_type": "LORA", "r": 4, "lora_alpha": 8.5, "use_rslora": True,
                                        "alpha_pattern": {"query": 3}, "target_modules": ["query"]}).encode())
    write("config", "repeated_key", b'{"hidden_size": 1, "hidden_size": 2}')
    write("config", "deep", b"[" * 300)
    write("config", "odd_text", '{"model_type": "\\ud800 \\u0000 é", "x": 1e999}'.encode())


if __name__ == "__main__":
    safetensors_files()
    torch_files()
    config_files()
