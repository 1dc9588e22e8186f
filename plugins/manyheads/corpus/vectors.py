"""Vectors of texts: the interface of embedding models, a cache on disk for building corpora, and a cache in memory for runs."""

import hashlib
import math
import os
import sqlite3
import textwrap
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from manyheads.base.errors import EmbeddingError
from manyheads.base.files import cache_folder
from manyheads.base.sqlite import Database
from manyheads.corpus.store import Closing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
INT8, SPEED = "minilm-int8", 2.0
"""The model made from it, and its speed relative to it; see `make bench`."""


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
    if len(parts) == 1:
        return vectors[0], excess
    return unit_rows(np.average(vectors, axis=0, weights=[len(part) for part in parts])[np.newaxis])[
        0
    ], excess


# On disk.

_MOST_KEYS = 500
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"


class CachedEmbedder(Closing):
    """Another embedder with a cache on disk; several threads and processes may share one file.

    The default file is `vectors.sqlite` in the user's cache folder. Raises `EmbeddingError` if it cannot be opened or written.
    """

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        self.name, self.dim = embedder.name, embedder.dim
        self._embedder = embedder
        self._path = path or cache_folder() / "vectors.sqlite"
        with self._errors():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._db = Database(self._path, _TABLE, replace_broken=True)

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of unit length; each new text is embedded once and stored."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        keys = self._keys(texts)
        known = self._known(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            fresh = dict(zip(new, self._embedder.embed(list(new.values())), strict=True))
            stored = [(key, _summed(key, vector.astype("<f4").tobytes())) for key, vector in fresh.items()]
            with self._errors():
                self._db.change_all("INSERT OR REPLACE INTO vectors VALUES (?, ?)", stored)
            known |= fresh
        return np.stack([known[key] for key in keys])

    def known(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text is cached."""
        keys = self._keys(texts)
        return [*map(self._known(keys).__contains__, keys)]

    def _keys(self, texts: Sequence[str]) -> list[bytes]:
        salted = (f"{self.name}\0{text}".encode(errors="surrogatepass") for text in texts)
        return [hashlib.blake2b(one, digest_size=16).digest() for one in salted]

    def _known(self, keys: Sequence[bytes]) -> "dict[bytes, NDArray[Any]]":
        import numpy as np

        unique, rows = list(dict.fromkeys(keys)), list[tuple[bytes, bytes]]()
        with self._errors():
            for start in range(0, len(unique), _MOST_KEYS):
                some = unique[start : start + _MOST_KEYS]
                marks = ",".join("?" * len(some))
                rows += self._db.rows(
                    f"SELECT key, CAST(vector AS BLOB) FROM vectors WHERE key IN ({marks})", *some
                )
        size = 4 * self.dim
        return {
            key: np.frombuffer(stored[:size], dtype="<f4")
            for key, stored in rows
            # earlier versions had no checksums
            if stored and (len(stored) == size or stored == _summed(key, stored[:size]))
        }

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise EmbeddingError(
                f"the vector cache {self._path} failed: {error}",
                hint="set MANYHEADS_CACHE to a writable folder, or remove the file",
            ) from error


def cached(embedder: Embedder, texts: Sequence[str]) -> list[bool]:
    """Whether an embedder has the vector of each text cached."""
    return embedder.known(texts) if isinstance(embedder, CachedEmbedder) else [False] * len(texts)


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
        self._vectors: OrderedDict[str, Future[tuple[NDArray[Any], int | None]]] = OrderedDict()

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of unit length."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        others = _ahead().map(self._vector, texts[1:])
        return np.stack([vector for vector, _ in (self._vector(texts[0]), *others)])

    def unread(self, texts: Sequence[str]) -> Sequence[int | None]:
        """Tokens of each text beyond the model's limit, as found when it was embedded."""
        return [self._vector(text)[1] for text in texts]

    def _vector(self, text: str) -> "tuple[NDArray[Any], int | None]":
        """(dim,) and the tokens beyond the model's limit: cached, awaited from another thread, or computed."""
        with self._lock:
            new = text not in self._vectors
            vector = self._vectors.setdefault(text, Future())
            self._vectors.move_to_end(text)
            while len(self._vectors) > MOST_QUERIES:
                self._vectors.popitem(last=False)
        if new:
            try:
                vector.set_result(_whole(self.embedder, text))
            except BaseException as error:
                vector.set_exception(error)
                with self._lock:
                    self._vectors.pop(text, None)
                raise
        return vector.result()

    def begin(self, texts: Iterable[str]) -> None:
        """Embed upcoming texts, each in its own thread; errors are raised when the vectors are used."""
        for text in texts:
            _ahead().submit(self._vector, text)
