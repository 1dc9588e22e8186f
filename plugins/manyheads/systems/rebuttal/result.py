"""What a review and rebuttal comes to."""

from collections.abc import Mapping
from typing import Any, Literal

from manyheads import replies
from manyheads.core.results import Abstract, Draft, Idea, Part, Person, Quality
from manyheads.discussion.run import Run
from manyheads.forms import proposal_text
from manyheads.replies import Answer, FirstIdea, Proposal, Text, TraitVerdict
from manyheads.systems.ideas import Background as Material
from manyheads.systems.rebuttal.config import RebuttalConfig
from manyheads.texts import Subject


class Version(Idea):
    """A version of the idea: a paragraph at first, six fields and all of them in `idea` from the first revision on."""

    reflection: str | None = None
    """What a proposer who is left alone finds weak about the one before."""
    answers: list[Answer] = []
    """What was changed about each weakness of the one before."""
    problem: str | None = None
    objective: str | None = None
    hypothesis: str | None = None
    method: str | None = None
    expected_impact: str | None = None
    source: str | None = None
    """What it was read from, where it was given with the run."""

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
        """Its parts by name, as far as they are told."""
        names = tuple(Proposal.model_fields) if self.formed else ("title", "idea")
        return [(name, text) for name in names if (text := getattr(self, name))]

    @property
    def text(self) -> str:
        """The idea as others are shown it."""
        return (
            proposal_text(dict(self.fields))
            if self.formed
            else "\n\n".join(filter(None, (self.title, self.idea)))
        )


class Review(replies.Review):
    """A review of a version; one of a former format has no verdicts."""

    verdicts: list[TraitVerdict] = []
    strengths: list[Text]
    weaknesses: list[Text]
    suggestions: list[Text]


class Verdict(Part):
    """An area chair's comparison of a version with the one before."""

    reasoning: str
    improved: bool
    revised: Literal["A", "B"] | None = None
    """As which the area chair was shown the later version; None in a result of a former format."""
    better: Literal["A", "B"] | None = None
    difference: Literal["none", "small", "significant"] | None = None

    @classmethod
    def of(cls, verdict: replies.Verdict, revised: Literal["A", "B"]) -> "Verdict":
        return cls(**verdict.model_dump(), improved=verdict.prefers(revised), revised=revised)


class Round(Part):
    """A version of the idea with what was said of it; round 0 is the idea that all begins with."""

    round: int
    idea: Version
    review: Review | None = None
    verdict: Verdict | None = None
    improved: bool | None = None
    """Whether it was found significantly better than the one before; None where nobody has judged."""


class Background(Part):
    source: str
    """What it was read from; empty for a text."""
    sha256: str
    works: list[str] = []
    """The abstracts behind the idea, as evidence."""
    left_out: int


class Course(Quality):
    """How the run goes, and what it goes for."""

    method: str
    iterations: int = 0
    improvements: int | None = None
    """Versions that were found better; None where nobody has judged."""
    stopped_by: str | None = None
    converged: bool | None = None
    """None where nobody has judged."""
    final: int | None = None
    """The version that is the final idea."""

    @property
    def ending(self) -> str:
        """Why the rounds have ended, in words; empty before they have."""
        return ENDINGS.get(self.stopped_by or "", self.stopped_by or "")


ENDINGS = {
    "converged": "no significant improvement was found any more",
    "max_iters": "the most revisions that were allowed were made, and it had not come to rest",
    "fixed_iters": "all revisions were made that were asked for; nobody judged them",
    "initial": "the first idea was left as it is",
}


class RebuttalResult(Part):
    """The rounds, how they ended, the final idea, and the abstract where one was written.

    `idea` and `abstract` have the shape of a team's, so that what takes one takes the other.
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
    """Replies that were asked for."""


RebuttalRun = Run[RebuttalResult, RebuttalConfig, Material]
