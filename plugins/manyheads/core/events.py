"""Events of a run, for consoles, reports and tests, as they happen."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field

from manyheads.core import Price, ToolCall, Usage


class Event(BaseModel):
    """Base of all events; `kind` is the type.

    Example:
        await run("virsci", listener=lambda event: print(event.stage, event.turn))
    """

    model_config = ConfigDict(frozen=True)

    stage: str = ""
    turn: int = 0


class MadeBy(BaseModel):
    """Versions that made a run, and when it began."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    manyheads: str
    """The version of manyheads."""
    host: str
    """The agent framework."""
    host_version: str | None = None
    """The framework's version; None if it is not installed."""
    python: str
    at: str
    """When the run began, ISO 8601 with the zone; a resumed run keeps it."""

    def __str__(self) -> str:
        host = f"{self.host} {self.host_version}" if self.host_version else self.host
        return f"manyheads {self.manyheads}, {host}, Python {self.python}"


class Began(Event):
    """A run begins, or is resumed. Always the first event."""

    kind: Literal["began"] = "began"
    made_by: MadeBy
    prices: dict[str, Price] = {}
    """Price per million tokens, by the model's alias; models without a known price are omitted."""


class Stage(Event):
    """A stage begins; `number` of `total`.

    Example:
        >>> Stage(stage="idea", title="Ideas", number=2, total=5).kind
        'stage'
    """

    kind: Literal["stage"] = "stage"
    title: str
    number: int
    total: int
    turns: int | None = None
    """Maximum number of turns, for a stage with turns."""


class Estimated(Event):
    """The estimate of the whole run, by a dry run beside it. Only of runs on the command line that go on for some seconds."""

    kind: Literal["estimated"] = "estimated"
    usage: Usage


class Asked(Event):
    """A speaker was asked and is thinking."""

    kind: Literal["asked"] = "asked"
    speaker: str
    task: str


class Waiting(Event):
    """The run waits for a person. The `Said` of the same place ends it; another `Waiting` says why an answer was refused.

    Example:
        async def answer(request: Waiting) -> dict[str, str]:
            return {"action": "accept"} if request.task == "steer" else {"text": input(request.title)}
    """

    kind: Literal["waiting"] = "waiting"
    request: str
    """Its id, unique in the run; a request that is repeated has a new one."""
    speaker: str
    task: str
    title: str
    """The question, in one line."""
    text: str
    """What the person needs to know, in Markdown: the prompt, or the result of a stage."""
    form: dict[str, Any]
    """JSON Schema of the answer, without references; titles and descriptions are for people, defaults are the current values."""
    problem: str = ""
    """Why the last answer was refused; empty for the first request."""


class Person(Protocol):
    """Someone who answers during a run: plays a role, or steers between stages.

    Runs on any host take one: `manyheads.run(…, person=me)`. Questions of one run may be put at the same time.

    Example:
        class Content:
            async def answer(self, request: Waiting) -> dict[str, str]:
                return {"action": "accept"}
    """

    async def answer(self, request: Waiting) -> Mapping[str, Any]:
        """The answer, as data that fits `request.form`; the run waits as long as it takes.

        Data that does not fit is asked for again: `request.problem` says why.
        """
        ...


class Said(Event):
    """A speaker answered. `data` is the typed reply, `text` its readable form."""

    kind: Literal["said"] = "said"
    speaker: str
    task: str
    verb: str = "says"
    """Verb for such a reply; see `ReplyModel`."""
    part: Literal["member", "leader", "guest", "candidate", "person"] = "member"
    """`person` for someone who steers the run; a person who plays a role has the role's part."""
    text: str
    data: dict[str, Any]
    model: str
    usage: Usage
    seconds: float = 0.0
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def by_person(self) -> bool:
        """Whether a person said it, in a role or as the one who steers."""
        return self.model.startswith("human/") or self.part == "person"


class Recruited(Event):
    """A candidate joined or declined."""

    kind: Literal["recruited"] = "recruited"
    candidate: str
    accepted: bool
    reasoning: str


class Invited(Event):
    """A speaker asked an outside scientist for advice."""

    kind: Literal["invited"] = "invited"
    guest: str
    by: str
    question: str


class Retrieved(Event):
    """References were looked up. Each hit has `id, title, year, score`."""

    kind: Literal["retrieved"] = "retrieved"
    query: str
    hits: tuple[dict[str, Any], ...]


class Searched(Event):
    """One look-up in one literature source: an entry of the search ledger."""

    kind: Literal["searched"] = "searched"
    source: str
    operation: Literal["search", "paper", "papers", "references", "authors"]
    query: str
    """The request: words, or a paper's id."""
    asked: str
    """The query sent: the original, or a wider one after too few results."""
    window: str = ""
    """Date bounds in words, empty for none."""
    at: str
    """When, ISO 8601 in UTC."""
    seconds: float
    hits: int
    outcome: Literal["found", "empty", "skipped", "failed"]
    """`skipped` means not asked: the source failed before, lacks the operation, or needs a key."""
    reason: str = ""
    """Why it was skipped or failed, or the faults of single records."""
    cached: bool = False
    """Answered from the cache on disk."""


class Voted(Event):
    """A blind vote; `choice` counts from 1."""

    kind: Literal["voted"] = "voted"
    voter: str
    choice: int
    reasoning: str


class Judged(Event):
    """A decision that changes the run's course: consensus, another turn, a tie broken, a member leaving."""

    kind: Literal["judged"] = "judged"
    subject: str
    outcome: str
    reasoning: str = ""


class Warned(Event):
    """A fallback or a failure that did not end the run."""

    kind: Literal["warned"] = "warned"
    message: str


class Result(Event):
    """The run's result, as in `result.json`. Always the last event."""

    kind: Literal["result"] = "result"
    data: dict[str, Any]


AnyEvent = Annotated[
    Began | Estimated | Stage | Asked | Waiting | Said | Recruited | Invited | Retrieved | Searched | Voted | Judged | Warned | Result,
    Field(discriminator="kind"),
]  # fmt: skip
Emit = Callable[[AnyEvent], None]


class Words(NamedTuple):
    """An event in words: who, what, and the text with it."""

    who: str
    does: str
    text: str = ""


def words(event: AnyEvent) -> Words | None:
    """An event in words, for consoles, logs and hosts; None for events that only show progress."""
    match event:
        case Stage():
            return Words("", f"{event.number}/{event.total} {event.title}")
        case Waiting():
            problem = f" ({event.problem})" if event.problem else ""
            return Words(event.speaker, "is asked to answer", f"{event.title}{problem}")
        case Said():
            return Words(event.speaker, event.verb, event.text)
        case Recruited():
            return Words(event.candidate, "joins" if event.accepted else "declines", event.reasoning)
        case Invited():
            return Words(event.guest, f"advises {event.by} on", event.question)
        case Retrieved():
            return Words("", f"{len(event.hits)} papers found for", event.query)
        case Searched():
            if event.outcome not in ("found", "empty"):
                return Words(event.source, f"{event.outcome} at", f"{event.asked}: {event.reason}")
            hits = f"{event.hits} {'hit' if event.hits == 1 else 'hits'} for"
            return Words(event.source, hits, event.asked + (f" ({event.reason})" if event.reason else ""))
        case Voted():
            return Words(event.voter, f"votes for idea {event.choice}", event.reasoning)
        case Judged():
            return Words(event.subject, event.outcome, event.reasoning)
        case Warned():
            return Words("", "warning", event.message)
        case _:
            return None


async def stream(
    work: Callable[[Emit], Awaitable[Mapping[str, Any]]],
) -> AsyncGenerator[list[AnyEvent], None]:
    """Run `work` and yield its events as they happen, those of one moment together; its return value comes last, as a `Result`.

    Closing the iterator cancels the work; errors of the work are raised unchanged.
    """
    queue: asyncio.Queue[AnyEvent | None] = asyncio.Queue()

    task = asyncio.ensure_future(work(queue.put_nowait))
    task.add_done_callback(lambda done: queue.put_nowait(None))
    try:
        events = list[AnyEvent | None]()
        while None not in events:
            events = [await queue.get(), *(queue.get_nowait() for _ in range(queue.qsize()))]
            if happened := [event for event in events if event]:
                yield happened
        yield [Result(data=dict(await task))]
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
