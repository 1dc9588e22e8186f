"""Vectors of texts: the interfaces of vector stores and of embedding models, and caches on disk and in memory."""

import hashlib
import math
import os
import sqlite3
import textwrap
import threading
import uuid
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar

from manyheads.base.errors import CorpusError, EmbeddingError, UserError
from manyheads.base.files import FileLock, LockedError, cache_folder, make_folder
from manyheads.base.sqlite import Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]


Payload: TypeAlias = dict[str, Any]
T = TypeVar("T")


# Vector stores: folder, server and memory are interchangeable.

MEMORY = ":memory:"
ID_FIELD = "_id"
_NAMESPACE = uuid.UUID("5f1b9a52-6a0c-5b59-9d8e-0f6c5ad9f1f4")


class Closing(ABC):
    """Mixin: closed at the end of its `with` block."""

    @abstractmethod
    def close(self) -> None:
        """Close and free resources."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()


class CheckedDatabase(Database):
    """A `Database` whose failures, also in making its folder, are raised as `failure` says them."""

    def __init__(
        self, path: Path | None, *schema: str, failure: Callable[[Exception], UserError], **options: Any
    ) -> None:
        self._failure = failure
        with self._errors():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            super().__init__(path, *schema, **options)

    def each(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        with self._errors():
            yield from super().each(sql, *values)

    def _do(self, act: "Callable[[sqlite3.Connection], T]") -> T:
        with self._errors():
            return super()._do(act)

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self._failure(error) from error


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
            left = [
                one
                for one in left
                if len(best[one]) == limit and best[one][-1].score == best[one][k - 1].score
            ]
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
    def _nearest(
        self, vectors: list[Any], k: int, where: Filter, using: str | None
    ) -> Iterable[Iterable[Any]]: ...

    @abstractmethod
    def _retrieve(self, points: list[Any], vectors: bool | list[str]) -> Iterable[Any]: ...

    @abstractmethod
    def _page(self, where: Filter, start: Any, vectors: bool) -> tuple[Iterable[Any], Any]: ...

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
    import numpy as np

    payload = dict(point.payload or {})
    if ID_FIELD not in payload:
        raise CorpusError(f"the store contains a point without {ID_FIELD}, written by other software")
    vector = getattr(point, "vector", None)
    # for a vector marked as deleted, the engine gives an empty object
    array = np.asarray(vector, dtype=np.float32) if isinstance(vector, list) else None
    named = vector.items() if isinstance(vector, dict) else ()
    arrays = {name: np.asarray(one, dtype=np.float32) for name, one in named if isinstance(one, list)}
    score = max(-1.0, min(1.0, getattr(point, "score", 0.0)))  # rounding can pass 1
    return StoredRecord(str(payload.pop(ID_FIELD)), payload, array, score, arrays)


def filter_of(where: Filter, api: Any, range_of: Any, is_one_of: Callable[[list[str]], Any]) -> Any:
    """A filter in the classes of `api`, Qdrant's engine or its client; None for no conditions."""
    if where == EVERYTHING:
        return None
    must = [
        api.FieldCondition(key=key, match=api.MatchValue(value=value)) for key, value in where.equals.items()
    ]
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


# Embedding models.

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
INT8 = "minilm-int8"
"""The model made from it, twice as fast."""


class Embedder(Protocol):
    """Turns texts into unit vectors. `name` is the model's permanent identity: banks and caches store it."""

    @property
    def name(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of unit length, in the order of the n texts."""
        ...


def unit_rows(vectors: "NDArray[Any]") -> "Vectors":
    """(n, dim) of any float type to float32 rows of unit length; rows of zeros stay zero."""
    import numpy as np

    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=rows.copy(), where=lengths > 0)


# Texts beyond a model's limit.


def unread(embedder: Embedder, texts: Sequence[str]) -> Sequence[int | None]:
    """Tokens of each text beyond the model's limit; None if the model does not state one."""
    count: Callable[[Sequence[str]], list[int]] | None = getattr(embedder, "unread", None)
    return count(texts) if count else [None] * len(texts)


def whole_vector(embedder: Embedder, text: str) -> "Vectors":
    """(dim,) of unit length: the vector of a text, or for a longer text the mean of its parts' vectors.

    The parts have similar lengths, are cut between words and read completely; a shorter one weighs less.
    """
    return _whole(embedder, text)[0]


def _whole(embedder: Embedder, text: str) -> "tuple[Vectors, int | None]":
    """The vector of a text, and its tokens beyond the model's limit."""
    import numpy as np

    [excess] = unread(embedder, [text])
    parts, count, more = [text], 2, bool(excess)
    while more and count <= len(text):
        # A tenth more parts than needed, as words are not cut: otherwise a last part of a word or two would remain.
        parts = textwrap.wrap(text, math.ceil(1.1 * len(text) / count), break_on_hyphens=False)
        count += 1 + count // 4
        more = any(unread(embedder, parts))
    vectors = embedder.embed(parts)
    if len(parts) > 1:
        vectors = unit_rows(np.average(vectors, axis=0, weights=[*map(len, parts)])[np.newaxis])
    return vectors[0], excess


# On disk.

_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"


class CachedEmbedder(Closing):
    """Another embedder with a cache on disk; several threads and processes may share one file.

    The default file is `vectors.sqlite` in the user's cache folder. Raises `EmbeddingError` if it cannot be opened or written.
    """

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        self.name, self.dim, self._embedder = embedder.name, embedder.dim, embedder
        path = path or cache_folder() / "vectors.sqlite"

        def failure(error: Exception) -> EmbeddingError:
            hint = "set MANYHEADS_CACHE to a writable folder, or remove the file"
            return EmbeddingError(f"the vector cache {path} failed: {error}", hint=hint)

        self._db = CheckedDatabase(path, _TABLE, failure=failure, replace_broken=True)

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of unit length; each new text is embedded once and stored."""
        import numpy as np

        salted = (f"{self.name}\0{text}".encode(errors="surrogatepass") for text in texts)
        keys = [hashlib.blake2b(one, digest_size=16).digest() for one in salted]
        rows = {key: row for key in {*keys} if (row := self._known(key)) is not None}
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in rows}
        if new:
            rows |= dict(zip(new, self._embedder.embed([*new.values()]), strict=True))
            stored = [(key, _summed(key, rows[key].astype("<f4").tobytes())) for key in new]
            self._db.change_all("INSERT OR REPLACE INTO vectors VALUES (?, ?)", stored)
        return np.array([rows[key] for key in keys], dtype=np.float32).reshape(-1, self.dim)

    def _known(self, key: bytes) -> "NDArray[Any] | None":
        import numpy as np

        row, size = self._db.row("SELECT CAST(vector AS BLOB) FROM vectors WHERE key = ?", key), 4 * self.dim
        stored: bytes = row[0] or b"" if row else b""
        # earlier versions had no checksums
        sound = len(stored) == size or (stored and stored == _summed(key, stored[:size]))
        return np.frombuffer(stored[:size], dtype="<f4") if sound else None

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _summed(key: bytes, vector: bytes) -> bytes:
    """A vector followed by a checksum: a damaged one is embedded again."""
    return vector + zlib.crc32(key + vector).to_bytes(4, "little")


# In memory.

MOST_QUERIES = 2048
"""Maximum cached vectors of queries: some 3 MB."""


@cache
def _ahead() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="manyheads-embedding")


class QueryEmbedder:
    """Another embedder with a cache of recent queries: no text is embedded twice, even concurrently.

    Each text is embedded by itself, so that its vector does not depend on concurrent look-ups; a text beyond the model's limit
    is embedded in parts.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dim, self.embedder = embedder.name, embedder.dim, embedder
        self._lock = threading.Lock()
        self._started = lru_cache(MOST_QUERIES)(partial(_ahead().submit, _whole, embedder))

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of unit length."""
        import numpy as np

        rows = [vector for vector, _ in self._read(texts)]
        return np.stack(rows) if rows else np.zeros((0, self.dim), dtype=np.float32)

    def unread(self, texts: Sequence[str]) -> Sequence[int | None]:
        """Tokens of each text beyond the model's limit, as found when it was embedded."""
        return [excess for _, excess in self._read(texts)]

    def begin(self, texts: Iterable[str]) -> "list[Future[tuple[Vectors, int | None]]]":
        """Embed upcoming texts, each in its own thread; errors are raised when the vectors are used."""
        with self._lock:
            return [self._started(text) for text in texts]

    def _read(self, texts: Sequence[str]) -> "list[tuple[Vectors, int | None]]":
        try:
            return [each.result() for each in self.begin(texts)]
        except BaseException:
            self._started.cache_clear()  # so that a failed text is embedded again
            raise
