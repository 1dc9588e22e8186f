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
Floats: TypeAlias = "NDArray[np.float64]"
Method: TypeAlias = Literal["t", "BCa", "Wilson"]
LEVEL = 0.95
RESAMPLES = 9_999
BATCH = 2**20
"""Numbers resampled at once."""
FEW = 10
"""Below this number of values, bootstrap intervals are much too narrow."""
UNKNOWN = 0.2
"""A mean over values of which some are unknown is over the known ones; if a larger share is unknown, there is none."""
SAME = 1e-12
"""Relative tolerance for equal values."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of n independent values.

    Attributes:
        se: standard error, s / √n, or √(p (1 - p) / n) for a share p; None for one value.
        low, high: ends of its interval at `level`; None without one, for the reason in `why`.
        method: Wilson for shares; Student's t for fewer than ten values, whose resamples vary too little; else the
        bootstrap (BCa), which handles skew and bounds.
    """

    n: int
    mean: float
    se: float | None
    low: float | None
    high: float | None
    level: float
    why: str | None = None
    method: Method | None = None


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
    if all(value == values[0] for value in values):
        why = f"{n} equal values have no variation" if n > 1 else "one value has no variation"
        return Mean(n, mean, 0.0 if n > 1 else None, None, None, level, why)
    se = stdev(values) / n**0.5
    if n >= FEW and (resampled := bootstrap_interval(values, level=level, seed=seed)):
        return Mean(n, mean, se, *resampled, level, method="BCa")
    return Mean(n, mean, se, *student_interval(mean, se, n, level, within), level, method="t")


def enough(known: int, number: int) -> bool:
    """Whether enough of the values are known for a mean of them."""
    return known > 0 and number - known <= UNKNOWN * number


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


def rating_mean(ratings: Sequence[float]) -> RatingMean:
    """The mean of at least one rating from 1 to 10, with its interval; raises `RatingError` without ratings."""
    if not ratings:
        raise RatingError("there are no ratings")
    mean, n = fmean(ratings), len(ratings)
    spread = stdev(ratings) if n > 1 else None
    low, high = student_interval(mean, spread / n**0.5, n, LEVEL, (1, 10)) if spread else (None, None)
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
    from scipy.stats import bootstrap

    how: Any = {"method": "BCa", "confidence_level": level, "n_resamples": resamples}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # for nearly equal values, which have no interval
        batch, rng = max(1, BATCH // len(values)), np.random.default_rng(seed)
        found: Any = bootstrap((np.asarray(values, dtype=np.float64),), np.mean, batch=batch, rng=rng, **how)
    low, high = map(float, found.confidence_interval)
    return (low, high) if np.isfinite([low, high]).all() else None


def constant(rows: Floats) -> Any:
    """Whether the values of each row are equal up to rounding."""
    return rows.max(-1) - rows.min(-1) <= SAME * abs(rows).max(-1)


def krippendorff_alpha(ratings: Mapping[str, Mapping[str, float]]) -> float | None:
    """Krippendorff's alpha of ratings, by text and rater, on an interval scale: 1 is full agreement, 0 is chance.

    alpha = 1 - D_o / D_e, with the mean squared difference within a text for D_o and between all ratings for D_e
    (Krippendorff 2011, “Computing Krippendorff's Alpha-Reliability”). Texts with a single rating are ignored. None if no text
    has two ratings, or all of these are equal.

    The mean of (x - y)² over the ordered pairs of n values is twice their variance (with n - 1), so no pairs are listed: D_o weighs
    each text's by its number of ratings, and D_e is that of all ratings together.
    """
    import numpy as np

    units = [np.asarray(list(each.values()), dtype=np.float64) for each in ratings.values() if len(each) > 1]
    if not units:
        return None
    everything = np.concatenate(units)
    if constant(everything):
        return None
    observed = sum(2 * len(unit) * unit.var(ddof=1) for unit in units) / len(everything)
    return float(1 - observed / (2 * everything.var(ddof=1)))


def kendall_w(ranks: Sequence[Sequence[float]]) -> float | None:
    """Kendall's W = 12 Σ (R_i - R̄)² / (m² (k³ - k)) of m rankings of k things with rank sums R_i, 0 to 1.

    Rankings list each thing's rank, without ties. A single ranking, or fewer than two things, have no W.
    """
    sums, judged = [sum(each) for each in zip(*ranks, strict=True)], len(ranks)
    if judged < 2 or (size := len(sums)) < 2:
        return None
    mean = fmean(sums)
    return 12 * sum((each - mean) ** 2 for each in sums) / (judged**2 * (size**3 - size))
