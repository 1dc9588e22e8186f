"""What the runs of one process share: opened once, counted, closed by the last who uses it."""

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
        """The one thing, once it is open."""


class Pool(Generic[T]):
    """Things by key, for any number of threads and event loops.

        corpora = Pool(Ecosystem.close)
        async with corpora.lent_in_thread(folder, lambda: Ecosystem.open(folder)) as ecosystem: ...

    What belongs to one event loop, such as an HTTP client, has the loop in its key.
    """

    def __init__(self, close: Callable[[T], object]) -> None:
        self._close = close
        self._lock = threading.Lock()
        self._entries: dict[Hashable, _Entry[T]] = {}

    def take(self, key: Hashable, make: Callable[[], T]) -> T:
        """The thing of a key, made by the first who asks while the others wait; `give_back` must follow.

        What `make` raises is raised here; the next who asks tries again.
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
        """One user less; the last one's leaving closes the thing, and returns what `close` does."""
        with self._lock:
            entry = self._entries[key]
            entry.users -= 1
            if entry.users:
                return None
            del self._entries[key]
        return self._close(entry.things[0]) if entry.things else None

    @asynccontextmanager
    async def lent_in_thread(self, key: Hashable, make: Callable[[], T]) -> AsyncGenerator[T]:
        """The thing of a key for the length of a block, opened and closed in a thread: the loop goes on meanwhile."""
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
