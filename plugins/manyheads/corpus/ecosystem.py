"""A research ecosystem on disk: B_past, B_con, the scientists and their collaborations (VirSci 2025, §3.1).

with Ecosystem.open(Path("corpora/mine")) as ecosystem:
    [papers] = await ecosystem.past(["robust retrieval"], k=8)
    experts = await ecosystem.find_scientists("dense retrieval", k=3, exclude={"Scientist17"})
"""

import asyncio
from collections.abc import Collection as Names
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter, ValidationError

from manyheads.base.errors import CorpusError, EmbeddingError, describe, need_extra
from manyheads.base.papers import Hit, Paper, Scientist
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.knowledge import Collection, KnowledgeBank
from manyheads.corpus.meta import (
    AUTHORS,
    NO_SCIENTISTS,
    SCIENTISTS,
    Meta,
    damaged,
    read_json,
    read_meta,
    read_names,
)
from manyheads.corpus.store import Closing, Filter
from manyheads.corpus.vectors import Embedder, QueryEmbedder

_SCIENTISTS = TypeAdapter(list[Scientist])


class Ecosystem(Closing):
    """A built corpus, open for reading by any number of processes. Created by `open`, or by `building.build_corpus`."""

    def __init__(self, folder: Path, meta: Meta, papers: KnowledgeBank, authors: Collection) -> None:
        self.folder, self.meta, self.papers = folder, meta, papers
        """`papers` contains B_past and B_con, separated by `where={"period": "past"}`."""
        self._authors = authors
        self.parts: dict[str, Closing] = {}
        """Other resources of the corpus, by name; closed with it."""
        self._queries = QueryEmbedder(papers.embedder)
        papers.queries = authors.queries = self._queries
        try:
            scientists = _SCIENTISTS.validate_python(read_json(folder, SCIENTISTS))
        except ValidationError as wrong:
            raise damaged(folder / SCIENTISTS, describe(wrong)) from wrong
        self._scientists = {one.name: one for one in scientists}

    @classmethod
    def open(cls, folder: Path, embedder: Embedder | None = None) -> Self:
        """Open a built corpus; by default with the model that built it.

        Raises:
            CorpusError: the folder is not a built corpus, or another process is writing to it.
            EmbeddingError: `embedder` is not its model, or its model is not available.
        """
        need_extra("corpus", "a corpus")
        meta = read_meta(folder)
        try:
            model = embedder or load_embedder(meta.embedding.name)
        except EmbeddingError as error:
            # word hashing, which it hints at, could not read this corpus's vectors
            raise EmbeddingError(
                f"{folder}: {error.message}, with which it was built",
                tried=error.tried,
                hint="install that model, or name the folder that has it: --set embedding=FOLDER; or build the corpus again",
            ) from error
        papers = KnowledgeBank.open(folder, model, read_only=True)
        try:
            authors = Collection.open(folder, model, name=AUTHORS, read_only=True)
        except BaseException:
            papers.close()
            raise
        return cls(folder, meta, papers, authors)

    @property
    def embedder(self) -> Embedder:
        """The model of its vectors."""
        return self.papers.embedder

    @property
    def scientists(self) -> list[Scientist]:
        """S, in the order Scientist0, Scientist1, …"""
        return list(self._scientists.values())

    def scientist(self, name: str) -> Scientist:
        """A scientist by masked name; raises CorpusError if unknown."""
        try:
            return self._scientists[name]
        except KeyError as unknown:
            known = (
                f"Scientist0 … Scientist{len(self._scientists) - 1}" if self._scientists else NO_SCIENTISTS
            )
            raise CorpusError(f"{name!r}: no such scientist in {self.folder}", tried=known) from unknown

    def names(self) -> dict[str, str]:
        """Masked name to real name, for people; never for agents."""
        return read_names(self.folder)

    def works(self, name: str, k: int) -> list[Paper]:
        """A scientist's `k` most cited past papers; ties by latest."""
        own = self.papers.papers(where={"period": "past", "authors": name})
        return sorted(own, key=lambda paper: (-(paper.citations or 0), -(paper.year or 0), paper.id))[:k]

    @property
    def last_year(self) -> int:
        """The last past year."""
        return self.meta.options.bound - 1

    async def past(self, queries: Sequence[str], k: int, *, before: int | None = None) -> list[list[Hit]]:
        """B_past(q): the k most similar past papers for each query, optionally only before a year."""
        years = None if before is None else (None, before)
        return await self.papers.search(queries, k, years=years, where={"period": "past"})

    async def contemporary(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """B_con(q): the k most similar contemporary papers for each query."""
        return await self.papers.search(queries, k, where={"period": "contemporary"})

    async def find_scientists(self, query: str, k: int, *, exclude: Names[str] = ()) -> list[Scientist]:
        """The k scientists with the most similar profiles, best first."""
        [found] = await self._authors.find([query], k, Filter(exclude=frozenset(exclude)))
        return [self.scientist(one.id) for one in found]

    async def unread(self, queries: Sequence[str]) -> Sequence[int | None]:
        """Tokens by which each query exceeds the model's limit; None if the model does not state one."""
        return await asyncio.to_thread(self._queries.unread, queries)

    def expect(self, *queries: str) -> None:
        """Start embedding upcoming queries in a thread."""
        self._queries.begin(queries)

    def warm_up(self) -> None:
        """Load the embedding model now instead of at the first look-up."""
        self._queries.embed(["warm"])

    def close(self) -> None:
        """Close the banks."""
        for part in self.parts.values():
            part.close()
        self.papers.close()
        self._authors.close()
