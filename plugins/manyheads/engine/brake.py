"""A run that is paused, goes on, or is stopped."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from manyheads.base.errors import StoppedError

T = TypeVar("T")


class Brake:
    """Holds back the turns of a run, or of a host.

    Turns that are running end; a stopped run can be resumed from its folder.
    """

    def __init__(self) -> None:
        self._going, self._stopped = asyncio.Event(), asyncio.Event()
        self._going.set()

    def pause(self) -> None:
        """Let running turns finish and start no other."""
        self._going.clear()

    def resume(self) -> None:
        """Continue after `pause`."""
        self._going.set()

    def stop(self) -> None:
        """Start no other turn, now or later."""
        self._stopped.set()
        self._going.set()

    async def gate(self) -> None:
        """Wait while paused; raises `StoppedError` once stopped."""
        await self._going.wait()
        if self._stopped.is_set():
            raise StoppedError("stopped; finished turns are kept", hint="manyheads resume RUN")

    async def unless_stopped(self, waiting: Awaitable[T]) -> T:
        """What is waited for; raises `StoppedError` if the run is stopped first."""
        answer, stop = asyncio.ensure_future(waiting), asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait({answer, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                await self.gate()
            return await answer
        finally:
            answer.cancel()
            stop.cancel()
            await asyncio.gather(answer, stop, return_exceptions=True)
