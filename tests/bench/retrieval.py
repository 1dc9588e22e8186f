"""Looking up papers by meaning and year, against exact search over the same vectors in numpy."""

import math
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from bench.database import GROWTH
from bench.figures import Figure, Size, Watch, typical
from manyheads.bank.knowledge import KnowledgeBank
from manyheads.bank.store import Filter
from manyheads.bank.vectors import unit_rows
from manyheads.papers import Paper
from support.embedding import PrecomputedEmbedder

if TYPE_CHECKING:
    from manyheads.bank.vectors import Vectors

DIM, K, CLUSTERS = 384, 8, 200
YEARS = (2010, 2015)
CHUNK = 4096
GROWN = 100 / 29
"""How many times more papers are stored to see how the time grows; with `GROWTH`, that again."""


async def bench(size: Size) -> AsyncIterator[Figure]:
    papers, vectors = _papers(size.papers), _clustered(size.papers)
    queries = _clustered(size.queries, seed=1)
    with tempfile.TemporaryDirectory() as base:
        with KnowledgeBank.create(Path(base), PrecomputedEmbedder("synthetic", DIM)) as bank:
            watch = Watch()
            bank.add(papers, vectors)
            yield _filling(watch.read().wall, vectors, Path(base), size)
        with KnowledgeBank.open(Path(base), PrecomputedEmbedder("synthetic", DIM), read_only=True) as bank:
            yield _looking_up(bank, papers, vectors, queries, size)
    several = (1, GROWN, GROWN**2) if os.environ.get(GROWTH) == "all" else (1, GROWN)
    for figure in _growth(tuple(round(size.papers * each) for each in several)):
        yield figure


def _growth(sizes: tuple[int, ...]) -> Iterator[Figure]:
    """Papers stored per CPU second as a bank grows; the exponent is that of the time by the number of papers."""
    spent = list[float]()
    for size in sizes:
        with (
            tempfile.TemporaryDirectory() as base,
            KnowledgeBank.create(Path(base), PrecomputedEmbedder("synthetic", DIM)) as bank,
        ):
            seconds = 0.0
            for start in range(0, size, CHUNK):
                papers, vectors = (
                    _papers(min(CHUNK, size - start), start),
                    _clustered(min(CHUNK, size - start)),
                )
                watch = Watch()
                bank.add(papers, vectors)
                seconds += watch.read().cpu
            spent.append(seconds)
    for (few, before), (many, after) in pairwise(zip(sizes, spent, strict=True)):
        yield Figure(
            f"retrieval: storing {many:,} papers", many / after, "/CPU-s", few / before, f"{few:,} papers", "≥ 0.8×",
            f"exponent {math.log(after / before) / math.log(many / few):.2f}",
        )  # fmt: skip


def _looking_up(
    bank: KnowledgeBank, papers: list[Paper], vectors: "Vectors", queries: "Vectors", size: Size
) -> Figure:
    years = np.array([paper.year for paper in papers])

    def ours(query: "Vectors") -> list[str]:
        [hits] = bank.store.query(query[None], K, Filter(ranges={"year": YEARS}))
        return [hit.id for hit in hits]

    def exact(query: "Vectors") -> list[str]:
        among = np.flatnonzero((years >= YEARS[0]) & (years < YEARS[1]))
        best = among[np.argsort(-(vectors[among] @ query), kind="stable")[:K]]
        return [papers[row].id for row in best]

    agree = median(len({*ours(query)} & {*exact(query)}) / K for query in queries)
    mine = median(typical(lambda query=query: ours(query), 3) for query in queries)
    theirs = median(typical(lambda query=query: exact(query), 3) for query in queries)
    return Figure(
        f"retrieval: top {K} of {size.papers:,}, years {YEARS[0]}-{YEARS[1] - 1}",
        mine * 1000,
        "ms",
        theirs * 1000,
        "exact search in numpy",
        "≤ 10 ms",
        f"{agree:.0%} the same papers",
    )


def _filling(seconds: float, vectors: "Vectors", base: Path, size: Size) -> Figure:
    watch = Watch()
    np.save(base / "vectors.npy", vectors)
    baseline = watch.read().wall
    return Figure(
        f"retrieval: storing {size.papers:,} papers", seconds, "s", baseline, "numpy.save of the vectors"
    )


def _papers(count: int, start: int = 0) -> list[Paper]:
    text = "word " * 150
    return [
        Paper(id=f"p{n}", title=f"Paper {n}", abstract=text, authors=("A. Author",), year=2000 + n % 24)
        for n in range(start, start + count)
    ]


def _clustered(count: int, seed: int = 0) -> "Vectors":
    """(count, DIM) unit vectors around shared centres, as embeddings of papers lie."""
    centres = np.random.default_rng(7).normal(size=(CLUSTERS, DIM))
    rng = np.random.default_rng(seed)
    return unit_rows(centres[rng.integers(CLUSTERS, size=count)] + rng.normal(scale=0.7, size=(count, DIM)))
