"""Models that fastembed runs: its own list, from cache or download, and any ONNX model in a folder."""

import json
import os
import threading
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from manyheads.bank.minilm import DIM, MAX_TOKENS, WEIGHTS, onnx_folder, package_folder
from manyheads.bank.vectors import MINILM, Embedder, cache_folder, sha256_of, unit_rows
from manyheads.errors import EmbeddingError

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from numpy.typing import NDArray

    from manyheads.bank.vectors import Vectors

BATCH = 32
FEW = 4
"""Texts in one call up to which they are taken for queries and remembered."""
RECENT = 256
PROBE_SECONDS = 2.0
_OFFLINE = {"1", "true", "yes", "on"}


@dataclass
class _Shared:
    """A model's memory: some 200 MB, kept once for all embedders of it that live, and the last few queries."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    model: "TextEmbedding | None" = None
    recent: "dict[str, NDArray[Any]]" = field(default_factory=lambda: {})


_living: "WeakValueDictionary[Hashable, _Shared]" = WeakValueDictionary()


def _share(key: Hashable) -> _Shared:
    shared = _living.get(key) or _Shared()
    return _living.setdefault(key, shared)


class FastEmbedder:
    """A fastembed model, loaded at its first use. Safe to share between threads.

    Args:
        model: fastembed's name of the model, also its identity here unless `name` says otherwise.
        folder: a folder with the model's files; without it, fastembed's cache `cache` is used and no network.
        max_tokens: where texts are cut; None leaves it to the model's files.
    """

    def __init__(
        self,
        model: str,
        *,
        dim: int,
        name: str | None = None,
        folder: Path | None = None,
        cache: Path | None = None,
        max_tokens: int | None = None,
    ) -> None:
        self.name, self.dim = name or model, dim
        self._model, self._folder, self._cache, self._max_tokens = model, folder, cache, max_tokens
        self._shared = _share((model, folder, cache, max_tokens))

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of length one.

        Raises:
            EmbeddingError: the model's files cannot be loaded.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        with self._shared.lock:
            rows = np.stack(self._rows(list(texts)))
        if rows.shape[1] != self.dim:
            raise EmbeddingError(
                f"the model {self.name} gives {rows.shape[1]} numbers a text, not {self.dim}"
            )
        return unit_rows(rows)

    def unread(self, texts: Sequence[str]) -> list[int]:
        """Tokens at the end of each text that the model does not read, as texts are cut at its longest.

        Raises:
            EmbeddingError: the model's files cannot be loaded.
        """
        with self._shared.lock:
            tokenizer: Any = self._load().model.tokenizer  # pyright: ignore[reportAttributeAccessIssue]
            return [
                sum(
                    mark == 0
                    for rest in tokenizer.encode(text).overflowing
                    for mark in rest.special_tokens_mask
                )
                for text in texts
            ]

    def load(self) -> "FastEmbedder":
        """Load the model now rather than at its first use, to learn now whether its files are whole."""
        with self._shared.lock:
            self._load()
        return self

    def _rows(self, texts: list[str]) -> "list[NDArray[Any]]":
        """One row a text; a few texts are queries, which runs and blind votes repeat."""
        if len(texts) > FEW:
            return list(self._load().embed(texts, batch_size=BATCH))
        recent = self._shared.recent
        if new := [text for text in dict.fromkeys(texts) if text not in recent]:
            recent.update(zip(new, self._load().embed(new, batch_size=BATCH), strict=True))
        rows = [recent[text] for text in texts]
        while len(recent) > RECENT:
            del recent[next(iter(recent))]
        return rows

    def _load(self) -> "TextEmbedding":
        if (model := self._shared.model) is None:
            model = self._shared.model = self._open()
            if self._max_tokens is not None:
                tokenizer: Any = model.model.tokenizer  # pyright: ignore[reportAttributeAccessIssue]
                tokenizer.enable_truncation(max_length=self._max_tokens)
        return model

    def _open(self) -> "TextEmbedding":
        folder: dict[str, Any] = {} if self._folder is None else {"specific_model_path": str(self._folder)}
        cache = None if self._cache is None else str(self._cache)
        try:
            return _fastembed()(self._model, cache_dir=cache, local_files_only=True, **folder)
        except Exception as error:
            if not _is_about_files(error):
                raise
            hint = None if self._folder is None else f"put whole files into {self._folder}, or remove it"
            raise EmbeddingError(f"{self._model} cannot be loaded: {error}", hint=hint) from error


def _is_about_files(error: Exception) -> bool:
    """Whether a loader means a missing or broken file: onnxruntime has its own classes right under
    Exception, tokenizers raises Exception itself."""
    known = isinstance(error, ValueError | OSError | RuntimeError) or type(error) is Exception
    return known or type(error).__module__.startswith("onnxruntime")


@cache
def _fastembed() -> "type[TextEmbedding]":
    from fastembed import TextEmbedding
    from loguru import logger

    logger.disable("fastembed")  # it prints what our errors say better
    return TextEmbedding


def embedder_by_name(model: str) -> Embedder:
    """Any model of fastembed's list, from its cache or, where the hub answers, its download."""
    try:
        return embedder_from_cache(model)
    except EmbeddingError as missing:
        try:
            return embedder_from_hub(model)
        except EmbeddingError as error:
            raise EmbeddingError(
                f"the embedding model {model} is not to be had: {error.message}",
                tried=f"fastembed's cache ({missing.message}); fastembed's download ({error.message})",
                hint="name a folder with the model, or choose word hashing: --set embedding=lexical",
            ) from error


def embedder_from_cache(model: str) -> Embedder:
    """A model that fastembed has downloaded before, into its own cache or into ours."""
    dim = int(_description(model)["dim"])
    for folder in (None, _downloads()):
        try:
            return FastEmbedder(model, dim=dim, cache=folder, max_tokens=_max_tokens(model)).load()
        except EmbeddingError:
            continue
    raise EmbeddingError("not there")


def embedder_from_hub(model: str) -> Embedder:
    """Download a model into the user's cache. Asks the hub first whether it answers: fastembed alone would
    try for 39 seconds before it says that there is no network."""
    description = _description(model)
    if (trouble := _hub_trouble(str(description["sources"]["hf"]))) is not None:
        raise EmbeddingError(trouble)
    try:
        _fastembed()(model, cache_dir=str(_downloads()), lazy_load=True)
    except (ValueError, OSError) as error:
        raise EmbeddingError(str(error)) from error
    return FastEmbedder(
        model, dim=int(description["dim"]), cache=_downloads(), max_tokens=_max_tokens(model)
    ).load()


def embedder_from_package() -> Embedder:
    """all-MiniLM-L6-v2 of the installed package; raises EmbeddingError when it is not installed or not genuine."""
    return embedder_from_weights(package_folder())


def embedder_from_weights(source: Path) -> Embedder:
    """all-MiniLM-L6-v2 of a folder with its safetensors weights, turned into ONNX in the user's cache."""
    return FastEmbedder(MINILM, folder=onnx_folder(source), dim=DIM, max_tokens=MAX_TOKENS)


def embedder_from_models_dir(folder: Path) -> Embedder:
    """all-MiniLM-L6-v2 in a folder that the user named, or in its sub-folder `all-MiniLM-L6-v2`."""
    inner = folder / MINILM.rpartition("/")[2]
    return embedder_from_folder(inner if inner.is_dir() else folder)


def embedder_from_folder(folder: Path) -> Embedder:
    """A folder with `model.onnx` (or `onnx/model.onnx`), `config.json`, `tokenizer.json` and
    `tokenizer_config.json`, or with the original weights of all-MiniLM-L6-v2.

    Pooling is read from `1_Pooling/config.json` where there is one, else it is the mean.

    Raises:
        EmbeddingError: the folder holds no such model.
    """
    file = next((name for name in ("model.onnx", "onnx/model.onnx") if (folder / name).is_file()), None)
    if file is None and (folder / WEIGHTS).is_file():
        return embedder_from_weights(folder)
    needed = ("tokenizer.json", "tokenizer_config.json", "config.json")
    missing = [name for name in needed if not (folder / name).is_file()]
    if file is None or missing:
        raise EmbeddingError(
            f"{folder} holds no model that can be loaded",
            tried="missing: " + ", ".join([*missing, *([] if file else ["model.onnx"])]),
            hint="put the model's ONNX file and its tokenizer there",
        )
    dim = _hidden_size(folder / "config.json")
    model = _register(folder, file, dim)
    return FastEmbedder(
        model, dim=dim, folder=folder, name=f"{folder.resolve().name}@{model.rpartition('/')[2]}"
    )


def _hidden_size(config: Path) -> int:
    try:
        return int(json.loads(config.read_text(encoding="utf-8"))["hidden_size"])
    except (ValueError, KeyError, TypeError) as error:
        raise EmbeddingError(f"{config} says no hidden_size: {error!r}") from error


def _register(folder: Path, file: str, dim: int) -> str:
    """Make a folder's model known to fastembed under the hash of its content; the same folder twice is one."""
    from fastembed.common.model_description import ModelSource, PoolingType

    fastembed = _fastembed()
    name = f"local/{sha256_of(folder / file)[:16]}"
    if all(known["model"] != name for known in fastembed.list_supported_models()):
        pooling = PoolingType.CLS if _pools_first_token(folder) else PoolingType.MEAN
        source = ModelSource(hf=name)  # never asked: the files are in the folder
        fastembed.add_custom_model(name, pooling, True, source, dim, model_file=file)
    return name


def _pools_first_token(folder: Path) -> bool:
    config = folder / "1_Pooling" / "config.json"
    return config.is_file() and bool(
        json.loads(config.read_text(encoding="utf-8")).get("pooling_mode_cls_token")
    )


def _description(model: str) -> dict[str, Any]:
    for known in _fastembed().list_supported_models():
        if known["model"].lower() == model.lower():
            return known
    raise EmbeddingError(
        f"fastembed knows no model {model}, and no folder is called so",
        hint="see fastembed's list: python -c 'import fastembed; "
        '[print(m["model"]) for m in fastembed.TextEmbedding.list_supported_models()]\'',
    )


def _max_tokens(model: str) -> int | None:
    """fastembed's files of all-MiniLM-L6-v2 cut texts at another length than the original model does."""
    return MAX_TOKENS if model == MINILM else None


def _downloads() -> Path:
    return cache_folder() / "fastembed"


def _hub_trouble(repository: str) -> str | None:
    """Why the model hub cannot be used now, learned within `PROBE_SECONDS`; None when it answers."""
    if os.environ.get("HF_HUB_OFFLINE", "").strip().lower() in _OFFLINE:
        return "HF_HUB_OFFLINE is set"
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    answer: list[str | None] = [f"{endpoint} does not answer"]
    # A thread, as looking up a host's name cannot be given a time limit.
    probe = threading.Thread(target=_probe, args=(f"{endpoint}/api/models/{repository}", answer), daemon=True)
    probe.start()
    probe.join(PROBE_SECONDS)
    return answer[-1]


def _probe(address: str, answer: list[str | None]) -> None:
    import httpx

    try:
        status = httpx.get(address, timeout=PROBE_SECONDS, follow_redirects=True).status_code
    except httpx.HTTPError as error:
        answer.append(f"{address} cannot be reached: {error}")
    else:
        answer.append(None if status < 400 else f"{address} answers {status}")
