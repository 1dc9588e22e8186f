"""The vectors of a large bank as one matrix on disk, ordered by year: exact search in one pass over the years asked for.

The engine's exact search looks at each paper by itself and holds the interpreter meanwhile; products with the matrix are quicker and
let other threads run. The engine keeps everything else about a paper.
"""

import json
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from manyheads.base.errors import CorpusError
from manyheads.corpus.store import Filter, point_id

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

MATRIX_FROM = 10_000
"""Papers from which a corpus has a matrix; the engine needs some 1 ms for fewer."""
FOLDER, VECTORS, ROWS, PERIODS = "matrix", "vectors.npy", "rows.npy", "periods.json"
_UNSORTED = "vectors.raw"
_ROW = np.dtype([("point", "u1", 16), ("year", "<i4"), ("period", "u1")])
BLOCK, AT_ONCE, GATHERED, PIECE = 64, 8, 8192, 2**17
"""Rows of which the best is looked at, queries of one pass, rows moved at a time, numbers of one product."""
ROUNDING = 2**-23
"""Bound on the error of a product in float32: times dim."""


class MatrixFile:
    """Writes the matrix of a bank in its `folder`, in any order of papers; complete at the end of its `with` block."""

    def __init__(self, folder: Path, dim: int) -> None:
        self._folder, self._dim = folder / FOLDER, dim
        self._keys, self._periods = list[tuple[int, str, int]](), list[str]()

    def __enter__(self) -> Self:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self._raw = (self._folder / _UNSORTED).open("wb")
        return self

    def add(self, ids: Sequence[str], years: Sequence[int], period: str, vectors: "Vectors") -> None:
        """n papers of a period with their vectors, (n, dim)."""
        if period not in self._periods:
            self._periods.append(period)
        code = self._periods.index(period)
        self._keys += ((year, one, code) for one, year in zip(ids, years, strict=True))
        self._raw.write(np.ascontiguousarray(vectors, dtype="<f4").tobytes())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._raw.close()
        if kind is None and self._keys:
            self._sort()
        (self._folder / _UNSORTED).unlink()

    def _sort(self) -> None:
        count = len(self._keys)
        raw = np.memmap(self._folder / _UNSORTED, dtype="<f4", mode="r", shape=(count, self._dim))
        order = np.array(sorted(range(count), key=self._keys.__getitem__), dtype=np.intp)
        shape = (count, self._dim)
        target = np.lib.format.open_memmap(self._folder / VECTORS, mode="w+", dtype="<f4", shape=shape)
        for start in range(0, count, GATHERED):
            target[start : start + GATHERED] = raw[order[start : start + GATHERED]]
        target.flush()
        rows = np.zeros(count, dtype=_ROW)
        for place, row in enumerate(order.tolist()):
            year, one, code = self._keys[row]
            rows[place] = np.frombuffer(uuid.UUID(point_id(one)).bytes, dtype="u1"), year, code
        np.save(self._folder / ROWS, rows)
        (self._folder / PERIODS).write_text(json.dumps(self._periods), encoding="utf-8")


class Matrix:
    """The matrix of a bank, mapped from disk; see `Matrix.open`."""

    def __init__(self, vectors: "Vectors", rows: Any, periods: Sequence[str]) -> None:
        self.vectors, self._points, self._years = vectors, rows["point"], np.ascontiguousarray(rows["year"])
        self._codes, self._periods = np.ascontiguousarray(rows["period"]), periods

    @classmethod
    def open(cls, bank: Path) -> "Matrix | None":
        """The matrix in a bank's folder; None if it has none. Raises `CorpusError` if it is damaged."""
        folder = bank / FOLDER
        if not (folder / PERIODS).is_file():
            return None
        try:
            vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
            rows = np.load(folder / ROWS, mmap_mode="r", allow_pickle=False)
            periods = json.loads((folder / PERIODS).read_text(encoding="utf-8"))
            if vectors.ndim != 2 or rows.dtype != _ROW or len(rows) != len(vectors):
                raise ValueError(f"{len(rows)} rows for {len(vectors)} vectors")
            return cls(np.asarray(vectors), rows, periods)
        except (OSError, ValueError, TypeError) as error:
            raise CorpusError(f"{folder}: damaged: {error}", hint="build the corpus again") from error

    def __len__(self) -> int:
        return len(self.vectors)

    def of_period(self, period: str) -> "Vectors | None":
        """The vectors of a period's papers, ordered by year, then id; None if other papers are among them."""
        code = self._periods.index(period) if period in self._periods else -1
        rows = np.flatnonzero(self._codes == code)
        if not len(rows) or rows[-1] - rows[0] + 1 != len(rows):
            return None
        return self.vectors[rows[0] : rows[-1] + 1]

    def selects(self, where: Filter) -> bool:
        """Whether it knows the fields of a filter: year and period."""
        return {*where.ranges} <= {"year"} and {*where.equals} <= {"period"}

    def nearest(self, queries: "Vectors", k: int, where: Filter) -> list[dict[str, float]]:
        """For each of (q, dim) unit vectors, the points of the k most similar papers with their cosines, and those of papers that
        are as similar as the last of them."""
        low, high = where.ranges.get("year", (None, None))
        first = 0 if low is None else int(np.searchsorted(self._years, low))
        last = len(self) if high is None else int(np.searchsorted(self._years, high))
        among, barred = np.asarray(self.vectors[first:last]), self._barred(first, last, where)
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

    def _barred(self, first: int, last: int, where: Filter) -> Any:
        """The rows of another period than the filter's; None if there are none."""
        period = where.equals.get("period")
        if period is None:
            return None
        code = self._periods.index(str(period)) if period in self._periods else -1
        other = self._codes[first:last] != code
        return other if other.any() else None


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
