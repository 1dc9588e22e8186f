"""Novelty assessment (VirSci 2025, §3.2, Eq. 3; 2024, Fig. 13): blind votes, majority, ties by rule."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product

from manyheads.core import led
from manyheads.core.events import Judged, Voted
from manyheads.core.results import ScoredIdea
from manyheads.systems.virsci.config import stages
from manyheads.systems.virsci.replies import IdeaNotes, Vote, vote_among
from manyheads.systems.virsci.result import Ballot, BallotNote, VirSciRun
from manyheads.team.run import Cited, Question, need_one
from manyheads.team.team import Team, another_turns, ask_with_advice

STAGE = VOTE = "novelty"


@dataclass(frozen=True)
class BallotIdea:
    """An idea as shown to judges: its text, without its author's ratings, and the numbers of its closest papers of B_past."""

    text: str
    papers: Sequence[int]


def candidates_of(
    texts: Sequence[str], closest: Sequence[Sequence[Cited]]
) -> tuple[list[BallotIdea], list[Cited]]:
    """Ideas for judges, and their papers, each once, in an order that tells nothing about the ideas: by title."""
    distinct = {hit.evidence: hit for hits in closest for hit in hits}
    papers = sorted(distinct.values(), key=lambda hit: (hit.paper.title, hit.evidence))
    numbers = {hit.evidence: number for number, hit in enumerate(papers, 1)}
    places = ([numbers[hit.evidence] for hit in hits] for hits in closest)
    return [BallotIdea(*each) for each in zip(texts, places, strict=True)], papers


async def most_novel(
    run: VirSciRun, team: Team, ideas: Sequence[ScoredIdea], *, before: int = 0
) -> tuple[ScoredIdea, list[Ballot], str | None]:
    """The idea with the most votes (R_idea), all valid ballots, and the rule that broke a tie, if one did.

    `ideas` are in order of confidence; among ideas with equal votes the one of highest confidence wins.
    Turn numbers continue from `before`. Votes are blind: with fixed turns all are cast at once, but for the first of each
    order. Each voter sees the ideas in a different order, against position bias.

    Raises:
        ModelError: no ballot is valid.
    """
    titles, turns = [idea.title for idea in ideas], run.settings.turns
    run.begin(STAGE, stages(run.config), turns=turns.of(STAGE))
    recall = " / ".join(titles)
    run.expect(recall, *titles, recall=True)  # the titles are for the abstract stage
    whole, k = run.settings.ideas.queries_whole, run.settings.novelty.references
    closest = await run.references(STAGE, before + 1, [idea.query(whole) for idea in ideas], k)
    shown = candidates_of([run.wording(idea) for idea in ideas], closest)
    poll = _Poll(run, team, ideas, *shown, orders_of(run.rng, len(team.members), len(ideas)), recall)
    if turns.adaptive:
        async for turn in another_turns(run, team, STAGE, poll.standing, before=before):
            await poll.cast([turn])
    else:
        await poll.cast(range(before + 1, before + turns.of(STAGE) + 1))
    winner, tie = break_tie(poll.ballots)
    if tie:
        run.emit(Judged(stage=STAGE, subject="tie", outcome=ideas[winner - 1].title, reasoning=tie))
    return ideas[winner - 1], poll.ballots, tie


@dataclass
class _Poll:
    """The voters and what they are shown, each in an order of their own."""

    run: VirSciRun
    team: Team
    ideas: Sequence[ScoredIdea]
    candidates: Sequence[BallotIdea]
    papers: Sequence[Cited]
    orders: Sequence[Sequence[int]]
    recall: str
    ballots: list[Ballot] = field(default_factory=list[Ballot])

    async def vote(self, seat: int, turn: int) -> Ballot | None:
        """Eq. 3: ⟨Q_check, ∪ (I_j, B_past(I_j))⟩, without any memory of the dialogue. None without a valid reply."""
        run, member, order = self.run, self.team.members[seat], self.orders[seat]
        variables = {"ideas": [self.candidates[place] for place in order], "references": self.papers}
        question = Question(
            STAGE, turn, member.speaker, "scientist", "vote", variables,
            recall=self.recall, names=[self.ideas[place].title for place in order], spare=True,
        )  # fmt: skip
        kind = vote_among(run.reply_type("scientist", "vote", Vote), len(order))
        context = partial(run.roles.prompts.render, "partials/candidates.md.j2", variables)
        reply = await run.spare(STAGE, ask_with_advice(run, self.team, question, kind, context=context))
        if reply is None:
            return None
        ballot, why = ballot_of(reply.value, member.name, turn, self.ideas, order), reply.value.thought
        ballot.papers = [hit.evidence for hit in self.papers]
        run.emit(Voted(stage=STAGE, turn=turn, voter=member.name, choice=ballot.choice, reasoning=why))
        return ballot

    async def cast(self, held: Sequence[int]) -> None:
        """The ballots of these turns; a model at temperature 0 would only repeat its first one.

        One vote of each order goes ahead.
        """
        members, models = self.team.members, self.run.config.models
        seats, again = range(len(members)), len(held) > 1
        copied = {n for n in seats if again and models[members[n].speaker.model].temperature == 0}
        asked = [(seat, turn) for turn in held for seat in seats if turn == held[0] or seat not in copied]
        ahead = [*{tuple(self.orders[seat]): (seat, turn) for seat, turn in reversed(asked)}.values()]
        others, batch = [each for each in asked if each not in ahead], self.run.config.in_batches
        given = await led(lambda each: self.vote(*each), ahead, others, batch=batch)
        votes = dict(zip([*ahead, *others], given, strict=True))
        for seat, turn in product(copied, held[1:]):
            first = votes[seat, held[0]]
            votes[seat, turn] = first and first.model_copy(update={"turn": turn, "copy_of": held[0]})
        self.ballots += [ballot for turn in held for seat in seats if (ballot := votes[seat, turn])]
        need_one(self.ballots, "novelty: the votes")
        if copied:
            names = ", ".join(members[seat].name for seat in sorted(copied))
            why = f"at temperature 0 all turns would be the same: asked once, counted {len(held)} times"
            self.run.emit(Judged(stage=STAGE, turn=held[-1], subject="votes", outcome=names, reasoning=why))

    def standing(self) -> str:
        counts, total = Counter(ballot.choice for ballot in self.ballots), len(self.ballots)
        return "\n".join(f"{counts[n]}/{total}: {idea.title}" for n, idea in enumerate(self.ideas, 1))


def break_tie(ballots: Sequence[Ballot]) -> tuple[int, str | None]:
    """The idea with the most votes, and in words the rule that broke a tie: the first has the highest confidence."""
    counts = Counter(ballot.choice for ballot in ballots)
    most = max(counts.values())
    tied = sorted(choice for choice, votes in counts.items() if votes == most)
    numbers = ", ".join(map(str, tied))
    tie = f"ideas {numbers} had {most} votes each; the one of highest confidence was taken"
    return tied[0], tie if len(tied) > 1 else None


def orders_of(rng: random.Random, voters: int, ideas: int) -> list[list[int]]:
    """An order of the ideas, counted from 0, for each voter: a random order, rotated by one place per voter."""
    first = rng.sample(range(ideas), ideas)
    return [first[turned:] + first[:turned] for voter in range(voters) for turned in [voter % ideas]]


def ballot_of(
    vote: Vote, voter: str, turn: int, ideas: Sequence[ScoredIdea], order: Sequence[int] | None = None
) -> Ballot:
    """A vote as stored in the result; `order` is the order in which the ideas were shown, if it differs from the list's."""
    shown = order or range(len(ideas))
    chosen, notes = shown[vote.choice - 1], vote.notes if isinstance(vote, IdeaNotes) else ()
    return Ballot(
        voter=voter, turn=turn, choice=chosen + 1, reasoning=vote.thought, idea=ideas[chosen].title,
        notes=[BallotNote(idea=ideas[shown[each.idea - 1]].title, note=each.note) for each in notes],
        shown=[place + 1 for place in shown], round=ideas[chosen].round,
    )  # fmt: skip
