"""Correlations and agreement: worked by hand, as published, as another library has them, and their laws."""

from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from manyheads.base.errors import RatingError
from manyheads.measures.statistics import agreement, krippendorff_alpha

X, Y = (1.0, 2.0, 3.0, 4.0, 5.0), (2.0, 1.0, 4.0, 3.0, 5.0)


def test_a_correlation_by_hand() -> None:
    # Deviations -2…2 and -1, -2, 1, 0, 2: products 2 + 2 + 0 + 0 + 4 = 8, squares 10 and 10; the ranks are the values.
    found = agreement(X, Y)
    assert found.n == 5
    assert found.pearson.value == pytest.approx(0.8)
    assert found.spearman.value == pytest.approx(0.8)
    assert (found.slope, found.intercept) == (pytest.approx(0.8), pytest.approx(0.6))
    # artanh 0.8 = 1.098612; 1.959964 / √2 = 1.385904; tanh(-0.287292) and tanh(2.484516).
    fisher = found.pearson.fisher
    assert fisher is not None
    assert (fisher.low, fisher.high) == (
        pytest.approx(-0.279640, abs=1e-5),
        pytest.approx(0.986195, abs=1e-5),
    )
    assert found.spearman.fisher is None


def test_ties_share_their_rank() -> None:
    # Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: products 4.5, squares 4.5 and 5, so 4.5 / √22.5.
    assert agreement([1, 2, 2, 3], [1, 2, 3, 4]).spearman.value == pytest.approx(4.5 / 22.5**0.5)


def test_the_same_as_scipy() -> None:
    from scipy.stats import bootstrap, pearsonr, spearmanr

    x = [((i * 37) % 23) + i / 7 for i in range(40)]
    y = [((i * 29) % 17) + x[i] / 3 for i in range(40)]
    found, theirs = agreement(x, y), cast(Any, pearsonr(x, y))
    low, high = theirs.confidence_interval()
    assert found.pearson.value == pytest.approx(theirs.statistic)
    assert found.pearson.fisher is not None
    assert (found.pearson.fisher.low, found.pearson.fisher.high) == (pytest.approx(low), pytest.approx(high))
    assert found.spearman.value == pytest.approx(cast(Any, spearmanr(x, y)).statistic)

    def r(one: Any, other: Any) -> float:
        return cast(Any, pearsonr(one, other)).statistic

    given: Any = {"paired": True, "vectorized": False, "n_resamples": 1000, "method": "percentile", "rng": 5}
    again = cast(Any, bootstrap((x, y), r, **given))
    ours = found.pearson.bootstrap
    assert ours.low == pytest.approx(again.confidence_interval.low, abs=0.03)
    assert ours.high == pytest.approx(again.confidence_interval.high, abs=0.03)
    assert found.pearson.unusable == 0


def test_the_same_seed_gives_the_same_interval() -> None:
    assert agreement(X, Y, seed=3) == agreement(X, Y, seed=3)
    assert agreement(X, Y, seed=3).pearson.unusable != agreement(X, Y, seed=4).pearson.unusable


def test_resamples_without_a_correlation_are_counted() -> None:
    # Of the 27 resamples of three pairs, three are one pair three times.
    found = agreement([1, 2, 3], [1, 3, 2])
    assert found.pearson.unusable == pytest.approx(3 / 27, abs=0.02)
    assert found.pearson.fisher is not None
    assert (found.pearson.fisher.low, found.pearson.fisher.high) == (-1, 1)


def test_a_narrower_level_gives_a_narrower_interval() -> None:
    wide, narrow = agreement(X, Y).pearson, agreement(X, Y, level=0.5).pearson
    assert wide.fisher is not None
    assert narrow.fisher is not None
    assert wide.fisher.low < narrow.fisher.low < narrow.fisher.high < wide.fisher.high
    assert narrow.bootstrap.level == 0.5


@pytest.mark.parametrize(
    ("x", "y", "problem"),
    [
        ([1, 2], [1, 2], "2 texts with score and rating, too few"),
        ([], [], "0 texts"),
        ([1, 2, 3], [5, 5, 5], "the ratings are all 5"),
        ([0.1, 0.1, 0.1], [1, 2, 3], "the scores are all 0.1"),
        ([0.1 + 0.2, 0.3, 0.3], [1, 2, 3], "the scores are all 0.3"),
        ([1, 2, float("nan")], [1, 2, 3], "missing or infinite"),
        ([1, 2, float("inf")], [1, 2, 3], "missing or infinite"),
        ([1, 2, 3], [1, 2, 3, 4], "3 scores cannot be paired with 4"),
    ],
)
def test_what_has_no_correlation_is_refused(x: Sequence[float], y: Sequence[float], problem: str) -> None:
    with pytest.raises(RatingError, match=problem):
        agreement(x, y)


number = st.integers(-1000, 1000).map(float)
pairs = st.lists(st.tuples(number, number), min_size=3, max_size=25)
positive = st.floats(0.01, 100)


def columns(drawn: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    x, y = [a for a, _ in drawn], [b for _, b in drawn]
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    return x, y


def values(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    found = agreement(x, y, resamples=50)
    return found.pearson.value, found.spearman.value


@given(pairs)
def test_either_may_come_first(drawn: list[tuple[float, float]]) -> None:
    x, y = columns(drawn)
    assert values(x, y) == pytest.approx(values(y, x))


@given(pairs.flatmap(lambda drawn: st.tuples(st.just(drawn), st.permutations(drawn))))
def test_the_order_of_texts_does_not_matter(
    drawn: tuple[list[tuple[float, float]], list[tuple[float, float]]],
) -> None:
    first, second = drawn
    assert values(*columns(first)) == pytest.approx(values(*columns(second)))


@given(pairs, positive, number)
def test_scale_and_origin_do_not_matter(
    drawn: list[tuple[float, float]], scale: float, origin: float
) -> None:
    x, y = columns(drawn)
    pearson, spearman = values(x, y)
    assert values([scale * each + origin for each in x], y)[0] == pytest.approx(pearson, abs=1e-6)
    assert values([-scale * each for each in x], y) == pytest.approx((-pearson, -spearman), abs=1e-6)


@given(pairs)
def test_ranks_see_only_the_order(drawn: list[tuple[float, float]]) -> None:
    x, y = columns(drawn)
    assert values([each**3 for each in x], y)[1] == pytest.approx(values(x, y)[1])


@given(pairs)
def test_a_score_goes_together_with_itself(drawn: list[tuple[float, float]]) -> None:
    x, _ = columns(drawn)
    assert values(x, x) == pytest.approx((1, 1))


PUBLISHED = {
    "A": "1 2 3 3 2 1 4 1 2 . . .",
    "B": "1 2 3 3 2 2 4 1 2 5 . 3",
    "C": ". 3 3 3 2 3 4 2 2 5 1 .",
    "D": "1 2 3 3 2 4 4 1 2 5 1 .",
}
"""Four observers, twelve units (Krippendorff 2011, “Computing Krippendorff's Alpha-Reliability”, example C)."""


def by_unit(table: dict[str, str]) -> dict[str, dict[str, float]]:
    units: dict[str, dict[str, float]] = {}
    for rater, row in table.items():
        for unit, cell in enumerate(row.split()):
            if cell != ".":
                units.setdefault(str(unit), {})[rater] = float(cell)
    return units


def test_alpha_as_published() -> None:
    assert krippendorff_alpha(by_unit(PUBLISHED)) == pytest.approx(0.849, abs=5e-4)


def test_alpha_by_hand() -> None:
    # Units (1, 2) and (3, 3). Observed: 2 × 1² = 2 over 4 ratings, 0.5. Expected, over all 12 ordered pairs of 1, 2, 3,
    # 3: 2 × (1 + 4 + 4 + 1 + 1 + 0) / 12 = 22 / 12. Alpha 1 - 6 / 22.
    assert krippendorff_alpha(by_unit({"A": "1 3", "B": "2 3"})) == pytest.approx(1 - 6 / 22)


def test_alpha_of_full_agreement_and_of_none() -> None:
    assert krippendorff_alpha(by_unit({"A": "1 5 9", "B": "1 5 9"})) == 1
    assert (krippendorff_alpha(by_unit({"A": "1 9", "B": "9 1"})) or 0) < 0


@pytest.mark.parametrize("table", [{"A": "1 5 9"}, {"A": "1 .", "B": ". 2"}, {"A": "4 4", "B": "4 4"}])
def test_where_nothing_can_be_said_of_agreement(table: dict[str, str]) -> None:
    assert krippendorff_alpha(by_unit(table)) is None


@given(
    st.lists(st.lists(st.integers(1, 10), min_size=2, max_size=4), min_size=2, max_size=8), positive, number
)
def test_alpha_does_not_mind_scale_origin_or_order(
    units: list[list[int]], scale: float, origin: float
) -> None:
    given_units = {str(n): {str(r): float(v) for r, v in enumerate(unit)} for n, unit in enumerate(units)}
    moved = {
        n: {r: scale * v + origin for r, v in reversed(unit.items())}
        for n, unit in reversed(given_units.items())
    }
    alpha = krippendorff_alpha(given_units)
    assert (alpha is None) == (len({v for unit in units for v in unit}) == 1)
    if alpha is not None:
        assert alpha <= 1
        assert krippendorff_alpha(moved) == pytest.approx(alpha, abs=1e-6)
