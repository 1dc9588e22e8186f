"""How sure a mean is: bootstrap intervals over texts, and over differences between two sets on the same cases."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from manyheads.errors import MeasureError

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
