"""The library: the sources of a config asked one after the other, every look-up noted in a ledger."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from manyheads.config import SourceName
from manyheads.events import Searched
from manyheads.literature.publication import Author, Publication
from manyheads.literature.source import ALL, Part


@dataclass(frozen=True)
class Findings:
    """What a look-up brought: papers, best first and each once; how they were looked for; who could not be asked."""

    papers: tuple[Publication, ...]
    searches: tuple[Searched, ...]
    degraded: tuple[SourceName, ...]
    """Sources of the cascade that failed or were skipped, so that "nothing found" may be their silence."""


class Library(Protocol):
    """What tools and systems see of the literature. Date bounds and patience come from the config.

    Raises `LiteratureError` when no source at all could be asked: nothing found is never said of a failure.
    """

    async def search(self, query: str, limit: int = 10, *, parts: Collection[Part] = ALL) -> Findings:
        """Papers that match words; a query that finds too little is asked again in wider forms."""
        ...

    async def paper(self, paper_id: str) -> Publication | None:
        """One paper by its `Publication.id`, or by a DOI, an arXiv number or its exact title; None for one out of bounds.

        Raises `LiteratureError` too where nobody knows it and a source was silent: None carries no mark of that.
        """
        ...

    async def references(self, paper_id: str, limit: int = 100) -> Findings:
        """What a paper cites."""
        ...

    async def citations(self, paper_id: str, limit: int = 100) -> Findings:
        """What cites a paper."""
        ...

    async def recommendations(self, paper_id: str, limit: int = 10) -> Findings:
        """Papers like one paper."""
        ...

    async def authors(self, query: str, limit: int = 10) -> list[Author]:
        """People by name. Raises as `paper` does."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
