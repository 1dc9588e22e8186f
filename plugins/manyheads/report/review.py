"""What the report of a review shows: the reviews side by side, and their means, as far as they have come."""

from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field

from manyheads.core.events import Said
from manyheads.report.record import Part, Record, part_of

SYSTEM = "conference-review"
SCORES = ("overall", "novelty", "feasibility", "effectiveness")
"""What is scored, on either form."""


class Review(Part):
    """One review: its scores by name, 1 to 10, and what it says, by name, in the order of its form."""

    reviewer: str
    model: str = ""
    ethical_concerns: bool | None = None
    """None on a form that does not ask."""
    scores: dict[str, int]
    points: dict[str, tuple[str, ...]]


class Mean(Part):
    """See `manyheads.measures.ratings.Mean`."""

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


def _sorted_out(value: object) -> object:
    """A filled-in form as scores and points; a text is one point."""
    if not isinstance(value, dict):
        return value
    form = cast(dict[str, Any], value)
    told = {name: each for name, each in form.items() if name not in ("reviewer", "model")}
    points = {name: (each,) if isinstance(each, str) else each for name, each in told.items()}
    return {
        **form,
        "scores": {name: form[name] for name in SCORES if name in form},
        "points": {name: each for name, each in points.items() if isinstance(each, tuple | list)},
    }


class Reviewed(Part):
    """A run's reviews. There are no `means` while a review is missing: none is taken of some of them."""

    title: str = ""
    subject: Subject = Subject()
    reviews: tuple[Annotated[Review, BeforeValidator(_sorted_out)], ...] = ()
    means: dict[str, Mean] = Field(default_factory=dict[str, Mean])

    @property
    def scored(self) -> list[str]:
        """The names of the scores."""
        return list(self.reviews[0].scores) if self.reviews else []

    @property
    def told(self) -> list[str]:
        """The names of what the reviews say."""
        return list(self.reviews[0].points) if self.reviews else []

    @property
    def asks_for_ethics(self) -> bool:
        """Whether the form asks for ethical concerns."""
        return any(review.ethical_concerns is not None for review in self.reviews)

    @property
    def flagged(self) -> list[str]:
        """The reviewers who want an ethics review."""
        return [review.reviewer for review in self.reviews if review.ethical_concerns]


def reviewed_of(record: Record) -> Reviewed:
    """The reviews of a finished run, or those that have come so far.

    Raises:
        JournalError: `result.json` is not what a run writes.
    """
    return part_of(Reviewed, record, _so_far)


def _so_far(record: Record) -> dict[str, Any]:
    said = sorted(
        (each for each in record.of(Said) if each.task in ("review", "rate")), key=lambda each: each.speaker
    )
    reviews = [{"reviewer": each.speaker, "model": each.model, **each.data} for each in said]
    source = cast(str | None, record.config.get("subject"))
    return {"subject": {"source": source or ""}, "reviews": reviews}
