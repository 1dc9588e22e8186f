"""VirSci, end to end: a team of digital-twin scientists finds a topic, an idea and an abstract (VirSci 2025, §3.2, App. B.1)."""

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from manyheads.core.results import Abstract, ScoredIdea, Topic
from manyheads.systems.virsci import config
from manyheads.systems.virsci import result as results
from manyheads.systems.virsci.abstract import AbstractDrafts, write_abstract
from manyheads.systems.virsci.config import VirSciConfig, VirSciInputs
from manyheads.systems.virsci.ideas import DiscardedIdea, find_ideas, most_confident
from manyheads.systems.virsci.peer_review import review_by_peers
from manyheads.systems.virsci.result import Ballot, VirSciResult, VirSciRun
from manyheads.systems.virsci.selection import note_joint_papers, select_team
from manyheads.systems.virsci.self_review import STAGE, AbstractComparison, judge, review_and_revise
from manyheads.systems.virsci.topic import find_topic
from manyheads.systems.virsci.vote import VOTE, most_novel
from manyheads.team.steering import steer
from manyheads.team.system import System
from manyheads.team.team import Team

if TYPE_CHECKING:
    from manyheads.report.page import View
    from manyheads.report.record import Record


async def virsci(run: VirSciRun) -> None:
    """Run the stages.

    A fixed `topic`, or an idea to start from, skips the topic discussion. With `novelty.enabled` off the last idea is taken (App. D.2.2). With
    `self_review.enabled` a stage follows that may send the team back to the abstract or to new ideas, and with
    `peer_review.enabled` one that may send them back to the abstract.

    Inference cost is members × turns, without selection and guests (2025, App. D.3.2, Table 9). It leaves
    out what reviews cause, revisions and further rounds: no config can predict their number, and the papers leave
    those of self-review out of comparisons at equal cost (App. B.1). Peer reviewers are left out, too.
    """
    team = await select_team(run)
    with suppress(StageOverError):
        await _work(run, team)
    run.result.hear(run.guests)
    note_joint_papers(run)


async def _work(run: VirSciRun, team: Team) -> None:
    result, joined = run.result, len(team.members)
    starts = [one.topic or one.title or one.text for one in (run.material.ideas if run.material else ())]
    if (topic := run.config.inputs.topic or next(iter(starts), None)) is None:
        await enter(run, "topic")
        topic = await find_topic(run, team)
    else:
        result.topic, result.turns["topic"] = Topic(topic=topic, fixed=True), 0
    rounds = await _rounds(run, team, topic)
    first, last = rounds[0], rounds[-1]
    if run.settings.peer_review.enabled:
        await enter(run, "peer_review")
        await review_by_peers(run, team, last.manuscript)
        result.turns |= last.turns
    turns = sum((first.turns | {"abstract": first.manuscript.written}).values())
    result.inference_cost = result.turns["topic"] * joined + turns * len(team.members)


class StageOverError(Exception):
    """The next stage has no corpus yet; see `VirSciConfig.worlds`."""


async def enter(run: VirSciRun, stage: str) -> None:
    """Let a stage see its own corpus, if stages have some. Raises `StageOverError` if there is none for it yet."""
    worlds, stages = run.settings.worlds, run.result.stages
    if not worlds or run.open_world is None:
        return
    if len(stages) == len(worlds):
        run.result.waits_for = stage
        raise StageOverError(stage)
    run.literature = await run.open_world(worlds[len(stages)])
    stages.append(stage)


@dataclass
class IdeaRound:
    """One pass from ideas to an abstract: ideas, votes, drafts, and the last self-review."""

    ideas: list[ScoredIdea]
    chosen: ScoredIdea
    ballots: list[Ballot]
    manuscript: AbstractDrafts
    review: AbstractComparison | None = None

    @property
    def turns(self) -> dict[str, int]:
        """The number of the last turn of each stage."""
        return {
            "idea": self.ideas[-1].turn,
            "novelty": max((ballot.turn for ballot in self.ballots), default=0),
            "abstract": self.manuscript.current.turn,
        }


async def _rounds(run: VirSciRun, team: Team, topic: str) -> list[IdeaRound]:
    """Rounds until an abstract passes the self-review, if there is one; the last round's abstract is the result.

    After `self_review.max_discards` discards the last abstract is kept, with a warning.
    """
    rounds: list[IdeaRound] = []
    config, result = run.settings.self_review, run.result
    if config.enabled:
        result.self_review = results.SelfReviews(threshold=config.threshold)
    while True:
        last = await _round(run, team, topic, rounds)
        rounds.append(last)
        if (reviews := result.self_review) is None:
            return rounds
        await enter(run, STAGE)
        last.review = review = await review_and_revise(run, team, last.manuscript, reviews)
        result.turns |= last.turns
        if not review.too_close:
            reviews.passed = True if review.overlaps else None
            return rounds
        if len(rounds) > config.max_discards:
            reviews.passed = False
            close = f"{review.closest} of 100, too close from {review.threshold}"
            kept = f"the abstract is kept although it is too close to published work ({close})"
            run.warn(STAGE, f"{kept}: self_review.max_discards is {config.max_discards}")
            return rounds
        judge(run, review, "discarded with its idea", reviews)
        abstract = Abstract.of(last.manuscript.current)
        reviews.discarded.append(results.Discarded(round=len(rounds), idea=last.chosen, abstract=abstract))
        result.idea = result.abstract = None


async def _round(run: VirSciRun, team: Team, topic: str, earlier: list[IdeaRound]) -> IdeaRound:
    """Ideas, a vote and an abstract; numbers of turns and ideas continue from earlier rounds.

    Without novelty assessment the last idea is taken (App. D.2.2). An idea that a person picks needs no vote.
    """
    before = earlier[-1].turns if earlier else dict.fromkeys(("idea", "novelty", "abstract"), 0)
    discarded = [DiscardedIdea(one.chosen, one.review.too_close) for one in earlier if one.review]
    numbered, result = sum(len(one.ideas) for one in earlier), run.result
    await enter(run, "idea")
    ideas, picked = await find_ideas(run, team, topic, discarded, before=before["idea"], numbered=numbered)
    if run.settings.novelty.enabled and len(picked) != 1:
        kept = picked or most_confident(ideas, run.settings.ideas.keep)
        await enter(run, VOTE)
        chosen, ballots, tie = await most_novel(run, team, kept, before=before["novelty"])
        items = [run.wording(idea) for idea in kept]
        turn = max(ballot.turn for ballot in ballots)
        person = await steer(run, VOTE, turn, run.wording(chosen), items=items, most=1, back=False)
        if person.picks:
            chosen, tie = kept[person.picks[0] - 1], None
        result.votes += ballots
        result.choose(kept, chosen, sum(kept[each.choice - 1] is chosen for each in ballots), tie)
    else:
        chosen, ballots = (picked or ideas)[-1], list[Ballot]()
        result.choose([chosen], chosen, 0, None)
    await enter(run, "abstract")
    manuscript = await write_abstract(run, team, topic, chosen, before=before["abstract"])
    last = IdeaRound(ideas, chosen, ballots, manuscript)
    result.turns |= last.turns
    return last


def _report(record: "Record") -> "View":
    from manyheads.systems.virsci.report import report  # with all of a page, once a run has ended

    return report(record)


VIRSCI = System(
    name="virsci",
    title="VirSci",
    class_name="VirSci",
    about="Scientists who discuss a research topic, vote on ideas and write the abstract of the best one.",
    config=VirSciConfig,
    inputs=VirSciInputs,
    result=VirSciResult,
    run=virsci,
    essence=results.essence,
    report=_report,
    work=results.work,
    needs=config.needs,
    corpus=lambda config: True,
    searches=config.searches,
    team=lambda config: config.settings,
    read=config.read,
    steers=config.STEERS,
)
