"""The self-reviews of a run as the report shows them, finished or so far."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import Field

from manyheads.events import Judged, Retrieved, Said
from manyheads.report.folder import Record
from manyheads.report.outcome import Abstract, Idea
from manyheads.report.part import Part

STAGE = "review"
USUAL_THRESHOLD = 70
"""Where neither the result nor the config tells one."""


class Overlap(Part):
    title: str = ""
    year: int | None = None
    id: str = ""
    similarity: int
    reason: str = ""


class Reviewed(Part):
    """One self-review; `outcome` is what came of it, in the run's own words."""

    number: int = 0
    round: int = 1
    title: str = ""
    closest: int | None = None
    too_close: bool = False
    overlaps: tuple[Overlap, ...] = ()
    outcome: str = ""


class Discarded(Part):
    round: int = 1
    idea: Idea
    abstract: Abstract


class SelfReviews(Part):
    """All of them; `passed` is None while the run goes on, and where there was nothing to compare with."""

    passed: bool | None = None
    threshold: int = Field(default=USUAL_THRESHOLD)
    reviews: tuple[Reviewed, ...] = ()
    discarded: tuple[Discarded, ...] = ()

    @property
    def given_up(self) -> frozenset[int]:
        """The numbers of the discarded ideas."""
        return frozenset(one.idea.number for one in self.discarded)


def self_reviews(record: Record) -> SelfReviews | None:
    """What `result.json` keeps of them, or the events so far; None where there were none."""
    if record.result is None:
        return _so_far(record)
    kept = record.result.get("self_review")
    if not isinstance(kept, dict):
        return None
    told, outcomes = SelfReviews.model_validate(kept), _outcomes(record)
    reviews = [one.model_copy(update={"outcome": outcomes.get(one.number, "")}) for one in told.reviews]
    return told.model_copy(update={"reviews": tuple(reviews)})


def _so_far(record: Record) -> SelfReviews | None:
    reviews = tuple(_told(record))
    if not reviews:
        return None
    return SelfReviews(threshold=_threshold(record), reviews=reviews)


def _told(record: Record) -> Iterator[Reviewed]:
    threshold, outcomes = _threshold(record), _outcomes(record)
    looked_up = {event.turn: event.hits for event in record.of(Retrieved, STAGE)}
    for said in record.of(Said, STAGE):
        hits = looked_up.get(said.turn, ())
        overlaps = tuple(_overlaps(said.data, hits))
        closest = max((each.similarity for each in overlaps), default=None)
        yield Reviewed(
            number=said.turn,
            closest=closest,
            too_close=closest is not None and closest >= threshold,
            overlaps=overlaps,
            outcome=outcomes.get(said.turn, ""),
        )


def _overlaps(data: Mapping[str, Any], hits: tuple[dict[str, Any], ...]) -> Iterator[Overlap]:
    for each in cast(list[dict[str, Any]], data.get("overlaps") or []):
        place = int(each.get("paper", 0)) - 1
        hit = hits[place] if 0 <= place < len(hits) else {}
        yield Overlap.model_validate({**hit, **each})


def _outcomes(record: Record) -> dict[int, str]:
    """What the run made of each review, by its number."""
    return {event.turn: event.outcome for event in record.of(Judged, STAGE)}


def _threshold(record: Record) -> int:
    section = cast(dict[str, Any], record.config.get("self_review") or {})
    return int(section.get("threshold", USUAL_THRESHOLD))
