"""Means of independent values, always with how sure they are: n, standard error, interval."""

import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Literal, TypeAlias, TypeVar

from manyheads.errors import MeasureError, RatingError

K = TypeVar("K", bound=Hashable)
G = TypeVar("G", bound=Hashable)
Ends: TypeAlias = tuple[float, float]
Method: TypeAlias = Literal["t", "BCa", "Wilson"]
LEVEL = 0.95
RESAMPLES = 9_999
BATCH = 2**20
"""Numbers that are resampled at once."""
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


@dataclass(frozen=True)
class RatingMean:
    """A mean of ratings of one text, as a review keeps it.

    Attributes:
        mean: on the scale of the ratings.
        spread: their standard deviation (n - 1); None of a single one.
        low, high: Student's t interval of the mean, cut at the ends of the scale, beyond which no mean can lie; None
            of a single rating, and where all are equal: ratings are whole numbers, so a spread of zero says that
            they agree to the point, and not that the mean is known exactly.
        n: how many ratings it is of.
        level: of the interval.
    """

    mean: float
    spread: float | None
    low: float | None
    high: float | None
    n: int
    level: float = LEVEL


def mean_of(
    values: Sequence[float],
    *,
    level: float = LEVEL,
    seed: int = 0,
    share: bool = False,
    within: Ends | None = None,
) -> Mean | None:
    """The mean of independent values; None of no values.

    Args:
        seed: of the bootstrap.
        within: the ends of the scale that the values are on, where it has ends; intervals are cut there, for beyond them
            no mean can lie.
        share: whether 1 says that a run has something and 0 that it has not; values between these are shares
            themselves, and averaged as other numbers are.
    """
    if not values:
        return None
    n, mean = len(values), fmean(values)
    if share and all(value in (0, 1) for value in values):
        return _share(sum(value == 1 for value in values), n, level)
    if n == 1:
        return Mean(n, mean, None, None, None, level, "one value says nothing of how much values vary")
    if all(value == values[0] for value in values):
        why = f"{n} equal values say nothing of how much others would vary"
        return Mean(n, mean, 0.0, None, None, level, why)
    se = stdev(values) / n**0.5
    student = student_interval(mean, se, n, level, within)
    resampled = bootstrap_interval(values, level=level, seed=seed)
    method: Method = "BCa" if resampled and n >= FEW else "t"
    low, high = resampled if resampled and method == "BCa" else student
    return Mean(n, mean, se, low, high, level, method=method, t=student, bca=resampled)


def mean_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    level: float = LEVEL,
    seed: int = 0,
    within: Ends | None = None,
) -> Mean | None:
    """The mean of `first - second`, which hold the same cases in the same order; None of no cases.

    Args:
        within: the ends of the scale that both are on, where it has ends; their difference lies within its width.

    Raises:
        MeasureError: they differ in length.
    """
    if len(first) != len(second):
        raise MeasureError(f"{len(first)} values cannot be paired with {len(second)}: not the same cases")
    differences = [one - other for one, other in zip(first, second, strict=True)]
    width = (within[0] - within[1], within[1] - within[0]) if within else None
    return mean_of(differences, level=level, seed=seed, within=width)


def rating_mean(ratings: Sequence[float], scale: Ends = (1, 10)) -> RatingMean:
    """The mean of at least one rating, with its interval.

    Raises:
        RatingError: there is none.
    """
    if not ratings:
        raise RatingError("no ratings: there is no mean of nothing")
    mean, n = fmean(ratings), len(ratings)
    spread = stdev(ratings) if n > 1 else None
    low, high = student_interval(mean, spread / n**0.5, n, LEVEL, scale) if spread else (None, None)
    return RatingMean(mean, spread, low, high, n)


def by_group(values: Mapping[K, float], group: Callable[[K], G]) -> dict[G, float]:
    """The mean of each group.

    Values of one group are alike, so that they are not independent: a mean of the groups' means has as its standard
    error that of clustered values, a mean of all values one that is too small (arXiv 2411.00640).
    """
    groups = defaultdict[G, list[float]](list)
    for key, value in values.items():
        groups[group(key)].append(value)
    return {name: fmean(some) for name, some in groups.items()}


def student_interval(mean: float, se: float, n: int, level: float, within: Ends | None = None) -> Ends:
    """Student's t interval of the mean of two or more values, from its standard error; cut at the ends of a scale."""
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, (1 + level) / 2)) * se
    least, most = within or (mean - half, mean + half)
    return max(least, mean - half), min(most, mean + half)


def bootstrap_interval(
    values: Sequence[float], *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> Ends | None:
    """The bias-corrected and accelerated interval (Efron, 1987) of the mean of two or more values.

    Of texts, the values are one for each: texts are what could have come out otherwise. The neighbours of one text are
    not resampled: they are the nearest of a corpus that stays, all five of them, and no sample of five. The same
    values and seed give the same interval; values that hardly differ, or are no numbers, have none.
    """
    import numpy as np
    from scipy.stats import bootstrap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of values that hardly differ: they have no interval
        found: Any = bootstrap(
            (np.asarray(values, dtype=np.float64),),
            np.mean,
            confidence_level=level,
            n_resamples=resamples,
            batch=max(1, BATCH // len(values)),
            rng=np.random.default_rng(seed),
        )
    low, high = map(float, found.confidence_interval)
    return (low, high) if np.isfinite([low, high]).all() else None


def _share(having: int, n: int, level: float) -> Mean:
    """Wilson's score interval (1927), which is never without width, not even of none or all of a few."""
    from scipy.stats import binomtest

    p, found = having / n, binomtest(having, n).proportion_ci(level, method="wilson")
    se = (p * (1 - p) / n) ** 0.5 if n > 1 else None
    return Mean(n, p, se, float(found.low), float(found.high), level, method="Wilson")
