"""Means, standard errors, differences and intervals: by hand, and as often right as they say."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.base.errors import MeasureError
from manyheads.measures.statistics import bootstrap_interval, group_means, mean_difference, mean_of


def test_mean_and_standard_error() -> None:
    found = mean_of([1, 2, 3, 6])
    assert found
    assert (found.n, found.mean) == (4, 3)
    assert found.se == pytest.approx(sqrt(14 / 3) / 2)
    half = 3.182446 * sqrt(14 / 3) / 2
    assert (found.method, found.low, found.high) == ("t", pytest.approx(3 - half), pytest.approx(3 + half))


def test_nothing_is_said_of_no_values_and_little_of_one() -> None:
    assert mean_of([]) is None
    found = mean_of([2.5])
    assert found
    assert (found.n, found.mean, found.se, found.low, found.high) == (1, 2.5, None, None, None)
    assert found.why == "one value has no variation"


@pytest.mark.parametrize("values", [[1.0] * 4, [0.25] * 20])
def test_equal_values_have_no_interval_without_width(values: list[float]) -> None:
    """Four targets that all rank last do not make sure that every target would."""
    for found in (
        mean_of(values, within=(0, 1)),
        mean_difference(values, [0.0] * len(values), within=(0, 1)),
    ):
        assert found
        assert (found.mean, found.se, found.low, found.high) == (values[0], 0, None, None)
        assert "equal values" in (found.why or "")


def test_other_cases_are_no_pairs() -> None:
    with pytest.raises(MeasureError, match="3 values cannot be paired with 2"):
        mean_difference([1, 2, 3], [1, 2])


def test_groups() -> None:
    values = {("a", 0): 1.0, ("a", 1): 3.0, ("b", 0): 5.0}
    assert group_means(values, lambda place: place[0]) == [2.0, 5.0]


def test_from_ten_values_on_the_bootstraps_interval_is_the_interval() -> None:
    values = [0.0, 1, 2, 3, 4, 5, 6, 7, 30, 8]
    few, many = mean_of(values[:9]), mean_of(values)
    assert few
    assert many
    assert (few.method, many.method) == ("t", "BCa")
    assert (many.low, many.high) == bootstrap_interval(values)


@given(st.integers(0, 12), st.integers(1, 12))
def test_a_share_has_an_interval_with_width_that_holds_it(having: int, lacking: int) -> None:
    found = mean_of([1.0] * having + [0.0] * lacking, share=True)
    assert found
    assert found.low is not None
    assert found.high is not None
    assert -1e-12 <= found.low <= found.mean <= found.high <= 1 + 1e-12
    assert found.high - found.low > 0.2
    turned = mean_of([0.0] * having + [1.0] * lacking, share=True)
    assert turned
    assert turned.low == pytest.approx(1 - found.high)


def test_no_interval_passes_the_ends_of_a_scale() -> None:
    found = mean_of([0.2, 1.0, 0.9], within=(0, 1))
    assert found
    assert (found.low, found.high) == (0, 1)
    apart = mean_difference([0.2, 1.0, 0.9], [0.9, 0.1, 0.2], within=(0, 1))
    assert apart
    assert (apart.low, apart.high) == (-1, 1)
    inside = mean_of([0.5, 0.6, 0.4], within=(0, 1))
    assert inside == mean_of([0.5, 0.6, 0.4])


def test_a_share_by_hand() -> None:
    """Wilson's interval of 8 of 10 is 0.490 to 0.943."""
    found = mean_of([1.0] * 8 + [0.0] * 2, share=True)
    assert found
    assert (found.method, found.mean, found.se) == ("Wilson", 0.8, pytest.approx(sqrt(0.16 / 10)))
    assert (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    one = mean_of([1.0], share=True)
    assert one
    assert (one.se, one.low) == (None, pytest.approx(0.2065, abs=1e-4))
    assert mean_of([], share=True) is None


# Bootstrap intervals.

EIGHT = [0.8, 1.1, 0.9, 1.4, 1.0, 0.7, 1.3, 1.2]


def ends(
    values: Sequence[float], level: float = 0.95, resamples: int = 9_999, seed: int = 0
) -> tuple[float, float]:
    interval = bootstrap_interval(values, level=level, resamples=resamples, seed=seed)
    assert interval is not None
    return interval


def test_an_interval_lies_around_the_mean_and_can_be_had_again() -> None:
    low, high = ends(EIGHT)
    assert min(EIGHT) < low < fmean(EIGHT) < high < max(EIGHT)
    assert ends(EIGHT) == (low, high)
    assert ends(EIGHT, seed=1) != (low, high)


def test_the_means_of_all_resamples_of_two_values_give_the_ends() -> None:
    """0 and 1 resampled: the mean is 0, 1/2 or 1 with 1/4, 1/2, 1/4, so 95% reach from 0 to 1 and 40% stay at 1/2."""
    assert ends([0, 1]) == (0, 1)
    assert ends([0, 1], level=0.4) == (0.5, 0.5)


@pytest.mark.slow
def test_nine_in_ten_intervals_at_ninety_percent_hold_the_truth() -> None:
    rng = np.random.default_rng(5)
    intervals = [ends(draw.tolist(), 0.9, 499) for draw in rng.exponential(3.0, size=(300, 40))]
    assert 0.84 < fmean(low <= 3.0 <= high for low, high in intervals) < 0.95


@pytest.mark.parametrize("values", [[1.0, float("nan")], [1.0, float("inf")]])
def test_what_has_no_interval_gets_none(values: list[float]) -> None:
    assert bootstrap_interval(values) is None
