"""The next pair teaches most, is balanced over makers, cases, raters and sides, and is quickly chosen."""

import random
from collections import Counter
from itertools import combinations, product
from math import exp

import pytest

from manyheads.arena.pairing import Pairs, PairText
from manyheads.measures.votes import Answer

CASES = [f"c{n}" for n in range(6)]


def entries(makers: int, cases: int = 6) -> list[PairText]:
    return [
        PairText(f"{maker}-{case}", f"c{case}", f"m{maker:03}", f"{maker}-{case}")
        for maker in range(makers)
        for case in range(cases)
    ]


def vote(
    pairs: Pairs, raters: int, most: int, rng: random.Random, spread: float = 0.0
) -> list[tuple[int, str, str]]:
    """What raters in turn are shown; the maker of the higher number wins more often, by `spread`."""
    shown = list[tuple[int, str, str]]()
    for number in range(most):
        rater = number % raters
        if (pair := pairs.next(rater, rng)) is None:
            continue
        left, right = pair
        pairs.show(rater, left, right)
        difference = (int(left.split("-")[0]) - int(right.split("-")[0])) * spread
        pairs.answer(rater, left, right, "left" if rng.random() < 1 / (1 + exp(-difference)) else "right")
        shown.append((rater, left, right))
    return shown


def maker(text: str) -> str:
    return text.split("-")[0]


def case(text: str) -> str:
    return text.split("-")[1]


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_makers_cases_pairs_and_sides_are_balanced(spread: float) -> None:
    shown = vote(Pairs(entries(6)), 5, 300, random.Random(3), spread)
    assert len(shown) == 300
    makers = Counter(maker(each) for _, *pair in shown for each in pair)
    assert max(makers.values()) < 1.5 * min(makers.values())
    cases = Counter(case(left) for _, left, _ in shown)
    assert max(cases.values()) - min(cases.values()) <= 3
    met = Counter(frozenset(map(maker, pair)) for _, *pair in shown)
    assert len(met) == 15
    assert max(met.values()) < 4 * min(met.values())
    lefts = Counter(maker(left) for _, left, _ in shown)
    assert all(abs(2 * lefts[each] - makers[each]) < 0.2 * makers[each] for each in makers)


def test_each_rater_sees_each_pair_once_and_all_of_them() -> None:
    pairs = Pairs(entries(4, 3))
    shown = vote(pairs, 2, 100, random.Random(1))
    every = {frozenset(pair) for pair in combinations((each.id for each in entries(4, 3)), 2)}
    every = {pair for pair in every if len({*map(case, pair)}) == 1}
    for rater in (0, 1):
        mine = [frozenset(pair) for who, *pair in shown if who == rater]
        assert len(mine) == len(every) == pairs.number == 18
        assert {*mine} == every
        assert pairs.left_for(rater) == 0


def test_neither_two_texts_of_one_maker_nor_equal_texts_meet() -> None:
    texts = [
        PairText("a1", "c", "one", "x"), PairText("a2", "c", "one", "y"), PairText("b1", "c", "two", "x"), PairText("b2", "c", "two", "z"),
        PairText("d1", "d", "two", "w"),
    ]  # fmt: skip
    pairs, rng, seen = Pairs(texts), random.Random(1), set[frozenset[str]]()
    assert pairs.number == 3
    while pair := pairs.next(1, rng):
        pairs.show(1, *pair)
        seen.add(frozenset(pair))
    assert seen == {frozenset(each) for each in (("a1", "b2"), ("a2", "b1"), ("a2", "b2"))}


@pytest.mark.parametrize(
    "texts", [[], entries(1), [PairText("a", "c", "one", "x"), PairText("b", "d", "two", "y")]]
)
def test_nothing_to_compare(texts: list[PairText]) -> None:
    assert Pairs(texts).next(1, random.Random(1)) is None


def test_a_pair_that_was_skipped_is_not_counted_as_a_comparison() -> None:
    pairs, rng = Pairs(entries(3, 1)), random.Random(1)
    pairs.show(1, "0-0", "1-0")
    pairs.skip("0-0", "1-0")
    pairs.show(2, "0-0", "2-0")
    pairs.show(2, "1-0", "2-0")
    pair = pairs.next(3, rng)
    assert pair
    assert {*pair} == {"0-0", "1-0"}
    assert pairs.left_for(1) == 2


def test_who_stood_on_the_left_more_often_is_likelier_to_stand_on_the_right() -> None:
    pairs = Pairs(entries(2))
    for name in range(2):
        pairs.show(1, f"0-{name}", f"1-{name}")
    sides = Counter(maker(pair[0]) for seed in range(200) if (pair := pairs.next(2, random.Random(seed))))
    assert sides["1"] > 1.5 * sides["0"]


def test_a_raters_new_answer_on_a_pair_takes_the_place_of_the_old_one() -> None:
    def chosen(*answers: Answer) -> list[tuple[str, str] | None]:
        pairs = Pairs(entries(4))
        for left, right in combinations(range(4), 2):
            for name, answer in product(range(6), answers):
                pairs.show(1, f"{left}-{name}", f"{right}-{name}")
                pairs.answer(1, f"{left}-{name}", f"{right}-{name}", answer)
        return [pairs.next(2, random.Random(seed)) for seed in range(20)]

    assert chosen("left", "right") == chosen("right", "right")
