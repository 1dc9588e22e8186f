"""The section `baseline`: what a team is compared with, at equal cost (VirSci 2025, App. C.3)."""

from pydantic import Field

from manyheads.config.strict import Strict


class BaselineConfig(Strict):
    """How long a baseline goes on."""

    rounds: int = Field(default=50, ge=1)
    """Rounds of self-reflection of the lone agent."""
    turns: int = Field(default=12, ge=1)
    """Turns of the discussion without an ecosystem."""
    tokens: int | None = Field(default=None, gt=0)
    """Tokens that a baseline may use instead of rounds or turns; what the plain agent goes by."""
    like: str | None = None
    """A run folder: the baseline may use as many tokens as that run did."""
