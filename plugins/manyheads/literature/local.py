"""A research ecosystem's literature: its bank as a source of papers, and references from services or its database."""

import asyncio
import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from manyheads.base.papers import Hit, Literature, Paper, Scientist
from manyheads.config import SourceName
from manyheads.corpus.digest import open_database
from manyheads.corpus.ecosystem import Ecosystem, KnowledgeBank
from manyheads.corpus.retrieval import Inspirations, RetrievalConfig
from manyheads.corpus.vectors import Embedder, unread, whole_vector
from manyheads.literature.matching import Topic
from manyheads.literature.source import Part, Request, Source

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors
    from manyheads.literature.library import Library

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
        topic = Topic(request.query)
        # half open; `Window.holds` checks finally
        years = (
            request.window.after and request.window.after.year,
            request.window.before and request.window.before.year,
        )
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


# References for a team.

PARTS: frozenset[Part] = frozenset(("abstract", "citations", "date"))
LOOKED_AT = 3
"""Candidates per requested paper: a service ranks by words, and the most similar in meaning are kept."""


class Scientists:
    """The scientists of a research ecosystem, with references from another source."""

    def __init__(self, ecosystem: Literature) -> None:
        self.ecosystem = ecosystem

    @property
    def scientists(self) -> list[Scientist]:
        return self.ecosystem.scientists

    def scientist(self, name: str) -> Scientist:
        return self.ecosystem.scientist(name)

    def works(self, name: str, k: int) -> list[Paper]:
        return self.ecosystem.works(name, k)

    async def find_scientists(self, query: str, k: int, *, exclude: Collection[str] = ()) -> list[Scientist]:
        return await self.ecosystem.find_scientists(query, k, exclude=exclude)

    def expect(self, *queries: str) -> None:
        self.ecosystem.expect(*queries)


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
        before = self._library.window.before
        return before and (before - dt.timedelta(days=1)).year

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
    """Queries a corpus's literature database; papers without a record get one first, see `corpus.digest.open_database`.

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
        database = await asyncio.to_thread(open_database, self._ecosystem, lines.append)
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

    @property
    def last_year(self) -> int | None:
        return self.ecosystem.last_year

    async def unread(self, queries: Sequence[str]) -> Sequence[int | None]:
        return await self.ecosystem.unread(queries)

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


def inspirer(
    literature: Literature | None, options: RetrievalConfig, tell: Callable[[str], None] = lambda line: None
) -> Inspirer | None:
    """The queries to the database of a run's corpus; None without a corpus."""
    corpus = literature.ecosystem if isinstance(literature, Scientists) else literature
    return Inspirer(corpus, options, tell) if isinstance(corpus, Ecosystem) else None
