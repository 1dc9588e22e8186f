"""A team: its members, the order of speakers, the number of turns (VirSci 2025, §3.2, App. D.3), and its guests."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from manyheads.asking.prompts import Prompts
from manyheads.asking.replies import Advice, Progress, ReplyModel, Seeks, Summary, seeking
from manyheads.base.errors import CorpusError
from manyheads.base.papers import Literature, Scientist, fold
from manyheads.core import Message, Reply, Speaker, Tool
from manyheads.core.events import Invited, Judged
from manyheads.models.governor import ToolsRefusedError
from manyheads.team.run import DiscussionSettings, Guest, Question, Remark, Run, TeamConfig, need_one
from manyheads.team.tools import (
    INVITE,
    find_scientists_tool,
    inspirations_tools,
    invite_scientist_tool,
    literature_tools,
    refused,
    scientist_named,
)

T = TypeVar("T")
R = TypeVar("R", bound=ReplyModel)
Shown = Callable[[], str]
"""The discussion as a guest is shown it; made only for one who is asked."""
NOBODY = frozenset(("", "null", "none", "nobody", "noone"))
"""Words that models write for "nobody", folded."""


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

    def standing(self) -> str:
        """What the leader decides on another turn by."""
        return self.text()

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
            hint="build a corpus of papers with authors, or run scipip, which needs no team. PDF and TEI files get authors "
            "from a papers.csv (file,authors) next to them",
        )
    if team.members is None and team.size > scientists:
        raise CorpusError(
            f"team.size is {team.size}, more than the corpus has scientists: {scientists}",
            hint=f"--set team.size={scientists}, or build a larger corpus",
        )
    for name in filter(None, (team.leader, *(team.members or ()))):
        literature.scientist(name)


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
    async for turn in another_turns(run, team, stage, thread.standing, before=before):
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


# The invitation mechanism (VirSci 2025, §3.2, App. D.2.1): advice from scientists outside the team.
#
# If the speaker's model supports tool calls, it finds and asks guests by tool calls; if not, by a field of its reply. In
# open discussions the guest's answer joins this turn's replies; in blind stages only the asker sees it, and then answers
# again, so that no other prompt changes. A guest without a valid answer is left out, and whoever asked is told.


async def speak(
    run: Run[Any, DiscussionSettings], team: Team, question: Question, like: type[R], *, context: Shown
) -> tuple[R | None, list[Guest]]:
    """Ask a speaker in an open discussion; returns the reply, None without a valid one, and the guests' answers."""
    asking = _WithGuests(run, team, replace(question, spare=True), context)
    reply = await run.spare(question.stage, asking.first(like))
    return reply and reply.value, asking.heard


async def ask_with_advice(
    run: Run[Any, DiscussionSettings], team: Team, question: Question, like: type[R], *, context: Shown
) -> Reply[R]:
    """Ask a speaker in a blind stage; if the reply's field invites a guest, the speaker hears the guest and answers again.

    The first answer stands if the guest gives none, or the speaker no second one.
    """
    asking = _WithGuests(run, team, question, context)
    reply = await asking.first(like)
    if asking.by_tool or not asking.heard or asking.heard[0].advice == asking.silence:
        return reply
    guest = asking.heard[0]
    words = {"guest": guest.name, "question": guest.question, "advice": guest.advice}
    advice = Message(run.roles.prompts.render("partials/advice.md.j2", words))
    after = (*question.after, Message(reply.text, sender="assistant"), advice)
    again = replace(question, after=after, recall=None, spare=True)
    return await run.spare(question.stage, run.ask(again, like)) or reply


@dataclass
class Invitations:
    """Who may be asked by tool calls, and how often: the one rule, of teams and of a role's agent alone.

    Attributes:
        calls: guests asked so far, of `most` in a turn.
    """

    literature: Literature
    prompts: Prompts
    members: frozenset[str]
    """Who cannot be asked: the speaker and the team."""
    most: int
    ask: Callable[[str, str], Awaitable[str]]
    """Asks a scientist a question."""
    calls: int = 0

    @property
    def tools(self) -> tuple[Tool, Tool]:
        """To find scientists, and to ask one."""
        find = find_scientists_tool(self.literature, self.members, self.prompts)
        return find, invite_scientist_tool(self._invite_by_call, self.prompts)

    async def _invite_by_call(self, name: str, words: str) -> str:
        name = scientist_named(name, self.literature)
        if refusal := self.refusal(name):
            raise refused(refusal, self.prompts)
        self.calls += 1
        return await self.ask(name, words)

    def refusal(self, name: str) -> str | None:
        """Why a name cannot be invited, see `tools.refused`; None if it can."""
        if name in self.members:
            return "member"
        try:
            self.literature.scientist(name)
        except CorpusError:
            return "unknown"
        return "enough" if self.calls >= self.most else None


class _WithGuests:
    """One speaker's question with the right to ask guests."""

    def __init__(
        self, run: Run[Any, DiscussionSettings], team: Team, question: Question, context: Shown
    ) -> None:
        self.run, self.team, self.question, self.context = run, team, question, context
        self.heard = list[Guest]()
        self.by_tool = False
        self.invitations = Invitations(
            run.literature, run.roles.prompts, frozenset({question.speaker.name, *team.names}),
            run.settings.invitation.per_turn, lambda name, words: self._invite_guest(name, words, nested=True),
        )  # fmt: skip

    @property
    def silence(self) -> str:
        """What is said in place of a guest's answer where there is none."""
        return str(refused("silent", self.run.roles.prompts))

    async def first(self, like: type[R]) -> Reply[R]:
        """Ask the question, then announce its guests."""
        run, question = self.run, self.question
        kind = run.reply_type(question.role, question.task, like)
        if run.calls_tools(question.speaker):
            with suppress(ToolsRefusedError):
                return await self._with_tools(kind)
        if not run.settings.invitation.enabled:
            return await run.ask(question, kind)
        reply = await run.ask(question, seeking(kind))
        await self._invite_by_reply(reply.value)
        return reply

    async def _with_tools(self, like: type[R]) -> Reply[R]:
        run = self.run
        tools = self._tools(run.settings.invitation.enabled)
        reply = await run.ask(replace(self.question, tools=tools), like)
        self.by_tool = True
        for call in reply.tool_calls:
            if call.name == INVITE and not call.failed:
                name = scientist_named(str(call.arguments["name"]), run.literature)
                words = str(call.arguments["question"])
                if not self.invitations.calls:  # a reply from the journal ran no tools
                    await self._invite_guest(name, words)
                self._note(name, words, call.result)
        return reply

    def _tools(self, invites: bool) -> tuple[Tool, ...]:
        """The speaker's tools. In the shipped cards, no team role has look-up tools: a team is shown its papers."""
        run, me = self.run, self.question.speaker
        listed, prompts = run.roles.card(me.role).tools, run.roles.prompts
        return (
            *(tool for tool in self.invitations.tools if invites and tool.name in listed),
            *literature_tools(run.library, listed, prompts),
            *inspirations_tools(run.literature, listed, prompts, run.config.literature.retrieval),
        )

    async def _invite_by_reply(self, reply: ReplyModel) -> None:
        """Ask the scientist named in a reply's field, if they can be invited."""
        if not isinstance(reply, Seeks) or not reply.invite or fold(reply.invite) in NOBODY:
            return
        run, prompts, words = self.run, self.run.roles.prompts, reply.question or ""
        name = scientist_named(reply.invite, run.literature)
        if refusal := self.invitations.refusal(name):
            why = refused(refusal, prompts)
            run.warn(self.question.stage, f"{self.question.speaker.name} asked for {name!r}: {why}")
        else:
            # Within a tool turn that a refusal cut short, the guest may have been asked in other words.
            nested = run.calls_tools(self.question.speaker)
            self._note(name, words, await self._invite_guest(name, words, run.wording(reply), nested=nested))

    async def _invite_guest(self, name: str, words: str, remark: str = "", *, nested: bool = False) -> str:
        """Create the guest with their own profile and ask once (App. D.2.1, Fig. 28); the answer, or `silence`.

        `remark` is the inviting reply, empty for an invitation by tool call, which comes before the reply.
        """
        stage, turn, by = self.question.stage, self.question.turn, self.question.speaker.name
        self.run.emit(Invited(stage=stage, turn=turn, guest=name, by=by, question=words))
        guest = self.run.scientist("scientist", self.run.literature.scientist(name))
        shown = {"team": self.team.profiles(), "stage": stage, "context": self.context(), "remark": remark}
        variables = {"asker": by, "question": words, **shown}
        question = Question(
            stage, turn, guest, "scientist", "advise", variables, "guest", asker=by, nested=nested
        )
        reply = await self.run.hear(question, Advice)
        return reply.advice if reply else self.silence

    def _note(self, guest: str, words: str, advice: str) -> None:
        stage, turn, by = self.question.stage, self.question.turn, self.question.speaker.name
        self.heard.append(Guest(name=guest, by=by, stage=stage, turn=turn, question=words, advice=advice))
        if advice != self.silence:
            self.run.guests.append(self.heard[-1])
