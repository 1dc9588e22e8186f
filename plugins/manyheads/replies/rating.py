"""The rating form that people fill in too."""

from pydantic import Field

from manyheads.replies.base import ReplyModel, Score, Text


class IdeaRating(ReplyModel):
    """Novelty, feasibility and effectiveness of an idea, each with its reason first (VirSci 2025, App. C.4 and E)."""

    novelty_reason: Text = Field(description="What exists, and what differs from it.")
    novelty: Score
    feasibility_reason: Text = Field(description="What carrying it out would take.")
    feasibility: Score
    effectiveness_reason: Text = Field(description="Why it should work, or not.")
    effectiveness: Score

    def spoken(self) -> str:
        given = f"novelty {self.novelty}, feasibility {self.feasibility}, effectiveness {self.effectiveness} of 10"
        return f"{given}. {self.novelty_reason}"
