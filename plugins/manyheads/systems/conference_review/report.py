"""What the report of a review shows: the reviews side by side, and their means, as far as they have come."""

from collections.abc import Iterator

from manyheads.measures.statistics import RatingMean
from manyheads.replies import label
from manyheads.report.html import View
from manyheads.report.page import Page
from manyheads.report.record import Record, count
from manyheads.systems.conference_review.result import Rating, Review, ReviewResult


def essence(result: ReviewResult) -> Iterator[tuple[str, str]]:
    """The scores of each reviewer and their means."""
    if result.title:
        yield "Title", result.title
    elif result.subject:
        yield "Text", result.subject.source
    yield from ((review.reviewer, _scores(review, result.scored)) for review in result.reviews)
    yield from ((name.capitalize(), _mean(mean)) for name, mean in result.means.items())


def in_full(result: ReviewResult) -> Iterator[str]:
    """Each review as Markdown, with all that its form asks for."""
    told = points(result)
    for place, review in enumerate(result.reviews):
        parts = (f"**{label(name)}.**{_listed(each[place])}" for name, each in told.items())
        yield "\n\n".join((f"## {review.reviewer}", *parts))


def _listed(points: tuple[str, ...]) -> str:
    return f" {points[0]}" if len(points) == 1 else "".join(f"\n- {point}" for point in points)


def _scores(review: Review | Rating, scored: tuple[str, ...]) -> str:
    scores = ", ".join(f"{name} {getattr(review, name)}" for name in scored)
    ethics = isinstance(review, Review) and review.ethical_concerns
    return f"{scores}{', asks for an ethics review' * ethics}"


def _mean(mean: RatingMean) -> str:
    score = f"{mean.mean:.2f} of 10, the mean of {count(mean.n, 'review')}"
    if mean.low is None or mean.high is None:
        return score
    return f"{score}, {mean.level:.0%} interval {mean.low:.2f} to {mean.high:.2f}"


def report(record: Record) -> View:
    """The report of a review."""
    result: ReviewResult = record.result.result
    return View(__package__ or "", Page.of(record), {"reviewed": result, "points": points(result)})


def points(result: ReviewResult) -> dict[str, list[tuple[str, ...]]]:
    """What the reviews say, by name in the order of the form, each reviewer's in turn; a text is one point."""
    return {
        name: [
            (text,) if isinstance(text := getattr(review, name), str) else tuple(text)
            for review in result.reviews
        ]
        for name in result.points
    }
