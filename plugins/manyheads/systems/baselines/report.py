"""What the report of a baseline shows: a team's, as far as there is one."""

from collections.abc import Iterator

from manyheads.report.page import View
from manyheads.report.record import Record, count
from manyheads.systems import results
from manyheads.systems.baselines.result import BaselineResult, Course
from manyheads.systems.virsci.report import report as team_report


def essence(result: BaselineResult) -> Iterator[tuple[str, str]]:
    """Topic, idea and abstract, and what came of which tokens."""
    yield from results.work(result.topic, result.idea, result.abstract)
    if result.baseline:
        yield "Baseline", _course(result.baseline)


def _course(course: Course) -> str:
    """What a baseline used of what it was allowed, which may be much less, and what came of it."""
    allowed = course.tokens_allowed
    whole = f"the {allowed} tokens that {course.like} had used" if course.like else f"{allowed} tokens"
    return f"{count(course.ideas, 'idea')}{f' from {course.tokens_used} of {whole}' if allowed else ''}"


def report(record: Record) -> View:
    """The report of a baseline, on a team's template."""
    return team_report(record, alone=True)
