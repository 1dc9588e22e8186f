"""Connections of the server: bounded in number, and in the time until a request is complete.

Nobody needs a session to open connections: whoever sends half a request on each must not keep others out. uvicorn has no
limit for the time of a request's headers, hence a protocol of our own, by its argument `http`.
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from manyheads.base.files import allowed_files

SECONDS = 10.0
"""Maximum time from a connection, or from the first byte of a further request, to the end of the request's headers."""


def most_connections() -> int:
    """A quarter of the files that the system allows, at most 256: runs and arenas need the others."""
    return min(allowed_files() // 4, 256)


class Connection(H11Protocol):
    """A connection that is closed if its request does not come; of too many, the oldest without a whole request goes."""

    _born = 0.0
    _late: asyncio.TimerHandle | None = None

    @property
    def _waits(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._born = self.loop.time()
        super().connection_made(transport)
        every = (each for each in self.connections if isinstance(each, Connection))
        still: list[Connection] = [each for each in every if not each.transport.is_closing()]
        if len(still) > most_connections():
            waiting = [each for each in still if each._waits]
            # those of a visitor that was answered before go last
            min(waiting, key=lambda each: (bool(each.cycle), each._born)).transport.abort()
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._late:
            self._late.cancel()

    def _watch(self) -> None:
        if not self._waits and self._late:
            self._late.cancel()
            self._late = None
        elif self._waits and not self._late:
            self._late = self.loop.call_later(SECONDS, self.transport.abort)
