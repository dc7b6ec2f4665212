#!/usr/bin/env python3
"""Peak memory of `biowarp embed` does not grow with the number of records (S31).

usage: memory_flat.py BIOWARP [--records N] [--format npy --format h5]

Embeds 10,000 and then N (200,000) short proteins with a tiny random checkpoint of the script's own and compares the
largest resident sizes; more than 5 % of difference is a failure. Run by hand: it takes minutes. Standard library only.
"""
import argparse
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

FEW = 10_000
ALLOWED = 1.05
HIDDEN, HEADS, FEED_FORWARD, VOCABULARY = 64, 4, 128, 33


def tensors():
    def linear(name, rows, columns):
        return [(f"{name}.weight", (rows, columns)), (f"{name}.bias", (rows,))]

    def norm(name):
        return [(f"{name}.weight", (HIDDEN,)), (f"{name}.bias", (HIDDEN,))]

    layer = "esm.encoder.layer.0."
    return [("esm.embeddings.word_embeddings.weight", (VOCABULARY, HIDDEN)),
            *norm(layer + "attention.LayerNorm"),
            *linear(layer + "attention.self.query", HIDDEN, HIDDEN),
            *linear(layer + "attention.self.key", HIDDEN, HIDDEN),
            *linear(layer + "attention.self.value", HIDDEN, HIDDEN),
            *linear(layer + "attention.output.dense", HIDDEN, HIDDEN),
            *norm(layer + "LayerNorm"),
            *linear(layer + "intermediate.dense", FEED_FORWARD, HIDDEN),
            *linear(layer + "output.dense", HIDDEN, FEED_FORWARD),
            *norm("esm.encoder.emb_layer_norm_after")]


def write_checkpoint(folder, source):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["EsmModel"], "model_type": "esm", "hidden_size": HIDDEN, "num_hidden_layers": 1,
        "num_attention_heads": HEADS, "intermediate_size": FEED_FORWARD, "vocab_size": VOCABULARY,
        "position_embedding_type": "rotary", "token_dropout": True, "layer_norm_eps": 1e-5}))
    header, data = {}, b""
    for name, shape in tensors():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = struct.pack(f"<{count}f", *(source.gauss(0.0, 0.1) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_proteins(path, count, source):
    with open(path, "w", encoding="ascii") as file:
        for number in range(count):
            letters = "".join(source.choices("ACDEFGHIKLMNPQRSTVWY", k=source.randint(8, 24)))
            file.write(f">sp|P{number:06}|NAME{number}_HUMAN protein number {number} OS=Homo sapiens\n{letters}\n")


def peak_mib(program, model, fasta, output):
    command = [program, "embed", str(fasta), "-o", str(output), "--model", str(model), "--json", "--threads", "2"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    output.unlink()
    return json.loads(done.stdout)["peak_memory_bytes"] / 2**20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--format", action="append")
    arguments = parser.parse_args()
    program, source, failed = str(arguments.program.resolve()), random.Random(1), False
    with tempfile.TemporaryDirectory() as name:
        base = pathlib.Path(name)
        write_checkpoint(base / "model", source)
        write_proteins(base / "few.fasta", FEW, source)
        write_proteins(base / "many.fasta", arguments.records, source)
        for suffix in arguments.format or ["npy", "h5"]:
            few = peak_mib(program, base / "model", base / "few.fasta", base / f"few.{suffix}")
            many = peak_mib(program, base / "model", base / "many.fasta", base / f"many.{suffix}")
            print(f"{suffix}: {few:.1f} MiB for {FEW} proteins, {many:.1f} MiB for {arguments.records}: "
                  f"{100 * (many / few - 1):+.1f} %")
            failed = failed or many > few * ALLOWED
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
