"""Requests in batches, which OpenAI and Anthropic answer within a day, at half price.

To a host's client this is a transport like any other: requests that wait at the same time become one batch, and each gets the answer
of its line. The user's cache records what was sent, so that a command that was killed fetches it when it starts again.
"""

import asyncio
import json
import logging
import re
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from manyheads.base.errors import ReplyError
from manyheads.base.files import (
    FileLock,
    LockedError,
    cache_folder,
    make_folder,
    opened,
    read_text,
    replace_text,
)
from manyheads.base.http import GarbledError, Limiter, Pace, RefusedError, Retry
from manyheads.base.text import hash_of
from manyheads.models.answers import Object, SoundTransport, fields_of, json_of

QUIET, POLL, LONGEST_POLL, TELL = 2.0, 5.0, 60.0, 600.0
"""Seconds: without a new request, before those that wait are sent; between two looks at a batch, at first and at most; between two
lines about one that waits."""
PATIENCE = 30
"""Retries of a look that fails."""
LEAVE, KEPT = 10.0, 29 * 86_400.0
"""Seconds: how long a stop waits for a batch that is being sent; how long the providers keep answers."""
MOST_LINES, MOST_BYTES, MOST_RESULTS = 10_000, 100_000_000, 500_000_000
"""Of one batch; the providers take more."""
EXPIRED = 408
"""Status of a request that its batch did not answer: it is asked again, in another batch."""
STATUSES = {"invalid_request_error": 400, "not_found_error": 404, "request_too_large": 413}
"""Of Anthropic's errors, whose lines have no status; the others pass, as 500."""
_OWN = ("host", "content-length", "content-type", "accept-encoding", "connection", "idempotency-key")
log = logging.getLogger("manyheads")
T = TypeVar("T")
RECORDED: ContextVar[list[Callable[[], None]] | None] = ContextVar("recorded", default=None)
"""What `until_kept` does at its end; None outside of it."""
Answer: TypeAlias = tuple[int, Any]
"""A status, and the JSON of the body."""


@contextmanager
def until_kept() -> Generator[list[Callable[[], None]]]:
    """Batches forget the answers to what is asked in this block at its end, when they are on disk, or no valid replies: before that, a
    command that was killed would pay for them again."""
    token = RECORDED.set(later := list[Callable[[], None]]())
    kept = False
    try:
        yield later
        kept = True
    except ReplyError:  # asked again, it has another answer
        kept = True
        raise
    finally:
        RECORDED.reset(token)
        for forget in later if kept else ():
            forget()


@dataclass
class Batch:
    """A batch at the provider, recorded in a file that this process has locked.

    Attributes:
        sent: in seconds of `time.time`.
        ids: of its lines whose answer is in no journal yet; each begins with the digest of its request.
        claimed: ids of lines that requests wait for. No two get the same, or one answer would be a copy of the other.
        answers: by id, once it has ended.
    """

    id: str
    path: Path
    sent: float
    ids: set[str]
    lock: FileLock
    claimed: set[str] = field(default_factory=set[str])
    answers: asyncio.Task[dict[str, Answer]] | None = None

    @classmethod
    def read(cls, path: Path, lock: FileLock) -> "Batch":
        """A recorded batch; raises `KeyError`, `OSError`, `TypeError` or `ValueError` if it cannot be read."""
        first, *dropped = read_text(path).splitlines()
        record = json.loads(first)
        ids = {*map(str, record["ids"])}.difference(dropped)
        return cls(str(record["id"]), path, float(record["sent"]), ids, lock)

    def keep(self) -> None:
        """Record it."""
        record = {"id": self.id, "sent": self.sent, "ids": sorted(self.ids)}
        replace_text(self.path, f"{json.dumps(record)}\n")

    def drop(self, name: str) -> None:
        """Take a line out of the record; no file and no lock is left after the last one."""
        self.ids.discard(name)
        with suppress(OSError):  # at worst its answer is fetched once more
            if not self.ids:
                _remove(self.path, self.lock)
            elif self.path.exists():  # a line more: a record of thousands would be written thousands of times
                with opened(self.path, "ab") as file:
                    file.write(f"{name}\n".encode())


class BatchTransport(SoundTransport):
    """Sends requests in batches, and waits for their answers as long as it takes; arguments as of `SoundTransport`."""

    def __init__(self, client: Any, provider: str) -> None:
        super().__init__(client, provider)
        self._openai = provider == "openai"
        self._place = "../batches" if self._openai else "messages/batches"
        self._bodies, self._size, self._last = dict[str, Object](), 0, 0.0
        self._sending: asyncio.Task[Batch] | None = None
        self._batches, self._tasks = list[Batch](), set[asyncio.Task[Any]]()
        self._creating = set[asyncio.Task[Any]]()  # those that would leave a batch that nobody knows
        self._earlier: dict[Path, str] | None = None
        self._like: Any = None  # a single request, whose address and key the others have
        self._kind: Any = None  # the client's class of responses

    async def aclose(self) -> None:
        """Wait no longer; what was sent stays recorded, also what is being sent now."""
        for task in self._tasks - self._creating:
            task.cancel()
        if self._creating:
            await asyncio.wait(self._creating, timeout=LEAVE)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for batch in self._batches:
            batch.lock.release()
        await super().aclose()

    async def response(self, request: Any) -> Any:
        """The answer of the request's line in a batch."""
        self._like, body = request, json.loads(content := await request.aread())
        keys = [request.headers.get(name) for name in ("authorization", "x-api-key")]
        digest = hash_of(json.dumps([str(request.url), keys, body], sort_keys=True))[:40]
        body.pop("stream", None)
        if not (found := self._earlier_line(digest)):
            name, sending = self._put(body, digest, len(content))
            found = name, await asyncio.shield(sending)
        name, batch = found
        try:
            if not batch.answers or (batch.answers.done() and batch.answers.exception()):
                batch.answers = self._begin(self._fetch(batch))
            answers = await asyncio.shield(batch.answers)
        except BaseException:
            batch.claimed.discard(name)
            raise
        status, told = answers.pop(name, (EXPIRED, {"error": "its batch has no line for it"}))
        if (later := RECORDED.get()) is None or status >= 300:  # an error is not paid: it is asked again
            self._drop(batch, name)
        else:
            later.append(partial(self._drop, batch, name))
        return self._kind(status, json=told, request=request)

    def _drop(self, batch: Batch, name: str) -> None:
        batch.drop(name)
        self._batches = [each for each in self._batches if each.ids]

    def _earlier_line(self, digest: str) -> tuple[str, Batch] | None:
        """The line that asks the same in a batch of a process that has ended."""
        if self._earlier is None:
            self._earlier = _records()
        for path in [path for path, text in self._earlier.items() if digest in text]:
            del self._earlier[path]
            with suppress(KeyError, LockedError, OSError, TypeError, ValueError):
                lock = FileLock(path.with_suffix(".lock"), mode="r+")
                try:
                    self._batches.append(Batch.read(path, lock))
                except BaseException:
                    lock.release()
                    raise
        for batch in self._batches:
            free = (each for each in batch.ids if each.startswith(digest) and each not in batch.claimed)
            if name := min(free, default=None):
                batch.claimed.add(name)
                return name, batch
        return None

    def _put(self, body: Object, digest: str, size: int) -> tuple[str, asyncio.Task[Batch]]:
        """Put a request into the next batch; returns its line's id, and what sends the batch."""
        self._size += max(size, MOST_BYTES // MOST_LINES)
        if not self._sending or self._size > MOST_BYTES:
            self._bodies, self._size = {}, max(size, MOST_BYTES // MOST_LINES)
            self._sending = self._begin(self._send(self._bodies))
        self._last, name = time.monotonic(), f"{digest}-{len(self._bodies)}"
        self._bodies[name] = body
        return name, self._sending

    def _begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        self._tasks.add(task := asyncio.create_task(work))
        task.add_done_callback(self._tasks.discard)
        return task

    async def _send(self, bodies: Mapping[str, Object]) -> Batch:
        """Send a batch once no more requests come."""
        # each request puts it off
        while bodies is self._bodies and (rest := self._last + QUIET - time.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(rest)
        if bodies is self._bodies:
            self._sending = None
        if task := asyncio.current_task():
            self._creating.add(task)
            task.add_done_callback(self._creating.discard)
        try:
            batch = await self._create(bodies)
        except RefusedError as error:
            if error.status in (404, 405, 501):
                raise RefusedError(405, text="the server takes no batches: leave out --batch") from error
            raise
        make_folder(folder := cache_folder() / "batches")
        path = folder / f"{hash_of(str(self._like.url))[:8]}-{batch}.json"
        lock = FileLock(path.with_suffix(".lock"))
        self._batches.append(sent := Batch(batch, path, time.time(), {*bodies}, lock, {*bodies}))
        sent.keep()
        return sent

    async def _fetch(self, batch: Batch) -> dict[str, Answer]:
        """The answers of a batch that has ended, by the ids of its lines."""
        answers = dict[str, Answer]()
        try:
            told = await self._ended(batch)
            files = [_id(told, key) for key in ("output_file_id", "error_file_id") if told.get(key)]
            places = [f"../files/{file}/content" for file in files]
            if told.get("status") == "failed":  # as a whole: no line was asked
                answers = {name: (424, {"error": json.dumps(told.get("errors"))}) for name in batch.ids}
            for place in places if self._openai else [f"{self._place}/{batch.id}/results"]:
                for text in (await self._call("GET", place, most=MOST_RESULTS)).splitlines():
                    with suppress(GarbledError):
                        line = fields_of(json_of(text))
                        answers[str(line.get("custom_id"))] = _answer_in(line)
        except RefusedError as error:
            if error.status not in (404, 410):  # else the provider has it no longer
                raise
        return answers

    async def _ended(self, batch: Batch) -> Object:
        """What the provider says of a batch that has ended."""
        pause, due, since = QUIET, 0.0, time.strftime("%d %b %H:%M", time.localtime(batch.sent))
        while True:
            await asyncio.sleep(pause)
            told = fields_of(json_of(await self._call("GET", f"{self._place}/{batch.id}")))
            status = told.get("status", told.get("processing_status"))
            if status in ("completed", "failed", "expired", "cancelled", "ended"):
                return told
            if time.monotonic() >= due:
                due, counts = time.monotonic() + TELL, json.dumps(told.get("request_counts"))[:200]
                log.warning("batch %s: waits since %s: %s", batch.id, since, counts.strip("{}"))
            pause = min(max(POLL, 1.5 * pause), LONGEST_POLL)

    async def _create(self, bodies: Mapping[str, Object]) -> str:
        """Send the bodies of requests by their ids; returns the batch's id."""
        order: Object = {"requests": [{"custom_id": name, "params": body} for name, body in bodies.items()]}
        if self._openai:
            line = {"method": "POST", "url": "/v1/chat/completions"}
            lines = (json.dumps({"custom_id": name, **line, "body": body}) for name, body in bodies.items())
            file = ("batch.jsonl", "\n".join(lines).encode(), "application/jsonl")
            sent = json_of(
                await self._call("POST", "../files", data={"purpose": "batch"}, files={"file": file})
            )
            order = {"input_file_id": _id(sent), "endpoint": line["url"], "completion_window": "24h"}
        return _id(json_of(await self._call("POST", self._place, json=order)))

    async def _call(self, method: str, place: str, *, most: int = 1_000_000, **content: Any) -> bytes:
        """Send a request to a place relative to the address of single requests; a look is retried."""
        headers = {name: value for name, value in self._like.headers.items() if name.lower() not in _OWN}
        headers["accept-encoding"], url = "gzip", self._like.url.join(place)

        async def send() -> bytes:
            request = self.client.build_request(method, url, headers=headers, timeout=60, **content)
            response = await SoundTransport.response(self, request)
            self._kind = type(response)
            try:
                return await self.body(request, response, most)
            finally:
                await response.aclose()

        return await Retry(Limiter(Pace()), PATIENCE if method == "GET" else 0, POLL, LONGEST_POLL).send(send)


def _records() -> dict[Path, str]:
    """The texts of the records of all processes, by file; removes those whose answers no provider keeps any longer."""
    texts = dict[Path, str]()
    for path in (cache_folder() / "batches").glob("*.json"):
        with suppress(LockedError, OSError, ValueError):  # another process may have removed it
            if time.time() - path.stat().st_mtime <= KEPT:
                texts[path] = read_text(path)
            else:
                _remove(path, FileLock(path.with_suffix(".lock")))
    return texts


def _remove(path: Path, lock: FileLock) -> None:
    """Remove a record and its lock."""
    try:
        for each in (path, lock.path):
            each.unlink(missing_ok=True)
    finally:
        lock.release()


def _id(told: Any, key: str = "id") -> str:
    value = fields_of(told).get(key)
    if not isinstance(value, str) or not re.fullmatch(r"[\w-]{1,100}", value, re.ASCII):
        raise GarbledError(f"its answer about a batch has no valid {key}")
    return value


def _answer_in(line: Object) -> Answer:
    """The answer in a line of results; the word of the batch itself if its request was not asked."""
    result, response = fields_of(line.get("result")), fields_of(line.get("response"))
    if result.get("type") == "succeeded":
        return 200, result.get("message")
    if error := fields_of(fields_of(result.get("error")).get("error")):
        return STATUSES.get(str(error.get("type")), 500), {"error": error}
    if isinstance(status := response.get("status_code"), int) and 200 <= status < 600:
        return status, response.get("body")
    return EXPIRED, {"error": line.get("error") or f"its line in the batch is {result.get('type')}"}
