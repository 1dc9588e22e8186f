"""The knowledge bank as a literature source: past papers of a research ecosystem."""

import asyncio
from collections.abc import Mapping
from typing import ClassVar

from manyheads.bank.knowledge import KnowledgeBank
from manyheads.bank.lexical import stems
from manyheads.config import SourceName
from manyheads.literature.source import Request, Source
from manyheads.papers import Paper, Window

PAST = {"period": "past"}
_LOOKED_AT = 50
"""Most similar papers to filter by words: similarity ranks, words filter."""


class LocalSource(Source):
    """B_past with the interface of services. Closing this does not close the bank.

    As some paper is always the most similar one, a search only returns papers with the query's words, ignoring endings.
    """

    name: SourceName = "local"
    lacking: ClassVar[Mapping[str, str]] = {
        "papers": "a corpus supports only one paper per request",
        "references": "a corpus source has no references",
    }

    def __init__(self, bank: KnowledgeBank) -> None:
        self._bank = bank

    async def search(self, request: Request) -> list[Paper]:
        """Past papers with two thirds of the query's words (of two, both), most similar first."""
        words = set(stems(request.query))
        papers = await self._nearest(request.query, max(_LOOKED_AT, 2 * request.limit), request.window)
        shared = ((one, len(words & set(stems(f"{one.title} {one.abstract}")))) for one in papers)
        return [one for one, count in shared if count and count >= len(words) - len(words) // 3][
            : request.limit
        ]

    async def paper(self, request: Request) -> list[Paper]:
        """A past paper by its id in the corpus."""
        paper = await self._past(request.query)
        return [_with_source(paper)] if paper else []

    async def _nearest(self, text: str, count: int, window: Window) -> list[Paper]:
        # half open; `Window.holds` checks finally
        years = (window.after and window.after.year, window.before and window.before.year)
        [hits] = await self._bank.search([text], count, years=years if any(years) else None, where=PAST)
        return [_with_source(hit.paper) for hit in hits if window.holds(hit.paper)]

    async def _past(self, paper_id: str) -> Paper | None:
        """A paper of the bank if it belongs to B_past by its period, which a record does not show."""

        def look() -> Paper | None:
            record = self._bank.store.get([paper_id]).get(paper_id)
            past = record is not None and record.payload.get("period") == PAST["period"]
            return self._bank.get([paper_id])[paper_id] if past else None

        return await asyncio.to_thread(look)


def _with_source(paper: Paper) -> Paper:
    """A paper of the bank with its id in a library."""
    return paper.model_copy(update={"id": f"local:{paper.id}"})
