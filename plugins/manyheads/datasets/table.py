"""Tables: CSV and TSV with a header, any delimiter; lists of JSON; Hugging-Face-style parquet in shards."""

import ast
import csv
import html
import io
import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from manyheads.base.errors import CorpusError, install_command
from manyheads.base.papers import fold
from manyheads.corpus.records import RawPaper, Reader, Record, lines, open_file
from manyheads.datasets.common import paper, terms

# Columns of tables, by name or by the user's option.


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
"""Fields of a paper with names of their columns, best first, compared by letters and digits only."""
NEEDED = ("title", "abstract", "authors", "year")
DELIMITERS = ",\t;|"
SURROGATE = re.compile("[\udc80-\udcff]")
"""Replaces a byte that is not UTF-8."""
LONGEST_CELL, LONGEST_ROW = 2**22, 2**23
"""Maximum letters of a row: a longer one has lost its closing quote, or the file is not a table."""
MOST_BYTES, MOST_FOLD = 2**26, 50
"""Maximum unpacked bytes of a column's part in a parquet file, ratio to its packed size, and bytes of a batch of rows."""
JOINTS, CHUNK = ",] \t\r\n", 2**20
"""Characters between the objects of a list; letters read at a time."""
BATCH, LONGEST_LIST = 500, 1000
"""Rows read at a time, and maximum mean values per row of a paper."""


def column_option(text: str) -> dict[str, str]:
    """The columns in `--columns title=Title,year=Year`: field to column. Raises `CorpusError` for an unknown field, or a part that
    is not `field=column`."""
    pairs = [part.partition("=") for part in text.split(",")]
    columns = {field.strip(): column.strip() for field, _, column in pairs}
    if wrong := [field for field, column in columns.items() if field not in NAMES or not column]:
        raise CorpusError(
            f"--columns: {wrong[0]!r} is not field=column",
            tried=f"fields: {', '.join(NAMES)}",
            hint="--columns title=Title,year=Year",
        )
    return columns


def columns_of(header: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Field to column for the columns in the header; the user's have priority over known names."""
    folded = {fold(column): column for column in reversed(header)}
    best = {
        field: next((folded[name] for name in names if name in folded), None)
        for field, names in NAMES.items()
    }
    by_name = {field: column for field, column in best.items() if column is not None}
    return {**by_name, **{field: column for field, column in columns.items() if column in header}}


def header_of(line: str, columns: Mapping[str, str]) -> tuple[str, list[str]]:
    """The delimiter that gives the most known or user-defined columns, and the names of all columns."""

    def cells(delimiter: str) -> list[str]:
        try:
            return next(csv.reader(line.splitlines()[:1], delimiter=delimiter), [])
        except csv.Error:
            return []

    headers = ((delimiter, cells(delimiter)) for delimiter in DELIMITERS)
    return max(headers, key=lambda one: (len(columns_of(one[1], columns)), len(one[1])))


class _Table(Reader):
    """Base of tables; `columns` maps fields to columns if the header's names are unknown."""

    unit = "row"
    example = "a header and rows such as: id,title,abstract,authors,year,citations"

    def __init__(self, path: Path, columns: Mapping[str, str] | None = None) -> None:
        super().__init__(path)
        self._columns = columns or {}

    def _fields(self, file: Path, header: Sequence[str]) -> dict[str, str]:
        """Field to column; raises `CorpusError` if a required column, or one of the user's, is missing."""
        shown = ", ".join(name[:40] if name.isprintable() else repr(name[:40]) for name in header[:30])
        if absent := [column for column in self._columns.values() if column not in header]:
            raise CorpusError(
                f"{file}: no column {absent[0]!r}", tried=f"its columns: {shown}", hint="see --columns"
            )
        columns = columns_of(header, self._columns)
        if missing := [field for field in NEEDED if field not in columns]:
            raise CorpusError(
                f"{file}: no column found for {' or '.join(missing)}",
                tried=f"its columns: {shown}",
                hint=f"set it with --columns {','.join(f'{field}=COLUMN' for field in missing)}",
            )
        return columns


class Delimited(_Table):
    """A `Reader` of CSV and TSV: UTF-8, quoted as in RFC 4180, the delimiter detected from the header."""

    kind = "CSV or TSV"
    endings = (".csv", ".tsv", ".csv.gz", ".tsv.gz")

    def records_of(self, file: Path) -> Iterator[Record]:
        columns, stem = dict[str, str](), file.name.partition(".")[0]
        for number, row in rows(file, self._columns):
            if isinstance(row, tuple):
                yield number, row
            elif number:
                yield number, _paper(row, columns, f"{stem}-{number}")
            else:
                columns = self._fields(file, [*row])


def rows(
    file: Path, columns: Mapping[str, str] | None = None
) -> Iterator[tuple[int, dict[str, str] | tuple[str, str]]]:
    """The rows of a CSV or TSV by column, or the fault of one; the header is row 0. See `Delimited`."""
    csv.field_size_limit(LONGEST_CELL)
    number = 0
    with open_file(file, where=lambda: f" after row {number}" if number else "") as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        first = text.readline(LONGEST_CELL)
        if not first.strip():
            return
        delimiter, header = header_of(first, columns or {})
        yield 0, {column: column for column in header}
        for number, row in enumerate(_rows(file, text, delimiter), 1):
            if isinstance(row, tuple):
                yield number, row
            elif len(row) != len(header):
                yield number, ("row", f"has {len(row)} cells, the header {len(header)}")
            elif not (letters := "".join(row)).isprintable() and SURROGATE.search(letters):
                yield number, ("encoding", "not UTF-8")
            else:
                yield number, dict(zip(header, row, strict=True))


def _rows(file: Path, text: IO[str], delimiter: str) -> Iterator[list[str] | tuple[str, str]]:
    letters = 0

    def lines() -> Iterator[str]:
        nonlocal letters
        while line := text.readline(LONGEST_ROW + 1):
            letters += len(line)
            if letters > LONGEST_ROW:
                raise CorpusError(
                    f"{file}: a row of more than {LONGEST_ROW >> 20} MB", hint="check that it is a table"
                )
            yield line

    rows = csv.reader(lines(), delimiter=delimiter)
    while True:
        letters = 0
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as wrong:
            row = "row", str(wrong)
        if row:
            yield row


class Parquet(_Table):
    """A `Reader` of parquet files, in batches; needs `manyheads[parquet]`."""

    kind = "parquet"
    endings = (".parquet",)

    def records_of(self, file: Path) -> Iterator[Record]:
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
        except ImportError as missing:
            raise CorpusError(
                f"{file}: parquet needs pyarrow, which is not installed",
                hint=install_command("parquet"),
            ) from missing
        number = 0
        try:
            with ParquetFile(file) as table:
                columns = self._fields(file, table.schema_arrow.names)
                texts = _need_bounded(file, table.metadata, {*columns.values()})
            with ParquetFile(file, read_dictionary=texts) as table:  # a repeated text is stored once
                for batch in table.iter_batches(batch_size=BATCH, columns=[*dict.fromkeys(columns.values())]):
                    if sum(map(_size, batch.columns)) > MOST_BYTES:
                        raise CorpusError(
                            f"{file}: more than {MOST_BYTES >> 20} MB in {BATCH} rows",
                            hint="check that it is a table of papers",
                        )
                    for row in _rows_of(batch):
                        number += 1
                        if row is None:
                            yield number, ("encoding", "not UTF-8")
                        else:
                            yield number, _paper(row, columns, f"{file.stem}-{number}")
        except (ArrowException, OSError) as wrong:
            raise CorpusError(
                f"{file}: not parquet: {wrong}", hint="download the file again, or set another --format"
            ) from wrong


def _need_bounded(file: Path, metadata: Any, columns: Collection[str]) -> list[str]:
    """The columns of text; raises `CorpusError` for a file that declares an excessive unpacked size."""
    texts = list[str]()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for part in map(group.column, range(group.num_columns)):
            name, size = part.path_in_schema, part.total_uncompressed_size
            if name.partition(".")[0] not in columns:
                continue
            if name in columns and part.physical_type == "BYTE_ARRAY":
                texts.append(name)
            folded = size > max(MOST_BYTES, MOST_FOLD * part.total_compressed_size)
            if folded or part.num_values > max(BATCH, group.num_rows) * LONGEST_LIST:
                raise CorpusError(
                    f"{file}: {name} has {size:,} bytes and {part.num_values:,} values unpacked",
                    hint="check that it is a table of papers",
                )
    return [*dict.fromkeys(texts)]


def _size(column: Any) -> int:
    """Bytes of a column's values, with repeated texts."""
    from pyarrow import compute, types

    if not types.is_dictionary(column.type) or not types.is_string(column.type.value_type):
        return column.nbytes
    lengths = compute.call_function("binary_length", [column.dictionary])
    return compute.call_function("sum", [lengths.take(column.indices)]).as_py() or 0


def _rows_of(batch: Any) -> Iterator[Mapping[str, Any] | None]:
    """The rows of a batch, None if it contains a text that is not UTF-8."""
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        for place in range(batch.num_rows):
            try:
                row = batch.slice(place, 1).to_pylist()[0]
            except UnicodeDecodeError:
                row = None
            yield row


class JsonTable(_Table):
    """A `Reader` of JSON: a list of objects, or an object per line; their keys are the columns."""

    kind = "JSON"
    endings = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
    unit = "record"
    example = '[{"title": "…", "abstract": "…", "authors": ["…"], "year": 2015}, …]'

    def records_of(self, file: Path) -> Iterator[Record]:
        records, stem = enumerate(_records(file), 1), file.name.partition(".")[0]
        first = [*islice(records, BATCH)]  # one may lack a key of the others
        header = dict.fromkeys(key for _, row in first if isinstance(row, dict) for key in row)
        _need_records(file, first)
        columns = self._fields(file, [*header]) if header else {}
        for number, row in chain(first, records):
            if isinstance(row, dict):
                row = (
                    _paper(row, columns, f"{stem}-{number}")
                    if columns
                    else ("json", "not preceded by an object")
                )
            yield number, row


def _need_records(file: Path, first: Sequence[tuple[int, object]]) -> None:
    """Raises `CorpusError` for one object that holds the records as a list."""
    match first:
        case [(_, dict() as only)]:
            about = cast("dict[str, Any]", only)
            lists = [
                key
                for key, one in about.items()
                if isinstance(one, list) and one and isinstance(one[0], dict)
            ]
        case _:
            return
    if lists and not {*columns_of([*about], {})} & {*NEEDED}:
        raise CorpusError(
            f"{file}: one object with its records as the list {lists[0]!r}",
            hint=f"take the list out: jq '.[{json.dumps(lists[0])}]' {shlex.quote(file.name)} > papers.json",
        )


def _records(file: Path) -> Iterator[dict[str, Any] | tuple[str, str]]:
    """The objects of a list, or of lines, one by one, or the fault of one."""
    with open_file(file) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape")
        if (start := text.read(CHUNK).lstrip()).startswith("["):
            yield from _listed(file, text, start[1:])
            return
    for _, line in lines(file):
        yield _object(line.decode("utf-8-sig", "surrogateescape").strip(), 0)[0]


def _listed(file: Path, text: IO[str], rest: str) -> Iterator[dict[str, Any] | tuple[str, str]]:
    """The objects of a list whose beginning, `rest`, has been read."""
    at, more = 0, True
    while True:
        while at < len(rest) and rest[at] in JOINTS:
            at += 1
        row, end = _object(rest, at)
        if end:
            yield row
            at = end
        elif more and len(rest) - at > LONGEST_ROW:
            raise CorpusError(
                f"{file}: a record of more than {LONGEST_ROW >> 20} MB",
                hint="check that it is a list of papers",
            )
        elif more:  # the object may continue
            part = text.read(CHUNK)
            rest, more, at = rest[at:] + part, bool(part), 0
        else:
            if at < len(rest):
                yield row
            return


def _object(text: str, at: int) -> tuple[dict[str, Any] | tuple[str, str], int]:
    """The object at the start of a text, or its fault, and its end; 0 if it does not end."""
    try:
        row, end = json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError) as wrong:
        return ("json", f"not valid JSON: {getattr(wrong, 'msg', wrong)}"), 0
    if SURROGATE.search(text, at, end):
        return ("encoding", "not UTF-8"), end
    return (cast("dict[str, Any]", row) if isinstance(row, dict) else ("json", "not an object")), end


# Values of cells.


PERSON, PERSON_ID = ("name", "full_name", "author"), ("id", "author_id", "authorId")
NO_COMMA = re.compile(r"""(['"])\s+(?=['"])""")
"""Space between two elements of a NumPy array as text; without a comma, Python would join them."""


def _paper(row: Mapping[str, Any], columns: Mapping[str, str], number: str) -> RawPaper | tuple[str, str]:
    try:
        return paper(fields(row, columns, number))
    except ValueError as wrong:
        return "authors", str(wrong)


def fields(row: Mapping[str, Any], columns: Mapping[str, str], number: str) -> dict[str, Any]:
    """A row as the fields of a paper; without a column of ids, `number` is its id. Raises `ValueError` if the authors cannot be
    separated."""
    cells = {field: row.get(column) for field, column in columns.items()}
    people = _people(cells["authors"])
    authors = [*map(person, people)] if people is not None else _names(_text(cells["authors"]))
    if authors is None:
        raise ValueError("empty")
    ids = _sequence(cells.get("author_ids")) or [_first(one, PERSON_ID) for one in people or ()]
    keywords, references = _sequence(cells.get("keywords")), _sequence(cells.get("references"))
    places = _sequence(cells.get("affiliations"))
    if places is None:  # affiliations may contain commas, so a comma separates none
        places = _text(cells.get("affiliations")).strip("; ").split(";")
    places = [*map(_text, places)]
    return {
        **{field: _text(cells.get(field)) for field in ("title", "abstract")},
        "id": _text(cells["id"]) if "id" in cells else number,
        "authors": authors,
        "author_ids": [*map(_text, ids)] if any(ids) else (),
        "year": cells["year"],
        "citations": cells.get("citations"),
        "venue": _text(cells.get("venue")) or None,
        "keywords": terms(_text(cells.get("keywords")))
        if keywords is None
        else [*filter(None, map(_text, keywords))],
        "affiliations": places if any(places) else [],
        "references": terms(f"{_text(cells.get('references'))};") if references is None else references,
    }


def _text(value: object) -> str:
    """A cell's text on one line, empty for an empty cell."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # columns of numbers with gaps are read as floats
    return " ".join(str(value).split())


def _sequence(cell: object) -> list[Any] | None:
    """A cell with a list, or its text as JSON, Python or NumPy."""
    cell = _literal(cell)
    if isinstance(cell, Iterable) and not isinstance(cell, str | bytes | Mapping):
        return list(cast("Iterable[Any]", cell))
    return None


def _literal(cell: object) -> object:
    """The list or object in a text; anything else unchanged."""
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
    """A list of authors, or Hugging Face's object of lists; None for a text of names. Raises `ValueError` for a text that begins
    like a list but is not one."""
    value = _literal(cell)
    if isinstance(value, Mapping):
        about = cast("Mapping[str, Any]", value)
        lists = {name: values for name, one in about.items() if (values := _sequence(one)) is not None}
        people = [dict(zip(lists, one, strict=True)) for one in zip(*lists.values(), strict=True)]
        return people if lists else [about]
    if (people := _sequence(value)) is None and _text(value).startswith("["):
        raise ValueError(f"a list that cannot be read: {_text(value)[:60]!r}")
    return people


def person(one: object) -> str:
    """A name: text, an object with a name, or a list of family name, given name, suffix as in arXiv's data."""
    if isinstance(one, list | tuple):
        family, *rest = [_text(part) for part in cast("Sequence[Any]", one)] or [""]
        return " ".join(filter(None, (*rest[:1], family, *rest[1:2])))
    return _text(_first(one, PERSON) if isinstance(one, Mapping) else one)


def _first(one: object, keys: Sequence[str]) -> object:
    """The first non-empty value of an object; None if it is not an object."""
    about = cast("Mapping[str, Any]", one) if isinstance(one, Mapping) else {}
    return next((about[key] for key in keys if about.get(key)), None)


def _names(text: str) -> list[str] | None:
    """The names in one text, separated by semicolons, bars or `and`, else by commas; None for an empty one."""
    text = html.unescape(text)
    for mark in (";", "|"):
        if mark in text:
            return [_natural_order(name) for part in text.split(mark) if (name := part.strip())]
    people = [name for part in text.split(" and ") if (name := part.strip(" ,"))]
    if len(people) > 1 and not _is_enumeration(people):
        return [*map(_natural_order, people)]
    parts = [part.strip() for part in ",".join(people).split(",") if part.strip()]
    if len(parts) < 2 or all(" " in part for part in parts):
        return parts or None
    if len(parts) % 2:
        raise ValueError(f"cannot separate the names, use semicolons: {text[:60]!r}")
    return [f"{first} {family}" for family, first in zip(parts[::2], parts[1::2], strict=True)]


def _is_enumeration(people: Sequence[str]) -> bool:
    """Whether commas separate names, with `and` only before the last: Jo Berg, Al Cole and Cy Dee."""
    *others, last = people
    if any(name.count(",") > 1 for name in people):
        return True
    return len(others) == 1 and "," not in last and all(" " in part.strip() for part in others[0].split(","))


def _natural_order(name: str) -> str:
    """`Okafor, Ansel` as Ansel Okafor."""
    family, comma, first = name.partition(",")
    return f"{first.strip()} {family.strip()}" if comma and first.strip() else name
