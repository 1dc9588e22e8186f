"""What all online sources share: the pace, the one layer of retries, the patience, and failures in words."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from http import HTTPStatus
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from manyheads.config import SourceName
from manyheads.errors import LiteratureError
from manyheads.http import PASSING, in_short
from manyheads.literature.limits import Limiter, OverdueError, Pace, limiter

T = TypeVar("T")

_UNREADABLE = frozenset({"JSONDecodeError", "ChunkedEncodingError", "ContentDecodingError", "DecodingError"})
_UNREACHABLE = frozenset({"TransportError", "ConnectionError", "Timeout", "TimeoutError"})
_HOPELESS = frozenset({"UnsupportedProtocol", "LocalProtocolError", "InvalidURL", "InvalidSchema"})
_OF_CLIENTS = frozenset({"RequestError", "RequestException"}) | _UNREADABLE | _UNREACHABLE | _HOPELESS
"""Exceptions of httpx, requests and the standard library by name, so that no client need be imported."""
_LONGEST_BACKOFF = 20.0


class RefusedError(Exception):
    """A service answered with an error; raised by transports, who alone see the answer.

    Args:
        status: the HTTP status.
        retry_after: seconds that the Retry-After header asks for, by `manyheads.http.asked_to_wait`.
        text: what the service says, untrusted.
    """

    def __init__(self, status: int, retry_after: float | None = None, text: str = "") -> None:
        self.status, self.retry_after, self.text = status, retry_after, text
        super().__init__(" ".join(filter(None, (str(status), _reason(status), text and f"({text})"))))


class GarbledError(Exception):
    """A service's answer cannot be read, or is not of the documented shape; raised by transports."""


class SlowError(Exception):
    """No answer came before the patience was spent."""


@dataclass(frozen=True)
class Service:
    """Sends requests to one service; all that have its name, address and pace share one limiter.

    Args:
        name: of the source.
        pace: how fast it may be asked.
        retries: how often a failed request is sent again.
        patience: seconds for one look-up, waits for the limiter and retries counted.
        address: of the service if it is not the usual one; it has a limiter of its own.
        key_env: environment variable for the key, of services that give keys.
        has_key: whether requests carry the key that it holds.
        backoff: most seconds of the first wait between two tries; it doubles with each try, and is random.
    """

    name: SourceName
    pace: Pace
    _: KW_ONLY
    retries: int
    patience: float
    address: str = ""
    key_env: str | None = None
    has_key: bool = False
    backoff: float = 1.0

    def deadline(self) -> float:
        """When a look-up that begins now is given up, in seconds of `time.monotonic`."""
        return time.monotonic() + self.patience

    async def call(self, send: Callable[[], Awaitable[T]], what: str, *, until: float | None = None) -> T:
        """Send one request at the service's pace, again where that can help.

        Args:
            send: sends it; raises `RefusedError` and `GarbledError` for bad answers, and lets the exceptions of httpx
                and requests through. It is cancelled when time is up: a thread of its own then runs on unheeded.
            what: what is looked up, for messages.
            until: the `deadline()` of a look-up of several requests; the patience begins anew if not given.

        Raises:
            LiteratureError: the service refuses, cannot be reached, answers nonsense, or takes too long.
        """
        tries = _Tries(self, self.deadline() if until is None else until)
        retrying = AsyncRetrying(
            stop=tries.are_spent,
            wait=tries.pause,
            retry=retry_if_exception(tries.worth_another),
            reraise=True,
        )
        try:
            return await retrying(tries.send, send)
        except Exception as error:  # the clients have trees of their own; what is not theirs is raised again
            if not _is_failure(error):
                raise
            raise self._in_words(error, tries, what) from error

    @property
    def limiter(self) -> Limiter:
        """The queue that is shared with all others who ask this service."""
        return limiter(self.name, self.address, self.pace)

    def _in_words(self, error: Exception, tries: "_Tries", what: str) -> LiteratureError:
        count = {0: "not asked", 1: "once"}.get(tries.count, f"{tries.count} times")
        message = f"{self.name}: {what}: {self._said(error, tries.failed)}"
        return LiteratureError(message, source=self.name, tried=count, hint=self._hint(tries.failed or error))

    def _said(self, error: Exception, before: Exception | None) -> str:
        match error:
            case OverdueError() | SlowError() if before:
                return f"{self._said(before, None)}; no time is left for another try (literature.patience)"
            case OverdueError(paused=True):
                return f"the service wants to be left alone, {error.seconds:.0f} s from now on"
            case OverdueError():
                return f"too many ask it already, a turn would come in {error.seconds:.0f} s"
            case SlowError():
                return f"no answer within {self.patience:g} s (literature.patience)"
            case RefusedError(status=401 | 403) if self.has_key:
                return f"the key in {self.key_env} is refused: {in_short(error)}"
            case RefusedError():
                return in_short(error)
            case _ if _is_unreadable(error):
                return f"the answer cannot be read: {in_short(error)}"
            case _:
                return f"cannot be reached: {in_short(error)}"

    def _hint(self, error: Exception) -> str:
        address = f"literature.endpoints.{self.name}"
        match error:
            case RefusedError(status=401 | 403) if self.has_key:
                return f"mend the key in {self.key_env}, or unset it"
            case RefusedError(status=401 | 403 | 429) | OverdueError() if self.key_env and not self.has_key:
                return f"get a key of the service and export {self.key_env}=…, or ask again later"
            case RefusedError(status=429) | OverdueError() | SlowError():
                return "ask again later, or raise literature.patience"
            case RefusedError(status=status) if not _is_passing(status):
                return f"mend what is asked for, or {address} if it is set"
            case RefusedError():
                return "ask again later, or take the source out of literature.cascade"
            case _:
                return f"check the network, and {address} if it is set"


@dataclass
class _Tries:
    """The tries at one request."""

    service: Service
    until: float
    count: int = 0
    failed: Exception | None = None
    """The last answer or break: what to tell when time runs out while waiting for another try."""

    async def send(self, send: Callable[[], Awaitable[T]]) -> T:
        async with self.service.limiter.turn(self.until):
            self.count += 1
            limit = asyncio.timeout(self._left)
            try:
                async with limit:
                    return await send()
            except TimeoutError as error:
                raise SlowError if limit.expired() else error from None
            except RefusedError as refused:
                if refused.retry_after is not None:
                    self.service.limiter.pause(refused.retry_after)
                raise

    def worth_another(self, error: BaseException) -> bool:
        """Notes the failure, and says whether trying again may help."""
        if isinstance(error, OverdueError | SlowError) or not isinstance(error, Exception):
            return False
        self.failed = error
        if isinstance(error, RefusedError):
            return _is_passing(error.status)
        return _is_failure(error) and not _names(error) & _HOPELESS

    def pause(self, state: RetryCallState) -> float:
        """Seconds to sleep: none after Retry-After, which the limiter waits for, else a growing, random time."""
        if isinstance(self.failed, RefusedError) and self.failed.retry_after is not None:
            return 0.0
        seconds = wait_random_exponential(multiplier=self.service.backoff, max=_LONGEST_BACKOFF)(state)
        if isinstance(self.failed, RefusedError) and self.failed.status == 429:
            self.service.limiter.pause(seconds)
        return seconds

    def are_spent(self, state: RetryCallState) -> bool:
        return state.attempt_number > self.service.retries or state.upcoming_sleep > self._left

    @property
    def _left(self) -> float:
        return self.until - time.monotonic()


def _reason(status: int) -> str:
    with suppress(ValueError):
        return HTTPStatus(status).phrase
    return ""


def _is_passing(status: int) -> bool:
    return status in PASSING or status >= 500


def _names(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _is_unreadable(error: BaseException) -> bool:
    return isinstance(error, GarbledError) or bool(_names(error) & _UNREADABLE)


def _is_failure(error: BaseException) -> bool:
    """Whether an exception tells of the service or the way to it, and not of a fault in the program."""
    return isinstance(error, RefusedError | GarbledError | OverdueError | SlowError) or bool(
        _names(error) & _OF_CLIENTS
    )
