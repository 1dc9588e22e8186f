"""What a review of a text comes to."""

from manyheads.core.results import Part
from manyheads.discussion.run import Run
from manyheads.measures.ratings import CRITERIA
from manyheads.measures.statistics import RatingMean
from manyheads.replies import ConferenceReview, IdeaRating
from manyheads.systems.conference_review.config import ReviewConfig
from manyheads.texts import Subject


class SubjectRecord(Part):
    """What was reviewed, so that it can be found again; its text is not kept twice."""

    source: str
    sha256: str
    words: int


class Review(ConferenceReview):
    """A review on the truncated NeurIPS form."""

    reviewer: str
    model: str


class Rating(IdeaRating):
    """A review on the form that people fill in."""

    reviewer: str
    model: str


class ReviewResult(Part):
    """The reviews in the order of the reviewers, and the mean of each of the form's scores."""

    title: str = ""
    """Empty where none is told."""
    subject: SubjectRecord | None = None
    reviews: list[Review | Rating] = []
    means: dict[str, RatingMean] = {}
    """`overall`, or one for each criterion; none while a review is missing: none is taken of some of them."""

    @property
    def scored(self) -> tuple[str, ...]:
        """The names of the scores."""
        return CRITERIA if any(isinstance(each, Rating) for each in self.reviews) else ("overall",)

    @property
    def points(self) -> list[str]:
        """The names of what the reviews say, in the order of the form."""
        form = IdeaRating if self.scored == CRITERIA else ConferenceReview
        return [name for name in form.model_fields if name not in (*self.scored, "ethical_concerns")]

    @property
    def flagged(self) -> list[str]:
        """The reviewers who want an ethics review."""
        return [each.reviewer for each in self.reviews if isinstance(each, Review) and each.ethical_concerns]


ReviewRun = Run[ReviewResult, ReviewConfig, Subject]
