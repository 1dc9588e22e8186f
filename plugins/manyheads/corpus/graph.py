"""The graph of a corpus: citations, co-citations, entities of papers (SciPIP, §3.1)."""

import json
import sqlite3
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from manyheads.base.errors import CorpusError, describe
from manyheads.base.papers import fold
from manyheads.base.sqlite import Database, reading
from manyheads.corpus.extraction import Extraction
from manyheads.corpus.meta import damaged
from manyheads.corpus.store import Closing

GRAPH = "graph.sqlite"
"""The graph's file in a corpus's folder."""
GRAPH_FILES = (GRAPH, f"{GRAPH}-wal", f"{GRAPH}-shm")
"""With SQLite's files beside it. No checksums, as records are added after a build."""
_SCHEMA = (
    # `held` is 0 for a cited paper that is not in the corpus (yet); `cites` is NULL while the paper's references are
    # unknown.
    "CREATE TABLE IF NOT EXISTS paper (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, year INTEGER,"
    " held INTEGER NOT NULL, cites INTEGER)",
    "CREATE TABLE IF NOT EXISTS text (paper INTEGER PRIMARY KEY, introduction TEXT NOT NULL, method TEXT NOT NULL)",
    # `counts`: whether the citation counts for co-citation: all do, or those in introduction and method if known
    "CREATE TABLE IF NOT EXISTS cites (citing INTEGER, cited INTEGER, core INTEGER, counts INTEGER,"
    " PRIMARY KEY (citing, cited)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS entity (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL,"
    " papers INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS mention (paper INTEGER, entity INTEGER, PRIMARY KEY (paper, entity)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS mentioned ON mention (entity, paper)",
    "CREATE TABLE IF NOT EXISTS extraction (paper INTEGER PRIMARY KEY, recipe TEXT NOT NULL, record TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS made ON extraction (recipe)",
    # Triggers count the papers of each entity; an entity without papers is deleted.
    "CREATE TRIGGER IF NOT EXISTS mention_comes AFTER INSERT ON mention BEGIN"
    " UPDATE entity SET papers = papers + 1 WHERE number = new.entity; END",
    "CREATE TRIGGER IF NOT EXISTS mention_goes AFTER DELETE ON mention BEGIN"
    " UPDATE entity SET papers = papers - 1 WHERE number = old.entity;"
    " DELETE FROM entity WHERE number = old.entity AND papers = 0; END",
)
_COUNTS = (
    "SELECT (SELECT COUNT(*) FROM paper WHERE held), (SELECT COUNT(*) FROM text),"
    " (SELECT COUNT(*) FROM paper WHERE held AND cites IS NOT NULL),"
    " (SELECT COUNT(*) FROM cites JOIN paper ON number = cited WHERE held),"
    " (SELECT COUNT(*) FROM extraction), (SELECT COUNT(*) FROM entity)"
)
_GIVEN = "(SELECT value FROM json_each(?))"


class Text(NamedTuple):
    """Parts of a paper's full text for extraction."""

    introduction: str
    method: str


class Citations(NamedTuple):
    """A paper's citations within the corpus: ids, and those cited in introduction or method."""

    all: tuple[str, ...]
    core: tuple[str, ...] = ()


class Counts(NamedTuple):
    """Size of a graph."""

    papers: int
    texts: int
    citing: int
    """Papers with known references."""
    citations: int
    """Within the corpus."""
    extractions: int
    entities: int


class Graph(Closing):
    """One SQLite file in a corpus's folder; counts follow papers, citations and records.

    Co-citations are counted on demand: as a stored table of pairs, a survey of 300 references would alone write 90,000 rows,
    and citations of later papers could not be excluded.

    Papers have their ids in the corpus. Entities ignore case, spaces and punctuation. The graph does not depend on the order
    or batches of additions.

    Each call raises `CorpusError` if the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._errors():
            self._db = Database(path, *_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    # Papers and citations, while a corpus is built.

    def add_papers(self, papers: Iterable[tuple[str, int | None]]) -> None:
        """Add ids with their years; existing ones stay unchanged."""
        with self._errors():
            self._db.change_all(
                "INSERT INTO paper (id, year, held) VALUES (?, ?, 1)"
                " ON CONFLICT (id) DO UPDATE SET year = excluded.year, held = 1 WHERE NOT held",
                papers,
            )

    def add_texts(self, texts: Mapping[str, Text]) -> None:
        """Add introduction and method of existing papers; ignores unknown papers."""
        rows = [(text.introduction, text.method, paper) for paper, text in texts.items()]
        with self._errors():
            self._db.change_all(
                "INSERT OR REPLACE INTO text (introduction, method, paper)"
                " SELECT ?, ?, number FROM paper WHERE id = ? AND held",
                rows,
            )

    def texts(self, papers: Collection[str]) -> dict[str, Text]:
        """Introduction and method of these papers; papers without them are omitted."""
        rows = self._rows(
            f"SELECT id, introduction, method FROM text JOIN paper ON number = paper WHERE id IN {_GIVEN}",
            papers,
        )
        return {paper: Text(*parts) for paper, *parts in rows}

    def add_citations(self, citations: Mapping[str, Citations]) -> None:
        """Add citations between papers of the corpus. Papers with known citations stay unchanged.

        Two papers are co-cited once by each paper that cites both; if a paper's citations in introduction and method are known,
        only these count (SciPIP, §3.1: core references). A paper does not cite itself. A cited paper may be added to the corpus
        later.
        """
        cited = {one for each in citations.values() for one in (*each.all, *each.core)}
        with self._errors():
            citing = self._numbers(citations, "held AND cites IS NULL")
            numbers = self._numbers(cited)
            if outside := cited - numbers.keys():
                self._db.change_all(
                    "INSERT INTO paper (id, held) VALUES (?, 0)", ((one,) for one in sorted(outside))
                )
                numbers |= self._numbers(outside)
            edges, counts = list[tuple[int, ...]](), list[tuple[int, int]]()
            for paper, one in citing.items():
                core = {numbers[other] for other in citations[paper].core} - {one}
                every = core | ({numbers[other] for other in citations[paper].all} - {one})
                edges += ((one, other, other in core, other in (core or every)) for other in sorted(every))
                counts.append((len(every), one))
            self._db.change_in_turn(
                ("INSERT OR IGNORE INTO cites VALUES (?, ?, ?, ?)", edges),
                ("UPDATE paper SET cites = ? WHERE number = ?", counts),
            )

    def citations(self, papers: Collection[str]) -> dict[str, Citations]:
        """Citations of these papers within the corpus; papers with unknown references are omitted."""
        known = self._rows(f"SELECT id FROM paper WHERE cites IS NOT NULL AND id IN {_GIVEN}", papers)
        every: dict[str, list[tuple[str, int]]] = {paper: [] for (paper,) in known}
        rows = self._rows(
            "SELECT one.id, other.id, core FROM paper one JOIN cites ON citing = one.number"
            f" JOIN paper other ON other.number = cited WHERE other.held AND one.id IN {_GIVEN} ORDER BY other.id",
            papers,
        )
        for paper, other, core in rows:
            every[paper].append((other, core))
        return {
            paper: Citations(tuple(other for other, _ in some), tuple(other for other, core in some if core))
            for paper, some in every.items()
        }

    # Records.

    def add_extractions(self, extractions: Iterable[Extraction]) -> None:
        """Store records, replacing earlier ones of the same papers, and update the entities' counts.

        Raises:
            CorpusError: a paper is not in the corpus; nothing is stored.
        """
        records = {one.paper: one for one in extractions}
        with self._errors():
            numbers = self._numbers(records, "held")
        if unknown := sorted(records.keys() - numbers.keys()):
            raise CorpusError(
                f"{self.path}: no paper {unknown[0]!r}", hint="extract papers of this corpus only"
            )
        names = {
            paper: {key: name for name in reversed(one.entities) if (key := fold(name))}
            for paper, one in records.items()
        }
        new = {key: name for some in names.values() for key, name in some.items()}
        mentions = [(numbers[paper], key) for paper, some in names.items() for key in some]
        rows = [(numbers[paper], one.recipe, one.model_dump_json()) for paper, one in records.items()]
        with self._errors():
            self._db.change_in_turn(
                ("DELETE FROM mention WHERE paper = ?", [(number,) for number in numbers.values()]),
                ("INSERT OR IGNORE INTO entity (key, name) VALUES (?, ?)", new.items()),
                ("INSERT INTO mention SELECT ?, number FROM entity WHERE key = ?", mentions),
                ("INSERT OR REPLACE INTO extraction VALUES (?, ?, ?)", rows),
            )

    def extraction(self, papers: Collection[str]) -> dict[str, Extraction]:
        """The records of these papers, in order; papers without one are omitted."""
        rows = self._rows(
            f"SELECT id, record FROM extraction JOIN paper ON number = paper WHERE id IN {_GIVEN}", papers
        )
        records = {paper: self._record(record) for paper, record in rows}
        return {paper: records[paper] for paper in papers if paper in records}

    def extractions(self) -> Iterator[Extraction]:
        """All records, in the order of papers; the graph must not change meanwhile."""
        with self._errors():
            for (record,) in self._db.each("SELECT record FROM extraction ORDER BY paper"):
                yield self._record(record)

    def missing(self, recipe: str | None = None) -> list[str]:
        """Ids of papers without a record of this recipe, or without any record, in the order of papers."""
        same = "" if recipe is None else " AND recipe = ?"
        values = () if recipe is None else (recipe,)
        with self._errors():
            rows = self._db.rows(
                "SELECT id FROM paper WHERE held AND NOT EXISTS"
                f" (SELECT 1 FROM extraction WHERE paper = number{same}) ORDER BY number",
                *values,
            )
        return [paper for (paper,) in rows]

    def recipes(self) -> dict[str, int]:
        """Recipes with their numbers of records, most common first."""
        with self._errors():
            return dict(
                self._db.rows(
                    "SELECT recipe, COUNT(*) AS n FROM extraction GROUP BY recipe ORDER BY n DESC, recipe"
                )
            )

    def makers(self) -> dict[str, str]:
        """The maker of each recipe's records."""
        with self._errors():
            rows = self._db.rows(
                "SELECT recipe, json_extract(record, '$.made_by') FROM extraction"
                " WHERE paper IN (SELECT MIN(paper) FROM extraction GROUP BY recipe)"
            )
        return dict(rows)

    def counts(self) -> Counts:
        """Size of the graph."""
        with self._errors():
            return Counts(*self._db.rows(_COUNTS)[0])

    # Entities.

    def entity_counts(self, names: Iterable[str]) -> dict[str, int]:
        """Number of papers of each entity, as spelled here; unknown entities are omitted."""
        given = {key: name for name in names if (key := fold(name))}
        rows = self._rows(f"SELECT key, papers FROM entity WHERE key IN {_GIVEN}", given)
        return {given[key]: papers for key, papers in rows}

    # The same by number, for the copy in memory (`bank.network`).

    def paper_rows(self) -> Iterator[tuple[Any, ...]]:
        """Number, year, whether in the corpus, and whether recorded, for each paper."""
        return self._each(
            "SELECT number, year, held, number IN (SELECT paper FROM extraction) FROM paper ORDER BY number"
        )

    def citation_rows(self) -> Iterator[tuple[Any, ...]]:
        """Numbers of the citing and the cited paper, for each citation that counts for co-citation."""
        return self._each("SELECT citing, cited FROM cites WHERE counts ORDER BY citing, cited")

    def mention_rows(self) -> Iterator[tuple[Any, ...]]:
        """Numbers of the paper and of the entity, for each mention."""
        return self._each("SELECT paper, entity FROM mention ORDER BY paper, entity")

    def paper_ids(self) -> Iterator[tuple[Any, ...]]:
        """Number and id of each paper."""
        return self._each("SELECT number, id FROM paper")

    def entity_numbers(self, names: Iterable[str]) -> dict[str, int]:
        """The numbers of entities, in any spelling; unknown entities are omitted."""
        given = {name: key for name in names if (key := fold(name))}
        known = dict(self._rows(f"SELECT key, number FROM entity WHERE key IN {_GIVEN}", given.values()))
        return {name: known[key] for name, key in given.items() if key in known}

    def entity_names(self, numbers: Iterable[int]) -> dict[int, str]:
        """Entities by number, in the spelling of one of their papers."""
        return dict(self._rows(f"SELECT number, name FROM entity WHERE number IN {_GIVEN}", numbers))

    def _record(self, text: str) -> Extraction:
        try:
            return Extraction.model_validate_json(text)
        except ValidationError as wrong:
            raise CorpusError(
                f"{self.path}: a record cannot be read: {describe(wrong)}", hint="extract the papers again"
            ) from wrong

    def _numbers(self, ids: Iterable[str], condition: str = "TRUE") -> dict[str, int]:
        return dict(self._rows(f"SELECT id, number FROM paper WHERE id IN {_GIVEN} AND {condition}", ids))

    def _rows(self, sql: str, given: Iterable[Any]) -> list[tuple[Any, ...]]:
        with self._errors():
            return self._db.rows(sql, json.dumps([*given]))

    def _each(self, sql: str) -> Iterator[tuple[Any, ...]]:
        with self._errors():
            yield from self._db.each(sql)

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as wrong:
            raise CorpusError(
                f"{self.path}: {wrong}", hint="make room there, or build the corpus again"
            ) from wrong


def verified_counts(path: Path) -> Counts:
    """Size of a graph's file, after reading every page, read-only. Raises `CorpusError` if it is damaged."""
    try:
        with reading(path) as database:
            [[told]] = database.execute("PRAGMA integrity_check(1)").fetchall()
            if told == "ok":
                return Counts(*database.execute(_COUNTS).fetchone())
    except sqlite3.Error as wrong:
        told = str(wrong)
    raise damaged(path, told)
