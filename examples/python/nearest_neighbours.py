"""Embeds a FASTA file and prints the nearest neighbour of every protein.

    python nearest_neighbours.py [FASTA [MODEL]]

Without arguments: the example proteins and the demonstration model. Relatives (insulins, albumins, globins) should find
each other.
"""

import sys
from pathlib import Path

import numpy as np

import biowarp

EXAMPLES = Path(__file__).resolve().parents[1] / "data" / "proteins.fasta"


def main() -> None:
    fasta = sys.argv[1] if len(sys.argv) > 1 else EXAMPLES
    model = biowarp.Model.from_pretrained(sys.argv[2] if len(sys.argv) > 2 else "")
    records = biowarp.read_fasta(fasta)

    rows = model.encode(records, progress=True)  # [n, C]
    rows -= rows.mean(axis=0)  # what all proteins share says nothing about any of them
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    similarity = rows @ rows.T
    np.fill_diagonal(similarity, -1)

    for record, nearest in zip(records, similarity.argmax(axis=1)):
        print(f"{record.id:30} {records[nearest].id:30} {similarity[record.index, nearest]:.3f}")


if __name__ == "__main__":
    main()
