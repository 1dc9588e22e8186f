"""An embedding model that is not here: for banks that are filled with vectors alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from manyheads.errors import EmbeddingError

if TYPE_CHECKING:
    from manyheads.bank.vectors import Vectors


class PrecomputedEmbedder:
    """Has a name and a size, and no vector for any text."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """Raises EmbeddingError."""
        raise EmbeddingError(f"{len(texts)} texts have no precomputed vector")
