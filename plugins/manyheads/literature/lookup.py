"""One look-up through the sources: each is asked one request at a time, logged, and skipped after failures."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter

from manyheads.base.errors import LiteratureError
from manyheads.base.http import GarbledError, OverdueError, RefusedError
from manyheads.base.papers import Paper
from manyheads.config import SourceName
from manyheads.core.events import Searched
from manyheads.literature.cache import LookupCache
from manyheads.literature.source import LackingError, Operation, Request, Source

Note = Callable[[Searched], None]

REST = 600.0
"""Seconds before a failed source is tried again: a run may outlast an outage."""
_OF_THE_REQUEST = frozenset({400, 404, 410, 413, 414, 422})
"""Statuses that blame the request, not the client."""
_OUT = 2
"""Consecutive failures after which a source is skipped."""
_PAPERS = TypeAdapter(tuple[Paper, ...])


class Findings(BaseModel):
    """The result of a look-up, as a run records it."""

    model_config = ConfigDict(frozen=True)

    papers: tuple[Paper, ...] = ()
    """Best first, without duplicates."""
    searches: tuple[Searched, ...] = ()
    """The queries used."""
    degraded: tuple[SourceName, ...] = ()
    """Sources that failed or were skipped, so that "nothing found" may be incomplete."""


class Member:
    """A source of a library, with its cache and its state in this process.

    After a permanent failure it is skipped for a while; cached answers are still used.

    Args:
        source: the source behind the cache.
        cache: stores complete answers, never failures; None for a source as fast as a cache.
        address: of the service if not the usual one, whose answers differ.
        rest: seconds for which a failed source is skipped.
    """

    def __init__(
        self, source: Source, cache: LookupCache | None = None, address: str = "", rest: float = REST
    ) -> None:
        self.source = source
        self.name: SourceName = source.name
        self._cache, self._address, self._rest = cache, address, rest
        self._strikes, self._given_up_at = 0, 0.0
        self._failure: LiteratureError | None = None

    @property
    def failure(self) -> LiteratureError | None:
        """Why the source is skipped; None if it may be asked."""
        if time.monotonic() - self._given_up_at >= self._rest:
            self._failure = None
        return self._failure

    async def answer(self, request: Request) -> tuple[tuple[Paper, ...], bool]:
        """The source's papers, and whether they were cached. Raises `LiteratureError`, `CacheError`."""
        key: dict[str, JsonValue] = {
            "asked": request.query,
            "address": self._address,
            "parts": " ".join(sorted(request.parts)),
        }
        if request.operation != "paper":
            key |= {"limit": request.limit, "window": str(request.window)}
        place, cache = (self.name, request.operation, key, _PAPERS), self._cache
        if cache and (papers := await asyncio.to_thread(cache.get, *place)) is not None:
            return papers, True
        if failure := self.failure:
            raise failure.with_traceback(None)  # else the traceback would grow each time
        papers = tuple(await self.source.look_up(request))
        if cache and not request.faults:
            await asyncio.to_thread(cache.put, *place, papers)
        return papers, False

    def succeed(self) -> None:
        self._strikes = 0

    def fail(self, error: LiteratureError) -> None:
        """A failure counts less if the request was at fault, or our own queue was too long."""
        match error.__cause__:
            case OverdueError(paused=False):
                pass
            case RefusedError(status=status) if status in _OF_THE_REQUEST:
                pass
            case GarbledError() | TimeoutError():
                self._strikes += 1
            case _:
                self._strikes += _OUT
        if self._strikes >= _OUT:
            self._failure, self._given_up_at = error, time.monotonic()


class LookUp:
    """A request to the sources. Each entry of the ledger is passed to `note` at once."""

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
        query: str,
        until: float,
        *,
        limit: int | None = None,
        counts: bool = True,
    ) -> tuple[Paper, ...] | None:
        """Ask one source once, within its patience; returns its papers in the window, None without an answer.

        `query` may be a variant of the request's; an answer that does not `count` is hidden from the caller's result.
        """
        began, whole = time.monotonic(), self.request
        limit = whole.limit if limit is None else limit
        request = replace(whole, operation=operation, query=query, limit=limit, until=until, faults=[])

        def enter(outcome: str, reason: str = "", **more: Any) -> None:
            seconds = 0.0 if outcome == "skipped" else round(time.monotonic() - began, 3)
            entry = Searched.model_validate(
                {
                    "source": member.name,
                    "operation": operation,
                    "query": whole.query,
                    "asked": query,
                    "window": str(whole.window),
                    "at": datetime.now(UTC).isoformat(timespec="seconds"),
                    "seconds": seconds,
                    "hits": 0,
                    "outcome": outcome,
                    "reason": reason,
                    **more,
                }
            )
            self._searches.append(entry)
            self._note(entry)

        if why := member.source.lacking.get(operation):
            return enter("skipped", why)
        try:
            papers, cached = await member.answer(request)
        except LackingError as error:
            return enter("skipped", error.message)
        except LiteratureError as error:
            self._silent.setdefault(member.name, error)
            if error is member.failure:
                return enter("skipped", f"skipped after an earlier failure: {error.message}")
            member.fail(error)
            return enter("failed", error.message)
        member.succeed()
        self._answers += counts
        papers = tuple(filter(whole.window.holds, papers))
        enter("found" if papers else "empty", "; ".join(request.faults), hits=len(papers), cached=cached)
        return papers

    def need_answer(self, *, of_all: bool = False) -> None:
        """Raises `LiteratureError` if no source answered, or with `of_all` if any did not."""
        if self._answers and not (of_all and self._silent):
            return
        failures = "; ".join(error.message for error in self._silent.values())
        lacking = "; ".join(f"{entry.source}: {entry.reason}" for entry in self._searches)
        hints = dict.fromkeys(error.hint for error in self._silent.values() if error.hint)
        why = failures or lacking or "none of them supports such an identifier"
        raise LiteratureError(
            f"{'not every' if self._answers else 'no'} literature source could be asked: {why}",
            source=", ".join(self._silent) or "literature",
            fault="silent" if self._silent else "lacking",
            hint="; ".join(hints) or "add a source that supports it to literature.cascade",
        )

    def findings(self, papers: tuple[Paper, ...] = ()) -> Findings:
        """The result of the look-up."""
        return Findings(papers=papers, searches=tuple(self._searches), degraded=tuple(self._silent))
