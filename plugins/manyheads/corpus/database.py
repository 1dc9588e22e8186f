"""The literature database: records of a corpus's papers with their vectors, stored in its folder; several processes may use them
(SciPIP, §3.1). `retrieval` finds papers with it."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar
from weakref import ref

from manyheads.base.errors import CorpusError
from manyheads.base.files import Closing, FileLock, LockedError
from manyheads.base.text import count
from manyheads.corpus.digest import PaperTexts, extract
from manyheads.corpus.ecosystem import CHUNK, Ecosystem, Progress, counter
from manyheads.corpus.ecosystem import Collection as Bank
from manyheads.corpus.graph import GRAPH, Extraction, Graph, Network, Recipe, Text
from manyheads.corpus.phrases import LEXICAL, KeyPhrases
from manyheads.corpus.qdrant import META
from manyheads.corpus.stores import Filter, lock_file
from manyheads.corpus.vectors import Remote, in_order

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

T = TypeVar("T")

RECORDS, VECTORS = "records", "vectors"
"""The folder of records' vectors in a corpus's folder, and its bank."""
BACKGROUND, SUMMARY, IDEAS = "background", "summary", "main_ideas"
VectorSource: TypeAlias = Literal["texts", "abstract"]
"""Vectors of a record: of its own three texts, or the paper's vector in the bank for all three."""
PATIENCE = 20.0
"""Seconds to wait for the vectors while another process uses them."""
WRITING = "writing.lock"
"""Lock file of processes that write vectors or wait to: readers release the vectors, and wait in turn."""
STEP = "extracting"
"""Its name in progress bars."""
LOCK = "records.lock"
"""Lock file in a corpus's folder of processes that add records."""
SAMPLE = 5_000
"""Number of papers that determine which phrases are common."""
LOOK = 0.1
"""Seconds between a reader's checks for a waiting writer."""


class Records(Bank):
    """Vectors of records, by paper."""

    integers = ("year",)
    keywords = ("period", "recipe", "vectors")
    names = (BACKGROUND, SUMMARY, IDEAS)


def gate(folder: Path, *, shared: bool) -> FileLock:
    """The lock of writers in the folder of records, which readers take briefly on opening. Raises `CorpusError`."""
    busy = f"{folder} is in use by another process, which writes records"
    return lock_file(folder / WRITING, busy, "copy the corpus to a writable folder", shared=shared)


class RecordBook(Closing):
    """The records of a corpus, beside its graph.

    Files are opened on demand. One process may write the vectors, only within `store_records`; others wait a short time. A reader keeps
    them open, as opening takes longer than ten look-ups, until `close` or until a writer waits: a thread checks ten times a
    second.

    Each call raises:
        CorpusError: a file cannot be read or written, or there are no records.
        EmbeddingError: the vectors are not the corpus's model's.
    """

    def __init__(self, ecosystem: Ecosystem) -> None:
        self.ecosystem = ecosystem.base
        """Papers of layers have no records."""
        self._lock = threading.RLock()
        self._graph: Graph | None = None
        self._records: Records | None = None
        self._network: Network | None = None
        self.recipes: list[Recipe] = []
        """Those of the network."""

    @property
    def folder(self) -> Path:
        return self.ecosystem.folder / RECORDS

    def close(self) -> None:
        """Close files and free memory until the next use."""
        with self._lock:
            for part in (self._graph, self._records):
                if part is not None:
                    part.close()
            self._graph = self._records = self._network = None

    @property
    def graph(self) -> Graph:
        """Citations and records. A corpus built without a graph gets one with its papers only."""
        with self._lock:
            if self._graph is None:
                graph = Graph(self.ecosystem.folder / GRAPH)
                if graph.counts().papers < self.ecosystem.papers.count():
                    graph.add_papers((paper.id, paper.year) for paper in self.ecosystem.papers.papers())
                self._graph = graph
            return self._graph

    def store_records(
        self,
        extractions: Iterable[Extraction],
        vectors: VectorSource = "texts",
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Store records, replacing the papers' earlier ones; returns their number. If interrupted, stored records are kept.

        Args:
            vectors: `texts` embeds background, summary and main ideas; `abstract` embeds nothing and uses the paper's vector in
                the bank for all three.
            progress: receives the number of newly stored records, after each batch: 256, or 1024 without embedding.
        """
        # each batch ends with a flush, which takes longer than storing it
        count, size = 0, CHUNK if vectors == "texts" else 4 * CHUNK
        with self._lock, self._when_free(lambda: gate(self.folder, shared=False)):
            self._free_vectors()
            bank: Records | None = None
            try:
                stream = iter(extractions)
                while chunk := [*islice(stream, size)]:
                    records = {one.paper: one for one in chunk}
                    papers = self.ecosystem.papers.store.get([*records], vectors=vectors == "abstract")
                    if unknown := [paper for paper in records if paper not in papers]:
                        hint = "extract papers of this corpus only"
                        raise CorpusError(f"{self.ecosystem.folder}: no paper {unknown[0]!r}", hint=hint)
                    bank = bank or self._writable()
                    payloads = [
                        {
                            **{key: papers[paper].payload.get(key) for key in ("year", "period")},
                            "recipe": one.recipe,
                            "vectors": vectors,
                        }
                        for paper, one in records.items()
                    ]
                    own = [papers[paper].vector for paper in records] if vectors == "abstract" else None
                    bank.store.upsert([*records], self._vectors([*records.values()], own), payloads)
                    self.graph.add_extractions(records.values())
                    count += len(records)
                    if progress is not None:
                        progress(len(records))
            finally:
                self._network = None
                if bank is not None:
                    bank.close()
        return count

    def _vectors(self, records: Sequence[Extraction], own: "Sequence[Any] | None") -> "dict[str, Vectors]":
        import numpy as np

        shape = (len(records), self.ecosystem.embedder.dim)
        rows = {name: np.zeros(shape, dtype=np.float32) for name in Records.names}
        if own is not None:
            rows[BACKGROUND] = np.stack(own)
            return rows
        texts = {
            BACKGROUND: [one.background for one in records],
            SUMMARY: [one.summary for one in records],
            IDEAS: [" ".join(one.main_ideas) for one in records],
        }
        places = [(name, row) for name, some in texts.items() for row, one in enumerate(some) if one.strip()]
        embeddings = self.ecosystem.embedder.embed([texts[name][row] for name, row in places])
        for (name, row), vector in zip(places, embeddings, strict=True):
            rows[name][row] = vector
        return rows

    def records(self, papers: Collection[str]) -> dict[str, Extraction]:
        """The records of papers; papers without one are omitted."""
        return self.graph.extraction(papers)

    def without_vectors(self) -> list[str]:
        """Ids of the papers whose records have no vectors."""
        papers = [one.paper for one in self.graph.extractions()]
        if not papers or not self._has_vectors:
            return papers
        with self._open_records() as bank:
            there = {one.id for one in bank.store.scroll()}
        return [one for one in papers if one not in there]

    def has_own_vectors(self) -> bool:
        """Whether records have vectors of their own texts, not only of the papers' abstracts."""
        with self._open_records() as bank:
            return bank.store.count(Filter({"vectors": "texts"})) > 0

    def restore_vectors(self, tell: Progress) -> int:
        """Recompute missing vectors of records: of the abstract for records by rules, else of their texts; returns their number."""
        if papers := self.without_vectors():
            by_rules = {one.maker for one in self.graph.recipes()} == {LEXICAL}
            chunks = (papers[start : start + CHUNK] for start in range(0, len(papers), CHUNK))
            records = (one for chunk in chunks for one in self.records(chunk).values())
            self.store_records(records, "abstract" if by_rules else "texts", counter(tell, STEP, len(papers)))
        return len(papers)

    def readings(self, papers: Sequence[str]) -> Iterator[PaperTexts]:
        """The texts of papers, by id and in order; a few hundred are in memory at once."""
        for start in range(0, len(papers), CHUNK):
            chunk = papers[start : start + CHUNK]
            known, texts = self.ecosystem.papers.get(chunk), self.graph.texts(chunk)
            yield from (PaperTexts(known[one], texts.get(one, Text("", ""))) for one in chunk if one in known)

    def extract(
        self,
        papers: Sequence[str],
        tell: Progress = lambda step, done, total: None,
        rules: Remote | None = None,
    ) -> int:
        """Add lexical records of papers in batches, with the papers' own vectors; returns their number. `rules` applies them
        elsewhere: as `digest.extract`, a list."""
        bank = self.ecosystem.papers
        some = islice(bank.papers(), None, None, max(1, bank.count() // SAMPLE))
        phrases = KeyPhrases.of(f"{one.title}. {one.abstract}" for one in some)
        count = counter(tell, STEP, len(papers))
        records, readings = extract(self.readings(papers), phrases), self.readings(papers)
        if rules:
            batches = iter(lambda: [*islice(readings, CHUNK)], [])
            begun = ((None, rules.start([batch, phrases])) for batch in batches)
            records = (one for _, some in in_order(begun, rules.ahead) for one in some)
        return self.store_records(records, "abstract", count)

    def extracting(self, *, wait: bool = False) -> FileLock:
        """Lock for adding records, optionally with a wait until it is free. Raises `CorpusError` if the folder cannot be written, or
        another process has the lock."""
        folder = self.ecosystem.folder
        remedy = "its papers have no records; copy the corpus to a writable folder"
        return lock_file(
            folder / LOCK, f"{folder}: another process is extracting its papers", remedy, wait=wait
        )

    # Open files.

    @property
    def network(self) -> Network:
        """The graph in memory, a snapshot from its first use after the last `store_records`."""
        with self._lock:
            if self._network is None:
                self._network, self.recipes = Network(self.graph), self.graph.recipes()
            return self._network

    @contextmanager
    def _open_records(self) -> Generator[Records]:
        """The vectors for reading, locked for this block."""
        with self._lock:
            if self._records is None:
                if not self._has_vectors:
                    lost = self.graph.counts().extractions
                    what = (
                        "the vectors of its records are missing" if lost else "its papers have no records yet"
                    )
                    hint = f"manyheads corpus extract {self.ecosystem.folder}"
                    raise CorpusError(f"{self.ecosystem.folder}: {what}", hint=hint)
                model = self.ecosystem.embedder
                with self._when_free(lambda: gate(self.folder, shared=True)):
                    bank = self._when_free(
                        lambda: Records.open(self.folder, model, name=VECTORS, read_only=True)
                    )
                self._records = bank
                watch = (ref(self), ref(bank))
                threading.Thread(
                    target=_let_writers_in, args=watch, name="manyheads-records", daemon=True
                ).start()
            yield self._records

    def _writable(self) -> Records:
        make = Records.open if self._has_vectors else Records.create
        return self._when_free(lambda: make(self.folder, self.ecosystem.embedder, name=VECTORS))

    def let_writers_in(self, bank: Records) -> bool:
        """Close the vectors if a writer waits; False once they are closed."""
        try:
            gate(self.folder, shared=True).release()
        except CorpusError:
            with self._lock:
                if self._records is bank:
                    self._free_vectors()
                    self._network = None  # reload after a change
        return self._records is bank

    def _when_free(self, make: Callable[[], T]) -> T:
        """Open the vectors, with retries while another process briefly uses them."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return make()
            except CorpusError as error:
                if not isinstance(error.__cause__, LockedError):
                    error.hint = (
                        f"{error.hint}; or remove {self.folder}: manyheads corpus extract {self.ecosystem.folder} recreates it, "
                        "without a model"
                    )
                    raise
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    @property
    def _has_vectors(self) -> bool:
        return (self.folder / VECTORS / META).is_file()

    def _free_vectors(self) -> None:
        if self._records is not None:
            self._records.close()
            self._records = None


def _let_writers_in(book: "ref[RecordBook]", bank: "ref[Records]") -> None:
    """Check for writers until the vectors are closed."""
    while True:
        time.sleep(LOOK)
        owner, vectors = book(), bank()
        if owner is None or vectors is None or not owner.let_writers_in(vectors):
            return
        del owner, vectors


def records_in_short(folder: Path, name: str) -> str:
    """Number and makers of a corpus's records, in words; `name` is the user's name for it. Raises `CorpusError`."""
    with Graph(folder / GRAPH) as graph:
        counts, recipes = graph.counts(), graph.recipes()
    by: Counter[str] = Counter()
    for one in recipes:
        by["rules" if one.maker == LEXICAL else one.maker] += one.records
    if not by:
        return f"no records yet: created by rules at first use, or by a model with manyheads corpus extract {name} --model …"
    made = ", ".join(f"{count(number, 'record')} by {maker}" for maker, number in by.most_common())
    rest = counts.papers - counts.extractions
    more = f", {count(rest, 'paper')} without one, to be created by rules at first use"
    return made + more * (rest > 0)
