"""What the debate asks for. A role card names these `debate.Argument` and `debate.Ruling`."""

from typing import Literal

from pydantic import Field

from manyheads.replies import Percent, ReplyModel, Text


class Argument(ReplyModel):
    """One advocate's turn."""

    point: Text = Field(
        description="Your strongest point that has not been made yet, in two or three sentences."
    )
    concession: Text | None = Field(default=None, description="What the other side is right about, or null.")


class Ruling(ReplyModel):
    """The arbiter's decision."""

    reasons: list[Text] = Field(min_length=1, description="What decided it, the weightiest first.")
    verdict: Literal["holds", "fails", "open"]
    confidence: Percent = Field(description="0 (a guess) to 100 (beyond doubt).")

    def spoken(self) -> str:
        return f"Verdict: {self.verdict}, {self.confidence} % sure. {self.reasons[0]}"
