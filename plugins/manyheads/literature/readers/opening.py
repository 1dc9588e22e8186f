"""From what a user names to the reader of it: a path of any format, or a search."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from manyheads.bank.corpus import Reader
from manyheads.bank.jsonlines import JsonLines
from manyheads.config import LiteratureConfig
from manyheads.errors import CorpusError
from manyheads.literature.cache import LookupCache
from manyheads.literature.connect import connect
from manyheads.literature.readers.aminer import AMiner
from manyheads.literature.readers.anthology import Anthology
from manyheads.literature.readers.api import Searched
from manyheads.literature.readers.bibtex import BibTeX
from manyheads.literature.readers.common import shards
from manyheads.literature.readers.formats import API, SEARCH, detect, known
from manyheads.literature.readers.oag import Oag
from manyheads.literature.readers.semantic_scholar import AcademicGraph
from manyheads.literature.readers.several import Several
from manyheads.literature.readers.table import Delimited, Parquet
from manyheads.literature.readers.unarxive import UnArXive

AUTO = "auto"
ENDINGS = re.compile(r"(\.(jsonl?|txt|xml|bib|csv|tsv|parquet))?(\.(gz|zip))?$", re.IGNORECASE)


@dataclass(frozen=True)
class Opening:
    """How datasets are to be read.

    Attributes:
        format: one of `formats.FORMATS`, or `auto`.
        preset: the format of a preset's dataset, which a folder is taken for.
        columns: of tables, field to column.
        years: the first and the last of interest; what is known of them spares work, the papers are filtered later.
        scratch: folder for what a join needs on the disk; the system's for temporary files if not given.
        limit: papers of a year that a search gives, at most.
        literature: how services are reached.
        cache: where what they answered is kept.
        references: whether papers are to tell what they cite where that takes a join on the disk.
    """

    format: str = AUTO
    preset: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    years: tuple[int | None, int | None] = (None, None)
    scratch: Path | None = None
    limit: int = 1000
    literature: LiteratureConfig = field(default_factory=LiteratureConfig)
    cache: Callable[[], LookupCache] = LookupCache
    references: bool = False


def open_sources(sources: Sequence[str], opening: Opening) -> Reader:
    """The reader of a dataset, or of several as one; a source is a path, or `s2:` and the words of a search.

    Raises:
        CorpusError: nothing is there, its format is not known, or the format has no use for an option.
    """
    readers = [_open(source, opening) for source in sources]
    return readers[0] if len(readers) == 1 else Several(readers)


def is_search(source: str, format: str) -> bool:  # noqa: A002
    """Whether a source is not a path but words to search for."""
    return source.startswith(SEARCH) or format == API


def name_of(source: str) -> str:
    """What a corpus of a source is called: the file's or the folder's name without its endings, a search's words."""
    if source.startswith(SEARCH):
        return re.sub(r"\W+", "-", source.removeprefix(SEARCH)).strip("-") or "search"
    return ENDINGS.sub("", Path(source).resolve().name) or "corpus"


def open_corpus(path: Path, format: str = AUTO, opening: Opening | None = None) -> Reader:  # noqa: A002
    """The reader of a file or a folder.

    Raises:
        CorpusError: nothing is there, or its format is not known.
    """
    how = opening or Opening()
    name = _told(path, how.preset) if format == AUTO else known(format)
    if how.columns and name not in ("csv", "parquet"):
        raise CorpusError(f"{path}: {name} has no columns", hint="leave --columns out, or say --format csv")
    readers: dict[str, Callable[[], Reader]] = {
        "jsonl": partial(_json_lines, path),
        "aminer": partial(AMiner, path),
        "oag": partial(Oag, path),
        "semantic-scholar": partial(AcademicGraph, path, how.years, how.scratch, references=how.references),
        "unarxive": partial(UnArXive, path),
        "anthology": partial(Anthology, path),
        "bibtex": partial(BibTeX, path),
        "csv": partial(Delimited, path, how.columns),
        "parquet": partial(Parquet, path, how.columns),
    }
    return readers[name]()


def _open(source: str, opening: Opening) -> Reader:
    if is_search(source, opening.format):
        asked = partial(connect, "semantic_scholar", opening.literature)
        words, address = source.removeprefix(SEARCH), opening.literature.endpoints.get("semantic_scholar", "")
        return Searched(words, opening.years, asked, opening.cache, opening.limit, address)
    return open_corpus(Path(source), opening.format, opening)


def _told(path: Path, preset: str | None) -> str:
    return preset if preset and path.is_dir() else detect(path)


def _json_lines(path: Path) -> Reader:
    files = (
        shards(path, (".jsonl", ".jsonl.gz", ".json", ".json.gz"), "JSON Lines") if path.is_dir() else [path]
    )
    readers = [JsonLines(file) for file in files]
    return readers[0] if len(readers) == 1 else Several(readers)
