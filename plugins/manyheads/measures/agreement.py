"""Agreement: of raters with each other, of rankings, and of a measure with raters (VirSci 2025, §4.2, App. C.4 and E).

Coefficients: Pearson's r and Spearman's rho with intervals, Krippendorff's alpha, Kendall's tau and W.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeAlias

from manyheads.errors import RatingError
from manyheads.measures.statistics import BATCH, FEW, LEVEL, RESAMPLES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
LEAST = 3
"""Pairs below which a correlation says nothing: two points always lie on a line."""
SAME = 1e-12
"""Values that differ by no more than this part of their size are equal but for rounding."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A statistic of n values, and the ends of its confidence interval."""

    estimate: float
    low: float
    high: float
    n: int
    level: float


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
    from scipy.stats import linregress, pearsonr

    one, other = _checked(x, "the scores"), _checked(y, "the ratings")
    if len(one) != len(other):
        raise RatingError(f"{len(one)} scores cannot be paired with {len(other)} ratings")
    r: Any = pearsonr(one, other)
    # Three pairs leave z without any bound.
    low, high = r.confidence_interval(level) if len(one) > LEAST else (-1, 1)
    fisher = Interval(float(r.statistic), float(low), float(high), len(one), level)
    line: Any = linregress(one, other)
    return Agreement(
        n=len(one),
        pearson=_correlation(one, other, False, level, resamples, seed, fisher),
        spearman=_correlation(one, other, True, level, resamples, seed),
        slope=float(line.slope),
        intercept=float(line.intercept),
    )


def _checked(values: Sequence[float], name: str) -> Floats:
    import numpy as np

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
    return bool(data.max() - data.min() <= SAME * abs(data).max())


def _correlation(
    x: Floats, y: Floats, ranks: bool, level: float, resamples: int, seed: int, fisher: Interval | None = None
) -> Correlation:
    """Pearson's r, or Spearman's rho, which is r of the ranks, with the percentile interval over resampled pairs.

    scipy's own interval is none as soon as one resample is constant, which among few texts one always is.
    """
    import numpy as np
    from scipy.stats import bootstrap, pearsonr, rankdata

    def correlate(x: Floats, y: Floats, axis: int = -1) -> Floats:
        one, other = (rankdata(x, axis=axis), rankdata(y, axis=axis)) if ranks else (x, y)
        found: Any = pearsonr(one, other, axis=axis)
        return found.statistic

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of constant resamples, which are counted
        found: Any = bootstrap(
            (x, y), correlate, paired=True, vectorized=True, method="percentile", confidence_level=level,
            n_resamples=resamples, batch=max(1, BATCH // len(x)), rng=np.random.default_rng(seed),
        )  # fmt: skip
    drawn = found.bootstrap_distribution
    usable = drawn[np.isfinite(drawn)]
    if not len(usable):
        raise RatingError(f"no resample of {len(x)} texts has a correlation: too many are alike")
    low, high = np.quantile(usable, [(1 - level) / 2, (1 + level) / 2])
    value = float(correlate(x, y))
    interval = Interval(value, float(low), float(high), len(x), level)
    return Correlation(value, interval, 1 - len(usable) / len(drawn), fisher)


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
    import numpy as np

    units = [np.asarray(list(each.values()), dtype=np.float64) for each in ratings.values() if len(each) > 1]
    if not units:
        return None
    everything = np.concatenate(units)
    if _constant(everything):
        return None
    observed = sum(2 * len(unit) * unit.var(ddof=1) for unit in units) / len(everything)
    return float(1 - observed / (2 * everything.var(ddof=1)))


def kendall_tau(first: Sequence[int], second: Sequence[int]) -> float:
    """Kendall's tau of two rankings of the same two or more things, -1 to 1."""
    from scipy.stats import kendalltau

    found: Any = kendalltau(first, second)
    return float(found.statistic)


def kendall_w(ranks: Sequence[Sequence[float]]) -> float | None:
    """Kendall's W = 12 Σ (R_i - R̄)² / (m² (k³ - k)) of m rankings of k things with rank sums R_i.

    Args:
        ranks: for each ranking, each thing's rank; without ties.

    Returns:
        0 to 1, 1 where all rankings are the same; None of a single one, or of fewer than two things.
    """
    judged, size = len(ranks), len(ranks[0]) if ranks else 0
    if judged < 2 or size < 2:
        return None
    sums = [sum(rank[thing] for rank in ranks) for thing in range(size)]
    mean = fmean(sums)
    return 12 * sum((each - mean) ** 2 for each in sums) / (judged**2 * (size**3 - size))
