"""What a baseline comes to, in the shape of a team's result."""

from manyheads.core.results import Part
from manyheads.discussion.run import Run
from manyheads.systems.baselines.config import BaselineConfig
from manyheads.systems.virsci.result import TeamResult


class Course(Part):
    """How a baseline went, and what it may have cost."""

    ideas: int
    stopped_by: str | None = None
    """`rounds`, `turns`, `tokens` or `done`; None before the idea stage has ended."""
    done_in_turns: list[int] = []
    """In which the agent, or the critic, called the idea finished."""
    tokens_allowed: int | None = None
    """None for as many as it takes."""
    tokens_used: int
    like: str | None = None
    """The run whose tokens it was allowed."""


class BaselineResult(TeamResult):
    baseline: Course | None = None


BaselineRun = Run[BaselineResult, BaselineConfig]
