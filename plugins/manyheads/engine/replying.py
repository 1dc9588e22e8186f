"""Structured replies: schema in the prompt, reply from text, repaired, validated, asked again when invalid.

The hosts' own structured output is not used: on both it loses the raw text or the usage of a failed attempt,
or spends dozens of calls on a model that answers JSON as plain text.
"""

import asyncio
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import json_repair
from pydantic import ValidationError

from manyheads.core import NOTHING, Message, Place, Raw, Reply, ToolCall, Turn, Usage
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


def objects(text: str) -> list[dict[str, Any]]:
    """The outermost JSON objects of a text, in order.

    Raises:
        CutOffError: the last one does not end.
    """
    return [value for value in _values(text) if isinstance(value, dict)]


def _values(text: str) -> Iterator[Any]:
    at = 0
    while found := START.search(text, at):
        try:
            value, at = _decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            at = _end(text, found.start())
            value = _mended(text[found.start() : at])
        yield _encodable(value) if "\\u" in text else value


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


def _mended(span: str) -> Any:
    try:
        return json_repair.loads(span)
    except (ValueError, RecursionError):
        return None


def _encodable(value: Any) -> Any:
    return json.loads(printable(json.dumps(value, ensure_ascii=False)))


R = TypeVar("R", bound=ReplyModel)

TOOL_ROUNDS = 6
"""How often a speaker may call tools in one turn, on either host."""
AGAIN = """\
That reply cannot be used: {problem}
Answer the same question again, with one complete JSON object that fits the schema."""

asked_at: ContextVar[Place | None] = ContextVar("asked_at", default=None)
"""Where in the run the turn under way stands: what a model of ours may know that no framework would tell it."""


@contextmanager
def _at(place: Place) -> Generator[None]:
    token = asked_at.set(place)
    try:
        yield
    finally:
        asked_at.reset(token)


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
        return reply_type.model_validate(_answer(text, reply_type))
    except ValidationError as error:
        raise UnusableReplyError(describe(error)) from error


def _answer(text: str, reply_type: type[ReplyModel]) -> dict[str, Any]:
    """The last object that has any of the reply's fields: what stands before it is a draft or an example."""
    try:
        found = objects(text)
    except CutOffError as error:
        raise UnusableReplyError("its JSON object was cut off") from error
    if not found:
        raise UnusableReplyError("it held no JSON object")
    fields = reply_type.model_fields.keys()
    return next((each for each in reversed(found) if fields & each.keys()), found[-1])


@dataclass
class _Attempts(Generic[R]):
    """What the attempts at one turn have cost so far."""

    turn: Turn[R]
    usage: Usage = NOTHING
    tool_calls: tuple[ToolCall, ...] = ()
    count: int = 0

    def add(self, raw: Raw) -> None:
        self.usage += raw.usage
        self.tool_calls += raw.tool_calls
        self.count += 1

    def read(self, raw: Raw) -> R:
        value = parse(raw.text, self.turn.reply_type, truncated=raw.truncated)
        if self.turn.check and (problem := self.turn.check(value)):
            raise UnusableReplyError(problem)
        return value


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
        began, warn, so_far = time.monotonic(), list[str](), _Attempts(turn)
        thread = with_form(turn)
        while True:
            with turn.meter.asking(), _at(turn.place):
                raw = await self.native(turn, thread, warn)
                turn.meter.pay(raw.usage)
            raw = replace(raw, text=printable(raw.text))
            so_far.add(raw)
            try:
                value = so_far.read(raw)
            except UnusableReplyError as problem:
                if so_far.count >= self._attempts:
                    raise _gave_up(turn, raw, str(problem), so_far.count) from problem
                warn.append(f"{turn.place}: asked again, {problem}")
                thread = (*thread, *_once_more(raw, problem))
                continue
            seconds = time.monotonic() - began
            return Reply(
                raw.text,
                value,
                raw.model,
                so_far.usage,
                so_far.tool_calls,
                so_far.count,
                seconds,
                tuple(warn),
            )


def with_form(turn: Turn[R]) -> tuple[Message, ...]:
    """The turn's thread, its last message ending with the reply's form."""
    *before, last = turn.thread
    return (*before, replace(last, text=f"{last.text.rstrip()}\n\n{form(turn.reply_type)}"))


def _once_more(raw: Raw, problem: UnusableReplyError) -> tuple[Message, Message]:
    said = raw.text.strip() or "(nothing)"
    return Message(said, sender="assistant"), Message(AGAIN.format(problem=problem))


def _gave_up(turn: Turn[Any], raw: Raw, problem: str, count: int) -> ReplyError:
    shown = raw.text if len(raw.text) <= 600 else raw.text[:600] + " …"
    return ReplyError(
        f"{turn.place}: no valid reply from {raw.model} in {count} attempts; the last one: {problem}",
        raw=raw.text,
        tried=f"its last words were: {shown!r}",
        hint="resume the run, or give this role another model: --set roles.<role>.model=<alias>",
    )
