"""One source of a cascade, watched: how long it takes, what it answers, and whether it is worth asking again."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, Literal, NoReturn, TypeVar

from manyheads.config import SourceName
from manyheads.core.events import Searched
from manyheads.errors import LiteratureError
from manyheads.limiter import OverdueError
from manyheads.literature.cache import Answer, CachedSource, Listing, Operation
from manyheads.literature.source import ALL, Part
from manyheads.papers import ANY_TIME, Author, Publication, Window
from manyheads.retry import GarbledError, RefusedError

# Look-ups that a source does not have: known beforehand, so that nobody is asked in vain.


LACKING: Mapping[tuple[SourceName, str], str] = {
    ("local", "references"): "a corpus keeps no references",
    ("local", "citations"): "a corpus keeps no citing papers",
    ("local", "authors"): "a corpus keeps its scientists masked",
    ("arxiv", "references"): "arXiv keeps no references",
    ("arxiv", "citations"): "arXiv keeps no citing papers",
    ("arxiv", "recommendations"): "arXiv recommends nothing",
    ("arxiv", "authors"): "arXiv keeps no records of authors",
}
"""Why a source has no such look-up, for those that it has not."""


class LackingError(LiteratureError):
    """A source has no such look-up at all. It is passed over for it, which is no failure."""


def lacks(source: SourceName, operation: str) -> NoReturn:
    """Say so for a look-up of `LACKING`; raises `LackingError`."""
    raise LackingError(LACKING[source, operation], source=source)


T = TypeVar("T")

_GRACE = 1.0
"""Seconds past the patience: a service that gives up by itself says why."""
_OF_THE_REQUEST = frozenset({400, 404, 410, 413, 414, 422})
"""Statuses that blame what was asked, not the asker."""
_OUT = 2
"""Strikes with no answer between them after which a source is given up."""
_REST = 600.0
"""Seconds after which it is asked again: runs and apps outlive the troubles of a service."""


@dataclass(frozen=True)
class Look:
    """What a caller of the library wants.

    Args:
        query: words, or a paper's name.
        limit: how many papers or people.
    """

    operation: Operation
    query: str
    limit: int = 1
    window: Window = ANY_TIME
    parts: frozenset[Part] = ALL


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What came of asking one source once.

    Args:
        source: who was asked.
        value: its answer; None when it gave none.
        entry: for the ledger.
        error: why it gave none, where it was asked.
        silent: whether it might have known something: it failed now, or it had failed before.
    """

    source: SourceName
    value: T | None
    entry: Searched
    error: LiteratureError | None = None
    silent: bool = False


@dataclass
class Watched:
    """A source, and what became of it in this process.

    Args:
        source: what is asked.
        patience: seconds that it may take for one look-up of a caller, all its forms together.
        rest: seconds for which it is left alone once it is given up.
    """

    source: CachedSource
    patience: float
    rest: float = _REST
    _strikes: int = field(default=0, init=False)
    _given_up_at: float = field(default=0.0, init=False)

    @property
    def name(self) -> SourceName:
        return self.source.name

    def deadline(self) -> float:
        """When a look-up that begins now ends, in seconds of `time.monotonic`."""
        return time.monotonic() + self.patience

    async def papers(
        self, look: Look, operation: Listing, asked: str, until: float
    ) -> Outcome[list[Publication]]:
        """Ask for papers: those that match words, or those that belong to a paper."""
        limit = look.limit
        return await self._watch(
            look, operation, asked, until,
            lambda: self.source.papers(operation, asked, limit, look.window, look.parts),
        )  # fmt: skip

    async def paper(self, look: Look, paper_id: str, until: float) -> Outcome[list[Publication]]:
        """Ask for one paper by its identifier there; none or one, and none from outside the window."""

        async def ask() -> Answer[list[Publication]]:
            answer = await self.source.paper(paper_id, look.parts)
            inside = answer.value is not None and look.window.holds(answer.value)
            return Answer([answer.value] if answer.value and inside else [], answer.cached)

        return await self._watch(look, "paper", paper_id, until, ask)

    async def authors(self, look: Look, until: float) -> Outcome[list[Author]]:
        """Ask for people."""
        return await self._watch(
            look, "authors", look.query, until, lambda: self.source.authors(look.query, look.limit)
        )

    async def _watch(
        self,
        look: Look,
        operation: Operation,
        asked: str,
        until: float,
        ask: Callable[[], Awaitable[Answer[list[T]]]],
    ) -> Outcome[list[T]]:
        entry = self._blank(look, operation, asked)
        if why := LACKING.get((self.name, operation)):
            return Outcome(self.name, None, _with(entry, reason=why))
        began = time.monotonic()
        if began - self._given_up_at >= self.rest:
            self.source.given_up = None
        try:
            answer = await self._in_time(ask, until)
        except LackingError as error:
            return Outcome(self.name, None, _with(entry, reason=error.message))
        except LiteratureError as error:
            return self._failed(entry, error, _since(began))
        self._strikes, known = 0, len(answer.value)
        found: Literal["found", "empty"] = "found" if known else "empty"
        seconds = _since(began)
        done = _with(entry, outcome=found, hits=known, seconds=seconds, cached=answer.cached)
        return Outcome(self.name, answer.value, done)

    def _blank(self, look: Look, operation: Operation, asked: str) -> Searched:
        return Searched(
            source=self.name,
            operation=operation,
            query=look.query,
            asked=asked,
            window=str(look.window),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=0.0,
            hits=0,
            outcome="skipped",
        )

    def _failed(self, entry: Searched, error: LiteratureError, seconds: float) -> Outcome[Any]:
        if error is self.source.given_up:
            skipped = _with(entry, reason=f"not asked again, as it failed before: {error.message}")
            return Outcome(self.name, None, skipped, error, silent=True)
        self._strikes += _strikes(error)
        if self._strikes >= _OUT:
            self.source.given_up, self._given_up_at = error, time.monotonic()
        failed = _with(entry, outcome="failed", reason=error.message, seconds=seconds)
        return Outcome(self.name, None, failed, error, silent=True)

    async def _in_time(self, ask: Callable[[], Awaitable[T]], until: float) -> T:
        limit = asyncio.timeout(until - time.monotonic() + _GRACE)
        try:
            async with limit:
                return await ask()
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise LiteratureError(
                f"{self.name}: no time is left for this (literature.patience)",
                source=self.name,
                hint="raise literature.patience, or ask again later",
            ) from error


def _strikes(error: LiteratureError) -> int:
    """How much a failure says of the next look-up: nothing where a request was at fault or we ourselves stood in line."""
    match error.__cause__:
        case OverdueError(paused=paused):
            return _OUT if paused else 0
        case RefusedError(status=status):
            return 0 if status in _OF_THE_REQUEST else _OUT
        case GarbledError() | TimeoutError():
            return 1
        case _:
            return _OUT


def _with(entry: Searched, **changes: Any) -> Searched:
    return entry.model_copy(update=changes)


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)
