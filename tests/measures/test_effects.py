"""Means, standard errors and differences, by hand."""

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.errors import MeasureError
from manyheads.measures.effects import by_group, mean_difference, mean_of

VALUES = st.lists(st.floats(-1e3, 1e3).map(lambda value: round(value, 3)), min_size=2, max_size=12)


def test_mean_and_standard_error() -> None:
    found = mean_of([1, 2, 3, 6])
    assert found
    assert (found.n, found.mean) == (4, 3)
    assert found.se == pytest.approx(sqrt(14 / 3) / 2)
    assert found.low is not None
    assert found.high is not None
    assert 1 <= found.low < 3 < found.high <= 6


def test_nothing_is_said_of_no_values_and_little_of_one() -> None:
    assert mean_of([]) is None
    found = mean_of([2.5])
    assert found
    assert (found.n, found.mean, found.se, found.low, found.high) == (1, 2.5, None, None, None)
    assert found.why == "one value says nothing of how much values vary"


@given(VALUES)
def test_a_constant_difference_is_certain_whatever_the_values_are(values: list[float]) -> None:
    found = mean_difference([value + 0.5 for value in values], values)
    assert found
    assert found.mean == pytest.approx(0.5)
    assert found.se == pytest.approx(0, abs=1e-9)


def test_pairs_tell_more_than_two_means() -> None:
    first, second = [1.0, 5.0, 9.0, 14.0], [0.0, 4.0, 8.5, 12.5]
    together, alone = mean_difference(first, second), mean_of(first)
    assert together
    assert alone
    assert together.mean == 1.0
    assert together.se == pytest.approx(sqrt(0.5 / 3) / 2)
    assert together.low is not None
    assert together.low > 0
    assert alone.se
    assert alone.se > 5 * (together.se or 1)


def test_other_cases_are_no_pairs() -> None:
    with pytest.raises(MeasureError, match="3 values cannot be paired with 2"):
        mean_difference([1, 2, 3], [1, 2])


def test_groups() -> None:
    values = {("a", 0): 1.0, ("a", 1): 3.0, ("b", 0): 5.0}
    assert by_group(values, lambda place: place[0]) == {"a": 2.0, "b": 5.0}
