"""HD, CD, CI, ON and RND of 100 abstracts, against the same formulas written straight in numpy.

`MANYHEADS_BENCH_CORPUS` names a built corpus to measure on instead of papers made up.
"""

import os
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.figures import Figure, Size, typical
from bench.retrieval import _clustered
from manyheads.corpus.vectors import unit_rows
from manyheads.measures.corpus import MeasuringCorpus
from manyheads.measures.novelty import AROUND, NEIGHBOURS, OWN, novelty, relative_neighbour_density
from manyheads.measures.papers import Papers

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

CORPUS = "MANYHEADS_BENCH_CORPUS"
ABSTRACTS, FEW = 100, 5
MB = 2**20


async def bench(size: Size) -> AsyncIterator[Figure]:
    past, now, texts = papers_and_texts(size.papers)
    what = f"{len(texts)} of {len(past) + len(now):,}"
    around, own = _sizes(past)
    ours = [one.on for one in novelty(texts, past, now)]
    yield Figure(
        f"measures: HD CD CI ON, {what}",
        typical(lambda: novelty(texts, past, now), 3) * 1000,
        "ms",
        typical(lambda: plain_novelty(texts, past, now), 3) * 1000,
        "plain numpy, text by text",
        note=_same(np.allclose(np.array(ours, dtype=float), plain_novelty(texts, past, now), rtol=1e-2)),
    )
    few = texts[:FEW]
    ranks = relative_neighbour_density(few, past, around=around, own=own)
    yield Figure(
        f"measures: RND, {what}",
        typical(lambda: relative_neighbour_density(texts, past, around=around, own=own), 3),
        "s",
        typical(lambda: plain_density(few, past, around, own), 1) * len(texts) / FEW,
        f"plain numpy, text by text, told from {FEW}",
        note=_same(np.allclose(ranks, plain_density(few, past, around, own), atol=1.5 / around)),
    )
    tracemalloc.start()
    novelty(texts, past, now)
    relative_neighbour_density(texts, past, around=around, own=own)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    held = past.vectors.nbytes + now.vectors.nbytes
    yield Figure(f"measures: memory, {what}", used / MB, "MB", held / MB, "the papers' vectors themselves")


def papers_and_texts(count: int) -> tuple[Papers, Papers, "Vectors"]:
    """Past and contemporary papers, and texts like the contemporary ones."""
    if corpus := os.environ.get(CORPUS):
        opened = MeasuringCorpus.open(Path(corpus))
        rows = np.linspace(0, len(opened.contemporary) - 1, ABSTRACTS).astype(int)
        rng = np.random.default_rng(2)
        near = opened.contemporary.vectors[rows]
        near = unit_rows(near + rng.normal(scale=0.02, size=near.shape))
        return opened.past, opened.contemporary, near
    past = count * 18 // 29
    return _papers(past, 2005), _papers(count - past, 2015), _clustered(ABSTRACTS, 3)


def plain_novelty(texts: "Vectors", past: Papers, now: Papers) -> list[float]:
    """ON by year, as one would write it down."""
    found: list[float] = []
    for text in texts:
        (hd, _), (cd, ci) = _plain(text, past), _plain(text, now)
        found.append(hd * ci / cd)
    return found


def plain_density(texts: "Vectors", past: Papers, around: int, own: int) -> list[float]:
    found: list[float] = []
    for text in texts:
        far = _far(text, past)
        order = np.argsort(far)
        theirs = [np.sort(_far(past.vectors[row], past))[1 : own + 1].mean() for row in order[:around]]
        found.append(float(np.mean(np.array(theirs) <= far[order[:own]].mean())))
    return found


def _plain(text: "Vectors", papers: Papers) -> tuple[float, float]:
    """Mean distance to the nearest and their mean citations, each divided by its year's mean."""
    far, years = _far(text, papers), np.array(papers.years)
    cited = np.array(papers.citations, dtype=float)
    near = np.argsort(far)[:NEIGHBOURS]
    same = [years == years[row] for row in near]
    distances = [far[row] / far[of].mean() for row, of in zip(near, same, strict=True)]
    counts = [cited[row] / cited[of].mean() for row, of in zip(near, same, strict=True)]
    return float(np.mean(distances)), float(np.mean(counts))


def _far(text: "Vectors", papers: Papers) -> "Vectors":
    return np.sqrt(np.maximum(2 - 2 * (papers.vectors @ text), 0))


def _sizes(past: Papers) -> tuple[int, int]:
    return min(AROUND, len(past) // 2), min(OWN, len(past) // 4)


def _same(agree: bool) -> str:
    return "the same values" if agree else "OTHER VALUES"


def _papers(count: int, first: int) -> Papers:
    rng = np.random.default_rng(first)
    ids = [f"p{first}-{number}" for number in range(count)]
    years = rng.integers(first, first + 10 if first < 2015 else first + 3, count)
    return Papers.of(ids, ids, years.tolist(), rng.integers(5, 500, count).tolist(), _clustered(count, first))
