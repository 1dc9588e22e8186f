"""Where vectors live: one small interface, so that a folder, a server and memory can stand for each other."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from manyheads.disk import FileLock, LockedError
from manyheads.errors import CorpusError, EmbeddingError

if TYPE_CHECKING:
    import numpy as np

    from manyheads.bank.vectors import Vectors


Payload: TypeAlias = dict[str, Any]
MEMORY = ":memory:"
ID_FIELD = "_id"
PAGE = 1000

_NAMESPACE = uuid.UUID("5f1b9a52-6a0c-5b59-9d8e-0f6c5ad9f1f4")


@dataclass(frozen=True, slots=True)
class Filter:
    """What a record must satisfy, all of it.

    `equals`: field → value (a list field matches when one of its elements does).
    `ranges`: integer field → (at least, less than), either may be None. `exclude`: ids left out.
    """

    equals: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    ranges: Mapping[str, tuple[int | None, int | None]] = field(
        default_factory=dict[str, tuple[int | None, int | None]]
    )
    exclude: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Found:
    """A record found by a query, with its cosine similarity (-1…1)."""

    id: str
    score: float
    payload: Payload


@dataclass(frozen=True, slots=True)
class Record:
    """A stored record; `vector` is (dim,) float32 where it was asked for."""

    id: str
    payload: Payload
    vector: "np.ndarray[Any, np.dtype[np.float32]] | None" = None


@dataclass(frozen=True, slots=True)
class Schema:
    """What a store is made for: the model of its vectors, their size, and the fields that filters use."""

    model: str
    dim: int
    integers: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()


EVERYTHING = Filter()


class VectorStore(Protocol):
    """Records of (id, unit vector, payload). Every call raises CorpusError when the store fails.

    What `upsert` has returned from survives the death of the process (except in memory).
    """

    @property
    def model(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def upsert(self, ids: Sequence[str], vectors: "Vectors", payloads: Sequence[Payload]) -> None:
        """Write n records, best some hundreds at a time; vectors are (n, dim). A known id is replaced."""
        ...

    def query(
        self, vectors: "Vectors", k: int, where: Filter = EVERYTHING, *, exact: bool = True
    ) -> list[list[Found]]:
        """The k records nearest to each of (q, dim) vectors, best first, ties by id.

        Not `exact`, the engine's index may be used, where there is one: quicker, and may miss some.
        """
        ...

    def get(self, ids: Sequence[str], *, vectors: bool = False) -> dict[str, Record]:
        """The records of these ids; unknown ids are not in the result."""
        ...

    def scroll(self, where: Filter = EVERYTHING, *, vectors: bool = False) -> Iterator[Record]:
        """All records that satisfy `where`, page by page, in an order that stays the same."""
        ...

    def count(self, where: Filter = EVERYTHING) -> int: ...

    def close(self) -> None: ...


def point_id(record_id: str) -> str:
    """Qdrant takes integers and UUIDs only: the UUID (version 5) that stands for a record's id."""
    return str(uuid.uuid5(_NAMESPACE, record_id))


def check_vectors(vectors: "Vectors", dim: int, rows: int | None = None) -> "Vectors":
    """`vectors` if they are (rows, dim) and finite; raises EmbeddingError."""
    import numpy as np

    if vectors.ndim != 2 or vectors.shape[1] != dim or (rows is not None and len(vectors) != rows):
        raise EmbeddingError(
            f"vectors of shape {vectors.shape} do not fit: expected ({'n' if rows is None else rows}, {dim})"
        )
    if not np.isfinite(vectors).all():
        raise EmbeddingError("the vectors hold numbers that are not finite")
    return vectors


def stored_payload(record_id: str, payload: Payload) -> Payload:
    """The payload as stored: with the record's own id in it."""
    return {**payload, ID_FIELD: record_id}


def own_payload(stored: Mapping[str, Any] | None) -> tuple[str, Payload]:
    """The record's own id and payload, from the payload as stored; raises CorpusError on a stranger's point."""
    payload = dict(stored or {})
    try:
        return str(payload.pop(ID_FIELD)), payload
    except KeyError as error:
        raise CorpusError(
            f"the store holds a point without {ID_FIELD}: it was written by something else"
        ) from error


def best_first(points: Iterable[tuple[float, Mapping[str, Any] | None]]) -> list[Found]:
    """Scores and stored payloads as results: best first, equal scores by id, so that all backings agree."""
    found: list[Found] = []
    for score, stored in points:
        record_id, payload = own_payload(stored)
        found.append(Found(record_id, max(-1.0, min(1.0, score)), payload))  # rounding can pass 1
    return sorted(found, key=lambda one: (-one.score, one.id))


# A folder that one process writes to, or several read from; the system frees the lock of a dead process.


_USE, _LOADING = "use.lock", "loading.lock"


class FolderLock:
    """Held from `writer` or `reader` until `release`."""

    def __init__(self, folder: Path, *, shared: bool) -> None:
        self.shared, self._folder = shared, folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(folder / _USE, shared=shared)
        except LockedError as error:
            raise CorpusError(
                f"the bank {folder} is in use by another process"
                + ("" if shared else ", or open here already"),
                hint="wait for it or end it; finished banks can be read by many when opened read_only",
            ) from error
        except OSError as error:
            raise _unusable(folder, error, shared) from error

    @classmethod
    def writer(cls, folder: Path) -> "FolderLock":
        """Nobody else may have it; raises CorpusError when somebody does."""
        return cls(folder, shared=False)

    @classmethod
    def reader(cls, folder: Path) -> "FolderLock":
        """Any number of readers and no writer; raises CorpusError when there is a writer."""
        return cls(folder, shared=True)

    @contextmanager
    def alone(self) -> Generator[None]:
        """Readers one at a time: the engine rewrites small files when it loads and closes a shard."""
        with FileLock(self._folder / _LOADING, wait=True):
            yield

    @contextmanager
    def released_on_error(self) -> Generator[None]:
        """Let go of the lock when what follows fails."""
        with ExitStack() as undo:
            undo.callback(self.release)
            yield
            undo.pop_all()

    def release(self) -> None:
        """Let go; twice is allowed."""
        self._lock.release()


def _unusable(folder: Path, error: OSError, shared: bool) -> CorpusError:
    if shared:
        hint = "the engine writes to it even when it only reads: copy it to where you may write"
        return CorpusError(f"the bank {folder} cannot be opened: {error.strerror}", hint=hint)
    hint = "choose a place that you may write to: --out FOLDER"
    return CorpusError(f"{folder} cannot be written: {error.strerror}", hint=hint)


# What is opened can be used in a `with` block.


class Closing(ABC):
    """Mixin: closed at the end of the `with` block that it was opened for."""

    @abstractmethod
    def close(self) -> None:
        """Free what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
