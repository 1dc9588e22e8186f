"""A literature database: three-way retrieval, clusters, the graph, memory, and how each grows."""

import asyncio
import json
import math
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bench.figures import Figure, Size, Watch, fastest
from bench.memory import peak
from manyheads.base.papers import Paper
from manyheads.corpus.ecosystem import Collection, Ecosystem, KnowledgeBank
from manyheads.corpus.graph import GRAPH, Citations, Extraction, Graph
from manyheads.corpus.meta import AUTHORS, SCIENTISTS, BuildOptions, Counts, EmbeddingMeta, Meta
from manyheads.corpus.meta import META as META_FILE
from manyheads.corpus.retrieval import LiteratureDatabase
from manyheads.corpus.vectors import unit_rows

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

DIM, FIELDS, BOUND = 384, 200, 2020
CITES, ENTITIES = 20, 5
CANDIDATES, K = 500, 55
ABSTRACT = "word " * 150


class Planted:
    """Papers of FIELDS fields: a paper cites, and shares entities and directions with, those of its own."""

    def __init__(self, count: int, dim: int = DIM) -> None:
        rng = np.random.default_rng(count)
        self.count, self.dim = count, dim
        self.fields = rng.integers(FIELDS, size=count)
        self.centres = np.random.default_rng(7).normal(size=(FIELDS, dim))
        self.members = [np.flatnonzero(self.fields == field) for field in range(FIELDS)]

    def vectors(self, rows: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> "Vectors":
        noise = np.random.default_rng(int(rows[0])).normal(scale=0.7, size=(len(rows), self.dim))
        return unit_rows(self.centres[self.fields[rows]] + noise)

    def citations(self) -> Iterator[tuple[str, Citations]]:
        rng = np.random.default_rng(1)
        for paper in range(self.count):
            own = self.members[self.fields[paper]]
            # some are cited far more often than others
            cited = own[(len(own) * rng.random(CITES) ** 3).astype(int)]
            yield f"p{paper}", Citations(tuple(f"p{one}" for one in cited))

    def extractions(self) -> Iterator[Extraction]:
        rng, text = np.random.default_rng(2), "word " * 40
        for paper in range(self.count):
            names = (
                20 * FIELDS * self.count // 29_000 * rng.random(ENTITIES) ** 3 + self.fields[paper]
            ).astype(int)
            entities = tuple(f"entity of {name}" for name in names)
            yield Extraction(
                paper=f"p{paper}",
                entities=entities,
                background=text,
                summary=text,
                main_ideas=(text, text),
            )


class PlantedEmbedder:
    """Gives each text a vector of some field, another one each time."""

    name = "planted"

    def __init__(self, dim: int = DIM) -> None:
        self.dim = dim
        self._asked = 0

    def embed(self, texts: Sequence[str]) -> "Vectors":
        self._asked += 1
        rng = np.random.default_rng(self._asked)
        centres = np.random.default_rng(7).normal(size=(FIELDS, self.dim))
        return unit_rows(
            centres[rng.integers(FIELDS, size=len(texts))]
            + rng.normal(scale=0.7, size=(len(texts), self.dim))
        )


def build(folder: Path, planted: Planted) -> dict[str, float]:
    """A corpus with its database in a folder; seconds of each part."""
    spent: dict[str, float] = {}
    embedder = PlantedEmbedder(planted.dim)
    with KnowledgeBank.create(folder, embedder) as bank:
        for start in range(0, planted.count, 4096):
            rows = np.arange(start, min(start + 4096, planted.count))
            papers = [
                Paper(id=f"p{n}", title=f"Paper {n}", abstract=ABSTRACT, year=2000 + n % 20)
                for n in rows.tolist()
            ]
            bank.add(papers, planted.vectors(rows), period="past")
    Collection.create(folder, embedder, name=AUTHORS).close()
    (folder / SCIENTISTS).write_text("[]")
    counts = Counts(
        read=planted.count, rejected=0, rejected_by_field={}, removed={}, past=planted.count, contemporary=0,
        scientists=0, mean_coauthors=0, vectors_imported=planted.count,
    )  # fmt: skip
    meta = Meta(
        name="planted", source="planted", options=BuildOptions(bound=BOUND), past_years=(2000, 2019),
        contemporary_years=(2020, 2020), counts=counts, embedding=EmbeddingMeta(name="planted", dim=planted.dim),
        fingerprint="planted", seconds=0,
    )  # fmt: skip
    (folder / META_FILE).write_text(json.dumps(meta.model_dump(mode="json")))
    watch = Watch()
    with Graph(folder / GRAPH) as graph:
        graph.add_papers((f"p{n}", 2000 + n % 20) for n in range(planted.count))
        chunk: dict[str, Citations] = {}
        for paper, cites in planted.citations():
            chunk[paper] = cites
            if len(chunk) == 1024:
                graph.add_citations(chunk)
                chunk = {}
        graph.add_citations(chunk)
    spent["graph"] = watch.read().wall
    with Ecosystem.open(folder, embedder) as ecosystem:
        watch = Watch()
        database = LiteratureDatabase.of(ecosystem)
        database.store_records(planted.extractions(), "abstract")
        spent["records"] = watch.read().wall
        # the candidates of clusters have vectors of their own texts, which are more to read
        database.store_records(islice(planted.extractions(), CANDIDATES), "texts")
    return spent


class LookUps(NamedTuple):
    """Seconds; median over queries of the fastest round."""

    retrieval: float
    cosine: float
    """An exact cosine search over the same vectors in numpy, and nothing else."""
    clustering: float
    papers: float
    """How many a retrieval has found."""


def look_ups(folder: Path, planted: Planted, queries: int) -> LookUps:
    """What it takes to look papers up and to cluster them."""
    starts = range(0, planted.count, 4096)
    parts = [planted.vectors(np.arange(start, min(start + 4096, planted.count))) for start in starts]
    vectors = np.concatenate(parts)

    def nearest(query: "Vectors") -> object:
        scores = vectors @ query
        best = np.argpartition(-scores, min(K, len(scores) - 1))[:K]
        return best[np.argsort(-scores[best])]

    # one event loop, as a run has: to make one takes as long as a third of the look-up
    with Ecosystem.open(folder, PlantedEmbedder(planted.dim)) as ecosystem, asyncio.Runner() as loop:
        database = LiteratureDatabase.of(ecosystem)
        asked = [f"query {number}" for number in range(queries)]
        rows = ecosystem.papers.queries.embed(asked)
        found = [len(loop.run(database.retrieve(query)).papers) for query in asked]

        def of_all(act: Callable[[int], object]) -> float:
            return median(fastest(lambda number=number: act(number), 5) for number in range(queries))

        candidates = [f"p{n}" for n in range(min(CANDIDATES, planted.count))]
        return LookUps(
            of_all(lambda number: loop.run(database.retrieve(asked[number]))),
            of_all(lambda number: nearest(rows[number])),
            fastest(lambda: database.clusters(candidates, (0.5, 0.5), 0.8), 9),
            median(found),
        )


WARM = """\
import asyncio, sys
from pathlib import Path
from bench.database import PlantedEmbedder
from manyheads.corpus.retrieval import LiteratureDatabase
from manyheads.corpus.ecosystem import Ecosystem
with Ecosystem.open(Path(sys.argv[1]), PlantedEmbedder()) as ecosystem:
    database = LiteratureDatabase.of(ecosystem)
    for number in range(20):
        found = asyncio.run(database.retrieve(f"query {number}"))
        database.clusters([one.paper.id for one in found.papers], (0.5, 0.5), 0.8)
"""
LIBRARIES = "import numpy, scipy.sparse, qdrant_edge, pydantic"


def memory(folder: Path) -> tuple[float, float]:
    """Most memory of a process with a warm database, and of one that has only imported its libraries, in MB."""
    path = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
    warm = [sys.executable, "-c", path + WARM, str(folder)]
    return peak(warm), peak([sys.executable, "-c", LIBRARIES])


async def bench(size: Size) -> AsyncIterator[Figure]:
    def measure(count: int) -> tuple[dict[str, float], LookUps, tuple[float, float]]:
        with tempfile.TemporaryDirectory() as base:
            planted = Planted(count)
            spent = build(Path(base), planted)
            return spent, look_ups(Path(base), planted, size.queries), memory(Path(base))

    counts = size.papers // 10, size.papers
    fewer, all_of_them = [await asyncio.to_thread(measure, count) for count in counts]
    spent, looked, (warm, bare) = all_of_them
    many, cosine = f"{size.papers:,} papers", looked.cosine * 1000
    found = f"{looked.papers:.0f} papers found, read and explained"
    exact, aim = "one exact cosine search in numpy alone", "≤ 50 ms, ≤ 5×"
    yield Figure(f"database: three ways, {many}", looked.retrieval * 1000, "ms", cosine, exact, aim, found)
    name = f"database: clusters of {CANDIDATES}"
    yield Figure(name, looked.clustering * 1000, "ms", cosine, exact, "≤ 50 ms")
    name, against = f"database: graph of {many}", "storing their records"
    yield Figure(name, spent["graph"], "s", spent["records"], against, "≤ 30 s")
    yield Figure(f"database: memory, {many}", warm, "MB", bare, "importing its libraries", "≤ 400 MB")
    pairs = {
        "retrieval": (fewer[1].retrieval * 1000, looked.retrieval * 1000, "ms"),
        "graph": (fewer[0]["graph"], spent["graph"], "s"),
        "memory": (fewer[2][0], warm, "MB"),
    }
    for what, (before, after, unit) in pairs.items():
        note = f"exponent {math.log(after / before) / math.log(counts[1] / counts[0]):.2f}"
        yield Figure(f"database: {what} as it grows", after, unit, before, f"{counts[0]:,} papers", note=note)
