"""Tables: CSV and TSV with a header, any delimiter; Hugging-Face-style parquet in shards."""

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from manyheads.bank.corpus import RawAuthor, RawPaper, Rejects, sifted
from manyheads.bank.files import opened, reading
from manyheads.errors import CorpusError
from manyheads.literature.readers.common import Record, each, paper, shards
from manyheads.literature.readers.table_columns import columns, fields, recognised

DELIMITERS = ",\t;|"
NONE_CHOSEN: Mapping[str, str] = MappingProxyType({})
LONGEST_CELL = 2**22
"""Letters; what is longer has lost its closing quote."""
EXAMPLE = "a header and rows such as: id,title,abstract,authors,year,citations"


class _Table(ABC):
    """What both kinds of tables share.

    Args:
        path: a file, or a folder of them.
        chosen: field to column, where the header's names do not say it.
    """

    def __init__(self, path: Path, chosen: Mapping[str, str] | None = None) -> None:
        self.name, self._path, self._chosen = path.resolve().name, path, chosen or {}

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """See `Reader.papers`; a record's number counts the rows below the header.

        Raises:
            CorpusError: a file cannot be read, or lacks a column that must be there.
        """
        yield from sifted(self._path, self._records(rejects), rejects, example=EXAMPLE)

    @abstractmethod
    def _records(self, rejects: Rejects) -> Iterator[Record]: ...

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """Nothing but what the rows say."""
        return {}


class Delimited(_Table):
    """A `Reader` of CSV and TSV: UTF-8, quoted as RFC 4180 says, the delimiter found from the header."""

    def _records(self, rejects: Rejects) -> Iterator[Record]:
        files = shards(self._path, (".csv", ".tsv", ".csv.gz", ".tsv.gz"), "CSV or TSV")
        for file in each(self._path, files, rejects, "row"):
            yield from _delimited(file, self._chosen)


class Parquet(_Table):
    """A `Reader` of parquet files, a batch of rows at a time; needs `manyheads[parquet]`."""

    def _records(self, rejects: Rejects) -> Iterator[Record]:
        for file in each(self._path, shards(self._path, (".parquet",), "parquet"), rejects, "row"):
            number = 0
            for batch, where in _batches(file, self._chosen):
                for row in batch:
                    number += 1
                    yield number, _paper(row, where, f"{file.stem}-{number}")


def _delimited(file: Path, chosen: Mapping[str, str]) -> Iterator[Record]:
    csv.field_size_limit(LONGEST_CELL)
    number = 0
    with reading(file, lambda: f" after row {number}" if number else ""), opened(file) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        first = text.readline(LONGEST_CELL)
        if not first.strip():
            return
        delimiter = delimiter_of(first, chosen)
        header = header_of(first, delimiter)
        where = columns(file, header, chosen)
        for number, row in _rows(text, delimiter):
            if isinstance(row, tuple):
                yield number, row
            elif len(row) != len(header):
                yield number, ("row", f"has {len(row)} cells, the header {len(header)}")
            elif not "".join(row).isprintable() and _undecodable(row):
                yield number, ("encoding", "not UTF-8")
            else:
                yield number, _paper(dict(zip(header, row, strict=True)), where, f"{_stem(file)}-{number}")


def _rows(text: IO[str], delimiter: str) -> Iterator[tuple[int, list[str] | tuple[str, str]]]:
    rows, number = csv.reader(text, delimiter=delimiter), 0
    while True:
        try:
            row = next(rows, None)
        except csv.Error as wrong:
            row = ("row", str(wrong))
        if row is None:
            return
        if row:
            number += 1
            yield number, row


def delimiter_of(header: str, chosen: Mapping[str, str] = NONE_CHOSEN) -> str:
    """The one by which the most columns have names that are known or chosen."""

    def known(delimiter: str) -> tuple[int, int]:
        cells = header_of(header, delimiter)
        return len(recognised(cells, chosen)), len(cells)

    return max(DELIMITERS, key=known)


def header_of(line: str, delimiter: str) -> list[str]:
    """The names of the columns; none where the line is no row."""
    try:
        return next(csv.reader(line.splitlines()[:1], delimiter=delimiter), [])
    except csv.Error:
        return []


def _undecodable(row: list[str]) -> bool:
    return any("\udc80" <= letter <= "\udcff" for cell in row for letter in cell)


def _stem(file: Path) -> str:
    return file.name.partition(".")[0]


def _paper(row: Mapping[str, Any], where: Mapping[str, str], number: str) -> RawPaper | tuple[str, str]:
    try:
        return paper(fields(row, where, number))
    except ValueError as wrong:
        return "authors", str(wrong)


def _batches(file: Path, chosen: Mapping[str, str]) -> Generator[tuple[list[dict[str, Any]], dict[str, str]]]:
    """Rows, some at a time, of the columns that hold fields of a paper; and which holds which."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as missing:
        raise CorpusError(
            f"{file}: parquet needs pyarrow, which is not installed", hint="pip install 'manyheads[parquet]'"
        ) from missing
    try:
        with ParquetFile(file) as table:
            where = columns(file, table.schema_arrow.names, chosen)
            for batch in table.iter_batches(batch_size=1000, columns=[*dict.fromkeys(where.values())]):
                yield batch.to_pylist(), where
    except (ArrowException, OSError) as wrong:
        raise CorpusError(
            f"{file}: no parquet: {wrong}", hint="fetch the file again, or name another --format"
        ) from wrong
