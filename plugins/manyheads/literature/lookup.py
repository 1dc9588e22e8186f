"""Look-ups: their answers on disk, the search ledger, and one look-up through the sources."""

import asyncio
import hashlib
import json
import math
import os
import threading
import time
import zlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Hashable, Iterable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from manyheads.base.errors import CacheError, JournalError, LiteratureError, UserError
from manyheads.base.files import Closing, cache_folder, opened, writable
from manyheads.base.http import GarbledError, OverdueError, RefusedError
from manyheads.base.papers import Paper
from manyheads.base.sqlite import Database
from manyheads.config import SourceName
from manyheads.core.events import Searched
from manyheads.literature.source import LackingError, Operation, Request, Source, WithheldError

CACHE = "literature.sqlite"
"""Name of the services' cache in the user's cache folder."""
RECORD = "searches.sqlite"
"""Name of a run's own record in its folder."""
_TABLE = "CREATE TABLE IF NOT EXISTS lookups (key BLOB PRIMARY KEY, at REAL NOT NULL, value TEXT NOT NULL) WITHOUT ROWID"

T = TypeVar("T")
Row: TypeAlias = tuple[bytes, float, str]
"""An answer as it lies in a file: key, time in seconds since 1970, text."""


class StoredAnswers(Protocol):
    """The services' answers; those of a whole cluster are with its driver."""

    def lookup(self, key: bytes, until: float) -> AbstractAsyncContextManager[Row | None]:
        """The answer, if there is one, for a block that else asks for it; until a time of `time.monotonic`, no other block does."""
        ...

    async def store(self, row: Row) -> None:
        """Store an answer."""
        ...


ANSWERS: ContextVar[StoredAnswers | None] = ContextVar("answers", default=None)
"""Those that the current run uses, if not its own cache."""


class LookupCache(Closing):
    """Answers by source, operation and request, empty ones too, never failures; threads and processes may share one file.

    A request is everything that the answer depends on: words or id, limit, window, parts, and the address if it is not the
    service's own. Each call raises `CacheError` if the file cannot be opened, read or written, or is not ours.

    Args:
        path: the SQLite file, opened on first use; by default `literature.sqlite` in the user's cache folder.
        max_age: maximum age of answers; None for no limit.
        record: a run's record, which is not replaced by an empty one if broken, unlike a cache.
    """

    def __init__(
        self, path: Path | None = None, max_age: timedelta | None = None, *, record: bool = False
    ) -> None:
        self._path, self._max_age, self._replace_broken = path or cache_folder() / CACHE, max_age, not record
        self._lock = threading.Lock()
        self._opened: Database | None = None
        self._asking = WeakValueDictionary[Hashable, asyncio.Lock]()

    def get(self, source: str, operation: str, request: JsonValue, shape: TypeAdapter[T]) -> T | None:
        """The stored answer; None if there is none, or it is damaged, too old or of an earlier version's format."""
        row = self.row(_key(source, operation, request))
        dated = row and self._read(row, shape)
        return dated and dated[0]

    @asynccontextmanager
    async def asking(
        self, source: str, operation: str, request: JsonValue, shape: TypeAdapter[T], until: float = math.inf
    ) -> AsyncGenerator[tuple[T, float] | None]:
        """As `get`, with the time of the answer in seconds since 1970, for a service's answer; see `StoredAnswers.lookup`."""
        async with (ANSWERS.get() or self).lookup(_key(source, operation, request), until) as row:
            yield row and self._read(row, shape)

    def _read(self, row: Row, shape: TypeAdapter[T]) -> tuple[T, float] | None:
        key, at, value = row
        age = time.time() - at  # negative if a clock was set back
        if self._max_age is not None and not 0 <= age < self._max_age.total_seconds():
            return None
        try:
            text, summed, _ = value.partition("\n")  # earlier versions had no checksums
            if summed and value != _summed(key, text):
                raise ValueError("its checksum does not match")
            content = json.loads(text)
        except (ValueError, TypeError) as error:
            if self._replace_broken:
                return None
            raise self._failed(error) from error
        with suppress(ValidationError):
            return shape.validate_python(content), at
        return None

    def keep_answer(
        self, source: str, operation: str, request: JsonValue, shape: TypeAdapter[T], value: T
    ) -> None:
        """Store an answer, replacing an older one."""
        self.put([_row(source, operation, request, shape, value)])

    async def keep_found(
        self, source: str, operation: str, request: JsonValue, shape: TypeAdapter[T], value: T
    ) -> None:
        """As `keep_answer`, for services' answers."""
        await (ANSWERS.get() or self).store(_row(source, operation, request, shape, value))

    @asynccontextmanager
    async def lookup(self, key: bytes, until: float) -> AsyncGenerator[Row | None]:
        lock = self._asking.setdefault((asyncio.get_running_loop(), key), asyncio.Lock())
        seconds = None if until == math.inf else until - time.monotonic()
        with ExitStack() as held:
            with suppress(TimeoutError):  # then it asks beside the other
                async with asyncio.timeout(seconds):
                    await lock.acquire()
                held.callback(lock.release)
            yield await asyncio.to_thread(self.row, key)

    async def store(self, row: Row) -> None:
        await asyncio.to_thread(self.put, [row])

    def row(self, key: bytes) -> Row | None:
        """The answer with a key as it lies in the file."""
        row = self._database().row("SELECT key, at, CAST(value AS BLOB) FROM lookups WHERE key = ?", key)
        return row and (key, row[1], str(row[2], "utf-8", "replace"))

    def rows(self, known: Collection[bytes] = ()) -> list[Row]:
        """The stored answers as they lie in the file, but for those with a known key."""
        keys = [key for (key,) in self._database().rows("SELECT key FROM lookups") if key not in known]
        query = "SELECT key, at, value FROM lookups WHERE key = ?"
        return [self._database().rows(query, key)[0] for key in keys]  # pyright: ignore[reportReturnType]

    def put(self, rows: Iterable[Row]) -> None:
        """Store rows of another file."""
        self._database().change_all("INSERT OR REPLACE INTO lookups VALUES (?, ?, ?)", rows)

    def close(self) -> None:
        """Close the file, if open."""
        with self._lock:
            if self._opened:
                self._opened.close()
                self._opened = None

    def __enter__(self) -> Self:
        self._database()  # report its errors before any work
        return self

    def _database(self) -> Database:
        with self._lock:
            if self._opened is None:
                broken = self._replace_broken
                self._opened = Database(self._path, _TABLE, failure=self._failed, replace_broken=broken)
            return self._opened

    def _failed(self, error: Exception) -> CacheError:
        hint = "set MANYHEADS_CACHE to a writable folder, or remove the file"
        return CacheError(f"the cache of literature look-ups {self._path} failed: {error}", hint=hint)


def _key(source: str, operation: str, request: JsonValue) -> bytes:
    question = json.dumps([source, operation, request], sort_keys=True)
    return hashlib.blake2b(question.encode(), digest_size=16).digest()


def _row(source: str, operation: str, request: JsonValue, shape: TypeAdapter[T], value: T) -> Row:
    text = json.dumps(shape.dump_python(value, mode="json"), ensure_ascii=True, allow_nan=False)
    key = _key(source, operation, request)
    return key, time.time(), _summed(key, text)


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
        self._path = path
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
        """Read the entries of a file; an incomplete last line is dropped."""
        try:
            with opened(path) as file:
                *lines, torn = file.read().split(b"\n")
            if torn:
                os.truncate(path, sum(len(line) + 1 for line in lines))
        except OSError as error:
            raise JournalError(f"{path}: cannot be read: {error.strerror or error}") from error
        for number, line in enumerate(lines, start=1):
            try:
                entry = Searched.model_validate_json(line)
            except ValidationError as error:
                hint = "remove the file"
                raise JournalError(f"{path}: line {number} is not a look-up", hint=hint) from error
            self._take(entry, entry.model_dump_json(exclude=_PLACE))


Note = Callable[[Searched], None]
_Outcome = Literal["found", "empty", "skipped", "failed"]

REST = 600.0
"""Seconds before a failed source is tried again: a run may outlast an outage."""
_OF_THE_REQUEST = frozenset({400, 404, 410, 413, 414, 422})
"""Statuses that blame the request, not the client."""
_OUT = 2
"""Consecutive failures after which a source is skipped."""
_PAPERS = TypeAdapter(tuple[Paper, ...])
_Known = tuple[tuple[Paper, ...], float]


class Findings(BaseModel):
    """The result of a look-up, as a run records it."""

    model_config = ConfigDict(frozen=True)

    papers: tuple[Paper, ...] = ()
    """Best first, without duplicates."""
    searches: tuple[Searched, ...] = ()
    """The queries used."""
    degraded: tuple[SourceName, ...] = ()
    """Sources that failed or were skipped, so that "nothing found" may be incomplete."""


class CascadeSource:
    """A source of a library, with its cache and its state in this process.

    After a permanent failure it is skipped for a while; cached answers are still used.

    Args:
        source: the source behind the cache.
        cache: stores complete answers, never failures; None for a source as fast as a cache.
        address: of the service if not the usual one, whose answers differ.
    """

    def __init__(self, source: Source, cache: LookupCache | None = None, address: str = "") -> None:
        self.source = source
        self.name: SourceName = source.name
        self._cache, self._address = cache, address
        self._strikes, self._given_up_at = 0, 0.0
        self._failure: LiteratureError | None = None

    @property
    def failure(self) -> LiteratureError | None:
        """Why the source is skipped; None if it may be asked."""
        if time.monotonic() - self._given_up_at >= REST:
            self._failure = None
        return self._failure

    async def cached(self, request: Request) -> _Known | None:
        """The papers of an earlier answer, and its time in seconds since 1970."""
        async with self._asking(request) as known:
            return known

    def _asking(self, request: Request) -> AbstractAsyncContextManager[_Known | None]:
        """As `cached`, for a block; see `LookupCache.asking`."""
        return self._cache.asking(*self._place(request), request.until) if self._cache else nullcontext()

    async def keep(self, request: Request, papers: tuple[Paper, ...]) -> None:
        """Cache an answer, unless a part of it could not be read."""
        if self._cache and not request.faults:
            await self._cache.keep_found(*self._place(request), papers)

    async def answer(self, request: Request) -> tuple[tuple[Paper, ...], bool]:
        """The source's papers, and whether they were cached. Raises `LiteratureError`, `CacheError`."""
        async with self._asking(request) as known:
            if known is not None:
                return known[0], True
            if failure := self.failure:
                raise failure.with_traceback(None)  # else the traceback would grow each time
            papers = await self._looked_up(request)
            await self.keep(request, papers)
            return papers, False

    async def _looked_up(self, request: Request) -> tuple[Paper, ...]:
        """What the source gives; a fault of another package's source is its failure, not the end of the run."""
        try:
            given: Any = await self.source.look_up(request)
            papers = tuple(given)
            if odd := next((each for each in papers if not isinstance(each, Paper)), None):
                raise TypeError(f"it gave a {type(odd).__name__}, not a Paper")
        except Exception as error:
            if isinstance(error, UserError) or type(self.source).__module__.startswith("manyheads."):
                raise
            told = f"{self.name}: {type(error).__name__}: {error}"
            hint = "report this to the authors of its package"
            raise LiteratureError(told, source=self.name, hint=hint) from error
        return papers

    def _place(self, request: Request) -> tuple[str, str, JsonValue, TypeAdapter[tuple[Paper, ...]]]:
        """Where the cache has the answer to a request."""
        parts = " ".join(sorted(request.parts))
        key: dict[str, JsonValue] = {"asked": request.query, "address": self._address, "parts": parts}
        if request.operation != "paper":
            key |= {"limit": request.limit, "window": str(request.window)}
        return self.name, request.operation, key, _PAPERS

    def succeed(self) -> None:
        self._strikes = 0

    def fail(self, error: LiteratureError) -> None:
        """A failure counts less if the request was at fault, or our own queue was too long."""
        match error.__cause__ or error:
            case OverdueError(paused=False) | WithheldError():
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
        member: CascadeSource,
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
        window = member.source.reach(whole.window)
        limit = whole.limit if limit is None else limit
        request = replace(
            whole, operation=operation, query=query, limit=limit, until=until, faults=[], window=window
        )

        def enter(outcome: _Outcome, reason: str = "", hits: int = 0, cached: bool = False) -> None:
            entry = Searched(
                source=member.name, operation=operation, query=whole.query, asked=query, window=str(window),
                at=datetime.now(UTC).isoformat(timespec="seconds"), hits=hits, outcome=outcome, reason=reason, cached=cached,
                seconds=0.0 if outcome == "skipped" else round(time.monotonic() - began, 3),
            )  # fmt: skip
            self._searches.append(entry)
            self._note(entry)

        if why := member.source.lacks(operation):
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
        papers = tuple(filter(window.holds, papers))
        enter("found" if papers else "empty", "; ".join(request.faults), len(papers), cached)
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
