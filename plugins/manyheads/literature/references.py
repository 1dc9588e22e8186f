"""References for a team: from services, or from the literature database of its research ecosystem."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from manyheads.base.papers import Hit, Literature, Paper, Scientist
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.retrieval import Inspirations, LiteratureDatabase, RetrievalConfig
from manyheads.corpus.vectors import Embedder, unread, whole_vector
from manyheads.literature.source import Part

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors
    from manyheads.literature.library import Library

PARTS: frozenset[Part] = frozenset(("abstract", "citations", "date"))
LOOKED_AT = 3
"""Candidates per requested paper: a service ranks by words, and the most similar in meaning are kept."""


class Scientists:
    """The scientists of a research ecosystem, with references from another source."""

    def __init__(self, ecosystem: Literature) -> None:
        self.ecosystem = ecosystem
        self.scientist, self.works = ecosystem.scientist, ecosystem.works
        self.find_scientists, self.expect = ecosystem.find_scientists, ecosystem.expect
        self.hot = ecosystem.hot

    @property
    def scientists(self) -> Sequence[Scientist]:
        return self.ecosystem.scientists

    @property
    def last_year(self) -> int | None:
        return self.ecosystem.last_year

    async def unread(self, queries: Sequence[str]) -> Sequence[int | None]:
        return await self.ecosystem.unread(queries)


class ServiceLiterature(Scientists):
    """A research ecosystem with references from a library and its own scientists.

    The query is the first line of the text: the title of an idea or an abstract, or the topic. Of the results, the papers most
    similar to the whole text are returned; a hit's score is the cosine of the two vectors, as for B_past. Papers without an
    abstract or a year are dropped, as they cannot be compared.

    Args:
        ecosystem: provides the scientists.
        library: looks up papers, with its own dates and cascade.
        embedder: provides the run's embedding model on first use.
    """

    def __init__(self, ecosystem: Literature, library: "Library", embedder: Callable[[], Embedder]) -> None:
        super().__init__(ecosystem)
        self._library, self._embedder = library, embedder

    @property
    def last_year(self) -> int | None:
        """The last year whose papers may all be found."""
        last = self._library.window.last
        return last and last.year

    async def unread(self, queries: Sequence[str]) -> Sequence[int | None]:
        return await asyncio.to_thread(lambda: unread(self._embedder(), queries))

    async def past(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The up to k most similar papers for each query, best first. Raises `LiteratureError` if no source answered."""
        return [await self._near(query, k) for query in queries]

    async def _near(self, query: str, k: int) -> list[Hit]:
        findings = await self._library.search(title_of(query), LOOKED_AT * k, parts=PARTS)
        papers = [paper for one in findings.papers if (paper := comparable(one))]
        if not papers:
            return []

        def score() -> "Vectors":
            model = self._embedder()
            return model.embed([paper.abstract for paper in papers]) @ whole_vector(model, query)

        scores = await asyncio.to_thread(score)
        hits = [Hit(paper, float(score)) for paper, score in zip(papers, scores, strict=True)]
        return sorted(hits, key=lambda hit: -hit.score)[:k]


def title_of(query: str) -> str:
    """The first non-blank line of a text: the title of an idea or an abstract, or a topic."""
    return next((line.strip() for line in query.splitlines() if line.strip()), query)


def comparable(paper: Paper) -> Paper | None:
    """A paper as prompts show it, without authors; None without an abstract or a year."""
    year = paper.date.year if paper.date else paper.year
    if year is None or not paper.abstract.strip():
        return None
    return paper.model_copy(update={"year": year, "authors": (), "author_ids": (), "affiliations": ()})


class Inspirer:
    """Queries a corpus's literature database; papers without a record get one first, see `LiteratureDatabase.ready`.

    Args:
        tell: receives warnings about the results, each once.
    """

    def __init__(
        self, ecosystem: Ecosystem, options: RetrievalConfig, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        self._ecosystem, self._options, self._tell = ecosystem, options, tell
        self._told: set[str] = set()

    async def retrieve(self, background: str, papers: int) -> Inspirations:
        """The best past papers for a background, with their reasons.

        Raises:
            CorpusError: the background is empty, or the database cannot be read or written.
            EmbeddingError: the database has another embedding model.
        """
        lines = list[str]()
        database = await asyncio.to_thread(LiteratureDatabase.ready, self._ecosystem, lines.append)
        found = await database.retrieve(background, self._options.model_copy(update={"papers": papers}))
        for line in (*lines, *found.notes):
            if line not in self._told:
                self._told.add(line)
                self._tell(line)
        return found


class InspiredLiterature(Scientists):
    """A research ecosystem whose references come from its literature database.

    A hit's score is the cosine of the paper's and the query's vectors, as for B_past, whichever strategy found it; hits are in
    the order of `Inspirations`.
    """

    def __init__(
        self, ecosystem: Ecosystem, options: RetrievalConfig, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        super().__init__(ecosystem)
        self._bank, self._inspirer = ecosystem.papers, Inspirer(ecosystem, options, tell)

    async def past(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Up to k papers that may help most with each query."""
        return [await self._hits(query, k) for query in queries]

    async def _hits(self, query: str, k: int) -> list[Hit]:
        found = (await self._inspirer.retrieve(query, k)).papers

        def scores() -> list[float]:
            [vector] = self._bank.queries.embed([query])
            records = self._bank.store.get([one.paper.id for one in found], vectors=True)
            return [float(records[one.paper.id].vector @ vector) for one in found]

        return [
            Hit(one.paper, score, channels=tuple((each.how, each.reason) for each in one.channels))
            for one, score in zip(found, await asyncio.to_thread(scores), strict=True)
        ]


def inspirer(literature: Literature | None, options: RetrievalConfig) -> Inspirer | None:
    """The queries to the database of a run's corpus; None without a corpus."""
    corpus = literature.ecosystem if isinstance(literature, Scientists) else literature
    return Inspirer(corpus, options) if isinstance(corpus, Ecosystem) else None
