"""The one interface of all literature sources."""

from collections.abc import Collection, Mapping
from typing import ClassVar, Literal

from manyheads.config import SourceName
from manyheads.errors import LiteratureError
from manyheads.papers import ANY_TIME, Paper, Window

Part = Literal["abstract", "authors", "venue", "citations", "date", "doi", "url"]
"""What may be asked of a paper beside its id, title and year."""
ALL: frozenset[Part] = frozenset(("abstract", "authors", "venue", "citations", "date", "doi", "url"))
Listing = Literal["search", "references", "citations", "recommendations"]
Operation = Literal[Listing, "paper"]


class LackingError(LiteratureError):
    """A source has no such look-up at all. It is passed over for it, which is no failure."""


class Source:
    """A place where papers are looked up. `limit` may exceed a page of the service: pages are fetched as needed.

    Every method raises `LiteratureError` when the source cannot be reached, refuses, answers nonsense, or has no
    such look-up; an empty list means that it was asked and knows nothing.
    """

    name: SourceName
    lacking: ClassVar[Mapping[str, str]] = {}
    """Look-ups that it has not, each with the reason; they are known beforehand, so that nobody is asked in vain."""

    async def search(
        self, query: str, limit: int = 10, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """Papers that match words, best first; all of them inside the window."""
        raise self._lacks("search")

    async def paper(self, paper_id: str, *, parts: Collection[Part] = ALL) -> Paper | None:
        """One paper; None when it does not exist.

        Args:
            paper_id: the identifier behind the colon of `Paper.id`, or `DOI:…` or `ARXIV:…`.
        """
        raise self._lacks("paper")

    async def references(
        self, paper_id: str, limit: int = 100, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """What a paper cites."""
        raise self._lacks("references")

    async def citations(
        self, paper_id: str, limit: int = 100, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """What cites a paper."""
        raise self._lacks("citations")

    async def recommendations(
        self, paper_id: str, limit: int = 10, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """Papers like one paper, best first."""
        raise self._lacks("recommendations")

    async def close(self) -> None:
        """Release connections."""

    def _lacks(self, operation: Operation) -> LackingError:
        return LackingError(self.lacking.get(operation, f"{self.name} has no {operation}"), source=self.name)
