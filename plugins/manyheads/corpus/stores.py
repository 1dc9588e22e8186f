"""The interface of vector stores: folder, server and memory are interchangeable."""

import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from manyheads.base.errors import CorpusError, EmbeddingError
from manyheads.base.files import Closing, FileLock, LockedError, make_folder

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors


Payload: TypeAlias = dict[str, Any]
Points: TypeAlias = Iterable[Any]
"""Of Qdrant's engine, or of its client."""
MEMORY = ":memory:"
ID_FIELD = "_id"
_NAMESPACE = uuid.UUID("5f1b9a52-6a0c-5b59-9d8e-0f6c5ad9f1f4")


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on a record, all required.

    `equals`: field → value (a list field matches if it contains the value). `ranges`: integer field → (minimum, less than), either
    may be None. `exclude`: ids to skip.
    """

    equals: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    ranges: Mapping[str, tuple[int | None, int | None]] = field(
        default_factory=dict[str, tuple[int | None, int | None]]
    )
    exclude: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A stored record with its cosine similarity (-1…1) to the query; `vector` is (dim,) float32 if requested, or `vectors`, by
    name, in a store with several."""

    id: str
    payload: Payload
    vector: "Vectors | None" = None
    score: float = 0.0
    vectors: "Mapping[str, Vectors]" = field(default_factory=dict[str, "Vectors"])


@dataclass(frozen=True, slots=True)
class Schema:
    """Properties of a store: the model of its vectors, their size, the fields for filters, and the names of its vectors if a record
    has several."""

    model: str
    dim: int
    integers: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


EVERYTHING = Filter()


class VectorStore(Closing):
    """Records of (id, unit vector, payload), or with several named vectors each. Every call raises CorpusError if the store
    fails.

    A completed `upsert` survives the death of the process (except in memory).
    """

    def __init__(self, schema: Schema) -> None:
        self.model, self.dim, self.names = schema.model, schema.dim, schema.names

    def upsert(
        self, ids: Sequence[str], vectors: "Vectors | Mapping[str, Vectors]", payloads: Sequence[Payload]
    ) -> None:
        """Write n records, ideally some hundreds at a time, replacing known ids; vectors are (n, dim), by name in a store with
        several, where a row of zeros means none."""
        named = isinstance(vectors, Mapping)
        if {*vectors} != {*self.names} if named else self.names:
            raise EmbeddingError(f"vectors are required for: {', '.join(self.names) or 'one name only'}")
        for some in vectors.values() if named else (vectors,):
            self._check(some, len(ids))
        if ids:
            stored = [{**payload, ID_FIELD: one} for one, payload in zip(ids, payloads, strict=True)]
            rows = _by_record(vectors) if named else vectors.tolist()
            with self._errors():
                self._write([*map(point_id, ids)], rows, stored)

    def query(
        self, vectors: "Vectors", k: int, where: Filter = EVERYTHING, *, using: str = ""
    ) -> list[list[StoredRecord]]:
        """The k most similar records for each of (q, dim) vectors, by exact search, best first, ties by id. In a store with several
        vectors per record, `using` selects one."""
        self._check(vectors)
        if using not in (self.names or ("",)):
            raise EmbeddingError(
                f"no vectors {using!r} in the bank: {', '.join(self.names) or 'they have no names'}"
            )
        rows, best = vectors.tolist(), dict[int, list[StoredRecord]]()
        left, limit = [*range(len(rows))], k + 1
        while left:
            with self._errors():
                answers = self._nearest([rows[one] for one in left], limit, where, using or None)
            for one, points in zip(left, answers, strict=True):
                best[one] = sorted(map(record_of, points), key=lambda record: (-record.score, record.id))
            # the engine's order of ties depends on its files: get all of them, then cut by id
            full = (one for one in left if len(best[one]) == limit)
            left = [one for one in full if best[one][-1].score == best[one][k - 1].score]
            limit *= 4
        return [best[one][:k] for one in range(len(rows))]

    def get(self, ids: Sequence[str], *, vectors: bool | Sequence[str] = False) -> dict[str, StoredRecord]:
        """The records with these ids and their vectors, optionally only some names; unknown ids are omitted."""
        with self._errors():
            points = self._retrieve(
                [point_id(one) for one in ids], vectors if isinstance(vectors, bool) else [*vectors]
            )
        records = {record.id: record for record in map(record_of, points)}
        return {one: records[one] for one in ids if one in records}

    def scroll(self, where: Filter = EVERYTHING, *, vectors: bool = False) -> Iterator[StoredRecord]:
        """All records that satisfy `where`, page by page, in a stable order."""
        following, begun = None, False
        while following is not None or not begun:
            with self._errors():
                page, following = self._page(where, following, vectors)
            begun = True
            yield from map(record_of, page)

    def count(self, where: Filter = EVERYTHING) -> int:
        """Number of records that satisfy `where`."""
        with self._errors():
            return self._count(where)

    # Classes of both Qdrant's engine and its client; points have `payload`, `vector` or `score`.

    @abstractmethod
    def _errors(self) -> AbstractContextManager[None]:
        """Turns failures in the block into CorpusError."""

    @abstractmethod
    def _count(self, where: Filter) -> int: ...

    @abstractmethod
    def _write(self, points: Sequence[str], vectors: list[Any], payloads: Sequence[Payload]) -> None: ...

    @abstractmethod
    def _nearest(self, vectors: list[Any], k: int, where: Filter, using: str | None) -> Iterable[Points]: ...

    @abstractmethod
    def _retrieve(self, points: list[Any], vectors: bool | list[str]) -> Points: ...

    @abstractmethod
    def _page(self, where: Filter, start: Any, vectors: bool) -> tuple[Points, Any]: ...

    def _check(self, vectors: "Vectors", rows: int | None = None) -> None:
        """Raises EmbeddingError unless the vectors are (rows, dim) and finite."""
        import numpy as np

        if vectors.ndim != 2 or vectors.shape[1] != self.dim or rows not in (None, len(vectors)):
            raise EmbeddingError(
                f"vectors of shape {vectors.shape} do not fit: expected ({'n' if rows is None else rows}, {self.dim})"
            )
        if not np.isfinite(vectors).all():
            raise EmbeddingError("the vectors contain non-finite numbers")


def _by_record(vectors: "Mapping[str, Vectors]") -> list[dict[str, list[float]]]:
    """Each record's vectors by name, without rows of zeros."""
    records: list[dict[str, list[float]]] = [{} for _ in range(max(map(len, vectors.values()), default=0))]
    for name, rows in vectors.items():
        for record, row in zip(records, rows, strict=True):
            if row.any():
                record[name] = row.tolist()
    return records


def point_id(record_id: str) -> str:
    """The UUID for a record's id: Qdrant only accepts integers and UUIDs."""
    return str(uuid.uuid5(_NAMESPACE, record_id))


def record_of(point: Any) -> StoredRecord:
    """A point of Qdrant's engine or client as a record."""
    payload = dict(point.payload or {})
    if ID_FIELD not in payload:
        raise CorpusError(f"the store contains a point without {ID_FIELD}, written by other software")
    vector = getattr(point, "vector", None)
    named = vector.items() if isinstance(vector, dict) else ()
    arrays = {name: row for name, one in named if (row := _row(one)) is not None}
    score = max(-1.0, min(1.0, getattr(point, "score", 0.0)))  # rounding can pass 1
    return StoredRecord(str(payload.pop(ID_FIELD)), payload, _row(vector), score, arrays)


def _row(vector: Any) -> "Vectors | None":
    """A point's vector, if it has one; for a deleted one, the engine gives an empty object."""
    if not isinstance(vector, list):
        return None
    import numpy as np  # late: records without vectors are read before a run's first request

    return np.asarray(vector, dtype=np.float32)


def filter_of(where: Filter, api: Any, range_of: Any, is_one_of: Callable[[list[str]], Any]) -> Any:
    """A filter in the classes of `api`, Qdrant's engine or its client; None for no conditions."""
    if where == EVERYTHING:
        return None
    must = [api.FieldCondition(key=key, match=api.MatchValue(value=one)) for key, one in where.equals.items()]
    must += [
        api.FieldCondition(key=key, range=range_of(gte=low, lt=high))
        for key, (low, high) in where.ranges.items()
    ]
    barred = [is_one_of([*map(point_id, sorted(where.exclude))])] if where.exclude else None
    return api.Filter(must=must, must_not=barred)


def lock_folder(folder: Path, *, shared: bool = False) -> FileLock:
    """Lock of a folder for one writer or several readers; see `lock_file`."""
    remedy = "choose a writable folder: --out FOLDER"
    if shared:
        remedy = "the engine needs write access even for reading: copy it to a writable folder"
    busy = f"the bank {folder} is in use by another process" + ("" if shared else ", or already open here")
    return lock_file(folder / "use.lock", busy, remedy, shared=shared)


def lock_file(path: Path, busy: str, remedy: str, *, shared: bool = False, wait: bool = False) -> FileLock:
    """A lock, which the system frees if its process dies. Raises `CorpusError` with `busy` if another process has it, or with
    the `remedy` if its folder is unusable."""
    try:
        make_folder(path.parent)
        return FileLock(path, shared=shared, wait=wait)
    except LockedError as error:
        raise CorpusError(busy, hint="wait for it or stop it") from error
    except OSError as error:
        problem = f"{path.parent} cannot be {'opened' if shared else 'written'}: {error.strerror}"
        raise CorpusError(problem, hint=remedy) from error
