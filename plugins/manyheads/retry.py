"""The one layer of retries, for models and for literature services: what is sent again, when, and how often.

`Retry-After` is honoured as a number and as a date (RFC 9110, §10.2.3). Exceptions of clients are known by name, so that none
of the clients need be imported.
"""

import asyncio
import heapq
import math
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from manyheads.escaping import scrubbed

_LONGEST_PAUSE = 86_400.0
_Place = tuple[asyncio.AbstractEventLoop, asyncio.Event]


@dataclass(frozen=True)
class Pace:
    """How fast a server may be asked."""

    seconds: float = 0.0
    """The least time between the starts of two requests."""
    at_once: int | None = None
    """How many requests may be under way; None for any number."""


class OverdueError(Exception):
    """A turn would come too late; `seconds` from now."""

    def __init__(self, seconds: float, *, paused: bool) -> None:
        self.seconds, self.paused = seconds, paused
        super().__init__(f"the next free moment is {seconds:.0f} s away")


class Limiter:
    """Turns at one server. Times are seconds of `time.monotonic`."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._lock = threading.Lock()
        self._next = self._last_start = self._paused_until = -math.inf
        self._stood_still = 0.0
        self._returned: list[float] = []
        self._under_way = 0
        self._waiting: deque[_Place] = deque()

    @asynccontextmanager
    async def turn(self, until: float = math.inf) -> AsyncGenerator[None]:
        """Wait for a turn, and have it as long as the block lasts.

        Raises `OverdueError` as soon as it is known that no turn comes before `until`.
        """
        slot = self._reserve(until)
        place = (asyncio.get_running_loop(), asyncio.Event())
        started = False
        try:
            await self._take(place, until)
            # no event to wait for: those who know more may live in other threads and loops
            while (seconds := self._seconds_before_start(slot, until)) > 0:  # noqa: ASYNC110
                await asyncio.sleep(seconds)
            started = True
            yield
        finally:
            self._leave(slot, place, started)

    def pause(self, seconds: float) -> None:
        """Let nobody start for so long, at most a day; a pause that lasts longer already stays as it is."""
        with self._lock:
            now = time.monotonic()
            until = now + min(seconds, _LONGEST_PAUSE)
            longer = until - max(now, self._paused_until)
            if longer > 0:
                self._stood_still += longer
                self._paused_until = until

    def _reserve(self, until: float) -> float:
        """The first free slot."""
        with self._lock:
            now = time.monotonic()
            here = max(now, self._paused_until) - self._stood_still
            while self._returned and self._returned[0] < here:
                heapq.heappop(self._returned)
            slot = self._returned[0] if self._returned else max(here, self._next)
            self._check_in_time(slot + self._stood_still - now, now, until)
            if self._returned:
                return heapq.heappop(self._returned)
            self._next = slot + self.pace.seconds
            return slot

    async def _take(self, place: _Place, until: float) -> None:
        """Wait for a place among those under way; they are given in the order in which they were asked for."""
        with self._lock:
            if self.pace.at_once is None or self._under_way < self.pace.at_once:
                self._under_way += 1
                return
            self._waiting.append(place)
        try:
            async with asyncio.timeout(None if math.isinf(until) else until - time.monotonic()):
                await place[1].wait()
        except TimeoutError:
            raise OverdueError(0.0, paused=False) from None

    def _seconds_before_start(self, slot: float, until: float) -> float:
        """How long to wait before looking again; 0 when the turn is taken."""
        with self._lock:
            now = time.monotonic()
            due = max(slot + self._stood_still, self._last_start + self.pace.seconds)
            if due > now:
                self._check_in_time(due - now, now, until)
                return due - now
            self._last_start = now
            return 0.0

    def _check_in_time(self, seconds: float, now: float, until: float) -> None:
        if now + seconds > until:
            raise OverdueError(seconds, paused=self._paused_until > now)

    def _leave(self, slot: float, place: _Place, started: bool) -> None:
        """Give the slot back if it was not used, and the place to the first who waits for one."""
        with self._lock:
            if not started:
                heapq.heappush(self._returned, slot)
            if place in self._waiting:
                self._waiting.remove(place)
                return
            while self._waiting:
                loop, ready = self._waiting.popleft()
                if not loop.is_closed():
                    loop.call_soon_threadsafe(ready.set)
                    return
            self._under_way -= 1


_limiters: dict[tuple[Hashable, Pace], Limiter] = {}


def limiter(server: Hashable, pace: Pace) -> Limiter:
    """The process' limiter of a server, made at first use.

    Those with a key and those without stand in different queues of a service, hence a limiter for each pace.
    """
    return _limiters.setdefault((server, pace), Limiter(pace))


T = TypeVar("T")

_PASSING = frozenset({408, 409, 425, 429})
"""Statuses below 500 that may be gone at the next try."""
_GARBLED = frozenset({"JSONDecodeError", "ChunkedEncodingError", "ContentDecodingError", "DecodingError"})
_HOPELESS = frozenset({"UnsupportedProtocol", "LocalProtocolError", "InvalidURL", "InvalidSchema"})
_UNREACHABLE = frozenset({"APIConnectionError", "ConnectionError", "TimeoutError", "Timeout"}) | {
    *("TransportError", "RequestError", "RequestException"),
}


class RefusedError(Exception):
    """A server answered with an error: seconds that its Retry-After asks for, and what it says, untrusted."""

    def __init__(self, status: int, retry_after: float | None = None, text: str = "") -> None:
        self.status, self.retry_after, self.text = status, retry_after, text
        phrase = ""
        with suppress(ValueError):
            phrase = HTTPStatus(status).phrase
        super().__init__(" ".join(filter(None, (str(status), phrase, text and f"({text})"))))


class SpentError(RefusedError):
    """A server refuses because the account has nothing left: no wait mends that."""


class GarbledError(Exception):
    """A server's answer cannot be read, or is not of the documented shape."""


class SlowError(Exception):
    """No answer came before the time was up."""


def seconds_of(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for: a number, or a date; None if it is neither."""
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
    """Seconds that the server asked to wait, from the exception that holds its answer."""
    if isinstance(error, RefusedError):
        return error.retry_after
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    return None if headers is None else seconds_of(headers.get("retry-after"))


def status_of(error: BaseException | None) -> int | None:
    """The HTTP status that an exception carries: ours, or one of the model providers' SDKs."""
    if isinstance(error, RefusedError):
        return error.status
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status > 0 else None


def is_passing(status: int) -> bool:
    """Whether a status may be gone at the next try."""
    return status in _PASSING or status >= 500


def is_garbled(error: BaseException) -> bool:
    """Whether an answer came that cannot be read."""
    return isinstance(error, GarbledError) or bool(_names(error) & _GARBLED)


def is_unreachable(error: BaseException) -> bool:
    """Whether no answer came: the connection was refused or dropped, or took too long."""
    return bool(_names(error) & (_UNREACHABLE | _HOPELESS)) and not is_garbled(error)


def is_failure(error: BaseException) -> bool:
    """Whether an exception tells of the server or the way to it, and not of a fault in the program."""
    ours = isinstance(error, OverdueError | SlowError)
    return ours or status_of(error) is not None or is_garbled(error) or is_unreachable(error)


def in_short(error: BaseException | None, most: int = 200) -> str:
    """An exception's text on one line of at most `most` characters; its type where it has none."""
    text = scrubbed(" ".join(str(error).split())) or type(error).__name__
    return text if len(text) <= most else text[:most] + " …"


def _names(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


@dataclass
class Retry:
    """One request, sent again where that can help. Waiting for another try takes no turn from anybody.

    Args:
        limiter: whose turns are waited for.
        retries: how often it is sent again.
        backoff: most seconds of the first wait between two tries; it doubles with each try, and is random.
        longest: most seconds of any such wait.
        until: when it is given up, in seconds of `time.monotonic`.
        longest_asked: a server that asks for a longer wait is not asked again.
        together: whether all who use the limiter wait when the server says that it is asked too often.
        mend: changes the request after a failure, if it can; a mended request is sent at once, as if for the first time.
        patient: after which failures even a mended request waits, as one that is sent again unchanged.
        before_wait: called with each failure that is not the last, and whether the request was mended.
    """

    limiter: Limiter
    retries: int
    backoff: float
    longest: float
    until: float = math.inf
    longest_asked: float = math.inf
    together: bool = True
    mend: Callable[[BaseException], bool] | None = None
    patient: Callable[[BaseException], bool] | None = None
    before_wait: Callable[[BaseException, bool], None] | None = None
    tries: int = field(default=0, init=False)
    failure: Exception | None = field(default=None, init=False)
    """The last of a try: what to tell when time runs out while waiting for another."""
    _mended: bool = field(default=False, init=False)
    _at_once: bool = field(default=False, init=False)
    _free: int = field(default=0, init=False)

    async def send(self, request: Callable[[], Awaitable[T]]) -> T:
        """The answer to a request, or the exception of its last try. Raises `OverdueError` and `SlowError` too."""
        retrying = AsyncRetrying(
            stop=self._is_spent,
            wait=self._pause,
            retry=retry_if_exception(self._may_help),
            before_sleep=self._note,
            reraise=True,
        )
        return await retrying(self._once, request)

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

    def _may_help(self, error: BaseException) -> bool:
        if isinstance(error, OverdueError | SlowError | SpentError) or not isinstance(error, Exception):
            return False
        self.failure, self._mended = error, self.mend is not None and self.mend(error)
        self._free += self._mended
        self._at_once = self._mended and not (self.patient and self.patient(error))
        if self._at_once:
            return True
        asked, status = retry_after(error), status_of(error)
        if asked is not None and asked > self.longest_asked:
            return False
        return is_passing(status) if status else is_failure(error) and not _names(error) & _HOPELESS

    def _pause(self, state: RetryCallState) -> float:
        """Seconds to sleep: what Retry-After says, which the limiter may wait for, else a growing, random time."""
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
            self.before_wait(self.failure, self._mended)

    def _is_spent(self, state: RetryCallState) -> bool:
        late = state.upcoming_sleep > self.until - time.monotonic()
        return late or state.attempt_number > self.retries + self._free
