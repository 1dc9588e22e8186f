"""What a baseline comes to, in the shape of a team's result, and how it is told."""

from collections.abc import Iterator

from manyheads.core.results import Part
from manyheads.discussion.run import Run
from manyheads.report.record import count
from manyheads.systems import results
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


def essence(result: BaselineResult) -> Iterator[tuple[str, str]]:
    """Topic, idea and abstract, and what came of which tokens: it may have used much less than it was allowed."""
    yield from results.work(result.topic, result.idea, result.abstract)
    if course := result.baseline:
        allowed = course.tokens_allowed
        whole = f"the {allowed} tokens that {course.like} had used" if course.like else f"{allowed} tokens"
        yield (
            "Baseline",
            f"{count(course.ideas, 'idea')}{f' from {course.tokens_used} of {whole}' if allowed else ''}",
        )
