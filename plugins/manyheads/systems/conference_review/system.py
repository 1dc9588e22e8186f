"""LLM review: independent reviews of one text (VirSci 2024, Fig. 17; 2025, Fig. 25, App. E)."""

from pathlib import Path

from manyheads.core.texts import read_subject
from manyheads.systems.conference_review.reviews import (
    FORMS,
    NEEDS,
    ReviewConfig,
    ReviewInputs,
    ReviewResult,
    check,
    conference_review,
    essence,
    in_full,
    scores,
)
from manyheads.team.system import Judge, Reviews, System

__all__ = ["CONFERENCE_REVIEW"]


CONFERENCE_REVIEW = System(
    name="conference-review",
    title="Conference review",
    about="Reviewers who each review a text alone, and score it from 1 to 10.",
    config=ReviewConfig,
    inputs=ReviewInputs,
    result=ReviewResult,
    run=conference_review,
    essence=essence,
    report=__name__,
    details=in_full,
    table=lambda result: result.reviews,
    needs=lambda config: NEEDS,
    check=check,
    read=lambda config: read_subject(Path(config.inputs.subject)),
    reviews=Reviews(
        "subject", "abstracts", lambda resources: {form: {"form": form} for form in FORMS}, scores
    ),
    judge=Judge(
        "subject",
        "review.overall",
        lambda path: tuple(path) if path[0] == "reviews" else ("means", ".".join(path), "mean"),
    ),
    aliases={"review": "conference-review"},
    extras=("statistics",),
)
