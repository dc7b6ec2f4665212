"""Shared fixtures: the demonstration model and the example proteins."""

from pathlib import Path

import pytest

import biowarp

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def examples() -> Path:
    return ROOT / "examples"


@pytest.fixture(scope="session")
def model() -> biowarp.Model:
    with pytest.warns(UserWarning, match="demonstration model"):
        return biowarp.Model.from_pretrained()


@pytest.fixture(scope="session")
def proteins(examples) -> list:
    return biowarp.read_fasta(examples / "data" / "proteins.fasta")


@pytest.fixture(scope="session")
def short(proteins) -> list:
    """Letters of the proteins up to 300 residues, in file order."""
    return [record.sequence for record in proteins if len(record.sequence) <= 300]
