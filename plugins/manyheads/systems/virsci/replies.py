"""Replies of a team: selection, topic, ideas, votes, the check of an abstract (VirSci)."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from manyheads.asking.replies import Abstract, Judgement
from manyheads.asking.replies.base import (
    Choice,
    Percent,
    ReplyModel,
    Score,
    Text,
    limited,
    mixed,
    numbered,
    open_ended,
)


class Decision(ReplyModel):
    """Answer to an invitation to join a team (VirSci 2025, §3.2, Collaborator Selection)."""

    reasoning: Text
    accept: bool


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
    """Mixed into the ideas of a team."""

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


class PeerReview(ReplyModel):
    """An outside scientist's review of an abstract, and their mark."""

    strengths: Text
    weaknesses: Text
    mark: Score


def vote_among(kind: type[Vote], count: int) -> type[Vote]:
    """A vote among a number of ideas, with a comment on each: its schema shows the range of numbers."""
    note = numbered(IdeaNote, "idea", count)
    noted = limited(mixed(kind, kind, IdeaNotes), "notes", list[note], min_length=count, max_length=count)
    return numbered(noted, "choice", count)


def idea_after(kind: type[Idea], count: int) -> type[Idea]:
    """An idea that may refine one of several: it says which, before its details; 0 where there is none."""
    lineage = mixed(kind, kind, Lineage)
    if not count:  # whatever is said, there is none
        return open_ended(
            limited(lineage, "builds_on", int, BeforeValidator(lambda _: 0), ge=0, le=0), lineage
        )
    return open_ended(numbered(lineage, "builds_on", count, least=0), lineage)


def review_of(kind: type[SelfReview], count: int) -> type[SelfReview]:
    """A self-review against a number of papers: its form shows the number of comparisons."""
    overlap = numbered(Overlap, "paper", count)
    return open_ended(limited(kind, "overlaps", list[overlap], min_length=count, max_length=count), kind)


class Interests(ReplyModel):
    """An author's research interests, summarised from the keywords of their papers (VirSci 2025, App. C.2.2)."""

    interests: Annotated[list[Text], Field(min_length=1, max_length=8)]


REPLIES = (Decision, Consensus, Topic, Interest, Idea, Vote, Revision, SelfReview, PeerReview, Interests)
"""What tasks may be answered with; the others are parts of these."""
