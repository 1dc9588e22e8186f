"""Structured replies: the form in the prompt, asking again.

The hosts' own structured output is not used: on both it loses the raw text or the usage of a failed attempt, or wastes
dozens of calls on a model that answers JSON as plain text.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from manyheads.asking.forms import Forms, shipped_forms
from manyheads.asking.json_text import printable
from manyheads.asking.replies import ReplyModel, uniform_score
from manyheads.base.errors import ReplyError
from manyheads.core import (
    NOTHING,
    Charge,
    Message,
    Meter,
    Place,
    Raw,
    Reply,
    ToolCall,
    Turn,
    Usage,
    unmetered,
)
from manyheads.engine.reading import UnusableReplyError, parse
from manyheads.models.offline import OFFLINE

R = TypeVar("R", bound=ReplyModel)

LONG = 20_000
"""Characters above which a reply is parsed in a thread, so that other teams of the process continue."""
TAIL = 300
"""Characters of a reply that was cut off which its model is shown again: all of it would leave less room for the next."""
TOOL_ROUNDS = 6
"""Maximum rounds of tool calls per turn, on any host."""

asked_at: ContextVar[Place | None] = ContextVar("asked_at", default=None)
"""The current turn's place in the run, for our own models; frameworks do not pass it on."""
METER: ContextVar[Meter] = ContextVar("meter", default=unmetered)
"""Of the current turn: counts each request that our clients send."""


class StructuredHost(ABC):
    """Base of the hosts: asks for a typed reply, and again with the reason while it is invalid; can be paused.

    Args:
        attempts: maximum attempts per turn.
    """

    metered = False
    """Whether each request of `native` goes by `METER`; else a whole `native` counts as one until its usage is known."""

    def __init__(self, attempts: int = 3) -> None:
        self._attempts = attempts
        self._going = asyncio.Event()
        self._going.set()

    @abstractmethod
    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One turn of the host's own agent on `thread`; `warn` collects warnings."""

    def pause(self) -> None:
        """Let running turns finish and start no other."""
        self._going.clear()

    def resume(self) -> None:
        """Continue after `pause`."""
        self._going.set()

    async def gate(self) -> None:
        """Wait while the run is paused."""
        await self._going.wait()

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """See `Host.ask`.

        Raises:
            ReplyError: no attempt gave a valid reply; contains the last raw text.
            BudgetError: the budget does not allow an attempt.
        """
        forms, began, warn, asked = forms_of(turn), time.monotonic(), list[str](), turn
        usage, calls, unusable, measured = NOTHING, tuple[ToolCall, ...](), list[str](), False
        said = list[Message]()  # the invalid replies, each with the request to repeat it
        while True:
            attempt = len(unusable) + 1
            raw = await self._metered(asked, (*_with_lookups(asked, calls), *said), warn)
            text, model = printable(raw.text), printable(raw.model)
            usage, calls = usage + raw.usage, calls + raw.tool_calls
            try:
                read = partial(parse, text, turn.reply_type, truncated=raw.truncated, forms=forms)
                value = await asyncio.to_thread(read) if len(text) > LONG else read()
                if turn.check and (problem := turn.check(value)):
                    raise UnusableReplyError("rule", problem)
                if raw.model != OFFLINE and (unlike := forms.unlike(value)):
                    kind, *words = unlike
                    length = f"{words[0]} of about {words[1]} words"
                    if not measured and attempt < self._attempts:
                        measured = True
                        raise UnusableReplyError(kind, length, words=words)
                    warn.append(f"{turn.place}: far too {kind}, {length}")
            except UnusableReplyError as problem:
                unusable.append(problem.why.kind)
                if attempt >= self._attempts:
                    shown = text if len(text) <= 600 else text[:600] + " …"
                    raise ReplyError(
                        f"{turn.place}: no valid reply from {raw.model} in {attempt} attempts; last problem: {problem}",
                        raw=text,
                        unusable=tuple(unusable),
                        tried=f"end of its text: {shown!r}",
                        hint="resume the run, or give this role another model: --set roles.<role>.model=<alias>",
                    ) from problem
                warn.append(f"{turn.place}: asked again, {problem}")
                answer = text.strip()[:LONG] or "(nothing)"
                if raw.truncated and len(answer) > TAIL:
                    answer = f"… {answer[-TAIL:]}"
                said += Message(answer, "assistant"), Message(forms.again(turn.reply_type, problem.why))
                asked = _again(turn, calls)
                continue
            if (score := uniform_score(value)) is not None:
                warn.append(
                    f"{turn.place}: every score is {score}, an end of the scale; it may be copied from the form"
                )
            seconds = time.monotonic() - began
            return Reply(text, value, model, usage, calls, attempt, seconds, tuple(warn), tuple(unusable))

    async def _metered(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One attempt, with the turn's meter around each of its requests, or around all where nothing smaller is known."""
        at, meter = asked_at.set(turn.place), METER.set(turn.meter if self.metered else unmetered)
        try:
            if self.metered:
                return await self.native(turn, thread, warn)
            charge = Charge(Usage(calls=1))
            async with turn.meter(charge):
                raw = await self.native(turn, thread, warn)
                charge.usage = raw.usage
            return raw
        finally:
            METER.reset(meter)
            asked_at.reset(at)


def forms_of(turn: Turn[Any]) -> Forms:
    return turn.forms or shipped_forms()


def _again(turn: Turn[Any], calls: Sequence[ToolCall]) -> Turn[Any]:
    """The turn for a further attempt: without tools and the guests they ask, so that servers enforce the reply's schema.

    Tools that alone hold what the task is about stay until one has answered.
    """
    unread = any(tool.material for tool in turn.tools) and all(call.failed for call in calls)
    return turn if unread or not turn.tools else replace(turn, tools=(), recall=None)


def _with_lookups(turn: Turn[Any], calls: Sequence[ToolCall]) -> tuple[Message, ...]:
    """The turn's thread with its form, and before it what earlier attempts have looked up or heard: no tool runs twice."""
    *before, last = with_form(turn)
    if calls:
        each = {(call.name, str(call.arguments), call.result): call for call in calls}
        variables = {"calls": list(each.values()), "more": bool(turn.tools)}
        lookups = forms_of(turn).prompts.render("lookups.md.j2", variables)
        last = replace(last, text=with_passage(turn, last.text, lookups))
    return (*before, last)


def with_form(turn: Turn[Any]) -> tuple[Message, ...]:
    """The turn's thread, with the reply's form at the end of the last message."""
    *before, last = turn.thread
    if not (form := forms_of(turn).form(turn.reply_type)):
        return turn.thread
    return (*before, replace(last, text=f"{last.text.rstrip()}\n\n{form}\n"))


def with_passage(turn: Turn[Any], text: str, passage: str) -> str:
    """A message's text with the retrieval hook's passage, between the question and the reply's form."""
    form = forms_of(turn).form(turn.reply_type)
    form = f"\n{form}\n" if form else ""
    question = text.removesuffix(form)
    return f"{question.rstrip()}\n\n{passage.strip()}\n{form if question != text else ''}"
