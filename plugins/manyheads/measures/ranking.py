"""The relative quality ranking, and how far it hangs on the order in which ideas are shown (§3.2, App. A.3.1)."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from manyheads.errors import MeasureError
from manyheads.measures.agreement import kendall_w

RESAMPLES = 1_999
"""Designs that are drawn anew to tell a bias from chance."""


@dataclass(frozen=True, slots=True)
class PositionBias:
    """What the place in which an idea was shown does to its rank, over all orders of one set of k ideas.

    Attributes:
        bias: mean Spearman correlation of place and rank, -1 to 1: above 0, what is shown early ranks better; 0 is none.
            So many ranks worse is an idea that is shown one place later. A favour for the middle leaves it at 0, and
            shows in `by_place`.
        p: share of randomly drawn orders under which the same rankings come out at least as biased, 0 to 1.
        by_place: mean rank, 1 to k, of what stood in each place, the first place first; (k + 1) / 2 without bias.
        consistency: Kendall's W of the rankings, 0 to 1: 1 where the order changes nothing; None of a single order.
        orders: how many have a ranking.
    """

    bias: float
    p: float
    by_place: tuple[float, ...]
    consistency: float | None
    orders: int


def relative_quality(rank: int, ideas: int) -> float:
    """S = (n_t - 1) / n: the share of the n ideas that are ranked above the target (Eq. 3), 0 to 1.

    Args:
        rank: n_t, the target's rank among itself and the ideas, 1 to n + 1.
        ideas: n.

    Raises:
        MeasureError: no ideas, or a rank that there is not.
    """
    if ideas < 1 or not 1 <= rank <= ideas + 1:
        raise MeasureError(f"rank {rank} beside {ideas} ideas: there is none such")
    return (rank - 1) / ideas


def orders_of(size: int, count: int, rng: random.Random) -> list[tuple[int, ...]]:
    """In which orders 0, …, size - 1 are shown: the rows of random Latin squares, one square after another.

    Every `size` orders put each idea in each place once, so that place and idea are told apart.

    Raises:
        MeasureError: there is nothing to show.
    """
    if size < 1:
        raise MeasureError("no orders of no ideas")
    found: list[tuple[int, ...]] = []
    while len(found) < count:
        ideas, places, rows = (rng.sample(range(size), size) for _ in range(3))
        found += [tuple(ideas[(row + place) % size] for place in places) for row in rows]
    return found[:count]


def position_bias(
    shown: Sequence[Sequence[int]],
    ranked: Sequence[Sequence[int] | None],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PositionBias:
    """How far rankings of one set of ideas follow the places in which these were shown.

    The p-value is that of a randomisation test: rankings that do not depend on places go with any orders that
    `orders_of` draws.

    Args:
        shown: all orders that were drawn, each the ideas 0, …, k - 1 from the first place to the last.
        ranked: for each order, the same ideas from the best to the worst; None for one without a ranking, whose place
            among the drawn orders the test has to know.
        resamples: how often orders are drawn anew for the test.
        seed: of these.

    Raises:
        MeasureError: no rankings, fewer than two ideas, or a ranking that holds other ideas than were shown.
    """
    _check(shown, ranked)
    size, rng = len(shown[0]), random.Random(seed)
    pairs = [(order, ranks_of(each)) for order, each in zip(shown, ranked, strict=True) if each is not None]
    at = [place for place, each in enumerate(ranked) if each is not None]
    ranks = [rank for _, rank in pairs]
    bias = _bias([order for order, _ in pairs], ranks)
    designs = (orders_of(size, len(shown), rng) for _ in range(resamples))
    drawn = (_bias([design[place] for place in at], ranks) for design in designs)
    as_large = sum(abs(other) >= abs(bias) - 1e-12 for other in drawn)
    by_place = tuple(fmean(rank[order[place]] + 1 for order, rank in pairs) for place in range(size))
    return PositionBias(bias, (1 + as_large) / (1 + resamples), by_place, kendall_w(ranks), len(pairs))


def ranks_of(order: Sequence[int]) -> list[int]:
    """From things in their order, best first, to each thing's rank, from 0."""
    places = [0] * len(order)
    for place, idea in enumerate(order):
        places[idea] = place
    return places


def _check(shown: Sequence[Sequence[int]], ranked: Sequence[Sequence[int] | None]) -> None:
    size = len(shown[0]) if shown else 0
    every, whole = list(range(size)), [each for each in ranked if each is not None]
    if size < 2 or not whole or len(shown) != len(ranked):
        raise MeasureError(
            "a bias of places needs two or more ideas, and rankings of them in the orders shown"
        )
    if any(sorted(each) != every for each in (*shown, *whole)):
        raise MeasureError(f"an order or ranking does not hold each of the {size} ideas once")


def _bias(shown: Sequence[Sequence[int]], ranks: Sequence[Sequence[int]]) -> float:
    """Mean Spearman correlation of two permutations: 1 - 6 Σ d² / (k (k² - 1))."""
    size = len(shown[0])
    squares = (
        sum((place - rank[idea]) ** 2 for place, idea in enumerate(order))
        for order, rank in zip(shown, ranks, strict=True)
    )
    return fmean(1 - 6 * total / (size * (size**2 - 1)) for total in squares)
