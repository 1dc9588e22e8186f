"""Intervals: around the estimate, the same for the same seed, and right as often as they say."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyheads.measures.statistics import bootstrap_interval, mean_difference, mean_of

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


def test_more_certainty_is_wider() -> None:
    narrow, wide = ends(VALUES, level=0.5), ends(VALUES, level=0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@settings(max_examples=20)
@given(shift=st.integers(-100, 100), scale=st.sampled_from([0.25, 2.0, 64.0]))
def test_intervals_move_with_their_values(shift: int, scale: float) -> None:
    """Numbers whose sums are exact: rounding would break ties between resamples and the estimate."""
    values = [0.75, 1.125, 0.875, 1.5, 1.0, 0.625, 1.25, 2.0]
    before = ends(values, resamples=999)
    after = ends([value * scale + shift for value in values], resamples=999)
    assert after == pytest.approx([end * scale + shift for end in before])


def test_nine_in_ten_intervals_at_ninety_percent_hold_the_truth() -> None:
    rng = np.random.default_rng(5)
    intervals = [ends(draw.tolist(), 0.9, 499) for draw in rng.exponential(3.0, size=(300, 40))]
    assert 0.84 < fmean(low <= 3.0 <= high for low, high in intervals) < 0.95


def test_differences_on_the_same_cases_say_more_than_two_means() -> None:
    rising = mean_difference([1, 3, 2, 5], [0, 1, 2, 3])
    swapped = mean_difference([0, 1, 2, 3], [1, 3, 2, 5])
    assert rising
    assert swapped
    assert (rising.mean, rising.n, swapped.mean) == (1.25, 4, -1.25)
    alone = mean_of([1, 3, 2, 5])
    assert alone
    assert alone.bca
    assert rising.bca
    assert rising.bca[1] - rising.bca[0] < alone.bca[1] - alone.bca[0]


@pytest.mark.parametrize("values", [[1.0, float("nan")], [1.0, float("inf")]])
def test_what_has_no_interval_gets_none(values: list[float]) -> None:
    assert bootstrap_interval(values) is None
