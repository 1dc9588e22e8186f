"""A research ecosystem on disk: B_past, B_con, the scientists and their collaborations (VirSci 2025, §3.1).

with Ecosystem.open(Path("corpora/mine")) as ecosystem:
    [papers] = await ecosystem.past(["robust retrieval"], k=8)
    experts = await ecosystem.find_scientists("dense retrieval", k=3, exclude={"Scientist17"})
"""

import asyncio
import itertools
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as Names
from contextlib import ExitStack, suppress
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from manyheads.base.errors import CorpusError, EmbeddingError, describe, need_extra
from manyheads.base.files import Closing
from manyheads.base.papers import Hit, Paper, People, Period, Scientist, profile_text
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.layers import LayeredStore, Layers, parts_of
from manyheads.corpus.meta import (
    AUTHORS,
    NAMES,
    NO_SCIENTISTS,
    SCIENTISTS,
    Meta,
    damaged,
    read_json,
    read_meta,
)
from manyheads.corpus.qdrant import ClientStore, EdgeStore, open_bank
from manyheads.corpus.stores import EVERYTHING, MEMORY, Filter, Payload, Schema, StoredRecord, VectorStore
from manyheads.corpus.vectors import Embedder, QueryEmbedder

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors


# Texts found by meaning: an embedder over a store, for any kind of text.

PAPERS = "papers"
CHUNK = 256
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Receives the step, the number done and, if known, the total."""


def counter(tell: Progress, step: str, total: int) -> Callable[[int], None]:
    """Sums the reports of batches."""
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        tell(step, done, total)

    count(0)
    return count


class Collection(Closing):
    """One named collection: in a folder (the default engine), at a Qdrant server's URL, or in `:memory:`.

        authors = Collection.create("my-bank", embedder, name="authors")
        authors.add_items((one.name, profile, one.model_dump(mode="json")) for one, profile in scientists)
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
            hint = "create a new one, or use a folder"
            raise CorpusError("a bank in memory cannot be opened again", hint=hint)
        if address := _address(place):
            return cls(ClientStore.open(address, name), embedder)
        return cls(EdgeStore.open(Path(place) / name, read_only=read_only), embedder)

    def add_items(
        self,
        items: Iterable[tuple[str, str, Payload]],
        vectors: "Vectors | None" = None,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Embed and store items, replacing those with the same id; returns their number.

        Args:
            items: id, text to embed, and payload (JSON values) for filters.
            vectors: (n, dim) for the n items in order, instead of embedding them.
            progress: receives the number of newly stored items, after each chunk of 256.
        """
        stream, done = iter(items), 0
        while chunk := list(itertools.islice(stream, CHUNK)):
            ids, texts, payloads = zip(*chunk, strict=True)
            rows = self.embedder.embed(texts) if vectors is None else vectors[done : done + len(chunk)]
            self.store.upsert(ids, rows, payloads)
            done += len(chunk)
            if progress is not None:
                progress(len(chunk))
        if vectors is not None and len(vectors) != done:
            raise EmbeddingError(f"{len(vectors)} vectors were given for {done} texts")
        return done

    async def find(
        self, queries: Sequence[str], k: int = 5, where: Filter = EVERYTHING
    ) -> list[list[StoredRecord]]:
        """The k most similar items for each query, best first, off the event loop: one embedding, one look-up."""

        def look_up() -> list[list[StoredRecord]]:
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
    last_year: int | None = None
    """That of the layers of a society, beyond the corpus's bound; None without layers."""

    def add(
        self,
        papers: Iterable[Paper],
        vectors: "Vectors | None" = None,
        progress: Callable[[int], None] | None = None,
        *,
        period: Period | None = None,
    ) -> int:
        """Embed and store papers as in `add_items`; the `period` is stored with them, for `where={"period": "past"}`."""
        also = {} if period is None else {"period": period}
        fields = ((one, one.model_dump(mode="json", include=STORED)) for one in papers)
        items = ((one.id, paper_text(one), own | also) for one, own in fields)
        return self.add_items(items, vectors, progress)

    async def search(
        self,
        queries: Sequence[str],
        k: int = 5,
        *,
        years: Years | None = None,
        where: Where | None = None,
        exclude: Names[str] = (),
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


def _paper(record: StoredRecord) -> Paper:
    return Paper.model_validate({key: value for key, value in record.payload.items() if key in STORED})


def _filter(years: Years | None, where: Where | None, exclude: Names[str] = ()) -> Filter:
    return Filter(dict(where or {}), {} if years is None else {"year": years}, frozenset(exclude))


# A built corpus.

_SCIENTISTS = TypeAdapter(list[Scientist])
_NAME = re.compile(rb'\{"name":"([^"\\]+)".*\}')


def read_people(folder: Path) -> People:
    """The scientists of a built corpus, each a line of its file. Raises `CorpusError` if it is missing or damaged."""
    path = folder / SCIENTISTS
    with suppress(OSError, ValueError):
        content = path.read_bytes().strip()
        rows = content[1:-1].split(b",\n ")
        names, fields = [*map(_NAME.fullmatch, rows)], Scientist.model_fields.keys()
        # 0.25 s for 100,000, a fifth of the time of reading them whole
        sound = content[:1] + content[-1:] == b"[]" and all(names)
        if sound and all(from_json(row).keys() <= fields for row in rows):
            return People(
                {name[1].decode(): row for name, row in zip(names, rows, strict=True) if name}, path
            )
    try:  # none, damaged, or written by another program
        return People.of(_SCIENTISTS.validate_python(read_json(folder, SCIENTISTS)))
    except ValidationError as wrong:
        raise damaged(path, describe(wrong)) from wrong


class Ecosystem(Closing):
    """A built corpus, open for reading by any number of processes. Created by `open`, or by `building.build_corpus`."""

    def __init__(
        self, folder: Path, meta: Meta, papers: KnowledgeBank, authors: Collection,
        over: "tuple[Ecosystem, Layers] | None" = None,
    ) -> None:  # fmt: skip
        self.folder, self.meta, self.papers = folder, meta, papers
        """`papers` contains B_past and B_con, separated by `where={"period": "past"}`."""
        self._authors = authors
        self.parts: dict[str, Closing] = {}
        """Other resources of the corpus, by name; closed with it."""
        self.held = ExitStack()
        """What else is closed with it."""
        papers.last_year = meta.layer and meta.layer.year
        self.base = over[0] if over else self
        """The corpus as it was built, under the layers of a society; of any other, itself."""
        self._queries = over[0]._queries if over else QueryEmbedder(papers.embedder)
        papers.queries = authors.queries = self._queries
        self._last_citations: Mapping[str, int] = over[1].last if over else {}
        self.scientists = over[0].scientists.changed(over[1].scientists) if over else read_people(folder)
        """S, in the order Scientist0, Scientist1, …"""

    @classmethod
    def open(cls, folder: Path, embedder: Embedder | None = None) -> "Ecosystem":
        """Open a built corpus, or one with the layers of a society; by default with the model that built it.

        Raises:
            CorpusError: the folder is not a built corpus, another process is writing to it, or a part under a layer is missing.
            EmbeddingError: `embedder` is not its model, or its model is not available.
        """
        need_extra("corpus", "a corpus")
        [lowest, *layers] = parts_of(folder)
        meta = read_meta(lowest)
        try:
            model = embedder or load_embedder(meta.embedding.name)
        except EmbeddingError as error:
            # word hashing, which it hints at, could not read this corpus's vectors
            raise EmbeddingError(
                f"{folder}: {error.message}, with which it was built",
                tried=error.tried,
                hint="install that model, or name the folder that has it: --set embedding=FOLDER; or build the corpus again",
            ) from error
        with ExitStack() as held:
            papers = held.enter_context(KnowledgeBank(open_bank(lowest, meta, PAPERS), model))
            authors = held.enter_context(Collection(open_bank(lowest, meta, AUTHORS), model))
            opened = base = cls(lowest, meta, papers, authors)
            if layers:
                opened = base.with_layers(folder)
                opened.held.callback(base.close)
            held.pop_all()
        return opened

    def with_layers(self, folder: Path) -> "Ecosystem":
        """This corpus with the layers up to the one in a folder. They share what is open; close it before this one.

        Raises:
            CorpusError: a layer is missing or damaged, or lies over another corpus.
        """
        layers = Layers(parts_of(folder)[1:])
        with ExitStack() as held:
            # in the engine of the corpus itself: another one would round scores in other ways, and break ties by that
            place = held.enter_context(tempfile.TemporaryDirectory(prefix="manyheads-layers-"))
            papers = held.enter_context(KnowledgeBank.create(place, self.embedder))
            written = [*layers.papers.values()]
            rows = _stacked([row for _, row in written], self.embedder.dim)
            papers.add([one for one, _ in written], rows, period="past")
            authors = held.enter_context(Collection.create(place, self.embedder, name=AUTHORS))
            fresh = [(name, profile_text(layers.scientists[name]), Payload()) for name in layers.profiles]
            authors.add_items(fresh, _stacked([*layers.profiles.values()], self.embedder.dim))
            opened = Ecosystem(
                folder,
                read_meta(folder),
                KnowledgeBank(LayeredStore(self.papers.store, papers.store, layers.citations), self.embedder),
                Collection(LayeredStore(self._authors.store, authors.store, {}), self.embedder),
                (self, layers),
            )
            opened.held = held.pop_all()
        return opened

    @property
    def embedder(self) -> Embedder:
        """The model of its vectors."""
        return self.papers.embedder

    def scientist(self, name: str) -> Scientist:
        """A scientist by masked name; raises CorpusError if unknown."""
        try:
            return self.scientists.scientist(name)
        except KeyError as unknown:
            last = len(self.scientists) - 1
            known = f"Scientist0 … Scientist{last}" if self.scientists else NO_SCIENTISTS
            raise CorpusError(f"{name!r}: no such scientist in {self.folder}", tried=known) from unknown

    def names(self) -> dict[str, str]:
        """Masked name to real name, for people; never for agents."""
        names = read_json(self.base.folder, NAMES)
        if not isinstance(names, dict):
            raise damaged(self.base.folder / NAMES, "not a JSON object of names")
        return {str(mask): str(real) for mask, real in cast("dict[Any, Any]", names).items()}

    def works(self, name: str, k: int) -> list[Paper]:
        """A scientist's `k` most cited past papers; ties by latest."""
        own = self.papers.papers(where={"period": "past", "authors": name})
        return sorted(own, key=lambda paper: (-(paper.citations or 0), -(paper.year or 0), paper.id))[:k]

    @property
    def last_year(self) -> int:
        """The last past year; with layers, that of the last one."""
        return self.meta.layer.year if self.meta.layer else self.meta.options.bound - 1

    def hot(self, k: int) -> list[Paper]:
        """The k papers that gained most citations in the last layer, most first, ties by id; none without layers."""
        best = nsmallest(k, self._last_citations, key=lambda one: (-self._last_citations[one], one))
        return [*self.papers.get(best).values()] if best else []

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
        if all(each.done() for each in self._queries.begin(queries)):  # as after a look-up of them
            return self._queries.unread(queries)
        return await asyncio.to_thread(self._queries.unread, queries)

    def expect(self, *queries: str) -> None:
        """Start embedding upcoming queries in a thread."""
        self._queries.begin(queries)

    def close(self) -> None:
        """Close the banks."""
        for part in self.parts.values():
            part.close()
        self.papers.close()
        self._authors.close()
        self.held.close()


def _stacked(rows: "Sequence[Vectors]", dim: int) -> "Vectors":
    import numpy as np

    return np.stack(rows) if rows else np.zeros((0, dim), dtype=np.float32)
