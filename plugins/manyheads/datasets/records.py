"""Records in files of each notation: JSON, tables as CSV and parquet, XML, lines with tags, BibTeX.

Each function yields the number of a record in its file, from 1, with its fields, or with the fault and the reason. All read as
streams: memory does not grow with the file.
"""

import csv
import io
import json
import logging
import re
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from html.entities import entitydefs
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from manyheads.base.errors import CorpusError, install_command
from manyheads.corpus.records import crowded, lines, open_file

if TYPE_CHECKING:
    from bibtexparser.library import Library

Fault: TypeAlias = tuple[str, str]
Records: TypeAlias = Iterator[tuple[int, dict[str, Any] | Fault]]
Columns: TypeAlias = Callable[[Sequence[str]], Collection[str]]
"""Given a table's header, the columns that are needed; raises `CorpusError` if one is missing."""
SURROGATE = re.compile("[\udc80-\udcff]")
"""Replaces a byte that is not UTF-8."""
LONGEST_CELL, LONGEST_ROW = 2**22, 2**23
"""Maximum letters of a row: a longer one has lost its closing quote, or the file is not a table."""
MOST_BYTES, MOST_FOLD = 2**26, 50
"""Maximum unpacked bytes of a column's part in a parquet file, ratio to its packed size, and bytes of a batch of rows."""
JOINTS, FIRST, CHUNK = ",] \t\r\n", 2**16, 2**20
"""Characters between the objects of a list; letters read first, and at a time."""
BATCH, LONGEST_LIST = 500, 1000
"""Rows read at a time, and maximum mean values per row of a paper."""
DELIMITERS = ",\t;|"
MONGO, MONGO_NUMBER = "NumberInt(", re.compile(r"(?<=[:,\[])(\s*)NumberInt\((-?\d+)\)")
"""MongoDB's notation of a number, in a file that claims to be JSON (AMiner v13)."""
OLDER, NOT_OLDER = "cp1252", re.compile(rb"[\xc2-\xf4][\x80-\xbf]|[\x80-\xff]{3}")
"""The encoding of older programs for Windows, and bytes that are UTF-8, or of another one."""
TRIES = 20
"""Lists looked at for a page's records."""
REMARK = "@remark"
"""Key of what is to be said about a record that was read."""


def unlike(file: Path, what: str, kind: str = "a table of papers") -> CorpusError:
    """The error of a file that goes beyond what any of its kind has."""
    return CorpusError(f"{file}: {what}", hint=f"check that it is {kind}")


def decoded(raw: bytes) -> tuple[str, str]:
    """A text in UTF-8, or in Windows-1252, and then a remark. Raises `UnicodeDecodeError` for any other."""
    try:
        return raw.decode("utf-8"), ""
    except UnicodeDecodeError:
        if NOT_OLDER.search(raw):
            raise
        return raw.decode(OLDER), "read as Windows-1252, as it is not UTF-8"


def remarked(record: dict[str, Any], remark: str) -> dict[str, Any]:
    return record | {REMARK: remark} if remark else record


# JSON: a list of objects, an object a line, or one after the other.


def json_lines(file: Path, member: str | None = None) -> Records:
    """The object of each line of a file (of a `member` of a zip), or why it has none, such as broken Unicode in an escape."""
    from pydantic_core import from_json

    with closing(lines(file, member)) as stream:
        for number, line in stream:
            if fault := crowded(line):
                yield number, fault
                continue
            try:
                row = from_json(line.decode("utf-8"))
            except UnicodeDecodeError as wrong:
                yield number, ("encoding", f"byte {wrong.start} is not UTF-8")
            except ValueError as wrong:
                yield number, ("json", str(wrong))
            else:
                yield number, cast("dict[str, Any]", row) if isinstance(row, dict) else ("json", "no object")


def json_records(file: Path, member: str | None = None, inside: Collection[str] = ()) -> Records:
    """The objects of a list or of lines; of an object, or one a line, the objects of the list, or the object, at one of the
    keys `inside`, such as the pages of a service."""
    listing = (
        re.compile(rf'"(?:{"|".join(map(re.escape, inside))})"\s*:\s*\[(?=\s*[{{\]])') if inside else None
    )
    with open_file(file, member) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape")
        start = text.read(FIRST).lstrip()
        page = _page(start, listing) if listing else 0
        # an object that goes on after its first line is no line of JSON Lines
        if page or start.startswith("[") or re.match(r'\{\s*\n\s*"', start):
            rest = start[page:] if page else start.removeprefix("[")
            listed = _listed(file, text, rest, listing if page else None)
            yield from enumerate(chain.from_iterable(_opened(row, inside) for row in listed), 1)
            return
    rows = json_lines(file, member)
    yield from ((number, one) for number, row in rows for one in _opened(row, inside)) if inside else rows


def _opened(row: dict[str, Any] | Fault, inside: Collection[str]) -> list[dict[str, Any] | Fault]:
    """A record; or the one in it, or those of a page among other pages."""
    around = row if isinstance(row, dict) and "title" not in row else {}
    found = next((around[key] for key in inside if _holds_records(around.get(key))), row)
    records = cast("object", found if isinstance(found, list) else [found])
    return [
        one if isinstance(one, dict | tuple) else ("json", "no object") for one in cast("list[Any]", records)
    ]


def _holds_records(value: Any) -> bool:
    """Whether it is a list of objects, or a record; else it is a field of the record around it."""
    return (
        "title" in value
        if isinstance(value, dict)
        else isinstance(value, list) and isinstance((*value, {})[0], dict)
    )


def _page(start: str, listing: re.Pattern[str]) -> int:
    """Where the list of records begins in an object that is none itself; 0 if it has no such list."""
    for match in islice(listing.finditer(start), TRIES) if start.startswith("{") else ():
        for depth in (1, 2, 3):
            try:
                around = json.loads(f'{start[: match.start()]}"":0{"}" * depth}')
            except (ValueError, RecursionError):
                continue
            return 0 if "title" in around else match.end()
    return 0


def _listed(
    file: Path, text: IO[str], rest: str, listing: re.Pattern[str] | None
) -> Iterator[dict[str, Any] | Fault]:
    """The objects of a list whose beginning, `rest`, has been read; then of those that `listing` begins."""
    rest = MONGO_NUMBER.sub(r"\1\2", rest)
    at, more, between = 0, True, False
    while True:
        while not between and at < len(rest) and rest[at] in JOINTS:
            between = listing is not None and rest[at] == "]"
            at += 1
        if between and listing and (found := listing.search(rest, at)):
            at, between = found.end(), False
            continue
        row, end = (("json", ""), 0) if between else _object(rest, at)
        if end:
            yield row
            at = end
        elif more and len(rest) - at > LONGEST_ROW:
            raise unlike(file, f"a record of more than {LONGEST_ROW >> 20} MB", "a list of papers")
        elif more:  # the object may continue
            part = text.read(CHUNK)
            rest, more, at = rest[at:] + part, bool(part), 0
            rest = MONGO_NUMBER.sub(r"\1\2", rest) if MONGO in rest else rest
        else:
            if at < len(rest) and not between:
                yield row
            return


def _object(text: str, at: int) -> tuple[dict[str, Any] | Fault, int]:
    """The object at the start of a text, or its fault, and its end; 0 if it does not end."""
    try:
        row, end = json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError) as wrong:
        return ("json", f"not valid JSON: {getattr(wrong, 'msg', wrong)}"), 0
    if SURROGATE.search(text, at, end):
        return ("encoding", "not UTF-8"), end
    return (cast("dict[str, Any]", row) if isinstance(row, dict) else ("json", "not an object")), end


def json_table(records: Records, columns: Columns) -> Records:
    """Records whose keys are columns: the header is that of the first ones, as one may lack a key of the others."""
    first = [*islice(records, BATCH)]
    header = [*dict.fromkeys(key for _, row in first if isinstance(row, dict) for key in row)]
    if header:
        columns(header)
    for number, row in chain(first, records):
        yield number, row if header or isinstance(row, tuple) else ("json", "not preceded by an object")


# CSV and TSV: UTF-8, quoted as in RFC 4180, the delimiter detected from the header.


def csv_header(line: str, known: Columns) -> tuple[str, list[str]]:
    """The delimiter that gives the most known columns, and the names of all columns."""

    def cells(delimiter: str) -> list[str]:
        try:
            return next(csv.reader(line.splitlines()[:1], delimiter=delimiter), [])
        except csv.Error:
            return []

    headers = ((delimiter, cells(delimiter)) for delimiter in DELIMITERS)
    return max(headers, key=lambda one: (len(known(one[1])), len(one[1])))


def csv_records(file: Path, known: Columns, columns: Columns, member: str | None = None) -> Records:
    """The rows of a CSV or TSV by column, or the fault of one."""
    csv.field_size_limit(LONGEST_CELL)
    number = 0
    with open_file(file, member, where=lambda: f" after row {number}" if number else "") as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        first = text.readline(LONGEST_CELL)
        while first and (not first.strip() or first.startswith("sep=")):  # Excel's line
            first = text.readline(LONGEST_CELL)
        if not first.strip():
            return
        delimiter, header = csv_header(first, known)
        columns(header)
        for number, row in enumerate(_rows(file, text, delimiter), 1):
            if isinstance(row, tuple):
                yield number, row
            elif len(row) != len(header):
                yield number, ("row", f"has {len(row)} cells, the header {len(header)}")
            elif not (letters := "".join(row)).isprintable() and SURROGATE.search(letters):
                yield number, _older_row(header, row)
            else:
                yield number, dict(zip(header, row, strict=True))


def _older_row(header: Sequence[str], row: Sequence[str]) -> dict[str, Any] | Fault:
    try:
        joined, remark = decoded("\0".join(row).encode("utf-8", "surrogateescape"))
    except UnicodeDecodeError:
        return "encoding", "not UTF-8"
    return remarked(dict(zip(header, joined.split("\0"), strict=True)), remark)


def _rows(file: Path, text: IO[str], delimiter: str) -> Iterator[list[str] | Fault]:
    letters = 0

    def lines() -> Iterator[str]:
        nonlocal letters
        while line := text.readline(LONGEST_ROW + 1):
            letters += len(line)
            if letters > LONGEST_ROW:
                raise unlike(file, f"a row of more than {LONGEST_ROW >> 20} MB", "a table")
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


# Parquet, in batches; needs `manyheads[parquet]`.


def parquet_records(file: Path, columns: Columns) -> Records:
    """The rows of a parquet file by column, of the needed ones alone."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as missing:
        hint = install_command("parquet")
        raise CorpusError(f"{file}: parquet needs pyarrow, which is not installed", hint=hint) from missing
    number = 0
    try:
        with ParquetFile(file) as table:
            needed = columns(table.schema_arrow.names)
            texts = _need_bounded(file, table.metadata, needed)
        with ParquetFile(file, read_dictionary=texts) as table:  # a repeated text is stored once
            for batch in table.iter_batches(batch_size=BATCH, columns=[*dict.fromkeys(needed)]):
                if sum(map(_size, batch.columns)) > MOST_BYTES:
                    raise unlike(file, f"more than {MOST_BYTES >> 20} MB in {BATCH} rows")
                for row in _rows_of(batch):
                    yield (number := number + 1), row or ("encoding", "not UTF-8")
    except (ArrowException, OSError) as wrong:
        hint = "download the file again, or set another --format"
        raise CorpusError(f"{file}: not parquet: {wrong}", hint=hint) from wrong


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
                raise unlike(file, f"{name} has {size:,} bytes and {part.num_values:,} values unpacked")
    return [*dict.fromkeys(texts)]


def _size(column: Any) -> int:
    """Bytes of a column's values, with repeated texts."""
    from pyarrow import compute, types

    if not types.is_dictionary(column.type) or not types.is_string(column.type.value_type):
        return column.nbytes
    lengths = compute.call_function("binary_length", [column.dictionary])
    return compute.call_function("sum", [lengths.take(column.indices)]).as_py() or 0


def _rows_of(batch: Any) -> Iterator[dict[str, Any] | None]:
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


# XML: an element a record.

MOST_XML = 2**22
"""Maximum bytes between the ends of two records."""
BROKEN = (ParseError, LookupError, ValueError)
"""A parser's errors on invalid XML, an unknown encoding, or custom entities."""


def xml_records(file: Path, element: str, kind: str, member: str | None = None) -> Records:
    """The elements at a path of tags, such as `collection/volume/paper`, as objects: attributes as `@id`, inner elements by their
    tags, the whole text as "", the elements around as `^volume`. Raises `CorpusError` for XML that is broken, begins otherwise, or
    declares entities."""
    number = 0
    last = element.rpartition("/")[2].replace("|", " or ")
    with open_file(file, member, where=lambda: f" after {last} {number}" if number else "") as stream:
        try:
            for number, record in enumerate(_elements(_Bounded(file, stream, kind), element.split("/")), 1):
                yield number, record
        except BROKEN as wrong:
            after = f", after {last} {number}" if number else ""
            raise CorpusError(
                f"{file}: not well-formed XML without entities{after}: {wrong}",
                hint="download the file again, or set another --format",
            ) from wrong


class _Bounded:
    """A stream for a parser that buffers until an element ends: `size` bytes since the last record."""

    def __init__(self, file: Path, stream: IO[bytes], kind: str) -> None:
        self.file, self.kind, self._stream, self.size = file, kind, stream, 0

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self.size += len(piece)
        if self.size > MOST_XML:
            raise unlike(self.file, f"no record ends within {MOST_XML >> 20} MB", self.kind)
        return piece


def _elements(stream: _Bounded, path: Sequence[str]) -> Iterator[dict[str, Any]]:
    from defusedxml.ElementTree import DefusedXMLParser, iterparse

    above, around, last, tags = list[Element](), dict[str, Any](), len(path) - 1, path[-1].split("|")
    parser = DefusedXMLParser(target=TreeBuilder())
    parser.entity.update(entitydefs)  # letters such as &uuml;, which DBLP leaves to its DTD
    for event, element in iterparse(stream, events=("start", "end"), parser=parser):
        if event == "start":
            above.append(element)
            if len(above) == 1 and element.tag != path[0]:
                raise CorpusError(
                    f"{stream.file}: begins with <{element.tag[:40]}>, not with <{path[0]}> as {stream.kind} does",
                    hint="use another file, or set another --format",
                )
            continue
        above.pop()
        if len(above) == last and (element.tag in tags or "*" in tags):
            for outer in above:  # what stands before the first record in it
                if f"^{outer.tag}" not in around:
                    around[f"^{outer.tag}"] = _plain(outer, {*above, element})
            inner = _plain(element, ())
            yield {**around, **inner} if isinstance(inner, dict) else {**around, "": inner}
            stream.size = 0
            above[-1].remove(element)
        elif 0 < len(above) < last:
            around.pop(f"^{element.tag}", None)
            above[-1].remove(element)


def _plain(element: Element, without: Collection[Element]) -> dict[str, Any] | str:
    if not len(element) and not element.attrib:
        return element.text or ""
    fields: dict[str, Any] = {f"@{name}": value for name, value in element.attrib.items()}
    for child in element:
        if child not in without:
            inner = _plain(child, ())
            if (known := fields.get(child.tag)) is None:
                fields[child.tag] = inner
            elif isinstance(known, list):
                cast("list[Any]", known).append(inner)
            else:
                fields[child.tag] = [known, inner]
    fields[""] = element
    return fields


# Blocks of lines that begin with a tag, as of AMiner or RIS.

MOST_LINES, MOST_BLOCK = 100_000, 2**22
"""Maximum lines and bytes of a block; a longer one means another format."""


def tag_records(
    file: Path, member: str | None, kind: str, hint: str, *, marks: str, begins: str, ends: str, ignored: str,
    lists: Collection[str],
) -> Records:  # fmt: skip
    """The blocks of a file: the value of each tag, or a list of its values, see `Format`. A line without a tag continues the value
    before, or is one more of the tags in `lists`. Raises `CorpusError` if the file does not begin with the tag `begins`."""
    pattern, passed, start = re.compile(marks.encode()), re.compile(ignored.encode()), begins.encode().split()
    block, at, size, count, blocks, gap = dict[str, list[list[bytes]]](), "", 0, 0, 0, 0
    with closing(lines(file, member)) as stream:
        for number, raw in stream:
            match = pattern.match(raw)
            tag = match[match.lastindex or 0].decode() if match else ""
            new = match is not None and match[0].split() == start
            if not block and not new:
                if ignored and passed.match(raw):
                    continue
                if not blocks:
                    raise CorpusError(f"{file}: line {number} is not {begins}: not {kind}", hint=hint)
                if not gap:
                    yield (blocks := blocks + 1), ("record", f"line {number} is between two records")
                gap = number
                continue
            if new and block:
                yield (blocks := blocks + 1), _block(block)
            if new:
                block, size, count, gap = dict[str, list[list[bytes]]](), 0, 0, 0
            if count == MOST_LINES or size + len(raw) > MOST_BLOCK:
                raise CorpusError(
                    f"{file}: no {begins} in the {count:,} lines before line {number:,}, or they are too long: not {kind}",
                    hint=hint,
                )
            size, count = size + len(raw), count + 1
            if tag and tag == ends:
                yield (blocks := blocks + 1), _block(block)
                block, at = dict[str, list[list[bytes]]](), ""
                continue
            at = tag or at
            values, value = block.setdefault(at, []), (raw[match.end() :] if match else raw).strip()
            if match or not values or at in lists:
                values.append([value])
            else:
                values[-1].append(value)
    if block:
        yield blocks + 1, _block(block)


def _block(values: Mapping[str, list[list[bytes]]]) -> dict[str, Any] | Fault:
    try:
        read = {tag: [decoded(b" ".join(one)) for one in each] for tag, each in values.items()}
    except UnicodeDecodeError as wrong:
        return "encoding", f"byte {wrong.start} of {wrong.object[:40]!r} is not UTF-8"
    remark = next((remark for each in read.values() for _, remark in each if remark), "")
    texts = {tag: [text for text, _ in each if text] for tag, each in read.items()}
    return remarked({tag: each[0] if len(each) == 1 else each for tag, each in texts.items() if each}, remark)


# BibTeX and BibLaTeX, entry by entry; the id of a record is its key.

BEGIN = re.compile(rb"\s*@\s*(\w+)\s*[{(]")
KEY = re.compile(rb"\s*@\s*\w+\s*[{(]\s*([^\s,={}()\"']{1,100})\s*,")
CROSSREF = re.compile(rb"(?i:crossref)\s*=\s*[{\"]\s*([^\s,{}\"]{1,100})")
INHERITED = ("year", "date", "booktitle", "journal", "journaltitle")
NO_ENTRY = frozenset((b"comment", b"preamble"))
ENTRY_LINES, ENTRY_BYTES = 5000, 2**20
"""Maximum size of an entry: a longer one has lost its closing brace."""


def bibtex_records(file: Path, member: str | None = None) -> Records:
    """The fields of each entry in LaTeX, its `key`, and `@place`: where it stands. What an entry lacks it has from the one that its
    `crossref` names, which may come later."""
    with closing(_entries(file, member)) as entries:
        named = {key.lower() for _, _, source in entries for key in CROSSREF.findall(source)}
    wholes = dict[bytes, dict[str, str]]()
    for _, entry in _parsed(file, member) if named else ():
        if isinstance(entry, dict) and (key := entry["key"].lower().encode()) in named:
            own = {name: entry[name] for name in INHERITED if name in entry}
            wholes[key] = ({"booktitle": entry["title"]} if "title" in entry else {}) | own
    for number, entry in _parsed(file, member):
        if isinstance(entry, dict) and (above := entry.get("crossref")):
            entry = wholes.get(above.lower().encode(), {}) | entry
        yield number, entry


def _parsed(file: Path, member: str | None) -> Records:
    # the library logs entries that are rejects here
    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
    macros, number, size = dict[str, str](), 0, 0
    with closing(_entries(file, member)) as entries:
        for kind, line, source in entries:
            if kind == b"string":
                if (size := size + len(source)) > ENTRY_BYTES:
                    raise unlike(file, f"more than {ENTRY_BYTES >> 20} MB of @string", "BibTeX")
                for one in _library(source.decode("utf-8", "replace")).strings:
                    macros[one.key.lower()] = resolved(one.value, macros)
            elif kind not in NO_ENTRY:
                key = KEY.match(source)
                place = f"{key[1].decode('utf-8', 'replace')}, line {line}" if key else f"line {line}"
                entry = _entry(source, macros)
                number += 1
                yield number, entry | {"@place": place} if isinstance(entry, dict) else at_place(entry, place)


def _entries(file: Path, member: str | None) -> Generator[tuple[bytes, int, bytes]]:
    """The text from one `@` at the beginning of a line to the next: its kind, its first line's number, its text."""
    kind, first, source, size = b"", 0, list[bytes](), 0
    with closing(lines(file, member)) as stream:
        for number, line in stream:
            if begin := BEGIN.match(line):
                if source:
                    yield kind, first, b"".join(source)
                kind, first, source, size = begin[1].lower(), number, [line[: ENTRY_BYTES + 1]], len(line)
            elif 0 < len(source) <= ENTRY_LINES and size <= ENTRY_BYTES:
                source.append(line[: ENTRY_BYTES + 1])
                size += len(line)
    if source:
        yield kind, first, b"".join(source)


def _entry(source: bytes, macros: Mapping[str, str]) -> dict[str, Any] | Fault:
    """The fields of an entry, parsed with the `@string`s that it uses; or the fault."""
    if len(source) > ENTRY_BYTES:
        return "entry", f"longer than {ENTRY_BYTES >> 20} MB"
    try:
        text, remark = decoded(source)
    except UnicodeDecodeError as wrong:
        return "encoding", f"byte {wrong.start} is not UTF-8"
    library = _library(text)
    if library.failed_blocks:
        why, _, _ = str(library.failed_blocks[0].error).partition(". Note:")
        return "entry", why or "its braces do not close"
    if len(library.entries) != 1:
        several = "another entry begins inside it: begin each entry on a new line"
        return "entry", several if library.entries else "no entry"
    [entry] = library.entries
    fields = {name.lower(): resolved(one.value, macros) for name, one in entry.fields_dict.items()}
    if "title" in fields and (more := fields.get("subtitle")):  # BibLaTeX
        fields["title"] += f": {more}"
    return remarked({"key": entry.key} | fields, remark)


def _library(text: str) -> "Library":
    """The blocks of a text, their values as they are written: the library's own pass over @string knows no `#`."""
    from bibtexparser.entrypoint import parse_string

    return parse_string(text, parse_stack=[])


def resolved(value: str, macros: Mapping[str, str]) -> str:
    """The text of a value: in braces or quotes, a number, the name of an @string, or several of these joined by `#`."""
    parts, depth, quoted, start = list[str](), 0, False, 0
    for at, letter in enumerate(value) if "#" in value else ():
        depth += (letter == "{") - (letter == "}")
        quoted ^= letter == '"' and not depth
        if letter == "#" and not depth and not quoted:
            parts.append(value[start:at])
            start = at + 1
    pieces = [one.strip() for one in (*parts, value[start:])]
    return "".join(one[1:-1] if one[:1] in '{"' else macros.get(one.lower(), one) for one in pieces)


def at_place(fault: Fault, place: str) -> Fault:
    """A fault and where it is, on one line that is safe to print."""
    field, reason = fault
    reason, place = (" ".join(one.split())[:300] for one in (reason, place))
    return field, "".join(letter if letter.isprintable() else "?" for letter in f"{reason} ({place})")
