"""The section of the conference review, and its input: how often a text is reviewed (VirSci 2025, App. E)."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from manyheads.config import Inputs, RunConfig, Section, Slot


class ReviewConfig(Section):
    """Independent reviews of one subject."""

    form: Literal["conference", "rating"] = "conference"
    """The conference's form with one overall score, or the rating form that people fill in too (App. C.4)."""
    repeats: int = Field(default=3, ge=1)
    """How many reviews are written, each without sight of the others; their mean is the score."""


SUBJECT = Slot(
    "last", file=True, metavar="FILE|RUN", required=True, hint="--subject FILE, or the folder of a run"
)


class ReviewInputs(Inputs):
    """The text that is reviewed."""

    subject: Annotated[str | None, SUBJECT] = None
    """What a review is of: a text file, or the folder of a run that wrote an abstract."""

    @field_validator("subject")
    @classmethod
    def _named_in_full(cls, value: str | None) -> str | None:
        return None if value is None else str(Path(value).expanduser().resolve())


def settings_of(config: RunConfig) -> ReviewConfig:
    """The settings of a run of the conference review."""
    return config.settings
