"""Vectors of texts: the interface of embedding models, texts beyond their limit, and a cache of queries."""

import asyncio
import math
import os
import textwrap
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]


_T = TypeVar("_T")
_R = TypeVar("_R")
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


# Several batches at once.


def begun(embedder: Embedder, texts: Sequence[str]) -> "Callable[[], Vectors]":
    """What `embed` does, as a function to call later; a model on several machines embeds meanwhile."""
    start: Callable[[Sequence[str]], Callable[[], Vectors]] | None = getattr(embedder, "start", None)
    return start(texts) if start else partial(embedder.embed, texts)


def embedded(
    embedder: Embedder, batches: Iterable[tuple[_T, Sequence[str]]]
) -> "Iterator[tuple[_T, Vectors]]":
    """Batches of texts, each with what belongs to it, to their vectors, in order; up to `embedder.ahead` are under way."""
    some = ((thing, begun(embedder, texts)) for thing, texts in batches)
    return in_order(some, getattr(embedder, "ahead", 1))


def in_order(begun: Iterable[tuple[_T, Callable[[], _R]]], ahead: int) -> Iterator[tuple[_T, _R]]:
    """The results of what is begun, each with what belongs to it; up to `ahead` are under way."""
    waiting = deque[tuple[_T, Callable[[], _R]]]()
    for each in begun:
        waiting.append(each)
        if len(waiting) >= ahead:
            thing, result = waiting.popleft()
            yield thing, result()
    yield from ((thing, result()) for thing, result in waiting)


class Remote:
    """Work that is done elsewhere, several batches at once.

    Args:
        send: the result of a batch; awaited in a thread with an event loop of its own.
        ahead: batches to have under way.
    """

    def __init__(self, send: Callable[[list[Any]], Coroutine[Any, Any, Any]], ahead: int) -> None:
        self.ahead, self._send, self._loop = ahead, send, asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="manyheads-remote", daemon=True).start()

    def start(self, batch: Sequence[Any]) -> Callable[[], Any]:
        """The result of a batch, as a function to call later. Raises as `send`."""
        return asyncio.run_coroutine_threadsafe(self._send([*batch]), self._loop).result


class RemoteEmbedder(Remote):
    """A model that embeds elsewhere, several batches at once. Its vectors are those of the model here for the same batches.

    Args:
        embedder: the model here.
        send: embeds a batch of texts.
        ahead: as of `Remote`.
    """

    def __init__(
        self, embedder: Embedder, send: "Callable[[list[str]], Coroutine[Any, Any, Vectors]]", ahead: int
    ) -> None:
        super().__init__(send, ahead)
        self.name, self.dim, self._embedder = embedder.name, embedder.dim, embedder

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of unit length. Raises as `send`."""
        return self.start(texts)()

    def start(self, batch: Sequence[str]) -> "Callable[[], Vectors]":
        """As `embed`, as a function to call later."""
        return super().start(batch) if batch else partial(self._embedder.embed, batch)

    def unread(self, texts: Sequence[str]) -> Sequence[int | None]:
        """Tokens of each text beyond the limit of the model here; None if it does not state one."""
        return unread(self._embedder, texts)


# Texts beyond a model's limit.


def unread(embedder: Embedder, texts: Sequence[str]) -> Sequence[int | None]:
    """Tokens of each text beyond the model's limit; None if the model does not state one."""
    count: Callable[[Sequence[str]], list[int]] | None = getattr(embedder, "unread", None)
    return count(texts) if count else [None] * len(texts)


def whole_vector(embedder: Embedder, text: str) -> "Vectors":
    """(dim,) of unit length: the vector of a text, or for a longer text the mean of its parts' vectors.

    The parts have similar lengths, are cut between words and read completely; a shorter one weighs less.
    """
    return _embed_in_parts(embedder, text)[0]


def _embed_in_parts(embedder: Embedder, text: str) -> "tuple[Vectors, int | None]":
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


# Caches in memory.

MOST_QUERIES = 2048
"""Maximum cached vectors of queries: some 3 MB."""


_AHEAD = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="manyheads-embedding")


class QueryEmbedder:
    """Another embedder with a cache of recent queries: no text is embedded twice, even concurrently.

    Each text is embedded by itself, so that its vector does not depend on concurrent look-ups; a text beyond the model's limit
    is embedded in parts.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dim, self.embedder = embedder.name, embedder.dim, embedder
        self._lock = threading.Lock()
        self._started = lru_cache(MOST_QUERIES)(partial(_AHEAD.submit, _embed_in_parts, embedder))

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
