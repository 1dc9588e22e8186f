"""What an epoch adds to the ecosystem: which abstracts become papers, who has now written with whom, what is cited, who comes."""

import math
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import permutations
from statistics import fmean

from manyheads.base.papers import Paper, People, Scientist
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.phrases import interests
from manyheads.corpus.scientists import TOP_INTERESTS
from manyheads.systems.society.config import ChangesConfig, SocietyConfig
from manyheads.systems.society.result import EpochRecord, TeamRecord

LEARNT = 2
"""Interests that an author gets from a paper."""


def worth(team: TeamRecord, by: str) -> float | None:
    """What an abstract is accepted by, the higher the better; None if it has no such value."""
    if by == "mark":
        return fmean(team.marks) if team.marks else None
    value = team.measures.get(by)
    return -value if by == "cd" and value is not None else value


def ranked(teams: Iterable[TeamRecord], by: str) -> list[TeamRecord]:
    """The teams whose abstracts have a value, best first; equal ones in their order."""
    known = [(-value, team) for team in teams if (value := worth(team, by)) is not None]
    return [team for _, team in sorted(known, key=lambda each: each[0])]


def accept(teams: Sequence[TeamRecord], epoch: int, settings: SocietyConfig) -> None:
    """Mark the abstracts that become papers."""
    how = settings.acceptance
    best = ranked((team for team in teams if team.abstract), how.by)
    if how.share is not None:
        best = best[: math.floor(how.share * len(teams) + 0.5)]
    else:
        least = -how.least if how.by == "cd" else how.least
        best = [team for team in best if (worth(team, how.by) or 0.0) >= least]
    for team in best:
        team.accepted, team.paper = True, f"epoch-{team.founded or epoch}-team-{team.number}"


def papers_of(record: EpochRecord) -> list[Paper]:
    """The papers of an epoch, in the order of their teams."""
    return [
        Paper(
            id=team.paper, title=team.title or "", abstract=team.abstract or "", year=record.year,
            citations=0, authors=tuple(team.members),
        )
        for team in record.teams if team.paper
    ]  # fmt: skip


def citations_of(teams: Iterable[TeamRecord], counted: str) -> Counter[str]:
    """How often teams cited each paper: all of them (`drawn`), or those whose abstract was accepted."""
    citing = (team for team in teams if team.accepted or counted == "drawn")
    return Counter(paper for team in citing for paper in dict.fromkeys(team.cites))


def changed_scientists(
    world: Ecosystem, record: EpochRecord, cited: Mapping[str, int], seed: int, settings: SocietyConfig
) -> list[Scientist]:
    """The scientists whom an epoch has changed, and who come after it, in the order of their first change."""
    people, changes = dict[str, Scientist](), settings.changes

    def change(name: str, **values: object) -> None:
        people[name] = people.get(name, world.scientist(name)).model_copy(update=values)

    for team in record.formed if settings.links == "formed" else record.teams:
        if team.accepted or settings.links == "formed":
            for one, other in permutations(team.members, 2):
                links = people.get(one, world.scientist(one)).collaborators
                change(one, collaborators={**links, other: links.get(other, 0) + 1})
    learnt = learnt_interests(record) if changes.interests else {}
    for team in record.teams:
        for name in team.members if team.accepted else ():
            one = people.get(name, world.scientist(name))
            known = dict.fromkeys((*learnt.get(team.paper or "", ()), *one.interests))
            change(name, papers=one.papers + 1, interests=(*known,)[:TOP_INTERESTS])
    for paper in world.papers.get([*cited]).values():
        for name in paper.authors:
            one = people.get(name, world.scientist(name))
            if one.citations is not None:
                change(name, citations=one.citations + cited[paper.id])
    return [*people.values(), *newcomers(world, random.Random(f"{seed}/{record.number}/new"), changes)]


def learnt_interests(record: EpochRecord) -> dict[str, tuple[str, ...]]:
    """The key phrases of each paper of an epoch."""
    papers = papers_of(record)
    texts = [f"{paper.title}. {paper.abstract}" for paper in papers]
    return interests(texts, {paper.id: [place] for place, paper in enumerate(papers)}, LEARNT)


def newcomers(world: Ecosystem, rng: random.Random, changes: ChangesConfig) -> list[Scientist]:
    """Scientists without papers, each with the field and the place of one whom they learn from."""
    known = world.scientists
    teachers = [rng.choice(known) for _ in range(changes.newcomers)]
    return [
        Scientist(
            name=f"Scientist{number}", interests=one.interests, affiliations=one.affiliations,
            citations=None if one.citations is None else 0,
        )
        for number, one in enumerate(teachers, len(known))
    ]  # fmt: skip


def awake(scientists: People, records: Sequence[EpochRecord], base: int, changes: ChangesConfig) -> People:
    """Those who may be asked: not who have been in no team for `rest_after` epochs.

    Args:
        base: scientists of the corpus; the others came later, after an epoch each.
    """
    if (least := changes.rest_after) is None or len(records) < least:
        return scientists
    active: Collection[str] = {
        name for each in records[-least:] for team in each.active for name in team.members
    }
    new = base + max(0, len(records) - least) * changes.newcomers
    return scientists.only(
        name for place, name in enumerate(scientists.names) if name in active or place >= max(new, base)
    )
