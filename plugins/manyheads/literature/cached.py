"""A source behind a cache: what it has answered is not asked again, and the same thing never twice at once."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Generic, Literal, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from manyheads.config import SourceName
from manyheads.errors import LiteratureError
from manyheads.literature.cache import LookupCache
from manyheads.literature.flights import Flights
from manyheads.literature.publication import Author, Publication, Window
from manyheads.literature.source import Part, Source

T = TypeVar("T")
Listing = Literal["search", "references", "citations", "recommendations"]
Operation = Literal[Listing, "paper", "authors"]

_LIST, _ONE = TypeAdapter(list[Publication]), TypeAdapter(Publication | None)
_PEOPLE = TypeAdapter(list[Author])


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What a source answered; `cached`: it was kept on disk."""

    value: T
    cached: bool


class Shelf:
    """A `LookupCache` that is opened at its first use and asked off the event loop.

    Args:
        path: its file.
        max_age: what is that old is no longer given; None for no limit.
    """

    def __init__(self, path: Path, max_age: timedelta | None = None) -> None:
        self._make = partial(LookupCache, path, max_age)
        self._lock = threading.Lock()
        self._cache: LookupCache | None = None

    async def get(
        self, source: str, operation: str, request: JsonValue, shape: TypeAdapter[T]
    ) -> Answer[T] | None:
        """An answer that was kept; None where none is, or one of an earlier version's shape. Raises `CacheError`."""
        kept = await asyncio.to_thread(lambda: self._opened().get(source, operation, request))
        try:
            return kept and Answer(shape.validate_python(kept.value), cached=True)
        except ValidationError:
            return None

    async def put(
        self, source: str, operation: str, request: JsonValue, shape: TypeAdapter[T], value: T
    ) -> None:
        """Keep an answer. Raises `CacheError`."""
        data = shape.dump_python(value, mode="json")
        await asyncio.to_thread(lambda: self._opened().put(source, operation, request, data))

    def close(self) -> None:
        """Close the file if it was opened."""
        with self._lock:
            if self._cache:
                self._cache.close()
                self._cache = None

    def _opened(self) -> LookupCache:
        with self._lock:
            self._cache = self._cache or self._make()
            return self._cache


class CachedSource:
    """Any `Source`, its answers kept by everything that they depend on. Failures are never kept.

    Args:
        source: asked for what is not kept.
        shelf: where answers are kept; None for a source that is as near as a cache.
        address: of the service if it is not the usual one, whose answers are others.
    """

    def __init__(self, source: Source, shelf: Shelf | None = None, address: str = "") -> None:
        self.source = source
        self.given_up: LiteratureError | None = None
        """A failure after which the source is left alone; what is kept of it is given all the same."""
        self._shelf, self._address = shelf, address
        self._flights = Flights()

    @property
    def name(self) -> SourceName:
        return self.source.name

    async def papers(
        self, operation: Listing, asked: str, limit: int, window: Window, parts: Collection[Part]
    ) -> Answer[list[Publication]]:
        """Papers that match words, or that belong to a paper. Raises `LiteratureError`, `CacheError`."""
        look_up = getattr(self.source, operation)
        request = self._request(asked, parts=" ".join(sorted(parts)), limit=limit, window=str(window))
        return await self._kept(
            operation, request, _LIST, lambda: look_up(asked, limit, window=window, parts=parts)
        )

    async def paper(self, paper_id: str, parts: Collection[Part]) -> Answer[Publication | None]:
        """One paper by the source's own identifier. Raises `LiteratureError`, `CacheError`."""
        request = self._request(paper_id, parts=" ".join(sorted(parts)))
        return await self._kept("paper", request, _ONE, lambda: self.source.paper(paper_id, parts=parts))

    async def authors(self, query: str, limit: int) -> Answer[list[Author]]:
        """People by name. Raises `LiteratureError`, `CacheError`."""
        return await self._kept(
            "authors", self._request(query, limit=limit), _PEOPLE, lambda: self.source.authors(query, limit)
        )

    def _request(self, asked: str, **rest: JsonValue) -> dict[str, JsonValue]:
        return {"asked": asked, "address": self._address, **rest}

    async def _kept(
        self,
        operation: Operation,
        request: dict[str, JsonValue],
        shape: TypeAdapter[T],
        ask: Callable[[], Awaitable[T]],
    ) -> Answer[T]:
        async def once() -> Answer[T]:
            shelf = self._shelf
            if shelf and (kept := await shelf.get(self.name, operation, request, shape)):
                return kept
            if self.given_up:
                raise self.given_up.with_traceback(None)  # else it would grow each time
            value = await ask()
            if shelf:
                await shelf.put(self.name, operation, request, shape, value)
            return Answer(value, cached=False)

        return await self._flights.join((operation, json.dumps(request)), once)
