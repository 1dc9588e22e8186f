"""Opens what a user names: a dataset of any format, several of them, or a search."""

import re
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

from manyheads.base.errors import CorpusError
from manyheads.base.papers import fold
from manyheads.config import LiteratureConfig
from manyheads.corpus.records import (
    GZIP,
    LISTED,
    ZIP,
    JsonLines,
    RawAuthor,
    RawPaper,
    Reader,
    Rejects,
    head,
    open_file,
    reading,
)
from manyheads.datasets.formats import Dataset, Format, format_examples, format_of, formats, value_at
from manyheads.datasets.full_texts import Documents
from manyheads.datasets.networks import AcademicGraph, AMiner, SearchReader, part_files
from manyheads.datasets.records import MONGO_NUMBER, csv_header
from manyheads.datasets.values import FieldName
from manyheads.literature.library import connect

AUTO = "auto"
SEARCH = "s2:"
"""Prefix of a search in place of a path."""
API = "semantic-scholar-api"
SNIFFED = 2**16
"""Bytes read to detect a format."""
PACKED, MOST_SNIFFED = (".json", ".jsonl", ".gz", ".zip", ".txt"), 20
OURS: tuple[FieldName, ...] = ("id", "title", "abstract", "authors", "year")
LEAST_OURS = 3
"""Required keys of our own JSON Lines, and how many of them a line must have to be read as such."""
ENDINGS = re.compile(
    r"(\.(jsonl?|txt|tei\.xml|tei|xml|bib|ris|nbib|ciw|csv|tsv|parquet|pdf))?(\.(gz|zip))?$", re.IGNORECASE
)


@dataclass(frozen=True)
class SourceOptions:
    """Options for reading datasets.

    Attributes:
        format: one of `formats()`, a YAML file of one's own, or `auto`.
        preset: the dataset format of the preset, assumed for a folder.
        columns: for tables, field to column.
        years: the first and the last year needed; readers may skip others to save work.
        scratch: folder for temporary files of a join; the system's by default.
        limit: maximum papers per year of a search.
        literature: settings of the services.
    """

    format: str = AUTO
    preset: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    years: tuple[int | None, int | None] = (None, None)
    scratch: Path | None = None
    limit: int = 1000
    literature: LiteratureConfig = field(default_factory=LiteratureConfig)


def open_sources(sources: Sequence[str], opening: SourceOptions) -> Reader:
    """The reader of one or several datasets; a source is a path, or `s2:` and the words of a search. Raises `CorpusError` if it
    does not exist, its format is unknown, or an option does not apply to the format."""
    readers = [open_corpus(source, opening) for source in sources]
    return readers[0] if len(readers) == 1 else Several(readers)


def open_corpus(source: str | Path, opening: SourceOptions | None = None) -> Reader:
    opening, source = opening or SourceOptions(), str(source)
    if is_search(source, opening.format):
        name = API
    elif opening.format != AUTO:
        name = opening.format
    else:
        name = opening.preset if opening.preset and Path(source).is_dir() else detect(Path(source))
    found = format_of(name)
    if opening.columns and found.records in ("json", "papers"):  # lines whose keys are others
        found = format_of("json")
    if opening.columns and not found.has_columns and found.records != "search":
        raise CorpusError(f"{source}: {name} has no columns", hint="remove --columns, or set --format csv")
    return _reader(found, source, opening)


def _reader(found: Format, source: str, how: SourceOptions) -> Reader:
    path = Path(source)
    match found.records:
        case "papers":
            return JsonLines(path)
        case "aminer":
            return AMiner(path, found)
        case "parts":
            return AcademicGraph(path, found, how.years, how.scratch)
        case "documents":
            return Documents(path, found)
        case "search":
            connecting = partial(connect, "semantic_scholar", how.literature)
            address = how.literature.endpoints.get("semantic_scholar", "")
            query = source.removeprefix(SEARCH)
            return SearchReader(query, how.years, connecting, how.limit, address)
        case _:
            return Dataset(path, found, how.columns)


def column_option(text: str) -> dict[str, str]:
    """The columns in `--columns title=Title,year=Year`: field to column. Raises `CorpusError` for an unknown field, or a part that
    is not `field=column`."""
    pairs = [part.partition("=") for part in text.split(",")]  # year==2018 is a value, year=@name the file's
    columns, known = {field.strip(): column.strip() for field, _, column in pairs}, format_of("csv").fields
    if wrong := [field for field, column in columns.items() if field not in known or not column]:
        tried, hint = f"fields: {', '.join(known)}", "--columns title=Title,year=Year"
        raise CorpusError(f"--columns: {wrong[0]!r} is not field=column", tried=tried, hint=hint)
    return columns


def is_search(source: str, format: str) -> bool:  # noqa: A002
    """Whether a source is a search instead of a path."""
    return source.startswith(SEARCH) or format == API


def name_of(source: str) -> str:
    """Name of a source's corpus: the file's or folder's name without endings, or a search's words."""
    if source.startswith(SEARCH):
        return re.sub(r"\W+", "-", source.removeprefix(SEARCH)).strip("-") or "search"
    return ENDINGS.sub("", Path(source).resolve().name) or "corpus"


def folder_of(name: str | None, source: str) -> str:
    """Name of a corpus's folder: the corpus's name if it has one, else the source's."""
    return re.sub(r"[^\w.-]+", "-", name or "").strip(".-") or name_of(source)


# Detecting a dataset's format by content and name.


def detect(path: Path) -> str:
    """The format of a file or a folder. Raises `CorpusError` if it does not exist, cannot be read, or has an unknown format."""
    if not path.exists():
        hint = f"use a dataset, or a search: {SEARCH}WORDS"
        raise CorpusError(f"{path}: no such file or folder", hint=hint)
    if path.is_file() and not _start(path).strip():
        raise CorpusError(f"{path}: empty", hint="download the file again")
    match = None if path.is_dir() else _of_file(path)
    if found := match[1] if match else path.is_dir() and _of_folder(path):
        return found
    raise CorpusError(f"{path}: unknown format", tried=format_examples(), hint="set it with --format NAME")


Match: TypeAlias = tuple[int, str]
"""How many keys of a record tell a format, and its name."""


def _of_folder(folder: Path) -> str | None:
    files = {file: file.name.lower() for file in sorted(folder.rglob("*")) if file.is_file()}
    for name, one in formats().items():
        if (sign := one.signs.names) and any(map(sign.search, files.values())):
            return name
        if (parts := one.signs.parts) and all(part_files(folder, part) for part in parts):
            return name
    pdfs = sum(name.endswith(".pdf") for name in files.values())
    if pdfs > 1:  # a table beside them describes them; a single PDF may be a dataset's documentation
        return "pdf"
    # a table may lie beside any other dataset
    for name, one in sorted(formats().items(), key=lambda item: item[1].signs.content is None):
        packed = tuple(f"{ending}{gz}" for ending in one.signs.endings for gz in ("", ".gz"))
        if some := [file for file, name in files.items() if name.endswith(packed)]:
            return (_of_file(some[0]) or (0, name))[1]
    packed = [file for file, name in files.items() if name.endswith(PACKED)]
    matches = filter(None, map(_of_file, packed[:MOST_SNIFFED]))
    return max(matches, key=lambda match: match[0], default=(0, "pdf" if pdfs else None))[1]


def _of_file(file: Path) -> Match | None:
    start = _start(file).decode("utf-8", "replace").removeprefix("\ufeff")
    for name, one in formats().items():
        if one.signs.content and one.signs.content.search(start):
            return 0, name
    if (text := start.lstrip()).startswith("{") or re.match(r"\[\s*\{", text):
        return _of_json(text)
    if text.startswith("<"):
        return None
    # a table has a telling name, or most of the columns that a paper needs
    columns = partial(format_of("csv").columns, chosen={})
    _, header = csv_header(text, columns)
    named = file.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
    is_table = named or len(columns(header).keys() & {*OURS}) > 1
    return _by_keys({fold(one): True for one in header}, table=True) or ((0, "csv") if is_table else None)


def _of_json(text: str) -> Match:
    """Lines with other keys than ours are a table. The readers report errors."""
    from pydantic_core import from_json

    name = "json" if text.startswith("[") else "jsonl"
    text = MONGO_NUMBER.sub(r"\1\2", text)
    value = None
    for start in (text, text.partition("\n")[0]):  # a list, or an object on many lines; a line
        with suppress(ValueError):
            value = value or from_json(start, allow_partial=True)  # may be longer than the part that was read
    record = next(iter(value), None) if isinstance(value, list) else value
    if not isinstance(record, dict) or not record:
        return 0, name
    header = [*map(str, record := cast("dict[str, Any]", record))]
    columns = format_of("csv").columns(header, {})
    own = sum((field in header) for field in OURS) >= LEAST_OURS and not value_at("authors.name")(record)
    own = own and all(columns.get(field, (field,))[0] == field for field in OURS)
    return _by_keys(record) or (0, name if own else "json")


def _by_keys(record: Mapping[str, Any], table: bool = False) -> Match | None:
    """The format of a record; of the columns of a `table`, compared by letters and digits alone."""
    known = (
        (len(keys), name)
        for name, one in formats().items()
        for keys in one.signs.keys
        if one.has_columns == table and all(_has(record, fold(key) if table else key) for key in keys)
    )
    return max(known, key=lambda match: match[0], default=None)


def _has(record: Mapping[str, Any], key: str) -> bool:
    return value_at(key)(record) not in (None, [])


def _start(file: Path) -> bytes:
    """The first bytes, unpacked; for a zip, those of its first file."""
    with reading(file):
        packed = head(file)
        if packed.startswith(ZIP):
            with zipfile.ZipFile(file) as archive:
                names = [one for one in archive.infolist() if not one.is_dir()]
                return archive.open(names[0]).read(SNIFFED) if names else b""
        if packed == b"PAR1" or (file.suffix == ".gz") != packed.startswith(GZIP):
            return head(file, SNIFFED)
        with open_file(file) as stream:
            return stream.read(SNIFFED)


# Several datasets of any format read as one.


class Several(Reader):
    """A `Reader` of several readers in order; rejects name their dataset."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self.name, self._readers = " + ".join(one.name for one in readers), readers

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        for reader in self._readers:
            # Each is judged by its own records: good datasets do not hide a broken one.
            own = Rejects(rejects.log, file=reader.name, undated=rejects.undated)
            try:
                for number, paper in reader.papers(own):
                    rejects.unit, rejects.file = own.unit, own.file
                    yield number, paper
            finally:
                rejects.by_field.update(own.by_field)
                rejects.first += own.first[: LISTED - len(rejects.first)]

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """See `Reader.authors`; if several know an author, the first has priority."""
        authors: dict[str, RawAuthor] = {}
        for reader in reversed(self._readers):
            authors.update(reader.authors(wanted))
        return authors
