"""What the report of a review shows: the reviews side by side, and their mean, as far as they have come."""

from typing import Any, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from manyheads.errors import JournalError
from manyheads.events import Said
from manyheads.report.folder import Record
from manyheads.roles import describe

SYSTEM = "conference-review"
ASPECTS = ("strengths", "weaknesses", "questions")


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Review(Part):
    reviewer: str
    model: str = ""
    summary: str = ""
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    ethical_concerns: bool = False
    overall: int


class Overall(Part):
    """The mean; see `manyheads.measures.ratings.Mean`."""

    mean: float
    spread: float | None = None
    low: float | None = None
    high: float | None = None
    n: int
    level: float


class Subject(Part):
    source: str = ""
    sha256: str = ""
    words: int = 0


class Reviewed(Part):
    """A run's reviews. `overall` is None while one is missing: there is no mean of some of them."""

    title: str = ""
    subject: Subject = Subject()
    reviews: tuple[Review, ...] = ()
    overall: Overall | None = None

    @property
    def flagged(self) -> list[str]:
        """The reviewers who want an ethics review."""
        return [review.reviewer for review in self.reviews if review.ethical_concerns]


def is_review(record: Record) -> bool:
    """Whether a run's folder holds reviews of one text."""
    return (record.result or record.config).get("system") == SYSTEM


def reviewed_of(record: Record) -> Reviewed:
    """The reviews of a finished run, or those that have come so far.

    Raises:
        JournalError: `result.json` is not what a run writes.
    """
    try:
        return Reviewed.model_validate(_so_far(record) if record.result is None else record.result)
    except ValidationError as error:
        raise JournalError(f"{record.folder / 'result.json'}: {describe(error)}") from error


def _so_far(record: Record) -> dict[str, Any]:
    said = sorted((each for each in record.of(Said) if each.task == "review"), key=lambda each: each.speaker)
    reviews = [{"reviewer": each.speaker, "model": each.model, **each.data} for each in said]
    source = cast(str | None, record.config.get("subject"))
    return {"subject": {"source": source or ""}, "reviews": reviews}
