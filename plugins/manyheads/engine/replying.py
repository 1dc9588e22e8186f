"""Structured replies: the form in the prompt, parsing, repair, validation, asking again.

The hosts' own structured output is not used: on both it loses the raw text or the usage of a failed attempt, or wastes
dozens of calls on a model that answers JSON as plain text.
"""

import asyncio
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from manyheads.core import NOTHING, Message, Place, Raw, Reply, ToolCall, Turn
from manyheads.errors import ReplyError, describe
from manyheads.forms import MISSING, Forms, Unusable, shipped_forms
from manyheads.models.offline import OFFLINE
from manyheads.objects import UnreadableError, objects, printable
from manyheads.replies import PlainText, ReplyModel, read_as, uniform_score

R = TypeVar("R", bound=ReplyModel)

LONG = 20_000
"""Characters above which a reply is parsed in a thread, so that other teams of the process continue."""
TAIL = 300
"""Characters of a reply that was cut off which its model is shown again: all of it would leave less room for the next."""
TOOL_ROUNDS = 6
"""Maximum rounds of tool calls per turn, on any host."""

asked_at: ContextVar[Place | None] = ContextVar("asked_at", default=None)
"""The current turn's place in the run, for our own models; frameworks do not pass it on."""


class UnusableReplyError(ValueError):
    """An invalid reply, with the reason."""

    def __init__(
        self, kind: str, problem: str, faults: tuple[tuple[str, object], ...] = (), **more: Any
    ) -> None:
        self.why = Unusable(kind, problem, faults, **more)
        super().__init__(problem)


def parse(text: str, reply_type: type[R], *, truncated: bool = False, forms: Forms | None = None) -> R:
    """Read a typed reply from a model's text.

    Text around the JSON, fences, single quotes and trailing commas are accepted; a cut or missing object, a missing
    field, a wrong type or a value out of range are not.

    Raises:
        UnusableReplyError: with the reason.
    """
    if not text.strip():
        raise UnusableReplyError("empty", "it was empty")
    if truncated:
        raise UnusableReplyError("cut", "it was cut off at the length limit")
    if issubclass(reply_type, PlainText):
        return reply_type(text=text)
    try:
        value = read_as(reply_type, _answer(text, reply_type))
    except ValidationError as error:
        items = error.errors(include_url=False, include_context=False)
        wrote = {
            ".".join(map(str, item["loc"])): MISSING if item["type"] == "missing" else item["input"]
            for item in items
        }
        raise UnusableReplyError("fields", describe(error), tuple(wrote.items())) from error
    words = (forms or shipped_forms()).texts(reply_type)
    if copied := tuple(_copied(value.model_dump(), words)):
        fields = ", ".join(name for name, _ in copied)
        raise UnusableReplyError("copied", f"{fields}: copied from the form", copied)
    return value


def _copied(value: Any, words: Collection[str], path: str = "") -> Iterator[tuple[str, object]]:
    """The fields of a reply that still have the form's own text."""
    match value:
        case dict():
            for name, each in cast(dict[str, Any], value).items():
                yield from _copied(each, words, f"{path}.{name}".lstrip("."))
        case list():
            for at, each in enumerate(cast(list[Any], value)):
                yield from _copied(each, words, f"{path}.{at}")
        case str() if value.strip("<>") in words or re.fullmatch(r"…( ×[\d–+]+)?", value):
            yield path, value
        case _:
            pass


def _answer(text: str, reply_type: type[ReplyModel]) -> dict[str, Any]:
    """The last object with any of the reply's fields: earlier ones are drafts or examples."""
    try:
        values = objects(text)
    except UnreadableError as error:
        raise UnusableReplyError("unreadable", str(error)) from error
    lists = [[value] if isinstance(value, dict) else value for value in values]
    several = [[each for each in value if isinstance(each, dict)] for value in lists]
    if not any(several):
        raise UnusableReplyError("none", "it held no JSON object")
    fields = reply_type.model_fields.keys()
    for last in reversed(several):
        answers = [each for each in last if fields & each.keys()]
        if len(answers) > 1:
            raise UnusableReplyError("several", f"it gave {len(answers)} answers in a list; give one")
        if answers:
            return answers[0]
    return next(each[-1] for each in reversed(several) if each)


class StructuredHost(ABC):
    """Base of the hosts: asks for a typed reply, and again with the reason while it is invalid; can be paused.

    Args:
        attempts: maximum attempts per turn.
    """

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
            at = asked_at.set(turn.place)
            try:
                with turn.meter.asking():
                    raw = await self.native(asked, (*_with_lookups(asked, calls), *said), warn)
                    turn.meter.pay(raw.usage)
            finally:
                asked_at.reset(at)
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
