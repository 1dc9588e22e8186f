"""The one layer of retries, for models and literature services: which requests are retried, when, and how often.

`Retry-After` is honoured as a number and as a date (RFC 9110, §10.2.3). Exceptions of clients are recognised by name,
so no client needs to be imported.
"""

import asyncio
import math
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Protocol, TypeVar

from tenacity import AsyncRetrying, RetryCallState, wait_random_exponential

from manyheads.base.errors import scrubbed

_LONGEST_PAUSE, _LONGEST_WAIT = 86_400.0, 1.0
_Place = tuple[asyncio.AbstractEventLoop, asyncio.Event]


@dataclass(frozen=True)
class Pace:
    """Rate limit of a server."""

    seconds: float = 0.0
    """Minimum seconds between the starts of two requests."""
    at_once: int | None = None
    """Maximum number of concurrent requests; None for no limit."""


class OverdueError(Exception):
    """The next slot is too late, `seconds` from now."""

    def __init__(self, seconds: float, *, paused: bool) -> None:
        self.seconds, self.paused = seconds, paused
        super().__init__(f"the next free moment is {seconds:.0f} s away")


class Gate(Protocol):
    """The rate limits of a whole cluster, of which this process is a part."""

    def turn(self, server: Hashable, pace: Pace, until: float) -> AbstractAsyncContextManager[None]:
        """As `Limiter.turn`."""
        ...

    def pause(self, server: Hashable, pace: Pace, seconds: float) -> None:
        """As `Limiter.pause`."""
        ...


GATE: ContextVar[Gate | None] = ContextVar("gate", default=None)
"""Of the current run, if the limits are not this process's own."""


class Limiter:
    """Rate limiter of one server, first come, first served. Times are seconds of `time.monotonic`.

    Args:
        server: names it for the `GATE`.
    """

    def __init__(self, pace: Pace, server: Hashable = "") -> None:
        self.pace, self.server = pace, server
        self._lock = threading.Lock()
        self._last_start = self._paused_until = -math.inf
        self._under_way = 0
        self._queue: list[_Place] = []

    @asynccontextmanager
    async def turn(self, until: float = math.inf) -> AsyncGenerator[None]:
        """Wait for a slot and hold it for the block; `OverdueError` as soon as none can come before `until`."""
        if gate := GATE.get():
            async with gate.turn(self.server, self.pace, until):
                yield
            return
        place = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._queue.append(place)
        started = False
        try:
            while seconds := self._seconds_before_start(place, until):
                with suppress(TimeoutError):  # then the next look
                    await asyncio.wait_for(place[1].wait(), seconds)
                place[1].clear()
            started = True
            yield
        finally:
            self._leave(place, started)

    def pause(self, seconds: float) -> None:
        """Let nobody start for this many seconds, at most a day; a longer pause stays."""
        if gate := GATE.get():
            gate.pause(self.server, self.pace, seconds)
            return
        with self._lock:
            until = time.monotonic() + min(seconds, _LONGEST_PAUSE)
            self._paused_until = max(self._paused_until, until)

    def _seconds_before_start(self, place: _Place, until: float) -> float:
        """Seconds until the next look; 0 if the slot is taken."""
        with self._lock:
            self._queue = [each for each in self._queue if not each[0].is_closed()]
            now, ahead = time.monotonic(), self._queue.index(place)
            first = max(now, self._paused_until, self._last_start + self.pace.seconds)
            due = first + ahead * self.pace.seconds
            full = self.pace.at_once is not None and self._under_way >= self.pace.at_once
            if due > until or (full and now >= until):
                raise OverdueError(due - now, paused=self._paused_until > now)
            if ahead or full:
                return min(_LONGEST_WAIT, max(until - now, 0.001))  # `_leave` wakes the first
            if due > now:
                return due - now
            del self._queue[0]
            self._under_way, self._last_start = self._under_way + 1, now
            self._wake()
            return 0.0

    def _leave(self, place: _Place, started: bool) -> None:
        with self._lock:
            if started:
                self._under_way -= 1
            elif place in self._queue:
                self._queue.remove(place)
            self._wake()

    def _wake(self) -> None:
        """Let the first in the queue look again; it may live in another thread."""
        for loop, ready in self._queue[:1]:
            with suppress(RuntimeError):  # its loop is closed
                loop.call_soon_threadsafe(ready.set)


_limiters: dict[tuple[Hashable, Pace], Limiter] = {}


def limiter(server: Hashable, pace: Pace) -> Limiter:
    """The process's limiter of a server, created on first use.

    Services queue requests with and without a key separately, hence one limiter per pace.
    """
    return _limiters.setdefault((server, pace), Limiter(pace, server))


T = TypeVar("T")

_PASSING = frozenset({408, 409, 425, 429})
"""Statuses below 500 that may be temporary."""
_GARBLED = frozenset({"JSONDecodeError", "ChunkedEncodingError", "ContentDecodingError", "DecodingError"})
_HOPELESS = frozenset({"UnsupportedProtocol", "LocalProtocolError", "InvalidURL", "InvalidSchema"})
_UNREACHABLE = frozenset((
    "APIConnectionError", "ConnectionError", "TimeoutError", "Timeout", "TransportError", "RequestError", "RequestException",
))  # fmt: skip
_UNSENT = _HOPELESS | {"ConnectError", "ConnectTimeout", "PoolTimeout", "ConnectionRefusedError"}


class RefusedError(Exception):
    """An HTTP error: the seconds of its Retry-After, and the server's message, untrusted."""

    def __init__(self, status: int, retry_after: float | None = None, text: str = "") -> None:
        self.status, self.retry_after, self.text = status, retry_after, text
        phrase = ""
        with suppress(ValueError):
            phrase = HTTPStatus(status).phrase
        super().__init__(" ".join(filter(None, (str(status), phrase, text and f"({text})"))))


class SpentError(RefusedError):
    """The account's quota is used up: retrying does not help."""


class GarbledError(Exception):
    """A server's response cannot be read or does not match its documentation."""


class SlowError(Exception):
    """No response before the timeout."""


def seconds_of(header: str | None) -> float | None:
    """Seconds of a Retry-After header, a number or a date; None if it is neither."""
    if header is None:
        return None
    with suppress(ValueError):
        seconds = float(header)
        return None if math.isnan(seconds) else max(0.0, seconds)
    with suppress(ValueError):
        date = parsedate_to_datetime(header)
        aware = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, aware.timestamp() - time.time())
    return None


def retry_after(error: BaseException | None) -> float | None:
    """Seconds of the Retry-After in an exception's response."""
    if isinstance(error, RefusedError):
        return error.retry_after
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    return None if headers is None else seconds_of(headers.get("retry-after"))


def status_of(error: BaseException | None) -> int | None:
    """The HTTP status of an exception: ours, or one of a model provider's SDK."""
    if isinstance(error, RefusedError):
        return error.status
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status > 0 else None


def is_passing(status: int) -> bool:
    """Whether a status may be temporary."""
    return status in _PASSING or status >= 500


def is_garbled(error: BaseException) -> bool:
    """Whether a response came but cannot be read."""
    return isinstance(error, GarbledError) or bool(_names(error) & _GARBLED)


def is_unreachable(error: BaseException) -> bool:
    """Whether no response came: connection refused or dropped, or timeout."""
    return bool(_names(error) & (_UNREACHABLE | _HOPELESS)) and not is_garbled(error)


def is_unsent(error: BaseException | None) -> bool:
    """Whether no server was reached, so that nothing was sent; SDKs wrap the HTTP client's exception."""
    before = list[BaseException]()
    while error is not None and error not in before:
        before.append(error)
        error = error.__cause__ or error.__context__
    return any(_names(each) & _UNSENT for each in before)


def is_failure(error: BaseException) -> bool:
    """Whether an exception comes from the server or the network, not from a bug in the program."""
    ours = isinstance(error, OverdueError | SlowError)
    return ours or status_of(error) is not None or is_garbled(error) or is_unreachable(error)


def in_short(error: BaseException | None, most: int = 200) -> str:
    """An exception's text on one line of at most `most` characters; its type if it has no text."""
    text = scrubbed(" ".join(str(error).split())) or type(error).__name__
    return text if len(text) <= most else text[:most] + " …"


def _names(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


@dataclass
class Retry:
    """One request with its retries. A request that waits to be retried holds no slot.

    Args:
        limiter: the rate limiter of the server.
        retries: maximum number of retries.
        backoff: maximum seconds of the first wait between two tries. It doubles with each try and is randomised.
        longest: maximum seconds of any wait.
        until: the deadline, in seconds of `time.monotonic`.
        longest_asked: a server that asks for a longer wait is not retried.
        together: whether a rate-limit response pauses all users of the limiter.
        repair: changes the request after a failure, if it can; a repaired request is sent at once, as if new.
        patient: failures after which even a repaired request waits like a retry.
        before_wait: called with each failure but the last, and whether the request was repaired.
    """

    limiter: Limiter
    retries: int
    backoff: float
    longest: float
    until: float = math.inf
    longest_asked: float = math.inf
    together: bool = True
    repair: Callable[[BaseException], bool] | None = None
    patient: Callable[[BaseException], bool] | None = None
    before_wait: Callable[[BaseException, bool], None] | None = None
    tries: int = field(default=0, init=False)
    failure: Exception | None = field(default=None, init=False)
    """The last try's exception: the error if time runs out during the next wait."""
    _repaired: bool = field(default=False, init=False)
    _at_once: bool = field(default=False, init=False)
    _free: int = field(default=0, init=False)

    async def send(self, request: Callable[[], Awaitable[T]]) -> T:
        """The response, or the exception of the last try. Also raises `OverdueError` and `SlowError`."""
        return await _RETRYING(Retry._once, self, request)

    async def _once(self, request: Callable[[], Awaitable[T]]) -> T:
        async with self.limiter.turn(self.until):
            self.tries += 1
            limit = asyncio.timeout(None if math.isinf(self.until) else self.until - time.monotonic())
            try:
                async with limit:
                    return await request()
            except TimeoutError as error:
                raise SlowError if limit.expired() else error from None
            except Exception as error:
                if self.together and (seconds := retry_after(error)) is not None:
                    self.limiter.pause(seconds)
                raise

    def _may_help(self, state: RetryCallState) -> bool:
        error = state.outcome and state.outcome.exception()
        if isinstance(error, OverdueError | SlowError | SpentError) or not isinstance(error, Exception):
            return False
        self.failure, self._repaired = error, self.repair is not None and self.repair(error)
        self._free += self._repaired
        self._at_once = self._repaired and not (self.patient and self.patient(error))
        if self._at_once:
            return True
        asked, status = retry_after(error), status_of(error)
        if asked is not None and asked > self.longest_asked:
            return False
        return is_passing(status) if status else is_failure(error) and not _names(error) & _HOPELESS

    def _pause(self, state: RetryCallState) -> float:
        """Seconds to sleep: the Retry-After, which the limiter may wait for, else a growing random time."""
        if self._at_once:
            return 0.0
        asked = retry_after(self.failure)
        if asked is not None:
            return 0.0 if self.together else asked
        seconds = wait_random_exponential(multiplier=self.backoff, max=self.longest)(state)
        if self.together and status_of(self.failure) == 429:
            self.limiter.pause(seconds)
        return seconds

    def _note(self, state: RetryCallState) -> None:
        if self.before_wait and self.failure:
            self.before_wait(self.failure, self._repaired)

    def _is_spent(self, state: RetryCallState) -> bool:
        late = state.upcoming_sleep > self.until - time.monotonic()
        return late or state.attempt_number > self.retries + self._free


def _of_its_retry(rule: Callable[[Retry, RetryCallState], T]) -> Callable[[RetryCallState], T]:
    return lambda state: rule(state.args[0], state)


# One for all: each refers to itself, so that one a request would keep its prompt until Python looks for garbage.
_RETRYING = AsyncRetrying(
    stop=_of_its_retry(Retry._is_spent), wait=_of_its_retry(Retry._pause), retry=_of_its_retry(Retry._may_help),
    before_sleep=_of_its_retry(Retry._note), reraise=True,
)  # fmt: skip
