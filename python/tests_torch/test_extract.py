"""`biowarp extract` writes what fair-esm's esm-extract writes: one .pt dictionary for each protein."""

import numpy as np
import pytest
import torch

from conftest import WIDTHS

SEQUENCES = {"first": "MKTAYIAKQRQISFVKSHF", "second protein": "GGSGG", "third": "MKTAYIAK" * 12}


@pytest.mark.parametrize("width", WIDTHS[:2])
def test_dictionaries(width, tiny, load, program, tmp_path):
    fasta = tmp_path / "p.fasta"
    fasta.write_text("".join(f">{label}\n{letters}\n" for label, letters in SEQUENCES.items()))
    program("extract", tiny(width), fasta, tmp_path / "out", "--repr_layers", 0, 3,
            "--include", "mean", "per_tok", "bos", "contacts", "--truncation_seq_length", 50)
    model = load(tiny(width))
    for label, letters in SEQUENCES.items():
        letters = letters[:50]
        (file,) = [path for path in (tmp_path / "out").glob("*.pt") if path.stem.startswith(label.split()[0])]
        result = torch.load(file, weights_only=True)
        assert result.keys() == {
            "label", "representations", "mean_representations", "bos_representations", "contacts"
        }
        assert result["label"] == label
        for layer in (0, 3):
            residues = model.encode(letters, layers=layer, per_residue=True)
            for key, expected in [
                ("representations", residues),
                ("mean_representations", model.encode(letters, layers=layer)),
                ("bos_representations", model.encode(letters, layers=layer, pooling="cls")),
            ]:
                assert result[key].keys() == {0, 3}
                assert result[key][layer].dtype == torch.float32
                np.testing.assert_array_equal(result[key][layer].numpy(), expected)
        np.testing.assert_array_equal(result["contacts"].numpy(), model.contacts(letters))


def test_only_what_was_asked_for(tiny, program, tmp_path):
    fasta = tmp_path / "p.fasta"
    fasta.write_text(">a\nMKTAYIAK\n")
    program("extract", tiny(16), fasta, tmp_path / "out", "--include", "mean")
    result = torch.load(tmp_path / "out" / "a.pt", weights_only=True)
    assert result.keys() == {"label", "mean_representations"}
    assert result["mean_representations"].keys() == {3}  # the last layer, as esm-extract's default of -1
