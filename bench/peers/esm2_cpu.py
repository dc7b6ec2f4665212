#!/usr/bin/env python3
"""Runs ESM-2 on the CPU with biowarp and its peers, side by side, and prints the ratios.

usage: esm2_cpu.py --biowarp build/bin/biowarp [--fasta FILE] [--sizes 8M 35M 150M] [--count 300] [--rounds 3]

Peers: Hugging Face transformers in fp32 and bf16 (sorted by length, batches of 4,096 padded tokens, no language-model
head) and esm-cpp in fp32 and int8 (whichever of its calls is fastest here; it always computes logits, 1-2 % more work).
All tools load the same random weights of the public shapes and get the same proteins, cropped to 1,022 residues.

Every round runs every tool once, in turn, so that a machine whose speed wanders slows them all; ratios are taken
within rounds and their median is printed. One JSON line per size is appended to bench/results/esm2_cpu.jsonl.
"""
import argparse
import copy
import datetime
import gzip
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
ROOT = pathlib.Path(__file__).resolve().parents[2]
SHAPES = {"8M": (6, 320, 20), "35M": (12, 480, 20), "150M": (30, 640, 20), "650M": (33, 1280, 20)}  # layers, C, heads
TOKENS = {letter: token for token, letter in enumerate("LAGVSERTIDPKQNFYMHWCXBUZO", 4)}
CROP, PAD, HF_BATCH = 1022, 1, 4096

# Whose speed is compared with whose.
PAIRS = [
    ("biowarp f32", "hf fp32"), ("biowarp bf16", "hf bf16"), ("biowarp int8", "hf bf16"),
    ("biowarp f32", "esm-cpp fp32"), ("biowarp bf16", "esm-cpp int8"), ("biowarp int8", "esm-cpp int8"),
]


def read_sequences(path):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    sequences = []
    with opened as lines:
        for line in lines:
            if line.startswith(">"):
                sequences.append("")
            elif sequences:
                sequences[-1] += line.strip()
    return [sequence[:CROP] for sequence in sequences if sequence]


def pick(sequences, count):
    """The same proteins on every run: a fixed shuffle of the file."""
    random.Random(0).shuffle(sequences)
    return sequences[:count]


def write_checkpoint(size, folder):
    """Random weights in the layout that all tools read, and the transformers model."""
    import torch
    from safetensors.torch import save_file
    from transformers import EsmConfig, EsmForMaskedLM

    layers, hidden, heads = SHAPES[size]
    config = EsmConfig(
        vocab_size=33, mask_token_id=32, pad_token_id=PAD, hidden_size=hidden, num_hidden_layers=layers,
        num_attention_heads=heads, intermediate_size=4 * hidden, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, max_position_embeddings=1026, position_embedding_type="rotary",
        token_dropout=True, emb_layer_norm_before=False, layer_norm_eps=1e-5)
    torch.manual_seed(0)
    model = EsmForMaskedLM(config).eval()
    tensors = {name.replace(".gamma", ".weight").replace(".beta", ".bias"): value.detach().clone().contiguous()
               for name, value in model.state_dict().items() if "inv_freq" not in name and "position" not in name}
    width = hidden // heads
    frequencies = 1.0 / 10000 ** (torch.arange(0, width, 2).float() / width)
    for layer in range(layers):  # esm-cpp insists on them
        tensors[f"esm.encoder.layer.{layer}.attention.self.rotary_embeddings.inv_freq"] = frequencies.clone()
    config.save_pretrained(folder)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return model


class Biowarp:
    def __init__(self, program, precision, checkpoint, fasta, threads):
        self.name = f"biowarp {precision}"
        self.command = [program, "bench", str(fasta), "--model", str(checkpoint), "--dtype", precision, "--threads",
                        str(threads), "--repeat", "1", "--no-ops", "--json"]

    def run(self):
        result = subprocess.run(self.command, capture_output=True, text=True)
        if result.returncode != 0:
            raise RuntimeError(result.stderr.strip())
        return json.loads(result.stdout)["round_seconds"][0]


class Transformers:
    def __init__(self, precision, model, ids):
        import torch

        self.name = f"hf {precision}"
        self.torch = torch
        self.model = copy.deepcopy(model.esm).to({"fp32": torch.float32, "bf16": torch.bfloat16}[precision])
        self.batches = list(self.padded_batches(ids))
        self.forward(self.batches[-1])

    @staticmethod
    def padded_batches(ids):
        batch = []
        for one in sorted(ids, key=len, reverse=True):
            longest = len(batch[0]) if batch else len(one)
            if batch and longest * (len(batch) + 1) > HF_BATCH:
                yield batch
                batch = []
            batch.append(one)
        yield batch

    def forward(self, batch):
        torch = self.torch
        ids = torch.full((len(batch), len(batch[0])), PAD)
        for row, one in enumerate(batch):
            ids[row, :len(one)] = torch.tensor(one)
        with torch.inference_mode():
            self.model(ids, attention_mask=(ids != PAD).long())

    def run(self):
        start = time.perf_counter()
        for batch in self.batches:
            self.forward(batch)
        return time.perf_counter() - start


class EsmCpp:
    def __init__(self, precision, checkpoint, ids):
        import esm_cpp
        import numpy

        self.name = f"esm-cpp {precision}"
        self.ids = [numpy.array(one, numpy.int32) for one in ids]
        model = esm_cpp.Model.load_from_safetensors(str(checkpoint / "model.safetensors"))
        if precision == "int8":
            model.quantize_weights()
        calls = {
            "one by one": lambda ids: [model.forward(one) for one in ids],
            "forward_batch": getattr(model, "forward_batch", None),
            "forward_scheduled": getattr(model, "forward_scheduled", None),
        }
        self.call = min((call for call in calls.values() if call), key=self.trial)

    def trial(self, call):
        """Seconds for a sixteenth of the proteins."""
        part = self.ids[::16]
        call(part[:2])
        start = time.perf_counter()
        call(part)
        return time.perf_counter() - start

    def run(self):
        start = time.perf_counter()
        self.call(self.ids)
        return time.perf_counter() - start


def make_tools(arguments, size, folder, sequences):
    import torch

    torch.set_num_threads(arguments.threads)
    model = write_checkpoint(size, folder)
    fasta = folder / "proteins.fasta"
    fasta.write_text("".join(f">{number}\n{sequence}\n" for number, sequence in enumerate(sequences)))
    ids = [[0] + [TOKENS.get(letter, 3) for letter in sequence] + [2] for sequence in sequences]
    makers = {
        **{f"biowarp {precision}": lambda p=precision: Biowarp(arguments.biowarp, p, folder, fasta, arguments.threads)
           for precision in ("f32", "bf16", "int8")},
        **{f"hf {precision}": lambda p=precision: Transformers(p, model, ids) for precision in ("fp32", "bf16")},
        **{f"esm-cpp {precision}": lambda p=precision: EsmCpp(p, folder, ids) for precision in ("fp32", "int8")},
    }
    wanted = {name: make for name, make in makers.items() if any(tool in name for tool in arguments.tools)}
    tools = {}
    for name, make in wanted.items():
        try:
            tools[name] = make()
        except Exception as problem:  # a peer that does not run here must not end the comparison
            print(f"  {name} left out: {problem}", file=sys.stderr)
    return tools


def measure(tools, tokens, rounds):
    """Tokens per second of every tool in every round."""
    speeds = {name: [] for name in tools}
    for number in range(rounds):
        for name, tool in list(tools.items()):
            try:
                speeds[name].append(tokens / tool.run())
                print(f"  round {number + 1}: {name:<14} {speeds[name][-1]:9.0f} tokens/s", flush=True)
            except RuntimeError as problem:
                print(f"  {name} left out: {problem}", file=sys.stderr)
                del tools[name], speeds[name]
    return speeds


def machine():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return os.uname().machine


def git_commit():
    """The commit that was measured, with "+" when the tree holds more than the commit."""
    def git(*command):
        return subprocess.run(["git", "-C", str(ROOT), *command], capture_output=True, text=True).stdout.strip()

    commit = git("rev-parse", "--short=12", "HEAD")
    return commit + ("+" if commit and git("status", "--porcelain", "--untracked-files=no") else "")


def versions():
    from importlib import metadata

    return {name: metadata.version(name) for name in ("torch", "transformers", "esm-cpp")}


def compare(arguments, size, sequences):
    tokens = sum(len(sequence) + 2 for sequence in sequences)
    print(f"{size}: {len(sequences)} proteins, {tokens} tokens, {arguments.threads} threads", flush=True)
    with tempfile.TemporaryDirectory(prefix="biowarp-bench-") as folder:
        speeds = measure(make_tools(arguments, size, pathlib.Path(folder), sequences), tokens, arguments.rounds)
    ratios = {}
    for mine, other in PAIRS:
        if mine in speeds and other in speeds:
            ratios[f"{mine} / {other}"] = statistics.median(a / b for a, b in zip(speeds[mine], speeds[other]))
    print("  tokens/s, median: " + ", ".join(f"{name} {statistics.median(all_):.0f}" for name, all_ in speeds.items()))
    for pair, ratio in ratios.items():
        print(f"  {pair:<28} {ratio:5.2f}x")
    return {
        "date": datetime.date.today().isoformat(), "commit": git_commit(), "machine": machine(),
        "threads": arguments.threads, "model": size, "proteins": len(sequences), "tokens": tokens,
        "versions": versions(), "tokens_per_second": {name: [round(x, 1) for x in all_] for name, all_ in speeds.items()},
        "ratios": {pair: round(ratio, 3) for pair, ratio in ratios.items()},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--biowarp", default=str(ROOT / "build/bin/biowarp"), help="program to measure")
    parser.add_argument("--fasta", type=pathlib.Path, default=ROOT / "examples/data/proteins.fasta")
    parser.add_argument("--sizes", nargs="+", default=["8M", "35M", "150M"], choices=list(SHAPES))
    parser.add_argument("--count", type=int, default=300, help="proteins of the file (300)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--tools", nargs="+", default=["biowarp", "hf", "esm-cpp"], help="names or parts of names")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench/results/esm2_cpu.jsonl")
    arguments = parser.parse_args()
    os.environ["ESM_NUM_THREADS"] = str(arguments.threads)  # read when esm_cpp is imported

    sequences = pick(read_sequences(arguments.fasta), arguments.count)
    if not sequences:
        parser.error(f"{arguments.fasta} holds no proteins")
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    for size in arguments.sizes:
        line = compare(arguments, size, sequences)
        with arguments.results.open("a") as out:
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
