"""The vectors of a large bank as one matrix on disk, ordered by year: exact search in one pass over the years asked for.

The engine's exact search looks at each paper by itself and holds the interpreter meanwhile; products with the matrix are quicker and
let other threads run. The engine keeps everything else about a paper.
"""

import shutil
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from manyheads.base.errors import CorpusError
from manyheads.base.papers import Period
from manyheads.corpus.vectors import Filter, point_id

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

MATRIX_FROM = 10_000
"""Papers from which a corpus has a matrix; the engine needs some 1 ms for fewer."""
FOLDER, VECTORS, ROWS = "matrix", "vectors.npy", "rows.npy"
PERIODS = get_args(Period)
_ROW = np.dtype([("point", "u1", 16), ("year", "<i4"), ("period", "u1")])
BLOCK, AT_ONCE, GATHERED, PIECE = 64, 8, 8192, 2**17
"""Rows of which the best is looked at, queries of one pass, rows moved at a time, numbers of one product."""
ROUNDING = 2**-23
"""Bound on the error of a product in float32: times dim."""


@contextmanager
def writing_matrix(
    bank: Path, dim: int
) -> Generator[Callable[[Sequence[tuple[int, str]], Period, "Vectors"], None]]:
    """Write the matrix of a bank in its folder; complete at the end of the block.

    Yields a function that adds n papers of a period, as years and ids, with their vectors, (n, dim), in any order.
    """
    shutil.rmtree(folder := bank / FOLDER, ignore_errors=True)
    folder.mkdir(parents=True)
    keys = list[tuple[int, str, int]]()
    with TemporaryFile(dir=folder) as raw:

        def add(papers: Sequence[tuple[int, str]], period: Period, vectors: "Vectors") -> None:
            keys.extend((*paper, PERIODS.index(period)) for paper in papers)
            raw.write(np.ascontiguousarray(vectors, dtype="<f4").tobytes())

        yield add
        raw.flush()
        shape, order = (len(keys), dim), sorted(range(len(keys)), key=keys.__getitem__)
        given = np.memmap(raw, dtype="<f4", mode="r", shape=shape)
        vectors = np.lib.format.open_memmap(folder / VECTORS, mode="w+", dtype="<f4", shape=shape)
        for start in range(0, len(keys), GATHERED):
            vectors[start : start + GATHERED] = given[order[start : start + GATHERED]]
        vectors.flush()
    rows = [
        (np.frombuffer(uuid.UUID(point_id(one)).bytes, dtype="u1"), year, code)
        for year, one, code in map(keys.__getitem__, order)
    ]
    np.save(folder / ROWS, np.array(rows, dtype=_ROW))


class Matrix:
    """The matrix of a bank, mapped from disk; see `Matrix.open`."""

    def __init__(self, vectors: "Vectors", rows: Any) -> None:
        self.vectors, self._points = vectors, rows["point"]
        self._years, self._codes = (np.ascontiguousarray(rows[name]) for name in ("year", "period"))

    @classmethod
    def open(cls, bank: Path) -> "Matrix | None":
        """The matrix in a bank's folder; None if it has none. Raises `CorpusError` if it is damaged."""
        folder = bank / FOLDER
        if not (folder / ROWS).is_file():
            return None
        try:
            vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
            rows = np.load(folder / ROWS, mmap_mode="r", allow_pickle=False)
            if vectors.ndim != 2 or rows.dtype != _ROW or len(rows) != len(vectors):
                raise ValueError(f"{len(rows)} rows for {len(vectors)} vectors")
            return cls(np.asarray(vectors), rows)
        except (OSError, ValueError, TypeError) as error:
            raise CorpusError(f"{folder}: damaged: {error}", hint="build the corpus again") from error

    def __len__(self) -> int:
        return len(self.vectors)

    def of_period(self, period: Period) -> "Vectors | None":
        """The vectors of a period's papers, ordered by year, then id; None if other papers are among them."""
        rows = np.flatnonzero(self._codes == PERIODS.index(period))
        if not len(rows) or rows[-1] - rows[0] + 1 != len(rows):
            return None
        return self.vectors[rows[0] : rows[-1] + 1]

    def selects(self, where: Filter) -> bool:
        """Whether it knows the conditions of a filter: year and period."""
        known = where.equals.get("period", PERIODS[0]) in PERIODS
        return known and {*where.ranges} <= {"year"} and {*where.equals} <= {"period"}

    def nearest(self, queries: "Vectors", k: int, where: Filter) -> list[dict[str, float]]:
        """For each of (q, dim) unit vectors, the points of the k most similar papers with their cosines, and those of papers that
        are as similar as the last of them."""
        low, high = where.ranges.get("year", (None, None))
        first = 0 if low is None else int(np.searchsorted(self._years, low))
        last = len(self) if high is None else int(np.searchsorted(self._years, high))
        among = np.asarray(self.vectors[first:last])
        period: Any = where.equals.get("period")
        barred = None if period is None else self._codes[first:last] != PERIODS.index(period)
        excluded = {uuid.UUID(point_id(one)).bytes for one in where.exclude}
        found = list[dict[str, float]]()
        for start in range(0, len(queries), AT_ONCE):
            some = np.asarray(queries[start : start + AT_ONCE], dtype=np.float32)
            for query, scores in zip(some, products(some, among), strict=True):
                if barred is not None:
                    scores[barred] = -np.inf
                rows = best(scores, k + len(excluded), ROUNDING * among.shape[1])
                exact = (among[rows].astype(np.float64) @ query.astype(np.float64)).astype(np.float32)
                points = [self._points[first + row].tobytes() for row in rows.tolist()]
                pairs = [pair for pair in zip(exact.tolist(), points, strict=True) if pair[1] not in excluded]
                pairs.sort(reverse=True)
                least = pairs[k - 1][0] if len(pairs) > k else -np.inf
                found.append({str(uuid.UUID(bytes=point)): score for score, point in pairs if score >= least})
        return found


def products(queries: "Vectors", among: "Vectors") -> "Vectors":
    """(q, n): each query with each row, in pieces that fit the processor's cache and that the library gives to one thread: on
    a busy machine, waiting for another thread takes longer than the product."""
    found = np.empty((len(queries), len(among)), dtype=np.float32)
    size = max(1, PIECE // queries.shape[1])
    for start in range(0, len(among), size):
        rows = among[start : start + size]
        for query, scores in zip(queries, found, strict=True):
            np.dot(rows, query, out=scores[start : start + size])
    return found


def best(scores: Any, k: int, error: float) -> Any:
    """The rows of the k highest scores, and all that rounding could hide; without those of minus infinity."""
    blocks = len(scores) // BLOCK
    if blocks > k:  # k blocks have a score of at least the k-th best of the blocks' highest
        tops = scores[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)
        rows = np.flatnonzero(scores >= np.partition(tops, blocks - k)[blocks - k] - 2 * error)
    else:
        rows = np.arange(len(scores))
    if len(rows) > k:
        some = scores[rows]
        rows = rows[some >= np.partition(some, len(some) - k)[len(some) - k] - 2 * error]
    return rows[np.isfinite(scores[rows])]
