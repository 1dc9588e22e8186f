"""What VirSci asks for (2024, Figs. 12–16; 2025, §3.2)."""

from functools import cache
from typing import Annotated, TypeVar, cast

from pydantic import BeforeValidator, ConfigDict, Field, create_model

from manyheads.replies.base import Choice, Percent, ReplyModel, Score, Text, no_truth_value


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

    verb = "sums up"

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

    verb = "proposes"

    thought: Text = Field(description="Motivation, and how the idea differs from what is published.")
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

    thought: Text = Field(description="Compare each idea with what is published.")
    choice: Choice = Field(description="Number of the one idea that overlaps least with existing work.")


class Abstract(ReplyModel):
    """An abstract in its five sections (VirSci 2025, §3.2, Abstract Generation)."""

    verb = "drafts"

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

    verb = "rewrites"

    evaluation: Ratings = Field(description="Your rating of the abstract that you were given.")
    changes: list[Text] = Field(min_length=1, description="The changes that you make, each in a sentence.")


class Revision(Abstract, Judgement):
    """Rating of the previous abstract, the changes proposed, and the abstract rewritten (Eq. 4)."""

    verb = "rewrites"


class Overlap(ReplyModel):
    """How much an abstract shares with one published paper (VirSci 2024, Fig. 16)."""

    paper: Choice = Field(description="Number of the published abstract, as listed.")
    similarity: Percent = Field(
        description="0 (nothing in common) to 100 (the same), over content, structure, wording."
    )
    reason: Text = Field(description="What the two share, and what they do not.")


class SelfReview(ReplyModel):
    """The leader's comparison of the finished abstract with the closest of B_past (R_review; App. B.1)."""

    verb = "compares"

    overlaps: list[Overlap] = Field(min_length=1, description="One entry for each published abstract.")

    def spoken(self) -> str:
        rows = sorted(self.overlaps, key=lambda each: each.paper)
        return "\n".join(
            f"Paper {each.paper}: {each.similarity} of 100 alike. {each.reason}" for each in rows
        )


@cache
def vote_among(kind: type[Vote], count: int) -> type[Vote]:
    """A vote among so many ideas: its schema shows how far the numbers go."""
    described = kind.model_fields["choice"].description
    limited = Annotated[int, Field(ge=1, le=count, description=described), BeforeValidator(no_truth_value)]
    return create_model(kind.__name__, __base__=kind, choice=(limited, ...))


@cache
def review_of(kind: type[SelfReview], count: int) -> type[SelfReview]:
    """A self-review of so many papers: its schema shows how many comparisons are asked for."""
    described = kind.model_fields["overlaps"].description
    each = Annotated[list[Overlap], Field(min_length=count, max_length=count, description=described)]
    return create_model(kind.__name__, __base__=kind, overlaps=(each, ...))


# The wish to hear an outside scientist, as fields of a reply.


R = TypeVar("R", bound=ReplyModel)


class Seeks(ReplyModel):
    """Mixed into a reply where the model cannot call tools: the wish to hear an outside scientist."""

    invite: str | None = Field(
        default=None,
        description="Name of ONE listed scientist outside the team whose advice you need now, or null.",
    )
    question: str | None = Field(default=None, description="Your question to that scientist, or null.")


def seeking(kind: type[R]) -> type[R]:
    """`kind` with the fields of `Seeks` added, under the same name."""
    return cast(type[R], _seeking(kind))


@cache
def _seeking(kind: type[ReplyModel]) -> type[ReplyModel]:
    return create_model(kind.__name__, __base__=(kind, Seeks), __doc__=kind.__doc__)


# What is asked of a model when an ecosystem is built.


class Interests(ReplyModel):
    """An author's research interests, condensed from the keywords of their papers (VirSci 2025, App. C.2.2)."""

    interests: Annotated[list[Text], Field(min_length=1, max_length=8)] = Field(
        description="Research interests, each of a few words, the broadest strand of work first."
    )


# What the baselines ask for: a lone agent's self-reflection, and a discussion of fixed roles (VirSci 2025, App. C.3).


class Doubts(ReplyModel):
    """What comes before an idea is changed."""

    verb = "rethinks"

    reflection: Text = Field(
        description="What is weak about the idea as it stands, and what you do about it."
    )


class Reflection(Idea, Doubts):
    """One round of self-reflection: the idea thought over, and given anew."""

    verb = "rethinks"

    done: bool = Field(description="true if the idea as you give it here gains nothing from a further round.")


class Analysis(ReplyModel):
    """The analyst's reading of the topic."""

    keywords: list[Text] = Field(min_length=1, description="The terms on which the topic turns.")
    remark: Text = Field(description="What they suggest: tensions, open questions, where to look.")

    def spoken(self) -> str:
        return f"{self.remark}\n\nKeywords: {', '.join(self.keywords)}"


class Reading(ReplyModel):
    """The engineer's account of the literature."""

    model_config = ConfigDict(title="Evidence")

    remark: Text = Field(description="What the papers have, what they lack, and what follows for the idea.")


class Critique(ReplyModel):
    """The critic's judgement of the idea on the table."""

    remark: Text = Field(description="Strengths, faults, and what each of the others should do about them.")
    approve: bool = Field(description="true if the idea can be written up as it stands.")
