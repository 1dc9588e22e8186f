"""A corpus's bank as a source of papers."""

import asyncio
import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from manyheads.base.papers import Paper, Window
from manyheads.config import SourceName
from manyheads.literature.matching import Topic
from manyheads.literature.source import Request, Source

if TYPE_CHECKING:
    from manyheads.corpus.ecosystem import KnowledgeBank

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

    def __init__(self, bank: "KnowledgeBank", bound: int | None = None) -> None:
        self._bank = bank
        self._bound = bound and dt.date(bound, 1, 1)

    def reach(self, window: Window) -> Window:
        """Under the layers of a society, B_past goes on beyond the corpus's bound."""
        last = self._bank.last_year
        return (
            replace(window, before=dt.date(last + 1, 1, 1))
            if last and window.before == self._bound
            else window
        )

    async def search(self, request: Request) -> list[Paper]:
        """Past papers with two thirds of the query's words (of two, both), most similar first."""
        topic = Topic(request.query)
        # half open; `Window.holds` checks finally
        after, before = request.window.after, request.window.before
        years = (after and after.year, before and before.year)
        [hits] = await self._bank.search(
            [request.query],
            max(_LOOKED_AT, 2 * request.limit),
            years=years if any(years) else None,
            where=PAST,
        )
        papers = [_with_source(hit.paper) for hit in hits if request.window.holds(hit.paper)]
        return [one for one in papers if topic.of(one)][: request.limit]

    async def paper(self, request: Request) -> list[Paper]:
        """A past paper by its id in the corpus: one of B_past by its period, which a record does not show."""

        def look() -> list[Paper]:
            record = self._bank.store.get([request.query]).get(request.query)
            if record is None or record.payload.get("period") != PAST["period"]:
                return []
            return [_with_source(paper) for paper in self._bank.get([request.query]).values() if paper]

        return await asyncio.to_thread(look)


def _with_source(paper: Paper) -> Paper:
    """A paper of the bank with its id in a library."""
    return paper.model_copy(update={"id": f"local:{paper.id}"})
