"""Shared fixtures: checkpoints made by the installed transformers, and runs of them."""

import subprocess
from functools import lru_cache
from pathlib import Path

import pytest
import torch
from transformers.utils import logging

import biowarp
from biowarp._program import PROGRAM
from reference import Reference, tiny_model, tokenize

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = [16, 24, 32, 64, 128]

logging.disable_progress_bar()
logging.set_verbosity_error()
torch.manual_seed(0)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """tiny(width): folder of a random checkpoint with this head width, as save_pretrained writes it."""

    @lru_cache(maxsize=None)
    def make(width: int) -> Path:
        folder = tmp_path_factory.mktemp(f"width_{width}")
        tiny_model(width, seed=width).save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def demonstration() -> Path:
    return ROOT / "models" / "biowarp-esm2-8m"


@pytest.fixture(scope="session")
def reference():
    """reference(folder, precision): that checkpoint in transformers, loaded once."""
    return lru_cache(maxsize=None)(Reference)


@pytest.fixture(scope="session")
def forward(reference):
    """forward(folder, precision, sequence): hidden states and logits of transformers, computed once."""
    return lru_cache(maxsize=None)(
        lambda folder, precision, sequence: reference(folder, precision).forward(tokenize(sequence))
    )


@pytest.fixture(scope="session")
def proteins() -> list:
    """Letters of the example proteins that transformers reads too, up to 700 residues."""
    records = biowarp.read_fasta(ROOT / "examples" / "data" / "proteins.fasta")
    return [record.sequence.upper().rstrip("*") for record in records if len(record.sequence) <= 700]


@pytest.fixture(scope="session")
def program():
    """program(*arguments): runs the biowarp command, returns its standard output; fails unless it exits with 0."""

    def run(*arguments) -> str:
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def load():
    """load(folder, dtype): the model in biowarp; skips in words when this processor cannot run the precision."""

    def load(folder, dtype="f32", **options) -> biowarp.Model:
        try:
            return biowarp.Model.from_pretrained(folder, dtype=dtype, **options)
        except biowarp.DeviceError as error:
            if dtype == "f32":
                raise
            pytest.skip(f"{dtype} is not available here: {error}")

    return lru_cache(maxsize=None)(load)
