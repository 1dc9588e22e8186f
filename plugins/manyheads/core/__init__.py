"""The contracts: a system needs a `Host` to ask `Speaker`s for `Turn`s, and says what happens in `Event`s.

No type of an agent framework crosses this line. Hosts are asked statelessly: a turn carries all that its
speaker may know, so nothing is remembered twice and a blind call is the normal case.
"""

import asyncio
import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import date
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from manyheads.errors import UserError, describe
from manyheads.forms import Forms
from manyheads.replies import ReplyModel

R = TypeVar("R", bound=ReplyModel)
T = TypeVar("T")

MOST_LETTERS = 64
"""Of a speaker's name."""


def safe_name(name: str) -> str:
    """A speaker name that both hosts and OpenAI's `name` field take: an ASCII identifier of at most 64 letters.

    What stands between words becomes `_`. A name that loses letters gets a mark of the whole, so that two stay two.
    """
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    slug = re.sub(r"\W+", "_", ascii_only).strip("_")
    if name.isascii() and slug.isidentifier() and len(slug) <= MOST_LETTERS:
        return slug
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    readable = slug if slug.isidentifier() else f"agent_{slug}"
    return f"{readable[: MOST_LETTERS - len(mark) - 1].rstrip('_')}_{mark}"


@dataclass(frozen=True)
class Speaker:
    """Who speaks: a role with its system prompt rendered. `name` is safe for every host."""

    name: str
    role: str
    system: str
    model: str = "default"
    """Alias of the model in the config's `models`."""


@dataclass(frozen=True)
class Place:
    """Where in a run a turn stands; unique in the run, and the same whenever it is run again."""

    stage: str
    turn: int
    speaker: str
    task: str
    ordinal: int = 0

    def __str__(self) -> str:
        again = f" (again, {self.ordinal})" if self.ordinal else ""
        if not self.stage:  # of no run
            return f"{self.speaker}: {self.task}{again}"
        return f"{self.stage}, turn {self.turn}, {self.speaker}: {self.task}{again}"


@dataclass(frozen=True)
class Image:
    """A picture shown with a message: raw bytes and media type, `image/png` or `image/jpeg`."""

    data: bytes
    media_type: str = "image/png"


@dataclass(frozen=True)
class Message:
    """One message of a thread. `assistant` is what the speaker itself said before."""

    text: str
    sender: Literal["user", "assistant"] = "user"
    images: tuple[Image, ...] = ()


@dataclass(frozen=True)
class Tool:
    """A tool function, host-neutral: what the model reads, its arguments, and the function itself.

    `run` receives a validated instance of `arguments` and returns the text that the model sees; `explain` says to the
    model what is wrong with arguments that are none.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[Any], Awaitable[str]]
    explain: Callable[[ValidationError], str] = describe


class Price(BaseModel):
    """Price of a million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    """Of what the model reads."""
    output: float = Field(ge=0)
    """Of what it writes."""
    currency: str | None = None
    """Such as USD; all prices of a run are in one."""
    as_of: date | None = None
    """The day of the price list that it is from."""
    listed: str | None = None
    """The model that it was looked up for in a price list, as `provider/name`; left out of a price of your own."""


def money(cost: float, currency: str | None) -> str:
    """A sum in words, `0.0312 USD`."""
    return f"{cost:.4f}{f' {currency}' if currency else ''}"


class Usage(BaseModel):
    """What a reply cost. `cost` is None where the price of the model is not known."""

    model_config = ConfigDict(frozen=True)

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    cost: float | None = None
    estimated: int = 0
    """Calls whose tokens the server did not say, or not as they can be: they are an estimate, one for four bytes."""

    def __add__(self, other: "Usage") -> "Usage":
        costs = [c for c in (self.cost, other.cost) if c is not None]
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            calls=self.calls + other.calls,
            cost=round(sum(costs), 10) if costs else None,
            estimated=self.estimated + other.estimated,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return self + Usage(**{name: value and -value for name, value in other})

    @property
    def tokens(self) -> int:
        """Read and written."""
        return self.input_tokens + self.output_tokens

    def beyond(self, known: "Usage") -> "Usage":
        """What it is more than what is known of it, nothing where it is less; its cost is not told apart."""
        return Usage(**{name: max(0, value) for name, value in self - known if name != "cost"})


NOTHING = Usage()


class Tally(dict[str, Usage]):
    """What was paid by stage, by speaker or by model: the one counter of tokens."""

    def pay(self, key: str, usage: Usage) -> None:
        self[key] = self.get(key, NOTHING) + usage

    @property
    def total(self) -> Usage:
        return sum(self.values(), NOTHING)


class Meter(Protocol):
    """What is asked before, and told after, each question to a model."""

    def asking(self) -> AbstractContextManager[None]:
        """Around one question; raises `BudgetError` where it cannot be paid."""
        ...

    def pay(self, usage: Usage) -> None:
        """What an answer has cost, usable or not."""
        ...


class Unmetered:
    """The meter of a turn that nobody counts."""

    def asking(self) -> AbstractContextManager[None]:
        return nullcontext()

    def pay(self, usage: Usage) -> None:
        return


UNMETERED = Unmetered()


@dataclass(frozen=True)
class Turn(Generic[R]):
    """One question to one speaker.

    Attributes:
        place: where in the run.
        speaker: who is asked.
        thread: all that the speaker is told, oldest first; ends with a user message.
        reply_type: the typed reply that is asked for.
        tools: what the speaker may call, where its model can.
        recall: what the host's retrieval hook looks up in the author knowledge bank, None for nothing.
        check: says what is wrong with a reply that its schema lets pass, None if nothing is.
        forms: the words in which the reply is asked for; those that ship when None.
        meter: counts the questions that are put, of a reply that is asked for anew as well.
        nested: a tool call within another turn asks; should that turn be asked again, it may ask something else.
        task: the `role.task` whose prompt is asked: a leader, too, speaks as `scientist.topic`.
        spare: the run goes on without a reply that is not to be had, and without it too when it is resumed.
    """

    place: Place
    speaker: Speaker
    thread: tuple[Message, ...]
    reply_type: type[R]
    tools: tuple[Tool, ...] = ()
    recall: str | None = None
    check: Callable[[R], str | None] | None = None
    forms: Forms | None = None
    meter: Meter = UNMETERED
    nested: bool = False
    task: str = ""
    spare: bool = False


class ToolCall(BaseModel):
    """A tool call that a speaker made in its turn, with what the tool answered."""

    model_config = ConfigDict(frozen=True)

    name: str
    arguments: dict[str, Any] = {}
    result: str = ""
    failed: bool = False


@dataclass(frozen=True)
class Raw:
    """What a host's native agent gave for one request: text as written, nothing parsed."""

    text: str
    model: str
    usage: Usage = NOTHING
    tool_calls: tuple[ToolCall, ...] = ()
    truncated: bool = False
    """True when the model stopped at its length limit."""


@dataclass(frozen=True)
class Reply(Generic[R]):
    """A turn's valid reply. `usage` counts every attempt that was paid for it."""

    text: str
    value: R
    model: str
    usage: Usage = NOTHING
    tool_calls: tuple[ToolCall, ...] = ()
    attempts: int = 1
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    unusable: tuple[str, ...] = ()
    """What was wrong with each reply before it, see `forms.Unusable`."""


class Host(Protocol):
    """What a system needs of an agent framework."""

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """One turn of a native agent of the host; each question to its model is counted with the turn's meter.

        Raises:
            BudgetError: a question cannot be paid.
            ModelError: the model cannot be reached or refuses; `ReplyError` when no reply was valid.
        """
        ...

    async def gate(self) -> None:
        """Wait here while the run is paused."""
        ...


class ManagedHost(Host, Protocol):
    """A host that a session owns."""

    def open(self, *models: str) -> None:
        """Make the clients of some models now, by alias; the first request makes them otherwise."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


Recall = Callable[[Turn[Any]], Awaitable[str]]
"""The author knowledge bank behind a host's retrieval hook: for a turn with a query, the passage that the hook puts
beside the prompt, already fenced and labelled; empty for nothing."""


async def recall_nothing(turn: Turn[Any]) -> str:
    """The hook of a host without a bank."""
    return ""


async def together(*calls: Awaitable[T]) -> list[T]:
    """Await independent calls concurrently, results in order; the first error is raised bare.

    One that a user can mend lets the rest end first: what has been asked is paid for. Any other cancels the rest.
    """
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return list(await asyncio.gather(*tasks))
    except UserError:
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Ordinals(Counter[tuple[str, int, str, str]]):
    """Hands out places: the same question asked again at the same place gets the next ordinal."""

    def place(self, stage: str, turn: int, speaker: str, task: str) -> Place:
        key = (stage, turn, speaker, task)
        self[key] += 1
        return Place(*key, ordinal=self[key] - 1)
