"""Papers on their way into a corpus, kept on disk: what was selected may be larger than the memory."""

import json
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from manyheads.bank.corpus import RawPaper
from manyheads.bank.records import Paper, Period
from manyheads.errors import CorpusError

SPOOL = "selected.sqlite"
MEMORY = ":memory:"
_Kind = TypeVar("_Kind", bound=BaseModel)
_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -16000;
CREATE TABLE raw (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, place TEXT NOT NULL, period TEXT NOT NULL,
    keys TEXT NOT NULL, names TEXT, year INTEGER NOT NULL, citations INTEGER, record TEXT NOT NULL
);
CREATE TABLE masked (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, period TEXT NOT NULL, record TEXT NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class Team:
    """Who wrote a paper: keys and, beside them, names; both as given, so that one may stand there twice."""

    keys: tuple[str, ...]
    names: tuple[str, ...]
    citations: int | None


class Spooled(Generic[_Kind]):
    """The papers of a period, in the order read: read from the disk again by each pass over them."""

    def __init__(self, db: sqlite3.Connection, table: str, period: Period, kind: type[_Kind]) -> None:
        self._db, self._kind = db, kind
        self._of = f"FROM {table} WHERE period = '{period}'"

    def __len__(self) -> int:
        with _said():
            return int(self._db.execute(f"SELECT COUNT(*) {self._of}").fetchone()[0])

    def __iter__(self) -> Iterator[_Kind]:
        return map(self._kind.model_validate_json, self.records())

    def records(self) -> Iterator[str]:
        """Each paper as JSON."""
        return (row[0] for row in _rows(self._db, f"SELECT record {self._of} ORDER BY number"))

    def ids(self) -> Iterator[str]:
        return (row[0] for row in _rows(self._db, f"SELECT id {self._of} ORDER BY number"))


class Spool:
    """Selected papers, as read and as masked. The file is made anew, and closed and removed by `close`."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        if path is not None:
            path.unlink(missing_ok=True)  # without a journal, what a killed process left may be broken
        with _said():
            self._db = sqlite3.connect(path or MEMORY, isolation_level=None)
            self._db.executescript(_TABLES)
            self._db.execute("BEGIN")

    def add(self, paper: RawPaper, period: Period, place: str) -> str | None:
        """Keep a paper read at `place`; where its id is here already, that one's place, and nothing is kept."""
        names = None if paper.keys == paper.byline else json.dumps(paper.byline)
        row = (
            paper.id, place, period, json.dumps(paper.keys), names, paper.year, paper.citations,
            paper.model_dump_json(by_alias=True, exclude={"references"}),
        )  # fmt: skip
        with _said():
            done = self._db.execute(
                "INSERT OR IGNORE INTO raw (id, place, period, keys, names, year, citations, record) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            if done.rowcount:
                return None
            return str(self._db.execute("SELECT place FROM raw WHERE id = ?", (paper.id,)).fetchone()[0])

    def keep(self, paper: Paper, period: Period) -> None:
        """Keep a paper as the corpus will hold it."""
        with _said():
            self._db.execute(
                "INSERT INTO masked (id, period, record) VALUES (?, ?, ?)",
                (paper.id, period, paper.model_dump_json()),
            )

    def raw(self, period: Period) -> Spooled[RawPaper]:
        return Spooled(self._db, "raw", period, RawPaper)

    def masked(self, period: Period) -> Spooled[Paper]:
        return Spooled(self._db, "masked", period, Paper)

    def teams(self, *periods: Period) -> Iterator[Team]:
        """Who wrote the papers of these periods."""
        marks = ",".join("?" * len(periods))
        found = f"SELECT keys, names, citations FROM raw WHERE period IN ({marks}) ORDER BY number"
        for keys, names, citations in _rows(self._db, found, *periods):
            known = tuple(json.loads(keys))
            yield Team(known, known if names is None else tuple(json.loads(names)), citations)

    def years(self, period: Period) -> tuple[int, int]:
        """The first and the last year of a period's papers, of which there is one at least."""
        [(first, last)] = _rows(self._db, "SELECT MIN(year), MAX(year) FROM raw WHERE period = ?", period)
        return first, last

    def without_citations(self) -> int:
        """Papers of which the dataset does not say how often they are cited."""
        [(count,)] = _rows(self._db, "SELECT COUNT(*) FROM raw WHERE citations IS NULL")
        return count

    def close(self) -> None:
        """Free and remove the file; twice is allowed."""
        self._db.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _rows(db: sqlite3.Connection, query: str, *values: str) -> Iterator[tuple[Any, ...]]:
    with _said():
        # `yield from` would close the cursor when this is not read to its end: maybe after the database.
        for row in db.execute(query, values):  # noqa: UP028
            yield row


@contextmanager
def _said() -> Generator[None]:
    try:
        yield
    except sqlite3.OperationalError as wrong:
        raise CorpusError(
            f"selected papers cannot be kept on disk: {wrong}",
            hint="make room, or choose another --out, and run the same command again",
        ) from wrong
