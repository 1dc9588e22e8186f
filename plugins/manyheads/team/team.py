"""A team: its members, the order of speakers, the number of turns (VirSci 2025, §3.2, App. D.3)."""

import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from manyheads.asking.replies import Progress, Summary
from manyheads.base.errors import CorpusError
from manyheads.base.papers import Literature, Scientist
from manyheads.core import Speaker
from manyheads.core.events import Judged
from manyheads.team.run import DiscussionSettings, Guest, Question, Remark, Run, TeamConfig, need_one

T = TypeVar("T")


@dataclass(frozen=True)
class Member:
    """A scientist of the team with their speaker."""

    scientist: Scientist
    speaker: Speaker
    reasoning: str | None = None
    """Reason for joining; None for the leader."""

    @property
    def name(self) -> str:
        return self.scientist.name


@dataclass
class Team:
    """T = {s_0, …, s_n}; `members[0]` is the leader s_0, the others follow in the order of joining."""

    members: list[Member]

    @property
    def leader(self) -> Member:
        return self.members[0]

    @property
    def names(self) -> set[str]:
        return {member.name for member in self.members}

    def profiles(self) -> list[Scientist]:
        """Q_team: the members' profiles, for prompts."""
        return [member.scientist for member in self.members]

    def interests(self) -> str:
        """The team's subject, as a query."""
        return "; ".join(interest for member in self.members for interest in member.scientist.interests[:4])


@dataclass
class Thread:
    """One discussion: summaries of its earlier turns (D̄_t) and the replies of the current one (R_K,j)."""

    summaries: list[str] = field(default_factory=list[str])
    replies: list[Remark] = field(default_factory=list[Remark])
    speaker: Member | None = None
    turn: int = 0

    def text(self) -> str:
        """The part of the discussion shown to a guest."""
        return "\n\n".join([*self.summaries, *self.said])

    @property
    def said(self) -> list[str]:
        """The replies of the current turn, each with its name."""
        return [f"{reply.name}: {reply.text}" for reply in self.replies]

    def add(self, member: Member, text: str, guests: Sequence[Guest], idea: int | None = None) -> None:
        """Add a member's reply, such as a numbered idea, and the answers of the member's guests."""
        self.replies.append(Remark(member.name, text, idea=idea))
        self.replies += [Remark(guest.name, guest.advice, guest=True) for guest in guests]


def need_members(team: TeamConfig, literature: Literature) -> None:
    """Raises `CorpusError` if a corpus cannot fill a team: too few scientists, or no leader of this name."""
    scientists = len(literature.scientists)
    if not scientists:
        raise CorpusError(
            "the corpus has no scientists for a team: its past papers have no authors",
            hint="build a corpus of papers with authors (for PDF and TEI: in a papers.csv with file,authors beside them), or run "
            "scipip, which needs no team",
        )
    if team.size > scientists:
        raise CorpusError(
            f"team.size is {team.size}, but the corpus has {scientists} scientists",
            hint=f"--set team.size={scientists} or less, or build a larger corpus",
        )
    if team.leader:
        literature.scientist(team.leader)


def speaking_order(
    members: Sequence[T],
    topology: Literal["sequential", "random"],
    rng: random.Random,
    previous: T | None = None,
) -> list[T]:
    """The speakers of one turn, one per member.

    Sequential is a round table. Random draws each speaker among all but the previous one (Fig. 7), so some may speak
    twice and some never.
    """
    if topology == "sequential" or len(members) < 2:
        return list(members)
    order: list[T] = []
    for _ in members:
        previous = rng.choice([member for member in members if member is not previous])
        order.append(previous)
    return order


async def another_turns(
    run: Run[Any, DiscussionSettings], team: Team, stage: str, progress: Callable[[], str], *, before: int = 0
) -> AsyncIterator[int]:
    """Number the turns of a stage up to its maximum; a repeated stage continues after the turns `before`.

    With `turns.adaptive`, the leader decides after each turn whether one more is worth it (App. D.3.2); without a valid
    decision it is held.
    """
    cap = run.settings.turns.of(stage)
    for held in range(1, cap + 1):
        turn = before + held
        yield turn
        if not run.settings.turns.adaptive or held == cap:
            continue
        variables = {"stage": stage, "turn": held, "cap": cap, "progress": progress()}
        leader = team.leader.speaker
        question = Question(stage, turn, leader, "leader", "progress", variables, part="leader")
        if (decision := await run.hear(question, Progress)) is None:
            continue
        outcome = "another turn" if decision.another_turn else "the stage is done"
        run.emit(
            Judged(stage=stage, turn=turn, subject="turns", outcome=outcome, reasoning=decision.reasoning)
        )
        if not decision.another_turn:
            return


async def speakers(
    run: Run[Any, DiscussionSettings], team: Team, thread: Thread, stage: str, *, before: int = 0
) -> AsyncIterator[Member]:
    """The speakers of a discussion, turn by turn; the leader summarises a turn (D̄_t) when the next begins.

    Without a valid summary the turn's replies stand in its place, word for word.

    Raises:
        ModelError: a turn without any valid reply.
    """
    async for turn in another_turns(run, team, stage, thread.text, before=before):
        if thread.turn > before:
            need_one(thread.replies, f"{stage}: the replies of turn {thread.turn}")
            leader, variables = team.leader.speaker, {"stage": stage, "replies": thread.replies}
            question = Question(stage, thread.turn, leader, "leader", "summary", variables, part="leader")
            reply = await run.hear(question, Summary)
            thread.summaries.append(reply.summary if reply else "\n\n".join(thread.said))
            thread.replies = []
            run.expect(thread.summaries[-1], recall=True)
        thread.turn = turn
        for member in speaking_order(team.members, run.settings.topology, run.rng, thread.speaker):
            yield member
            thread.speaker = member
    need_one(thread.replies, f"{stage}: the replies of turn {thread.turn}")
