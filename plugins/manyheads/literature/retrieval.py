"""The literature services in place of B_past, for a run's references (VirSci 2025, App. C.3)."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence

from manyheads.bank.vectors import Embedder
from manyheads.literature.library import Library
from manyheads.literature.source import Part
from manyheads.papers import Hit, Literature, Paper, Scientist

PARTS: frozenset[Part] = frozenset(("abstract", "citations", "date"))
LOOKED_AT = 3
"""So many times the papers wanted are looked at: a service ranks by words, the nearest in meaning are shown."""


class ServiceLiterature:
    """A research ecosystem whose references come from a library; its scientists stay its own.

    A query is looked up by its first line, which is the title of an idea or of an abstract, or the topic. Of what is
    found, the papers nearest to the whole query are given; a hit's score is the cosine of the two texts' vectors, as
    it is for B_past. A paper without an abstract or a year is left out: nothing could be compared with it.

    Args:
        ecosystem: whose scientists are asked.
        library: where papers are looked up, its own date bounds and cascade kept.
        embedder: gives the model of the run's vectors, when it is first needed.
    """

    def __init__(self, ecosystem: Literature, library: Library, embedder: Callable[[], Embedder]) -> None:
        self._ecosystem, self._library, self._embedder = ecosystem, library, embedder

    @property
    def scientists(self) -> list[Scientist]:
        return self._ecosystem.scientists

    def scientist(self, name: str) -> Scientist:
        return self._ecosystem.scientist(name)

    def collaborations(self, name: str) -> Mapping[str, int]:
        return self._ecosystem.collaborations(name)

    async def find_scientists(self, query: str, k: int, *, exclude: Collection[str] = ()) -> list[Scientist]:
        return await self._ecosystem.find_scientists(query, k, exclude=exclude)

    def expect(self, *queries: str) -> None:
        self._ecosystem.expect(*queries)

    async def past(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The k papers nearest to each query, best first; fewer where the services know fewer.

        Raises:
            LiteratureError: no source could be asked.
        """
        return [await self._near(query, k) for query in queries]

    async def _near(self, query: str, k: int) -> list[Hit]:
        found = await self._library.search(title_of(query), LOOKED_AT * k, parts=PARTS)
        papers = [paper for one in found.papers if (paper := comparable(one))]
        if not papers:
            return []
        scores = await asyncio.to_thread(self._scores, query, papers)
        hits = [Hit(paper, score) for paper, score in zip(papers, scores, strict=True)]
        return sorted(hits, key=lambda hit: -hit.score)[:k]

    def _scores(self, query: str, papers: Sequence[Paper]) -> list[float]:
        vectors = self._embedder().embed([query, *(paper.abstract for paper in papers)])
        return [float(score) for score in vectors[1:] @ vectors[0]]


def title_of(query: str) -> str:
    """The first line of a text that is not blank: the title of an idea or an abstract, or a topic."""
    return next((line.strip() for line in query.splitlines() if line.strip()), query)


def comparable(paper: Paper) -> Paper | None:
    """A paper as prompts show it, who wrote it left out; None without an abstract or a year."""
    year = paper.date.year if paper.date else paper.year
    if year is None or not paper.abstract.strip():
        return None
    return paper.model_copy(update={"year": year, "authors": (), "author_ids": (), "affiliations": ()})
