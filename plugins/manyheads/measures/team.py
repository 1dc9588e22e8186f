"""What a team is like before it starts: how fresh, and how diverse in research (VirSci 2025, §4.4, Figs. 5 and 6)."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence, Set
from itertools import chain
from typing import TypeAlias

from manyheads.errors import MeasureError
from manyheads.papers import Scientist

Topics: TypeAlias = Callable[[Scientist], Collection[str]]


def interests(scientist: Scientist) -> Collection[str]:
    """A scientist's interests, whatever their case and spacing."""
    return {" ".join(one.casefold().split()) for one in scientist.interests}


def freshness(team: Sequence[Scientist]) -> float:
    """The share of members, 0…1, who have written no paper with any other member before (row of A).

    1: nobody has worked with anybody of this team. Counted by members, as the paper says, not by pairs: one old
    pair among eight strangers makes 0.75.

    Raises:
        MeasureError: fewer than two members.
    """
    _check(team)
    names = {one.name for one in team}
    return sum(not _met(one, names) for one in team) / len(team)


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


def _met(scientist: Scientist, names: Set[str]) -> bool:
    others = names - {scientist.name}
    return any(papers > 0 and name in others for name, papers in scientist.collaborators.items())


def _check(team: Sequence[Scientist]) -> None:
    if len(team) < 2:
        raise MeasureError(f"a team of {len(team)} has nobody to be held against", hint="measure two or more")
    if len({one.name for one in team}) < len(team):
        raise MeasureError("a scientist stands twice in the team")
