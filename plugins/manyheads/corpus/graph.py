"""The graph of a corpus: citations, co-citations, records and entities of papers (SciPIP, §3.1), on disk and in memory."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from manyheads.base.errors import CorpusError, describe
from manyheads.base.files import Closing
from manyheads.base.papers import fold
from manyheads.base.sqlite import Database, reading
from manyheads.corpus.meta import damaged
from manyheads.corpus.phrases import LEXICAL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.int64]
    Mask: TypeAlias = NDArray[np.bool_]


Basis = Literal["full text", "abstract", "title"]

# Records extracted from papers, and how they were made.


class Extraction(BaseModel):
    """A paper's record for retrieval and ideas.

    Attributes:
        paper: its id in the corpus.
        entities: its key phrases, most important first.
        background: its motivation, in a sentence or two.
        summary: its problem and approach.
        main_ideas: its contributions, one entry each.
        detailed_ideas: the same with details; empty if only the abstract was read.
        made_by: `lexical`, or the model's provider and name.
        recipe: a hash of prompts and model, or of the rules' version. A paper has at most one record per recipe.
        basis: the text that was read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    paper: str
    entities: tuple[str, ...] = ()
    background: str = ""
    summary: str = ""
    main_ideas: tuple[str, ...] = ()
    detailed_ideas: tuple[str, ...] = ()
    made_by: str = LEXICAL
    recipe: str = ""
    basis: Basis = "abstract"


# On disk.

GRAPH = "graph.sqlite"
"""The graph's file in a corpus's folder."""
GRAPH_FILES = (GRAPH, f"{GRAPH}-wal", f"{GRAPH}-shm")
"""With SQLite's files beside it. No checksums, as records are added after a build."""
_SCHEMA = (
    # `cites` is NULL while the paper's references are unknown; `held` is 1.
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
    "SELECT (SELECT COUNT(*) FROM paper), (SELECT COUNT(*) FROM text),"
    " (SELECT COUNT(*) FROM paper WHERE cites IS NOT NULL),"
    " (SELECT COUNT(*) FROM cites),"
    " (SELECT COUNT(*) FROM extraction), (SELECT COUNT(*) FROM entity)"
)
_GIVEN = "(SELECT value FROM json_each(?))"


class Text(NamedTuple):
    """Parts of a paper's full text for extraction. A corpus's fingerprint is made of the names here and in `Citations`."""

    introduction: str
    method: str


class Citations(NamedTuple):
    """A paper's citations within the corpus: ids, and those cited in introduction or method."""

    all: tuple[str, ...]
    core: tuple[str, ...] = ()


class GraphCounts(NamedTuple):
    """Size of a graph."""

    papers: int
    texts: int
    citing: int
    """Papers with known references."""
    citations: int
    """Within the corpus."""
    extractions: int
    entities: int


class Recipe(NamedTuple):
    """How some records were made, and their number."""

    maker: str
    name: str
    records: int

    def __str__(self) -> str:
        return f"{self.maker} {self.name}".strip()


class Graph(Closing):
    """One SQLite file in a corpus's folder; counts follow papers, citations and records.

    Co-citations are counted on demand: as a stored table of pairs, a survey of 300 references would alone write 90,000 rows,
    and citations of later papers could not be excluded.

    Papers have their ids in the corpus. Entities ignore case, spaces and punctuation.

    Each call raises `CorpusError` if the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

        def failure(error: Exception) -> CorpusError:
            return CorpusError(f"{path}: {error}", hint="make room there, or build the corpus again")

        self._db = Database(path, *_SCHEMA, failure=failure)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    # Papers and citations, while a corpus is built.

    def add_papers(self, papers: Iterable[tuple[str, int | None]]) -> None:
        """Add ids with their years; existing ones stay unchanged."""
        self._db.change_all("INSERT OR IGNORE INTO paper (id, year, held) VALUES (?, ?, 1)", papers)

    def add_texts(self, texts: Mapping[str, Text]) -> None:
        """Add introduction and method of existing papers; ignores unknown papers."""
        rows = [(text.introduction, text.method, paper) for paper, text in texts.items()]
        sql = "INSERT OR REPLACE INTO text (introduction, method, paper) SELECT ?, ?, number FROM paper WHERE id = ?"
        self._db.change_all(sql, rows)

    def texts(self, papers: Collection[str]) -> dict[str, Text]:
        """Introduction and method of these papers; papers without them are omitted."""
        sql = f"SELECT id, introduction, method FROM text JOIN paper ON number = paper WHERE id IN {_GIVEN}"
        return {paper: Text(*parts) for paper, *parts in self._rows(sql, papers)}

    def add_citations(self, citations: Mapping[str, Citations]) -> None:
        """Add citations between papers of the corpus; ignores others. Papers with known citations stay unchanged.

        Two papers are co-cited once by each paper that cites both; if a paper's citations in introduction and method are known,
        only these count (SciPIP, §3.1: core references). A paper does not cite itself.
        """
        numbers = self._numbers({one for each in citations.values() for one in (*each.all, *each.core)})
        edges, counts = list[tuple[int, ...]](), list[tuple[int, int]]()
        for paper, one in self._numbers(citations, "cites IS NULL").items():
            core, every = ({numbers[other] for other in some if other in numbers} - {one}
                           for some in (citations[paper].core, citations[paper].all))  # fmt: skip
            every |= core
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
        sql = (
            "SELECT one.id, other.id, core FROM paper one JOIN cites ON citing = one.number"
            f" JOIN paper other ON other.number = cited WHERE one.id IN {_GIVEN} ORDER BY other.id"
        )
        for paper, other, core in self._rows(sql, papers):
            every[paper].append((other, core))
        return {
            paper: Citations(tuple(other for other, _ in some), tuple(other for other, core in some if core))
            for paper, some in every.items()
        }

    # Records.

    def add_extractions(self, extractions: Iterable[Extraction]) -> None:
        """Store records of papers of the corpus, replacing earlier ones of the same papers, and update the entities' counts."""
        records = {one.paper: one for one in extractions}
        numbers = self._numbers(records)
        names = {
            paper: {key: name for name in reversed(one.entities) if (key := fold(name))}
            for paper, one in records.items()
        }
        new = {key: name for some in names.values() for key, name in some.items()}
        mentions = [(numbers[paper], key) for paper, some in names.items() for key in some]
        rows = [(numbers[paper], one.recipe, one.model_dump_json()) for paper, one in records.items()]
        self._db.change_in_turn(
            ("DELETE FROM mention WHERE paper = ?", [(number,) for number in numbers.values()]),
            ("INSERT OR IGNORE INTO entity (key, name) VALUES (?, ?)", new.items()),
            ("INSERT INTO mention SELECT ?, number FROM entity WHERE key = ?", mentions),
            ("INSERT OR REPLACE INTO extraction VALUES (?, ?, ?)", rows),
        )

    def extraction(self, papers: Collection[str]) -> dict[str, Extraction]:
        """The records of these papers, in order; papers without one are omitted."""
        sql = f"SELECT id, record FROM extraction JOIN paper ON number = paper WHERE id IN {_GIVEN}"
        records = {paper: self._record(record) for paper, record in self._rows(sql, papers)}
        return {paper: records[paper] for paper in papers if paper in records}

    def extractions(self) -> Iterator[Extraction]:
        """All records, in the order of papers; the graph must not change meanwhile."""
        for (record,) in self._db.each("SELECT record FROM extraction ORDER BY paper"):
            yield self._record(record)

    def missing(self, recipe: str | None = None) -> list[str]:
        """Ids of papers without a record of this recipe, or without any record, in the order of papers."""
        rows = self._db.rows(
            "SELECT id FROM paper WHERE NOT EXISTS (SELECT 1 FROM extraction"
            " WHERE paper = number AND recipe = COALESCE(?, recipe)) ORDER BY number",
            recipe,
        )
        return [paper for (paper,) in rows]

    def recipes(self) -> list[Recipe]:
        """The recipes of the records, most common first."""
        rows = self._db.rows(
            "SELECT json_extract(record, '$.made_by'), recipe, COUNT(*) AS n, MIN(paper) FROM extraction"
            " GROUP BY recipe ORDER BY n DESC, recipe"
        )
        return [Recipe(*row[:3]) for row in rows]

    def counts(self) -> GraphCounts:
        """Size of the graph."""
        return GraphCounts(*self._db.rows(_COUNTS)[0])

    # Entities.

    def entity_counts(self, names: Iterable[str]) -> dict[str, int]:
        """Number of papers of each entity, as spelled here; unknown entities are omitted."""
        given = {key: name for name in names if (key := fold(name))}
        rows = self._rows(f"SELECT key, papers FROM entity WHERE key IN {_GIVEN}", given)
        return {given[key]: papers for key, papers in rows}

    # For the copy in memory.

    def each(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement, one by one."""
        return self._db.each(sql)

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
        return self._db.rows(sql, json.dumps([*given]))


def verified_counts(path: Path) -> GraphCounts:
    """Size of a graph's file, after reading every page, read-only. Raises `CorpusError` if it is damaged."""
    try:
        with reading(path) as database:
            [[told]] = database.execute("PRAGMA integrity_check(1)").fetchall()
            if told == "ok":
                return GraphCounts(*database.execute(_COUNTS).fetchone())
    except sqlite3.Error as wrong:
        told = str(wrong)
    raise damaged(path, told)


def copy_graph(path: Path, target: Path) -> None:
    """A copy as of one moment, while others may write to it. Raises `CorpusError`."""
    try:
        with reading(path) as here, closing(sqlite3.connect(target)) as there:
            here.backup(there)
    except sqlite3.Error as wrong:
        raise CorpusError(f"{path} cannot be copied: {wrong}") from wrong


# In memory for retrieval, the citations and mentions as sparse matrices: some 500 bytes per paper with 20 citations and 5 entities.
# The names of entities stay in the file.


_PAPERS = "SELECT number, year, number IN (SELECT paper FROM extraction) FROM paper"
CITATIONS = "SELECT citing, cited FROM cites WHERE counts ORDER BY citing, cited"
_MENTIONS = "SELECT paper, entity FROM mention ORDER BY paper, entity"


class Network:
    """Papers and entities by their numbers in the graph: a snapshot.

    A mask has an entry for each paper number: whose citations and mentions count, or which papers may be found.
    """

    def __init__(self, graph: Graph) -> None:
        import numpy as np

        numbers, years, recorded = _rows(graph.each(_PAPERS), 3).T
        self.ids = dict[int, str](graph.each("SELECT number, id FROM paper"))
        self._numbers = {one: number for number, one in self.ids.items()}
        self.size = int(numbers.max(initial=0)) + 1
        self.years = np.full(self.size, -1, dtype=np.int32)
        self.in_corpus, self.has_record = np.zeros((2, self.size), dtype=bool)
        self.years[numbers], self.in_corpus[numbers], self.has_record[numbers] = years, True, recorded > 0
        cites, mentions = _rows(graph.each(CITATIONS), 2), _rows(graph.each(_MENTIONS), 2)
        self.citations = len(cites)
        self._cites, self._cited = _matrices(cites, self.size, self.size)
        self.entities = int(mentions[:, 1].max(initial=0)) + 1
        self._mentions, self._holding = _matrices(mentions, self.size, self.entities)

    def numbers(self, ids: Iterable[str]) -> "Numbers":
        """The numbers of papers of the corpus; others are omitted."""
        import numpy as np

        known = (self._numbers.get(one) for one in ids)
        return np.fromiter((one for one in known if one is not None), dtype=np.int64)

    def mask(self, before: int | None = None, since: int | None = None) -> "Mask":
        """The papers of the corpus from these years; those of unknown year only without bounds."""
        mask = self.in_corpus.copy()
        if before is not None:
            mask &= (self.years < before) & (self.years >= 0)
        if since is not None:
            mask &= self.years >= since
        return mask

    def cited_with(
        self, papers: "Numbers", count: int, visible: "Mask", candidates: "Mask"
    ) -> "tuple[Numbers, Numbers, Numbers]":
        """For each paper the `count` candidates most often cited together with it by visible papers; ties by earliest in the
        corpus (SciPIP, §3.2.1, Eq. 4). A row each: paper, other, number of papers that cite both."""
        import numpy as np

        citing = self._cited[papers]
        citing.data = citing.data * visible[citing.indices]
        together = citing @ self._cites
        rows = np.repeat(np.arange(len(papers)), np.diff(together.indptr))
        others: Any = together.indices.astype(np.int64)
        keep = candidates[others] & (together.data > 0) & (others != papers[rows])
        rows, others, times = rows[keep], others[keep], together.data[keep].astype(np.int64)
        # a paper's best has the largest key: the most times, then the lowest number
        keys = times * self.size + (self.size - others)
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        lengths = np.diff(starts, append=len(keys))
        best_rows = np.zeros(len(keys), dtype=bool)
        for _ in range(count if len(keys) else 0):
            best = np.repeat(np.maximum.reduceat(keys, starts), lengths)
            best_rows |= (keys == best) & (keys > 0)
            keys[best_rows] = 0
        return papers[rows[best_rows]], others[best_rows], times[best_rows]

    def near(
        self, entities: "Numbers", least: int, visible: "Mask", candidates: "NDArray[np.bool_]"
    ) -> "Numbers":
        """The candidates, an entry for each entity, that occur with one of these entities in a minimum number of papers (SciPIP,
        §3.2.1)."""
        import numpy as np

        places, papers = _columns(self._holding, entities)
        keep = visible[papers]
        places, papers = places[keep], papers[keep]
        rows, beside = _columns(self._mentions, papers)
        keep = candidates[beside]
        pairs, times = np.unique(places[rows[keep]] * self.entities + beside[keep], return_counts=True)
        return np.unique(pairs[times >= least] % self.entities)

    def frequencies(self, visible: "Mask") -> "Numbers":
        """Number of the papers with each entity in their record."""
        return self._holding @ visible.astype("int64")

    def holding(self, entity: int) -> "Numbers":
        """The papers with an entity in their record (SciPIP, §3.2.1, Eq. 3)."""
        start, end = self._holding.indptr[entity : entity + 2]
        return self._holding.indices[start:end]

    def entities_by_paper(self, papers: "Numbers") -> "Numbers":
        """The entities of these papers, concatenated with repetitions."""
        return _columns(self._mentions, papers)[1]


def _rows(rows: Iterator[tuple[Any, ...]], width: int) -> "Numbers":
    """(n, width) of rows of whole numbers; unknown ones are -1."""
    import numpy as np

    flat = (-1 if value is None else value for value in chain.from_iterable(rows))
    return np.fromiter(flat, dtype=np.int64).reshape(-1, width)


def _matrices(pairs: "Numbers", height: int, width: int) -> tuple[Any, Any]:
    """Sparse (height, width) with a one at each pair, and its transpose."""
    import numpy as np
    from scipy.sparse import csr_matrix

    ones = np.ones(len(pairs), dtype=np.int32)
    matrix = csr_matrix((ones, (pairs[:, 0], pairs[:, 1])), shape=(height, width))
    return matrix, matrix.T.tocsr()


def _columns(matrix: Any, rows: "Numbers") -> "tuple[Numbers, Numbers]":
    """The columns of these rows of a sparse matrix, concatenated: positions in `rows`, columns."""
    import numpy as np

    starts = matrix.indptr[rows].astype(np.int64)
    lengths = matrix.indptr[rows + 1] - starts
    places = np.repeat(np.arange(len(rows)), lengths)
    steps = np.arange(len(places)) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return places, matrix.indices[steps].astype(np.int64)
