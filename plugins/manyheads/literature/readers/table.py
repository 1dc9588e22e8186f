"""Tables: CSV and TSV with a header, any delimiter; Hugging-Face-style parquet in shards."""

import ast
import csv
import io
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, cast

from manyheads.bank.corpus import RawAuthor, RawPaper, Rejects, open_file, reading, sift
from manyheads.errors import CorpusError
from manyheads.literature.readers.common import Record, each, paper, shards, terms
from manyheads.papers import fold

# Columns of tables: which holds what, recognised by its name or said by the user, and what their cells mean.


NAMES: dict[str, tuple[str, ...]] = {
    "title": ("title", "papertitle", "articletitle", "documenttitle"),
    "abstract": ("abstract", "abstracttext", "paperabstract", "summary"),
    "authors": ("authors", "author", "authornames", "authorslist", "authorsparsed", "authorfullnames", "creators"),
    "year": ("year", "publicationyear", "pubyear", "publicationdate", "published", "date", "publishdate", "updatedate"),
    "id": ("id", "paperid", "articleid", "corpusid", "arxivid", "eid", "doi", "key", "pmid"),
    "citations": (
        "citations", "citationcount", "ncitation", "ncitations", "numcitations", "citedby", "citedbycount", "timescited",
        "cites",
    ),
    "venue": ("venue", "journal", "conference", "booktitle", "sourcetitle", "publicationtitle", "journalref"),
    "keywords": ("keywords", "authorkeywords", "keyword", "indexkeywords", "tags"),
    "affiliations": ("affiliations", "affiliation", "institutions", "organizations"),
    "author_ids": ("authorids", "authorsids"),
    "references": ("references", "referencedworks", "citedreferences", "bibliography", "outcitations"),
}  # fmt: skip
"""Fields of a paper, and the names of columns that hold them, best first; letters and digits alone count."""
NEEDED = ("title", "abstract", "authors", "year")
PERSON, PERSON_ID = ("name", "full_name", "author"), ("id", "author_id", "authorId")
NO_COMMA = re.compile(r"""(['"])\s+(?=['"])""")
"""Between two elements of a NumPy array as text; without a comma, Python would read them as one."""


def column_option(text: str) -> dict[str, str]:
    """What `--columns title=Title,year=Year` says: field to column.

    Raises:
        CorpusError: an unknown field, or no `field=column`.
    """
    pairs = [part.partition("=") for part in text.split(",")]
    chosen = {field.strip(): column.strip() for field, _, column in pairs}
    if wrong := [field for field, column in chosen.items() if field not in NAMES or not column]:
        raise CorpusError(
            f"--columns: {wrong[0]!r} says no column",
            tried=f"fields: {', '.join(NAMES)}",
            hint="--columns title=Title,year=Year",
        )
    return chosen


def recognised(header: Sequence[str], chosen: Mapping[str, str]) -> dict[str, str]:
    """Field to column, for those that the header has; chosen ones go before names that are known."""
    folded = {fold(column): column for column in reversed(header)}
    known = {
        field: next((folded[name] for name in names if name in folded), None)
        for field, names in NAMES.items()
    }
    found = {field: column for field, column in known.items() if column is not None}
    return {**found, **{field: column for field, column in chosen.items() if column in header}}


def columns(source: object, header: Sequence[str], chosen: Mapping[str, str]) -> dict[str, str]:
    """See `recognised`.

    Raises:
        CorpusError: a column that must be there, or was chosen, is not.
    """
    shown = ", ".join(name[:40] if name.isprintable() else repr(name[:40]) for name in header[:30])
    if absent := [column for column in chosen.values() if column not in header]:
        raise CorpusError(
            f"{source}: no column {absent[0]!r}", tried=f"its columns: {shown}", hint="see --columns"
        )
    found = recognised(header, chosen)
    if missing := [field for field in NEEDED if field not in found]:
        raise CorpusError(
            f"{source}: no column is known to hold {' or '.join(missing)}",
            tried=f"its columns: {shown}",
            hint=f"say which: --columns {','.join(f'{field}=COLUMN' for field in missing)}",
        )
    return found


def fields(row: Mapping[str, Any], where: Mapping[str, str], number: str) -> dict[str, Any]:
    """A row as the fields of a paper; without a column of ids, `number` is its id.

    Raises:
        ValueError: the authors cannot be told apart.
    """
    given = {field: row.get(column) for field, column in where.items()}
    people = _people(given["authors"])
    parsed = [person(one) for one in people] if people is not None else _names(_text(given["authors"]))
    if parsed is None:
        raise ValueError("empty")
    ids = _listed(given.get("author_ids")) or [_key(one) for one in people or ()]
    return {
        **{field: _text(given.get(field)) for field in ("title", "abstract")},
        "id": _text(given["id"]) if "id" in given else number,
        "authors": parsed,
        "author_ids": [_text(one) for one in ids] if any(ids) else (),
        "year": given["year"],
        "citations": given.get("citations"),
        "venue": _text(given.get("venue")) or None,
        "keywords": _terms(given.get("keywords")),
        "affiliations": _places(given.get("affiliations")),
        "references": _entries(given.get("references")),
    }


def _text(value: object) -> str:
    """A cell's words on one line, empty for an empty cell."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of numbers with gaps is read as floats
    return " ".join(str(value).split())


def _listed(cell: object) -> list[Any] | None:
    """A cell that is a list, or text of one as JSON, Python or NumPy write it."""
    cell = _literal(cell)
    if isinstance(cell, Iterable) and not isinstance(cell, str | bytes | Mapping):
        return list(cast("Iterable[Any]", cell))
    return None


def _literal(cell: object) -> object:
    """What a text says that is a list or an object; anything else as it is."""
    if not isinstance(cell, str) or cell.lstrip()[:1] not in ("[", "{"):
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(NO_COMMA.sub(r"\1, ", cell.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return cell


def _people(cell: object) -> list[Any] | None:
    """A list of authors, which Hugging Face's data sets may turn into an object of lists; None for a text of names.

    Raises:
        ValueError: a text that begins as a list, but is none.
    """
    known = _literal(cell)
    if isinstance(known, Mapping):
        about = cast("Mapping[str, Any]", known)
        lists = {name: listed for name, values in about.items() if (listed := _listed(values)) is not None}
        people = [dict(zip(lists, one, strict=True)) for one in zip(*lists.values(), strict=True)]
        return people if lists else [about]
    if (people := _listed(known)) is None and _text(known).startswith("["):
        raise ValueError(f"a list that cannot be read: {_text(known)[:60]!r}")
    return people


def person(one: object) -> str:
    """A name: text, an object with a name, or a list of family name, given name, suffix as arXiv's."""
    if isinstance(one, Mapping):
        given = cast("Mapping[str, Any]", one)
        return _text(next((given[key] for key in PERSON if given.get(key)), None))
    if isinstance(one, list | tuple):
        family, *rest = [_text(part) for part in cast("Sequence[Any]", one)] or [""]
        return " ".join(filter(None, (*rest[:1], family, *rest[1:2])))
    return _text(one)


def _key(one: object) -> object:
    given = cast("Mapping[str, Any]", one) if isinstance(one, Mapping) else {}
    return next((given[key] for key in PERSON_ID if given.get(key)), None)


def _names(text: str) -> list[str] | None:
    """The names in one text, between semicolons, bars or `and`, else between commas; None for an empty one."""
    for mark in (";", "|"):
        if mark in text:
            return [_turned(name) for part in text.split(mark) if (name := part.strip())]
    people = [name for part in text.split(" and ") if (name := part.strip(" ,"))]
    if len(people) > 1 and not _enumerated(people):
        return [*map(_turned, people)]
    parts = [part.strip() for part in ",".join(people).split(",") if part.strip()]
    if len(parts) < 2 or all(" " in part for part in parts):
        return parts or None
    if len(parts) % 2:
        raise ValueError(f"names cannot be told apart, put a semicolon between them: {text[:60]!r}")
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [f"{given} {family}" for family, given in pairs]


def _enumerated(people: Sequence[str]) -> bool:
    """Whether commas part names, of which `and` only stands before the last: Jo Berg, Al Cole and Cy Dee."""
    *others, last = people
    if any(name.count(",") > 1 for name in people):
        return True
    return len(others) == 1 and "," not in last and all(" " in part.strip() for part in others[0].split(","))


def _turned(name: str) -> str:
    """`Okafor, Ansel` as Ansel Okafor."""
    family, comma, given = name.partition(",")
    return f"{given.strip()} {family.strip()}" if comma and given.strip() else name


def _terms(cell: object) -> list[str]:
    """A list of terms, given as one or in one text."""
    listed = _listed(cell)
    return terms(_text(cell)) if listed is None else [term for one in listed if (term := _text(one))]


def _entries(cell: object) -> list[Any]:
    """References, given as a list or in one text between semicolons."""
    listed = _listed(cell)
    return terms(f"{_text(cell)};") if listed is None else listed


def _places(cell: object) -> list[str]:
    """Affiliations, "" where one is not known: a comma stands inside of one, so it parts none."""
    listed = _listed(cell)
    places = [*map(_text, _text(cell).strip("; ").split(";") if listed is None else listed)]
    return places if any(places) else []


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
        yield from sift(self._path, self._records(rejects), rejects, example=EXAMPLE)

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
    number, stem = 0, file.name.partition(".")[0]
    with reading(file, lambda: f" after row {number}" if number else ""), open_file(file) as stream:
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
                yield number, _paper(dict(zip(header, row, strict=True)), where, f"{stem}-{number}")


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
