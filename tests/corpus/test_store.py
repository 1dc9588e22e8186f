"""The three backings behind the one interface: alike in every answer, clear in every failure."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from manyheads.base.errors import CorpusError, EmbeddingError
from manyheads.corpus.qdrant import ClientStore, EdgeStore
from manyheads.corpus.stores import MEMORY, Filter, Schema, VectorStore
from support.qdrant import QdrantServer

DIM, SIZE = 16, 1300  # more than a page of scroll
SCHEMA = Schema("some/model", DIM, integers=("year",), keywords=("period", "authors"))
VENUES = ("ICRA", "ACL", "KDD")
FILTERS = [
    Filter(),
    Filter(ranges={"year": (2005, 2008)}),
    Filter(ranges={"year": (None, 2006)}),
    Filter(ranges={"year": (2012, None)}),
    Filter(ranges={"year": (2030, None)}),
    Filter(equals={"venue": "ACL"}, ranges={"year": (2003, 2012)}),
    Filter(equals={"authors": "Scientist3", "period": "past"}),
    Filter(equals={"year": 2007}),
    Filter(exclude=frozenset({"paper 1", "paper 2", "unknown"})),
    Filter(equals={"venue": "KDD"}, exclude=frozenset(f"paper {n}" for n in range(0, SIZE, 2))),
]


def vectors(count: int, seed: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def payload(number: int) -> dict[str, Any]:
    return {
        "title": f"Über robots, No. {number}",
        "year": 2000 + number % 15,
        "venue": None if number % 7 == 0 else VENUES[number % 3],
        "period": "past" if number % 15 < 10 else "contemporary",
        "authors": [f"Scientist{number % 5}", f"Scientist{number % 4 + 10}"],
    }


def filled(store: VectorStore) -> VectorStore:
    rows = vectors(SIZE, seed=1)
    for start in range(0, SIZE, 500):
        numbers = range(start, min(start + 500, SIZE))
        store.upsert(
            [f"paper {n}" for n in numbers], rows[start : start + 500], [payload(n) for n in numbers]
        )
    return store


@pytest.fixture(scope="module")
def memory() -> Iterator[VectorStore]:
    store = filled(ClientStore.create(MEMORY, "papers", SCHEMA))
    yield store
    store.close()


@pytest.fixture(scope="module")
def server() -> Iterator[QdrantServer]:
    with QdrantServer() as server:
        yield server


@pytest.fixture(scope="module", params=["folder", pytest.param("server", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VectorStore]:
    """Filled, closed and opened again."""
    if request.param == "folder":
        folder = tmp_path_factory.mktemp("bank") / "papers"
        filled(EdgeStore.create(folder, SCHEMA)).close()
        store: VectorStore = EdgeStore.open(folder)
    else:
        url = request.getfixturevalue("server").url
        filled(ClientStore.create(url, "papers", SCHEMA)).close()
        store = ClientStore.open(url, "papers")
    yield store
    store.close()


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(where, marks=[] if number in (5, 9) else [pytest.mark.slow])
        for number, where in enumerate(FILTERS)
    ],
)
def test_every_backing_finds_the_same(where: Filter, store: VectorStore, memory: VectorStore) -> None:
    queries = vectors(5, seed=2)
    ours, theirs = store.query(queries, 8, where), memory.query(queries, 8, where)
    assert [[one.id for one in found] for found in ours] == [[one.id for one in found] for found in theirs]
    assert [one.payload for found in ours for one in found] == [
        one.payload for found in theirs for one in found
    ]
    scores = [one.score for found in ours for one in found]
    assert scores == pytest.approx([one.score for found in theirs for one in found], abs=1e-5)
    assert store.count(where) == memory.count(where)
    assert list(store.scroll(where)) == list(memory.scroll(where))


def test_what_is_found_is_exact(store: VectorStore) -> None:
    rows, queries = vectors(SIZE, seed=1), vectors(20, seed=3)
    years = np.array([payload(n)["year"] for n in range(SIZE)])
    allowed = (years >= 2004) & (years < 2009)
    scores = np.where(allowed, queries @ rows.T, -np.inf)
    best = np.argsort(-scores, axis=1)[:, :8]
    found = store.query(queries, 8, Filter(ranges={"year": (2004, 2009)}))
    assert [[one.id for one in some] for some in found] == [[f"paper {n}" for n in some] for some in best]


@pytest.mark.parametrize("place", [pytest.param("folder", marks=pytest.mark.slow), MEMORY])
def test_of_equals_the_first_by_id_are_found(place: str, tmp_path: Path) -> None:
    rows = np.repeat(vectors(2, seed=5), 30, axis=0)
    ids = [f"paper {n:02}" for n in range(60)]
    for attempt in range(2):  # a folder's files come to lie otherwise each time
        store = (
            EdgeStore.create(tmp_path / str(attempt), SCHEMA)
            if place == "folder"
            else ClientStore.create(place, "papers", SCHEMA)
        )
        with store:
            for start in range(0, 60, 7):
                some = slice(start, start + 7)
                store.upsert(ids[some], rows[some], [{}] * len(ids[some]))
            for k in (1, 5, 30, 33, 60, 99):
                found = store.query(rows[[0, 59]], k)
                assert [[one.id for one in each] for each in found] == [
                    ids[:k],
                    [*ids[30:], *ids[:30]][:k],
                ]


def test_records_come_back_whole(store: VectorStore) -> None:
    found = store.get(["paper 7", "no such paper", "paper 3"], vectors=True)
    assert list(found) == ["paper 7", "paper 3"]
    assert found["paper 7"].payload == payload(7)
    assert found["paper 3"].vector == pytest.approx(vectors(SIZE, seed=1)[3], abs=1e-6)
    assert store.get(["paper 7"])["paper 7"].vector is None
    assert {record.id for record in store.scroll(vectors=True)} == {f"paper {n}" for n in range(SIZE)}


def test_it_remembers_what_it_was_made_for(store: VectorStore) -> None:
    assert (store.model, store.dim, store.count()) == ("some/model", DIM, SIZE)


def test_nothing_asked_nothing_found(store: VectorStore) -> None:
    assert store.query(np.zeros((0, DIM), dtype=np.float32), 5) == []
    assert store.get([]) == {}
    store.upsert([], np.zeros((0, DIM), dtype=np.float32), [])
    assert store.count() == SIZE


def test_vectors_of_another_size_are_refused(store: VectorStore) -> None:
    with pytest.raises(EmbeddingError, match=r"\(1, 3\) do not fit: expected \(n, 16\)"):
        store.query(np.ones((1, 3), dtype=np.float32), 5)
    with pytest.raises(EmbeddingError, match=r"expected \(2, 16\)"):
        store.upsert(["a", "b"], vectors(1, seed=1), [{}, {}])
    with pytest.raises(EmbeddingError, match="finite"):
        store.query(np.full((1, DIM), np.nan, dtype=np.float32), 5)


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_a_known_id_is_replaced(kind: str, tmp_path: Path) -> None:
    makers: dict[str, Callable[[], VectorStore]] = {
        "folder": lambda: EdgeStore.create(tmp_path / "bank", SCHEMA),
        "memory": lambda: ClientStore.create(MEMORY, "papers", SCHEMA),
    }
    store, rows = makers[kind](), vectors(2, seed=4)
    store.upsert(["one"], rows[:1], [{"year": 2001}])
    store.upsert(["one"], rows[1:], [{"year": 2002}])
    [[found]] = store.query(rows[1:], 5)
    assert (found.id, found.score, found.payload) == ("one", pytest.approx(1), {"year": 2002})
    store.close()


def test_one_writer_or_many_readers(tmp_path: Path) -> None:
    writer = EdgeStore.create(tmp_path / "bank", SCHEMA)
    for read_only in (True, False):
        with pytest.raises(CorpusError, match="in use by another process"):
            EdgeStore.open(tmp_path / "bank", read_only=read_only)
    writer.upsert(["one"], vectors(1, seed=1), [{}])
    writer.close()
    writer.close()
    readers = [EdgeStore.open(tmp_path / "bank", read_only=True) for _ in range(3)]
    with pytest.raises(CorpusError, match="in use"):
        EdgeStore.open(tmp_path / "bank")
    with pytest.raises(CorpusError, match="for reading only"):
        readers[0].upsert(["two"], vectors(1, seed=1), [{}])
    for reader in readers:
        assert reader.count() == 1
        reader.close()
    EdgeStore.open(tmp_path / "bank").close()


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True, env=environment
    )


WRITE = """
import sys
from pathlib import Path
import numpy as np
from manyheads.corpus.qdrant import EdgeStore
store = EdgeStore.open(Path(sys.argv[1]))
start = store.count()
for first in range(start, start + 100_000, 20):
    ids = [str(number) for number in range(first, first + 20)]
    store.upsert(ids, np.eye(20, 16, dtype="f4") + 1, [{"text": "x" * 500, "year": 2000}] * 20)
    print(first + 20, flush=True)
"""


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_it_had_stored(tmp_path: Path) -> None:
    folder = tmp_path / "bank"
    EdgeStore.create(folder, SCHEMA).close()
    for wanted in (7, 1, 12):
        process = python(WRITE, str(folder))
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(wanted)]
        process.send_signal(signal.SIGKILL)
        stored = int((process.communicate()[0].splitlines() or lines)[-1])
        store = EdgeStore.open(folder)
        records = store.get([str(number) for number in range(stored)], vectors=True)
        assert len(records) == stored
        assert all(one.payload == {"text": "x" * 500, "year": 2000} for one in records.values())
        assert store.count(Filter(ranges={"year": (2000, 2001)})) == store.count() >= stored
        store.close()


def test_leftovers_of_a_build_that_never_began_are_no_hindrance(tmp_path: Path) -> None:
    EdgeStore.create(tmp_path / "bank", SCHEMA).close()
    with pytest.raises(CorpusError, match="already contains a bank"):
        EdgeStore.create(tmp_path / "bank", SCHEMA)
    (tmp_path / "bank" / "meta.json").unlink()
    EdgeStore.create(tmp_path / "bank", SCHEMA).close()


def test_a_folder_without_a_bank_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no bank in") as caught:
        EdgeStore.open(tmp_path / "nothing")
    assert "manyheads corpus build" in str(caught.value)
    assert not (tmp_path / "nothing").exists()


def test_a_broken_bank_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "bank"
    EdgeStore.create(folder, SCHEMA).close()
    (folder / "shard" / "edge_config.json").write_text("junk")
    with pytest.raises(CorpusError, match=f"the bank {folder} failed"):
        EdgeStore.open(folder)
    (folder / "meta.json").write_text("{}")
    with pytest.raises(CorpusError, match=r"meta\.json is broken"):
        EdgeStore.open(folder)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CorpusError, match="cannot be written"):
        EdgeStore.create(tmp_path / "file" / "bank", SCHEMA)


def test_a_full_disk_is_said_before_the_engine_dies_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = EdgeStore.create(tmp_path / "bank", SCHEMA)
    monkeypatch.setattr("manyheads.corpus.qdrant.ROOM", 2**60)
    with pytest.raises(CorpusError, match="nearly full"):
        store.upsert(["one"], vectors(1, seed=1), [{}])
    with pytest.raises(CorpusError, match="nearly full"):
        EdgeStore.create(tmp_path / "another", SCHEMA)
    store.close()


def test_the_server_is_given_indexes_and_asked_in_batches(server: QdrantServer) -> None:
    store = ClientStore.create(server.url, "indexed", SCHEMA)
    assert server.indexes == {"year": "integer", "period": "keyword", "authors": "keyword"}
    server.asked.clear()
    store.query(vectors(64, seed=1), 5)
    assert server.asked == [("POST", "/collections/indexed/points/query/batch")]
    with pytest.raises(CorpusError, match="already has a collection indexed"):
        ClientStore.create(server.url, "indexed", SCHEMA)
    store.close()


def test_a_server_without_the_collection_says_how_to_build_it(server: QdrantServer) -> None:
    with pytest.raises(CorpusError, match="has no collection nothing") as caught:
        ClientStore.open(server.url, "nothing")
    assert "manyheads corpus build" in str(caught.value)


def test_a_server_that_is_down_is_named() -> None:
    with QdrantServer() as server:
        store = ClientStore.create(server.url, "papers", SCHEMA)
    for call in (store.count, lambda: ClientStore.open(server.url, "papers")):
        with pytest.raises(CorpusError, match=f"{server.url} does not answer") as caught:
            call()
        assert "next: start it" in str(caught.value)
    store.close()


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_a_server_that_wants_a_key_gets_it_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with QdrantServer(api_key="open sesame") as server:
        monkeypatch.delenv("QDRANT_API_KEY", raising=False)
        with pytest.raises(CorpusError, match="answers 401") as caught:
            ClientStore.create(server.url, "papers", SCHEMA)
        assert "set QDRANT_API_KEY" in str(caught.value)
        monkeypatch.setenv("QDRANT_API_KEY", "open sesame")
        ClientStore.create(server.url, "papers", SCHEMA).close()


def test_a_collection_of_strangers_is_refused(server: QdrantServer) -> None:
    from qdrant_client import QdrantClient, models

    params = models.VectorParams(size=4, distance=models.Distance.COSINE)
    client = QdrantClient(url=server.url, check_compatibility=False)
    client.create_collection("theirs", vectors_config=params)
    client.close()
    with pytest.raises(EmbeddingError, match="was not made by manyheads"):
        ClientStore.open(server.url, "theirs")


NAMES = ("background", "summary")
NAMED = Schema("some/model", DIM, integers=("year",), names=NAMES)


def named_store(kind: str, folder: Path, server: QdrantServer) -> Iterator[VectorStore]:
    """Of three records; the second has no summary."""
    background, summary = vectors(3, seed=1), vectors(3, seed=2)
    summary[1] = 0
    if kind == "folder":
        store: VectorStore = EdgeStore.create(folder / "named", NAMED)
    else:
        store = ClientStore.create(MEMORY if kind == "memory" else server.url, "named", NAMED)
    store.upsert(
        ["a", "b", "c"], {"background": background, "summary": summary}, [{"year": n} for n in range(3)]
    )
    if kind == "folder":
        store.close()
        store = EdgeStore.open(folder / "named", read_only=True)
    elif kind == "server":
        store.close()
        store = ClientStore.open(server.url, "named")
    yield store
    store.close()


@pytest.mark.parametrize("kind", ["folder", "memory", "server"])
def test_a_record_has_several_vectors(kind: str, tmp_path: Path) -> None:
    with QdrantServer() as server:
        for store in named_store(kind, tmp_path, server):
            assert {*store.names} == {*NAMES}
            for name, seed in (("background", 1), ("summary", 2)):
                [[best]] = store.query(vectors(3, seed)[2:], 1, using=name)
                assert (best.id, best.score) == ("c", pytest.approx(1, abs=1e-5))
            assert len(store.query(vectors(1, 3), 3, using="summary")[0]) == 2
            assert [
                one.id
                for one in store.query(
                    vectors(1, 1), 3, Filter(ranges={"year": (1, None)}), using="background"
                )[0]
            ] == ([one.id for one in store.query(vectors(1, 1), 3, using="background")[0] if one.id != "a"])
            found = store.get(["b", "c"], vectors=["summary"])
            assert ([*found["b"].vectors], [*found["c"].vectors]) == ([], ["summary"])
            assert found["c"].vectors["summary"] == pytest.approx(vectors(3, 2)[2], abs=1e-6)
            assert {*store.get(["c"], vectors=True)["c"].vectors} == {*NAMES}
            with pytest.raises(EmbeddingError, match="title"):
                store.query(vectors(1, 1), 1, using="title")
            with pytest.raises(EmbeddingError, match="background"):
                store.query(vectors(1, 1), 1)
            for wrong in (vectors(1, 1), {"background": vectors(1, 1)}):
                with pytest.raises(EmbeddingError, match="background, summary"):
                    store.upsert(["d"], wrong, [{}])
