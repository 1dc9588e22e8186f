"""Answers of literature sources kept on disk, each with its age."""

import asyncio
import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from manyheads.bank.store import Closing
from manyheads.config import SourceName
from manyheads.disk import Database, cache_folder
from manyheads.errors import CacheError, LiteratureError
from manyheads.literature.source import Part, Source
from manyheads.papers import Author, Publication, Window

_TABLE = "CREATE TABLE IF NOT EXISTS lookups (key BLOB PRIMARY KEY, at REAL NOT NULL, value TEXT NOT NULL) WITHOUT ROWID"


@dataclass(frozen=True)
class Kept:
    """An answer that was kept. Its value may be None or empty: the source was asked, and knew nothing."""

    value: JsonValue
    at: datetime
    """When the source gave it, in UTC."""


class LookupCache(Closing):
    """Answers by source, operation and request; threads and processes may share one file.

    Only what a source answered belongs here, an empty answer too, never a failure. A request is everything that
    the answer depends on: words or id, limit, window, parts, and the address if it is not the service's own.

    Args:
        path: the SQLite file; `literature.sqlite` in the user's cache folder if not given.
        max_age: what is that old is no longer given; None for no limit.

    Raises:
        CacheError: the file cannot be opened, read or written, or is not ours.
    """

    def __init__(self, path: Path | None = None, max_age: timedelta | None = None) -> None:
        self._path = path or cache_folder() / "literature.sqlite"
        self._max_age = max_age
        with self._said():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._db = Database(self._path, _TABLE)

    def get(self, source: str, operation: str, request: JsonValue) -> Kept | None:
        """What was kept and is not too old; None where nothing is."""
        with self._said():
            row = self._db.row(
                "SELECT at, value FROM lookups WHERE key = ?", _key(source, operation, request)
            )
            if row is None or not self._is_fresh(row[0]):
                return None
            return Kept(json.loads(row[1]), datetime.fromtimestamp(row[0], UTC))

    def put(self, source: str, operation: str, request: JsonValue, value: JsonValue) -> None:
        """Keep an answer, in the place of an older one."""
        text = json.dumps(value, ensure_ascii=True, allow_nan=False)
        key = _key(source, operation, request)
        with self._said():
            self._db.change("INSERT OR REPLACE INTO lookups VALUES (?, ?, ?)", key, time.time(), text)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _is_fresh(self, at: float) -> bool:
        """Whether an answer may still be given; one from the future (a clock set back) may not."""
        return self._max_age is None or 0 <= time.time() - at < self._max_age.total_seconds()

    @contextmanager
    def _said(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise CacheError(
                f"the cache of literature look-ups {self._path} failed: {error}",
                hint="set MANYHEADS_CACHE to a folder that can be written, or remove the file",
            ) from error


def _key(source: str, operation: str, request: JsonValue) -> bytes:
    asked = json.dumps([source, operation, request], sort_keys=True)
    return hashlib.blake2b(asked.encode(), digest_size=16).digest()


# Work under way that is joined instead of begun a second time.


T = TypeVar("T")


@dataclass
class _Flight:
    task: asyncio.Task[Any]
    waiting: int = 0


class Flights:
    """Coroutines under way by what they are about. Those of other event loops are not joined."""

    def __init__(self) -> None:
        self._flights: dict[tuple[asyncio.AbstractEventLoop, Hashable], _Flight] = {}

    async def join(self, about: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `work` gives, done once for all who ask while it is under way.

        Its exception is raised to each of them. One who is cancelled leaves alone; with the last one the work ends.
        """
        key = (asyncio.get_running_loop(), about)
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(work()))
            flight.task.add_done_callback(lambda _: self._forget(key, flight))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._forget(key, flight)  # nobody may join what is being cancelled
                flight.task.cancel()

    def _forget(self, key: tuple[asyncio.AbstractEventLoop, Hashable], flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]


# A source behind a cache: what it has answered is not asked again, and the same thing never twice at once.

Listing = Literal["search", "references", "citations", "recommendations"]
Operation = Literal[Listing, "paper", "authors"]

_LIST, _ONE = TypeAdapter(list[Publication]), TypeAdapter(Publication | None)
_PEOPLE = TypeAdapter(list[Author])


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What a source answered; `cached`: it was kept on disk."""

    value: T
    cached: bool


class Shelf:
    """A `LookupCache` that is opened at its first use and asked off the event loop.

    Args:
        path: its file.
        max_age: what is that old is no longer given; None for no limit.
    """

    def __init__(self, path: Path, max_age: timedelta | None = None) -> None:
        self._make = partial(LookupCache, path, max_age)
        self._lock = threading.Lock()
        self._cache: LookupCache | None = None

    async def get(
        self, source: str, operation: str, request: JsonValue, shape: TypeAdapter[T]
    ) -> Answer[T] | None:
        """An answer that was kept; None where none is, or one of an earlier version's shape. Raises `CacheError`."""
        kept = await asyncio.to_thread(lambda: self._opened().get(source, operation, request))
        try:
            return kept and Answer(shape.validate_python(kept.value), cached=True)
        except ValidationError:
            return None

    async def put(
        self, source: str, operation: str, request: JsonValue, shape: TypeAdapter[T], value: T
    ) -> None:
        """Keep an answer. Raises `CacheError`."""
        data = shape.dump_python(value, mode="json")
        await asyncio.to_thread(lambda: self._opened().put(source, operation, request, data))

    def close(self) -> None:
        """Close the file if it was opened."""
        with self._lock:
            if self._cache:
                self._cache.close()
                self._cache = None

    def _opened(self) -> LookupCache:
        with self._lock:
            self._cache = self._cache or self._make()
            return self._cache


class CachedSource:
    """Any `Source`, its answers kept by everything that they depend on. Failures are never kept.

    Args:
        source: asked for what is not kept.
        shelf: where answers are kept; None for a source that is as near as a cache.
        address: of the service if it is not the usual one, whose answers are others.
    """

    def __init__(self, source: Source, shelf: Shelf | None = None, address: str = "") -> None:
        self.source = source
        self.given_up: LiteratureError | None = None
        """A failure after which the source is left alone; what is kept of it is given all the same."""
        self._shelf, self._address = shelf, address
        self._flights = Flights()

    @property
    def name(self) -> SourceName:
        return self.source.name

    async def papers(
        self, operation: Listing, asked: str, limit: int, window: Window, parts: Collection[Part]
    ) -> Answer[list[Publication]]:
        """Papers that match words, or that belong to a paper. Raises `LiteratureError`, `CacheError`."""
        look_up = getattr(self.source, operation)
        request = self._request(asked, parts=" ".join(sorted(parts)), limit=limit, window=str(window))
        return await self._kept(
            operation, request, _LIST, lambda: look_up(asked, limit, window=window, parts=parts)
        )

    async def paper(self, paper_id: str, parts: Collection[Part]) -> Answer[Publication | None]:
        """One paper by the source's own identifier. Raises `LiteratureError`, `CacheError`."""
        request = self._request(paper_id, parts=" ".join(sorted(parts)))
        return await self._kept("paper", request, _ONE, lambda: self.source.paper(paper_id, parts=parts))

    async def authors(self, query: str, limit: int) -> Answer[list[Author]]:
        """People by name. Raises `LiteratureError`, `CacheError`."""
        return await self._kept(
            "authors", self._request(query, limit=limit), _PEOPLE, lambda: self.source.authors(query, limit)
        )

    def _request(self, asked: str, **rest: JsonValue) -> dict[str, JsonValue]:
        return {"asked": asked, "address": self._address, **rest}

    async def _kept(
        self,
        operation: Operation,
        request: dict[str, JsonValue],
        shape: TypeAdapter[T],
        ask: Callable[[], Awaitable[T]],
    ) -> Answer[T]:
        async def once() -> Answer[T]:
            shelf = self._shelf
            if shelf and (kept := await shelf.get(self.name, operation, request, shape)):
                return kept
            if self.given_up:
                raise self.given_up.with_traceback(None)  # else it would grow each time
            value = await ask()
            if shelf:
                await shelf.put(self.name, operation, request, shape, value)
            return Answer(value, cached=False)

        return await self._flights.join((operation, json.dumps(request)), once)
