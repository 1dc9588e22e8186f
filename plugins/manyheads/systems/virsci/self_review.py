"""Self-review of the finished abstract (VirSci 2025, App. B.1, Eqs. 5 and 6; 2024, App. D.1, Fig. 16)."""

from dataclasses import dataclass

from manyheads.core.events import Judged
from manyheads.core.results import Draft
from manyheads.systems.virsci import result
from manyheads.systems.virsci.abstract import AbstractDrafts, revise
from manyheads.systems.virsci.config import stages
from manyheads.systems.virsci.ideas import Likeness
from manyheads.systems.virsci.replies import SelfReview, review_of
from manyheads.systems.virsci.result import SelfReviews, VirSciRun
from manyheads.team.run import Question
from manyheads.team.team import Team

STAGE = "review"


@dataclass(frozen=True)
class AbstractComparison:
    """R_review: the abstract compared with each of the closest papers, in the order of the list.

    `number` is of the review in its run, from 1, and its turn; from `threshold` on the abstract is too close.
    """

    number: int
    overlaps: tuple[Likeness, ...]
    threshold: int

    @property
    def closest(self) -> int | None:
        """The highest similarity; None if there was no paper to compare with."""
        return max((each.similarity for each in self.overlaps), default=None)

    @property
    def too_close(self) -> list[Likeness]:
        """The papers that the abstract is too close to."""
        return [each for each in self.overlaps if each.similarity >= self.threshold]


async def review_and_revise(
    run: VirSciRun, team: Team, manuscript: AbstractDrafts, reviews: SelfReviews
) -> AbstractComparison:
    """The leader's review of one abstract; if it had to be revised, the second review.

    `reviews` are the earlier ones of the run. An abstract that is still too close in the second review does not pass.
    """
    first = await _review(run, team, manuscript, reviews)
    if not first.too_close:
        return first
    judge(run, first, "revised", reviews)
    # Q_1,0 = ⟨Q_abstract, Q_judgement, R_review, B_past(R_abstract), R_abstract⟩ (2025, Eq. 6; 2024, Eq. 8)
    found = {"overlaps": first.overlaps, "threshold": first.threshold}
    await revise(run, team, manuscript, "rework", found)
    return await _review(run, team, manuscript, reviews)


async def _review(
    run: VirSciRun, team: Team, manuscript: AbstractDrafts, reviews: SelfReviews
) -> AbstractComparison:
    """The next review, recorded in the result."""
    run.begin(STAGE, stages(run.config))
    abstract = manuscript.current
    review = await _compare(run, team, abstract, len(reviews.reviews) + 1)
    overlaps = [
        result.OverlapRecord(evidence=each.hit.evidence, similarity=each.similarity, reason=each.reason)
        for each in review.overlaps
    ]
    record = result.SelfReviewRecord(
        number=review.number, round=abstract.round or 1, title=abstract.title,
        closest=review.closest, too_close=bool(review.too_close), overlaps=overlaps,
    )  # fmt: skip
    reviews.reviews.append(record)
    if review.overlaps and not review.too_close:
        judge(run, review, "passed", reviews)
    return review


async def _compare(run: VirSciRun, team: Team, abstract: Draft, number: int) -> AbstractComparison:
    """Eq. 5: Q_review = ⟨Q_check, R_abstract, B_past(R_abstract)⟩, without history."""
    config, leader = run.settings.self_review, team.leader.speaker
    [hits] = await run.references(STAGE, number, [abstract.spoken()], config.references)
    if not hits:
        run.warn(STAGE, "the abstract is not reviewed: no published paper was found to compare it with")
        return AbstractComparison(number, (), config.threshold)

    def each_once(reply: SelfReview) -> str | None:
        """Each listed paper is compared exactly once."""
        fault = {"count": len(hits), "numbers": sorted(each.paper for each in reply.overlaps)}
        right = fault["numbers"] == [*range(1, len(hits) + 1)]
        return None if right else run.roles.prompts.render("leader/invalid.md.j2", fault).strip()

    shown = {"abstract": abstract, "references": hits}
    question = Question(STAGE, number, leader, "leader", "self_review", shown, "leader", check=each_once)
    kind = review_of(run.reply_type("leader", "self_review", SelfReview), len(hits))
    reply = await run.hear(question, kind)
    overlaps = sorted(reply.overlaps, key=lambda each: each.paper) if reply else ()
    likenesses = (Likeness(hits[each.paper - 1], each.similarity, each.reason) for each in overlaps)
    return AbstractComparison(number, tuple(likenesses), config.threshold)


def judge(run: VirSciRun, review: AbstractComparison, outcome: str, reviews: SelfReviews) -> None:
    """Record the outcome of the last review and report it as an event."""
    reviews.reviews[-1].outcome = outcome
    nearest = max(review.overlaps, key=lambda each: each.similarity)
    alike = f"at most {nearest.similarity} of 100 alike, too close from {review.threshold}"
    why, turn = f"{alike}: “{nearest.hit.paper.title}”", review.number
    run.emit(Judged(stage=STAGE, turn=turn, subject="self-review", outcome=outcome, reasoning=why))
