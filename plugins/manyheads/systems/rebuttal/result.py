"""The result of a review and rebuttal, and its report: the evolution of an idea."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from manyheads.asking.forms import proposal_text
from manyheads.asking.replies import Text, label
from manyheads.core.results import Abstract, Draft, Idea, Part, Person, Quality
from manyheads.core.texts import Subject
from manyheads.report.diff import Piece, changed_words, shortened, word_diff
from manyheads.report.lineage import Lineage, Row
from manyheads.report.page import Page, View
from manyheads.report.record import Record, count
from manyheads.systems import results
from manyheads.systems.ideas import Background as Material
from manyheads.systems.rebuttal import replies
from manyheads.systems.rebuttal.config import RebuttalConfig
from manyheads.systems.rebuttal.replies import Answer, FirstIdea, Proposal, TraitVerdict
from manyheads.team.run import Run


class Version(Idea):
    """A version of the idea: a paragraph at first; from the first revision on six fields, and their text in `idea`."""

    reflection: str | None = None
    """Weaknesses of the version before, as a proposer without reviewer finds them."""
    answers: list[Answer] = []
    """The change made for each weakness of the version before."""
    problem: str | None = None
    objective: str | None = None
    hypothesis: str | None = None
    method: str | None = None
    expected_impact: str | None = None
    source: str | None = None
    """The source of an idea that was given with the run."""

    @classmethod
    def of(
        cls, idea: FirstIdea | Proposal | Subject, number: int, by: str, references: list[str]
    ) -> "Version":
        origin: dict[str, Any] = {"number": number, "references": references}
        if isinstance(idea, Subject):
            return cls(title=idea.title, idea=idea.text, by="", source=idea.source, **origin)
        if isinstance(idea, FirstIdea):
            return cls(title="", idea=idea.idea, thought=idea.thought, by=by, **origin)
        own = idea.model_dump(include={*Proposal.model_fields, "reflection", "answers"})
        body = proposal_text({name: own[name] for name in Proposal.model_fields if name != "title"})
        return cls(**own, idea=body, by=by, **origin)

    @property
    def formed(self) -> bool:
        """Whether it has the six fields."""
        return self.problem is not None

    @property
    def form(self) -> Mapping[str, str]:
        parts: dict[str, str] = {name: getattr(self, name) or "" for name in Proposal.model_fields}
        return parts if all(text.strip() for text in parts.values()) else {}

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Its parts by name; empty ones are left out."""
        names = tuple(Proposal.model_fields) if self.formed else ("title", "idea")
        return [(name, text) for name in names if (text := getattr(self, name))]

    @property
    def text(self) -> str:
        """The idea as shown to others."""
        return (
            proposal_text(dict(self.fields))
            if self.formed
            else "\n\n".join(filter(None, (self.title, self.idea)))
        )


class Review(replies.Review):
    """A review of a version; reviews in the old format have no verdicts."""

    verdicts: list[TraitVerdict] = []
    strengths: list[Text]
    weaknesses: list[Text]
    suggestions: list[Text]


class Verdict(Part):
    """An area chair's comparison of a version with the one before."""

    reasoning: str
    improved: bool
    revised: Literal["A", "B"] | None = None
    """The label of the later version, as shown to the area chair; None in results of the old format."""
    better: Literal["A", "B"] | None = None
    difference: Literal["none", "small", "significant"] | None = None

    @classmethod
    def of(cls, verdict: replies.Verdict, revised: Literal["A", "B"]) -> "Verdict":
        return cls(**verdict.model_dump(), improved=verdict.prefers(revised), revised=revised)


class Round(Part):
    """A version of the idea with its review and verdict; round 0 is the initial idea."""

    round: int
    idea: Version
    review: Review | None = None
    verdict: Verdict | None = None
    improved: bool | None = None
    """Whether it was judged significantly better than the version before; None if nobody judged it."""


class Background(Part):
    source: str
    """The file or run it was read from; empty for a text."""
    sha256: str
    works: list[str] = []
    """The background abstracts, as evidence."""
    left_out: int


class Course(Quality):
    """The goal of the run and its progress."""

    method: str
    iterations: int = 0
    improvements: int | None = None
    """Number of versions judged better; None if nobody judged them."""
    stopped_by: str | None = None
    converged: bool | None = None
    """None if nobody judged them."""
    final: int | None = None
    """The number of the final version."""

    @property
    def ending(self) -> str:
        """Why the rounds ended, in words; empty before the end."""
        return ENDINGS.get(self.stopped_by or "", self.stopped_by or "")


ENDINGS = {
    "converged": "no further significant improvement",
    "max_iters": "the maximum number of revisions was reached without convergence",
    "fixed_iters": "all requested revisions were made; nobody judged them",
    "initial": "the first idea was not revised",
}


class RebuttalResult(Part):
    """The rounds, how they ended, the final idea, and the abstract if one was written.

    `idea` and `abstract` have the same shape as a team's, so code that reads one can read the other.
    """

    team: list[Person] = []
    background: Background | None = None
    rounds: list[Round] = []
    idea: Version | None = None
    rebuttal: Course | None = None
    abstract: Abstract | None = None
    drafts: list[Draft] = []
    turns: dict[str, int] = {}
    inference_cost: int | None = None
    """Number of replies requested."""


RebuttalRun = Run[RebuttalResult, RebuttalConfig, Material]


def essence(result: RebuttalResult) -> Iterator[tuple[str, str]]:
    """The idea, its abstract or else its hypothesis, and its course."""
    idea, abstract, course = result.idea, result.abstract, result.rebuttal
    yield from results.work(None, idea, abstract)
    if idea and not abstract:
        yield "Hypothesis", idea.hypothesis or idea.idea
    if course:
        better = "" if course.improvements is None else f", {course.improvements} judged better"
        revisions = f"{count(course.iterations, 'revision')} for {course.indicator}"
        yield "Rebuttal", f"{revisions}{better}; stopped: {course.ending}"


def work(result: RebuttalResult) -> Iterator[str]:
    """The abstract, or the idea field by field; an idea without revisions is one paragraph."""
    yield from results.in_sections(result.abstract)
    if result.idea and not result.abstract:
        for name, text in result.idea.fields:
            yield {"title": f"# {text}", "idea": text}.get(name, f"**{label(name)}.** {text}")


def report(record: Record) -> View:
    """The report of a review and rebuttal."""
    result: RebuttalResult = record.result.result
    page = Page(record, tuple(person.name for person in result.team))
    course = result.rebuttal or Course(method="")
    lines = lineage(result.rounds, course, page.hues)
    return View(__package__ or "", page, {"course": course, "steps": steps(result.rounds), "lines": lines})


MET = {"yes": 1.0, "partly": 0.5, "no": 0.0}
"""The reviewer's verdict on a trait, as a score."""


def lineage(rounds: Sequence[Round], course: Course, hues: Mapping[str, int]) -> Lineage | None:
    """The versions, each from the one before, with the reviewer's verdicts; None for fewer than two."""
    rows = list[Row]()
    for before, one in zip([None, *rounds], rounds, strict=False):
        verdicts = [each.met for each in one.review.verdicts] if one.review else []
        met = verdicts.count("yes")
        better = {True: "better than the one before", False: "not better than the one before", None: ""}
        words = ("final" if one.round == course.final else "", better[one.improved])
        row = Row(
            str(one.round), one.idea.title or "The initial idea", mark=str(one.round),
            parents=(str(before.round),) if before else (), scores=tuple(MET[each] for each in verdicts),
            figure=f"{met}/{len(verdicts)}" if verdicts else "", weight=one.round,
            outcome="won" if one.round == course.final else "kept" if one.improved else "",
            note=", ".join(filter(None, words)), hue=hues.get(one.idea.by, 190),
        )  # fmt: skip
        rows.append(row)
    return Lineage(rows) if len(rows) > 1 else None


@dataclass(frozen=True)
class Step:
    """A version and the one before it; `alone` if there is none in the same form, `cut` if parts are left out."""

    held: Round
    sections: list[tuple[str, list[Piece]]]
    came: int = 0
    went: int = 0
    alone: bool = False

    @property
    def cut(self) -> bool:
        return any(piece.kind == "gap" for _, pieces in self.sections for piece in pieces)


def steps(rounds: Sequence[Round]) -> list[Step]:
    """Each version with its difference from the one before."""
    steps: list[Step] = []
    for before, one in zip([None, *rounds], rounds, strict=False):
        if before is None or before.idea.formed != one.idea.formed:
            whole = [(name, [Piece("same", text)]) for name, text in one.idea.fields]
            steps.append(Step(one, whole, alone=True))
            continue
        pieces = {name: word_diff(getattr(before.idea, name) or "", text) for name, text in one.idea.fields}
        counts = [changed_words(each) for each in pieces.values()]
        sections = [(name, shortened(each)) for name, each in pieces.items()]
        steps.append(Step(one, sections, sum(came for came, _ in counts), sum(went for _, went in counts)))
    return steps
