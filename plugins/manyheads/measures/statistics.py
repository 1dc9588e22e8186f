"""Means of independent values with n, standard error and interval."""

import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from manyheads.base.errors import MeasureError, RatingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K = TypeVar("K", bound=Hashable)
Ends: TypeAlias = tuple[float, float]
Method: TypeAlias = Literal["t", "BCa", "Wilson"]
LEVEL = 0.95
RESAMPLES = 9_999
BATCH = 2**20
"""Numbers resampled at once."""
FEW = 10
"""Below this number of values, bootstrap intervals are much too narrow."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of n independent values.

    Attributes:
        se: standard error, s / √n, or √(p (1 - p) / n) for a share p; None for one value.
        low, high: ends of its interval at `level`; None without one, for the reason in `why`.
        method: Wilson for shares; Student's t for fewer than ten values, whose resamples vary too little; else the
        bootstrap (BCa), which handles skew and bounds; `t`, `bca` are the ends by these.
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
    """A mean of n ratings of one text, as in a review.

    Attributes:
        spread: standard deviation (n - 1); None for a single rating.
        low, high: Student's t interval, cut at the ends of the scale; None for a single rating, and for equal ones: equal
        whole numbers do not mean that the mean is known exactly.
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
    """The mean of independent values; None without values.

    Args:
        seed: of the bootstrap.
        within: ends of the values' scale; intervals are cut there.
        share: whether values are yes (1) or no (0); values in between are averaged as other numbers.
    """
    if not values:
        return None
    n, mean = len(values), fmean(values)
    if share and all(value in (0, 1) for value in values):
        # Wilson's score interval (1927) has a width even for shares of 0 and 1.
        from scipy.stats import binomtest

        wilson = binomtest(sum(value == 1 for value in values), n).proportion_ci(level, method="wilson")
        se = (mean * (1 - mean) / n) ** 0.5 if n > 1 else None
        return Mean(n, mean, se, float(wilson.low), float(wilson.high), level, method="Wilson")
    if n == 1:
        return Mean(n, mean, None, None, None, level, "one value has no variation")
    if all(value == values[0] for value in values):
        why = f"{n} equal values have no variation"
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
    """The mean of `first - second`, for the same cases in the same order; None without cases.

    Raises `MeasureError` if they differ in length.
    """
    if len(first) != len(second):
        raise MeasureError(f"{len(first)} values cannot be paired with {len(second)}: their cases differ")
    differences = [one - other for one, other in zip(first, second, strict=True)]
    width = (within[0] - within[1], within[1] - within[0]) if within else None
    return mean_of(differences, level=level, seed=seed, within=width)


def rating_mean(ratings: Sequence[float], scale: Ends = (1, 10)) -> RatingMean:
    """The mean of at least one rating, with its interval; raises `RatingError` without ratings."""
    if not ratings:
        raise RatingError("there are no ratings")
    mean, n = fmean(ratings), len(ratings)
    spread = stdev(ratings) if n > 1 else None
    low, high = student_interval(mean, spread / n**0.5, n, LEVEL, scale) if spread else (None, None)
    return RatingMean(mean, spread, low, high, n)


def group_means(values: Mapping[K, float], group: Callable[[K], Hashable]) -> list[float]:
    """The mean of each group.

    Values of one group are not independent: the mean of the groups' means has the standard error of clustered values;
    that of all values would be too small (arXiv 2411.00640).
    """
    groups = defaultdict[Hashable, list[float]](list)
    for key, value in values.items():
        groups[group(key)].append(value)
    return [fmean(some) for some in groups.values()]


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

    Values are one per text: the nearest papers of a text come from a fixed corpus, and are no sample. The same values and
    seed give the same interval; nearly equal or non-finite values have none.
    """
    import numpy as np

    data = np.asarray(values, dtype=np.float64)
    interval = _bootstrap((data,), np.mean, "BCa", level, resamples, seed).confidence_interval
    low, high = map(float, interval)
    return (low, high) if np.isfinite([low, high]).all() else None


def _bootstrap(
    data: tuple["Floats", ...],
    statistic: Any,
    method: str,
    level: float,
    resamples: int,
    seed: int,
    **how: Any,
) -> Any:
    import numpy as np
    from scipy.stats import bootstrap

    with warnings.catch_warnings():
        # warnings for nearly equal values and constant resamples, which are handled
        warnings.simplefilter("ignore", RuntimeWarning)
        return bootstrap(
            data, statistic, method=method, confidence_level=level, n_resamples=resamples,
            batch=max(1, BATCH // len(data[0])), rng=np.random.default_rng(seed), **how,
        )  # fmt: skip


Floats: TypeAlias = "NDArray[np.float64]"
LEAST = 3
"""Minimum pairs for a correlation: two points always lie on a line."""
SAME = 1e-12
"""Relative tolerance for equal values."""


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
    """A correlation of n pairs, -1 to 1: Pearson's r, with Fisher's z interval, or Spearman's rho.

    Attributes:
        bootstrap: percentile interval over resampled pairs.
        unusable: share of resamples, 0 to 1, that are left out as one column is constant.
    """

    value: float
    bootstrap: Interval
    unusable: float
    fisher: Interval | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two scores of n texts, with the regression line y = intercept + slope x."""

    n: int
    pearson: Correlation
    spearman: Correlation
    slope: float
    intercept: float


def agreement(
    x: Sequence[float], y: Sequence[float], *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> Agreement:
    """Pearson's and Spearman's correlation of n pairs, with confidence intervals; the same seed gives the same.

    Raises:
        RatingError: x and y differ in length, have fewer than three pairs, a non-finite value, or no variation.
    """
    from scipy.stats import linregress, pearsonr

    one, other = _checked(x, "the scores"), _checked(y, "the ratings")
    if (n := len(one)) != len(other):
        raise RatingError(f"{n} scores cannot be paired with {len(other)} ratings")
    r: Any = pearsonr(one, other)
    low, high = r.confidence_interval(level) if n > LEAST else (-1, 1)  # z has no bound for three pairs
    fisher = Interval(float(r.statistic), float(low), float(high), n, level)
    pearson = _correlation(one, other, False, level, resamples, seed, fisher)
    spearman = _correlation(one, other, True, level, resamples, seed)
    line: Any = linregress(one, other)
    return Agreement(n, pearson, spearman, float(line.slope), float(line.intercept))


def _checked(values: Sequence[float], name: str) -> Floats:
    import numpy as np

    data = np.asarray(values, dtype=np.float64)
    if len(data) < LEAST:
        too_few = f"{len(data)} texts with score and rating, too few for a correlation"
        raise RatingError(too_few, hint=f"rate {LEAST} or more")
    if not np.isfinite(data).all():
        raise RatingError(f"{name}: a value is missing or infinite")
    if _constant(data):
        constant = f"{name} are all {data[0]:g}: a constant has no correlation"
        raise RatingError(constant, hint="add texts or raters that differ")
    return data


def _constant(data: Floats) -> bool:
    """Whether the values are equal up to rounding."""
    return bool(data.max() - data.min() <= SAME * abs(data).max())


def _correlation(
    x: Floats, y: Floats, ranks: bool, level: float, resamples: int, seed: int, fisher: Interval | None = None
) -> Correlation:
    """Pearson's r, or Spearman's rho, which is r of the ranks, with the percentile interval over resampled pairs.

    scipy's own interval is undefined if one resample is constant, which is common for few texts.
    """
    import numpy as np
    from scipy.stats import pearsonr, rankdata

    def correlate(x: Floats, y: Floats, axis: int = -1) -> Floats:
        one, other = (rankdata(x, axis=axis), rankdata(y, axis=axis)) if ranks else (x, y)
        found: Any = pearsonr(one, other, axis=axis)
        return found.statistic

    found = _bootstrap((x, y), correlate, "percentile", level, resamples, seed, paired=True, vectorized=True)
    drawn = found.bootstrap_distribution
    usable = drawn[np.isfinite(drawn)]
    if not len(usable):
        raise RatingError(f"no resample of {len(x)} texts has a correlation: too many are equal")
    low, high = np.quantile(usable, [(1 - level) / 2, (1 + level) / 2])
    value = float(correlate(x, y))
    interval = Interval(value, float(low), float(high), len(x), level)
    return Correlation(value, interval, 1 - len(usable) / len(drawn), fisher)


def krippendorff_alpha(ratings: Mapping[str, Mapping[str, float]]) -> float | None:
    """Krippendorff's alpha of ratings, by text and rater, on an interval scale: 1 is full agreement, 0 is chance.

    alpha = 1 - D_o / D_e, with the mean squared difference within a text for D_o and between all ratings for D_e
    (Krippendorff 2011, “Computing Krippendorff's Alpha-Reliability”). Texts with a single rating are ignored. None if no text
    has two ratings, or all of these are equal.
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
    """Kendall's tau of two rankings of the same things, at least two, -1 to 1."""
    from scipy.stats import kendalltau

    found: Any = kendalltau(first, second)
    return float(found.statistic)


def kendall_w(ranks: Sequence[Sequence[float]]) -> float | None:
    """Kendall's W = 12 Σ (R_i - R̄)² / (m² (k³ - k)) of m rankings of k things with rank sums R_i, 0 to 1.

    Rankings list each thing's rank, without ties. A single ranking, or fewer than two things, have no W.
    """
    sums, judged = [sum(each) for each in zip(*ranks, strict=True)], len(ranks)
    if judged < 2 or (size := len(sums)) < 2:
        return None
    mean = fmean(sums)
    return 12 * sum((each - mean) ** 2 for each in sums) / (judged**2 * (size**3 - size))
