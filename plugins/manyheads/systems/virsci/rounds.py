"""From a topic to an abstract: one round of three stages, or more where self-review gives an idea up."""

from dataclasses import dataclass, field

from manyheads.discussion import Run, Team
from manyheads.systems.virsci import novelty
from manyheads.systems.virsci.abstract import Manuscript, write_abstract
from manyheads.systems.virsci.ideas import Discarded, Proposed, most_confident, propose_ideas
from manyheads.systems.virsci.overlap import SelfReviewed
from manyheads.systems.virsci.review import discard, keep_anyway, review_and_revise


@dataclass
class Round:
    """One way from ideas to an abstract: what was proposed, kept, voted for and written, and the reviews of it."""

    ideas: list[Proposed]
    kept: list[Proposed]
    chosen: Proposed
    ballots: list[novelty.Ballot]
    tie: str | None
    manuscript: Manuscript
    reviews: list[SelfReviewed] = field(default_factory=list[SelfReviewed])

    @property
    def too_close(self) -> bool:
        """Whether its last self-review was not passed."""
        return bool(self.reviews and self.reviews[-1].too_close)

    @property
    def passed(self) -> bool | None:
        """Whether its last self-review was passed; None where there was no paper to compare with, or no review."""
        return not self.too_close if self.reviews and self.reviews[-1].overlaps else None

    @property
    def turns(self) -> dict[str, int]:
        """The number of the last turn of each stage."""
        return {
            "idea": self.ideas[-1].turn,
            "novelty": max((ballot.turn for ballot in self.ballots), default=0),
            "abstract": self.manuscript.turn,
        }


async def hold_rounds(run: Run, team: Team, topic: str) -> list[Round]:
    """Rounds until an abstract passes the self-review, if there is one; the last round's abstract is the result.

    After `self_review.max_discards` rounds in vain the last abstract stands, and a warning says so.
    """
    held: list[Round] = []
    while True:
        held.append(await _round(run, team, topic, held))
        if not run.settings.self_review.enabled:
            return held
        reviewed = sum(len(one.reviews) for one in held)
        last = held[-1]
        last.reviews = await review_and_revise(run, team, last.manuscript, reviewed)
        if not last.too_close:
            return held
        if len(held) > run.settings.self_review.max_discards:
            keep_anyway(run, last.reviews[-1])
            return held
        discard(run, last.reviews[-1])


async def _round(run: Run, team: Team, topic: str, held: list[Round]) -> Round:
    """Ideas, a vote and an abstract; turns and ideas are numbered on from those of the rounds before."""
    before = held[-1].turns if held else dict.fromkeys(("idea", "novelty", "abstract"), 0)
    given_up = [Discarded(one.chosen, one.reviews[-1].too_close) for one in held]
    numbered = sum(len(one.ideas) for one in held)
    ideas = await propose_ideas(run, team, topic, given_up, before=before["idea"], numbered=numbered)
    kept, chosen, ballots, tie = await _choose(run, team, ideas, before["novelty"])
    manuscript = await write_abstract(run, team, chosen, before=before["abstract"])
    return Round(ideas, kept, chosen, ballots, tie, manuscript)


async def _choose(
    run: Run, team: Team, ideas: list[Proposed], before: int
) -> tuple[list[Proposed], Proposed, list[novelty.Ballot], str | None]:
    """The vote; without novelty assessment the last idea is taken (App. D.2.2)."""
    if not run.settings.novelty.enabled:
        return [ideas[-1]], ideas[-1], [], None
    kept = most_confident(ideas, run.settings.ideas.keep, run.settings.ideas.novelty_weight)
    return kept, *await novelty.most_novel(run, team, kept, before=before)
