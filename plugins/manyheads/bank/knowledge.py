"""The knowledge bank of papers: what a team retrieves from (VirSci 2025, §3.1, B_past and B_con)."""

import asyncio
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as Ids
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias

from manyheads.bank.qdrant import ClientStore, EdgeStore
from manyheads.bank.store import EVERYTHING, MEMORY, Closing, Filter, Payload, Record, Schema, VectorStore
from manyheads.bank.vectors import Embedder
from manyheads.errors import CorpusError, EmbeddingError, need_extra
from manyheads.papers import Hit, Paper, Period

if TYPE_CHECKING:
    from manyheads.bank.vectors import Vectors


# Texts that can be found by meaning: an embedder over a store, whatever the texts are of.

PAPERS = "papers"
CHUNK = 256


@dataclass(frozen=True, slots=True)
class Item:
    """What a collection keeps: `text` is embedded, `payload` (JSON values) is stored and filtered by."""

    id: str
    text: str
    payload: Payload


class Collection(Closing):
    """One named collection at a place: a folder (the default engine), a Qdrant server's URL, or `:memory:`.

        authors = Collection.create("my-bank", embedder, name="authors")
        authors.put(Item(one.name, profile, one.model_dump(mode="json")) for one, profile in scientists)
        [found] = await authors.find(["robust retrieval"], k=5)

    Raises EmbeddingError when the embedder is not the model of the vectors that are there already.
    """

    integers: ClassVar[tuple[str, ...]] = ()
    keywords: ClassVar[tuple[str, ...]] = ()
    """The payload fields that filters use, indexed for speed."""
    names: ClassVar[tuple[str, ...]] = ()
    """The names of its vectors, where an item has several."""

    def __init__(self, store: VectorStore, embedder: Embedder) -> None:
        self.store, self.embedder = store, embedder
        self.queries: Embedder = embedder
        """What queries are embedded with: the same model, with a memory where there is one."""
        if (store.model, store.dim) != (embedder.name, embedder.dim):
            store.close()
            raise EmbeddingError(
                f"the bank was built with {store.model} ({store.dim} numbers a text), "
                f"not with {embedder.name} ({embedder.dim})",
                hint=f"choose its model: --set embedding={store.model}, or build the bank again",
            )

    @classmethod
    def create(cls, place: str | Path, embedder: Embedder, *, name: str = PAPERS) -> Self:
        """A new collection in a folder, on a Qdrant server (URL) or in `:memory:`. Raises `CorpusError` where there
        is one already, or the place cannot be written or reached."""
        need_extra("corpus", "a knowledge bank")
        schema = Schema(embedder.name, embedder.dim, cls.integers, cls.keywords, cls.names)
        if address := _address(place):
            return cls(ClientStore.create(address, name, schema), embedder)
        return cls(EdgeStore.create(Path(place) / name, schema), embedder)

    @classmethod
    def open(
        cls, place: str | Path, embedder: Embedder, *, name: str = PAPERS, read_only: bool = False
    ) -> Self:
        """An existing collection; `read_only` lets several processes read one folder at the same time.

        Raises:
            CorpusError: there is none, or another process has it.
            EmbeddingError: it was built with another model.
        """
        need_extra("corpus", "a knowledge bank")
        if place == MEMORY:
            raise CorpusError(
                "a bank in memory cannot be opened again", hint="create it, or keep it in a folder"
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
        """Embed and store items, replacing those of the same id; the number of items.

        Args:
            vectors: (n, dim) of the n items in their order, to embed nothing.
            progress: told how many more are safely stored, after each chunk of 256.
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
        """The k nearest of each query, best first, off the event loop: one embedding, one look-up for all."""

        def look_up() -> list[list[Record]]:
            return self.store.query(self.queries.embed(queries), k, where)

        return await asyncio.to_thread(look_up) if queries else []

    def close(self) -> None:
        """Free the place for others."""
        self.store.close()


def _address(place: str | Path) -> str | None:
    """The place, where it is a server's or memory."""
    url = isinstance(place, str) and place.startswith(("http://", "https://"))
    return str(place) if url or place == MEMORY else None


Years: TypeAlias = tuple[int | None, int | None]
Where: TypeAlias = Mapping[str, str | int]

STORED = {"id", "title", "abstract", "year", "citations", "authors", "venue", "keywords", "affiliations"}
"""What a bank keeps of a paper; a corpus' fingerprint is taken of it."""


class KnowledgeBank(Collection):
    """Papers found by meaning, year and any other of their fields.

        from manyheads.bank.embedding import load_embedder
        with KnowledgeBank.create("my-bank", load_embedder()) as bank:
            bank.add([Paper(id="p1", title="Robust retrieval", abstract="We …", year=2014)], period="past")
            [hits] = await bank.search(["retrieval for robots"], k=5, years=(2010, 2015))
            print([(hit.paper.title, hit.score) for hit in hits])

    `years` is half open: `(2010, 2015)` means 2010 to 2014; None leaves an end open. What is embedded of a
    paper is its abstract, or its title where the abstract is empty.
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
        """Embed and store papers as `put` does; the `period` is kept beside them, for `where={"period": "past"}`."""
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
        """The k papers nearest to each query, best first; one embedding and one look-up for all queries."""
        found = await self.find(queries, k, _filter(years, where, exclude))
        return [[Hit(_paper(one), one.score) for one in some] for some in found]

    def get(self, ids: Sequence[str]) -> dict[str, Paper]:
        """Papers by id; unknown ids are not in the result."""
        return {one: _paper(record) for one, record in self.store.get(ids).items()}

    def papers(self, *, years: Years | None = None, where: Where | None = None) -> Iterator[Paper]:
        """All papers, or those of the years and fields given."""
        return map(_paper, self.store.scroll(_filter(years, where)))

    def count(self, *, years: Years | None = None, where: Where | None = None) -> int:
        """How many papers there are, of the years and fields given."""
        return self.store.count(_filter(years, where))


def paper_text(paper: Paper) -> str:
    """What stands for a paper when it is embedded."""
    return paper.abstract.strip() or paper.title


def _paper(record: Record) -> Paper:
    return Paper.model_validate({key: value for key, value in record.payload.items() if key in STORED})


def _filter(years: Years | None, where: Where | None, exclude: Ids[str] = ()) -> Filter:
    return Filter(dict(where or {}), {} if years is None else {"year": years}, frozenset(exclude))
