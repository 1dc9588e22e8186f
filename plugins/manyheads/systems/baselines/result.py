"""The result of a baseline, in the form of a team's, and its summary."""

from collections.abc import Iterator

from manyheads.core.results import Part
from manyheads.report.record import count
from manyheads.systems import results
from manyheads.systems.baselines.config import BaselineConfig
from manyheads.systems.virsci.result import TeamResult
from manyheads.team.run import Run


class Course(Part):
    """The course of a baseline, and its limit in tokens."""

    ideas: int
    stopped_by: str | None = None
    """`rounds`, `turns`, `tokens` or `done`; None before the idea stage has ended."""
    done_in_turns: list[int] = []
    """Turns in which the agent, or the critic, called the idea finished."""
    tokens_allowed: int | None = None
    """None for no limit."""
    tokens_used: int
    like: str | None = None
    """The run whose tokens were the limit."""


class BaselineResult(TeamResult):
    baseline: Course | None = None


BaselineRun = Run[BaselineResult, BaselineConfig]


def essence(result: BaselineResult) -> Iterator[tuple[str, str]]:
    """Topic, idea, abstract, and tokens used of the limit."""
    yield from results.work(result.topic, result.idea, result.abstract)
    if course := result.baseline:
        allowed = course.tokens_allowed
        whole = f"the {allowed} tokens of {course.like}" if course.like else f"{allowed} tokens"
        yield (
            "Baseline",
            f"{count(course.ideas, 'idea')}{f' from {course.tokens_used} of {whole}' if allowed else ''}",
        )
