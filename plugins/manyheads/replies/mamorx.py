"""What MAMORX asks for (App. A)."""

from typing import Literal

from pydantic import Field

from manyheads.replies.base import ReplyModel, Text


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
