"""Answers of literature sources kept on disk, each with its age."""

import asyncio
import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from manyheads.bank.store import Closing
from manyheads.disk import Database, cache_folder
from manyheads.errors import CacheError

CACHE = "literature.sqlite"
"""The name of the services' answers in the user's cache folder."""
RECORD = "searches.sqlite"
"""The name of a run's own record in its folder."""
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
        self._path = path or cache_folder() / CACHE
        self._max_age = max_age
        with self._errors():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._db = Database(self._path, _TABLE)

    def get(self, source: str, operation: str, request: JsonValue) -> Kept | None:
        """What was kept and is not too old; None where nothing is."""
        with self._errors():
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
        with self._errors():
            self._db.change("INSERT OR REPLACE INTO lookups VALUES (?, ?, ?)", key, time.time(), text)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _is_fresh(self, at: float) -> bool:
        """Whether an answer may still be given; one from the future (a clock set back) may not."""
        return self._max_age is None or 0 <= time.time() - at < self._max_age.total_seconds()

    @contextmanager
    def _errors(self) -> Generator[None]:
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


class SingleFlight:
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

    async def get(self, source: str, operation: str, request: JsonValue, shape: TypeAdapter[T]) -> T | None:
        """An answer that was kept; None where none is, or one of an earlier version's shape. Raises `CacheError`."""
        kept = await asyncio.to_thread(lambda: self._opened().get(source, operation, request))
        try:
            return kept and shape.validate_python(kept.value)
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
