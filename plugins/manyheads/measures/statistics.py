"""Means of repeated runs, always with how sure they are: n, standard error, interval."""

import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from manyheads.errors import MeasureError

if TYPE_CHECKING:
    from manyheads.measures.agreement import Interval

K = TypeVar("K", bound=Hashable)
G = TypeVar("G", bound=Hashable)
Ends: TypeAlias = tuple[float, float]
Method: TypeAlias = Literal["t", "BCa", "Wilson"]
FEW = 10
"""Values below which bootstrap intervals are known to be much too narrow."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of n independent values.

    Attributes:
        se: its standard error, s / √n with the sample's standard deviation s, or √(p (1 - p) / n) of a share p; None
            for one value.
        low, high: ends of its interval at `level`; None where there is none, `why` says why.
        method: whose interval it is: of a share Wilson's; of fewer than ten values Student's t, for resamples of so
            few vary less than new values would; else the bootstrap's (BCa), which goes with skew and bounds.
        t, bca: the ends by each of these two; None where there are none.
    """

    n: int
    mean: float
    se: float | None
    low: float | None
    high: float | None
    level: float
    why: str | None = None
    method: Method | None = None
    t: Ends | None = None
    bca: Ends | None = None


def mean_of(
    values: Sequence[float],
    *,
    level: float = 0.95,
    seed: int = 0,
    share: bool = False,
    within: Ends | None = None,
) -> Mean | None:
    """The mean of independent values; None of no values.

    Args:
        within: the ends of the scale that the values are on, where it has ends; intervals are cut there, for beyond them
            no mean can lie.
        share: whether 1 says that a run has something and 0 that it has not; values between these are shares
            themselves, and averaged as other numbers are.
    """
    from manyheads.measures.agreement import interval

    if values and share and all(value in (0, 1) for value in values):
        return _share(sum(value == 1 for value in values), len(values), level)
    return _mean(values, lambda: interval(values, level=level, seed=seed), level, within)


def mean_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    level: float = 0.95,
    seed: int = 0,
    within: Ends | None = None,
) -> Mean | None:
    """The mean of `first - second`, which hold the same cases in the same order; None of no cases.

    Args:
        within: the ends of the scale that both are on, where it has ends; their difference lies within its width.

    Raises:
        MeasureError: they differ in length.
    """
    from manyheads.measures.agreement import paired

    if len(first) != len(second):
        raise MeasureError(f"{len(first)} values cannot be paired with {len(second)}: not the same cases")
    differences = [one - other for one, other in zip(first, second, strict=True)]
    width = (within[0] - within[1], within[1] - within[0]) if within else None
    return _mean(differences, lambda: paired(first, second, level=level, seed=seed), level, width)


def by_group(values: Mapping[K, float], group: Callable[[K], G]) -> dict[G, float]:
    """The mean of each group.

    Values of one group are alike, so that they are not independent: a mean of the groups' means has as its standard
    error that of clustered values, a mean of all values one that is too small (arXiv 2411.00640).
    """
    groups = defaultdict[G, list[float]](list)
    for key, value in values.items():
        groups[group(key)].append(value)
    return {name: fmean(some) for name, some in groups.items()}


def _mean(
    values: Sequence[float], bootstrap: "Callable[[], Interval]", level: float, within: Ends | None
) -> Mean | None:
    if not values:
        return None
    n, mean = len(values), fmean(values)
    if n == 1:
        return Mean(n, mean, None, None, None, level, "one value says nothing of how much values vary")
    if all(value == values[0] for value in values):
        return Mean(
            n, mean, 0.0, None, None, level, f"{n} equal values say nothing of how much others would vary"
        )
    se = stdev(values) / n**0.5
    student, resampled = student_interval(mean, se, n, level, within), _bca(bootstrap)
    method: Method = "BCa" if resampled and n >= FEW else "t"
    low, high = resampled if resampled and method == "BCa" else student
    return Mean(n, mean, se, low, high, level, method=method, t=student, bca=resampled)


def student_interval(mean: float, se: float, n: int, level: float, within: Ends | None = None) -> Ends:
    """Student's t interval of the mean of two or more values, from its standard error; cut at the ends of a scale."""
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, (1 + level) / 2)) * se
    least, most = within or (mean - half, mean + half)
    return max(least, mean - half), min(most, mean + half)


def _bca(bootstrap: "Callable[[], Interval]") -> Ends | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", RuntimeWarning
            )  # of values that hardly differ: they have no interval
            found = bootstrap()
    except MeasureError:
        return None
    return found.low, found.high


def _share(having: int, n: int, level: float) -> Mean:
    """Wilson's score interval (1927), which is never without width, not even of none or all of a few."""
    from scipy.stats import binomtest

    p, found = having / n, binomtest(having, n).proportion_ci(level, method="wilson")
    se = (p * (1 - p) / n) ** 0.5 if n > 1 else None
    return Mean(n, p, se, float(found.low), float(found.high), level, method="Wilson")
