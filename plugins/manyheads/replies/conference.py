"""A conference's review form, cut down to what an abstract can be judged on."""

from pydantic import Field

from manyheads.replies.base import ReplyModel, Score, Text


class ConferenceReview(ReplyModel):
    """The truncated NeurIPS form (VirSci 2024, Fig. 17; 2025, Fig. 25)."""

    summary: Text = Field(description="What the paper does, in words that its authors would agree with.")
    strengths: list[Text] = Field(min_length=1, description="Originality, quality, clarity, significance.")
    weaknesses: list[Text] = Field(min_length=1, description="The same four, where the paper falls short.")
    questions: list[Text] = Field(min_length=1, description="What an answer of the authors could change.")
    ethical_concerns: bool = Field(description="true only if an ethics review is needed.")
    overall: Score = Field(description="1 (very strong reject) to 10 (award quality).")

    def spoken(self) -> str:
        return f"{self.overall} of 10. {self.summary}"
