"""Vectors and who makes them: the one protocol of embedding models, and the names of two of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

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
