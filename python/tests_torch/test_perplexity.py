"""Masked loss on identical masks: `biowarp perplexity --dump-masks`, then transformers on the dumped inputs."""

import csv
import json
from collections import defaultdict

import pytest

from reference import TOKENS, tokenize

LIMITS = {"f32": 1e-5, "bf16": 1e-3}


def write_fasta(path, sequences):
    path.write_text("".join(f">p{n}\n{letters}\n" for n, letters in enumerate(sequences)))
    return path


def read_masks(path):
    """(input token, target token) by record and token number."""
    masks = defaultdict(dict)
    with open(path, newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            token = TOKENS.index
            masks[int(row["record"])][int(row["position"])] = token(row["input"]), token(row["target"])
    return masks


def masked_inputs(sequences, masks):
    inputs, targets = [], []
    for record, letters in enumerate(sequences):
        ids = tokenize(letters)
        wanted = [-100] * len(ids)
        for position, (token, target) in masks[record].items():
            assert ids[position] == target, f"record {record}, position {position}"
            ids[position], wanted[position] = token, target
        inputs.append(ids)
        targets.append(wanted)
    return inputs, targets


@pytest.mark.parametrize("scheme, letters", [("80/10/10", "aa"), ("80/10/10", "vocab"), ("mask", "aa")])
@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_loss_on_the_same_masks(precision, scheme, letters, demonstration, load, reference, proteins, program, tmp_path):
    load(demonstration, precision)  # skips where the precision is not available
    proteins = [letters for letters in proteins if len(letters) < 300]
    fasta, dump = write_fasta(tmp_path / "p.fasta", proteins), tmp_path / "masks.tsv"
    arguments = ["perplexity", fasta, "--model", demonstration, "--dtype", precision, "--json"]
    out = program(*arguments, "--scheme", scheme, "--random", letters, "--seed", 7, "--dump-masks", dump)
    ours = json.loads(out)
    inputs, targets = masked_inputs(proteins, read_masks(dump))
    loss, positions = reference(demonstration, precision).loss(inputs, targets)
    assert ours["positions"] == positions > 300
    assert abs(ours["loss"] - loss) <= LIMITS[precision]

    again = json.loads(program(*arguments, "--masks", dump))
    assert (again["loss"], again["positions"]) == (ours["loss"], ours["positions"])


def test_python_agrees_with_the_command(demonstration, load, proteins, program, tmp_path):
    fasta = write_fasta(tmp_path / "p.fasta", proteins[:6])
    out = json.loads(program("perplexity", fasta, "--model", demonstration, "--json", "--seed", 3))
    result = load(demonstration).perplexity(proteins[:6], seed=3)
    assert (result.loss, result.positions) == pytest.approx((out["loss"], out["positions"]), rel=1e-9)
