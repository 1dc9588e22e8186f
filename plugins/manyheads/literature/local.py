"""The knowledge bank as a literature source: the past papers of a research ecosystem."""

import asyncio
from collections.abc import Collection, Mapping
from typing import ClassVar

from manyheads.bank.knowledge import KnowledgeBank, paper_text
from manyheads.bank.lexical import stems
from manyheads.config import SourceName
from manyheads.literature.source import Request, Source
from manyheads.papers import Paper, Window

PAST = {"period": "past"}
_LOOKED_AT = 50
"""Nearest papers of which those that hold the words are found: meaning ranks them, words admit them."""


class LocalSource(Source):
    """B_past behind the interface of the services. The bank stays its owner's: closing this does not close it.

    A bank always has a nearest paper, so a search takes only papers that hold the query's words, endings aside.
    """

    name: SourceName = "local"
    lacking: ClassVar[Mapping[str, str]] = {
        "papers": "a corpus is asked for one paper at a time",
        "references": "a corpus keeps no references",
        "citations": "a corpus keeps no citing papers",
    }

    def __init__(self, bank: KnowledgeBank) -> None:
        self._bank = bank

    async def search(self, request: Request) -> list[Paper]:
        """Past papers that hold two in three of the query's words (of two, both), nearest in meaning first."""
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

    async def recommendations(self, request: Request) -> list[Paper]:
        """The past papers nearest in meaning to one of them; none for an id that is not there."""
        if (paper := await self._past(request.query)) is None:
            return []
        return await self._nearest(paper_text(paper), request.limit, request.window, exclude=(paper.id,))

    async def _nearest(
        self, text: str, count: int, window: Window, *, exclude: Collection[str] = ()
    ) -> list[Paper]:
        # half open; `Window.holds` has the last word
        years = (window.after and window.after.year, window.before and window.before.year)
        [hits] = await self._bank.search(
            [text], count, years=years if any(years) else None, where=PAST, exclude=exclude
        )
        return [_with_source(hit.paper) for hit in hits if window.holds(hit.paper)]

    async def _past(self, paper_id: str) -> Paper | None:
        """A paper of the bank if it belongs to B_past, which its period tells and a record does not show."""

        def look() -> Paper | None:
            record = self._bank.store.get([paper_id]).get(paper_id)
            past = record is not None and record.payload.get("period") == PAST["period"]
            return self._bank.get([paper_id])[paper_id] if past else None

        return await asyncio.to_thread(look)


def _with_source(paper: Paper) -> Paper:
    """A paper of the bank under the id by which a library knows it."""
    return paper.model_copy(update={"id": f"local:{paper.id}"})
