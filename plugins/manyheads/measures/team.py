"""Freshness and diversity of teams (VirSci 2025, §4.4, Figs. 5 and 6), and teams drawn for given values."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain

from manyheads.base.errors import MeasureError
from manyheads.base.papers import People, Scientist
from manyheads.core.results import Part
from manyheads.corpus.scientists import Exploration, raised_row
from manyheads.measures.statistics import enough


@cache
def _folded(interests: tuple[str, ...]) -> frozenset[str]:
    return frozenset(" ".join(one.casefold().split()) for one in interests)


def interests(scientist: Scientist) -> Collection[str]:
    """A scientist's interests, ignoring case and spacing."""
    return _folded(scientist.interests)


def freshness(team: Sequence[Scientist]) -> float:
    """The share of members, 0…1, who have written no paper with any other member before (row of A).

    1: no member has worked with another. Counted by members, as in the paper, not by pairs: one old pair among eight
    strangers makes 0.75.

    Raises:
        MeasureError: fewer than two members.
    """
    _check(team)
    names = [one.name for one in team]
    met = (any(one.collaborators.get(name, 0) > 0 for name in names if name != one.name) for one in team)
    return 1 - sum(met) / len(team)


def diversity(team: Sequence[Scientist]) -> float:
    """The share of members with known interests, 0…1, none of whose interests is one of any other member.

    Raises:
        MeasureError: fewer than two members, or the interests of more than `UNKNOWN` of them are unknown.
    """
    _check(team)
    held = [own for one in team if (own := frozenset(interests(one)))]
    if not enough(len(held), len(team)):
        blank = [one.name for one in team if not interests(one)]
        raise MeasureError(f"{', '.join(blank)}: their topics are unknown")
    holders = Counter(chain.from_iterable(held))
    return sum(all(holders[topic] == 1 for topic in own) for own in held) / len(held)


MEASURES: Mapping[str, Callable[[Sequence[Scientist]], float]] = {
    "freshness": freshness,
    "diversity": diversity,
}


def shares(team: Sequence[Scientist]) -> dict[str, float | None]:
    """Each measure of a team by name; None if undefined."""
    values: dict[str, float | None] = {}
    for name, measure in MEASURES.items():
        try:
            values[name] = measure(team)
        except MeasureError:
            values[name] = None
    return values


class JointPapers(Part):
    """The papers that two people have written together."""

    one: str
    other: str
    papers: int


def joint_papers(people: Sequence[Scientist]) -> list[JointPapers]:
    """The pairs of people who have written papers together, in their order."""
    return [
        JointPapers(one=one.name, other=other.name, papers=papers)
        for place, one in enumerate(people)
        for other in people[place + 1 :]
        if (papers := one.collaborators.get(other.name, 0)) > 0
    ]


# Teams for a given freshness and diversity.


TRIES, LOOKED_AT = 8, 300
"""Teams drawn for a plan, and candidates tried in place of members of each."""


def gap(team: Sequence[Scientist], aims: Mapping[str, float]) -> float:
    """The sum of a team's distances from the aims.

    0 if each is as near as the team's size allows: with three members, one is half of them.
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
    """Candidates for a team with the shares of `aims`, one at a time, none twice.

    Whole teams are drawn around the leader, each member with P_ij as in `bank.scientists.draw`; members are exchanged as long
    as the team comes nearer to the aims. Its candidates are then invited one by one. Those who have not joined by the next
    draw have declined, and a new team is drawn around those who have.

    Args:
        members: those who have joined, the leader first.
    """
    people = People.of(scientists)
    left = raised_row(rng, scientists, members()[0], exploration)
    plan, asked = list[str](), ""
    while left and len(members()) < size:
        if not plan or asked != members()[-1].name:
            plan = _completion(rng, people, members(), left, size, aims)
        asked = plan.pop(0)
        del left[asked]
        yield asked


def _completion(
    rng: random.Random,
    people: People,
    members: Sequence[Scientist],
    left: Mapping[str, float],
    size: int,
    aims: Mapping[str, float],
) -> list[str]:
    """The candidate who brings the team nearest to the aims, of all that were tried."""

    def off(names: Sequence[str]) -> float:
        return gap([*members, *map(people.scientist, names)], aims)

    best: list[str] = []
    for attempt in range(TRIES):
        order = sorted(left, key=lambda name: rng.expovariate(left[name]))  # P_ij, without replacement
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
        hint = "measure two members or more"
        raise MeasureError(f"a team of {len(team)} has no pairs to compare", hint=hint)
    if len({one.name for one in team}) < len(team):
        raise MeasureError("a scientist is in the team twice")
