"""Replies of a team and of a lone agent: selection, topic, ideas, votes, abstract (VirSci)."""

from typing import Annotated

from pydantic import ConfigDict, Field

from manyheads.asking.replies.base import (
    Choice,
    Percent,
    R,
    ReplyModel,
    Score,
    Text,
    limited,
    mixed,
    numbered,
)

# VirSci (2024, Figs. 12–16; 2025, §3.2).


class Decision(ReplyModel):
    """Answer to an invitation to join a team (VirSci 2025, §3.2, Collaborator Selection)."""

    reasoning: Text
    accept: bool


class Remark(ReplyModel):
    """One contribution to the topic discussion (R_k,i of Eq. 1)."""

    remark: Text
    topic: Text


class Summary(ReplyModel):
    """The leader's summary of one turn (D̄_t)."""

    summary: Text


class Progress(ReplyModel):
    """The leader's decision whether a stage needs another turn (App. D.3.2)."""

    reasoning: Text
    another_turn: bool


class Consensus(ReplyModel):
    """A member's view on whether the team agrees on a direction."""

    reasoning: Text
    agree: bool


class Topic(ReplyModel):
    """The topic that the leader writes (R_topic)."""

    rationale: Text
    topic: Text


class Interest(ReplyModel):
    """Whether a member stays for the topic."""

    reasoning: Text
    stay: bool


class Advice(ReplyModel):
    """A guest's answer; the guest does not join the team."""

    advice: Text


class Idea(ReplyModel):
    """A research idea with its self-assessment (VirSci 2024, Fig. 12)."""

    thought: Text
    title: Text
    idea: Text
    experiment: Text
    clarity: Score
    feasibility: Score
    novelty: Score


class Lineage(ReplyModel):
    """Mixed into an idea if there are others to refine."""

    thought: Text
    builds_on: Annotated[int, Field(ge=0)]


class IdeaNote(ReplyModel):
    """A comment on one of several ideas."""

    idea: Choice
    note: Text


class IdeaNotes(ReplyModel):
    """Mixed into a vote: a comment on each idea before the choice."""

    notes: list[IdeaNote] = Field(min_length=1)


class Vote(ReplyModel):
    """A blind vote for the most novel idea (VirSci 2024, Fig. 13)."""

    thought: Text
    choice: Choice


class Abstract(ReplyModel):
    """An abstract in its five sections (VirSci 2025, §3.2, Abstract Generation)."""

    title: Text
    introduction: Text
    objective: Text
    methods: Text
    expected_results: Text
    conclusion: Text

    def spoken(self) -> str:
        return f"{self.title}\n\n{self.as_text()}"

    def as_text(self) -> str:
        """The five sections as one paragraph, for the measures."""
        return " ".join(getattr(self, name) for name in Abstract.model_fields if name != "title")


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
    """A member's opinion of an abstract before rewriting it (Q_judgment)."""

    evaluation: Ratings
    changes: list[Text]


class Revision(Abstract, Judgement):
    """Rating of the previous abstract, then the proposed changes, then the new abstract (§3.2; Eq. 4)."""


class Overlap(ReplyModel):
    """The similarity of an abstract to one published paper (VirSci 2024, Fig. 16)."""

    paper: Choice
    reason: Text
    similarity: Percent


class SelfReview(ReplyModel):
    """The leader's comparison of the finished abstract with the closest of B_past (R_review; App. B.1)."""

    overlaps: list[Overlap] = Field(min_length=1)


def vote_among(kind: type[Vote], count: int) -> type[Vote]:
    """A vote among a number of ideas, with a comment on each: its schema shows the range of numbers."""
    note = numbered(IdeaNote, "idea", count)
    noted = limited(mixed(kind, kind, IdeaNotes), "notes", list[note], min_length=count, max_length=count)
    return numbered(noted, "choice", count)


def idea_after(kind: type[Idea], count: int) -> type[Idea]:
    """An idea that may refine one of several: it says which, before its details."""
    return numbered(mixed(kind, kind, Lineage), "builds_on", count, least=0)


def review_of(kind: type[SelfReview], count: int) -> type[SelfReview]:
    """A self-review against a number of papers: its schema shows the number of comparisons."""
    overlap = numbered(Overlap, "paper", count)
    return limited(kind, "overlaps", list[overlap], min_length=count, max_length=count)


class Seeks(ReplyModel):
    """Mixed into a reply if the model cannot call tools: the request to ask an outside scientist."""

    invite: str | None = None
    question: str | None = None


def seeking(kind: type[R]) -> type[R]:
    """`kind` with the fields of `Seeks` at its end, under the same name."""
    return mixed(kind, Seeks, kind)


class Interests(ReplyModel):
    """An author's research interests, summarised from the keywords of their papers (VirSci 2025, App. C.2.2)."""

    interests: Annotated[list[Text], Field(min_length=1, max_length=8)]


# Baselines: a lone agent's self-reflection, and a discussion of fixed roles (VirSci 2025, App. C.3).


class Doubts(ReplyModel):
    """Before an idea is changed."""

    reflection: Text


class Reflection(Idea, Doubts):
    """One round of self-reflection: criticism, and the idea again."""

    done: bool


class Analysis(ReplyModel):
    """The analyst's view of the topic."""

    keywords: list[Text] = Field(min_length=1)
    remark: Text


class Reading(ReplyModel):
    """The engineer's review of the literature."""

    model_config = ConfigDict(title="Evidence")

    remark: Text


class Critique(ReplyModel):
    """The critic's judgement of the current idea."""

    remark: Text
    approve: bool
