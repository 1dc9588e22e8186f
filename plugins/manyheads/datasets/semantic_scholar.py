"""Semantic Scholar's Academic Graph as downloaded: parts, such as `papers` and `abstracts`, joined by corpusid."""

import asyncio
import datetime as dt
import sqlite3
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from manyheads.base.errors import CorpusError, LiteratureError
from manyheads.base.papers import Paper, Window
from manyheads.base.sqlite import Database
from manyheads.corpus.records import RawAuthor, RawPaper, Reader, Record, Rejects
from manyheads.datasets.common import count_of, mapping, objects, paper, sequence
from manyheads.literature.lookup import LookupCache, Member
from manyheads.literature.source import Part, Request, Source

_TABLES = (
    "CREATE TABLE papers (id TEXT PRIMARY KEY, file TEXT, number INTEGER, paper TEXT) WITHOUT ROWID",
    "CREATE TABLE cites (citing TEXT, cited TEXT)",
    "CREATE INDEX by_citing ON cites (citing)",
)
_CITING = "INSERT INTO cites SELECT id, ?2 FROM papers WHERE id = ?1 AND EXISTS (SELECT 1 FROM papers WHERE id = ?2)"
PAIRS = 10_000
"""Citations joined per batch."""

Years = tuple[int | None, int | None]


class AcademicGraph(Reader):
    """A `Reader` of the dumps: a folder with the parts as subfolders, or as files named after them.

    Abstracts are in files of their own. Papers of the needed years wait for theirs in a database on disk (in `scratch`), which
    takes about their unpacked size; other papers are yielded without. Citations among them are joined in the same way, if that
    part exists.
    """

    example = 'lines such as {"corpusid": 1, "title": "…", "authors": [{"authorId": "2", "name": "…"}], "year": 2015, …}'

    def __init__(self, folder: Path, years: Years = (None, None), scratch: Path | None = None) -> None:
        super().__init__(folder)
        self._years, self._scratch = years, scratch
        self._citations = part_files(folder, "citations")

    def records(self, rejects: Rejects) -> Iterator[Record]:
        """In the order of their abstracts; raises `CorpusError` if papers or abstracts are missing or unreadable."""
        for part in ("papers", "abstracts"):
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

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """See `Reader.authors`; {} if the dump has no authors."""
        rows = (row for file in part_files(self.path, "authors") for _, row in objects(file))
        return {
            key: RawAuthor(
                key=key,
                name=str(row.get("name") or ""),
                affiliations=tuple(map(str, sequence(row.get("affiliations")))) or None,
                papers=count_of(row.get("papercount")),
                citations=count_of(row.get("citationcount")),
            )
            for row in rows
            if isinstance(row, dict) and (key := str(row.get("authorid"))) in wanted
        }

    def _pairs(self, rejects: Rejects) -> Iterator[tuple[str, str]]:
        """Citations between known papers."""
        for file in self.each(self._citations, rejects):
            for number, row in objects(file):
                if not isinstance(row, dict):
                    rejects.note(number, *row)
                elif row.get("citingcorpusid") is not None and row.get("citedcorpusid") is not None:
                    yield str(row["citingcorpusid"]), str(row["citedcorpusid"])

    def _joined(self, join: Database, rejects: Rejects) -> Iterator[Record]:
        """Papers wait on disk for their abstracts; those without come last."""
        first, last = self._years
        for file in self.each(part_files(self.path, "papers"), rejects):
            for number, row in objects(file):
                made = paper(_fields(row)) if isinstance(row, dict) else row
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
            for number, row in objects(file):
                if not isinstance(row, dict):
                    rejects.file = name
                    yield number, row
                    continue
                taking, text = f"DELETE FROM papers WHERE id = ? RETURNING {columns}", row.get("abstract")
                if waiting := join.row(taking, str(row.get("corpusid"))):
                    rejects.file, at, made = waiting[0], waiting[1], RawPaper.model_validate_json(waiting[2])
                    yield at, made.model_copy(update={"abstract": text if isinstance(text, str) else ""})
        for rejects.file, number, line in join.each(f"SELECT {columns} FROM papers ORDER BY id"):
            yield number, RawPaper.model_validate_json(line)


def part_files(folder: Path, part: str) -> list[Path]:
    """The files of a part: in a folder of its name, or named after it."""
    if not folder.is_dir():
        return []
    inside = (folder / part).rglob("*") if (folder / part).is_dir() else folder.glob(f"{part}*")
    return sorted(file for file in inside if file.is_file() and not file.name.startswith((".", "README")))


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    people, number = [*filter(None, map(mapping, sequence(row.get("authors"))))], row.get("corpusid")
    return {
        "id": None if number is None else str(number),
        "title": row.get("title"),
        "abstract": "",
        "authors": [one.get("name") for one in people],
        "author_ids": [str(one.get("authorId") or "") for one in people],
        "year": row.get("year"),
        "citations": row.get("citationcount"),
        "venue": row.get("venue") or None,
    }


# A literature service as a dataset: a query, year by year.


MOST_A_YEAR = 1000
"""Semantic Scholar's maximum papers per query."""
API_PARTS: frozenset[Part] = frozenset(("abstract", "authors", "venue", "citations", "date"))


class Search(Reader):
    """A `Reader` of a service's results for a query: each year's best matches, at most `limit`, including both `years`.

    Each finished year is cached, so an interrupted build resumes. Raises `CorpusError` for a query without words, or without
    years.
    """

    unit = "paper"
    example = "use other words, or other years"

    def __init__(
        self,
        query: str,
        years: tuple[int | None, int | None],
        connect: Callable[[], Source],
        cache: Callable[[], LookupCache],
        limit: int = MOST_A_YEAR,
        address: str = "",
    ) -> None:
        self.name, self.path = f"search: {query}", Path(f"search: {query}")
        first, last = years
        if not query.strip():
            raise CorpusError(
                "the query is empty", hint='such as: manyheads corpus build "s2:graph retrieval" …'
            )
        if first is None or last is None or last < first:
            raise CorpusError(
                f"{self.name}: the years are missing or not in order",
                hint="--start 2010 --bound 2015 --end 2018",
            )
        self._query, self._years, self._limit = query.strip(), range(first, last + 1), limit
        self._connect, self._open_cache, self._address = connect, cache, address

    def records(self, rejects: Rejects) -> Iterator[Record]:
        """Numbered by rank within a year; raises `LiteratureError` if the service fails: earlier years are kept."""
        with self._open_cache() as cache, asyncio.Runner() as runner:
            service = Member(self._connect(), cache, self._address)
            try:
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
                        yield rank, paper(_fields_of_hit(one))
            finally:
                runner.run(service.source.close())


def _fields_of_hit(one: Paper) -> dict[str, Any]:
    return {
        "id": one.id,
        "title": one.title,
        "abstract": one.abstract,
        "authors": list(one.authors),
        "author_ids": [each.partition(":")[2] for each in one.author_ids],  # as in the service's own dumps
        "year": one.year if one.date is None else one.date.year,
        "citations": one.citations,
        "venue": one.venue,
    }
