"""Who has written with whom, and whom a leader asks next (VirSci 2025, §3.1, §3.2, App. D.4)."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, Protocol

from manyheads.bank.records import Scientist

Exploration = Literal["uniform", "normal", "none"]


def count_collaborations(teams: Iterable[Sequence[str]]) -> dict[str, dict[str, int]]:
    """The rows of A: how many papers each pair wrote together. Symmetric, no diagonal, zeros left out.

    Args:
        teams: the authors of each paper, no one twice.
    """
    rows: dict[str, dict[str, int]] = {}
    counts = defaultdict[str, Counter[str]](Counter)
    for team in teams:
        for one in team:
            counts[one].update(team)
    while counts:  # one row at a time: of thousands who all wrote together, two copies would fill the memory
        one, row = counts.popitem()
        del row[one]
        rows[one] = dict(sorted(row.items()))
    return rows


class Peers(Protocol):
    """What drawing needs of an ecosystem."""

    @property
    def scientists(self) -> Sequence[Scientist]: ...

    def collaborations(self, name: str) -> Mapping[str, int]: ...


def draw(
    rng: random.Random, ecosystem: Peers, leader: str, *, exploration: Exploration = "uniform"
) -> Iterator[str]:
    """Candidates for a leader's team, one at a time, no one twice, never the leader.

    Each comes with P_ij = A_ij / sum_j A_ij over those still left, where every A_ij was raised first: by 1
    ("uniform", §3.1), by |x| with x ~ N(1, 1) drawn for each j ("normal", App. D.4, Eq. 7), or by nothing
    ("none": past collaborators only).

    Raises:
        CorpusError: the ecosystem has no such leader.
    """
    row = ecosystem.collaborations(leader)
    raised = {
        peer.name: row.get(peer.name, 0) + _increment(rng, exploration)
        for peer in ecosystem.scientists
        if peer.name != leader
    }
    left = {name: weight for name, weight in raised.items() if weight > 0}
    while left:
        chosen = rng.choices(list(left), list(left.values()))[0]
        del left[chosen]
        yield chosen


def _increment(rng: random.Random, exploration: Exploration) -> float:
    if exploration == "normal":
        return abs(rng.normalvariate(1, 1))
    return 1 if exploration == "uniform" else 0
