"""Agreement: of raters with each other, and of a measure with their mean (VirSci 2025, §4.2, App. C.4 and E)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from manyheads.errors import MeasureError, RatingError

# How sure a mean is: bootstrap intervals over texts, and over differences between two sets on the same cases.


Statistic: TypeAlias = Callable[..., Any]
"""Such as `numpy.mean` or `numpy.median`: takes an array and `axis=`."""
RESAMPLES = 9_999


@dataclass(frozen=True, slots=True)
class Interval:
    """A statistic of n values, and the ends of its confidence interval."""

    estimate: float
    low: float
    high: float
    n: int
    level: float


def interval(
    values: Sequence[float],
    *,
    statistic: Statistic = np.mean,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The bias-corrected and accelerated bootstrap interval (Efron, 1987) of a statistic over independent values.

    The values are one for each text: texts are what could have come out otherwise. The neighbours of one text are
    not resampled: they are the nearest of a corpus that stays, all five of them, and no sample of five. The same
    values and seed give the same interval. Values that are all equal have an interval of no width.

    Raises:
        MeasureError: fewer than two values, one that is not finite, or a level or number of resamples out of range.
    """
    data = _checked(values, level, resamples)
    estimate = float(statistic(data, axis=0))
    if np.ptp(data) == 0:
        return Interval(estimate, estimate, estimate, len(data), level)
    low, high = _ends(data, statistic, level, resamples, seed)
    return Interval(estimate, low, high, len(data), level)


def paired(
    first: Sequence[float],
    second: Sequence[float],
    *,
    statistic: Statistic = np.mean,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The interval of `first - second`, where both hold the same cases in the same order.

    Raises:
        MeasureError: they differ in length, and as `interval`.
    """
    if len(first) != len(second):
        raise MeasureError(f"{len(first)} values cannot be paired with {len(second)}: not the same cases")
    differences = [one - other for one, other in zip(first, second, strict=True)]
    return interval(differences, statistic=statistic, level=level, resamples=resamples, seed=seed)


def _checked(values: Sequence[float], level: float, resamples: int) -> NDArray[np.float64]:
    data = np.asarray(values, dtype=np.float64)
    if len(data) < 2:
        count = "one value says" if len(data) else "no values say"
        raise MeasureError(f"{count} nothing of how much values vary", hint="an interval needs two or more")
    if not np.isfinite(data).all():
        raise MeasureError("an interval needs numbers: a value is missing or infinite")
    if not 0 < level < 1 or resamples < 1:
        raise MeasureError(f"no interval at level {level} with {resamples} resamples")
    return data


def _ends(
    data: NDArray[np.float64], statistic: Statistic, level: float, resamples: int, seed: int
) -> tuple[float, float]:
    from scipy.stats import bootstrap

    found: Any = bootstrap(
        (data,),
        statistic,
        confidence_level=level,
        n_resamples=resamples,
        vectorized=True,
        method="BCa",
        batch=max(1, 2**20 // len(data)),
        rng=np.random.default_rng(seed),
    )
    low, high = float(found.confidence_interval.low), float(found.confidence_interval.high)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise MeasureError(
            f"no bootstrap interval of {getattr(statistic, '__name__', 'the statistic')} over {len(data)} values",
            hint="give more values that differ",
        )
    return low, high


Floats = NDArray[np.float64]
LEVEL = 0.95
LEAST = 3
"""Pairs below which a correlation says nothing: two points always lie on a line."""
FEW = 10
"""Pairs below which the bootstrap's intervals are too narrow to go by: the pairs at hand are too few to stand for others."""
FIRM = 4
"""Pairs below which Fisher's interval is the whole of -1 to 1."""
SAME = 1e-12
"""Values that differ by no more than this part of their size are equal but for rounding."""
BATCH = 2**20
"""Numbers that are resampled at once."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation of n pairs, -1 to 1, with its intervals.

    Attributes:
        value: Pearson's r or Spearman's rho.
        bootstrap: percentile interval over resampled pairs.
        unusable: share of the resamples, 0 to 1, that had no correlation because one column came out constant;
            the interval is over the others.
        fisher: interval of Pearson's r by Fisher's z transformation, None for Spearman's rho.
    """

    value: float
    bootstrap: Interval
    unusable: float
    fisher: Interval | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two scores of the same n texts go together, with the regression line y = intercept + slope x."""

    n: int
    pearson: Correlation
    spearman: Correlation
    slope: float
    intercept: float

    @property
    def few(self) -> bool:
        """Whether the bootstrap's intervals are too narrow for want of texts; Fisher's hold for any number."""
        return self.n < FEW


def agreement(
    x: Sequence[float], y: Sequence[float], *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> Agreement:
    """Pearson's and Spearman's correlation of n pairs, with confidence intervals; the same seed gives the same.

    Args:
        x: one score of each text, such as its overall novelty.
        y: another score of the same texts in the same order, such as its mean rating.
        level: of the intervals, between 0 and 1.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        RatingError: x and y differ in length, hold fewer than three pairs, something not finite, or nothing but one
            value, which goes together with nothing.
    """
    from scipy.stats import linregress, rankdata

    one, other = _checked_pairs(x, "the scores"), _checked_pairs(y, "the ratings")
    if len(one) != len(other):
        raise RatingError(f"{len(one)} scores cannot be paired with {len(other)} ratings")
    n, r = len(one), _correlate(one, other)
    rho = _correlate(rankdata(one), rankdata(other))
    linear, ranked = _resampled(one, other, resamples, seed)
    fit: Any = linregress(one, other)
    return Agreement(
        n=n,
        pearson=Correlation(r, *_percentile(r, linear, n, level), fisher=_fisher(r, n, level)),
        spearman=Correlation(rho, *_percentile(rho, ranked, n, level)),
        slope=float(fit.slope),
        intercept=float(fit.intercept),
    )


def _resampled(x: Floats, y: Floats, resamples: int, seed: int) -> tuple[Floats, Floats]:
    """r and rho of resampled pairs, nan where there is none; in batches, so that memory stays bounded."""
    from scipy.stats import rankdata

    rng, batch = np.random.default_rng(seed), max(1, BATCH // len(x))
    linear, ranked = list[Floats](), list[Floats]()
    for start in range(0, resamples, batch):
        drawn = rng.integers(len(x), size=(min(batch, resamples - start), len(x)))
        linear.append(_rows(x[drawn], y[drawn]))
        ranked.append(_rows(rankdata(x[drawn], axis=1), rankdata(y[drawn], axis=1)))
    return np.concatenate(linear), np.concatenate(ranked)


def _checked_pairs(values: Sequence[float], name: str) -> Floats:
    data = np.asarray(values, dtype=np.float64)
    if len(data) < LEAST:
        raise RatingError(
            f"{len(data)} texts with score and rating: too few for a correlation",
            hint=f"rate {LEAST} or more",
        )
    if not np.isfinite(data).all():
        raise RatingError(f"{name}: a value is missing or infinite")
    if _constant(data):
        raise RatingError(
            f"{name} are all {data[0]:g}: what does not vary goes together with nothing",
            hint="take texts or raters that differ",
        )
    return data


def _constant(data: Floats) -> bool:
    """Whether the values are equal but for rounding, of which no correlation is to be made."""
    return bool(np.ptp(data) <= SAME * np.abs(data).max())


def _correlate(x: Floats, y: Floats) -> float:
    return float(_rows(x[None], y[None])[0])


def _rows(x: Floats, y: Floats) -> Floats:
    """Pearson's r of each row of two matrices, nan where a row is constant."""
    (x, no_x), (y, no_y) = _centred(x), _centred(y)
    constant = no_x | no_y
    size = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    found = np.clip((x * y).sum(axis=1) / np.where(constant, 1, size), -1, 1)
    return np.where(constant, np.nan, found)


def _centred(rows: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Each row less its mean, brought to size 1 so that no square overflows; and which rows are constant."""
    spread = np.ptp(rows, axis=1)
    constant = spread <= SAME * np.abs(rows).max(axis=1)
    centred = (rows - rows.mean(axis=1, keepdims=True)) / np.where(constant, 1, spread)[:, None]
    return centred, constant


def _percentile(value: float, found: Floats, n: int, level: float) -> tuple[Interval, float]:
    usable = found[~np.isnan(found)]
    if not len(usable):
        raise RatingError(f"no resample of {n} texts has a correlation: too many are alike")
    low, high = np.quantile(usable, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high), n, level), 1 - len(usable) / len(found)


def _fisher(r: float, n: int, level: float) -> Interval:
    """tanh(artanh r ± z / sqrt(n - 3)) (Fisher, 1921)."""
    if n < FIRM:
        return Interval(r, -1.0, 1.0, n, level)
    if abs(r) >= 1:
        return Interval(r, r, r, n, level)
    from scipy.special import ndtri

    half = float(ndtri((1 + level) / 2)) / (n - 3) ** 0.5
    z = np.arctanh(r)
    return Interval(r, float(np.tanh(z - half)), float(np.tanh(z + half)), n, level)


def krippendorff_alpha(ratings: Mapping[str, Mapping[str, float]]) -> float | None:
    """Krippendorff's alpha of ratings on an interval scale: 1 is full agreement, 0 is chance, below is worse.

    alpha = 1 - D_o / D_e, with the mean squared difference within a text for D_o and between all ratings for D_e
    (Krippendorff 2011, “Computing Krippendorff's Alpha-Reliability”). Raters may leave texts out; a text that only
    one of them has rated says nothing about agreement and is not counted.

    Args:
        ratings: by text and rater.

    Returns:
        None where nothing can be said: no text has two ratings, or all of these are the same, so that agreement
        cannot be told from raters who do not tell texts apart.
    """
    units = [
        np.asarray(list(given.values()), dtype=np.float64) for given in ratings.values() if len(given) > 1
    ]
    if not units:
        return None
    everything = np.concatenate(units)
    expected = 2 * everything.var(ddof=1)
    if _constant(everything):
        return None
    observed = sum(2 * len(unit) * unit.var(ddof=1) for unit in units) / len(everything)
    return float(1 - observed / expected)
