"""Datasets that no mapping of single records can read: AMiner's network, Semantic Scholar's dumps and its search."""

import asyncio
import datetime as dt
import sqlite3
import tempfile
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyheads.base.errors import CorpusError, LiteratureError
from manyheads.base.papers import Window
from manyheads.base.sqlite import Database
from manyheads.corpus.records import RawAuthor, RawPaper, Reader, Record, Rejects, lines
from manyheads.datasets.formats import Dataset, Format, validated
from manyheads.datasets.records import json_lines
from manyheads.datasets.values import text
from manyheads.literature.lookup import CascadeSource, LookupCache
from manyheads.literature.source import Part, Request, Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

# AMiner's academic network of computer science (aminer.cn/aminernetwork, VirSci 2025, App. C.2.1): citations, authorships and joint
# papers, in a few bytes each.

MOST_DIGITS = 18
LAST_PLACE = 2**31 - 1


class CitationCounts:
    """Number of citations of each paper: papers that list it among their references."""

    def __init__(self, papers: Path) -> None:
        import numpy as np

        cited, seen = array("q"), set[bytes]()
        with closing(lines(papers)) as stream:
            for _, line in stream:
                if line.startswith(b"#index"):
                    seen.clear()
                elif line.startswith(b"#%") and (index := line[2:].strip()) not in seen:
                    seen.add(index)
                    cited.append(hash(index))
        self._keys, self._counts = np.unique(np.asarray(cited), return_counts=True)

    def times(self, index: str) -> int:
        key = hash(index.encode())
        place = int(self._keys.searchsorted(key))
        return int(self._counts[place]) if place < len(self._keys) and self._keys[place] == key else 0


class Authorships:
    """The authors of papers: parallel arrays, sorted by paper, then by position in the byline.

    Lines of the file have four numbers: line, author, paper, position; others go to `rejects`.
    """

    def __init__(self, file: Path, rejects: Rejects) -> None:
        import numpy as np

        rejects.file, rejects.unit = file.name, "line"
        authors, papers, places = array("q"), array("q"), array("i")
        for number, row in numbers(file, 4):
            if row is None:
                rejects.note(number, "authorship", "not four numbers")
                continue
            authors.append(row[1])
            papers.append(row[2])
            places.append(min(row[3], LAST_PLACE))
        by_paper, author_of, place_of = (np.asarray(column) for column in (papers, authors, places))  # views
        order = np.lexsort((place_of, by_paper))
        self._papers: NDArray[np.int64] = by_paper[order]
        self._authors: NDArray[np.int64] = author_of[order]
        self._places: NDArray[np.int32] = place_of[order]

    def of(self, paper: str, count: int) -> list[str]:
        """The index of each of a paper's `count` authors, in the order of its byline; "" if unknown."""
        if not paper.isdecimal() or len(paper) > MOST_DIGITS:
            return [""] * count
        start, end = self._papers.searchsorted(int(paper)), self._papers.searchsorted(int(paper), "right")
        authors: list[str] = [*map(str, self._authors[start:end].tolist())]
        if len(authors) == count:
            return authors
        by_place: dict[int, str] = dict(zip(self._places[start:end].tolist(), authors, strict=True))
        return [by_place.get(place, "") for place in range(1, count + 1)]


def read_coauthors(file: Path, keys: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """For each author in `keys` (index to key), by index: the co-authors with the numbers of joint papers.

    A co-author is named by key if in `keys`, else by index. Lines without exactly three numbers are skipped.
    """
    met: dict[str, dict[str, int]] = defaultdict(dict)
    for _, row in numbers(file, 3):
        one, other, together = map(str, row or (0, 0, 0))
        for own, theirs in ((one, other), (other, one)):
            if own in keys:
                met[own][keys.get(theirs, theirs)] = int(together)
    return met


def numbers(file: Path, count: int) -> Iterator[tuple[int, tuple[int, ...] | None]]:
    """Each line's `count` numbers, after an optional `#`; None for any other line."""
    with closing(lines(file)) as stream:
        for number, line in stream:
            parts = line.removeprefix(b"#").split()
            fit = len(parts) == count and all(part.isdigit() and len(part) <= MOST_DIGITS for part in parts)
            yield number, tuple(map(int, parts)) if fit else None


class AMiner(Dataset):
    """A `Reader` of the dataset: a folder, or a file of papers with any name.

    Papers have no citation counts: citations are counted over the whole file first. An author's key is the dataset's index if
    `AMiner-Author2Paper` is there, else the name.
    """

    def __init__(self, path: Path, format: Format) -> None:  # noqa: A002
        super().__init__(path if path.is_dir() else path.parent, format)
        self._papers = None if path.is_dir() else path

    def records(self, rejects: Rejects) -> Iterator[Record]:
        """Raises `CorpusError` if there are no papers, or a file cannot be read."""
        if (file := self._papers or self._file("paper")) is None:
            packed, folder = "unpack it: unrar x AMiner-Paper.rar", "use the folder with AMiner-Paper.txt"
            hint = packed if any(self.path.glob("*.rar")) else folder
            raise CorpusError(f"{self.path}: contains no AMiner-Paper.txt", hint=hint)
        ties = self._file("author2paper")
        cited = CitationCounts(file)
        authorships = Authorships(ties, rejects) if ties else None
        rejects.file, rejects.unit = file.name if ties else "", self.unit
        for number, block in self.raw(file):
            if isinstance(block, dict):
                index = text(block.get("index"))
                names = _parts(block.get("@"), ";," if self.format.begins == "#*" else ";")
                places = _parts(block.get("o"))
                unknown = [""] * len(names)
                ids = authorships.of(index, len(names)) if authorships else unknown
                people = zip(names, ids, places if len(places) == len(names) else unknown, strict=True)
                block["people"] = [{"name": name, "id": own, "place": place} for name, own, place in people]
                block["cited"] = cited.times(index)
            yield number, self.made(self.format.reading, number, block, rejects)

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """See `Reader.authors`. Without indices, only authors with unique names are known."""
        if (file := self._file("author")) is None:
            return {}
        by_index, by_key, shared = self._file("author2paper"), dict[str, dict[str, Any]](), set[str]()
        for _, block in self.raw(file):
            if isinstance(block, dict):
                for key in [text(block.get("index"))] if by_index else map(text, _parts(block.get("n"))):
                    if key in wanted:
                        shared |= {key} & by_key.keys()
                        by_key[key] = block
        authors = {key: self.author(block, key) for key, block in by_key.items() if key not in shared}
        if pairs := self._file("coauthor"):
            index = {key: text(by_key[key].get("index")) for key in authors}
            met = read_coauthors(pairs, {at: key for key, at in index.items()})
            authors = {key: replace(one, coauthors=met.get(index[key], {})) for key, one in authors.items()}
        return authors

    def _file(self, part: str) -> Path | None:
        files = (file for file in sorted(self.path.glob("*")) if file.is_file())
        named = (file for file in files if file.name.lower().partition(".")[0] == f"aminer-{part}")
        return next((file for file in named if file.name.lower().endswith((".txt", ".gz", ".zip"))), None)


def _parts(value: object, marks: str = ";") -> list[str]:
    """The values between the first of the marks that is there, "" for an unknown one; [] if all are missing."""
    whole = text(value)
    mark = next((one for one in marks if one in whole), marks[0])
    return ["" if (one := part.strip()) == "-" else one for part in whole.split(mark)] if whole else []


# Semantic Scholar's Academic Graph as downloaded: parts, such as `papers` and `abstracts`, joined by corpusid.

_TABLES = (
    "CREATE TABLE papers (id TEXT PRIMARY KEY, file TEXT, number INTEGER, paper TEXT) WITHOUT ROWID",
    "CREATE TABLE cites (citing TEXT, cited TEXT)",
    "CREATE INDEX by_citing ON cites (citing)",
)
_CITING = "INSERT INTO cites SELECT id, ?2 FROM papers WHERE id = ?1 AND EXISTS (SELECT 1 FROM papers WHERE id = ?2)"
PAIRS = 10_000
"""Citations joined per batch."""

Years = tuple[int | None, int | None]


class AcademicGraph(Dataset):
    """A `Reader` of the dumps: a folder with the parts as subfolders, or as files named after them.

    Abstracts are in files of their own. Papers of the needed years wait for theirs in a database on disk (in `scratch`), which
    takes about their unpacked size; other papers are yielded without. Citations among them are joined in the same way, if that
    part exists.
    """

    def __init__(
        self, folder: Path, own: Format, years: Years = (None, None), scratch: Path | None = None
    ) -> None:
        super().__init__(folder, own)
        self._years, self._scratch = years, scratch
        self._citations = part_files(folder, "citations")

    def records(self, rejects: Rejects) -> Iterator[Record]:
        """In the order of their abstracts; raises `CorpusError` if papers or abstracts are missing or unreadable."""
        for part in self.format.signs.parts:
            if not part_files(self.path, part):
                raise CorpusError(
                    f"{self.path}: contains no {part} of Semantic Scholar",
                    hint="use the folder with papers/, abstracts/ and authors/, as downloaded from the datasets API",
                )
        try:
            with (
                tempfile.TemporaryDirectory(dir=self._scratch, prefix=".join-") as place,
                closing(Database(Path(place) / "papers.sqlite", *_TABLES, safety="none")) as join,
            ):
                for number, made in self._joined(join, rejects):
                    if self._citations and isinstance(made, RawPaper):
                        cited = join.rows("SELECT cited FROM cites WHERE citing = ? ORDER BY rowid", made.id)
                        made = made.model_copy(update={"references": tuple(one for (one,) in cited)})
                    yield number, made
        except sqlite3.Error as wrong:
            raise CorpusError(
                f"papers and abstracts cannot be joined on the disk: {wrong}",
                hint="free some space, or set TMPDIR to another folder, and run the same command again",
            ) from wrong

    def author_files(self) -> list[Path]:
        return part_files(self.path, "authors")

    def _pairs(self, rejects: Rejects) -> Iterator[tuple[str, str]]:
        for file in self.each(self._citations, rejects):
            for number, row in json_lines(file):
                if not isinstance(row, dict):
                    rejects.note(number, *row)
                elif row.get("citingcorpusid") is not None and row.get("citedcorpusid") is not None:
                    yield str(row["citingcorpusid"]), str(row["citedcorpusid"])

    def _joined(self, join: Database, rejects: Rejects) -> Iterator[Record]:
        """Papers wait on disk for their abstracts; those without come last."""
        first, last = self._years
        for file in self.each(part_files(self.path, "papers"), rejects):
            for number, made in self.records_of(file):
                if isinstance(made, tuple) or not (first or made.year) <= made.year <= (last or made.year):
                    yield number, made
                    continue
                waiting = made.id, rejects.file, number, made.model_dump_json(by_alias=True)
                if not join.change("INSERT OR IGNORE INTO papers VALUES (?, ?, ?, ?)", *waiting):
                    yield number, ("corpusid", "is another paper's already")
        pairs = self._pairs(rejects)
        while some := [*islice(pairs, PAIRS)]:
            join.change_all(_CITING, some)
        columns = "file, number, paper"
        for file in self.each(part_files(self.path, "abstracts"), rejects):
            name = rejects.file
            for number, row in json_lines(file):
                if not isinstance(row, dict):
                    rejects.file = name
                    yield number, row
                    continue
                taking, abstract = f"DELETE FROM papers WHERE id = ? RETURNING {columns}", row.get("abstract")
                if waiting := join.row(taking, str(row.get("corpusid"))):
                    rejects.file, at, made = waiting[0], waiting[1], RawPaper.model_validate_json(waiting[2])
                    found = abstract if isinstance(abstract, str) else ""
                    yield at, made.model_copy(update={"abstract": found})
        for rejects.file, number, line in join.each(f"SELECT {columns} FROM papers ORDER BY id"):
            yield number, RawPaper.model_validate_json(line)


def part_files(folder: Path, part: str) -> list[Path]:
    """The files of a part: in a folder of its name, or named after it."""
    if not folder.is_dir():
        return []
    inside = (folder / part).rglob("*") if (folder / part).is_dir() else folder.glob(f"{part}*")
    return sorted(file for file in inside if file.is_file() and not file.name.startswith((".", "README")))


# A literature service as a dataset: a query, year by year.

MOST_A_YEAR = 1000
"""Semantic Scholar's maximum papers per query."""
API_PARTS: frozenset[Part] = frozenset(("abstract", "authors", "venue", "citations", "date"))


SEARCHED = ("id", "title", "abstract", "authors", "citations", "venue")


class SearchReader(Reader):
    """A `Reader` of a service's results for a query: each year's best matches, at most `limit`, including both `years`.

    Each finished year is cached, so an interrupted build resumes. Raises `CorpusError` for a query without words, or without
    years.
    """

    def __init__(
        self,
        query: str,
        years: Years,
        connect: Callable[[], Source],
        limit: int = MOST_A_YEAR,
        address: str = "",
        cache: Callable[[], LookupCache] = LookupCache,
    ) -> None:
        self.name, self.path = f"search: {query}", Path(f"search: {query}")
        self.unit, self.example = "paper", "use other words, or other years"
        first, last = years
        if not query.strip():
            hint = 'such as: manyheads corpus build "s2:graph retrieval" …'
            raise CorpusError("the query is empty", hint=hint)
        if first is None or last is None or last < first:
            hint = "--start 2010 --bound 2015 --end 2018"
            raise CorpusError(f"{self.name}: the years are missing or not in order", hint=hint)
        self._query, self._years, self._limit = query.strip(), range(first, last + 1), limit
        self._connect, self._open_cache, self._address = connect, cache, address

    def records(self, rejects: Rejects) -> Iterator[Record]:
        """Numbered by rank within a year; raises `LiteratureError` if the service fails: earlier years are kept."""
        with self._open_cache() as cache, asyncio.Runner() as runner:
            service = CascadeSource(self._connect(), cache, self._address)
            for done, year in enumerate(self._years):
                window = Window(dt.date(year, 1, 1), dt.date(year + 1, 1, 1))
                request = Request("search", self._query, self._limit, window, API_PARTS)
                try:
                    papers, _ = runner.run(service.answer(request))
                except LiteratureError as error:
                    kept = f"{done} of {len(self._years)} years are finished and kept"
                    error.tried = f"{error.tried}; {kept}" if error.tried else kept
                    raise
                rejects.file = f"{service.name} {year}"
                yield from ((0, ("answer", fault)) for fault in request.faults)
                for rank, one in enumerate(papers, 1):
                    ids = [each.partition(":")[2] for each in one.author_ids]  # as in the service's own dumps
                    year = one.year if one.date is None else one.date.year
                    known = {name: getattr(one, name) for name in SEARCHED} | {"year": year}
                    yield rank, validated(known | {"author_ids": ids})
