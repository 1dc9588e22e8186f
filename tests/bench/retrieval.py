"""Storing papers as a bank grows, and looking them up by meaning and year, against exact search over the same vectors in numpy."""

import math
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from bench.figures import Figure, Size, Spent, Watch, typical
from manyheads.base.papers import Paper
from manyheads.corpus.ecosystem import KnowledgeBank
from manyheads.corpus.stores import Filter
from manyheads.corpus.vectors import unit_rows
from support.embedding import PrecomputedEmbedder

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

DIM, K, CLUSTERS = 384, 8, 200
YEARS, FIRST = (2010, 2015), 2000
MODEL = PrecomputedEmbedder("synthetic", DIM)
CHUNK = 4096


async def bench(size: Size) -> AsyncIterator[Figure]:
    queries, before = _clustered(size.queries, seed=1), list[tuple[int, float]]()
    for count in (round(size.papers * times) for times in size.growth):
        with tempfile.TemporaryDirectory() as base:
            vectors, spent = _store(Path(base), count)
            yield _filling(spent, vectors, Path(base), count)
            if before:
                yield _growing(count, spent.cpu, *before[-1])
            before.append((count, spent.cpu))
            with KnowledgeBank.open(Path(base), MODEL, read_only=True) as bank:
                for figure in _looking_up(bank, vectors, queries):
                    yield figure


def _store(base: Path, count: int) -> "tuple[Vectors, Spent]":
    """A bank of `count` papers; what storing the papers took."""
    parts, wall, cpu = list["Vectors"](), 0.0, 0.0
    with KnowledgeBank.create(base, MODEL) as bank:
        for start in range(0, count, CHUNK):
            papers = _papers(min(CHUNK, count - start), start)
            parts.append(_clustered(len(papers), start))
            watch = Watch()
            bank.add(papers, parts[-1], period="past")
            took = watch.read()
            wall, cpu = wall + took.wall, cpu + took.cpu
        watch = Watch()
    took = watch.read()
    return np.concatenate(parts), Spent(wall + took.wall, cpu + took.cpu)


def _growing(count: int, spent: float, fewer: int, before: float) -> Figure:
    """Papers stored per CPU second as a bank grows; the exponent is that of the time by the number of papers."""
    exponent = f"exponent {math.log(spent / before) / math.log(count / fewer):.2f}"
    name = f"retrieval: storing {count:,} papers"
    return Figure(name, count / spent, "/CPU-s", fewer / before, f"{fewer:,} papers", "≥ 0.8×", exponent)


def _looking_up(bank: KnowledgeBank, vectors: "Vectors", queries: "Vectors") -> Iterator[Figure]:
    years = FIRST + np.arange(len(vectors)) % 24
    order = np.argsort(years, kind="stable")
    sorted_vectors, (first, last) = vectors[order], np.searchsorted(years[order], YEARS)

    def ours(query: "Vectors") -> list[str]:
        [hits] = bank.store.query(query[None], K, Filter(ranges={"year": YEARS}))
        return [hit.id for hit in hits]

    def in_numpy(query: "Vectors") -> list[str]:
        scores = sorted_vectors[first:last] @ query
        best = np.argpartition(-scores, min(K, len(scores) - 1))[:K]
        return [f"p{row}" for row in order[first + best[np.argsort(-scores[best])]]]

    agree = np.mean([len({*ours(query)} & {*in_numpy(query)}) / K for query in queries])
    mine, numpy = (
        median(typical(lambda query=query, find=find: find(query), 3) for query in queries) * 1000
        for find in (ours, in_numpy)
    )
    note = f"{agree:.0%} the same papers"
    name = f"top {K} of {len(vectors):,}, years {YEARS[0]}-{YEARS[1] - 1}"
    yield Figure(f"retrieval: {name}", mine, "ms", numpy, "exact, numpy sorted by year", "", note)


def _filling(spent: Spent, vectors: "Vectors", base: Path, count: int) -> Figure:
    watch = Watch()
    np.save(base / "vectors.npy", vectors)
    baseline = watch.read().wall
    name = f"retrieval: storing {count:,} papers"
    return Figure(name, spent.wall, "s", baseline, "numpy.save of the vectors")


def _papers(count: int, start: int = 0) -> list[Paper]:
    text = "word " * 150
    return [
        Paper(id=f"p{n}", title=f"Paper {n}", abstract=text, authors=("A. Author",), year=FIRST + n % 24)
        for n in range(start, start + count)
    ]


def _clustered(count: int, seed: int = 0) -> "Vectors":
    """(count, DIM) unit vectors around shared centres, as embeddings of papers lie."""
    centres = np.random.default_rng(7).normal(size=(CLUSTERS, DIM))
    rng = np.random.default_rng(seed)
    return unit_rows(centres[rng.integers(CLUSTERS, size=count)] + rng.normal(scale=0.7, size=(count, DIM)))
