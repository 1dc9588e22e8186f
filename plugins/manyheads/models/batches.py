"""Requests in batches, which OpenAI and Anthropic answer within a day, at half price.

To a host's client this is a transport like any other: requests that wait at the same time become one batch, and each gets the answer
of its line. The user's cache records what was sent, so that a command that was killed fetches it when it starts again.
"""

import asyncio
import json
import logging
import re
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from manyheads.base.files import FileLock, LockedError, cache_folder, make_folder, read_text, replace_text
from manyheads.base.http import GarbledError, Limiter, Pace, RefusedError, Retry
from manyheads.base.text import hash_of
from manyheads.models.answers import Object, SoundTransport, fields_of, json_of

QUIET = 2.0
"""Seconds without a new request after which those that wait are sent."""
POLL, LONGEST_POLL, PATIENCE = 5.0, 60.0, 30
"""Seconds between two looks at a batch, which grow; retries of a look that fails."""
TELL = 600.0
"""Seconds between two lines about a batch that waits."""
MOST_LINES, MOST_BYTES, MOST_RESULTS = 10_000, 100_000_000, 500_000_000
"""Of one batch; the providers take more."""
EXPIRED = 408
"""Status of a request that its batch did not answer: it is asked again, in another batch."""
STATUSES = {"invalid_request_error": 400, "not_found_error": 404, "request_too_large": 413}
"""Of Anthropic's errors, whose lines have no status; the others pass, as 500."""
_OWN = ("host", "content-length", "content-type", "accept-encoding", "connection", "idempotency-key")
log = logging.getLogger("manyheads")
Answer: TypeAlias = tuple[int, Any]
"""A status, and the JSON of the body."""


class BatchLine(NamedTuple):
    """A request that waits; the digest is of what is asked, where, and with which key."""

    digest: str
    body: Object
    answer: asyncio.Future[Answer]


@dataclass
class Batch:
    """A batch at the provider, recorded in a file that this process has locked.

    Attributes:
        sent: in seconds of `time.time`.
        ids: of its lines without an answer yet; each begins with the digest of its request.
        waiting: requests by the id of their line.
    """

    id: str
    path: Path
    sent: float
    ids: set[str]
    lock: FileLock
    waiting: dict[str, asyncio.Future[Answer]] = field(default_factory=dict[str, asyncio.Future[Answer]])
    busy: bool = False

    @property
    def awaited(self) -> dict[str, asyncio.Future[Answer]]:
        """The requests that still wait."""
        return {name: one for name, one in self.waiting.items() if not one.done()}

    def claim(self, line: BatchLine) -> bool:
        """Let a request wait for a line that asks the same, if one is free."""
        free = sorted(each for each in self.ids - self.awaited.keys() if each.startswith(line.digest))
        self.waiting |= dict.fromkeys(free[:1], line.answer)
        return bool(free)

    def keep(self) -> None:
        """Record the lines without an answer; no file is left if there is none."""
        if self.ids:
            record = {"id": self.id, "sent": self.sent, "ids": sorted(self.ids)}
            replace_text(self.path, json.dumps(record))
        else:
            self.path.unlink(missing_ok=True)
            self.lock.path.unlink(missing_ok=True)

    def deliver(self, answers: Mapping[str, Answer]) -> None:
        """Give each request its answer, once: a second question of the same words must get an answer of its own."""
        for name, one in self.awaited.items():
            one.set_result(answers.get(name, (EXPIRED, {"error": "its batch has no line for it"})))
            self.ids.discard(name)
        self.waiting = {}
        self.keep()


class BatchTransport(SoundTransport):
    """Sends requests in batches, and waits for their answers as long as it takes; arguments as of `SoundTransport`."""

    def __init__(self, client: Any, provider: str) -> None:
        super().__init__(client, provider)
        self._openai = provider == "openai"
        self._place = "../batches" if self._openai else "messages/batches"
        self._queue, self._batches = list[BatchLine](), list[Batch]()
        self._earlier: dict[Path, str] | None = None
        self._tasks = set[asyncio.Task[None]]()
        self._timer: asyncio.TimerHandle | None = None
        self._like: Any = None  # a single request, whose address and key the others have
        self._kind: Any = None  # the client's class of responses

    async def aclose(self) -> None:
        """Wait no longer; what was sent stays recorded."""
        if self._timer:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for batch in self._batches:
            batch.lock.release()
        await super().aclose()

    async def response(self, request: Any) -> Any:
        """The answer of the request's line in a batch."""
        self._like, body = request, json.loads(await request.aread())
        keys = [request.headers.get(name) for name in ("authorization", "x-api-key")]
        digest = hash_of(json.dumps([str(request.url), keys, body], sort_keys=True))[:40]
        body.pop("stream", None)
        line = BatchLine(digest, body, asyncio.get_running_loop().create_future())
        if not self._is_earlier(line):
            self._queue.append(line)
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(QUIET, self._flush)
        status, told = await line.answer
        return self._kind(status, json=told, request=request)

    def _is_earlier(self, line: BatchLine) -> bool:
        """Whether a batch of a process that has ended has this request."""
        if self._earlier is None:
            self._earlier = {path: read_text(path) for path in (cache_folder() / "batches").glob("*.json")}
        for path in [path for path, text in self._earlier.items() if line.digest in text]:
            del self._earlier[path]
            with suppress(OSError, ValueError, LockedError):
                lock = FileLock(path.with_suffix(".lock"), mode="r+")
                record = json.loads(read_text(path))
                self._batches.append(Batch(record["id"], path, record["sent"], {*record["ids"]}, lock))
        return any(batch.claim(line) for batch in self._batches)

    def _flush(self) -> None:
        """Send what waits, and look at the batches with claimed lines."""
        queue, self._queue = [line for line in self._queue if not line.answer.done()], []
        sizes = accumulate(max(len(json.dumps(line.body)), MOST_BYTES // MOST_LINES) for line in queue)
        parts = groupby(zip(sizes, queue, strict=True), lambda pair: pair[0] // MOST_BYTES)
        for lines in [[line for _, line in part] for _, part in parts]:
            self._start(self._send(lines), [line.answer for line in lines])
        for batch in self._batches:
            if batch.awaited and not batch.busy:
                self._start(self._fetch(batch), batch.waiting.values())

    def _start(self, work: Coroutine[Any, Any, None], waiting: Iterable[asyncio.Future[Answer]]) -> None:
        """Work beside the requests; they get its error."""

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            error = None if task.cancelled() else task.exception()
            for one in waiting:
                if error and not one.done():
                    one.set_exception(error)

        self._tasks.add(task := asyncio.create_task(work))
        task.add_done_callback(ended)

    async def _send(self, lines: Sequence[BatchLine]) -> None:
        named = {f"{line.digest}-{number}": line for number, line in enumerate(lines)}
        try:
            batch = await self._create({name: line.body for name, line in named.items()})
        except RefusedError as error:
            if error.status in (404, 405, 501):
                raise RefusedError(405, text="the server takes no batches: leave out --batch") from error
            raise
        make_folder(folder := cache_folder() / "batches")
        path = folder / f"{hash_of(str(self._like.url))[:8]}-{batch}.json"
        lock = FileLock(path.with_suffix(".lock"))
        waiting = {name: line.answer for name, line in named.items()}
        self._batches.append(sent := Batch(batch, path, time.time(), {*named}, lock, waiting))
        sent.keep()
        await self._fetch(sent)

    async def _fetch(self, batch: Batch) -> None:
        """Wait until a batch has ended, and give its requests their answers."""
        batch.busy, answers = True, dict[str, Answer]()
        try:
            told = await self._ended(batch)
            if told.get("status") == "failed":  # as a whole: no line was asked
                answers |= {name: (424, {"error": json.dumps(told.get("errors"))}) for name in batch.waiting}
            for place in self._results(batch.id, told):
                for text in (await self._call("GET", place, most=MOST_RESULTS)).splitlines():
                    with suppress(GarbledError):
                        line = fields_of(json_of(text))
                        answers[str(line.get("custom_id"))] = _answer_in(line)
        except RefusedError as error:
            if error.status not in (404, 410):  # else the provider has it no longer
                raise
        finally:
            batch.busy = False
        batch.deliver(answers)

    async def _ended(self, batch: Batch) -> Object:
        """What the provider says of a batch that has ended."""
        pause, due, since = POLL, 0.0, time.strftime("%d %b %H:%M", time.localtime(batch.sent))
        while True:
            told = fields_of(json_of(await self._call("GET", f"{self._place}/{batch.id}")))
            status = told.get("status", told.get("processing_status"))
            if status in ("completed", "failed", "expired", "cancelled", "ended"):
                return told
            if time.monotonic() >= due:
                due, counts = time.monotonic() + TELL, json.dumps(told.get("request_counts"))[:200]
                log.warning("batch %s: waits since %s: %s", batch.id, since, counts.strip("{}"))
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, LONGEST_POLL)

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

    def _results(self, batch: str, told: Object) -> list[str]:
        """The places of an ended batch's lines."""
        files = [_id(told, key) for key in ("output_file_id", "error_file_id") if told.get(key)]
        return (
            [f"../files/{each}/content" for each in files]
            if self._openai
            else [f"{self._place}/{batch}/results"]
        )

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
