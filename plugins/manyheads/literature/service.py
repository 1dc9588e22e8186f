"""What all online sources share: the pace, the one layer of retries, the patience, and failures in words."""

import asyncio
import heapq
import math
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from manyheads import __version__
from manyheads.config import SourceName
from manyheads.errors import LiteratureError
from manyheads.http import PASSING, asked_to_wait, in_short

if TYPE_CHECKING:
    import ssl

    import httpx


# One limiter a service for the whole process: requests start at least so far apart, whatever threads and loops send them.
#
# Slots are handed out under a lock on the monotonic clock and waited for with `asyncio.sleep`, so that no loop
# ever waits for another's. A slot that is given back (its task was cancelled) goes to the next who asks.


_LONGEST_PAUSE = 86_400.0
_LOOK_AGAIN = 0.05
"""Seconds between two looks at a service that takes one request at a time."""


@dataclass(frozen=True)
class Pace:
    """How fast a service may be asked.

    Args:
        seconds: the least time between the starts of two requests.
        alone: whether the next request waits for the end of the one before.
    """

    seconds: float
    alone: bool = False


WITH_KEY = Pace(1.0)
"""Semantic Scholar grants a key one request a second, over all its endpoints together."""
SHARED_POOL = Pace(3.0)
"""Without a key everybody shares one pool; a hundred requests in five minutes was each address' share of it."""
OPENALEX = Pace(0.1)
"""Ten requests a second, OpenAlex' limit for one caller."""
ARXIV = Pace(3.0, alone=True)
"""arXiv's terms of use: one request every three seconds, over a single connection."""


class OverdueError(Exception):
    """A turn would come too late; `seconds` from now."""

    def __init__(self, seconds: float, *, paused: bool) -> None:
        self.seconds, self.paused = seconds, paused
        super().__init__(f"the next free moment is {seconds:.0f} s away")


class Limiter:
    """Turns at one service. Times are seconds of `time.monotonic`.

    Slots lie on a clock that stands still during pauses: a slot is due at `slot + _stood_still`. So a pause moves all
    who wait, and they keep their order and their distance.
    """

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._lock = threading.Lock()
        self._next = self._started_last = self._paused_until = -math.inf
        self._stood_still = 0.0
        self._given_back: list[float] = []
        self._busy = False

    @asynccontextmanager
    async def turn(self, until: float) -> AsyncGenerator[None]:
        """Wait for a turn, and have it as long as the block lasts.

        Args:
            until: the moment after which a turn is of no use.

        Raises:
            OverdueError: no turn comes before `until`; raised as soon as that is known.
        """
        slot = self._reserve(until)
        started = False
        try:
            # no event to wait for: those who know more may live in other threads and loops
            while (seconds := self._seconds_before_start(slot, until)) > 0:  # noqa: ASYNC110
                await asyncio.sleep(seconds)
            started = True
            yield
        finally:
            self._leave(slot, started)

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
            while self._given_back and self._given_back[0] < here:
                heapq.heappop(self._given_back)
            slot = self._given_back[0] if self._given_back else max(here, self._next)
            self._check_in_time(slot + self._stood_still - now, now, until)
            if self._given_back:
                return heapq.heappop(self._given_back)
            self._next = slot + self.pace.seconds
            return slot

    def _seconds_before_start(self, slot: float, until: float) -> float:
        """How long to wait before looking again; 0 when the turn is taken."""
        with self._lock:
            now = time.monotonic()
            due = max(slot + self._stood_still, self._started_last + self.pace.seconds)
            if due > now:
                self._check_in_time(due - now, now, until)
                return due - now
            if self.pace.alone and self._busy:
                self._check_in_time(_LOOK_AGAIN, now, until)
                return _LOOK_AGAIN
            self._busy, self._started_last = True, now
            return 0.0

    def _check_in_time(self, seconds: float, now: float, until: float) -> None:
        if now + seconds > until:
            raise OverdueError(seconds, paused=self._paused_until > now)

    def _leave(self, slot: float, started: bool) -> None:
        with self._lock:
            if started:
                self._busy = False
            else:
                heapq.heappush(self._given_back, slot)


_limiters: dict[tuple[SourceName, str, Pace], Limiter] = {}


def limiter(source: SourceName, address: str, pace: Pace) -> Limiter:
    """The process' limiter of a service at an address, made at first use.

    Those with a key and those without stand in different queues of the service, hence a limiter for each pace.
    """
    return _limiters.setdefault((source, address, pace), Limiter(pace))


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


# GET requests to a service: a shared connection, statuses kept, what is read of an answer checked before it counts.


M = TypeVar("M", bound=BaseModel)

MISSING = 404
_SECONDS_A_TRY = 30.0
_MOST_OF_A_REFUSAL = 200


class Fetcher:
    """Sends through a `Service`; connections are kept open between requests.

    Args:
        service: paces and repeats what is sent.
        address: of the service.
        headers: sent to it with every request, and to nobody to whom it sends us on.
        connections: how many may be open at once.
    """

    def __init__(
        self,
        service: Service,
        address: str,
        headers: Mapping[str, str] | None = None,
        *,
        connections: int = 10,
    ) -> None:
        self.service, self._address = service, address
        self._headers = dict(headers or {})
        self._connections = connections
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}

    async def get(
        self,
        url: str,
        params: Mapping[str, str | int],
        read: Callable[["httpx.Response"], T],
        what: str,
        *,
        until: float,
    ) -> T:
        """One request.

        Args:
            url: with everything in it escaped.
            params: added to its query, not yet escaped.
            read: what is wanted of the answer; raises `GarbledError` or `RefusedError` when it is none.
            what: what is looked up, for messages.
            until: the look-up's deadline, of `Service.deadline`.

        Raises:
            LiteratureError: the service refuses, cannot be reached, answers nonsense, or takes too long.
        """

        async def send() -> T:
            return read(_accepted(await self._send(url, params)))

        return await self.service.call(send, what, until=until)

    async def find(
        self,
        url: str,
        params: Mapping[str, str | int],
        read: Callable[["httpx.Response"], T],
        what: str,
        *,
        until: float,
    ) -> T | None:
        """The same for one thing by its name; None when the service says that there is no such thing (404)."""

        async def send() -> T | None:
            response = await self._send(url, params)
            return None if response.status_code == MISSING else read(_accepted(response))

        return await self.service.call(send, what, until=until)

    async def close(self) -> None:
        """Close this event loop's connections."""
        if client := self._clients.pop(asyncio.get_running_loop(), None):
            await client.aclose()

    async def _send(self, url: str, params: Mapping[str, str | int]) -> "httpx.Response":
        import httpx

        return await self._client().get(httpx.URL(url).copy_merge_params(params))

    async def _sign(self, request: "httpx.Request") -> None:
        """Called for each request, those of redirections too, which take over the headers of the one before."""
        import httpx

        home, to = httpx.URL(self._address), request.url
        if (to.host, to.port) == (home.host, home.port) and to.scheme in (home.scheme, "https"):
            request.headers.update(self._headers)
        else:
            for name in self._headers:
                request.headers.pop(name, None)

    def _client(self) -> "httpx.AsyncClient":
        """The client of this event loop: connections cannot be shared between loops."""
        import httpx

        loop = asyncio.get_running_loop()
        if (client := self._clients.get(loop)) is None:
            for ended in [one for one in self._clients.copy() if one.is_closed()]:
                self._clients.pop(ended, None)
            client = self._clients[loop] = httpx.AsyncClient(
                headers={"User-Agent": f"manyheads/{__version__}"},
                event_hooks={"request": [self._sign]},
                timeout=min(_SECONDS_A_TRY, self.service.patience),
                limits=httpx.Limits(max_connections=self._connections),
                follow_redirects=True,
                verify=_trusted(),
            )
        return client


def parsed(shape: type[M], response: "httpx.Response") -> M:
    """The answer as its shape says; raises `GarbledError`, which names the first place that is not."""
    try:
        return shape.model_validate_json(response.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the answer"
        raise GarbledError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from error


@cache
def _trusted() -> "ssl.SSLContext":
    """The certificates that are trusted; reading them takes longer than many a request."""
    import httpx

    return httpx.create_ssl_context()


def _accepted(response: "httpx.Response") -> "httpx.Response":
    """The answer if it is one; raises `RefusedError`."""
    if response.is_success:
        return response
    told = " ".join(response.text.split())[:_MOST_OF_A_REFUSAL]
    raise RefusedError(response.status_code, asked_to_wait(response.headers.get("retry-after")), told)
