"""The report of a society: plots over its epochs, its network, the best papers with what they stand on, its scientists."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev

from manyheads.base.text import count
from manyheads.report.drawing import hues
from manyheads.report.page import Page, View, monogram
from manyheads.report.pictures import IdeaRow, IdeasPicture
from manyheads.report.plots import LABELS
from manyheads.report.record import Record, section
from manyheads.systems.society.growth import citations_of
from manyheads.systems.society.pictures import EpochMean, EpochPlot, NetworkPicture
from manyheads.systems.society.result import (
    FIGURES,
    MEASURES,
    EpochRecord,
    SocietyPaper,
    SocietyResult,
    TeamRecord,
    read_epochs,
)
from manyheads.team.system import Number

TITLES = {name: (LABELS | FIGURES)[name] for name in dict.fromkeys((*MEASURES, *FIGURES))}
SOCIETY = (
    "accepted", "repeated", "topic_entropy", "topic_distance", "freshness", "diversity", "gini_invited", "gini_guests",
    "gini_members",
)  # fmt: skip
NETWORK = tuple(name for name in TITLES if name not in (*MEASURES, *SOCIETY))
NUMBERS = {f"figures.{name}": Number(title) for name, title in TITLES.items()}
"""For suites."""
MOST_LINES, MOST_ANCESTORS = 3, 8
"""Best papers whose lineage is drawn, and papers in that of each."""
MOST_ROWS = 50
"""Scientists in the table."""


def work(result: SocietyResult) -> Iterator[str]:
    """The best paper."""
    for paper in result.best[:1]:
        yield f"# {paper.title}"
        yield paper.abstract


def report(record: Record) -> View:
    """The report, from the result and the records of the epochs alone."""
    groups = {"MEASURES": MEASURES, "SOCIETY": SOCIETY, "NETWORK": NETWORK}
    return View(__package__ or "", SocietyPage(record), {"MOST_ROWS": MOST_ROWS, **groups})


def ancestry(cites: Iterable[str], cites_of: Mapping[str, Sequence[str]]) -> tuple[list[str], list[str]]:
    """What a paper with these citations stands on, also by way of others: the society's papers, the nearest first, and the corpus's.

    Args:
        cites_of: what each of the society's papers cites.
    """
    society, corpus, waiting = dict[str, None](), dict[str, None](), [*cites]
    for one in waiting:  # grows on the way
        if one not in cites_of:
            corpus[one] = None
        elif one not in society:
            society[one] = None
            waiting += cites_of[one]
    return [*society], [*corpus]


@dataclass(frozen=True)
class SocietyPage(Page[SocietyResult]):
    @cached_property
    def epochs(self) -> list[EpochRecord]:
        return read_epochs(self.record.folder)

    @cached_property
    def teams(self) -> list[TeamRecord]:
        return [team for epoch in self.epochs for team in epoch.teams]

    @cached_property
    def papers(self) -> dict[str, tuple[int, TeamRecord]]:
        """The society's papers by id, with their epochs."""
        return {
            team.paper: (epoch.number, team) for epoch in self.epochs for team in epoch.teams if team.paper
        }

    @cached_property
    def cited_by(self) -> Counter[str]:
        """Teams of the society that stand on a paper, as far as they count."""
        counted = section(self.record.config, "society").get("citations", "drawn")
        return citations_of(self.teams, counted)

    @cached_property
    def hues(self) -> dict[str, int]:
        """The colour of each scientist, in the order of their first team."""
        return hues(name for team in self.teams for name in team.members)

    @cached_property
    def network(self) -> NetworkPicture:
        return NetworkPicture(self.epochs, self.hues)

    @cached_property
    def scientists(self) -> list[tuple[str, tuple[int, ...]]]:
        """Those who were in a team or asked: papers, citations, teams, teams led, invitations, questions as a guest; most first."""
        teams, papers, citations = self.teams, Counter[str](), Counter[str]()
        for team in teams:
            if team.paper:
                papers.update(team.members)
                citations.update(dict.fromkeys(team.members, self.cited_by[team.paper]))
        columns = (
            papers,
            citations,
            Counter(name for team in teams for name in team.members),
            Counter(team.members[0] for team in teams),
            Counter(name for team in teams for name in (*team.members[1:], *team.declined)),
            Counter(name for team in teams for name in team.guests),
        )
        names = dict.fromkeys(name for column in columns[2:] for name in column)
        rows = [(name, tuple(column[name] for column in columns)) for name in names]
        return sorted(rows, key=lambda row: row[1], reverse=True)

    def plots(self, names: Iterable[str]) -> list[EpochPlot]:
        """Figures over the epochs; of a measure, the means over accepted and rejected abstracts."""
        plots = list[EpochPlot]()
        for name in names if len(self.epochs) > 1 else ():
            if name in MEASURES:
                series = [
                    [_mean(epoch, name, accepted) for epoch in self.epochs] for accepted in (True, False)
                ]
            else:
                values = [epoch.figures.get(name) for epoch in self.epochs]
                series = [[None if value is None else EpochMean(value) for value in values]]
            if any(any(some) for some in series):
                plots.append(EpochPlot(TITLES[name], [epoch.number for epoch in self.epochs], series))
        return plots

    def ancestry(self, paper: SocietyPaper) -> tuple[list[str], list[str]]:
        return ancestry(paper.stands_on, {one: team.cites for one, (_, team) in self.papers.items()})

    @cached_property
    def titles(self) -> dict[str, str]:
        """Of the corpus's papers that the best papers stand on."""
        return {each.paper: each.title for each in self.record.result.evidence}

    @cached_property
    def lineage(self) -> IdeasPicture | None:
        """The best papers and the nearest of the society's papers that they stand on; None if none stands on another."""
        best = self.result.best[:MOST_LINES]
        first, keys = [paper.id for paper in best[:1]], {paper.id for paper in best}
        among = keys | {each for one in best for each in self.ancestry(one)[0][:MOST_ANCESTORS]}
        rows = [
            IdeaRow(
                one, team.title or "A paper without a title", f"Epoch {epoch}", monogram(team.members[0]),
                tuple(each for each in team.cites if each in self.papers), weight=self.cited_by[one],
                outcome="won" if one in first else "kept" if one in keys else "",
                note=f"{team.members[0]}, {count(self.cited_by[one], 'citation')}", hue=self.hues[team.members[0]],
            )
            for one, (epoch, team) in self.papers.items() if one in among
        ]  # fmt: skip
        return IdeasPicture(rows) if any(row.parents for row in rows) else None

    def link(self, team: TeamRecord | SocietyPaper) -> str:
        """To the team's own report, if its folder is kept; else empty."""
        file = f"{team.folder}/report.html"
        return file if team.folder and (self.record.folder / file).is_file() else ""


def _mean(epoch: EpochRecord, name: str, accepted: bool) -> EpochMean | None:
    known = [
        value for team in epoch.teams
        if team.accepted == accepted and (value := team.measures.get(name)) is not None
    ]  # fmt: skip
    if not known:
        return None
    error = stdev(known) / len(known) ** 0.5 if len(known) > 1 else 0.0
    word = "accepted" if accepted else "rejected"
    return EpochMean(
        fmean(known), error, f"{f' ± {error:.2g}' if error else ''}, {count(len(known), f'{word} abstract')}"
    )
