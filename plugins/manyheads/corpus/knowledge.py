"""The knowledge bank of papers for a team's retrieval (VirSci 2025, §3.1, B_past and B_con)."""

import asyncio
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as Ids
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias

from manyheads.base.errors import CorpusError, EmbeddingError, need_extra
from manyheads.base.papers import Hit, Paper, Period
from manyheads.corpus.qdrant import ClientStore, EdgeStore
from manyheads.corpus.store import EVERYTHING, MEMORY, Closing, Filter, Payload, Record, Schema, VectorStore
from manyheads.corpus.vectors import Embedder

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors


# Texts found by meaning: an embedder over a store, for any kind of text.

PAPERS = "papers"
CHUNK = 256


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a collection: `text` is embedded, `payload` (JSON values) is stored and used by filters."""

    id: str
    text: str
    payload: Payload


class Collection(Closing):
    """One named collection: in a folder (the default engine), at a Qdrant server's URL, or in `:memory:`.

        authors = Collection.create("my-bank", embedder, name="authors")
        authors.put(Item(one.name, profile, one.model_dump(mode="json")) for one, profile in scientists)
        [found] = await authors.find(["robust retrieval"], k=5)

    Raises EmbeddingError if the embedder is not the model of the existing vectors.
    """

    integers: ClassVar[tuple[str, ...]] = ()
    keywords: ClassVar[tuple[str, ...]] = ()
    """Payload fields for filters, which get an index."""
    names: ClassVar[tuple[str, ...]] = ()
    """Names of its vectors, for items with several."""

    def __init__(self, store: VectorStore, embedder: Embedder) -> None:
        self.store, self.embedder = store, embedder
        self.queries: Embedder = embedder
        """The embedder of queries: the same model, with a cache if available."""
        if (store.model, store.dim) != (embedder.name, embedder.dim):
            store.close()
            raise EmbeddingError(
                f"the bank was built with {store.model} ({store.dim} numbers per text), "
                f"not with {embedder.name} ({embedder.dim})",
                hint=f"use its model: --set embedding={store.model}, or build the bank again",
            )

    @classmethod
    def create(cls, place: str | Path, embedder: Embedder, *, name: str = PAPERS) -> Self:
        """A new collection in a folder, on a Qdrant server (URL) or in `:memory:`. Raises `CorpusError` if it exists, or
        the place cannot be written or reached."""
        need_extra("corpus", "a knowledge bank")
        schema = Schema(embedder.name, embedder.dim, cls.integers, cls.keywords, cls.names)
        if address := _address(place):
            return cls(ClientStore.create(address, name, schema), embedder)
        return cls(EdgeStore.create(Path(place) / name, schema), embedder)

    @classmethod
    def open(
        cls, place: str | Path, embedder: Embedder, *, name: str = PAPERS, read_only: bool = False
    ) -> Self:
        """An existing collection; `read_only` allows several processes to read one folder.

        Raises:
            CorpusError: it does not exist, or another process has it.
            EmbeddingError: it was built with another model.
        """
        need_extra("corpus", "a knowledge bank")
        if place == MEMORY:
            raise CorpusError(
                "a bank in memory cannot be opened again", hint="create a new one, or use a folder"
            )
        if address := _address(place):
            return cls(ClientStore.open(address, name), embedder)
        return cls(EdgeStore.open(Path(place) / name, read_only=read_only), embedder)

    def put(
        self,
        items: Iterable[Item],
        vectors: "Vectors | None" = None,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Embed and store items, replacing those with the same id; returns their number.

        Args:
            vectors: (n, dim) for the n items in order, instead of embedding them.
            progress: receives the number of newly stored items, after each chunk of 256.
        """
        stream, done = iter(items), 0
        while chunk := list(itertools.islice(stream, CHUNK)):
            rows = None if vectors is None else vectors[done : done + len(chunk)]
            if rows is None:
                rows = self.embedder.embed([item.text for item in chunk])
            self.store.upsert([item.id for item in chunk], rows, [item.payload for item in chunk])
            done += len(chunk)
            if progress is not None:
                progress(len(chunk))
        if vectors is not None and len(vectors) != done:
            raise EmbeddingError(f"{len(vectors)} vectors were given for {done} texts")
        return done

    async def find(
        self, queries: Sequence[str], k: int = 5, where: Filter = EVERYTHING
    ) -> list[list[Record]]:
        """The k most similar items for each query, best first, off the event loop: one embedding, one look-up."""

        def look_up() -> list[list[Record]]:
            return self.store.query(self.queries.embed(queries), k, where)

        return await asyncio.to_thread(look_up) if queries else []

    def close(self) -> None:
        """Close the collection."""
        self.store.close()


def _address(place: str | Path) -> str | None:
    """The place, if it is a server or memory."""
    url = isinstance(place, str) and place.startswith(("http://", "https://"))
    return str(place) if url or place == MEMORY else None


Years: TypeAlias = tuple[int | None, int | None]
Where: TypeAlias = Mapping[str, str | int]

STORED = {"id", "title", "abstract", "year", "citations", "authors", "venue", "keywords", "affiliations"}
"""The stored fields of a paper; a corpus's fingerprint is computed from them."""


class KnowledgeBank(Collection):
    """Papers, found by meaning, year and other fields.

        from manyheads.corpus.embedding import load_embedder
        with KnowledgeBank.create("my-bank", load_embedder()) as bank:
            bank.add([Paper(id="p1", title="Robust retrieval", abstract="We …", year=2014)], period="past")
            [hits] = await bank.search(["retrieval for robots"], k=5, years=(2010, 2015))
            print([(hit.paper.title, hit.score) for hit in hits])

    `years` is half open: `(2010, 2015)` means 2010 to 2014; None leaves an end open. A paper is embedded by its abstract, or
    its title if the abstract is empty.
    """

    integers = ("year",)
    keywords = ("period", "venue", "authors")

    def add(
        self,
        papers: Iterable[Paper],
        vectors: "Vectors | None" = None,
        progress: Callable[[int], None] | None = None,
        *,
        period: Period | None = None,
    ) -> int:
        """Embed and store papers as in `put`; the `period` is stored with them, for `where={"period": "past"}`."""
        also = {} if period is None else {"period": period}
        items = (
            Item(one.id, paper_text(one), {**one.model_dump(mode="json", include=STORED), **also})
            for one in papers
        )
        return self.put(items, vectors, progress)

    async def search(
        self,
        queries: Sequence[str],
        k: int = 5,
        *,
        years: Years | None = None,
        where: Where | None = None,
        exclude: Ids[str] = (),
    ) -> list[list[Hit]]:
        """The k most similar papers for each query, best first; one embedding and one look-up for all queries."""
        found = await self.find(queries, k, _filter(years, where, exclude))
        return [[Hit(_paper(one), one.score) for one in some] for some in found]

    def get(self, ids: Sequence[str]) -> dict[str, Paper]:
        """Papers by id; unknown ids are omitted."""
        return {one: _paper(record) for one, record in self.store.get(ids).items()}

    def papers(self, *, years: Years | None = None, where: Where | None = None) -> Iterator[Paper]:
        """All papers, or those with these years and fields."""
        return map(_paper, self.store.scroll(_filter(years, where)))

    def count(self, *, years: Years | None = None, where: Where | None = None) -> int:
        """Number of papers, or of those with these years and fields."""
        return self.store.count(_filter(years, where))


def paper_text(paper: Paper) -> str:
    """The text that is embedded for a paper."""
    return paper.abstract.strip() or paper.title


def _paper(record: Record) -> Paper:
    return Paper.model_validate({key: value for key, value in record.payload.items() if key in STORED})


def _filter(years: Years | None, where: Where | None, exclude: Ids[str] = ()) -> Filter:
    return Filter(dict(where or {}), {} if years is None else {"year": years}, frozenset(exclude))
