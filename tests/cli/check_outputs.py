#!/usr/bin/env python3
"""Reads what `biowarp embed` and `biowarp extract` write with the libraries that people read it with.

usage: check_outputs.py BIOWARP

Needs numpy (exit code 77 without it); h5py, safetensors and torch are used where they are installed (what is left out is said). The same records
are written in every format, and all formats must hold the same numbers.
"""
import csv
import hashlib
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("left out, not installed: numpy")
    sys.exit(77)

FASTA = """>first human kinase
MKTLLVLAVCLA
>ids reserved name
mktll
>first the same id again
MSTNPKPQRK
>sp/P1/X a slash
MKVL*
>k\u00e4se umlaut
MW
>empty
>bad letter
MK:L
>..
MAAAAAGGGG
"""
KEPT = ["first", "ids", "first", "sp/P1/X", "k\u00e4se", ".."]
LENGTHS = [12, 5, 10, 4, 2, 10]
UNIQUE = ["first", "ids#2", "first#2", "sp/P1/X", "k\u00e4se", ".."]


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"left out, not installed: {name}")
        return None


h5py, torch = optional("h5py"), optional("torch")
safetensors = optional("safetensors.numpy") and importlib.import_module("safetensors")


class Outputs:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.fasta = folder / "in.fasta"
        self.fasta.write_text(FASTA, encoding="utf-8")

    def embed(self, name, *options, exit_code=5):
        path = self.folder / name
        command = [self.program, "embed", str(self.fasta), "-o", str(path), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == exit_code, (command, done.returncode, done.stderr)
        return path

    def index(self, path):
        with open(f"{path}.index.tsv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_index(out, path, keys):
    lines = out.index(path)
    assert [line["id"] for line in lines] == ["first", "ids", "first", "sp/P1/X", "k\u00e4se", "empty", "bad", ".."]
    kept = [line for line in lines if line["status"] == "ok"]
    assert [line["key"] for line in kept] == keys, [line["key"] for line in kept]
    assert [int(line["row"]) for line in kept] == list(range(6))
    assert [int(line["length"]) for line in kept] == LENGTHS
    skipped = {line["id"]: line["reason"] for line in lines if line["status"] == "skipped"}
    assert skipped["empty"] and ":" in skipped["bad"], skipped
    assert lines[0]["description"] == "human kinase"
    assert "upper" in lines[1]["changes"] and "*" in lines[3]["changes"]


def check_pooled(out):
    matrix = np.load(out.embed("a.npy"))
    assert matrix.shape == (6, 320) and matrix.dtype == np.float32 and np.isfinite(matrix).all()
    check_index(out, out.folder / "a.npy", KEPT)

    npz = np.load(out.embed("a.npz"))
    assert npz.files == ["embeddings", "ids", "lengths"]
    assert np.array_equal(npz["embeddings"], matrix)
    assert npz["ids"].tolist() == KEPT and npz["lengths"].tolist() == LENGTHS

    half = np.load(out.embed("half.npy", "--out-dtype", "f16"))
    assert half.dtype == np.float16 and np.array_equal(half, matrix.astype(np.float16))
    several = np.load(out.embed("layers.npy", "--layers", "0,-1"))
    assert several.shape == (6, 2, 320) and np.array_equal(several[:, 1], matrix)

    for name, separator in (("a.tsv", "\t"), ("a.csv", ",")):
        with open(out.embed(name), newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file, delimiter=separator))
        assert rows[0][:3] == ["id", "length", "e0"] and [row[0] for row in rows[1:]] == KEPT
        assert np.array_equal(np.array([row[2:] for row in rows[1:]], dtype=np.float32), matrix)
    return matrix


def check_per_residue(out, matrix):
    npz = np.load(out.embed("r.npz", "--per-residue"))
    assert npz.files == UNIQUE
    check_index(out, out.folder / "r.npz", UNIQUE)
    for name, length, row in zip(UNIQUE, LENGTHS, matrix):
        assert npz[name].shape == (length, 320)
        assert np.allclose(npz[name].astype(np.float64).mean(0), row, rtol=1e-6, atol=1e-6)
    return {name: npz[name] for name in UNIQUE}


def check_h5(out, matrix, residues):
    keys = ["first", "ids", "first#2", "sp_P1_X", "k\u00e4se", "__"]
    with h5py.File(out.embed("a.h5")) as file:
        assert list(file) == keys, list(file)  # in input order
        for key, row, name in zip(keys, matrix, KEPT):
            assert np.array_equal(file[key][()], row)
            assert file[key].attrs["original_id"] == name
        assert file["first"].attrs["description"] == "human kinase"
        assert file.attrs["pooling"] == "mean" and file.attrs["precision"] == "f32" and file.attrs["layer"] == "6"
        assert len(file.attrs["model_hash"]) >= 16 and file.attrs["model"]
    check_index(out, out.folder / "a.h5", keys)
    with h5py.File(out.embed("r16.h5", "--per-residue", "--out-dtype", "f16")) as file:
        for key, rows in zip(keys, residues.values()):
            assert file[key].dtype == np.float16 and np.array_equal(file[key][()], rows.astype(np.float16))
    with h5py.File(out.embed("b16.h5", "--out-dtype", "bf16")) as file:
        for key, row in zip(keys, matrix):
            assert np.allclose(file[key][()].astype(np.float32), row, rtol=2**-8, atol=0)


def check_safetensors(out, matrix, residues):
    with safetensors.safe_open(out.embed("a.safetensors"), "numpy") as file:
        assert np.array_equal(file.get_tensor("embeddings"), matrix)
        assert file.get_tensor("lengths").tolist() == LENGTHS
        assert json.loads(file.metadata()["ids"]) == KEPT and file.metadata()["pooling"] == "mean"
    keys = ["first", "ids", "first#2", "sp/P1/X", "k\u00e4se", ".."]
    with safetensors.safe_open(out.embed("r.safetensors", "--per-residue"), "numpy") as file:
        assert sorted(file.keys()) == sorted(keys)
        for key, rows in zip(keys, residues.values()):
            assert np.array_equal(file.get_tensor(key), rows)
    if torch:
        with safetensors.safe_open(out.embed("b.safetensors", "--out-dtype", "bf16"), "pt") as file:
            assert torch.equal(file.get_tensor("embeddings"), torch.from_numpy(matrix).to(torch.bfloat16))


def check_same_bytes(out):
    for name in ("a.npy", "a.npz", "r.npz", "a.h5", "a.safetensors", "a.tsv"):
        if not (out.folder / name).exists():
            continue
        options = ["--per-residue"] if name.startswith("r") else []
        suffix = name[1:]
        assert digest(out.folder / name) == digest(out.embed("again" + suffix, *options, "--tokens", "16")), name


def check_extract(out, program, matrix, residues):
    folder = out.folder / "pt"
    model = pathlib.Path(__file__).resolve().parents[2] / "models" / "biowarp-esm2-8m"
    command = [program, "extract", str(model), str(out.fasta), str(folder), "--repr_layers", "0", "-1", "--include",
               "mean", "per_tok", "bos", "--nogpu"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 5, done.stderr
    assert not list(out.folder.glob("*.pt")) and len(list(folder.glob("*.pt"))) == 6
    with open(folder / "index.tsv", newline="", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file, delimiter="\t") if line["status"] == "ok"]
    assert lines[0]["key"] == "first human kinase.pt" and lines[3]["key"] == "sp_P1_X a slash.pt"
    for line, row, rows in zip(lines, matrix, residues.values()):
        result = torch.load(folder / line["key"], weights_only=True)
        assert list(result) == ["label", "representations", "mean_representations", "bos_representations"]
        assert result["label"].split(" ")[0] == line["id"]
        assert list(result["representations"]) == [0, 6]
        assert np.array_equal(result["representations"][6].numpy(), rows)
        assert np.array_equal(result["mean_representations"][6].numpy(), row)
        assert result["bos_representations"][0].shape == (320,)
        assert result["representations"][0].dtype == torch.float32


def check_long(out):
    letters = "ACDEFGHIKLMNPQRSTVWY"
    out.fasta.write_text(f">long\n{letters * 10}\n>short\n{letters}\n")
    full = np.load(out.embed("full.npy", exit_code=0))
    same = np.load(out.embed("same.npy", "--long", "window", "--max-length", "200", exit_code=0))
    assert np.array_equal(full, same)  # L <= window
    windows = np.load(out.embed("windows.npz", "--long", "window", "--max-length", "64", "--overlap", "32",
                                "--per-residue", exit_code=0))
    assert windows["long"].shape == (200, 320) and np.isfinite(windows["long"]).all()
    cut = np.load(out.embed("cut.npz", "--long", "truncate", "--max-length", "64", "--per-residue", exit_code=0))
    assert cut["long"].shape == (64, 320) and cut["short"].shape == (20, 320)
    np.load(out.embed("error.npy", "--long", "error", "--max-length", "64", exit_code=5))
    assert "200 residues" in out.index(out.folder / "error.npy")[0]["reason"]


def check_shards(out):
    whole = np.load(out.embed("whole.npy"))
    out.embed("part.npy", "--shard", "3")
    files = sorted(out.folder.glob("part.*.npy"))
    assert [file.name for file in files] == ["part.00001.npy", "part.00002.npy", "part.00003.npy"]
    assert np.array_equal(np.concatenate([np.load(file) for file in files]), whole)
    assert not list(out.folder.glob("*.partial"))


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        out = Outputs(program, pathlib.Path(name))
        matrix = check_pooled(out)
        residues = check_per_residue(out, matrix)
        check_shards(out)
        if h5py:
            check_h5(out, matrix, residues)
        if safetensors:
            check_safetensors(out, matrix, residues)
        if torch:
            check_extract(out, program, matrix, residues)
        check_same_bytes(out)
        check_long(out)
    print("outputs read back as expected")


if __name__ == "__main__":
    main()
