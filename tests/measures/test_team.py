"""Freshness and diversity of teams, worked by hand."""

import random

import pytest

from manyheads.errors import MeasureError
from manyheads.measures.team import diversity, freshness
from manyheads.papers import Scientist


def member(number: int, *interests: str, met: tuple[int, ...] = ()) -> Scientist:
    together = {f"Scientist{other}": 2 for other in met}
    return Scientist(name=f"Scientist{number}", interests=interests, collaborators=together)


def test_freshness_is_the_share_of_those_who_met_nobody_of_the_team() -> None:
    pair, strangers = [member(0, met=(1,)), member(1, met=(0,))], [member(2, met=(9,)), member(3)]
    assert freshness([*pair, *strangers]) == 0.5
    assert freshness(strangers) == 1
    assert freshness(pair) == 0
    assert freshness([*pair, *strangers, member(4), member(5), member(6), member(7)]) == 0.75


def test_having_written_alone_or_never_together_is_no_meeting() -> None:
    loner = Scientist(name="Scientist0", collaborators={"Scientist0": 3, "Scientist1": 0})
    assert freshness([loner, member(1)]) == 1


def test_diversity_is_the_share_of_those_whose_topics_nobody_shares() -> None:
    team = [member(0, "Robots", "grasping"), member(1, "robots "), member(2, "parsing"), member(3, "proofs")]
    assert diversity(team) == 0.5
    assert diversity(team[1:]) == 1
    assert diversity(team[:2]) == 0


def test_topics_can_be_told_otherwise() -> None:
    team = [member(0, "a"), member(1, "b"), member(2, "c")]
    fields = {"Scientist0": {"vision"}, "Scientist1": {"vision"}, "Scientist2": {"language"}}
    assert diversity(team, lambda one: fields[one.name]) == pytest.approx(1 / 3)


def test_the_order_of_members_does_not_matter() -> None:
    team = [member(0, "a", "b", met=(1,)), member(1, "b", met=(0,)), member(2, "c"), member(3, "d", "e")]
    shuffled = random.Random(1).sample(team, 4)
    assert (freshness(shuffled), diversity(shuffled)) == (freshness(team), diversity(team)) == (0.5, 0.5)


def test_what_cannot_be_told_is_refused() -> None:
    with pytest.raises(MeasureError, match="a team of 1"):
        freshness([member(0, "a")])
    with pytest.raises(MeasureError, match="twice"):
        diversity([member(0, "a"), member(0, "b")])
    with pytest.raises(MeasureError, match="Scientist1, Scientist2: no topics"):
        diversity([member(0, "a"), member(1), member(2)])
