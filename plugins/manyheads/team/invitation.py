"""The invitation mechanism (VirSci 2025, §3.2, App. D.2.1): advice from scientists outside the team.

If the speaker's model supports tool calls, it finds and asks guests by tool calls; if not, by a field of its reply. In
open discussions the guest's answer joins this turn's replies; in blind stages only the asker sees it, and then answers
again, so that no other prompt changes. A guest without a valid answer is left out, and whoever asked is told.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from manyheads.asking.prompts import Prompts
from manyheads.asking.replies import Advice, ReplyModel, Seeks, seeking
from manyheads.base.papers import Literature, fold
from manyheads.core import Message, Reply, Tool
from manyheads.core.events import Invited
from manyheads.models.governor import ToolsRefusedError
from manyheads.team.run import DiscussionSettings, Guest, Question, Run
from manyheads.team.team import Team
from manyheads.team.tools import (
    INVITE,
    find_scientists_tool,
    inspirations_tools,
    invite_scientist_tool,
    literature_tools,
    refused,
    scientist_named,
)  # fmt: skip

R = TypeVar("R", bound=ReplyModel)
NOBODY = frozenset(("", "null", "none", "nobody", "noone"))
"""Words that models write for "nobody", folded."""


async def speak(
    run: Run[Any, DiscussionSettings], team: Team, question: Question, like: type[R], *, context: str = ""
) -> tuple[R | None, list[Guest]]:
    """Ask a speaker in an open discussion; returns the reply, None without a valid one, and the guests' answers."""
    asking = _Asking(run, team, replace(question, spare=True), context)
    reply = await run.spare(question.stage, asking.first(like))
    return reply and reply.value, asking.heard


async def ask_with_advice(
    run: Run[Any, DiscussionSettings], team: Team, question: Question, like: type[R], *, context: str = ""
) -> Reply[R]:
    """Ask a speaker in a blind stage; if the reply's field invites a guest, the speaker hears the guest and answers again.

    The first answer stands if the guest gives none, or the speaker no second one.
    """
    asking = _Asking(run, team, question, context)
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
        return find, invite_scientist_tool(self._by_call, self.prompts)

    async def _by_call(self, name: str, words: str) -> str:
        name = scientist_named(name, self.literature.scientists)
        if refusal := self.refusal(name):
            raise refused(refusal, self.prompts)
        self.calls += 1
        return await self.ask(name, words)

    def refusal(self, name: str) -> str | None:
        """Why a name cannot be invited, see `tools.refused`; None if it can."""
        if name in self.members:
            return "member"
        if name not in {scientist.name for scientist in self.literature.scientists}:
            return "unknown"
        return "enough" if self.calls >= self.most else None


class _Asking:
    """One speaker's question with the right to ask guests."""

    def __init__(
        self, run: Run[Any, DiscussionSettings], team: Team, question: Question, context: str
    ) -> None:
        self.run, self.team, self.question, self.context = run, team, question, context
        self.heard = list[Guest]()
        self.by_tool = False
        self.invitations = Invitations(
            run.literature, run.roles.prompts, frozenset({question.speaker.name, *team.names}),
            run.settings.invitation.per_turn, lambda name, words: self._hear(name, words, nested=True),
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
        await self._grant(reply.value)
        return reply

    async def _with_tools(self, like: type[R]) -> Reply[R]:
        run = self.run
        tools = self._tools(run.settings.invitation.enabled)
        reply = await run.ask(replace(self.question, tools=tools), like)
        self.by_tool = True
        for call in reply.tool_calls:
            if call.name == INVITE and not call.failed:
                name = scientist_named(str(call.arguments["name"]), run.literature.scientists)
                words = str(call.arguments["question"])
                if not self.invitations.calls:  # a reply from the journal ran no tools
                    await self._hear(name, words)
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

    async def _grant(self, reply: ReplyModel) -> None:
        """Ask the scientist named in a reply's field, if they can be invited."""
        if not isinstance(reply, Seeks) or not reply.invite or fold(reply.invite) in NOBODY:
            return
        run, prompts, words = self.run, self.run.roles.prompts, reply.question or ""
        name = scientist_named(reply.invite, run.literature.scientists)
        if refusal := self.invitations.refusal(name):
            why = refused(refusal, prompts)
            run.warn(self.question.stage, f"{self.question.speaker.name} wanted to ask {name!r}: {why}")
        else:
            # Within a tool turn that a refusal cut short, the guest may have been asked in other words.
            nested = run.calls_tools(self.question.speaker)
            self._note(name, words, await self._hear(name, words, run.wording(reply), nested=nested))

    async def _hear(self, name: str, words: str, remark: str = "", *, nested: bool = False) -> str:
        """Create the guest with their own profile and ask once (App. D.2.1, Fig. 28); the answer, or `silence`.

        `remark` is the inviting reply, empty for an invitation by tool call, which comes before the reply.
        """
        stage, turn, by = self.question.stage, self.question.turn, self.question.speaker.name
        self.run.emit(Invited(stage=stage, turn=turn, guest=name, by=by, question=words))
        guest = self.run.scientist("scientist", self.run.literature.scientist(name))
        shown = {"team": self.team.profiles(), "stage": stage, "context": self.context, "remark": remark}
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
