"""Intervals: around the estimate, the same for the same seed, and right as often as they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyheads.errors import MeasureError
from manyheads.measures.agreement import Interval, interval, paired

VALUES = [0.8, 1.1, 0.9, 1.4, 1.0, 0.7, 1.3, 1.2]


def test_an_interval_lies_around_the_estimate_and_can_be_had_again() -> None:
    found = interval(VALUES)
    assert (found.estimate, found.n, found.level) == (pytest.approx(1.05), 8, 0.95)
    assert min(VALUES) < found.low < found.estimate < found.high < max(VALUES)
    assert interval(VALUES) == found
    assert interval(VALUES, seed=1) != found


def test_the_means_of_all_resamples_of_two_values_give_the_ends() -> None:
    """0 and 1 resampled: the mean is 0, 1/2 or 1 with 1/4, 1/2, 1/4, so 95% reach from 0 to 1 and 40% stay at 1/2."""
    assert interval([0, 1]) == Interval(0.5, 0, 1, 2, 0.95)
    assert interval([0, 1], level=0.4) == Interval(0.5, 0.5, 0.5, 2, 0.4)


def test_more_certainty_is_wider() -> None:
    narrow, wide = interval(VALUES, level=0.5), interval(VALUES, level=0.99)
    assert wide.low < narrow.low
    assert narrow.high < wide.high


def test_another_statistic() -> None:
    found = interval(VALUES, statistic=np.median)
    assert found.estimate == pytest.approx(1.05)
    assert found != interval(VALUES)


def test_equal_values_leave_nothing_uncertain() -> None:
    assert interval([2.5, 2.5, 2.5]) == Interval(2.5, 2.5, 2.5, 3, 0.95)


@settings(max_examples=20)
@given(shift=st.integers(-100, 100), scale=st.sampled_from([0.25, 2.0, 64.0]))
def test_intervals_move_with_their_values(shift: int, scale: float) -> None:
    """Numbers whose sums are exact: rounding would break ties between resamples and the estimate."""
    values = [0.75, 1.125, 0.875, 1.5, 1.0, 0.625, 1.25, 2.0]
    before = interval(values, resamples=999)
    after = interval([value * scale + shift for value in values], resamples=999)
    assert (after.low, after.high) == pytest.approx((before.low * scale + shift, before.high * scale + shift))


def test_nine_in_ten_intervals_at_ninety_percent_hold_the_truth() -> None:
    rng = np.random.default_rng(5)
    draws = rng.exponential(3.0, size=(300, 40))
    found = [interval(draw.tolist(), level=0.9, resamples=499) for draw in draws]
    held = np.mean([one.low <= 3.0 <= one.high for one in found])
    assert 0.84 < held < 0.95


def test_differences_on_the_same_cases() -> None:
    before, after = VALUES, [value + 0.1 for value in VALUES]
    found = paired(after, before)
    assert found.n == 8
    assert (found.low, found.estimate, found.high) == pytest.approx((0.1, 0.1, 0.1))
    apart = interval(after)
    assert found.high - found.low < apart.high - apart.low
    rising = paired([1, 3, 2, 5], [0, 1, 2, 3])
    assert (rising.estimate, rising.n) == (1.25, 4)
    swapped = paired([0, 1, 2, 3], [1, 3, 2, 5])
    assert swapped.estimate == -1.25


@pytest.mark.parametrize(
    ("values", "level", "said"),
    [
        ([], 0.95, "no values say nothing"),
        ([1.0], 0.95, "one value says nothing of how much values vary"),
        ([1.0, float("nan")], 0.95, "missing or infinite"),
        ([1.0, float("inf")], 0.95, "missing or infinite"),
        ([1.0, 2.0], 1.0, "no interval at level 1"),
    ],
)
def test_what_has_no_interval_is_refused_with_words(values: list[float], level: float, said: str) -> None:
    with pytest.raises(MeasureError, match=said):
        interval(values, level=level)


def test_different_cases_cannot_be_paired() -> None:
    with pytest.raises(MeasureError, match="2 values cannot be paired with 3"):
        paired([1, 2], [1, 2, 3])
