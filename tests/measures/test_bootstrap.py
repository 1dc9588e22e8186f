"""Intervals: around the estimate, the same for the same seed, and right as often as they say."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np
import pytest

from manyheads.measures.statistics import bootstrap_interval

VALUES = [0.8, 1.1, 0.9, 1.4, 1.0, 0.7, 1.3, 1.2]


def ends(
    values: Sequence[float], level: float = 0.95, resamples: int = 9_999, seed: int = 0
) -> tuple[float, float]:
    interval = bootstrap_interval(values, level=level, resamples=resamples, seed=seed)
    assert interval is not None
    return interval


def test_an_interval_lies_around_the_mean_and_can_be_had_again() -> None:
    low, high = ends(VALUES)
    assert min(VALUES) < low < fmean(VALUES) < high < max(VALUES)
    assert ends(VALUES) == (low, high)
    assert ends(VALUES, seed=1) != (low, high)


def test_the_means_of_all_resamples_of_two_values_give_the_ends() -> None:
    """0 and 1 resampled: the mean is 0, 1/2 or 1 with 1/4, 1/2, 1/4, so 95% reach from 0 to 1 and 40% stay at 1/2."""
    assert ends([0, 1]) == (0, 1)
    assert ends([0, 1], level=0.4) == (0.5, 0.5)


def test_nine_in_ten_intervals_at_ninety_percent_hold_the_truth() -> None:
    rng = np.random.default_rng(5)
    intervals = [ends(draw.tolist(), 0.9, 499) for draw in rng.exponential(3.0, size=(300, 40))]
    assert 0.84 < fmean(low <= 3.0 <= high for low, high in intervals) < 0.95


@pytest.mark.parametrize("values", [[1.0, float("nan")], [1.0, float("inf")]])
def test_what_has_no_interval_gets_none(values: list[float]) -> None:
    assert bootstrap_interval(values) is None
