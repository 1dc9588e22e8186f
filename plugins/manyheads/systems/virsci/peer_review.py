"""Peer review of the finished abstract by outside scientists, and its revision (the authors' second code base)."""

from statistics import fmean

from manyheads.base.papers import Scientist
from manyheads.core import together
from manyheads.core.events import Judged
from manyheads.core.results import Draft
from manyheads.systems.virsci.abstract import AbstractDrafts, revise
from manyheads.systems.virsci.config import stages
from manyheads.systems.virsci.replies import PeerReview
from manyheads.systems.virsci.result import PeerReviewRecord, PeerReviewRound, PeerReviews, VirSciRun
from manyheads.team.run import Question
from manyheads.team.team import Team

STAGE = "peer_review"


async def review_by_peers(run: VirSciRun, team: Team, manuscript: AbstractDrafts) -> None:
    """Have the abstract marked, and revised with the reviews, until its mean mark reaches the threshold.

    The reviewers are the scientists nearest to the abstract who were never in the team; the same ones mark each version, without
    their earlier reviews. A missing mark is no mark: the mean is of those there are, and without any the abstract is neither
    accepted nor rejected.
    """
    config = run.settings.peer_review
    run.result.peer_review = reviews = PeerReviews(threshold=config.threshold)
    reviewers = await _reviewers(run, manuscript.current)
    for left in reversed(range(config.revisions + 1)):
        last = await _review(run, reviewers, manuscript.current, reviews)
        if last.mean is None:
            run.warn(STAGE, "nobody marked the abstract: it is neither accepted nor rejected")
            return
        if last.mean >= config.threshold:
            reviews.accepted = True
            return _judge(run, last, "accepted", config.threshold)
        if not left:
            reviews.accepted = False
            return _judge(run, last, "rejected", config.threshold)
        _judge(run, last, "revised", config.threshold)
        mean, threshold = f"{last.mean:.3g}", f"{config.threshold:g}"
        shown = {"reviews": last.reviews, "mean": mean, "threshold": threshold}
        await revise(run, team, manuscript, "respond", shown)


async def _reviewers(run: VirSciRun, abstract: Draft) -> list[Scientist]:
    """The scientists nearest to the abstract, without the team as it was formed."""
    wanted, team = run.settings.peer_review.reviewers, {person.name for person in run.result.team}
    found = await run.literature.find_scientists(abstract.spoken(), wanted, exclude=team)
    if len(found) < wanted:
        run.warn(
            STAGE, f"{len(found)} of {wanted} reviewers: the corpus has no more scientists outside the team"
        )
    return found


async def _review(
    run: VirSciRun, reviewers: list[Scientist], abstract: Draft, reviews: PeerReviews
) -> PeerReviewRound:
    """A round of reviews of one version, all asked at once."""
    number = len(reviews.rounds) + 1
    run.begin(STAGE, stages(run.config))
    # What a person said to the team is not for its reviewers: it waits for the revision.
    run.for_next.extend(run.remarks.pop(STAGE, []))

    async def ask(reviewer: Scientist) -> PeerReview | None:
        speaker = run.scientist("scientist", reviewer)
        question = Question(STAGE, number, speaker, "scientist", "mark", {"abstract": abstract}, "guest")
        return await run.hear(question, PeerReview)

    replies = await together(*(ask(reviewer) for reviewer in reviewers))
    records = [
        PeerReviewRecord(reviewer=reviewer.name, **reply.model_dump(include={*PeerReview.model_fields}))
        for reviewer, reply in zip(reviewers, replies, strict=True)
        if reply
    ]
    mean = fmean(one.mark for one in records) if records else None
    held = PeerReviewRound(number=number, title=abstract.title, reviews=records, mean=mean)
    reviews.rounds.append(held)
    return held


def _judge(run: VirSciRun, held: PeerReviewRound, outcome: str, threshold: float) -> None:
    marks = ", ".join(f"{one.mark} by {one.reviewer}" for one in held.reviews)
    why = f"marks from 1 to 10: {marks}; mean {held.mean:.3g}, accepted from {threshold:g}"
    run.emit(Judged(stage=STAGE, turn=held.number, subject="peer review", outcome=outcome, reasoning=why))
