"""Means of repeated runs, always with how sure they are: n, standard error, bootstrap interval."""

import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TypeVar

from manyheads.errors import MeasureError
from manyheads.measures.bootstrap import Interval, interval, paired

K = TypeVar("K", bound=Hashable)
G = TypeVar("G", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of n independent values.

    Attributes:
        se: its standard error, s / √n with the sample's standard deviation s; None for one value.
        low, high: ends of its bootstrap interval at `level`; None where there is none, `why` says why.
    """

    n: int
    mean: float
    se: float | None
    low: float | None
    high: float | None
    level: float
    why: str | None = None


def mean_of(values: Sequence[float], *, level: float = 0.95, seed: int = 0) -> Mean | None:
    """The mean of independent values; None of no values."""
    return _mean(values, lambda: interval(values, level=level, seed=seed), level)


def mean_difference(
    first: Sequence[float], second: Sequence[float], *, level: float = 0.95, seed: int = 0
) -> Mean | None:
    """The mean of `first - second`, which hold the same cases in the same order; None of no cases.

    Raises:
        MeasureError: they differ in length.
    """
    if len(first) != len(second):
        raise MeasureError(f"{len(first)} values cannot be paired with {len(second)}: not the same cases")
    differences = [one - other for one, other in zip(first, second, strict=True)]
    return _mean(differences, lambda: paired(first, second, level=level, seed=seed), level)


def by_group(values: Mapping[K, float], group: Callable[[K], G]) -> dict[G, float]:
    """The mean of each group.

    Values of one group are alike, so that they are not independent: a mean of the groups' means has as its standard
    error that of clustered values, a mean of all values one that is too small (arXiv 2411.00640).
    """
    groups = defaultdict[G, list[float]](list)
    for key, value in values.items():
        groups[group(key)].append(value)
    return {name: fmean(some) for name, some in groups.items()}


def _mean(values: Sequence[float], bootstrap: Callable[[], Interval], level: float) -> Mean | None:
    if not values:
        return None
    n, mean = len(values), fmean(values)
    se = stdev(values) / n**0.5 if n > 1 else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of values that hardly differ: `why` says it
            found = bootstrap()
    except MeasureError as error:
        return Mean(n, mean, se, None, None, level, error.message)
    return Mean(n, mean, se, found.low, found.high, level)
