"""Selects the reader for a user's source: a path of any format, or a search."""

import json
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

from manyheads.base.errors import CorpusError, did_you_mean
from manyheads.config import LiteratureConfig
from manyheads.corpus.records import (
    GZIP,
    LISTED,
    UTF8_MARK,
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
from manyheads.datasets.aminer import AMiner, Oag
from manyheads.datasets.anthology import Anthology
from manyheads.datasets.bibtex import BEGIN, BibTeX
from manyheads.datasets.full_texts import TEI_ENDINGS, Documents
from manyheads.datasets.semantic_scholar import AcademicGraph, Search, part_files
from manyheads.datasets.table import NEEDED, Delimited, JsonTable, Parquet, columns_of, header_of
from manyheads.datasets.unarxive import UnArXive
from manyheads.literature.library import connect
from manyheads.literature.lookup import LookupCache

AUTO = "auto"
SEARCH = "s2:"
"""Prefix of a search in place of a path."""
API = "semantic-scholar-api"
SNIFFED = 2**16
"""Bytes read to detect a format."""
PACKED, MOST_SNIFFED = (".json", ".jsonl", ".gz", ".zip", ".txt"), 20
LIST = re.compile(rb"\[\s*\{")
UNARXIVE = (b'"paper_id":', b'"metadata":', b'"authors_parsed":')
OURS, LEAST_OURS = frozenset(("id", *NEEDED)), 3
"""Required keys of our own JSON Lines, and how many of them a line must have to be read as such."""
FORMAT_ENDINGS = (
    (".tei.xml", "tei"), (".tei", "tei"), (".xml", "anthology"), (".bib", "bibtex"), (".parquet", "parquet"), (".csv", "csv"), (".tsv", "csv"),
)  # fmt: skip
ENDINGS = re.compile(
    r"(\.(jsonl?|txt|tei\.xml|tei|xml|bib|csv|tsv|parquet|pdf))?(\.(gz|zip))?$", re.IGNORECASE
)


@dataclass(frozen=True)
class Opening:
    """Options for reading datasets.

    Attributes:
        format: one of `FORMATS`, or `auto`.
        preset: the dataset format of the preset, assumed for a folder.
        columns: for tables, field to column.
        years: the first and the last year needed; readers may skip others to save work.
        scratch: folder for temporary files of a join; the system's by default.
        limit: maximum papers per year of a search.
        literature: settings of the services.
        cache: stores the services' answers.
    """

    format: str = AUTO
    preset: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    years: tuple[int | None, int | None] = (None, None)
    scratch: Path | None = None
    limit: int = 1000
    literature: LiteratureConfig = field(default_factory=LiteratureConfig)
    cache: Callable[[], LookupCache] = LookupCache


@dataclass(frozen=True)
class Format:
    """A format by name, with a description, an example of a source, and the function that opens it."""

    name: str
    about: str
    example: str
    open: Callable[[str, Opening], Reader]


def _search(source: str, how: Opening) -> Reader:
    connecting = partial(connect, "semantic_scholar", how.literature)
    address = how.literature.endpoints.get("semantic_scholar", "")
    return Search(source.removeprefix(SEARCH), how.years, connecting, how.cache, how.limit, address)


FORMATS = {
    one.name: one
    for one in (
        Format("jsonl", "JSON Lines, one paper per line", "papers.jsonl.gz", lambda source, _: JsonLines(Path(source))),
        Format("aminer", "AMiner's text files of papers, authors and co-authors", "aminer/ with AMiner-Paper.txt",
               lambda source, _: AMiner(Path(source))),
        Format("oag", "Open Academic Graph: JSON Lines with n_citation and author ids", "oag/ with v3.1_oag_publication_1.json",
               lambda source, _: Oag(Path(source))),
        Format("semantic-scholar", "Semantic Scholar's dumps", "s2ag/ with papers/, abstracts/ and authors/",
               lambda source, how: AcademicGraph(Path(source), how.years, how.scratch)),
        Format(API, "Semantic Scholar's search, year by year", '"s2:graph retrieval" --start 2010 --end 2018', _search),
        Format("unarxive", "unarXive: arXiv's papers in full, with their bibliographies", "unarxive/ with 2212/arXiv_src_2212_001.jsonl",
               lambda source, _: UnArXive(Path(source))),
        Format("anthology", "ACL Anthology XML", "data/xml/ or 2023.acl.xml", lambda source, _: Anthology(Path(source))),
        Format("tei", "full texts as GROBID's TEI, one file per paper", "tei/ with 2019-berg.tei.xml",
               lambda source, _: Documents(Path(source), *TEI_ENDINGS)),
        Format("pdf", "full texts as PDF, one file per paper; optional papers.csv or .bib with title, authors, year",
               "pdfs/ with 2019-berg.pdf", lambda source, _: Documents(Path(source), ".pdf", ".tei.xml")),
        Format("bibtex", "BibTeX and BibLaTeX", "library.bib", lambda source, _: BibTeX(Path(source))),
        Format("csv", "CSV, TSV and other tables with a header", "papers.csv --columns title=Title,year=Year",
               lambda source, how: Delimited(Path(source), how.columns)),
        Format("json", "a list of JSON objects, or one per line with --columns; their keys are columns",
               "papers.json --columns authors=author,citations=gs_citation",
               lambda source, how: JsonTable(Path(source), how.columns)),
        Format("parquet", "Hugging-Face-style parquet", "data/ with train-00000-of-00002.parquet",
               lambda source, how: Parquet(Path(source), how.columns)),
    )
}  # fmt: skip
"""By name, for `--format`."""


def open_sources(sources: Sequence[str], opening: Opening) -> Reader:
    """The reader of one or several datasets; a source is a path, or `s2:` and the words of a search. Raises `CorpusError` if it
    does not exist, its format is unknown, or an option does not apply to the format."""
    readers = [open_corpus(source, opening) for source in sources]
    return readers[0] if len(readers) == 1 else Several(readers)


def open_corpus(source: str | Path, opening: Opening | None = None) -> Reader:
    """The reader of one dataset; see `open_sources`."""
    opening, source = opening or Opening(), str(source)
    if is_search(source, opening.format):
        name = API
    elif opening.format != AUTO:
        name = opening.format
    else:
        name = opening.preset if opening.preset and Path(source).is_dir() else detect(Path(source))
    if name not in FORMATS:
        raise CorpusError(
            f"--format {name!r}: no such format",
            tried=format_examples(),
            hint=did_you_mean(name, FORMATS, "manyheads corpus formats lists them"),
        )
    if opening.columns and name in ("jsonl", "oag"):  # lines whose keys are others
        name = "json"
    if opening.columns and name not in ("csv", "json", "parquet", API):
        raise CorpusError(f"{source}: {name} has no columns", hint="remove --columns, or set --format csv")
    return FORMATS[name].open(source, opening)


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


def format_examples() -> str:
    """The formats with an example each."""
    return "; ".join(f"{one.name} ({one.example})" for one in FORMATS.values())


# Detecting a dataset's format by content and name.


def detect(path: Path) -> str:
    """The format of a file or a folder. Raises `CorpusError` if it does not exist, cannot be read, or has an unknown format."""
    if not path.exists():
        raise CorpusError(
            f"{path}: no such file or folder", hint=f"use a dataset, or a search: {SEARCH}WORDS"
        )
    if path.is_file() and not _start(path).strip():
        raise CorpusError(f"{path}: empty", hint="download the file again")
    if name := _of_folder(path) if path.is_dir() else _of_file(path):
        return name
    raise CorpusError(
        f"{path}: unknown format",
        tried=format_examples(),
        hint="set it with --format NAME",
    )


def _of_folder(folder: Path) -> str | None:
    files = {file: file.name.lower() for file in sorted(folder.rglob("*")) if file.is_file()}
    if any("aminer-paper" in name for name in files.values()):
        return "aminer"
    if part_files(folder, "papers") and part_files(folder, "abstracts"):
        return "semantic-scholar"
    pdfs = sum(name.endswith(".pdf") for name in files.values())
    if (
        pdfs > 1
    ):  # a table or a bibliography beside them describes them; a single PDF may be a dataset's documentation
        return "pdf"
    for ending, format_name in FORMAT_ENDINGS:
        if some := [file for file, name in files.items() if name.endswith((ending, f"{ending}.gz"))]:
            return "tei" if format_name == "anthology" and _of_file(some[0]) == "tei" else format_name
    packed = [file for file, name in files.items() if name.endswith(PACKED)]
    formats = [_of_file(file) for file in packed[:MOST_SNIFFED]]
    return "oag" if "oag" in formats else next(filter(None, formats), "pdf" if pdfs else None)


def _of_file(file: Path) -> str | None:
    start = _start(file)
    if start.startswith(b"PAR1"):
        return "parquet"
    if b"%PDF-" in start[:1024]:
        return "pdf"
    text = start.removeprefix(UTF8_MARK).lstrip()
    if LIST.match(text):
        return "json"
    if text.startswith(b"{"):
        return _of_json(text.split(b"\n", 1)[0])
    if text.startswith(b"<"):
        return "tei" if b"<TEI" in text else "anthology" if b"<collection" in text else None
    if text.startswith((b"#index", b"#*")):
        return "aminer"
    if any(BEGIN.match(line) for line in text.splitlines()):
        return "bibtex"
    # a table has a telling name, or most of the columns that a paper needs
    _, header = header_of(text.decode("utf-8", "replace").strip(), {})
    named = file.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
    return "csv" if named or len(columns_of(header, {}).keys() & set(NEEDED)) > 1 else None


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


def _of_json(line: bytes) -> str:
    """OAG's records have author objects; lines with other keys than ours are a table. The readers report errors."""
    if all(key in line for key in UNARXIVE):  # its lines are longer than the part that was read
        return "unarxive"
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return "jsonl"
    if isinstance(record, dict) and "corpusid" in record:
        return "semantic-scholar"
    if not isinstance(record, dict):
        return "jsonl"
    people = b'"authors": [{' in line or b'"authors":[{' in line
    if "n_citation" in record or people:
        return "oag"
    keys = {*map(str, cast("dict[str, object]", record))}
    return "json" if keys and len(keys & OURS) < LEAST_OURS else "jsonl"


# Several datasets of any format read as one.


class Several(Reader):
    """A `Reader` of several readers in order; rejects name their dataset."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self.name, self._readers = " + ".join(one.name for one in readers), readers

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """See `Reader.papers`."""
        for reader in self._readers:
            # Each is judged by its own records: good datasets do not hide a broken one.
            own = Rejects(rejects.log, file=reader.name)
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
