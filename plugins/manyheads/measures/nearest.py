"""Exact nearest neighbours by Euclidean distance: blocked matrix products, bounded memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from manyheads.errors import MeasureError

Floats: TypeAlias = NDArray[np.float32]
Rows: TypeAlias = NDArray[np.intp]
Means: TypeAlias = NDArray[np.float64]

NUMBERS = 2**22
"""Distances held at once: 16 MB of them, and a few copies while they are ranked."""
PAIRS = 2048
"""Pairs of vectors whose difference is held at once."""
ROUNDING = 2**-23
"""Bound on the error of a squared distance by matrix product in float32: times dim, times the squared lengths."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The k nearest rows of each of q points, nearest first, equal distances by row: two (q, k) arrays."""

    rows: Rows
    distances: Floats


@dataclass(frozen=True, slots=True)
class Survey:
    """The nearest of each point, and its mean distance to each group of rows: (q, groups)."""

    neighbours: Neighbours
    means: Means


def nearest(
    points: Floats, among: Floats, k: int, *, without: Rows | None = None, numbers: int = NUMBERS
) -> Neighbours:
    """The k rows of `among` (n, dim) that are nearest to each of `points` (q, dim).

    What is near is found by matrix product, whose rounding errors would hide that a text is its own copy; so
    all that may be among the k are measured again by difference, in float64.

    Args:
        without: (q,) a row of `among` that each point passes over, so that a paper is not its own neighbour.
        numbers: distances held at once; at least n are.

    Raises:
        MeasureError: `among` has fewer than k rows, or vectors are of another size.
    """
    return survey(points, among, k, (), without=without, numbers=numbers).neighbours


def survey(
    points: Floats,
    among: Floats,
    k: int,
    groups: Sequence[slice],
    *,
    without: Rows | None = None,
    numbers: int = NUMBERS,
) -> Survey:
    """The nearest rows as `nearest` finds them, and the mean distance to each group of rows, in one pass.

    Raises:
        MeasureError: `among` has fewer than k rows, or vectors are of another size.
    """
    _check(points, among, k, without is not None)
    rows = np.empty((len(points), k), dtype=np.intp)
    distances = np.empty((len(points), k), dtype=np.float32)
    means = np.empty((len(points), len(groups)), dtype=np.float64)
    lengths = _squared_lengths(among)
    for block in _blocks(len(points), max(1, numbers // max(1, len(among)))):
        some = points[block]
        squared = _squared_distances(some, among, lengths)
        means[block] = _means(squared, groups)
        if without is not None:
            squared[np.arange(len(some)), without[block]] = np.inf
        rows[block], distances[block] = _ranked(some, among, squared, lengths, k)
    return Survey(Neighbours(rows, distances), means)


def ranked(points: Floats, among: Floats, rows: Rows) -> Neighbours:
    """The rows (q, k) that something else found near each point, measured and put in order."""
    which = np.repeat(np.arange(len(rows)), rows.shape[1])
    distances = _distances(points, which, among, rows.ravel()).reshape(rows.shape)
    order = np.lexsort((rows, distances), axis=1)
    return Neighbours(np.take_along_axis(rows, order, axis=1), np.take_along_axis(distances, order, axis=1))


def mean_distances(
    points: Floats, among: Floats, groups: Sequence[slice], *, numbers: int = NUMBERS
) -> Means:
    """(q, groups): the mean distance of each point to each group of rows."""
    lengths = _squared_lengths(among)
    means = [
        _means(_squared_distances(points[block], among, lengths), groups)
        for block in _blocks(len(points), max(1, numbers // len(among)))
    ]
    return np.concatenate(means)


def _check(points: Floats, among: Floats, k: int, passes_over: bool) -> None:
    if points.ndim != 2 or points.shape[1:] != among.shape[1:]:
        raise MeasureError(f"vectors of shape {points.shape} cannot be held against {among.shape}")
    if k < 1 or len(among) - passes_over < k:
        raise MeasureError(
            f"{k} neighbours are asked for among {len(among) - passes_over} papers",
            hint="ask for fewer, or measure against a larger corpus",
        )


def _blocks(count: int, size: int) -> Iterator[slice]:
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def _squared_lengths(vectors: Floats) -> Floats:
    return np.einsum("ij,ij->i", vectors, vectors)


def _squared_distances(points: Floats, among: Floats, lengths: Floats) -> Floats:
    """(q, n), by |p - a|² = |p|² + |a|² - 2 p·a."""
    squared: Floats = points @ among.T
    squared *= -2
    squared += lengths
    squared += _squared_lengths(points)[:, None]
    return np.maximum(squared, 0, out=squared)


def _means(squared: Floats, groups: Sequence[slice]) -> Means:
    means = np.empty((len(squared), len(groups)), dtype=np.float64)
    for number, group in enumerate(groups):
        means[:, number] = np.sqrt(squared[:, group]).mean(axis=1, dtype=np.float64)
    return means


def _ranked(points: Floats, among: Floats, squared: Floats, lengths: Floats, k: int) -> tuple[Rows, Floats]:
    """The k nearest, from squared distances that are rounded: whatever rounding could hide is looked at."""
    doubt = ROUNDING * points.shape[1] * (_squared_lengths(points) + np.max(lengths))
    limit = np.partition(squared, k - 1, axis=1)[:, k - 1] + 2 * doubt
    which, rows = np.nonzero(squared <= limit[:, None])
    distances = _distances(points, which, among, rows)
    order = np.lexsort((rows, distances, which))
    first = np.searchsorted(which, np.arange(len(points)))  # `which` is sorted already, and stays so
    chosen = order[first[:, None] + np.arange(k)]
    return rows[chosen], distances[chosen]


def _distances(points: Floats, which: NDArray[Any], among: Floats, rows: NDArray[Any]) -> Floats:
    """Of each pair, by difference. Float32 in the end, so that equal vectors are equally far wherever they lie."""
    found = np.empty(len(rows), dtype=np.float32)
    for block in _blocks(len(rows), PAIRS):
        difference = points[which[block]].astype(np.float64) - among[rows[block]]
        found[block] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return found
