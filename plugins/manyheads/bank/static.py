"""A static embedding: one vector per token, computed once from another model; a text is the mean of its tokens.

Made as in model2vec (Tulkens and van Dongen, 2024): each token of the vocabulary goes through the model alone; mean and first
principal components are removed, and frequent tokens weigh less. Some 200 times faster than the model, and less accurate.
"""

import shutil
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyheads.bank.minilm import DIM, TOKENIZER, is_sound, made_once
from manyheads.bank.vectors import STATIC, unit_rows
from manyheads.disk import cache_folder
from manyheads.errors import EmbeddingError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from manyheads.bank.vectors import Vectors

_CACHE_NAME = "all-MiniLM-L6-v2-static-1"
VECTORS = "vectors.npy"
COMMON = 8
"""Number of principal components removed, which all tokens share (Mu and Viswanath, ICLR 2018)."""
FIRST = "the"
"""The most frequent word: from it on, the vocabulary is sorted by frequency."""


def static_folder(tokenizer: Path, token_vectors: "Callable[[], NDArray[Any]]") -> Path:
    """The folder of the static embedding, computed now if not cached: some 20 seconds.

    Args:
        tokenizer: the model's `tokenizer.json`.
        token_vectors: (tokens, dim), the model's output for each token of its vocabulary alone.
    """

    def make(made: Path) -> None:
        import numpy as np
        from tokenizers import Tokenizer

        rows = token_vectors()
        first = Tokenizer.from_file(str(tokenizer)).token_to_id(FIRST) or 0
        centred = rows - rows[first:].mean(axis=0)
        common = np.linalg.svd(centred[first:], full_matrices=False)[2][:COMMON]
        ranks = np.maximum(np.arange(len(rows)) - first, 0) + 1
        weights = np.log(ranks + 1)[:, np.newaxis]  # by Zipf's law, minus the log of the frequency
        np.save(made / VECTORS, ((centred - centred @ common.T @ common) * weights).astype(np.float32))
        shutil.copy(tokenizer, made / TOKENIZER)

    target = cache_folder() / _CACHE_NAME
    return target if is_sound(target) else made_once(target, make)


class StaticEmbedder:
    """Texts as weighted means of their tokens' vectors, of any length. Threads may share it."""

    name, dim = STATIC, DIM

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of unit length; a text without words becomes the first unit vector."""
        import numpy as np
        from scipy.sparse import csr_matrix

        tokenizer, vectors = self._loaded
        counts = [
            np.unique(text.ids, return_counts=True)
            for text in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        ]
        starts = np.cumsum([0, *(len(ids) for ids, _ in counts)])
        ids = np.concatenate([np.zeros(0, np.int64), *(ids for ids, _ in counts)])
        weights = 1 + np.log(np.concatenate([np.ones(0), *(each for _, each in counts)]))
        shape = (len(texts), len(vectors))
        rows: Any = csr_matrix((weights.astype(np.float32), ids, starts), shape) @ vectors
        rows[~rows.any(axis=1), 0] = 1
        return unit_rows(rows)

    def unread(self, texts: Sequence[str]) -> list[int]:
        """No token is ignored."""
        return [0] * len(texts)

    @cached_property
    def _loaded(self) -> "tuple[Tokenizer, NDArray[Any]]":
        import numpy as np
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(self.folder / TOKENIZER))
            tokenizer.no_padding()
            tokenizer.no_truncation()
            return tokenizer, np.load(self.folder / VECTORS)
        except Exception as error:  # tokenizers raises Exception itself
            raise EmbeddingError(f"{self.folder} cannot be loaded: {error}", hint="remove it") from error
