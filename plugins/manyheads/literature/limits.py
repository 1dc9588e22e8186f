"""One limiter a service for the whole process: requests start at least so far apart, whatever threads and loops send them.

Slots are handed out under a lock on the monotonic clock and waited for with `asyncio.sleep`, so that no loop
ever waits for another's. A slot that is given back (its task was cancelled) goes to the next who asks.
"""

import asyncio
import heapq
import math
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from manyheads.config import SourceName

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
