"""VirSci, end to end: stages over a research ecosystem, in rounds where self-review gives an idea up (VirSci 2025, §3.2, App. B.1)."""

from dataclasses import dataclass, field

from manyheads.core.results import Abstract, ScoredIdea, Topic, Vote
from manyheads.discussion import Team
from manyheads.systems.virsci import novelty
from manyheads.systems.virsci import result as results
from manyheads.systems.virsci.abstract import Manuscript, write_abstract
from manyheads.systems.virsci.ideas import Discarded, most_confident, propose_ideas
from manyheads.systems.virsci.result import VirSciRun
from manyheads.systems.virsci.selection import select_team
from manyheads.systems.virsci.self_review import Comparison, discard, keep_anyway, review_and_revise
from manyheads.systems.virsci.topic import STAGE, find_topic


@dataclass
class Round:
    """One way from ideas to an abstract: what was proposed, voted for and written, and the reviews of it."""

    ideas: list[ScoredIdea]
    chosen: ScoredIdea
    ballots: list[Vote]
    manuscript: Manuscript
    reviews: list[Comparison] = field(default_factory=list[Comparison])

    @property
    def too_close(self) -> bool:
        """Whether its last self-review was not passed."""
        return bool(self.reviews and self.reviews[-1].too_close)

    @property
    def turns(self) -> dict[str, int]:
        """The number of the last turn of each stage."""
        return {
            "idea": self.ideas[-1].turn,
            "novelty": max((ballot.turn for ballot in self.ballots), default=0),
            "abstract": self.manuscript.turn,
        }


async def hold_rounds(run: VirSciRun, team: Team, topic: str) -> list[Round]:
    """Rounds until an abstract passes the self-review, if there is one; the last round's abstract is the result.

    After `self_review.max_discards` rounds in vain the last abstract stands, and a warning says so.
    """
    held: list[Round] = []
    if run.settings.self_review.enabled:
        run.result.self_review = results.SelfReviews(threshold=run.settings.self_review.threshold)
    while True:
        last = await _round(run, team, topic, held)
        held.append(last)
        if (reviews := run.result.self_review) is None:
            return held
        last.reviews = await review_and_revise(run, team, last.manuscript, reviews)
        run.result.turns |= last.turns
        if not last.too_close:
            reviews.passed = True if last.reviews[-1].overlaps else None
            return held
        if len(held) > run.settings.self_review.max_discards:
            reviews.passed = False
            keep_anyway(run, last.reviews[-1])
            return held
        discard(run, last.reviews[-1], reviews)
        abstract = Abstract.of(last.manuscript.current)
        given_up = results.Discarded(round=len(held), idea=last.chosen, abstract=abstract)
        reviews.discarded.append(given_up)
        run.result.idea = run.result.abstract = None


async def _round(run: VirSciRun, team: Team, topic: str, held: list[Round]) -> Round:
    """Ideas, a vote and an abstract; turns and ideas are numbered on from those of the rounds before."""
    before = held[-1].turns if held else dict.fromkeys(("idea", "novelty", "abstract"), 0)
    given_up = [Discarded(one.chosen, one.reviews[-1].too_close) for one in held]
    numbered = sum(len(one.ideas) for one in held)
    ideas = await propose_ideas(run, team, topic, given_up, before=before["idea"], numbered=numbered)
    chosen, ballots = await _choose(run, team, ideas, before["novelty"])
    manuscript = await write_abstract(run, team, chosen, before=before["abstract"])
    one = Round(ideas, chosen, ballots, manuscript)
    run.result.turns |= one.turns
    return one


async def _choose(
    run: VirSciRun, team: Team, ideas: list[ScoredIdea], before: int
) -> tuple[ScoredIdea, list[Vote]]:
    """The vote; without novelty assessment the last idea is taken (App. D.2.2)."""
    if not run.settings.novelty.enabled:
        run.result.choose(ideas[-1:], ideas[-1], 0, None)
        return ideas[-1], []
    kept = most_confident(ideas, run.settings.ideas.keep)
    chosen, ballots, tie = await novelty.most_novel(run, team, kept, before=before)
    run.result.votes += ballots
    won = sum(kept[ballot.choice - 1] is chosen for ballot in ballots)
    run.result.choose(kept, chosen, won, tie)
    return chosen, ballots


async def virsci(run: VirSciRun) -> None:
    """Run the stages.

    A fixed `topic` skips the topic discussion. With `novelty.enabled` off the last idea is taken (App. D.2.2). With
    `self_review.enabled` a sixth stage follows, which may send the team back to the abstract or to new ideas.

    Inference cost is members × turns, without selection and guests (2025, App. D.3.2, Table 9). What self-review
    has caused, its revisions and further rounds, is not counted in it: how much that is, no config can say
    beforehand, so that the papers leave it out of every comparison at equal cost (App. B.1).
    """
    team = await select_team(run)
    result, joined = run.result, len(team.members)
    if run.config.inputs.topic is None:
        topic = await find_topic(run, team)
    else:
        topic = run.config.inputs.topic
        result.topic, result.turns[STAGE] = Topic(topic=topic, fixed=True), 0
    first = (await hold_rounds(run, team, topic))[0]
    plain = {**first.turns, "abstract": first.manuscript.written}
    result.inference_cost = result.turns[STAGE] * joined + sum(plain.values()) * len(team.members)
    result.hear(run.guests)
