"""Self-review of the finished abstract (VirSci 2025, App. B.1, Eqs. 5 and 6; 2024, App. D.1, Fig. 16)."""

from collections.abc import Callable
from dataclasses import dataclass

from manyheads.core.events import Judged
from manyheads.core.results import Draft
from manyheads.discussion import Team, ask_with_advice
from manyheads.discussion.run import Question
from manyheads.replies import Abstract, Revision, SelfReview, review_of
from manyheads.systems.virsci import result
from manyheads.systems.virsci.abstract import STAGE as ABSTRACT
from manyheads.systems.virsci.abstract import Manuscript, write
from manyheads.systems.virsci.config import stage_event
from manyheads.systems.virsci.ideas import Likeness
from manyheads.systems.virsci.result import SelfReviews, VirSciRun


@dataclass(frozen=True)
class Comparison:
    """R_review: the abstract beside each of the closest papers, closest first as they were listed.

    Attributes:
        number: of the review in its run, from 1; also its turn in the review stage.
        threshold: similarity from which the abstract is too close.
    """

    number: int
    abstract: Draft
    overlaps: tuple[Likeness, ...]
    threshold: int

    @property
    def closest(self) -> int | None:
        """The highest similarity; None where there was no paper to compare with."""
        return max((each.similarity for each in self.overlaps), default=None)

    @property
    def too_close(self) -> list[Likeness]:
        """What the abstract is too close to."""
        return [each for each in self.overlaps if each.similarity >= self.threshold]

    def record(self) -> result.SelfReview:
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


STAGE = "review"
REVISION = "Abstract revision"


async def review_and_revise(
    run: VirSciRun, team: Team, manuscript: Manuscript, reviews: SelfReviews
) -> list[Comparison]:
    """The leader's reviews of one abstract: one, or two with a round of revision between them.

    `reviews` are those held so far in the run. An abstract that was still too close at the second one does not pass.
    """
    first = await _review(run, team, manuscript, reviews)
    if not first.too_close:
        return [first]
    _judge(run, first, "revised", reviews)
    await revise_abstract(run, team, manuscript, first)
    return [first, await _review(run, team, manuscript, reviews)]


async def revise_abstract(run: VirSciRun, team: Team, manuscript: Manuscript, review: Comparison) -> None:
    """Another round of writing, which the leader opens with the self-review in the prompt (2025, Eq. 6; 2024, Eq. 8).

    The members after the leader are asked as ever (Eq. 4).
    """
    run.emit(stage_event(run.config, ABSTRACT, REVISION))
    current = manuscript.current

    async def rework(turn: int) -> Abstract:
        """Q_1,0 = ⟨Q_abstract, Q_judgement, R_review, B_past(R_abstract), R_abstract⟩."""
        variables = {"abstract": current, "overlaps": review.overlaps, "threshold": review.threshold}
        title = manuscript.idea.title
        question = Question(
            ABSTRACT, turn, team.leader.speaker, "leader", "rework", variables, "leader", recall=title
        )
        kind = run.reply_type("leader", "rework", Revision)
        return (await ask_with_advice(run, team, question, kind, context=current.spoken())).value

    await write(run, team, manuscript, rework, manuscript.turn)


def discard(run: VirSciRun, review: Comparison, reviews: SelfReviews) -> None:
    """Tell that the abstract and its idea are given up."""
    _judge(run, review, "discarded with its idea", reviews)


def keep_anyway(run: VirSciRun, review: Comparison) -> None:
    """Tell that the abstract stands although it is too close, as no further discard is allowed."""
    discards = run.settings.self_review.max_discards
    run.warn(
        STAGE,
        f"the abstract stands although it is too close to published work ({review.closest} of 100, too close from "
        f"{review.threshold}): self_review.max_discards is {discards}",
    )


async def _review(run: VirSciRun, team: Team, manuscript: Manuscript, reviews: SelfReviews) -> Comparison:
    """The next review, taken down in the result."""
    run.emit(stage_event(run.config, STAGE))
    review = await _compare(run, team, manuscript, len(reviews.reviews) + 1)
    reviews.reviews.append(review.record())
    if review.overlaps and not review.too_close:
        _judge(run, review, "passed", reviews)
    return review


async def _compare(run: VirSciRun, team: Team, manuscript: Manuscript, number: int) -> Comparison:
    """Eq. 5: Q_review = ⟨Q_check, R_abstract, B_past(R_abstract)⟩, without history."""
    abstract, config = manuscript.current, run.settings.self_review
    [hits] = await run.references(STAGE, number, [abstract.spoken()], config.references)
    if not hits:
        run.warn(STAGE, "the abstract is not reviewed: no published paper was found to compare it with")
        return Comparison(number, abstract, (), config.threshold)
    variables = {"abstract": abstract, "references": hits}
    question = Question(
        STAGE, number, team.leader.speaker, "leader", "self_review", variables, "leader",
        check=_each_once(len(hits)),
    )  # fmt: skip
    kind = review_of(run.reply_type("leader", "self_review", SelfReview), len(hits))
    found = {each.paper: each for each in (await run.ask(question, kind)).value.overlaps}
    overlaps = [Likeness(hit, found[n].similarity, found[n].reason) for n, hit in enumerate(hits, start=1)]
    return Comparison(number, abstract, tuple(overlaps), config.threshold)


def _each_once(count: int) -> Callable[[SelfReview], str | None]:
    """Every paper that is listed is compared, and none twice."""

    def check(reply: SelfReview) -> str | None:
        given = sorted(each.paper for each in reply.overlaps)
        if given == list(range(1, count + 1)):
            return None
        numbers = ", ".join(map(str, given))
        return f"overlaps: each of the papers 1 to {count} belongs there exactly once (given: {numbers})"

    return check


def _judge(run: VirSciRun, review: Comparison, outcome: str, reviews: SelfReviews) -> None:
    reviews.reviews[-1].outcome = outcome
    nearest = max(review.overlaps, key=lambda each: each.similarity)
    run.emit(
        Judged(
            stage=STAGE,
            turn=review.number,
            subject="self-review",
            outcome=outcome,
            reasoning=f"at most {nearest.similarity} of 100 alike, too close from {review.threshold}: "
            f"“{nearest.hit.paper.title}”",
        )
    )
