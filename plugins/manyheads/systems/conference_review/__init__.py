"""LLM review: independent reviews of one text (VirSci 2024, Fig. 17; 2025, Fig. 25, App. E)."""

from pathlib import Path

from manyheads.config import RunConfig
from manyheads.engine.system import System
from manyheads.systems.conference_review import report
from manyheads.systems.conference_review.config import ReviewConfig, ReviewInputs
from manyheads.systems.conference_review.result import ReviewResult
from manyheads.systems.conference_review.system import NEEDS, conference_review
from manyheads.texts import Subject, read_subject

__all__ = ["CONFERENCE_REVIEW"]


def _read(config: RunConfig) -> Subject:
    return read_subject(Path(config.inputs.subject))


CONFERENCE_REVIEW = System(
    name="conference-review",
    title="Conference review",
    about="Reviewers who each review the text that they are given, alone, and score it from 1 to 10.",
    config=ReviewConfig,
    inputs=ReviewInputs,
    result=ReviewResult,
    run=conference_review,
    essence=report.essence,
    report=report.report,
    details=report.in_full,
    needs=lambda config: NEEDS,
    read=_read,
    aliases={"review": "conference-review"},
)
