"""Work under way that is joined instead of begun a second time."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class _Flight:
    task: asyncio.Task[Any]
    waiting: int = 0


class Flights:
    """Coroutines under way by what they are about. Those of other event loops are not joined."""

    def __init__(self) -> None:
        self._flights: dict[tuple[asyncio.AbstractEventLoop, Hashable], _Flight] = {}

    async def join(self, about: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `work` gives, done once for all who ask while it is under way.

        Its exception is raised to each of them. One who is cancelled leaves alone; with the last one the work ends.
        """
        key = (asyncio.get_running_loop(), about)
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(work()))
            flight.task.add_done_callback(lambda _: self._forget(key, flight))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._forget(key, flight)  # nobody may join what is being cancelled
                flight.task.cancel()

    def _forget(self, key: tuple[asyncio.AbstractEventLoop, Hashable], flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
