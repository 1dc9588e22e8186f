"""Papers to measure against, laid out by hand or at random, and the measures written plainly."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyheads.measures.papers import Floats, Papers


def at(*places: Sequence[float]) -> Floats:
    """Vectors as they stand, of any length."""
    return np.array(places, dtype=np.float32)


def laid_out(*papers: tuple[Sequence[float], int, int | None]) -> Papers:
    """Papers given as place, year and citations; their ids are p0, p1, … in this order."""
    ids = [f"p{number}" for number in range(len(papers))]
    places, years, citations = zip(*papers, strict=True)
    return Papers.of(ids, [f"Paper {one}" for one in ids], years, citations, at(*places))


def random_papers(seed: int, count: int = 40, dim: int = 6) -> Papers:
    """Papers of four years around the origin."""
    rng = np.random.default_rng(seed)
    return Papers.of(
        [f"p{number}" for number in range(count)],
        [f"Paper {number}" for number in range(count)],
        rng.integers(2010, 2014, count).tolist(),
        rng.integers(1, 100, count).tolist(),
        random_points(seed + 1, count, dim),
    )


def random_points(seed: int, count: int = 5, dim: int = 6) -> Floats:
    return np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)


def plain_distances(points: Floats, among: Floats) -> NDArray[Any]:
    """(q, n), one by one, in float64."""
    rows = [[np.linalg.norm(np.float64(a) - np.float64(b)) for b in among] for a in points]
    return np.array(rows).reshape(len(points), len(among))
