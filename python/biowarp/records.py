"""Reading protein records from files and pipes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Iterator, Sequence, Union

from biowarp import _core

__all__ = ["Record", "iter_fasta", "read_fasta"]

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Record:
    """One protein of a file.

    Attributes:
        id: first word of the header; ``record_<n>`` (n from 1) when there is none.
        description: the rest of the header line.
        sequence: letters as they stand in the file, line breaks removed, nothing else changed.
        index: 0-based number in the whole input.
        line: 1-based line of its header in ``file``.
        file: path as given, ``-`` for standard input.
        error: empty, or why the record cannot be used (a table row with too few columns); then it has no sequence.
    """

    id: str
    description: str
    sequence: str
    index: int = 0
    line: int = 0
    file: str = ""
    error: str = ""


def iter_fasta(
    paths: Path | Sequence[Path], *, sequence_column: str = "", id_column: str = ""
) -> Iterator[Record]:
    """Streams the records of one or more files, in order; memory does not grow with the files.

    FASTA, PIR and CSV or TSV with a header line, plain or compressed with gzip or zstd, told by content and not by
    name; ``"-"`` is standard input. Headers are UTF-8; one that is not is taken as Latin-1.

    Args:
        paths: a path or several.
        sequence_column: CSV/TSV: the column with the letters; empty: ``sequence`` or ``seq``.
        id_column: CSV/TSV: the column with the ids; empty: ``id``, ``name``, ``entry`` or ``accession``.

    Raises:
        InputError: a file cannot be opened, decompressed or read as records.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    reader = _core.RecordReader([os.fspath(path) for path in several], sequence_column, id_column)
    while (fields := reader.next()) is not None:
        yield Record(*fields)


def read_fasta(
    paths: Path | Sequence[Path], *, sequence_column: str = "", id_column: str = ""
) -> list[Record]:
    """All records of one or more files as a list; arguments and errors as :func:`iter_fasta`."""
    return list(iter_fasta(paths, sequence_column=sequence_column, id_column=id_column))
