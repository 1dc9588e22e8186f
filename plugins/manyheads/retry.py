"""The one layer of retries, for models and for literature services: what is sent again, when, and how often.

`Retry-After` is honoured as a number and as a date (RFC 9110, §10.2.3). Exceptions of clients are known by name, so that none
of the clients need be imported.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from manyheads.limiter import Limiter, OverdueError

T = TypeVar("T")

_PASSING = frozenset({408, 409, 425, 429})
"""Statuses below 500 that may be gone at the next try."""
_GARBLED = frozenset({"JSONDecodeError", "ChunkedEncodingError", "ContentDecodingError", "DecodingError"})
_HOPELESS = frozenset({"UnsupportedProtocol", "LocalProtocolError", "InvalidURL", "InvalidSchema"})
_UNREACHABLE = frozenset({"APIConnectionError", "ConnectionError", "TimeoutError", "Timeout"}) | {
    *("TransportError", "RequestError", "RequestException"),
}


class RefusedError(Exception):
    """A server answered with an error.

    Args:
        status: the HTTP status.
        retry_after: seconds that the Retry-After header asks for.
        text: what the server says, untrusted.
    """

    def __init__(self, status: int, retry_after: float | None = None, text: str = "") -> None:
        self.status, self.retry_after, self.text = status, retry_after, text
        phrase = ""
        with suppress(ValueError):
            phrase = HTTPStatus(status).phrase
        super().__init__(" ".join(filter(None, (str(status), phrase, text and f"({text})"))))


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
    text = " ".join(str(error).split()) or type(error).__name__
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
    before_wait: Callable[[BaseException, bool], None] | None = None
    tries: int = field(default=0, init=False)
    failure: Exception | None = field(default=None, init=False)
    """The last of a try: what to tell when time runs out while waiting for another."""
    _mended: bool = field(default=False, init=False)
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
        if isinstance(error, OverdueError | SlowError) or not isinstance(error, Exception):
            return False
        self.failure, self._mended = error, self.mend is not None and self.mend(error)
        if self._mended:
            self._free += 1
            return True
        asked, status = retry_after(error), status_of(error)
        if asked is not None and asked > self.longest_asked:
            return False
        return is_passing(status) if status else is_failure(error) and not _names(error) & _HOPELESS

    def _pause(self, state: RetryCallState) -> float:
        """Seconds to sleep: what Retry-After says, which the limiter may wait for, else a growing, random time."""
        if self._mended:
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
