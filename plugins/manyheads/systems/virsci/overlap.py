"""How close a finished abstract comes to published work (VirSci 2025, App. B.1)."""

from dataclasses import dataclass

from manyheads.core.results import Draft
from manyheads.discussion.run import Cited
from manyheads.systems.virsci import result


@dataclass(frozen=True)
class Compared:
    """What the leader finds between the abstract and one published paper; `similarity` is 0 to 100."""

    hit: Cited
    similarity: int
    reason: str


@dataclass(frozen=True)
class SelfReviewed:
    """R_review: the abstract beside each of the closest papers, closest first as they were listed.

    Attributes:
        number: of the review in its run, from 1; also its turn in the review stage.
        threshold: similarity from which the abstract is too close.
    """

    number: int
    abstract: Draft
    overlaps: tuple[Compared, ...]
    threshold: int

    @property
    def closest(self) -> int | None:
        """The highest similarity; None where there was no paper to compare with."""
        return max((each.similarity for each in self.overlaps), default=None)

    @property
    def too_close(self) -> list[Compared]:
        """What the abstract is too close to."""
        return [each for each in self.overlaps if each.similarity >= self.threshold]

    def kept(self) -> result.SelfReview:
        """The review as the result keeps it."""
        return result.SelfReview(
            number=self.number,
            round=self.abstract.round or 1,
            title=self.abstract.title,
            closest=self.closest,
            too_close=bool(self.too_close),
            overlaps=[
                result.Overlap(evidence=each.hit.evidence, similarity=each.similarity, reason=each.reason)
                for each in self.overlaps
            ],
        )
