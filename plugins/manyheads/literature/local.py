"""The knowledge bank as a literature source: the past papers of a research ecosystem."""

import asyncio
from collections.abc import Collection, Mapping
from typing import ClassVar

from manyheads.bank.knowledge import KnowledgeBank, paper_text
from manyheads.bank.lexical import stems
from manyheads.config import SourceName
from manyheads.literature.source import ALL, Part, Source
from manyheads.papers import ANY_TIME, Hit, Paper, Window

PAST = {"period": "past"}
_LOOKED_AT = 50
"""Nearest papers of which those that hold the words are found: meaning ranks them, words admit them."""


class LocalSource(Source):
    """B_past behind the interface of the services. The bank stays its owner's: closing this does not close it.

    A bank always has a nearest paper, so a search takes only papers that hold the query's words: two in three of
    them, endings aside. A corpus keeps neither references nor citations.
    """

    name: SourceName = "local"
    lacking: ClassVar[Mapping[str, str]] = {
        "references": "a corpus keeps no references",
        "citations": "a corpus keeps no citing papers",
    }

    def __init__(self, bank: KnowledgeBank) -> None:
        self._bank = bank

    async def search(
        self, query: str, limit: int = 10, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """Past papers that hold the query's words, nearest in meaning first."""
        wanted = set(stems(query))
        hits = await self._nearest(query, max(_LOOKED_AT, 2 * limit), window)
        return _inside([hit.paper for hit in hits if _holds(hit.paper, wanted)], window, limit)

    async def paper(self, paper_id: str, *, parts: Collection[Part] = ALL) -> Paper | None:
        """A past paper by its id in the corpus."""
        paper = await self._past(paper_id)
        return paper and _with_source(paper)

    async def recommendations(
        self, paper_id: str, limit: int = 10, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """The past papers nearest in meaning to one of them; none for an id that is not there."""
        paper = await self._past(paper_id)
        if paper is None:
            return []
        hits = await self._nearest(paper_text(paper), limit, window, exclude=(paper.id,))
        return _inside([hit.paper for hit in hits], window, limit)

    async def _nearest(
        self, text: str, count: int, window: Window, *, exclude: Collection[str] = ()
    ) -> list[Hit]:
        # half open; `Window.holds` has the last word
        years = (window.after and window.after.year, window.before and window.before.year)
        [hits] = await self._bank.search(
            [text], count, years=years if any(years) else None, where=PAST, exclude=exclude
        )
        return hits

    async def _past(self, paper_id: str) -> Paper | None:
        """A paper of the bank if it belongs to B_past, which its period tells and a record does not show."""

        def look() -> Paper | None:
            record = self._bank.collection.store.get([paper_id]).get(paper_id)
            past = record is not None and record.payload.get("period") == PAST["period"]
            return self._bank.get([paper_id])[paper_id] if past else None

        return await asyncio.to_thread(look)


def _with_source(paper: Paper) -> Paper:
    """A paper of the bank under the id by which a library knows it."""
    return paper.model_copy(update={"id": f"local:{paper.id}"})


def _holds(paper: Paper, wanted: set[str]) -> bool:
    """Whether two in three of the words asked for are in it (of two, both)."""
    there = wanted & set(stems(f"{paper.title} {paper.abstract}"))
    return bool(there) and len(there) >= len(wanted) - len(wanted) // 3


def _inside(papers: list[Paper], window: Window, limit: int) -> list[Paper]:
    found = map(_with_source, papers)
    return [one for one in found if window.holds(one)][:limit]
