"""The one interface of all literature sources."""

from collections.abc import Collection
from typing import Literal, Protocol

from manyheads.config import SourceName
from manyheads.papers import ANY_TIME, Author, Publication, Window

Part = Literal["abstract", "authors", "venue", "citations", "date", "doi", "url"]
"""What may be asked of a paper beside its id, title and year."""
ALL: frozenset[Part] = frozenset(("abstract", "authors", "venue", "citations", "date", "doi", "url"))


class Source(Protocol):
    """A place where papers are looked up. `limit` may exceed a page of the service: pages are fetched as needed.

    Every method raises `LiteratureError` when the source cannot be reached, refuses, answers nonsense, or has no
    such look-up; an empty list means that it was asked and knows nothing.
    """

    @property
    def name(self) -> SourceName: ...

    async def search(
        self, query: str, limit: int = 10, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Publication]:
        """Papers that match words, best first; all of them inside the window."""
        ...

    async def paper(self, paper_id: str, *, parts: Collection[Part] = ALL) -> Publication | None:
        """One paper; None when it does not exist.

        Args:
            paper_id: the identifier behind the colon of `Publication.id`, or `DOI:…` or `ARXIV:…`.
        """
        ...

    async def references(
        self, paper_id: str, limit: int = 100, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Publication]:
        """What a paper cites."""
        ...

    async def citations(
        self, paper_id: str, limit: int = 100, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Publication]:
        """What cites a paper."""
        ...

    async def recommendations(
        self, paper_id: str, limit: int = 10, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Publication]:
        """Papers like one paper, best first."""
        ...

    async def authors(self, query: str, limit: int = 10) -> list[Author]:
        """People by name."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
