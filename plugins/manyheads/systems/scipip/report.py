"""A run of SciPIP in words, and its report: ideas, papers, and the links between them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from manyheads.core.results import Evidence
from manyheads.report.page import Page, View
from manyheads.report.pictures import Lineage, Row
from manyheads.report.record import Record, count
from manyheads.systems import results
from manyheads.systems.scipip.picture import Entry, Picture, draw
from manyheads.systems.scipip.result import Candidate, Cluster, FinalIdea, ScipipResult, Twin

PICTURES = {"broad": (704.0, 2), "slim": (350.0, 3)}
"""Width of the picture and lines of its titles: in the report's column, and on a telephone."""


def essence(result: ScipipResult) -> Iterator[tuple[str, str]]:
    """The problem, the final ideas, the abstract of the first, and what they were chosen from."""
    if result.problem:
        yield "Problem", result.problem
    for idea in result.final:
        yield f"Idea {idea.number}", idea.title
    yield from results.work(None, None, result.abstract)
    if result.ideas:
        survivors = sum(bool(idea.screening and idea.screening.kept) for idea in result.ideas)
        merged = sum(len(idea.merged) for idea in result.ideas)
        papers = sum(len(cluster.members) for cluster in result.clusters)
        yield (
            "Selection",
            f"{count(papers, 'paper')} in {count(len(result.clusters), 'cluster')}; {count(len(result.ideas), 'idea')}, "
            f"{merged} merged into them, {survivors} kept",
        )


def details(result: ScipipResult) -> Iterator[str]:
    """Reasons for the problem, and how the final ideas fit together."""
    if result.rationale:
        yield f"**Rationale.** {result.rationale}"
    if result.coherence:
        yield f"**Together.** {result.coherence}"


def work(result: ScipipResult) -> Iterator[str]:
    """The problem and the final ideas in full."""
    if not result.final:
        return
    yield f"**Problem.** {result.problem}"
    for idea in result.final:
        yield f"# {idea.title}"
        yield idea.body


def report(record: Record) -> View:
    """The report of a run."""
    people = tuple(person.name for person in record.result.result.team)
    return View(__package__ or "", IdeasPage(record, people))


@dataclass(frozen=True)
class Paper:
    """A retrieved paper: its evidence, and its number in the prompt."""

    evidence: Evidence
    number: int | None = None

    @property
    def channels(self) -> list[str]:
        """The channels that found it, each once."""
        return list(dict.fromkeys(each.channel for each in self.evidence.retrievals if each.channel))

    @property
    def reasons(self) -> list[str]:
        """What each channel found it by."""
        return [each.reason for each in self.evidence.retrievals if each.reason]


@dataclass(frozen=True)
class IdeasPage(Page):
    """The whole report."""

    @property
    def result(self) -> ScipipResult:
        return self.record.result.result

    @cached_property
    def papers(self) -> dict[str, Paper]:
        """The retrieved papers by id of their evidence."""
        numbers = {cluster.members[0]: cluster.number for cluster in self.result.clusters if cluster.shown}
        ids = [member for cluster in self.result.clusters for member in cluster.members]
        return {each.id: Paper(each, numbers.get(each.id)) for each in self.cited(ids)}

    @property
    def excerpts(self) -> list[Paper]:
        """The papers shown to the model."""
        return [paper for paper in self.papers.values() if paper.number is not None]

    @cached_property
    def clusters(self) -> list[tuple[Cluster, list[Paper]]]:
        return [
            (cluster, [self.papers[member] for member in cluster.members if member in self.papers])
            for cluster in self.result.clusters
        ]

    @cached_property
    def fate(self) -> list[Candidate]:
        """The ideas in the filter's order, those without a judgement last."""
        last = len(self.result.ideas)
        return sorted(
            self.result.ideas,
            key=lambda idea: (idea.screening and idea.screening.place) or last + idea.number,
        )

    @property
    def rows(self) -> list[tuple[Candidate | Twin, Candidate | None]]:
        """All ideas by number, each with the idea it was merged into, if any."""
        rows: list[tuple[Candidate | Twin, Candidate | None]] = [(idea, None) for idea in self.result.ideas]
        rows += [(twin, idea) for idea in self.result.ideas for twin in idea.merged]
        return sorted(rows, key=lambda row: row[0].number)

    def finals(self, idea: Candidate) -> list[FinalIdea]:
        """The final ideas that an idea is part of."""
        return [final for final in self.result.final if idea.number in final.sources]

    def numbers(self, references: Sequence[str]) -> list[int]:
        """The numbers of papers in the prompt."""
        papers = (self.papers.get(each) for each in references)
        return sorted(paper.number for paper in papers if paper and paper.number is not None)

    @cached_property
    def pictures(self) -> list[tuple[str, Picture]]:
        """The picture for the report's column, and for a telephone."""
        papers = [Entry(p.evidence.id, f"[{p.number}]", p.evidence.title) for p in self.excerpts]
        ideas = [self._entry(idea) for idea in self.result.ideas]
        links = {str(idea.number): idea.references for idea in self.result.ideas}
        return [(name, draw(papers, ideas, links, *size)) for name, size in PICTURES.items()]

    @cached_property
    def lines(self) -> Lineage | None:
        """From the first ideas, by origin, to the final ones; None for fewer than two."""
        rows = [self._row(idea, home) for idea, home in self.rows] + [
            Row(
                f"final-{final.number}",
                final.title,
                "Final ideas, refined together",
                str(final.number),
                tuple(map(str, final.sources)),
                outcome="won",
                hue=_hue(final.sources[0]) if final.sources else 190,
            )
            for final in self.result.final
        ]
        return Lineage(rows) if len(rows) > 1 else None

    def _row(self, idea: Candidate | Twin, home: Candidate | None) -> Row:
        """A first idea; one that was merged into another is a source of that."""
        screening = idea.screening if isinstance(idea, Candidate) else None
        merged = [str(twin.number) for twin in idea.merged] if isinstance(idea, Candidate) else []
        kept = screening.kept if screening else None
        scores = (screening.fit, screening.novelty, screening.feasibility) if screening else ()
        fate = {True: "kept", False: "left out", None: f"merged into {home.number}" if home else ""}[kept]
        return Row(
            str(idea.number),
            idea.title,
            "Ideas from brainstorming" if idea.origin == "brainstorm" else "Ideas from the papers",
            str(idea.number),
            tuple(merged),
            tuple(score / 10 for score in scores),
            f"no. {screening.place}" if screening and screening.place else "",
            sum(scores),
            "kept" if kept else "out" if home or kept is False else "",
            fate,
            _hue(idea.number),
        )

    def _entry(self, idea: Candidate) -> Entry:
        screening, finals = idea.screening, self.finals(idea)
        fate = ""
        if finals:
            fate = "in final " + ", ".join(str(each.number) for each in finals)
        elif screening and screening.kept is not None:
            fate = "kept" if screening.kept else "left out"
        origin = {
            "brainstorm": "brainstormed",
            "both": "also brainstormed",
            "literature": "",
            "person": "a person's",
        }[idea.origin]
        style = " ".join(
            filter(
                None,
                (
                    "brainstormed" if idea.origin in ("brainstorm", "both") else "",
                    "out" if screening and screening.kept is False else "",
                ),
            )
        )
        note = " · ".join(filter(None, (origin, fate)))
        return Entry(str(idea.number), f"{idea.number}.", idea.title, note, style, _hue(idea.number))


def _hue(number: int) -> int:
    """The colour of an idea, by turns of the golden angle."""
    return int(number * 137.508 + 200) % 360
