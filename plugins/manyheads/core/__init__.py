"""The contracts: a system asks `Speaker`s for `Turn`s through a `Host`, and reports progress as `Event`s.

Types of agent frameworks do not appear here. Hosts are stateless: a turn contains everything that its speaker may
know, so blind calls need no special case.
"""

import asyncio
import re
import unicodedata
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from manyheads.asking.forms import Forms
from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import UserError, describe
from manyheads.base.text import hash_of
from manyheads.core.usage import NOTHING, Charge, Meter, Price, Tally, Usage, money, unmetered  # noqa: F401  # pyright: ignore[reportUnusedImport]

A = TypeVar("A")
R = TypeVar("R", bound=ReplyModel)
T = TypeVar("T")

MOST_LETTERS = 64
"""Maximum length of a speaker's name."""


def safe_name(name: str) -> str:
    """A speaker name valid for every host and OpenAI's `name` field: an ASCII identifier of at most 64 letters.

    Characters between words become `_`. A name that loses letters gets a hash, so that two names stay distinct.
    """
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    slug = re.sub(r"\W+", "_", ascii_only).strip("_")
    if name.isascii() and slug.isidentifier() and len(slug) <= MOST_LETTERS:
        return slug
    mark = hash_of(name)[:8]
    readable = slug if slug.isidentifier() else f"agent_{slug}"
    return f"{readable[: MOST_LETTERS - len(mark) - 1].rstrip('_')}_{mark}"


@dataclass(frozen=True)
class Speaker:
    """A role with its system prompt rendered. `name` is valid for every host."""

    name: str
    role: str
    system: str
    model: str = "default"
    """Alias of the model in the config's `models`."""
    persona: str = ""
    """Who it is among speakers with the same system prompt; a run's prompts say it behind the task."""


@dataclass(frozen=True)
class Place:
    """A turn's place in a run: unique in the run, and the same in every rerun."""

    stage: str
    turn: int
    speaker: str
    task: str
    ordinal: int = 0

    def __str__(self) -> str:
        again = f" (again, {self.ordinal})" if self.ordinal else ""
        if not self.stage:  # outside a run
            return f"{self.speaker}: {self.task}{again}"
        return f"{self.stage}, turn {self.turn}, {self.speaker}: {self.task}{again}"


@dataclass(frozen=True)
class Image:
    """An image attached to a message: raw bytes and media type, `image/png` or `image/jpeg`."""

    data: bytes
    media_type: str = "image/png"


@dataclass(frozen=True)
class Message:
    """One message of a thread. `assistant` marks the speaker's own earlier messages."""

    text: str
    sender: Literal["user", "assistant"] = "user"
    images: tuple[Image, ...] = ()


@dataclass(frozen=True)
class Tool:
    """A tool function, host-neutral: its description, its arguments, and the function.

    `run` takes a validated instance of `arguments` and returns the text for the model; `explain` describes invalid
    arguments to the model. `material`: it reads what the task is about, which stands in no prompt.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[Any], Awaitable[str]]
    explain: Callable[[ValidationError], str] = describe
    material: bool = False


@dataclass(frozen=True)
class Turn(Generic[R]):
    """One request to one speaker.

    Attributes:
        thread: everything the speaker sees, oldest first; ends with a user message.
        tools: tools for the speaker, if its model supports tool calls.
        may_call: whether it may call them; where not, they are sent all the same, so that what is cached still fits.
        recall: query of the host's retrieval hook to the author knowledge bank, None for no look-up.
        check: the fault of a reply that fits its schema, None if there is none.
        forms: the wording of the reply's form; the shipped one when None.
        meter: counts the requests that are sent, including retries and those that ask again for a valid reply.
        nested: asked by a tool call within another turn; if that turn is retried, this may differ.
        task: the `role.task` of the prompt: a leader, too, speaks as `scientist.topic`.
        spare: optional: the run continues without this reply if it fails, also when resumed.
    """

    place: Place
    speaker: Speaker
    thread: tuple[Message, ...]
    reply_type: type[R]
    tools: tuple[Tool, ...] = ()
    recall: str | None = None
    check: Callable[[R], str | None] | None = None
    forms: Forms | None = None
    meter: Meter = unmetered
    nested: bool = False
    task: str = ""
    spare: bool = False
    may_call: bool = True


class ToolCall(BaseModel):
    """A speaker's tool call in its turn, with the tool's answer."""

    model_config = ConfigDict(frozen=True)

    name: str
    arguments: dict[str, Any] = {}
    result: str = ""
    failed: bool = False


@dataclass(frozen=True)
class Raw:
    """The response of a host's native agent to one request: its text, unparsed."""

    text: str
    model: str
    usage: Usage = NOTHING
    tool_calls: tuple[ToolCall, ...] = ()
    truncated: bool = False
    """True if the model stopped at its length limit."""


@dataclass(frozen=True)
class Reply(Generic[R]):
    """A turn's valid reply. `usage` covers every attempt."""

    text: str
    value: R
    model: str
    usage: Usage = NOTHING
    tool_calls: tuple[ToolCall, ...] = ()
    attempts: int = 1
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    unusable: tuple[str, ...] = ()
    """The fault of each earlier attempt, see `forms.Unusable`."""


class Host(Protocol):
    """The interface between systems and an agent framework."""

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """Run one turn on a native agent of the host; the turn's meter counts each request to the model.

        Raises:
            BudgetError: the budget does not allow a request.
            ModelError: the model cannot be reached or refuses; `ReplyError` if no reply was valid.
        """
        ...

    async def gate(self) -> None:
        """Wait while the run is paused."""
        ...


class ManagedHost(Host, Protocol):
    """A host that a session owns."""

    def open(self, *models: str) -> None:
        """Create the clients of these models now, by alias, instead of at the first request."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


Recall = Callable[[Turn[Any]], Awaitable[str]]
"""The author knowledge bank behind a host's retrieval hook: for a turn with a query, the passage to add to the
prompt, already fenced and labelled; empty for none."""


async def recall_nothing(turn: Turn[Any]) -> str:
    """The hook of a host without a bank."""
    return ""


class Branch:
    """A branch of concurrent calls. Numbers what happens in it, so that equal runs have one order, whichever call ends first.

    Args:
        path: numbers of the branches that it is in, each after its number in the one before.
    """

    def __init__(self, path: tuple[int, ...] = ()) -> None:
        self._path, self._numbers = path, count()

    def next(self) -> tuple[int, ...]:
        """The rank of what happens now. Sorted by it, events are in the order of a run whose calls take no time."""
        return (*self._path, next(self._numbers))


BRANCH: ContextVar[Branch] = ContextVar("BRANCH")


async def together(*calls: Awaitable[T]) -> list[T]:
    """Await independent calls concurrently, each in a `Branch`, results in order; raises the first error unwrapped.

    After a user's error the other calls finish first, as they are already paid for. Any other error cancels them.
    """
    fork = BRANCH.get(Branch()).next()

    def begun(number: int, call: Awaitable[T]) -> asyncio.Future[T]:
        context = copy_context()
        context.run(BRANCH.set, Branch((*fork, number)))
        return context.run(asyncio.ensure_future, call)

    tasks = [begun(number, call) for number, call in enumerate(calls)]
    try:
        return list(await asyncio.gather(*tasks))
    except UserError:
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    finally:
        for task in tasks:  # a second cancellation would cut short what a task does after the first one
            if not (isinstance(task, asyncio.Task) and task.cancelling()):
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def led(
    call: Callable[[A], Awaitable[T]], ahead: Iterable[A], others: Iterable[A], *, batch: bool
) -> list[T]:
    """The calls of `ahead`, then of `others`, concurrently each; results in this order.

    The requests ahead put what all begin with into the caches of providers and servers. In batches (`batch`) nothing is cached, and
    each step takes hours: all are called at once.
    """
    groups = [[*ahead, *others]] if batch else [ahead, others]
    return [result for group in groups for result in await together(*map(call, group))]


class Ordinals(Counter[tuple[str, int, str, str]]):
    """Numbers the turns of a run: a repeated turn at the same place gets the next ordinal."""

    def place(self, stage: str, turn: int, speaker: str, task: str) -> Place:
        key = (stage, turn, speaker, task)
        self[key] += 1
        return Place(*key, ordinal=self[key] - 1)
