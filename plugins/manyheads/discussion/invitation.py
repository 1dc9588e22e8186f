"""The invitation mechanism (VirSci 2025, §3.2, App. D.2.1): advice from scientists outside the team.

Where the speaker's model can call tools, it finds and hears guests by tool calls; where not, its reply has a field
for it. In open discussions the guest's answer joins this turn's replies; in blind stages it goes only to the one
who asked, who then answers again, so that nobody else's prompt changes.
"""

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from manyheads.core import Message, Reply, Tool
from manyheads.core.events import Invited
from manyheads.discussion.run import DiscussionSettings, Guest, Question, Run, Team
from manyheads.replies import Advice, ReplyModel, Seeks, seeking
from manyheads.tools import (
    INVITE,
    ToolRefusedError,
    find_scientists_tool,
    invite_scientist_tool,
    literature_tools,
)

R = TypeVar("R", bound=ReplyModel)


async def speak(
    run: Run[Any, DiscussionSettings],
    team: Team,
    question: Question,
    reply_type: type[R],
    *,
    context: str = "",
) -> tuple[Reply[R], list[Guest]]:
    """Ask a speaker in an open discussion; the guests they heard come with the reply."""
    asking = _Asking(run, team, question, context)
    reply = await asking.first(reply_type)
    return reply, asking.heard


async def ask_with_advice(
    run: Run[Any, DiscussionSettings],
    team: Team,
    question: Question,
    reply_type: type[R],
    *,
    context: str = "",
) -> Reply[R]:
    """Ask a speaker in a blind stage; after hearing a guest through the reply's field they answer again."""
    asking = _Asking(run, team, question, context)
    reply = await asking.first(reply_type)
    if not asking.heard or asking.by_tool:
        return reply
    guest = asking.heard[0]
    advice = {"guest": guest.name, "question": guest.question, "advice": guest.advice}
    told = run.roles.prompts.render("partials/advice.md.j2", advice)
    after = (*question.after, Message(reply.text, sender="assistant"), Message(told))
    return await run.ask(replace(question, after=after), reply_type)


@dataclass
class _Asking:
    """One speaker's question with the right to hear guests."""

    run: Run[Any, DiscussionSettings]
    team: Team
    question: Question
    context: str
    heard: list[Guest] = field(default_factory=list[Guest])
    asked_by_tool: int = 0

    @property
    def by_tool(self) -> bool:
        return self.run.calls_tools(self.question.speaker)

    async def first(self, reply_type: type[R]) -> Reply[R]:
        """Ask the question, then make the guests known that came of it."""
        if not self.run.settings.invitation.enabled:
            return await self.run.ask(replace(self.question, tools=self._look_ups()), reply_type)
        if not self.by_tool:
            reply = await self.run.ask(self.question, seeking(reply_type))
            await self._by_field(reply)
            return reply
        tools = (*self._guest_tools(), *self._look_ups())
        reply = await self.run.ask(replace(self.question, tools=tools), reply_type)
        await self._by_calls(reply)
        return reply

    async def _by_calls(self, reply: Reply[R]) -> None:
        """Make the guests of the reply's tool calls known; a reply out of the journal has run no tools."""
        for call in reply.tool_calls:
            if call.name != INVITE or call.failed:
                continue
            name, asked = str(call.arguments["name"]).strip(), str(call.arguments["question"])
            if not self.asked_by_tool:
                await self._hear(name, asked)
            self._note(name, asked, call.result)

    async def _by_field(self, reply: Reply[R]) -> None:
        wish = reply.value
        if not isinstance(wish, Seeks) or not wish.invite:
            return
        name, asked = wish.invite.strip(), wish.question or "What do you think of this?"
        if refusal := self._refusal(name):
            speaker = self.question.speaker.name
            self.run.warn(self.question.stage, f"{speaker} wished to hear {name!r}: {refusal}")
            return
        self._note(name, asked, await self._hear(name, asked))

    async def _hear(self, name: str, asked: str, *, nested: bool = False) -> str:
        """Spawn the guest with their own profile and ask once (App. D.2.1, Fig. 28)."""
        place, by = self.question, self.question.speaker.name
        self.run.emit(Invited(stage=place.stage, turn=place.turn, guest=name, by=by, question=asked))
        guest = self.run.speaker("scientist", name, scientist=self.run.literature.scientist(name))
        variables = {"asker": by, "question": asked, "context": self.context}
        question = Question(
            place.stage,
            place.turn,
            guest,
            "scientist",
            "advise",
            variables,
            part="guest",
            asker=by,
            nested=nested,
        )
        reply = await self.run.ask(question, self.run.reply_type("scientist", "advise", Advice))
        return reply.value.advice

    async def _by_call(self, name: str, asked: str) -> str:
        if refusal := self._refusal(name):
            raise ToolRefusedError(refusal)
        if self.asked_by_tool >= self.run.settings.invitation.per_turn:
            raise ToolRefusedError("no more guests in this turn; go on with what you know")
        self.asked_by_tool += 1
        return await self._hear(name, asked, nested=True)

    def _refusal(self, name: str) -> str | None:
        """Why a name cannot be invited, in words for the model; None when it can."""
        if name in self.team.names or name == self.question.speaker.name:
            return "that scientist is in the team already"
        if name not in {scientist.name for scientist in self.run.literature.scientists}:
            return "there is no such scientist in the author knowledge bank"
        return None

    def _note(self, guest: str, asked: str, advice: str) -> None:
        place = self.question
        by = place.speaker.name
        self.heard.append(
            Guest(name=guest, by=by, stage=place.stage, turn=place.turn, question=asked, advice=advice)
        )
        self.run.guests.append(self.heard[-1])

    def _guest_tools(self) -> tuple[Tool, ...]:
        """Those of the tools for finding and hearing guests that the speaker's role card lists."""
        outside = {self.question.speaker.name, *self.team.names}
        offered = (find_scientists_tool(self.run.literature, outside), invite_scientist_tool(self._by_call))
        return tuple(tool for tool in offered if tool.name in self._listed)

    def _look_ups(self) -> tuple[Tool, ...]:
        """Those of the literature tools that the card lists; as it ships, a team is shown its papers."""
        return literature_tools(self.run.library, self._listed) if self.by_tool else ()

    @property
    def _listed(self) -> tuple[str, ...]:
        return self.run.roles.card(self.question.speaker.role).tools
