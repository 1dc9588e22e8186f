"""Word hashing: a vector for every text without any model, for machines that have none.

It matches words, not meanings. Nothing chooses it but the user, and its name says what it is.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from manyheads.errors import EmbeddingError

if TYPE_CHECKING:
    from manyheads.bank.vectors import Vectors

LEXICAL = "lexical"
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
        dim = "384" if name == LEXICAL else name.removeprefix("lexical-hash-")
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
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def stems(text: str) -> Iterator[str]:
    """A text's words in lower case without their endings, stop words left out."""
    for word in _WORD.findall(text.lower()):
        if len(word) > 1 and word not in STOP_WORDS:
            ending = next(
                (s for s in _SUFFIXES if word.endswith(s) and len(word) - len(s) >= _SHORTEST_STEM), ""
            )
            yield word.removesuffix(ending)


@lru_cache(maxsize=100_000)
def _places(stem: str, dim: int) -> tuple[tuple[int, float], ...]:
    digest = hashlib.blake2b(stem.encode(), digest_size=4 * _SLOTS).digest()
    numbers = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 4 * _SLOTS, 4)]
    return tuple(((number >> 1) % dim, 1.0 if number & 1 else -1.0) for number in numbers)
