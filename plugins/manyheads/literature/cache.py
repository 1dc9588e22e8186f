"""Cache of literature sources' answers on disk, with their age; concurrent equal requests are merged."""

import asyncio
import hashlib
import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Coroutine, Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from manyheads.base.errors import CacheError
from manyheads.base.files import cache_folder
from manyheads.base.sqlite import Database
from manyheads.corpus.store import Closing

CACHE = "literature.sqlite"
"""Name of the services' cache in the user's cache folder."""
RECORD = "searches.sqlite"
"""Name of a run's own record in its folder."""
_TABLE = "CREATE TABLE IF NOT EXISTS lookups (key BLOB PRIMARY KEY, at REAL NOT NULL, value TEXT NOT NULL) WITHOUT ROWID"

T = TypeVar("T")


class LookupCache(Closing):
    """Answers by source, operation and request; threads and processes may share one file.

    Stores only answers, including empty ones, never failures. A request is everything that the answer depends on: words or
    id, limit, window, parts, and the address if it is not the service's own.

    Args:
        path: the SQLite file, opened on first use; by default `literature.sqlite` in the user's cache folder.
        max_age: maximum age of answers; None for no limit.
        record: a run's record, which is not replaced by an empty one if broken, unlike a cache.

    Raises:
        CacheError: from each call, if the file cannot be opened, read or written, or is not ours.
    """

    def __init__(
        self, path: Path | None = None, max_age: timedelta | None = None, *, record: bool = False
    ) -> None:
        self._path, self._max_age, self._replace_broken = path or cache_folder() / CACHE, max_age, not record
        self._lock = threading.Lock()
        self._opened: Database | None = None

    def get(self, source: str, operation: str, request: JsonValue, shape: TypeAdapter[T]) -> T | None:
        """The stored answer; None if there is none, or it is damaged, too old or of an earlier version's format."""
        key = _key(source, operation, request)
        with self._database() as database:
            row = database.row("SELECT at, CAST(value AS BLOB) FROM lookups WHERE key = ?", key)
        if row is None:
            return None
        age = time.time() - row[0]  # negative if a clock was set back
        if self._max_age is not None and not 0 <= age < self._max_age.total_seconds():
            return None
        try:
            text, summed, _ = str(row[1], "utf-8").partition("\n")  # earlier versions had no checksums
            if summed and row[1] != _summed(key, text).encode():
                raise ValueError("its checksum does not match")
            value = json.loads(text)
        except (ValueError, TypeError) as error:
            if self._replace_broken:
                return None
            raise self._failed(error) from error
        try:
            return shape.validate_python(value)
        except ValidationError:
            return None

    def put(self, source: str, operation: str, request: JsonValue, shape: TypeAdapter[T], value: T) -> None:
        """Store an answer, replacing an older one."""
        text = json.dumps(shape.dump_python(value, mode="json"), ensure_ascii=True, allow_nan=False)
        key = _key(source, operation, request)
        with self._database() as database:
            summed = _summed(key, text)
            database.change("INSERT OR REPLACE INTO lookups VALUES (?, ?, ?)", key, time.time(), summed)

    def close(self) -> None:
        """Close the file, if open."""
        with self._lock:
            if self._opened:
                self._opened.close()
                self._opened = None

    def __enter__(self) -> Self:
        with self._database():  # report its errors before any work
            return self

    @contextmanager
    def _database(self) -> Generator[Database]:
        try:
            with self._lock:
                if self._opened is None:
                    self._path.parent.mkdir(parents=True, exist_ok=True)
                    self._opened = Database(self._path, _TABLE, replace_broken=self._replace_broken)
            yield self._opened
        except (sqlite3.Error, OSError) as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> CacheError:
        return CacheError(
            f"the cache of literature look-ups {self._path} failed: {error}",
            hint="set MANYHEADS_CACHE to a writable folder, or remove the file",
        )


def _key(source: str, operation: str, request: JsonValue) -> bytes:
    question = json.dumps([source, operation, request], sort_keys=True)
    return hashlib.blake2b(question.encode(), digest_size=16).digest()


def _summed(key: bytes, text: str) -> str:
    """An answer followed by its checksum: a damaged one is looked up again."""
    return f"{text}\n{zlib.crc32(key + text.encode()):08x}"


@dataclass
class _Flight:
    task: asyncio.Task[Any]
    waiting: int = 0


class SingleFlight:
    """Running coroutines by key. Those of other event loops are not shared."""

    def __init__(self) -> None:
        self._flights: dict[tuple[asyncio.AbstractEventLoop, Hashable], _Flight] = {}

    async def join(self, about: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `work`, run once for all concurrent callers.

        Its exception is raised in each of them. A cancelled caller leaves; with the last one the work is cancelled.
        """
        key = (asyncio.get_running_loop(), about)
        flight = self._flights.get(key)
        if flight is None or flight.task.done():
            flight = self._flights[key] = _Flight(asyncio.create_task(work()))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                if self._flights.get(key) is flight:  # do not share cancelled work
                    del self._flights[key]
                flight.task.cancel()
