"""Novelty assessment (VirSci 2025, §3.2, Eq. 3; 2024, Fig. 13): blind votes, majority, ties by rule."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from manyheads.core import together
from manyheads.core.events import Judged, Voted
from manyheads.core.results import ScoredIdea
from manyheads.core.results import Vote as Ballot
from manyheads.discussion import Member, Team, another_turns, ask_with_advice
from manyheads.discussion.run import Question
from manyheads.papers import Hit
from manyheads.replies import Vote, vote_among
from manyheads.systems.virsci.config import GOALS, stage_event
from manyheads.systems.virsci.result import VirSciRun

STAGE = "novelty"


@dataclass(frozen=True)
class Candidate:
    """An idea as the voters see it: its text and the papers of B_past closest to it."""

    idea: ScoredIdea
    references: Sequence[Hit]

    @property
    def text(self) -> str:
        return self.idea.text


async def most_novel(
    run: VirSciRun, team: Team, ideas: Sequence[ScoredIdea], *, before: int = 0
) -> tuple[ScoredIdea, list[Ballot], str | None]:
    """The idea with the most votes (R_idea), all ballots, and the rule that broke a tie, if one did.

    `ideas` are in order of confidence; of the ideas with most votes the one of highest confidence wins.
    Turns are counted on from those `before`.
    """
    run.emit(stage_event(run.config, STAGE))
    queries, titles = [idea.text for idea in ideas], [idea.title for idea in ideas]
    recall = " / ".join(titles)
    run.expect(recall, *titles, recall=True)  # the titles are for the abstract stage
    references = await run.references(STAGE, before + 1, queries, run.settings.novelty.references)
    candidates = [Candidate(idea, hits) for idea, hits in zip(ideas, references, strict=True)]
    ballots = await _vote(run, team, candidates, recall, before)
    return _count(run, ideas, ballots)


async def _vote(
    run: VirSciRun, team: Team, candidates: list[Candidate], recall: str, before: int
) -> list[Ballot]:
    """Turns of votes. They are blind, so with fixed turns all of them are cast at once."""
    if not run.settings.turns.adaptive:
        turns = range(before + 1, before + run.settings.turns.of(STAGE) + 1)
        return await _cast(run, team, candidates, recall, turns)
    ballots = list[Ballot]()
    standing = partial(_standing, ballots)
    async for turn in another_turns(run, team, STAGE, GOALS[STAGE], standing, before=before):
        ballots += await _cast(run, team, candidates, recall, [turn])
    return ballots


async def _cast(
    run: VirSciRun, team: Team, candidates: list[Candidate], recall: str, turns: Sequence[int]
) -> list[Ballot]:
    votes = [
        _ballot(run, team, member, turn, candidates, recall) for turn in turns for member in team.members
    ]
    return await together(*votes)


async def _ballot(
    run: VirSciRun, team: Team, member: Member, turn: int, candidates: list[Candidate], recall: str
) -> Ballot:
    """Eq. 3: ⟨Q_check, ∪ (I_j, B_past(I_j))⟩, without any memory of the dialogue."""
    question = Question(
        STAGE, turn, member.speaker, "scientist", "vote", {"ideas": candidates}, recall=recall
    )
    kind = vote_among(run.reply_type("scientist", "vote", Vote), len(candidates))
    vote = (await ask_with_advice(run, team, question, kind)).value
    run.emit(Voted(stage=STAGE, turn=turn, voter=member.name, choice=vote.choice, reasoning=vote.thought))
    chosen = candidates[vote.choice - 1].idea
    return Ballot(
        voter=member.name,
        turn=turn,
        choice=vote.choice,
        reasoning=vote.thought,
        idea=chosen.title,
        round=chosen.round,
    )


def _count(
    run: VirSciRun, ideas: Sequence[ScoredIdea], ballots: Sequence[Ballot]
) -> tuple[ScoredIdea, list[Ballot], str | None]:
    counts = Counter(ballot.choice for ballot in ballots)
    most = max(counts.values())
    tied = sorted(choice for choice, votes in counts.items() if votes == most)
    winner, tie = ideas[tied[0] - 1], None
    if len(tied) > 1:
        numbers = ", ".join(str(choice) for choice in tied)
        tie = f"ideas {numbers} had {most} votes each; the one of highest confidence was taken"
        run.emit(Judged(stage=STAGE, subject="tie", outcome=winner.title, reasoning=tie))
    return winner, list(ballots), tie


def _standing(ballots: Sequence[Ballot]) -> str:
    counts = Counter(ballot.choice for ballot in ballots)
    return "; ".join(f"idea {choice}: {votes} votes" for choice, votes in sorted(counts.items()))
