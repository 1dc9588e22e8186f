"""One look-up on its way through the sources: each is asked once at a time, noted, and its silence remembered."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter

from manyheads.config import SourceName
from manyheads.core.events import Searched
from manyheads.errors import LiteratureError
from manyheads.literature.breaker import Breaker
from manyheads.literature.cache import Shelf
from manyheads.literature.source import ALL, LackingError, Operation, Part, Source
from manyheads.papers import ANY_TIME, Paper, Window

Note = Callable[[Searched], None]

_GRACE = 1.0
"""Seconds past the patience: a service that gives up by itself says why."""
_PAPERS = TypeAdapter(tuple[Paper, ...])
_NOBODY = "none of them takes such a name"


class Findings(BaseModel):
    """What a look-up brought, as a run keeps it too."""

    model_config = ConfigDict(frozen=True)

    papers: tuple[Paper, ...] = ()
    """Best first, each once."""
    searches: tuple[Searched, ...] = ()
    """How they were looked for."""
    degraded: tuple[SourceName, ...] = ()
    """Sources that failed or were left alone, so that "nothing found" may be their silence."""


@dataclass(frozen=True)
class Request:
    """What a caller of the library wants.

    Args:
        query: words, or a paper's name.
        limit: how many papers.
    """

    operation: Operation
    query: str
    limit: int = 1
    window: Window = ANY_TIME
    parts: frozenset[Part] = ALL


@dataclass(frozen=True)
class Member:
    """A source of a library, with what is kept of its answers and what became of it in this process.

    Args:
        source: asked for what is not kept.
        patience: seconds that it may take for one look-up of a caller, all its forms together.
        breaker: leaves it alone once it has failed for good; what is kept of it is given all the same.
        shelf: where answers are kept, never failures; None for a source that is as near as a cache.
        address: of the service if it is not the usual one, whose answers are others.
    """

    source: Source
    patience: float
    breaker: Breaker
    shelf: Shelf | None = None
    address: str = ""

    @property
    def name(self) -> SourceName:
        return self.source.name

    def deadline(self) -> float:
        """When a look-up that begins now ends, in seconds of `time.monotonic`."""
        return time.monotonic() + self.patience

    async def answer(
        self, operation: Operation, asked: str, request: Request, limit: int, until: float
    ) -> tuple[tuple[Paper, ...], bool]:
        """The source's papers, and whether they were kept. Raises `LiteratureError`, `CacheError`."""
        key: dict[str, JsonValue] = {
            "asked": asked,
            "address": self.address,
            "parts": " ".join(sorted(request.parts)),
        }
        if operation != "paper":
            key |= {"limit": limit, "window": str(request.window)}
        shelf = self.shelf
        if shelf and (kept := await shelf.get(self.name, operation, key, _PAPERS)) is not None:
            return kept, True
        if failure := self.breaker.failure:
            raise failure.with_traceback(None)  # else it would grow each time
        papers = await self._in_time(operation, asked, request, limit, until)
        if shelf:
            await shelf.put(self.name, operation, key, _PAPERS, papers)
        return papers, False

    async def _in_time(
        self, operation: Operation, asked: str, request: Request, limit: int, until: float
    ) -> tuple[Paper, ...]:
        time_limit = asyncio.timeout(until - time.monotonic() + _GRACE)
        try:
            async with time_limit:
                if operation == "paper":
                    paper = await self.source.paper(asked, parts=request.parts)
                    return (paper,) if paper else ()
                look_up = getattr(self.source, operation)
                return tuple(await look_up(asked, limit, window=request.window, parts=request.parts))
        except TimeoutError as error:
            if not time_limit.expired():
                raise
            raise LiteratureError(
                f"{self.name}: no time is left for this (literature.patience)",
                source=self.name,
                hint="raise literature.patience, or ask again later",
            ) from error


class LookUp:
    """A request on its way through the sources. Each entry of the ledger is passed to `note` at once."""

    def __init__(self, request: Request, note: Note) -> None:
        self.request = request
        self._note = note
        self._searches: list[Searched] = []
        self._silent: dict[SourceName, LiteratureError] = {}
        self._answers = 0

    async def ask(
        self,
        member: Member,
        operation: Operation,
        asked: str,
        until: float,
        *,
        limit: int | None = None,
        counts: bool = True,
    ) -> tuple[Paper, ...] | None:
        """Ask one source once; its papers inside the window, None when it gave no answer.

        Args:
            asked: the request's query, or another form of it.
            until: when the source's patience ends.
            counts: whether an answer answers what the caller wants to know.
        """
        if why := member.source.lacking.get(operation):
            return self._enter(member, operation, asked, reason=why)
        began = time.monotonic()
        try:
            papers, cached = await member.answer(
                operation, asked, self.request, limit or self.request.limit, until
            )
        except LackingError as error:
            return self._enter(member, operation, asked, reason=error.message)
        except LiteratureError as error:
            self._silent.setdefault(member.name, error)
            if error is member.breaker.failure:
                why = f"not asked again, as it failed before: {error.message}"
                return self._enter(member, operation, asked, reason=why)
            member.breaker.fail(error)
            return self._enter(
                member, operation, asked, outcome="failed", reason=error.message, seconds=_since(began)
            )
        member.breaker.succeed()
        self._answers += counts
        papers = tuple(paper for paper in papers if self.request.window.holds(paper))
        outcome = "found" if papers else "empty"
        self._enter(
            member, operation, asked, outcome=outcome, hits=len(papers), seconds=_since(began), cached=cached
        )
        return papers

    def need_answer(self, *, of_all: bool = False) -> None:
        """Raises `LiteratureError` when nobody answered, or with `of_all` when anybody did not."""
        if self._answers and not (of_all and self._silent):
            return
        failures = "; ".join(error.message for error in self._silent.values())
        lacking = "; ".join(f"{entry.source}: {entry.reason}" for entry in self._searches)
        hints = dict.fromkeys(error.hint for error in self._silent.values() if error.hint)
        raise LiteratureError(
            f"{'not every' if self._answers else 'no'} literature source could be asked: {failures or lacking or _NOBODY}",
            source=", ".join(self._silent) or "literature",
            hint="; ".join(hints) or "add a source that can to literature.cascade",
        )

    def findings(self, papers: tuple[Paper, ...] = ()) -> Findings:
        """What the look-up has come to."""
        return Findings(papers=papers, searches=tuple(self._searches), degraded=tuple(self._silent))

    def _enter(self, member: Member, operation: Operation, asked: str, **known: Any) -> None:
        """Note what came of asking a source."""
        given: dict[str, Any] = {"outcome": "skipped", "seconds": 0.0, "hits": 0, **known}
        entry = Searched(
            source=member.name,
            operation=operation,
            query=self.request.query,
            asked=asked,
            window=str(self.request.window),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            **given,
        )
        self._searches.append(entry)
        self._note(entry)


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)
