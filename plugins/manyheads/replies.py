"""The typed replies that a task may ask for. Their JSON Schema is what the model is shown.

Scales and fields follow the papers: VirSci 2024, Figs. 12–15 (ideas, votes, abstracts), Review and Rebuttal
Figs. 5–11, MAMORX App. A. Scores are never clipped or filled in: a value out of range is asked for again.
"""

from functools import cache
from typing import Annotated, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, create_model

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _no_truth_value(value: object) -> object:
    """Python takes true for 1; a number that was not given is not made up."""
    if isinstance(value, bool):
        raise ValueError("should be a number")
    return value


# The limits stand before the validator: behind one, pydantic leaves them out of the JSON Schema.
Score = Annotated[int, Field(ge=1, le=10), BeforeValidator(_no_truth_value)]
Choice = Annotated[int, Field(ge=1), BeforeValidator(_no_truth_value)]


class ReplyModel(BaseModel):
    """Base of all replies: extra keys that a model adds are dropped, missing ones are errors."""

    model_config = ConfigDict(extra="ignore")

    def spoken(self) -> str:
        """The reply as a reader, or another speaker, wants to see it; by default its first text."""
        return next((value for value in self.model_dump().values() if isinstance(value, str)), "")


class Seeks(ReplyModel):
    """Mixed into a reply where the model cannot call tools: the wish to hear an outside scientist."""

    invite: str | None = Field(
        default=None,
        description="Name of ONE listed scientist outside the team whose advice you need now, or null.",
    )
    question: str | None = Field(default=None, description="Your question to that scientist, or null.")


class Decision(ReplyModel):
    """Answer to an invitation to join a team (VirSci 2025, §3.2, Collaborator Selection)."""

    reasoning: Text = Field(
        description="Step by step: fit of interests, of experience, and of the team so far."
    )
    accept: bool = Field(description="true to join the team, false to decline.")


class Remark(ReplyModel):
    """One contribution to the topic discussion (R_k,i of Eq. 1)."""

    remark: Text = Field(description="What you say to the team.")
    topic: Text = Field(description="The research topic that you favour now, in one sentence.")

    def spoken(self) -> str:
        return f"{self.remark}\n\nTopic I favour: {self.topic}"


class Summary(ReplyModel):
    """The leader's summary of one turn (D̄_t)."""

    summary: Text = Field(description="What was proposed, agreed and left open in this turn.")


class Progress(ReplyModel):
    """The leader's decision whether a stage needs another turn (App. D.3.2)."""

    reasoning: Text = Field(description="What the stage still lacks, or why it is done.")
    another_turn: bool = Field(description="true if one more turn of discussion is worth its cost.")


class Consensus(ReplyModel):
    """A member's view on whether the team agrees on a direction."""

    reasoning: Text = Field(description="Where the team agrees and where it does not.")
    agree: bool = Field(description="true if the team shares a direction that you can support.")


class Topic(ReplyModel):
    """The topic that the leader writes (R_topic)."""

    topic: Text = Field(description="The research topic in one precise sentence.")
    rationale: Text = Field(description="Why this topic, in two or three sentences.")


class Interest(ReplyModel):
    """Whether a member stays for the chosen topic."""

    reasoning: Text = Field(description="How the topic meets your interests.")
    stay: bool = Field(description="true to go on with the team, false to leave it.")


class Advice(ReplyModel):
    """An invited scientist's one answer; the guest does not join the team."""

    advice: Text = Field(description="Your answer to the question, from your own expertise.")


class Idea(ReplyModel):
    """A research idea with its self-assessment (VirSci 2024, Fig. 12)."""

    thought: Text = Field(description="Motivation, and how the idea differs from the references.")
    title: Text = Field(description="A title for the paper that would come of it.")
    idea: Text = Field(description="The idea in detail: problem, approach, significance.")
    experiment: Text = Field(description="How to test it: design, data, measures, expected outcome.")
    clarity: Score = Field(description="1 (unclear) to 10 (perfectly clear).")
    feasibility: Score = Field(description="1 (out of reach) to 10 (can start tomorrow).")
    novelty: Score = Field(description="1 (known) to 10 (unlike anything published).")

    def spoken(self) -> str:
        return f"{self.title}\n\n{self.idea}\n\nExperiment: {self.experiment}"


class Vote(ReplyModel):
    """A blind vote for the most novel idea (VirSci 2024, Fig. 13)."""

    thought: Text = Field(description="Compare each idea with its related papers.")
    choice: Choice = Field(description="Number of the one idea that overlaps least with existing work.")


class Abstract(ReplyModel):
    """An abstract in its five sections (VirSci 2025, §3.2, Abstract Generation)."""

    title: Text
    introduction: Text = Field(description="Context and gap, one or two sentences.")
    objective: Text = Field(description="What the work sets out to do.")
    methods: Text = Field(description="How it will be done.")
    expected_results: Text = Field(description="What is expected to come out, and how it would be measured.")
    conclusion: Text = Field(description="What it would mean for the field.")

    def spoken(self) -> str:
        return f"{self.title}\n\n{self.as_text()}"

    def as_text(self) -> str:
        """The five sections as one paragraph, as the measures read it."""
        return " ".join(
            (self.introduction, self.objective, self.methods, self.expected_results, self.conclusion)
        )


class Ratings(ReplyModel):
    """The eight criteria on which an abstract is rated, 1–10 (VirSci 2024, Fig. 15 and its example)."""

    clarity: Score
    relevance: Score
    structure: Score
    conciseness: Score
    technical_accuracy: Score
    engagement: Score
    originality: Score
    overall: Score


class Judgement(ReplyModel):
    """What a member has to say of an abstract before rewriting it (Q_judgment)."""

    evaluation: Ratings = Field(description="Your rating of the abstract that you were given.")
    changes: list[Text] = Field(min_length=1, description="The changes that you make, each in a sentence.")


class Revision(Abstract, Judgement):
    """Rating of the previous abstract, the changes proposed, and the abstract rewritten (Eq. 4)."""


class Proposal(ReplyModel):
    """An idea in the six-field form of Review and Rebuttal (§3.1)."""

    title: Text
    problem: Text = Field(description="The problem and why it is open.")
    objective: Text
    hypothesis: Text
    method: Text
    expected_impact: Text


class Review(ReplyModel):
    """A reviewer's findings on one quality indicator."""

    strengths: list[Text] = Field(min_length=1)
    weaknesses: list[Text] = Field(min_length=1)
    suggestions: list[Text] = Field(min_length=1, description="Concrete changes, most important first.")


class Verdict(ReplyModel):
    """An area chair's comparison of an idea with the one before it."""

    reasoning: Text = Field(description="What changed, and whether it matters for the indicator.")
    improved: bool = Field(description="true only if the new idea is significantly better.")


class NoveltyReport(ReplyModel):
    """A novelty reviewer's summary (MAMORX, App. A.4)."""

    reasoning: Text = Field(description="Compare the work with each related paper.")
    conflicts: list[Text] = Field(
        description="Titles of the papers that already hold its contribution; may be empty."
    )
    verdict: Literal["NOVEL", "NOT NOVEL"]


class FigureCritique(ReplyModel):
    """A figure critic's findings (MAMORX, App. A.3)."""

    description: Text = Field(description="What the figure shows, for a reader who cannot see it.")
    critique: Text = Field(description="Its clarity, and whether it agrees with caption and text.")


REPLIES: dict[str, type[ReplyModel]] = {
    kind.__name__: kind
    for kind in (
        Decision, Remark, Summary, Progress, Consensus, Topic, Interest, Advice, Idea, Vote, Abstract, Revision,
        Proposal, Review, Verdict, NoveltyReport, FigureCritique,
    )
}  # fmt: skip


R = TypeVar("R", bound=ReplyModel)


@cache
def vote_among(kind: type[Vote], count: int) -> type[Vote]:
    """A vote among so many ideas: its schema shows how far the numbers go."""
    described = kind.model_fields["choice"].description
    limited = Annotated[int, Field(ge=1, le=count, description=described), BeforeValidator(_no_truth_value)]
    return create_model(kind.__name__, __base__=kind, choice=(limited, ...))


def seeking(kind: type[R]) -> type[R]:
    """`kind` with the fields of `Seeks` added, under the same name."""
    return cast(type[R], _seeking(kind))


@cache
def _seeking(kind: type[ReplyModel]) -> type[ReplyModel]:
    return create_model(kind.__name__, __base__=(kind, Seeks), __doc__=kind.__doc__)
