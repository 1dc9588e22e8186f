"""Texts measured against a corpus: read, embedded as the corpus's own abstracts are, compared.

corpus = MeasuringCorpus.open(Path("corpora/mine"))
[found] = corpus.measure(["We propose …"], rnd=True)
print(found.novelty.on, found.rnd, [paper.title for paper in found.novelty.past])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from manyheads.bank.embedding import load_embedder
from manyheads.bank.meta import Meta, read_meta
from manyheads.bank.records import Period
from manyheads.bank.vectors import Embedder
from manyheads.errors import EmbeddingError, MeasureError
from manyheads.measures.density import AROUND, OWN, relative_neighbour_density
from manyheads.measures.nearest import Floats
from manyheads.measures.novelty import NEIGHBOURS, Novelty, novelty
from manyheads.measures.papers import Papers, load_papers
from manyheads.measures.side import Normalise

if TYPE_CHECKING:
    from manyheads.bank.filling import Progress

Search: TypeAlias = Literal["exact", "approximate"]


@runtime_checkable
class Cutting(Protocol):
    """An embedder that knows what it does not read."""

    def unread(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text beyond those that the model reads."""
        ...


@dataclass(frozen=True)
class Measured:
    """What one text measures.

    Attributes:
        rnd: relative neighbour density among the past papers, None where it was not asked for.
        search: how the nearest papers were found; RND is always exact.
        unread: tokens at the text's end that the model did not read; None where that is not known.
    """

    novelty: Novelty
    rnd: float | None
    search: Search
    unread: int | None


class MeasuringCorpus:
    """A built corpus to measure texts against. Its vectors stay on disk, mapped; nothing needs closing."""

    def __init__(self, folder: Path, meta: Meta, model: Embedder, past: Papers, contemporary: Papers) -> None:
        self.folder, self.meta, self.model = folder, meta, model
        self.past, self.contemporary = past, contemporary

    @classmethod
    def open(
        cls, folder: Path, embedder: Embedder | None = None, progress: "Progress | None" = None
    ) -> "MeasuringCorpus":
        """Open a built corpus; without an embedder, the model that it was built with is looked for.

        Raises:
            CorpusError: the folder holds no built corpus, or another process is writing to it.
            EmbeddingError: `embedder` is not its model, or its model is not to be had here.
        """
        meta = read_meta(folder)
        model = embedder or load_embedder(meta.embedding.name)
        own = (meta.embedding.name, meta.embedding.dim)
        if (model.name, model.dim) != own:
            raise EmbeddingError(
                f"{folder} was built with {own[0]} ({own[1]} numbers a text), not with {model.name} ({model.dim}): "
                "distances between vectors of two models mean nothing",
                hint=f"choose its model: --set embedding={own[0]}, or build the corpus anew",
            )
        papers = load_papers(folder, meta, model, progress)
        return cls(folder, meta, model, papers["past"], papers["contemporary"])

    def measure(
        self,
        texts: Sequence[str],
        *,
        neighbours: int = NEIGHBOURS,
        normalise: Normalise = "year",
        rnd: bool = False,
        around: int = AROUND,
        own: int = OWN,
        search: Search = "exact",
    ) -> list[Measured]:
        """HD, CD, CI and ON of each text, and RND if asked for; see `novelty`, `relative_neighbour_density`.

        Args:
            search: `approximate` asks the index of the corpus's bank, where it has one, for the nearest papers.

        Raises:
            MeasureError: a text is empty, or the corpus has too few papers.
            EmbeddingError: the model cannot be loaded.
        """
        clean = [text.strip() for text in texts]
        if not all(clean):
            raise MeasureError(f"text {clean.index('') + 1} is empty")
        if not clean:
            return []
        vectors = self.model.embed(clean)
        found = novelty(
            vectors,
            self.past,
            self.contemporary,
            neighbours=neighbours,
            normalise=normalise,
            find=self._ask_the_bank if search == "approximate" else None,
        )
        densities: Sequence[float | None] = [None] * len(clean)
        if rnd:
            densities = relative_neighbour_density(vectors, self.past, around=around, own=own)
        unread: Sequence[int | None] = [None] * len(clean)
        if isinstance(self.model, Cutting):
            unread = self.model.unread(clean)
        rows = zip(found, densities, unread, strict=True)
        return [Measured(one, density, search, rest) for one, density, rest in rows]

    def _ask_the_bank(self, period: Period, vectors: Floats, k: int) -> list[list[str]]:
        from manyheads.bank.knowledge import KnowledgeBank
        from manyheads.bank.store import Filter

        with KnowledgeBank.open(self.folder, self.model, read_only=True) as bank:
            where = Filter(equals={"period": period})
            found = bank.collection.search_vectors(vectors, k, where, exact=False)
        return [[one.id for one in some] for some in found]
