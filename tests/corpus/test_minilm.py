"""all-MiniLM-L6-v2 from the package's weights: genuine, equal to the original, made once."""

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from manyheads.base.errors import EmbeddingError
from manyheads.corpus import minilm
from manyheads.corpus.ecosystem import Collection
from manyheads.corpus.embedding import from_folder, load_embedder
from manyheads.corpus.vectors import INT8, MINILM, Embedder, unread
from support.embedding import needs_minilm

REFERENCE = Path(__file__).with_name("minilm_reference.json")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def embedder(cache: Path) -> Embedder:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MANYHEADS_CACHE", str(cache))
        return load_embedder()


@pytest.mark.slow
@needs_minilm
def test_it_equals_the_reference_vectors(embedder: Embedder) -> None:
    entries = json.loads(REFERENCE.read_text(encoding="utf-8"))
    vectors = embedder.embed([entry["text"] for entry in entries])
    assert (embedder.name, vectors.shape, vectors.dtype) == (MINILM, (6, 384), np.float32)
    cosines = (vectors * np.array([entry["vector"] for entry in entries])).sum(axis=1)
    assert cosines.min() >= 0.999
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
@needs_minilm
def test_a_text_does_not_depend_on_its_neighbours(embedder: Embedder) -> None:
    texts = ["short", "a much longer text about the habits of committees " * 20, ""]
    alone = np.vstack([embedder.embed([text]) for text in texts])
    assert (alone * embedder.embed(texts)).sum(axis=1).min() > 0.9999
    assert embedder.embed([]).shape == (0, 384)


@needs_minilm
@pytest.mark.slow
def test_the_quicker_model_is_made_of_it_once_and_agrees_with_it(
    embedder: Embedder, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANYHEADS_CACHE", str(cache))
    texts = [entry["text"] for entry in json.loads(REFERENCE.read_text(encoding="utf-8"))]
    quick = load_embedder(INT8)
    vectors = quick.embed(texts)
    assert (quick.name, vectors.shape) == (INT8, (6, 384))
    full = [row for row, text in enumerate(texts) if len(text.split()) > 3]
    assert (vectors * embedder.embed(texts)).sum(axis=1)[full].mean() >= 0.98
    assert np.array_equal(load_embedder(INT8).embed(texts), vectors)
    with pytest.raises(EmbeddingError, match=INT8):
        Collection(Collection.create(":memory:", quick).store, embedder)


@needs_minilm
@pytest.mark.slow
def test_two_processes_may_make_it_at_once(tmp_path: Path) -> None:
    source = minilm.package_folder()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        folders = pool.map(partial(minilm.onnx_folder, cache=tmp_path), [source] * 2)
    assert folders[0] == folders[1]
    assert list(tmp_path.iterdir()) == [folders[0]]


@pytest.mark.slow
@needs_minilm
def test_the_user_may_name_a_folder(embedder: Embedder, cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for file in minilm.onnx_folder(cache, cache=cache).iterdir():
        (folder / file.name).hardlink_to(file)
    text = ["Robots that ask before they act."]
    named = load_embedder(str(folder))
    assert named.name.startswith("mine@")
    assert (named.embed(text) @ embedder.embed(text).T).item() > 0.9999


@pytest.mark.slow
@needs_minilm
def test_a_folder_with_the_original_weights_will_do(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANYHEADS_CACHE", str(cache))
    assert from_folder(minilm.package_folder()).name == MINILM


@pytest.mark.slow
@needs_minilm
def test_fastembeds_cache_will_do_and_gives_the_same_vectors(
    embedder: Embedder, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "models--Qdrant--all-MiniLM-L6-v2-onnx"
    snapshot = repository / "snapshots" / "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(minilm.onnx_folder(cache, cache=cache), snapshot)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(snapshot.name)
    settings = json.loads((snapshot / "tokenizer_config.json").read_text())
    (snapshot / "tokenizer_config.json").write_text(json.dumps({**settings, "max_length": 128}))
    monkeypatch.setattr(minilm, "PACKAGE", "no-such-package-here")
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    found, text = load_embedder(), ["the third figure of a long paper " * 60]
    assert found.name == embedder.name
    assert (found.embed(text) @ embedder.embed(text).T).item() > 0.9999
    assert unread(found, text) == unread(embedder, text)
    assert (unread(found, text)[0] or 0) > 100


OTHERS = "import manyheads.corpus.qdrant, qdrant_client"
"""What opens an onnxruntime of its own."""


@pytest.mark.slow
@needs_minilm
@pytest.mark.parametrize(
    ("choice", "first"),
    [("folder", ""), ("auto", OTHERS)],
)
def test_no_device_id_is_written_beside_the_models(
    choice: str, first: str, cache: Path, tmp_path: Path
) -> None:
    folder = minilm.onnx_folder(minilm.package_folder(), cache=cache)
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "MANYHEADS_CACHE": str(cache)}
    environment = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    code = f"""
{first}
import sys
from manyheads.corpus.embedding import load_embedder
assert load_embedder({"auto" if choice == "auto" else str(folder)!r}).embed(["a text"]).shape == (1, 384)
assert "onnxruntime" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], env=environment | home, check=True)
    assert list(tmp_path.rglob("*")) == []


def test_weights_that_are_not_the_published_ones_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(EmbeddingError, match="differs from the published file") as caught:
        minilm.onnx_folder(tmp_path, cache=tmp_path / "cache")
    assert "sha256" in str(caught.value)
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
@needs_minilm
@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_a_broken_file_is_named_without_a_traceback(name: str, cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / name.replace(".", "-")
    shutil.copytree(minilm.onnx_folder(minilm.package_folder(), cache=cache), folder)
    (folder / name).write_text(f"not a {name}")
    with pytest.raises(EmbeddingError, match="cannot be loaded") as caught:
        from_folder(folder).embed(["a text"])
    assert str(folder) in str(caught.value)
