"""A conference's review form, cut down to what an abstract can be judged on."""

from typing import Literal

from pydantic import Field

from manyheads.replies.base import ReplyModel, Score, Text


class ConferenceReview(ReplyModel):
    """The truncated NeurIPS form (VirSci 2024, Fig. 17; 2025, Fig. 25)."""

    verb = "reviews"

    summary: Text = Field(description="What the paper does, in words that its authors would agree with.")
    strengths: list[Text] = Field(min_length=1, description="Originality, quality, clarity, significance.")
    weaknesses: list[Text] = Field(min_length=1, description="The same four, where the paper falls short.")
    questions: list[Text] = Field(min_length=1, description="What an answer of the authors could change.")
    ethical_concerns: bool = Field(description="true only if an ethics review is needed.")
    overall: Score = Field(description="1 (very strong reject) to 10 (award quality).")

    def spoken(self) -> str:
        return f"{self.overall} of 10. {self.summary}"


# The rating form that people fill in too.


class IdeaRating(ReplyModel):
    """Novelty, feasibility and effectiveness of an idea, each with its reason first (VirSci 2025, App. C.4 and E)."""

    verb = "rates"

    novelty_reason: Text = Field(description="What exists, and what differs from it.")
    novelty: Score
    feasibility_reason: Text = Field(description="What carrying it out would take.")
    feasibility: Score
    effectiveness_reason: Text = Field(description="Why it should work, or not.")
    effectiveness: Score

    def spoken(self) -> str:
        given = f"novelty {self.novelty}, feasibility {self.feasibility}, effectiveness {self.effectiveness} of 10"
        return f"{given}. {self.novelty_reason}"


# What MAMORX asks for (App. A).


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
