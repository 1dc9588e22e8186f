"""Texts measured against a corpus: read, embedded as the corpus's own abstracts are, compared.

corpus = MeasuringCorpus.open(Path("corpora/mine"))
[found] = corpus.measure(["We propose …"], rnd=True)
print(found.novelty.on, found.rnd, [paper.title for paper in found.novelty.past])
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from manyheads.bank.embedding import load_embedder
from manyheads.bank.meta import Meta, read_meta
from manyheads.bank.records import Period
from manyheads.bank.vectors import Embedder
from manyheads.errors import EmbeddingError, MeasureError
from manyheads.literature.publication import fold
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
        exclude: Collection[str] = (),
    ) -> list[Measured]:
        """HD, CD, CI and ON of each text, and RND if asked for; see `novelty`, `relative_neighbour_density`.

        Args:
            search: `approximate` asks the index of the corpus's bank, where it has one, for the nearest papers.
            exclude: ids of papers that do not count, neither as neighbours nor in any mean.

        Raises:
            MeasureError: a text is empty, the corpus has too few papers, or lacks one of `exclude`.
            EmbeddingError: the model cannot be loaded.
        """
        clean = [text.strip() for text in texts]
        if not all(clean):
            raise MeasureError(f"text {clean.index('') + 1} is empty")
        if not clean:
            return []
        past, contemporary = self._counted(frozenset(exclude))
        vectors = self.model.embed(clean)
        found = novelty(
            vectors,
            past,
            contemporary,
            neighbours=neighbours,
            normalise=normalise,
            find=partial(self._ask_the_bank, frozenset(exclude)) if search == "approximate" else None,
        )
        densities: Sequence[float | None] = [None] * len(clean)
        if rnd:
            densities = relative_neighbour_density(vectors, past, around=around, own=own)
        rows = zip(found, densities, unread(self.model, clean), strict=True)
        return [Measured(one, density, search, rest) for one, density, rest in rows]

    def titled(self, titles: Iterable[str]) -> list[str]:
        """Ids of the papers that bear one of these titles, whatever their case and signs."""
        wanted = {key for title in titles if (key := fold(title))}
        sides = (self.past, self.contemporary)
        pairs = (pair for some in sides for pair in zip(some.ids, some.titles, strict=True))
        return [one for one, title in pairs if fold(title) in wanted]

    def _counted(self, exclude: frozenset[str]) -> tuple[Papers, Papers]:
        """B_past and B_con without some papers."""
        if strange := sorted(exclude.difference(self.past.ids, self.contemporary.ids)):
            raise MeasureError(
                f"{self.meta.name}: no paper {', '.join(strange)} to leave out",
                hint="--json names the ids of the papers near a text",
            )
        return self.past.without(exclude), self.contemporary.without(exclude)

    def _ask_the_bank(
        self, exclude: frozenset[str], period: Period, vectors: Floats, k: int
    ) -> list[list[str]]:
        from manyheads.bank.knowledge import KnowledgeBank
        from manyheads.bank.store import Filter

        with KnowledgeBank.open(self.folder, self.model, read_only=True) as bank:
            where = Filter(equals={"period": period})
            found = bank.collection.search_vectors(vectors, k + len(exclude), where, exact=False)
        return [[one.id for one in some if one.id not in exclude][:k] for some in found]


def unread(model: Embedder, texts: Sequence[str]) -> Sequence[int | None]:
    """Tokens at each text's end that the model does not read; None where it does not say."""
    return model.unread(texts) if isinstance(model, Cutting) else [None] * len(texts)
