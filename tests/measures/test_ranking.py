"""The relative quality ranking: by hand, and for any ideas, orders and rankings."""

import random
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.base.errors import MeasureError
from manyheads.measures.ranking import orders_of, position_bias, relative_quality
from manyheads.measures.statistics import kendall_w

SIZES = st.integers(2, 7)
SQUARE = [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
"""Each of three ideas in each place once."""


def test_s_is_the_share_of_ideas_above_the_target() -> None:
    assert [relative_quality(rank, 4) for rank in range(1, 6)] == [0, 0.25, 0.5, 0.75, 1]


@pytest.mark.parametrize(("rank", "ideas"), [(0, 3), (5, 3), (1, 0), (-1, 3)])
def test_a_rank_that_there_is_not_is_refused(rank: int, ideas: int) -> None:
    with pytest.raises(MeasureError, match=f"rank {rank}: out of range for {ideas} ideas"):
        relative_quality(rank, ideas)


@given(SIZES, st.integers(0, 20), st.integers())
def test_orders_are_whole_as_even_as_they_can_be_and_come_again(size: int, count: int, seed: int) -> None:
    orders = orders_of(size, count, random.Random(seed))
    assert orders == orders_of(size, count, random.Random(seed))
    assert len(orders) == count
    assert all(sorted(order) == list(range(size)) for order in orders)
    stood = Counter((place, idea) for order in orders for place, idea in enumerate(order))
    often = [stood[place, idea] for place in range(size) for idea in range(size)]
    assert max(often) - min(often) <= 1


@given(SIZES, st.integers(1, 8), st.integers(0, 99))
def test_a_judge_who_reads_off_the_order_is_wholly_biased(size: int, count: int, seed: int) -> None:
    orders = orders_of(size, count, random.Random(seed))
    early = position_bias(orders, orders, resamples=99)
    late = position_bias(orders, [order[::-1] for order in orders], resamples=99)
    assert (early.bias, late.bias) == (pytest.approx(1), pytest.approx(-1))
    assert early.by_place == tuple(range(1, size + 1)) == late.by_place[::-1]
    assert early.orders == count


def test_a_square_by_hand() -> None:
    """Ranks 0 1 2, 0 2 1 and 1 0 2 of ideas 0, 1, 2; places as in the square."""
    ranked = [(0, 1, 2), (0, 2, 1), (1, 0, 2)]
    found = position_bias(SQUARE, ranked)
    # Place less rank of ideas 0, 1, 2: 0, 0, 0; then 2 - 0, 0 - 2, 1 - 1; then 1 - 1, 2 - 0, 0 - 2.
    assert found.bias == pytest.approx(fmean([1 - 6 * 0 / 24, 1 - 6 * 8 / 24, 1 - 6 * 8 / 24]))
    # In the first place stood ideas 0, 1 and 2, which came to ranks 1, 3 and 3.
    assert found.by_place == pytest.approx(((1 + 3 + 3) / 3, (2 + 2 + 2) / 3, (3 + 1 + 1) / 3))
    # Rank sums of the ideas 4, 6, 8 about 6: 12 × 8 / (9 × 24).
    assert found.consistency == pytest.approx(12 * 8 / (9 * 24))


def rankings(
    orders: Sequence[Sequence[int]], pull: float, rng: random.Random, merit: float = 1
) -> list[tuple[int, ...]]:
    """A judge to whom ideas differ in merit, who is drawn to early places by `pull`, and who wavers."""
    size = len(orders[0])
    worth = [rng.gauss(0, merit) for _ in range(size)]
    found: list[tuple[int, ...]] = []
    for order in orders:
        seen = {idea: worth[idea] + rng.gauss(0, 1) - pull * place for place, idea in enumerate(order)}
        found.append(tuple(sorted(seen, key=seen.__getitem__, reverse=True)))
    return found


def p_values(pull: float, orders: int, sets: int, failing: frozenset[int] = frozenset()) -> list[float]:
    rng = random.Random(4)
    found: list[float] = []
    for seed in range(sets):
        shown = orders_of(4, orders, rng)
        ranked = [None if place in failing else each for place, each in enumerate(rankings(shown, pull, rng))]
        found.append(position_bias(shown, ranked, resamples=199, seed=seed).p)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("orders", "failing"), [(4, {}), (6, {}), (8, {0, 5})])
def test_without_bias_small_p_values_are_as_rare_as_they_say(orders: int, failing: set[int]) -> None:
    """Also where the last square is not whole, and where orders have no ranking."""
    found = p_values(0, orders, 200, frozenset(failing))
    for level in (0.05, 0.2, 0.5):
        assert fmean(p <= level for p in found) <= level + 3 * (level * (1 - level) / len(found)) ** 0.5


def test_a_planted_bias_is_found_and_has_its_sign() -> None:
    assert fmean(p <= 0.05 for p in p_values(1.0, 8, 40)) > 0.8
    rng = random.Random(1)
    shown = orders_of(4, 8, rng)
    assert position_bias(shown, rankings(shown, 2, rng)).bias > 0.3
    assert position_bias(shown, rankings(shown, -2, rng)).bias < -0.3


def test_orders_without_a_ranking_are_left_out_of_all_but_the_test() -> None:
    ranked = [(0, 1, 2), None, (1, 0, 2)]
    found = position_bias(SQUARE, ranked)
    whole = position_bias([SQUARE[0], SQUARE[2]], [(0, 1, 2), (1, 0, 2)])
    assert (found.bias, found.by_place, found.consistency) == (whole.bias, whole.by_place, whole.consistency)
    assert found.orders == 2


def test_the_test_knows_which_of_the_drawn_orders_have_no_ranking() -> None:
    """Of two squares of two ideas one order each is left: by chance these are the same, and the best first, in 1 of 4.

    Were they taken for two orders of one square, which always differ, the same finding would seem impossible by chance.
    """
    shown = [(0, 1), (1, 0), (0, 1), (1, 0)]
    found = position_bias(shown, [(0, 1), None, (0, 1), None])
    assert found.bias == 1
    assert found.p == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("shown", "ranked", "told"),
    [
        ([], [], "needs two or more ideas"),
        ([(0,)], [(0,)], "needs two or more ideas"),
        ([(0, 1)], [None], "needs two or more ideas"),
        ([(0, 1), (1, 0)], [(0, 1)], "rankings of them in the orders shown"),
        ([(0, 1, 2)], [(0, 1)], "each of the 3 ideas once"),
        ([(0, 1, 2)], [(0, 1, 1)], "each of the 3 ideas once"),
    ],
)
def test_what_is_no_ranking_is_refused(
    shown: Sequence[Sequence[int]], ranked: Sequence[Sequence[int] | None], told: str
) -> None:
    with pytest.raises(MeasureError, match=told):
        position_bias(shown, ranked)


def test_kendalls_w_of_a_worked_example() -> None:
    """Three judges and six things, whose rank sums have the mean 10.5."""
    ranks = [[1, 6, 3, 2, 5, 4], [1, 5, 6, 4, 2, 3], [6, 3, 2, 5, 4, 1]]
    sums = [8, 14, 11, 11, 11, 8]
    assert [sum(column) for column in zip(*ranks, strict=True)] == sums
    squares = 2.5**2 + 3.5**2 + 3 * 0.5**2 + 2.5**2
    assert (
        kendall_w(ranks) == pytest.approx(12 * squares / (9 * (216 - 6))) == pytest.approx(0.16190, abs=1e-5)
    )
