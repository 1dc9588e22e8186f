"""What Review and Rebuttal asks for (Figs. 5–11)."""

from pydantic import Field

from manyheads.replies.base import ReplyModel, Text


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
