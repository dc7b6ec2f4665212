"""Looks at one protein residue by residue, and at its contacts where the model can predict them.

    python per_residue.py [FASTA [MODEL]]

Takes the first record of the file; without arguments GFP of the example proteins and the demonstration model (which has
no contact head; any published ESM-2 has one).
"""

import sys
from pathlib import Path

import numpy as np

import biowarp

EXAMPLES = Path(__file__).resolve().parents[1] / "data" / "proteins.fasta"


def main() -> None:
    fasta = sys.argv[1] if len(sys.argv) > 1 else EXAMPLES
    model = biowarp.Model.from_pretrained(sys.argv[2] if len(sys.argv) > 2 else "")
    record = next(biowarp.iter_fasta(fasta))

    rows = model.encode(record, per_residue=True)  # [L, C]
    print(f"{record.id}: {rows.shape[0]} residues, {rows.shape[1]} numbers each")

    logits = model.logits(record)[1:-1].astype(np.float64)  # [L, V] without begin and end token
    logits -= np.logaddexp.reduce(logits, axis=1, keepdims=True)
    own = [logits[i, biowarp.VOCABULARY.index(letter)] for i, letter in enumerate(record.sequence)]
    print("least expected residues:")
    for i in np.argsort(own)[:5]:
        print(f"  {record.sequence[i]}{i + 1}  log probability {own[i]:.2f}")

    if not model.info.contact_head:
        print("this model has no contact head")
        return
    contacts = model.contacts(record)  # [L, L]
    i, j = np.triu_indices(len(contacts), k=6)
    print("most probable contacts, at least 6 residues apart:")
    for k in np.argsort(-contacts[i, j])[:10]:
        print(f"  {record.sequence[i[k]]}{i[k] + 1} - {record.sequence[j[k]]}{j[k] + 1}  {contacts[i[k], j[k]]:.2f}")


if __name__ == "__main__":
    main()
