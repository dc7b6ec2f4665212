"""read_fasta and iter_fasta."""

import gzip
import os
import pickle

import pytest

import biowarp


def test_example_proteins(proteins):
    assert len(proteins) == 24
    first = proteins[0]
    assert first.id == "sp|P42212|GFP_AEQVI"
    assert first.description.startswith("Green fluorescent protein")
    assert first.sequence.startswith("MSKGEELFTG") and len(first.sequence) == 238
    assert (first.index, first.line) == (0, 1)
    assert proteins[-1].sequence.endswith("*")
    assert [record.index for record in proteins] == list(range(24))


def test_several_files_of_all_kinds(tmp_path):
    plain = tmp_path / "a.fasta"
    plain.write_text(">a one\r\nMKT\r\nAYI\r\n")
    packed = tmp_path / "no_suffix"
    packed.write_bytes(gzip.compress(b">b\nGG") + gzip.compress(b"SG\n>c\n"))
    table = tmp_path / "t.csv"
    table.write_text("name,letters\nd,MM\n")
    records = biowarp.read_fasta([plain, str(packed)])
    assert [(r.id, r.sequence, r.index) for r in records] == [("a", "MKTAYI", 0), ("b", "GGSG", 1), ("c", "", 2)]
    assert records[1].file == str(packed)
    (row,) = biowarp.read_fasta(table, sequence_column="letters", id_column="name")
    assert (row.id, row.sequence) == ("d", "MM")


def test_streaming(tmp_path):
    path = tmp_path / "many.fasta"
    path.write_text("".join(f">r{n}\nMK\n" for n in range(1000)))
    stream = biowarp.iter_fasta(path)
    assert next(stream).id == "r0" and next(stream).id == "r1"
    assert sum(1 for _ in stream) == 998


def test_s32_truncated_gzip(tmp_path):
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(os.urandom(200).hex().encode())[:-20])
    with pytest.raises(biowarp.InputError, match="cut.gz"):
        biowarp.read_fasta(path)


def test_missing_file():
    with pytest.raises(biowarp.InputError, match="/no/such/file"):
        biowarp.read_fasta("/no/such/file")


def test_header_that_is_not_utf8(tmp_path):
    path = tmp_path / "latin1.fasta"
    path.write_bytes(b">p prot\xe9ine\nMK\n")
    (record,) = biowarp.read_fasta(path)
    assert record.description == "protéine"


def test_a_table_row_without_its_column(tmp_path, model):
    path = tmp_path / "t.tsv"
    path.write_text("id\tsequence\na\tMK\nb\n")
    good, bad = biowarp.read_fasta(path)
    assert good.error == "" and bad.error and bad.sequence == ""
    with pytest.raises(biowarp.InputError, match="record b"):
        model.encode([good, bad])


def test_records_travel_between_processes(proteins):
    assert pickle.loads(pickle.dumps(proteins[3])) == proteins[3]
