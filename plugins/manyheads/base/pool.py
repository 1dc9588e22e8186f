"""Resources shared by the runs of one process: opened once, counted, closed by the last user."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class _Entry(Generic[T]):
    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.things: list[T] = []
        """The resource, once open."""


class Pool(Generic[T]):
    """Resources by key, for any number of threads and event loops.

        corpora = Pool(Ecosystem.close)
        async with corpora.lent_in_thread(folder, lambda: Ecosystem.open(folder)) as ecosystem: ...

    The key of a resource that belongs to one event loop, such as an HTTP client, includes the loop.
    """

    def __init__(self, close: Callable[[T], object]) -> None:
        self._close = close
        self._lock = threading.Lock()
        self._entries: dict[Hashable, _Entry[T]] = {}

    def take(self, key: Hashable, make: Callable[[], T]) -> T:
        """The resource of a key, made by the first caller while others wait; `give_back` must follow.

        Raises what `make` raises; the next caller tries again.
        """
        with self._lock:
            entry = self._entries.setdefault(key, _Entry[T]())
            entry.users += 1
        try:
            with entry.lock:
                if not entry.things:
                    entry.things.append(make())
                return entry.things[0]
        except BaseException:
            self.give_back(key)
            raise

    def give_back(self, key: Hashable) -> object:
        """Return a resource. The last return closes it and gives the result of `close`."""
        with self._lock:
            entry = self._entries[key]
            entry.users -= 1
            if entry.users:
                return None
            del self._entries[key]
        return self._close(entry.things[0]) if entry.things else None

    @asynccontextmanager
    async def lent_in_thread(self, key: Hashable, make: Callable[[], T]) -> AsyncGenerator[T]:
        """The resource of a key for a block, opened and closed in a thread so that the loop is not blocked."""
        opening = asyncio.ensure_future(asyncio.to_thread(self.take, key, make))
        try:
            thing = await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(lambda done: done.exception() or self.give_back(key))
            raise
        try:
            yield thing
        finally:
            await asyncio.shield(asyncio.to_thread(self.give_back, key))
