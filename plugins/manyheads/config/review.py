"""The section `review`: how often a text is reviewed (VirSci 2025, App. E)."""

from typing import Literal

from pydantic import Field

from manyheads.config.sections import Strict


class ReviewConfig(Strict):
    """Independent reviews of one subject."""

    form: Literal["conference", "rating"] = "conference"
    """The conference's form with one overall score, or the rating form that people fill in too (App. C.4)."""
    repeats: int = Field(default=3, ge=1)
    """How many reviews are written, each without sight of the others; their mean is the score."""
