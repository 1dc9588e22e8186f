"""How fresh a team is, and how diverse in research (VirSci 2025, §4.4, Figs. 5 and 6), and teams drawn to be so."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import TypeAlias

from manyheads.bank.scientists import Exploration, raised_row
from manyheads.errors import MeasureError
from manyheads.papers import Scientist

Topics: TypeAlias = Callable[[Scientist], Collection[str]]


@cache
def _folded(interests: tuple[str, ...]) -> frozenset[str]:
    return frozenset(" ".join(one.casefold().split()) for one in interests)


def interests(scientist: Scientist) -> Collection[str]:
    """A scientist's interests, whatever their case and spacing."""
    return _folded(scientist.interests)


def freshness(team: Sequence[Scientist]) -> float:
    """The share of members, 0…1, who have written no paper with any other member before (row of A).

    1: nobody has worked with anybody of this team. Counted by members, as the paper says, not by pairs: one old
    pair among eight strangers makes 0.75. One member alone cannot be the only one who has met another.

    Raises:
        MeasureError: fewer than two members.
    """
    _check(team)
    names = [one.name for one in team]
    met = (any(one.collaborators.get(name, 0) > 0 for name in names if name != one.name) for one in team)
    return 1 - sum(met) / len(team)


def diversity(team: Sequence[Scientist], topics: Topics = interests) -> float:
    """The share of members, 0…1, none of whose topics is a topic of any other member.

    Args:
        topics: what a member works on; a sweep that labels scientists otherwise (by cluster, by field) passes its own.

    Raises:
        MeasureError: fewer than two members, or one whose topics are not known.
    """
    _check(team)
    held = [frozenset(topics(one)) for one in team]
    if blank := [one.name for one, own in zip(team, held, strict=True) if not own]:
        raise MeasureError(f"{', '.join(blank)}: no topics are known, so nobody can say whether they differ")
    holders = Counter(chain.from_iterable(held))
    return sum(all(holders[topic] == 1 for topic in own) for own in held) / len(team)


MEASURES: Mapping[str, Callable[[Sequence[Scientist]], float]] = {
    "freshness": freshness,
    "diversity": diversity,
}


def shares(team: Sequence[Scientist]) -> dict[str, float | None]:
    """Each measure of a team by name; None where it cannot be told."""
    values: dict[str, float | None] = {}
    for name, measure in MEASURES.items():
        try:
            values[name] = measure(team)
        except MeasureError:
            values[name] = None
    return values


# Teams of an asked-for freshness and diversity.


TRIES, LOOKED_AT = 8, 300
"""Teams that are drawn for a plan, and candidates of each who are tried in place of others."""


def gap(team: Sequence[Scientist], aims: Mapping[str, float]) -> float:
    """How far a team is from the shares that are asked for, added up.

    0 where each is as near as a team of this size can be: of three members, one is half of them.
    """
    values = shares(team)
    off = (1.0 if (share := values[name]) is None else abs(share - aim) for name, aim in aims.items())
    return sum(max(0.0, round(one - 0.5 / len(team), 9)) for one in off)


def draw_towards(
    rng: random.Random,
    scientists: Sequence[Scientist],
    members: Callable[[], Sequence[Scientist]],
    size: int,
    aims: Mapping[str, float],
    *,
    exploration: Exploration = "uniform",
) -> Iterator[str]:
    """Candidates for a team that is to have the shares of `aims`, one at a time, no one twice.

    Whole teams are drawn around the leader, each member with P_ij as in `bank.scientists.draw`; members of a team that is off the
    aims are exchanged for others as long as it comes nearer. Its candidates are asked one by one. Whoever has not joined by the
    time of the next draw has declined, and a team is drawn anew around those who have.

    Args:
        members: those who have joined so far, the leader first.
    """
    known = {one.name: one for one in scientists}
    left = raised_row(rng, scientists, members()[0], exploration)
    plan, asked = list[str](), ""
    while left and len(members()) < size:
        if not plan or asked != members()[-1].name:
            plan = _completion(rng, known, members(), left, size, aims)
        asked = plan.pop(0)
        del left[asked]
        yield asked


def _completion(
    rng: random.Random,
    known: Mapping[str, Scientist],
    members: Sequence[Scientist],
    left: Mapping[str, float],
    size: int,
    aims: Mapping[str, float],
) -> list[str]:
    """Who of those left makes, with the members, the team that is nearest to the aims of all that were tried."""

    def off(names: Sequence[str]) -> float:
        return gap([*members, *(known[name] for name in names)], aims)

    best: list[str] = []
    for attempt in range(TRIES):
        order = sorted(left, key=lambda name: rng.expovariate(left[name]))  # P_ij, without putting back
        team, others = order[: size - len(members)], order[size - len(members) :][:LOOKED_AT]
        while current := off(team):
            exchanges = ([*team[:i], other, *team[i + 1 :]] for other in others for i in range(len(team)))
            nearer = next((one for one in exchanges if off(one) < current), None)
            if nearer is None:
                break
            team = nearer
        if attempt == 0 or off(team) < off(best):
            best = team
        if not off(best):
            break
    return best


def _check(team: Sequence[Scientist]) -> None:
    if len(team) < 2:
        raise MeasureError(f"a team of {len(team)} has nobody to compare with", hint="measure two or more")
    if len({one.name for one in team}) < len(team):
        raise MeasureError("a scientist stands twice in the team")
