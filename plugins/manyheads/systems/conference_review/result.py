"""The result of a review of a text, and its summary."""

from collections.abc import Iterator, Mapping

from manyheads.asking.replies import ConferenceReview, IdeaRating, label
from manyheads.core.results import Figure, Part
from manyheads.measures.ratings import CRITERIA
from manyheads.measures.statistics import RatingMean
from manyheads.report.record import count


class SubjectRecord(Part):
    """The reviewed text."""

    source: str
    sha256: str
    words: int
    text: str | None = None
    """Without the title; kept here, as the file may be gone later."""


class Review(ConferenceReview):
    """A review on the truncated NeurIPS form."""

    reviewer: str
    model: str


class Rating(IdeaRating):
    """A review on the form for human raters."""

    reviewer: str
    model: str


class ReviewResult(Part):
    """The reviews in the order of the reviewers, and the mean of each score."""

    title: str = ""
    """Empty without one."""
    subject: SubjectRecord | None = None
    reviews: list[Review | Rating] = []
    means: dict[str, RatingMean] = {}
    """`overall`, or one for each criterion; none while a review is missing."""

    @property
    def scored(self) -> tuple[str, ...]:
        """The names of the scores."""
        return CRITERIA if any(isinstance(each, Rating) for each in self.reviews) else ("overall",)

    @property
    def points(self) -> dict[str, list[tuple[str, ...]]]:
        """The reviews' texts by field in the order of the form, each reviewer's in turn; a text is one point."""
        form = IdeaRating if self.scored == CRITERIA else ConferenceReview
        names = (name for name in form.model_fields if name not in (*self.scored, "ethical_concerns"))
        texts = {name: [getattr(review, name) for review in self.reviews] for name in names}
        return {
            name: [(text,) if isinstance(text, str) else tuple(text) for text in each]
            for name, each in texts.items()
        }

    @property
    def flagged(self) -> list[str]:
        """The reviewers who ask for an ethics review."""
        return [each.reviewer for each in self.reviews if isinstance(each, Review) and each.ethical_concerns]


def scores(result: ReviewResult) -> Mapping[str, Figure]:
    """The mean of each score."""
    return {name: Figure(mean=mean.mean, low=mean.low, high=mean.high) for name, mean in result.means.items()}


def essence(result: ReviewResult) -> Iterator[tuple[str, str]]:
    """The scores of each reviewer and their means."""
    if result.title:
        yield "Title", result.title
    elif result.subject:
        yield "Text", result.subject.source
    for review in result.reviews:
        scores = ", ".join(f"{name} {getattr(review, name)}" for name in result.scored)
        ethics = isinstance(review, Review) and review.ethical_concerns
        yield review.reviewer, f"{scores}{', asks for an ethics review' * ethics}"
    for name, mean in result.means.items():
        ends = ""
        if mean.low is not None and mean.high is not None:
            ends = f", {mean.level:.0%} interval {mean.low:.2f} to {mean.high:.2f}"
        yield name.capitalize(), f"{mean.mean:.2f} of 10, the mean of {count(mean.n, 'review')}{ends}"


def in_full(result: ReviewResult) -> Iterator[str]:
    """Each review as Markdown, with all fields of its form."""
    for place, review in enumerate(result.reviews):
        parts = [f"## {review.reviewer}"]
        for name, texts in result.points.items():
            points = texts[place]
            listed = f" {points[0]}" if len(points) == 1 else "".join(f"\n- {point}" for point in points)
            parts.append(f"**{label(name)}.**{listed}")
        yield "\n\n".join(parts)
