"""Settings and inputs of review and rebuttal, its result, and its report: the evolution of an idea."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from manyheads.asking import replies as shared
from manyheads.asking.replies import ReplyModel, Text, label
from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError
from manyheads.base.text import count
from manyheads.config import Inputs, RunConfig, Section, Slot
from manyheads.core.results import Abstract, Draft, Idea, Part, Person
from manyheads.core.texts import FileOrText, Subject, Trait, file_or_text
from manyheads.report.page import Page, View
from manyheads.report.pictures import IdeaRow, IdeasPicture
from manyheads.report.record import Record
from manyheads.report.talk import Piece, changed_words, shortened, word_diff
from manyheads.systems import results
from manyheads.systems.ideas import Background as Material
from manyheads.systems.ideas import proposal_text
from manyheads.systems.rebuttal import replies
from manyheads.systems.rebuttal.replies import Answer, FirstIdea, Proposal, TraitVerdict
from manyheads.systems.traits import Quality, traits_of, unknown
from manyheads.team.run import Run


class RebuttalConfig(Section):
    """The goal of proposer, reviewer and area chair, and the stopping rules (Algorithm 1)."""

    area: Text = "computer science"
    """The field of research of all three."""
    indicator: Text = "novelty"
    """The quality that is improved and judged: `novelty`, `feasibility`, or one with traits of your own."""
    traits: tuple[Trait, ...] = ()
    """Traits that define the quality. Default: those in `prompts/partials/indicators/<indicator>.md.j2`."""
    most: int = Field(default=100, ge=1)
    """Maximum abstracts of the background; each prompt of the proposer contains all of them."""
    method: Literal["rebuttal", "self-reflection", "initial"] = "rebuttal"
    """Review and rebuttal, or a baseline (§4.2): the proposer alone until nothing improves, or the first idea as it is."""
    max_iters: int = Field(default=10, ge=1)
    """Maximum revisions."""
    patience: Literal[1, 2] = 1
    """Stop after this many revisions in a row without significant improvement: 1 (Algorithm 1) or the stricter 2 (§3.1.3)."""
    final: Literal["last", "improved"] = "last"
    """The final idea: the last version, as in the paper, or the last one judged significantly better."""
    reviewer: bool = True
    """Off: the proposer revises without a review (§4.5)."""
    area_chair: bool = True
    """Off: versions are not compared, and `fixed_iters` revisions are made (§4.5)."""
    fixed_iters: int = Field(default=7, ge=1)
    """Number of revisions without an area chair."""
    abstract: bool = False
    """Write the abstract of the final idea, which `manyheads measure` can read."""


class RebuttalInputs(Inputs):
    """The background of an idea, or an initial idea."""

    background: Annotated[str | tuple[str, ...] | None, Slot("each", metavar="FILE|TEXT")] = None
    """The background: a file of papers (.bib, .jsonl, .csv, …), a text, or a list of texts."""
    idea: Annotated[FileOrText, Slot(file=True, metavar="RUN|FILE|TEXT")] = None
    """An initial idea, which the proposer then does not write. A run's folder, or one of its ideas as
    RUN#NUMBER, a text file, or the text itself."""

    @field_validator("background")
    @classmethod
    def _file_or_text(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        return file_or_text(value) if isinstance(value, str) else value

    def course(self) -> dict[str, Any]:
        """Without the background, which every prompt contains."""
        return {"idea": super().course()["idea"]}


STEERS = {
    "initial": "accept or edit the first idea, or send it back",
    "rebuttal": "after each revision, accept or edit the idea, or send it back",
    "review": "after each review, accept or edit the reviewer's points",
    "writing": "accept or edit the abstract, or send it back",
}
"""What a person may do after a stage, a revision or a review."""
PROPOSER, REVIEWER, AREA_CHAIR, JUDGE = "proposer", "reviewer", "area_chair", "judge"


def needs(config: RunConfig) -> Mapping[tuple[str, str], type[ReplyModel]]:
    """The tasks that a config uses; roles that are switched off need none."""
    settings: RebuttalConfig = config.settings
    together = settings.method == "rebuttal"
    tasks: list[tuple[str, str, type[ReplyModel], bool]] = [
        (PROPOSER, "propose", replies.FirstIdea, config.inputs.idea is None),
        (PROPOSER, "revise", replies.Proposal, together),
        (PROPOSER, "reflect", replies.Rethought, settings.method == "self-reflection"),
        (REVIEWER, "review", replies.Review, together and settings.reviewer),
        (AREA_CHAIR, "compare", replies.Verdict, together and settings.area_chair),
        (JUDGE, "condense", replies.Condensed, together and settings.area_chair),
        (PROPOSER, "abstract", shared.Abstract, settings.abstract),
    ]
    return {(role, task): kind for role, task, kind, needed in tasks if needed}


def need_beginning(config: RunConfig) -> RunConfig:
    """The config itself; raises `ConfigError` without background and idea, or if the method would not revise a given idea."""
    idea = config.inputs.idea
    if not config.inputs.background and idea is None:
        hint = 'name one: --background papers.bib, abstracts.jsonl or "a text"; or an idea: --idea RUN'
        raise ConfigError(f"{config.system}: needs a background", hint=hint)
    if idea is not None and config.settings.method == "initial":
        raise ConfigError(
            f"{config.system}: rebuttal.method=initial only writes a first idea, and inputs.idea gives one",
            hint="remove one of the two",
        )
    return config


def check(config: RunConfig, roles: Roles) -> Iterator[str]:
    """Problems of the quality indicator, a line each."""
    settings: RebuttalConfig = config.settings
    if not traits_of(settings.indicator, settings.traits, roles):
        yield unknown(config.system, settings.indicator, roles)


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
        if self.formed:
            return proposal_text(dict(self.fields))
        return "\n\n".join(filter(None, (self.title, self.idea)))


class IdeaReview(replies.Review):
    """A review of a version; reviews in the old format have no verdicts."""

    verdicts: list[TraitVerdict] = []
    strengths: list[Text]
    weaknesses: list[Text]
    suggestions: list[Text]


class ChairVerdict(Part):
    """An area chair's comparison of a version with the one before."""

    reasoning: str
    improved: bool
    revised: Literal["A", "B"] | None = None
    """The label of the later version, as shown to the area chair; None in results of the old format."""
    better: Literal["A", "B"] | None = None
    difference: Literal["none", "small", "significant"] | None = None

    @classmethod
    def of(cls, verdict: replies.Verdict, revised: Literal["A", "B"]) -> "ChairVerdict":
        return cls(**verdict.model_dump(), improved=verdict.prefers(revised), revised=revised)


class RevisionRound(Part):
    """A version of the idea with its review and verdict; round 0 is the initial idea."""

    round: int
    idea: Version
    review: IdeaReview | None = None
    verdict: ChairVerdict | None = None
    improved: bool | None = None
    """Whether it was judged significantly better than the version before; None if nobody judged it."""


class BackgroundRecord(Part):
    source: str
    """The file or run it was read from; empty for a text."""
    sha256: str
    works: list[str] = []
    """The background abstracts, as evidence."""
    left_out: int


class RebuttalCourse(Quality):
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
    background: BackgroundRecord | None = None
    rounds: list[RevisionRound] = []
    idea: Version | None = None
    rebuttal: RebuttalCourse | None = None
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
    result: RebuttalResult = record.result.result
    page = Page(record)
    course = result.rebuttal or RebuttalCourse(method="")
    lines = lineage(result.rounds, course, page.hues)
    return View(__package__ or "", page, {"course": course, "steps": steps(result.rounds), "lines": lines})


MET = {"yes": 1.0, "partly": 0.5, "no": 0.0}  # the reviewer's verdict on a trait, as a score


def lineage(
    rounds: Sequence[RevisionRound], course: RebuttalCourse, hues: Mapping[str, int]
) -> IdeasPicture | None:
    """The versions, each from the one before, with the reviewer's verdicts; None for fewer than two."""
    rows = list[IdeaRow]()
    for before, one in zip([None, *rounds], rounds, strict=False):
        verdicts = [each.met for each in one.review.verdicts] if one.review else []
        met = verdicts.count("yes")
        better = {True: "better than the one before", False: "not better than the one before", None: ""}
        words = ("final" if one.round == course.final else "", better[one.improved])
        row = IdeaRow(
            str(one.round), one.idea.title or "The initial idea", mark=str(one.round),
            parents=(str(before.round),) if before else (), scores=tuple(MET[each] for each in verdicts),
            figure=f"{met}/{len(verdicts)}" if verdicts else "", weight=one.round,
            outcome="won" if one.round == course.final else "kept" if one.improved else "",
            note=", ".join(filter(None, words)), hue=hues.get(one.idea.by, 190),
        )  # fmt: skip
        rows.append(row)
    return IdeasPicture(rows) if len(rows) > 1 else None


@dataclass(frozen=True)
class VersionStep:
    """A version and the one before it; `alone` if there is none in the same form, `cut` if parts are left out."""

    held: RevisionRound
    sections: list[tuple[str, list[Piece]]]
    came: int = 0
    went: int = 0
    alone: bool = False

    @property
    def cut(self) -> bool:
        return any(piece.kind == "gap" for _, pieces in self.sections for piece in pieces)


def steps(rounds: Sequence[RevisionRound]) -> list[VersionStep]:
    """Each version with its difference from the one before."""
    steps: list[VersionStep] = []
    for before, one in zip([None, *rounds], rounds, strict=False):
        if before is None or before.idea.formed != one.idea.formed:
            whole = [(name, [Piece("same", text)]) for name, text in one.idea.fields]
            steps.append(VersionStep(one, whole, alone=True))
            continue
        pieces = [(name, word_diff(getattr(before.idea, name) or "", text)) for name, text in one.idea.fields]
        came, went = map(sum, zip(*(changed_words(each) for _, each in pieces), strict=True))
        steps.append(VersionStep(one, [(name, shortened(each)) for name, each in pieces], came, went))
    return steps
