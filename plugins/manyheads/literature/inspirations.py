"""The literature database of a corpus, as a source of references and for a tool (SciPIP, §3.2)."""

import asyncio
from collections.abc import Callable, Sequence

from manyheads.base.papers import Hit, Literature
from manyheads.corpus.digest import open_database
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.retrieval import Inspirations, RetrievalConfig
from manyheads.literature.library import Scientists


class Inspirer:
    """Queries a corpus's literature database; papers without a record get one first, see `bank.digest.open_database`.

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
