"""Embedding models of tests: one that is not here, and MiniLM where it is installed."""

import importlib.metadata
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from manyheads.base.errors import EmbeddingError
from manyheads.corpus import minilm

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors


class PrecomputedEmbedder:
    """Has a name and a size, and no vector for any text."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """Raises EmbeddingError."""
        raise EmbeddingError(f"{len(texts)} texts have no precomputed vector")


def _installed() -> bool:
    try:
        importlib.metadata.distribution(minilm.PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


needs_minilm = pytest.mark.skipif(not _installed(), reason=f"{minilm.PACKAGE} is not installed")
