"""Who works with whom: founders, the sizes of their teams, and who joins (VirSci 2025, §3.2).

All is drawn from the seed and the team's place, from the ecosystem as it was at the beginning of the epoch.
"""

import random
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice

from manyheads.base.papers import People, Scientist
from manyheads.core import together
from manyheads.core.events import Recruited
from manyheads.corpus.scientists import Exploration, draw
from manyheads.systems.society.config import SizeConfig, SocietyConfig
from manyheads.systems.society.result import SocietyRun
from manyheads.systems.virsci.replies import Decision
from manyheads.team.run import Question, need_one

SMALLEST = 3
"""Members of a team, at least, whose size is drawn."""
MEAN = 4.0
"""Of the exponential draw."""
LARGE = 1_000
"""Scientists from which a draw must not look at each of them."""


@dataclass
class Founding:
    """A team as it forms.

    Attributes:
        seed: of its run.
        candidates: whom it may still ask, in order.
    """

    number: int
    leader: Scientist
    size: int
    seed: int
    candidates: Iterator[str]
    members: list[Scientist] = field(default_factory=list[Scientist])
    declined: list[str] = field(default_factory=list[str])

    def next(self, taken: Mapping[str, int], limit: int) -> list[str]:
        """Whom it asks now: as many as it lacks, of those who are in fewer teams than the limit."""
        free = (name for name in self.candidates if taken.get(name, 0) < limit)
        return [*islice(free, self.size - len(self.members))]


def found_teams(
    seed: int, epoch: int, pool: Sequence[Scientist], settings: SocietyConfig, taken: Mapping[str, int]
) -> list[Founding]:
    """The teams of an epoch with their leaders, each in one of them only.

    Args:
        taken: how many teams a scientist is in already; who is in too many founds none.
    """
    people, teams = People.of(pool), list[Founding]()
    people = people.only(name for name in people.names if taken.get(name, 0) < settings.team_limit)
    count = len(people) if settings.teams == "all" else min(settings.teams, len(people))
    founders = random.Random(f"{seed}/{epoch}").sample(people.names, count)
    for number, leader in enumerate(map(people.scientist, founders), 1):
        rng = random.Random(f"{seed}/{epoch}/{number}")
        own, size, how = rng.getrandbits(31), draw_size(rng, settings.size), settings.virsci.team
        order = candidates(rng, people, leader, how.exploration, how.max_invitations)
        teams.append(Founding(number, leader, size, own, iter(order), [leader]))
    return teams


def draw_size(rng: random.Random, how: SizeConfig) -> int:
    """A team's size, its leader included."""
    if how.draw == "fixed":
        return how.most
    drawn, last = (
        (rng.normalvariate(how.most, 1), 2 * how.most - 3)
        if how.draw == "normal"
        else (SMALLEST + rng.expovariate(1 / MEAN), 2 * how.most + 3)
    )
    return max(SMALLEST, min(round(drawn), last))


def candidates(
    rng: random.Random, pool: People, leader: Scientist, exploration: Exploration, most: int
) -> list[str]:
    """Whom a leader asks, in order, as of `draw`; at a cost that does not grow with a large ecosystem."""
    if exploration != "uniform" or len(pool) < LARGE:
        return [*islice(draw(rng, pool, leader, exploration=exploration), most)]
    # A_ij + 1: one of the collaborators by their weights, or anyone, all alike
    near = [name for name in leader.collaborators if name in pool]
    sums = [*accumulate(leader.collaborators[name] for name in near)]
    weight, order = sums[-1] if sums else 0, dict[str, None]()
    while len(order) < min(most, len(pool) - 1):
        place = rng.random() * (weight + len(pool))
        drawn = near[bisect(sums, place)] if place < weight else pool.names[int(place - weight)]
        if drawn != leader.name:
            order.setdefault(drawn)
    return [*order]


async def join(
    run: SocietyRun, stage: str, teams: Sequence[Founding], limit: int, earlier: Mapping[str, int]
) -> None:
    """Ask the candidates of all teams, in rounds of questions put all at once; they join in the order of the teams' numbers.

    Raises:
        ModelError: no candidate of the first round gave a valid answer.
    """
    taken, turn = Counter(team.leader.name for team in teams) + Counter(earlier), 0

    async def invite(team: Founding, scientist: Scientist) -> Decision | None:
        speaker = run.scientist("scientist", scientist)
        variables = {"leader": team.leader, "team": [*team.members]}
        question = Question(
            stage, turn, speaker, "scientist", "join", variables, "candidate", asker=team.leader.name
        )
        return await run.hear(question, Decision)

    while invited := [
        (team, run.literature.scientist(name)) for team in teams for name in team.next(taken, limit)
    ]:
        turn += 1
        answers = await together(*(invite(team, scientist) for team, scientist in invited))
        if turn == 1:
            need_one([each for each in answers if each], "the candidates' answers")
        for (team, scientist), answer in zip(invited, answers, strict=True):
            if answer is None:
                continue
            name, joins = scientist.name, answer.accept and taken[scientist.name] < limit
            if joins:
                taken[name] += 1
                team.members.append(scientist)
            elif not answer.accept:
                team.declined.append(name)
            run.emit(
                Recruited(stage=stage, turn=turn, candidate=name, accepted=joins, reasoning=answer.reasoning)
            )
