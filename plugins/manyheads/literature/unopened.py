"""A library that is opened by the first look-up: a run that looks nothing up needs no source, no key, and no wait."""

from collections.abc import Callable, Collection

from manyheads.literature.library import Findings, Library
from manyheads.literature.publication import Author, Publication
from manyheads.literature.source import ALL, Part


class Unopened:
    """A `Library` behind the one who opens it. What opening raises comes out of the first look-up.

    Args:
        open_it: called once, at first use; raises `ConfigError` when the config describes no library.
    """

    def __init__(self, open_it: Callable[[], Library]) -> None:
        self._open_it = open_it
        self._library: Library | None = None

    def opened(self) -> Library:
        """The library itself, from now on open."""
        if self._library is None:
            self._library = self._open_it()
        return self._library

    async def search(self, query: str, limit: int = 10, *, parts: Collection[Part] = ALL) -> Findings:
        """As `Library.search`."""
        return await self.opened().search(query, limit, parts=parts)

    async def paper(self, paper_id: str) -> Publication | None:
        """As `Library.paper`."""
        return await self.opened().paper(paper_id)

    async def references(self, paper_id: str, limit: int = 100) -> Findings:
        """As `Library.references`."""
        return await self.opened().references(paper_id, limit)

    async def citations(self, paper_id: str, limit: int = 100) -> Findings:
        """As `Library.citations`."""
        return await self.opened().citations(paper_id, limit)

    async def recommendations(self, paper_id: str, limit: int = 10) -> Findings:
        """As `Library.recommendations`."""
        return await self.opened().recommendations(paper_id, limit)

    async def authors(self, query: str, limit: int = 10) -> list[Author]:
        """As `Library.authors`."""
        return await self.opened().authors(query, limit)

    async def close(self) -> None:
        """Release what was opened."""
        if self._library is not None:
            await self._library.close()
