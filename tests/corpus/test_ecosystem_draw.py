"""Drawing candidates by P_ij (VirSci 2025, §3.1, App. D.4, Eq. 7)."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.base.papers import Scientist
from manyheads.corpus.scientists import Exploration, draw, raised_row

DRAWS = 8_000


def group_of(shared: Sequence[int]) -> list[Scientist]:
    """Scientist0, who has written `shared[j]` papers with Scientist(j + 1), and these."""
    together = {f"Scientist{j + 1}": count for j, count in enumerate(shared) if count}
    peers = [Scientist(name=f"Scientist{j + 1}") for j in range(len(shared))]
    return [Scientist(name="Scientist0", collaborators=together), *peers]


def first_draws(shared: Sequence[int], exploration: Exploration) -> list[float]:
    rng, group = random.Random(7), group_of(shared)
    counts = Counter(next(draw(rng, group, group[0], exploration=exploration)) for _ in range(DRAWS))
    return [counts[f"Scientist{j + 1}"] / DRAWS for j in range(len(shared))]


@pytest.mark.parametrize(("exploration", "raise_by"), [("uniform", 1), ("none", 0)])
def test_frequencies_follow_the_raised_row(exploration: Exploration, raise_by: int) -> None:
    shared = [0, 1, 3, 6]
    raised = [count + raise_by for count in shared]
    expected = [weight / sum(raised) for weight in raised]
    assert first_draws(shared, exploration) == pytest.approx(expected, abs=0.015)


def test_frequencies_follow_the_normal_increment() -> None:
    shared = np.array([0, 1, 3, 6])
    raised = shared + np.abs(np.random.default_rng(0).normal(1, 1, (200_000, 4)))
    expected = (raised / raised.sum(axis=1, keepdims=True)).mean(axis=0)
    assert first_draws(shared.tolist(), "normal") == pytest.approx(expected.tolist(), abs=0.015)


def test_frequencies_follow_the_small_increment() -> None:
    """On a row of sum 1: |x|, x ~ N(0.005, 0.005), at most 0.01."""
    shared = np.array([0, 1, 3, 6])
    small = np.minimum(np.abs(np.random.default_rng(0).normal(0.005, 0.005, (200_000, 4))), 0.01)
    raised = shared / 10 + small
    expected = (raised / raised.sum(axis=1, keepdims=True)).mean(axis=0)
    drawn = first_draws(shared.tolist(), "small")
    assert drawn == pytest.approx(expected.tolist(), abs=0.015)
    assert 0.002 < drawn[0] < 0.008


def test_history_goes_two_steps() -> None:
    """0.3 times the rows of the leader's collaborators, beside the leader's own."""
    rows = {"L": {"A": 2}, "A": {"L": 2, "B": 4}, "B": {"A": 4, "C": 9}, "C": {"B": 9}}
    group = [Scientist(name=name, collaborators=row) for name, row in rows.items()]
    assert raised_row(random.Random(0), group, group[0], "history") == {"A": 2, "B": pytest.approx(1.2)}


class Downwards(random.Random):
    """Draws the same increment for everybody, and notes the weights that candidates are drawn by."""

    def __init__(self, increment: float) -> None:
        super().__init__(0)
        self.increment, self.weights = increment, list[list[float]]()

    def normalvariate(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        assert (mu, sigma) == (1, 1)
        return self.increment

    def choices(
        self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1
    ) -> list[Any]:
        self.weights.append(list(weights))
        return super().choices(population, weights, cum_weights=cum_weights, k=k)


def test_an_increment_below_zero_counts_as_its_absolute_value() -> None:
    """Eq. 7: |x|, x ~ N(1, 1)."""
    rng = Downwards(-0.5)
    group = group_of([0, 1, 3])
    next(draw(rng, group, group[0], exploration="normal"))
    assert rng.weights == [[0.5, 1.5, 3.5]]


def test_the_second_draw_is_renormalised_over_those_left() -> None:
    rng, group = random.Random(3), group_of([0, 1, 3])
    seconds = Counter[str]()
    for _ in range(DRAWS):
        first, second, _ = draw(rng, group, group[0], exploration="uniform")
        if first == "Scientist3":
            seconds[second] += 1
    assert seconds["Scientist2"] / seconds.total() == pytest.approx(2 / 3, abs=0.02)


@given(
    shared=st.lists(st.integers(0, 5), max_size=8),
    seed=st.integers(),
    exploration=st.sampled_from(get_args(Exploration)),
)
def test_no_repeats_never_the_leader_and_the_seed_decides(
    shared: list[int], seed: int, exploration: Exploration
) -> None:
    group = group_of(shared)
    drawn = list(draw(random.Random(seed), group, group[0], exploration=exploration))
    assert drawn == list(draw(random.Random(seed), group, group[0], exploration=exploration))
    reachable = [j for j, count in enumerate(shared) if count or exploration not in ("none", "history")]
    assert sorted(drawn) == sorted(f"Scientist{j + 1}" for j in reachable)
