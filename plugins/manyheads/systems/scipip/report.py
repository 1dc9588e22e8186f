"""A run of SciPIP in words, and its report: papers, the ideas that build on them, and what became of these."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from manyheads.base.text import count
from manyheads.core.results import Evidence
from manyheads.report.drawing import hue
from manyheads.report.page import Page, View
from manyheads.report.pictures import IdeaRow, IdeasPicture
from manyheads.report.record import Record
from manyheads.systems import results
from manyheads.systems.scipip.result import Candidate, FinalIdea, PaperCluster, ScipipResult, Twin


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
    return View(__package__ or "", IdeasPage(record))


@dataclass(frozen=True)
class RetrievedPaper:
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
class IdeasPage(Page[ScipipResult]):
    @cached_property
    def papers(self) -> dict[str, RetrievedPaper]:
        """The retrieved papers by id of their evidence."""
        numbers = {cluster.members[0]: cluster.number for cluster in self.result.clusters if cluster.shown}
        ids = [member for cluster in self.result.clusters for member in cluster.members]
        return {each.id: RetrievedPaper(each, numbers.get(each.id)) for each in self.cited(ids)}

    @property
    def excerpts(self) -> list[RetrievedPaper]:
        """The papers shown to the model."""
        return [paper for paper in self.papers.values() if paper.number is not None]

    @cached_property
    def clusters(self) -> list[tuple[PaperCluster, list[RetrievedPaper]]]:
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
    def lines(self) -> IdeasPicture | None:
        """From the papers that ideas build on to the first ideas, by origin, and the final ones; None for fewer than two."""
        built_on = {each for idea, _ in self.rows for each in idea.references}
        papers = [
            IdeaRow(
                f"paper-{paper.number}", paper.evidence.title, "Papers that ideas build on", str(paper.number)
            )
            for paper in self.excerpts
            if paper.evidence.id in built_on
        ]
        finals = [
            IdeaRow(
                f"final-{final.number}", final.title, "Final ideas, refined together", str(final.number),
                tuple(map(str, final.sources)), outcome="won", hue=hue(final.sources[0]) if final.sources else 190,
            )
            for final in self.result.final
        ]  # fmt: skip
        rows = [*papers, *(self._row(idea, home) for idea, home in self.rows), *finals]
        return IdeasPicture(rows) if len(self.rows) > 1 else None

    def _row(self, idea: Candidate | Twin, home: Candidate | None) -> IdeaRow:
        """A first idea; one that was merged into another is a source of that."""
        screening = idea.screening if isinstance(idea, Candidate) else None
        merged = [str(twin.number) for twin in idea.merged] if isinstance(idea, Candidate) else []
        papers = [f"paper-{number}" for number in self.numbers(idea.references)]
        kept = screening.kept if screening else None
        scores = (screening.fit, screening.novelty, screening.feasibility) if screening else ()
        return IdeaRow(
            str(idea.number), idea.title,
            "Ideas from brainstorming" if idea.origin == "brainstorm" else "Ideas from the papers",
            str(idea.number), (*merged, *papers), tuple(score / 10 for score in scores),
            f"no. {screening.place}" if screening and screening.place else "", sum(scores),
            "kept" if kept else "out" if home or kept is False else "",
            {True: "kept", False: "left out", None: f"merged into {home.number}" if home else ""}[kept],
            hue(idea.number),
        )  # fmt: skip
