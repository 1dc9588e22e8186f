"""Novelty assessment (VirSci 2025, §3.2, Eq. 3; 2024, Fig. 13): blind votes, majority, ties by rule."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from manyheads.core import together
from manyheads.core.events import Judged, Voted
from manyheads.core.results import ScoredIdea
from manyheads.core.results import Vote as Ballot
from manyheads.discussion.invitation import ask_with_advice
from manyheads.discussion.run import Question
from manyheads.discussion.team import Member, Team, another_turns
from manyheads.papers import Hit
from manyheads.replies import Vote, vote_among
from manyheads.systems.virsci.config import GOALS, stages
from manyheads.systems.virsci.result import VirSciRun

STAGE = "novelty"


@dataclass(frozen=True)
class Candidate:
    """An idea as it is judged: its text, without its author's ratings, and the papers of B_past closest to it."""

    text: str
    references: Sequence[Hit]


async def most_novel(
    run: VirSciRun, team: Team, ideas: Sequence[ScoredIdea], *, before: int = 0
) -> tuple[ScoredIdea, list[Ballot], str | None]:
    """The idea with the most votes (R_idea), all ballots, and the rule that broke a tie, if one did.

    `ideas` are in order of confidence; of the ideas with most votes the one of highest confidence wins.
    Turns are counted on from those `before`. Votes are blind: with fixed turns all of them are cast at once.
    """
    run.begin(STAGE, stages(run.config), turns=run.settings.turns.of(STAGE))
    titles, turns = [idea.title for idea in ideas], run.settings.turns
    recall = " / ".join(titles)
    run.expect(recall, *titles, recall=True)  # the titles are for the abstract stage
    whole, k = run.settings.ideas.whole, run.settings.novelty.references
    papers = await run.references(STAGE, before + 1, [idea.query(whole) for idea in ideas], k)
    candidates = [Candidate(idea.text, hits) for idea, hits in zip(ideas, papers, strict=True)]
    ballots = list[Ballot]()

    async def vote(member: Member, turn: int) -> Ballot:
        """Eq. 3: ⟨Q_check, ∪ (I_j, B_past(I_j))⟩, without any memory of the dialogue."""
        variables = {"ideas": candidates}
        question = Question(STAGE, turn, member.speaker, "scientist", "vote", variables, recall=recall)
        kind = vote_among(run.reply_type("scientist", "vote", Vote), len(candidates))
        vote = (await ask_with_advice(run, team, question, kind)).value
        run.emit(Voted(stage=STAGE, turn=turn, voter=member.name, choice=vote.choice, reasoning=vote.thought))
        return ballot_of(vote, member.name, turn, ideas)

    async def cast(turns: Iterable[int]) -> None:
        ballots.extend(await together(*(vote(member, turn) for turn in turns for member in team.members)))

    def standing() -> str:
        counts = Counter(ballot.choice for ballot in ballots)
        return "; ".join(f"idea {choice}: {votes} votes" for choice, votes in sorted(counts.items()))

    if turns.adaptive:
        async for turn in another_turns(run, team, STAGE, GOALS[STAGE], standing, before=before):
            await cast([turn])
    else:
        await cast(range(before + 1, before + turns.of(STAGE) + 1))
    counts = Counter(ballot.choice for ballot in ballots)
    most = max(counts.values())
    tied = sorted(choice for choice, votes in counts.items() if votes == most)
    winner, tie = ideas[tied[0] - 1], None
    if len(tied) > 1:
        numbers = ", ".join(map(str, tied))
        tie = f"ideas {numbers} had {most} votes each; the one of highest confidence was taken"
        run.emit(Judged(stage=STAGE, subject="tie", outcome=winner.title, reasoning=tie))
    return winner, ballots, tie


def ballot_of(vote: Vote, voter: str, turn: int, ideas: Sequence[ScoredIdea]) -> Ballot:
    """A vote as the result keeps it."""
    idea = ideas[vote.choice - 1]
    return Ballot(
        voter=voter, turn=turn, choice=vote.choice, reasoning=vote.thought, idea=idea.title, round=idea.round
    )
