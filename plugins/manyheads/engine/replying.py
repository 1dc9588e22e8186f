"""Structured replies: schema in the prompt, reply from text, repaired, validated, asked again when invalid.

The hosts' own structured output is not used: on both it loses the raw text or the usage of a failed attempt,
or spends dozens of calls on a model that answers JSON as plain text.
"""

import asyncio
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TypeVar

import json_repair
from pydantic import ValidationError

from manyheads.core import NOTHING, Message, Place, Raw, Reply, ToolCall, Turn
from manyheads.errors import ReplyError, describe
from manyheads.replies import ReplyModel, form

# JSON objects in a model's text: untidy ones are mended, but one that the model left open is never closed for it.


START = re.compile(r"""\{\s*(?:["'“]|\w+\s*:)""")
"""What begins an object; a brace in prose, as in "the set {a, b}", does not."""
_INSIDE = {
    opening: re.compile(rf"(?:\\.|[^\\{closing}])*+{closing}", re.DOTALL)
    for opening, closing in {'"': '"', "'": "'", "“": "”"}.items()
}
"""The rest of a string up to its next quote, by the quote that opened it."""
_AFTER_STRING = re.compile(r"\s*(?:[,:}\]]|\Z)")
_decoder = json.JSONDecoder(strict=False)


class CutOffError(ValueError):
    """The text ends within an object."""


def objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects of a text, in order.

    Raises:
        CutOffError: the last one does not end.
    """
    at = 0
    while found := START.search(text, at):
        value: Any = None
        start = found.start()
        try:
            value, at = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            at = _end(text, start)
            with suppress(ValueError, RecursionError):
                value = json_repair.loads(text[start:at])
        if isinstance(value, dict):
            yield json.loads(printable(json.dumps(value, ensure_ascii=False))) if "\\u" in text else value


def _end(text: str, start: int) -> int:
    """Where an object ends that is not valid JSON: at the brace that closes it, outside of any string."""
    depth, at, last = 0, start, ""
    while at < len(text):
        letter = text[at]
        if letter in _INSIDE and last in "{[,:":
            at = _string_end(text, at)
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                return at + 1
        last = last if letter.isspace() else letter
        at += 1
    raise CutOffError


def _string_end(text: str, start: int) -> int:
    """Where a string's last quote stands: one not escaped, before something that may follow a string."""
    inside, at = _INSIDE[text[start]], start
    while found := inside.match(text, at + 1):
        at = found.end() - 1
        if _AFTER_STRING.match(text, at + 1):
            return at
    raise CutOffError


def printable(text: str) -> str:
    """The text with halves of characters, which no file or terminal takes, as question marks."""
    return text.encode("utf-8", "replace").decode()


R = TypeVar("R", bound=ReplyModel)

TOOL_ROUNDS = 6
"""How often a speaker may call tools in one turn, on either host."""
AGAIN = """\
That reply cannot be used: {problem}
Answer the same question again, with one complete JSON object that fits the schema."""

asked_at: ContextVar[Place | None] = ContextVar("asked_at", default=None)
"""Where in the run the turn under way stands: what a model of ours may know that no framework would tell it."""


class UnusableReplyError(ValueError):
    """A reply that cannot be used, with the reason in words that a model can act on."""


def parse(text: str, reply_type: type[R], *, truncated: bool = False) -> R:
    """Read a typed reply from a model's text.

    Chatter around the JSON, fences, single quotes, trailing commas are forgiven; a cut or missing object, a
    missing field, a wrong type, a value out of range are not.

    Raises:
        UnusableReplyError: with the reason.
    """
    if not text.strip():
        raise UnusableReplyError("it was empty")
    if truncated:
        raise UnusableReplyError("it was cut off at the length limit; be briefer")
    try:
        found = [*objects(text)]
    except CutOffError as error:
        raise UnusableReplyError("its JSON object was cut off") from error
    if not found:
        raise UnusableReplyError("it held no JSON object")
    # The last one that has any of the reply's fields: what stands before it is a draft or an example.
    fields = reply_type.model_fields.keys()
    answer = next((each for each in reversed(found) if fields & each.keys()), found[-1])
    try:
        return reply_type.model_validate(answer)
    except ValidationError as error:
        raise UnusableReplyError(describe(error)) from error


class StructuredHost(ABC):
    """Base of the hosts: asks for a typed reply and, while it is invalid, asks again with the reason; can be paused.

    Args:
        attempts: how often a turn may be asked in all.
    """

    def __init__(self, attempts: int = 3) -> None:
        self._attempts = attempts
        self._going = asyncio.Event()
        self._going.set()

    @abstractmethod
    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One turn of the host's own agent on `thread`; notes for the user go into `warn`."""

    def pause(self) -> None:
        """Let turns under way finish, begin no other at the next gate."""
        self._going.clear()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._going.set()

    async def gate(self) -> None:
        """Wait here while the run is paused."""
        await self._going.wait()

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """See `Host.ask`.

        Raises:
            ReplyError: no attempt gave a valid reply; keeps the last raw text.
            BudgetError: an attempt cannot be paid.
        """
        began, warn, thread = time.monotonic(), list[str](), with_form(turn)
        usage, calls = NOTHING, tuple[ToolCall, ...]()
        attempt = 0
        while True:
            attempt += 1
            at = asked_at.set(turn.place)
            try:
                with turn.meter.asking():
                    raw = await self.native(turn, thread, warn)
                    turn.meter.pay(raw.usage)
            finally:
                asked_at.reset(at)
            text = printable(raw.text)
            usage, calls = usage + raw.usage, calls + raw.tool_calls
            try:
                value = parse(text, turn.reply_type, truncated=raw.truncated)
                if turn.check and (problem := turn.check(value)):
                    raise UnusableReplyError(problem)
            except UnusableReplyError as problem:
                if attempt >= self._attempts:
                    shown = text if len(text) <= 600 else text[:600] + " …"
                    raise ReplyError(
                        f"{turn.place}: no valid reply from {raw.model} in {attempt} attempts; the last one: {problem}",
                        raw=text,
                        tried=f"its last words were: {shown!r}",
                        hint="resume the run, or give this role another model: --set roles.<role>.model=<alias>",
                    ) from problem
                warn.append(f"{turn.place}: asked again, {problem}")
                said = Message(text.strip() or "(nothing)", sender="assistant")
                thread = (*thread, said, Message(AGAIN.format(problem=problem)))
            else:
                seconds = time.monotonic() - began
                return Reply(text, value, raw.model, usage, calls, attempt, seconds, tuple(warn))


def with_form(turn: Turn[R]) -> tuple[Message, ...]:
    """The turn's thread, its last message ending with the reply's form."""
    *before, last = turn.thread
    return (*before, replace(last, text=f"{last.text.rstrip()}\n\n{form(turn.reply_type)}"))
