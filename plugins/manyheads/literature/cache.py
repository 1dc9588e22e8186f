"""What is kept of look-ups: answers on disk, with their age, and the search ledger. Concurrent equal requests are merged."""

import asyncio
import hashlib
import json
import os
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from manyheads.base.errors import CacheError, JournalError
from manyheads.base.files import cache_folder, opened, writable
from manyheads.core.events import Searched
from manyheads.corpus.vectors import CheckedDatabase, Closing

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
        self._opened: CheckedDatabase | None = None

    def get(self, source: str, operation: str, request: JsonValue, shape: TypeAdapter[T]) -> T | None:
        """The stored answer; None if there is none, or it is damaged, too old or of an earlier version's format."""
        key = _key(source, operation, request)
        row = self._database().row("SELECT at, CAST(value AS BLOB) FROM lookups WHERE key = ?", key)
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
        row = (key, time.time(), _summed(key, text))
        self._database().change("INSERT OR REPLACE INTO lookups VALUES (?, ?, ?)", *row)

    def close(self) -> None:
        """Close the file, if open."""
        with self._lock:
            if self._opened:
                self._opened.close()
                self._opened = None

    def __enter__(self) -> Self:
        self._database()  # report its errors before any work
        return self

    def _database(self) -> CheckedDatabase:
        with self._lock:
            if self._opened is None:
                broken = self._replace_broken
                self._opened = CheckedDatabase(
                    self._path, _TABLE, failure=self._failed, replace_broken=broken
                )
            return self._opened

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


# The search ledger: every look-up with source, time and outcome, a line of JSON each.

LEDGER = "searches.jsonl"
"""Its name in a run's folder."""

_PLACE = {"kind", "stage", "turn"}
_OF_THE_MOMENT = {*_PLACE, "at", "seconds", "cached"}


class SearchLedger:
    """Look-ups in order. Pass `note` to a `Library`.

    Each is appended to the file, if there is one; entries of earlier starts of the run are read first. Raises `JournalError`
    if the file cannot be read or written, or is not a ledger.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._torn_at = path, -1
        self._entries: dict[str, Searched] = {}
        """By line, without the place in the run: it is the same look-up at any place."""
        self._answered = set[tuple[str, ...]]()
        self._unanswered = dict[tuple[str, ...], str]()
        if path and path.exists():
            self._read(path)

    @property
    def entries(self) -> tuple[Searched, ...]:
        """All look-ups, earlier starts first."""
        return tuple(self._entries.values())

    @property
    def degraded(self) -> tuple[str, ...]:
        """Sources with a failed request that never succeeded later, in order of failure."""
        return tuple(dict.fromkeys(self._unanswered.values()))

    def note(self, entry: Searched) -> None:
        """Add a look-up; one replayed from a resumed run's record stays one entry."""
        line = entry.model_dump_json(exclude=_PLACE)
        if line in self._entries:
            return
        self._take(entry, line)
        if (path := self._path) is None:
            return
        with writable(path, JournalError, "free some space on the disk"):
            path.parent.mkdir(parents=True, exist_ok=True)
            if self._torn_at >= 0:
                os.truncate(path, self._torn_at)
                self._torn_at = -1
            with opened(path, "ab") as file:
                file.write(line.encode() + b"\n")

    def as_data(self) -> dict[str, Any]:
        """For `result.json`: without times, without duplicates and in a fixed order, so that a resumed run gives the same as an
        uninterrupted one.

        Returns:
            `sources` (counts by source and outcome, and hits), `degraded`, `searches`.
        """
        looked_up = {entry.model_dump_json(exclude=_OF_THE_MOMENT): entry for entry in self.entries}
        entries = [looked_up[line] for line in sorted(looked_up)]
        sources: dict[str, dict[str, int]] = {}
        for name in sorted({entry.source for entry in entries}):
            outcomes = Counter(entry.outcome for entry in entries if entry.source == name)
            sources[name] = {each: outcomes[each] for each in ("found", "empty", "skipped", "failed")}
            sources[name]["hits"] = sum(entry.hits for entry in entries if entry.source == name)
        return {
            "sources": sources,
            "degraded": sorted(self.degraded),
            "searches": [entry.model_dump(mode="json", exclude=_OF_THE_MOMENT) for entry in entries],
        }

    def _take(self, entry: Searched, line: str) -> None:
        self._entries[line] = entry
        question = (entry.source, entry.operation, entry.query, entry.asked, entry.window)
        if entry.outcome in ("found", "empty"):
            self._answered.add(question)
            self._unanswered.pop(question, None)
        elif entry.outcome == "failed" and question not in self._answered:
            self._unanswered[question] = entry.source

    def _read(self, path: Path) -> None:
        """Read the entries of a file; an incomplete last line is dropped, and overwritten later."""
        try:
            with opened(path) as file:
                *lines, torn = file.read().split(b"\n")
        except OSError as error:
            raise JournalError(f"{path}: cannot be read: {error.strerror or error}") from error
        if torn:
            self._torn_at = sum(len(line) + 1 for line in lines)
        for number, line in enumerate(lines, start=1):
            try:
                entry = Searched.model_validate_json(line)
            except ValidationError as error:
                raise JournalError(
                    f"{path}: line {number} is not a look-up", hint="remove the file"
                ) from error
            self._take(entry, entry.model_dump_json(exclude=_PLACE))
