"""Turns at a server: how fast it may be asked, and by how many at once, whatever threads and event loops ask.

Slots are given out under a lock on the monotonic clock and waited for with `asyncio.sleep`, so that no event loop waits for
another's. They lie on a clock that stands still during pauses: a slot is due at `slot + _stood_still`. So a pause moves all
who wait, and they keep their order and their distance. The slot of a cancelled task goes to the next who asks.
"""

import asyncio
import heapq
import math
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass

_LONGEST_PAUSE = 86_400.0
_Place = tuple[asyncio.AbstractEventLoop, asyncio.Event]


@dataclass(frozen=True)
class Pace:
    """How fast a server may be asked.

    Args:
        seconds: the least time between the starts of two requests.
        at_once: how many requests may be under way; None for any number.
    """

    seconds: float = 0.0
    at_once: int | None = None


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

        Args:
            until: the moment after which a turn is of no use.

        Raises:
            OverdueError: no turn comes before `until`; raised as soon as that is known.
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
