"""Reviews of a text: a conference's form, and the form for human raters."""

from pydantic import Field

from manyheads.asking.replies.base import ReplyModel, Score, Text


class ConferenceReview(ReplyModel):
    """The truncated NeurIPS form (VirSci 2024, Fig. 17; 2025, Fig. 25)."""

    summary: Text
    strengths: list[Text] = Field(min_length=1)
    weaknesses: list[Text] = Field(min_length=1)
    questions: list[Text] = Field(min_length=1)
    ethical_concerns: bool
    overall: Score


class IdeaRating(ReplyModel):
    """Novelty, feasibility and effectiveness of an idea, each with its reason first (VirSci 2025, App. C.4 and E)."""

    novelty_reason: Text
    novelty: Score
    feasibility_reason: Text
    feasibility: Score
    effectiveness_reason: Text
    effectiveness: Score


REPLIES = (
    ConferenceReview, IdeaRating,
)  # fmt: skip
"""What tasks may be answered with; the others are parts of these."""
