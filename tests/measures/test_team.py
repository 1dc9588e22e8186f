"""Freshness and diversity of teams, worked by hand."""

import random
from collections import Counter
from collections.abc import Mapping

import pytest

from manyheads.base.errors import MeasureError
from manyheads.base.papers import Scientist
from manyheads.measures.team import MEASURES, diversity, draw_towards, freshness, gap

GROUPS = 6


def member(number: int, *interests: str, met: tuple[int, ...] = ()) -> Scientist:
    together = {f"Scientist{other}": 2 for other in met}
    return Scientist(name=f"Scientist{number}", interests=interests, collaborators=together)


def test_freshness_is_the_share_of_those_who_met_nobody_of_the_team() -> None:
    pair, strangers = [member(0, met=(1,)), member(1, met=(0,))], [member(2, met=(9,)), member(3)]
    assert freshness([*pair, *strangers]) == 0.5
    assert freshness(strangers) == 1
    assert freshness(pair) == 0
    assert freshness([*pair, *strangers, member(4), member(5), member(6), member(7)]) == 0.75


def test_diversity_is_the_share_of_those_whose_topics_nobody_shares() -> None:
    team = [member(0, "Robots", "grasping"), member(1, "robots "), member(2, "parsing"), member(3, "proofs")]
    assert diversity(team) == 0.5
    assert diversity(team[1:]) == 1
    assert diversity(team[:2]) == 0


def test_a_member_without_topics_is_left_out_of_the_diversity_of_five() -> None:
    team = [member(0, "a"), member(1, "a"), member(2, "b"), member(3, "c")]
    assert diversity([*team, member(4)]) == 0.5
    with pytest.raises(MeasureError, match="Scientist4"):
        diversity([*team[:3], member(4)])


def test_what_cannot_be_told_is_refused() -> None:
    with pytest.raises(MeasureError, match="a team of 1"):
        freshness([member(0, "a")])
    with pytest.raises(MeasureError, match="twice"):
        diversity([member(0, "a"), member(0, "b")])
    with pytest.raises(MeasureError, match=r"Scientist1, Scientist2: .*topics"):
        diversity([member(0, "a"), member(1), member(2)])


# Teams drawn towards shares, out of groups of four who have met and share an interest.


def everybody() -> list[Scientist]:
    def group(number: int) -> range:
        return range(number - number % 4, number - number % 4 + 4)

    return [
        member(n, f"field {n // 4}", met=tuple(other for other in group(n) if other != n))
        for n in range(4 * GROUPS)
    ]


def team_drawn(seed: int, size: int, aims: Mapping[str, float], *declining: int) -> list[Scientist]:
    everyone, rng = everybody(), random.Random(seed)
    team, known = [rng.choice(everyone)], {one.name: one for one in everyone}
    asked = list[str]()
    for name in draw_towards(rng, everyone, lambda: team, size, aims):
        asked.append(name)
        if len(asked) - 1 not in declining:
            team.append(known[name])
    assert len({*asked, team[0].name}) == len(asked) + 1, "nobody is asked twice, nor the leader"
    return team


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("aim", [0, 0.25, 0.5, 1])
@pytest.mark.parametrize("size", [4, 8])
def test_a_team_has_the_share_that_is_asked_for(name: str, aim: float, size: int) -> None:
    if size == 8 and aim == 1:
        pytest.skip("there are six groups")
    for seed in range(5):
        team = team_drawn(seed, size, {name: aim})
        assert len(team) == size
        assert MEASURES[name](team) == aim


def test_those_who_decline_are_made_up_for() -> None:
    for seed in range(5):
        assert freshness(team_drawn(seed, 4, {"freshness": 0.5}, 0, 2)) == 0.5


def test_a_share_that_no_team_has_leaves_a_gap() -> None:
    """Nobody alone can have met another."""
    team = team_drawn(0, 4, {"freshness": 0.75})
    assert gap(team, {"freshness": 0.75}) > 0
    assert freshness(team) in (0.5, 1)


def test_an_aim_that_every_team_meets_leaves_the_draw_to_the_joint_papers() -> None:
    """P_ij: of those who share no interest, who has written eight papers with the leader is asked first nine times as often."""
    everyone = [member(n, f"field {n}") for n in range(10)]
    everyone[0] = everyone[0].model_copy(update={"collaborators": {"Scientist1": 8}})
    first = Counter(
        next(draw_towards(random.Random(seed), everyone, lambda: everyone[:1], 3, {"diversity": 1}))
        for seed in range(600)
    )
    assert first["Scientist1"] / 600 == pytest.approx(9 / 17, abs=0.06)
    assert len(first) == 9
