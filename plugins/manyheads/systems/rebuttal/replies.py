"""Replies about a proposal: idea, review, rebuttal, verdict (Review and Rebuttal, Figs. 5–11)."""

import re
from typing import Literal

from pydantic import Field

from manyheads.asking.replies import Doubts
from manyheads.asking.replies.base import ReplyModel, Text, limited


class FirstIdea(ReplyModel):
    """The proposer's starting point, before any review (Fig. 8)."""

    thought: Text
    idea: Text


class Proposal(ReplyModel):
    """An idea in the six-field form of Review and Rebuttal (§3.1, Fig. 9)."""

    title: Text
    problem: Text
    objective: Text
    hypothesis: Text
    method: Text
    expected_impact: Text


class Answer(ReplyModel):
    """A proposer's change for one weakness of an idea."""

    weakness: Text
    change: Text


class Answers(ReplyModel):
    """Before an idea is revised: each weakness with its change."""

    answers: list[Answer] = Field(min_length=1, max_length=5)


class RevisedProposal(Proposal, Answers):
    """A proposal after a review, or after its author's own criticism (Fig. 9)."""


class Rethought(Proposal, Doubts):
    """One round of self-reflection of a lone proposer (§4.2)."""

    improved: bool


class TraitVerdict(ReplyModel):
    """The extent to which an idea has one trait of the reviewed quality."""

    trait: Text
    finding: Text
    met: Literal["yes", "partly", "no"]


class Review(ReplyModel):
    """A reviewer's findings on one quality indicator: a verdict on each of its traits, then the points (Fig. 10)."""

    verdicts: list[TraitVerdict] = Field(min_length=1)
    strengths: list[Text] = Field(min_length=1, max_length=3)
    weaknesses: list[Text] = Field(min_length=1, max_length=3)
    suggestions: list[Text] = Field(min_length=1, max_length=3)


def review_on(kind: type[Review], traits: int) -> type[Review]:
    """A review by a number of traits, which its schema shows."""
    return limited(kind, "verdicts", list[TraitVerdict], min_length=traits, max_length=traits)


class Verdict(ReplyModel):
    """An area chair's comparison of two versions of an idea, A and B, without knowing which is later."""

    reasoning: Text
    better: Literal["A", "B"]
    difference: Literal["none", "small", "significant"]

    def prefers(self, version: str) -> bool:
        """Whether a version, A or B, is significantly better than the other (Fig. 11)."""
        return self.difference == "significant" and self.better == version


ABSENT = "NONE"  # value of a field that the text does not mention


AROUND = " \t\n.,;:!*_`\"'()[]<>-–—"  # characters that a model may put around it


class Condensed(Proposal):
    """A text's idea in the form of a proposal; a field missing in the text is `NONE` (Fig. 13)."""

    def contents(self) -> dict[str, str]:
        """The fields that the text contains."""
        fields = {name: getattr(self, name) for name in Proposal.model_fields}
        return {name: text for name, text in fields.items() if text.strip(AROUND).upper() != ABSENT}

    def contradictions(self) -> list[str]:
        """The fields that say NONE and continue, except the title, which may begin with that word."""
        fields = ((name, text.lstrip(AROUND)) for name, text in self.contents().items() if name != "title")
        return [name for name, text in fields if re.match(rf"{ABSENT}\b", text)]


REPLIES = (Proposal, Review, Verdict, FirstIdea, RevisedProposal, Rethought, Condensed)
"""What tasks may be answered with; the others are parts of these."""
