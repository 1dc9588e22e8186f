"""Vectors and who makes them: the one protocol of embedding models, and the names of two of them."""

import hashlib
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from manyheads.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]


MINILM = "sentence-transformers/all-MiniLM-L6-v2"
LEXICAL = "lexical"


class Embedder(Protocol):
    """Turns texts into unit vectors. `name` is the model's stable identity: banks and caches remember it."""

    @property
    def name(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of length one, in the order of the n texts."""
        ...


def unit_rows(vectors: "NDArray[Any]") -> "Vectors":
    """(n, dim) of any float type to float32 rows of length one; rows of zeros stay zero."""
    import numpy as np

    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=rows.copy(), where=lengths > 0)


# The user's cache folder, and the fingerprints of the files kept in it.


def cache_folder() -> Path:
    """The user's cache folder, made if it is not there: `MANYHEADS_CACHE`, else the system's place for caches.

    Raises:
        EmbeddingError: the folder cannot be made.
    """
    import platformdirs

    named = os.environ.get("MANYHEADS_CACHE")
    folder = Path(named).expanduser() if named else platformdirs.user_cache_path("manyheads")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    return folder


def unwritable(path: Path, error: OSError) -> EmbeddingError:
    """The message for a cache that cannot be written: full disk, read-only disk, no permission."""
    return EmbeddingError(
        f"the cache {path} cannot be written: {error.strerror or error}",
        hint="set MANYHEADS_CACHE to a folder that can be written and has 200 MB free",
    )


def sha256_of(path: Path) -> str:
    """Hexadecimal sha256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# Word hashing: a vector for every text without any model, for machines that have none.
#
# It matches words, not meanings. Nothing chooses it but the user, and its name says what it is.


_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s")
_SHORTEST_STEM = 4
_SLOTS = 4  # each word sets four places, so that one collision costs a quarter of it
_STOP_TEXT = (
    "a also an and are as at be been both but by can do each for from had has have how if in into is it its "
    "may more most not of on or other our over some such than that the their then there these they this to "
    "used using via was we were what when which while who will with within without you your"
)
STOP_WORDS = frozenset(_STOP_TEXT.split())


class LexicalEmbedder:
    """Signed feature hashing of word stems, damped by log frequency (Weinberger et al., ICML 2009).

    Deterministic over processes and machines. A text without words becomes the first unit vector.
    """

    def __init__(self, dim: int = 384) -> None:
        self.dim = dim
        self.name = f"lexical-hash-{dim}"

    @classmethod
    def from_name(cls, name: str) -> "LexicalEmbedder":
        """`lexical` or `lexical-hash-<dim>`; raises EmbeddingError for another form."""
        if name == LEXICAL:
            return cls()
        dim = name.removeprefix("lexical-hash-")
        if not dim.isdecimal() or not 1 <= int(dim) <= 65_536:
            raise EmbeddingError(
                f"no embedding is called {name}", hint="use lexical, or lexical-hash-384 with another size"
            )
        return cls(int(dim))

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of length one."""
        import numpy as np

        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for stem, count in Counter(stems(text)).items():
                # long words tell topics apart better than short ones
                weight = (1 + math.log(count)) * math.sqrt(min(len(stem), 10))
                for place, sign in _places(stem, self.dim):
                    row[place] += sign * weight
            if not row.any():
                row[0] = 1.0
        return unit_rows(rows)


def stems(text: str) -> Iterator[str]:
    """A text's words in lower case without their endings, stop words left out."""
    for word in _WORD.findall(text.lower()):
        if len(word) > 1 and word not in STOP_WORDS:
            yield _stem(word)


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return word[: -len(suffix)]
    return word


@lru_cache(maxsize=100_000)
def _places(stem: str, dim: int) -> tuple[tuple[int, float], ...]:
    digest = hashlib.blake2b(stem.encode(), digest_size=4 * _SLOTS).digest()
    numbers = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 4 * _SLOTS, 4)]
    return tuple(((number >> 1) % dim, 1.0 if number & 1 else -1.0) for number in numbers)
