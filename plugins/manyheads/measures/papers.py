"""The papers that texts are compared with, with their vectors: read from a corpus once, then mapped from disk."""

import json
import shutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from manyheads.base.errors import CorpusError, MeasureError
from manyheads.base.files import damaged_files, folder_beside
from manyheads.base.papers import Period
from manyheads.corpus.meta import Meta
from manyheads.corpus.vectors import Embedder, embedded

if TYPE_CHECKING:
    from manyheads.corpus.building import Progress


# Exact nearest neighbours by Euclidean distance.


Floats: TypeAlias = NDArray[np.float32]
Rows: TypeAlias = NDArray[np.intp]
Means: TypeAlias = NDArray[np.float64]
ROUNDING = 2**-23
"""Bound on the error of a product in float32: times dim."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The k nearest rows for each of q points, nearest first, ties by row: two (q, k) arrays.

    Attributes:
        means: (q, groups) the mean distance of each point to each group of rows.
    """

    rows: Rows
    distances: Floats
    means: Means


def nearest(
    points: Floats, among: Floats, k: int, groups: Sequence[slice] = (), *, without: Rows | None = None
) -> Neighbours:
    """The k rows of `among` (n, dim) nearest to each of `points` (q, dim), and the mean distance to each group of rows.

    Candidates by products are measured again by difference, in float64: rounding could hide that a text is its own copy.

    Args:
        without: (q,) a row of `among` that each point ignores: itself.

    Raises:
        MeasureError: `among` has fewer than k rows, or the vectors have another size.
    """
    if points.ndim != 2 or points.shape[1:] != among.shape[1:]:
        raise MeasureError(f"vectors of shape {points.shape} cannot be compared with {among.shape}")
    if k < 1 or len(among) - (without is not None) < k:
        raise MeasureError(
            f"{k} neighbours are more than the {len(among) - (without is not None)} papers",
            hint="use fewer, or a larger corpus",
        )
    found = Neighbours(
        np.empty((len(points), k), dtype=np.intp),
        np.empty((len(points), k), dtype=np.float32),
        np.empty((len(points), len(groups)), dtype=np.float64),
    )
    lengths = np.einsum("ij,ij->i", among, among)
    for at, point in enumerate(np.ascontiguousarray(points, dtype=np.float32)):
        own = point @ point
        far = np.maximum(among @ point * np.float32(-2) + lengths + own, 0)  # |p - a|² = |p|² + |a|² - 2 p·a
        for number, group in enumerate(groups):
            found.means[at, number] = np.sqrt(far[group]).mean(dtype=np.float64)
        if without is not None:
            far[without[at]] = np.inf
        error = ROUNDING * len(point) * float(own + lengths.max())
        near = np.flatnonzero(far <= np.partition(far, k - 1)[k - 1] + 2 * error)
        difference = point.astype(np.float64) - among[near]
        exact = np.sqrt(np.einsum("ij,ij->i", difference, difference)).astype(np.float32)
        order = np.lexsort((near, exact))[:k]
        found.rows[at], found.distances[at] = near[order], exact[order]
    return found


FOLDER = "measures"
"""In the corpus's folder."""
TITLED = "measures-titled"
"""The same for past papers, by title and abstract."""
BATCH = 64
"""Texts that are embedded at once."""
TABLE, VECTORS = "papers.json", "vectors.npy"
PERIODS: tuple[Period, Period] = ("past", "contemporary")
TOLD_EVERY = 1000
_COLUMNS = ("ids", "titles", "years", "citations")


@dataclass(frozen=True)
class Papers:
    """Papers of one period, ordered by year, then id: equal distances go to the older paper, then by id.

    Attributes:
        vectors: (n, dim) float32 of length one, as in the corpus.
        citations: None if the corpus has none.
    """

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    years: tuple[int, ...]
    citations: tuple[int | None, ...]
    vectors: Floats

    @classmethod
    def of(
        cls, ids: Sequence[str], titles: Sequence[str], years: Sequence[int], citations: Sequence[int | None],
        vectors: Floats,
    ) -> "Papers":  # fmt: skip
        """From columns of equal length, in any order."""
        order = sorted(range(len(ids)), key=lambda row: (years[row], ids[row]))
        return cls(tuple(ids), tuple(titles), tuple(years), tuple(citations), vectors).at(order)

    def __len__(self) -> int:
        return len(self.ids)

    def without(self, ids: Collection[str]) -> "Papers":
        """The papers without some; the same object if it has none of them."""
        rows = [row for row, one in enumerate(self.ids) if one not in ids]
        return self if len(rows) == len(self) else self.at(rows)

    def at(self, rows: Sequence[int]) -> "Papers":
        """The papers of these rows; they must be in the order of all."""
        columns: Any = {name: tuple(getattr(self, name)[row] for row in rows) for name in _COLUMNS}
        return Papers(**columns, vectors=np.ascontiguousarray(self.vectors[rows], dtype=np.float32))

    @cached_property
    def by_year(self) -> dict[int, slice]:
        """The rows of each year."""
        years, starts = (each.tolist() for each in np.unique(self.years, return_index=True))
        ends = [*starts[1:], len(self)]
        return {year: slice(start, end) for year, start, end in zip(years, starts, ends, strict=True)}


def load_papers(
    folder: Path, meta: Meta, model: Embedder, progress: "Progress | None" = None
) -> dict[Period, Papers]:
    """B_past and B_con of a built corpus; at first use, they are copied from its bank to files next to it.

    Raises:
        CorpusError: the corpus cannot be read, has no papers of a period, or its folder cannot be written.
        EmbeddingError: `model` is not the corpus's own.
    """
    from manyheads.corpus.ecosystem import PAPERS, KnowledgeBank
    from manyheads.corpus.qdrant import open_bank

    def read() -> dict[Period, Papers]:
        papers: dict[Period, Papers] = {}
        with KnowledgeBank(open_bank(folder, meta, PAPERS), model) as bank:
            for period in PERIODS:
                records = _records(bank, period, progress, vectors=True)
                if lacking := next((each.id for each in records if each.vector is None), None):
                    raise CorpusError(f"the paper {lacking} has no vector", hint="build the corpus again")
                columns = _columns_of(records, folder, period)
                papers[period] = Papers.of(*columns, vectors=np.stack([each.vector for each in records]))
        return papers

    return _cached(folder / FOLDER, meta.fingerprint, PERIODS, read)


def load_titled(folder: Path, meta: Meta, model: Embedder, progress: "Progress | None" = None) -> Papers:
    """B_past with the vectors of title and abstract together; the first time, all of it is embedded and kept.

    Raises:
        CorpusError: the corpus cannot be read, has no past papers, or its folder cannot be written.
    """
    from manyheads.corpus.ecosystem import PAPERS, KnowledgeBank
    from manyheads.corpus.qdrant import open_bank

    def embed() -> dict[Period, Papers]:
        with KnowledgeBank(open_bank(folder, meta, PAPERS), model) as bank:
            records = _records(bank, "past", None)
        columns = _columns_of(records, folder, "past")
        texts = [titled(each.payload["title"], each.payload.get("abstract") or "") for each in records]
        return {"past": Papers.of(*columns, vectors=vectors_of(model, texts, progress))}

    return _cached(folder / TITLED, meta.fingerprint, ("past",), embed)["past"]


def vectors_of(model: Embedder, texts: Sequence[str], progress: "Progress | None" = None) -> Floats:
    """(n, dim) float32, embedded in batches, several at once by a model on several machines."""
    vectors, done = list[Floats](), 0
    batches = (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
    for number, rows in embedded(model, ((len(batch), batch) for batch in batches)):
        vectors.append(rows)
        done += number
        if progress is not None:
            progress("embedding titles and abstracts", done, len(texts))
    return np.concatenate(vectors)


def titled(title: str, abstract: str) -> str:
    """Title and abstract as one text."""
    return f"{title.strip()}\n{abstract.strip()}".strip()


def _records(bank: Any, period: Period, progress: "Progress | None", *, vectors: bool = False) -> list[Any]:
    from manyheads.corpus.stores import Filter

    where, records = Filter(equals={"period": period}), list[Any]()
    total = bank.store.count(where)
    for done, record in enumerate(bank.store.scroll(where, vectors=vectors), 1):
        records.append(record)
        if progress is not None and (done % TOLD_EVERY == 0 or done == total):
            progress(f"reading {period} papers", done, total)
    return records


def _columns_of(records: Sequence[Any], folder: Path, period: Period) -> Any:
    """Ids, titles, years and citations."""
    if not records:
        raise CorpusError(f"{folder}: the corpus has no {period} papers to measure against")
    names = ("title", "year", "citations")
    return [[one.id for one in records], *([one.payload.get(name) for one in records] for name in names)]


def _cached(
    kept: Path, fingerprint: str, periods: Sequence[Period], make: Callable[[], dict[Period, Papers]]
) -> dict[Period, Papers]:
    """The papers of a folder; made, and written there, if it lacks them, or has those of another corpus.

    They are written to a temporary folder that is moved into place: another process may do the same.
    """
    if not all((kept / period / VECTORS).is_file() for period in periods):  # earlier versions shared some
        shutil.rmtree(kept, ignore_errors=True)
    if (broken := bool(damaged_files(kept))) or _fingerprint(kept) != fingerprint:
        papers = make()
        try:
            with folder_beside(kept, checked=True) as made:
                for period, some in papers.items():
                    (made / period).mkdir(parents=True)
                    np.save(made / period / VECTORS, some.vectors)
                    columns = json.dumps({name: getattr(some, name) for name in _COLUMNS}, ensure_ascii=False)
                    (made / period / TABLE).write_text(columns, encoding="utf-8")
                (made / TABLE).write_text(json.dumps({"fingerprint": fingerprint}), encoding="utf-8")
                if not broken and _fingerprint(kept) != fingerprint:
                    shutil.rmtree(kept, ignore_errors=True)
        except OSError as error:
            if _fingerprint(kept) != fingerprint:  # else another process was faster: the same papers
                raise CorpusError(
                    f"{kept}: the papers' vectors cannot be saved: {error.strerror or error}",
                    hint="free disk space, or copy the corpus to a writable folder",
                ) from error
    return {period: _mapped(kept / period) for period in periods}


def _fingerprint(kept: Path) -> str | None:
    """The fingerprint of the corpus whose copy is here; None without a complete one."""
    try:
        return str(json.loads((kept / TABLE).read_text(encoding="utf-8"))["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _mapped(folder: Path) -> Papers:
    """The papers in a folder, their vectors mapped from disk."""
    try:
        columns = json.loads((folder / TABLE).read_text(encoding="utf-8"))
        vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
        if any(len(columns[name]) != len(vectors) for name in _COLUMNS):
            raise ValueError(f"{len(vectors)} vectors for {len(columns['ids'])} papers")
        return Papers(**{name: tuple(columns[name]) for name in _COLUMNS}, vectors=vectors)
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = f"remove {folder.parent} and measure again"
        raise CorpusError(f"{folder}: damaged: {error}", hint=hint) from error
