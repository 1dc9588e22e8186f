"""Layers over a corpus: exact like one corpus with all papers, read only, and clear when a part is missing."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from manyheads.base.errors import CorpusError, EmbeddingError
from manyheads.base.files import damaged_files
from manyheads.base.papers import Paper, Scientist
from manyheads.config import LiteratureConfig, RunConfig
from manyheads.corpus.corpora import bylines, open_corpus, resolve_corpus, verify_corpus
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.layers import COPIES, LayerChanges, LayeredStore, parts_of, write_layer
from manyheads.corpus.meta import BuildOptions, read_meta
from manyheads.corpus.qdrant import EdgeStore
from manyheads.corpus.stores import Filter, Schema
from manyheads.corpus.transfer import PIECE, CorpusSource, Manifest, local_copy, manifests_of
from manyheads.literature.search import search
from manyheads.measures.corpus import MeasuringCorpus
from support.corpora import built
from support.papers import papers

DIM, BASE, ALL = 24, 700, 1000
SCHEMA = Schema("some/model", DIM, integers=("year",), keywords=("period", "authors"))
FILTERS = [
    Filter(),
    Filter({"period": "past"}),
    Filter({"period": "past", "authors": "S3"}, {"year": (2004, 2011)}),
    Filter(ranges={"year": (None, 2007)}),
    Filter(ranges={"year": (2012, None)}, exclude=frozenset(f"p{n:04}" for n in range(0, ALL, 3))),
    Filter({"year": 2003}, exclude=frozenset({"p0003", "unknown"})),
]


def vectors() -> NDArray[np.float32]:
    """Every fifth one is another's, often of the other store: ties."""
    rows = np.random.default_rng(7).standard_normal((ALL, DIM)).astype(np.float32)
    rows[::5] = rows[3:ALL:7][: ALL // 5][np.arange(ALL // 5) % len(rows[3:ALL:7])]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def payload(number: int, citations: int) -> dict[str, Any]:
    period = "contemporary" if number % 9 == 8 else "past"
    return {
        "year": 2000 + number % 15, "period": period, "authors": [f"S{number % 5}"], "citations": citations,
    }  # fmt: skip


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EdgeStore, LayeredStore]]:
    """All records in one store, and in two; those whose number ends with 1 are in both parts, and gain 2 citations."""
    base = tmp_path_factory.mktemp("stores")
    whole, lower, upper = (EdgeStore.create(base / name, SCHEMA) for name in ("whole", "lower", "upper"))
    rows, order = vectors(), np.random.default_rng(1).permutation(ALL)
    parts = {"whole": (whole, order), "lower": (lower, order[:BASE]), "upper": (upper, order[BASE:])}
    for name, (store, numbers) in parts.items():
        gains = 2 if name == "whole" else 0
        store.upsert(
            [f"p{n:04}" for n in numbers],
            rows[numbers],
            [payload(n, n % 4 + gains * (n % 10 == 1)) for n in numbers.tolist()],
        )
    again = order[:BASE:50]
    upper.upsert([f"p{n:04}" for n in again], rows[again], [payload(n, n % 4) for n in again.tolist()])
    yield whole, LayeredStore(lower, upper, {f"p{n:04}": 2 for n in range(1, ALL, 10)})
    for store in (whole, lower, upper):
        store.close()


@pytest.mark.parametrize("where", FILTERS, ids=range(len(FILTERS)))
@pytest.mark.parametrize("k", [1, 7, 400])
def test_a_search_finds_what_one_store_with_all_records_finds(
    stores: tuple[EdgeStore, LayeredStore], where: Filter, k: int
) -> None:
    whole, layered = stores
    queries = vectors()[[0, 5, 10, 333, 700]]
    expected = whole.query(queries, k, where)
    assert layered.query(queries, k, where) == expected  # ids, scores, payloads
    if k == 400 and where == Filter():
        assert len({one.score for one in expected[0]}) < k  # there are ties


@pytest.mark.parametrize("where", FILTERS, ids=range(len(FILTERS)))
def test_records_are_counted_listed_and_looked_up_as_in_one_store(
    stores: tuple[EdgeStore, LayeredStore], where: Filter
) -> None:
    whole, layered = stores
    listed = [*layered.scroll(where)]
    assert listed == [*layered.scroll(where)]
    assert sorted(map(repr, listed)) == sorted(map(repr, whole.scroll(where)))
    assert layered.count(where) == whole.count(where) == len(listed)
    ids = [f"p{n:04}" for n in (999, 1, 2, 500)] + ["unknown"]
    assert layered.get(ids) == whole.get(ids)
    found = [{key: repr(one.vector) for key, one in each.get(ids, vectors=True).items()} for each in stores]
    assert found[0] == found[1]


# Whole corpora.

BOUND = 2016


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return built(tmp_path / "base", papers(60), BuildOptions(bound=BOUND))


def grown(base: Path, run: Path, epochs: int = 2) -> list[Path]:
    """Layers of two papers each: the second is a copy of p0's abstract. Each cites p0 once, and p8 the more often the later."""
    folders, model = [base], load_embedder("lexical")
    with Ecosystem.open(base) as corpus:
        first, copied = corpus.scientists[0], corpus.papers.get(["p0"])["p0"]
    for epoch in range(1, epochs + 1):
        texts = [f"We let bees sort parcels, variant {epoch}.", copied.abstract]
        written = [
            Paper(
                id=f"epoch-{epoch}-team-{n}",
                title=f"On {n}",
                abstract=text,
                year=BOUND - 1 + epoch,
                citations=0,
                authors=(first.name,),
            )
            for n, text in enumerate(texts, 1)
        ]
        known = first.model_copy(update={"papers": first.papers + epoch})
        new = Scientist(name=f"Scientist{100 + epoch}", interests=("parcels sorted by bees",), papers=1)
        with Ecosystem.open(folders[-1]) as world:
            write_layer(
                run / f"{epoch:03}", below=world, year=BOUND - 1 + epoch, papers=written, vectors=model.embed(texts),
                scientists=[known, new], citations={"p0": 1, "p8": epoch, "epoch-1-team-1": epoch - 1},
            )  # fmt: skip
        folders.append(run / f"{epoch:03}")
    return folders


async def test_a_layered_corpus_is_one_ecosystem(base: Path, tmp_path: Path) -> None:
    [*_, folder] = grown(base, tmp_path / "run" / "epochs")
    async with open_corpus(str(folder)) as world, open_corpus(str(base)) as old:
        assert world.base is old  # open once
        assert (world.last_year, old.last_year) == (BOUND + 1, BOUND - 1)
        assert world.meta.options.bound == BOUND
        assert world.papers.count() == old.papers.count() + 4 == len([*world.papers.papers()])
        copied = old.papers.get(["p0"])["p0"]
        [hits] = await world.past([copied.abstract], 3)
        assert [hit.paper.id for hit in hits] == ["epoch-1-team-2", "epoch-2-team-2", "p0"]
        assert len({hit.score for hit in hits}) == 1
        assert hits[-1].paper.citations == (copied.citations or 0) + 2
        [early] = await world.past([copied.abstract], 3, before=BOUND + 1)
        assert "epoch-2-team-2" not in {hit.paper.id for hit in early}
        queries = ["tactile grasping", "dense retrieval"]
        assert await world.contemporary(queries, 9) == await old.contemporary(queries, 9)

        first = old.scientists[0]
        assert world.scientist(first.name).papers == first.papers + 2
        assert [one.name for one in world.scientists[-2:]] == ["Scientist101", "Scientist102"]
        [bees] = await world.find_scientists("parcels sorted by bees", 1)
        assert bees.name == "Scientist101"
        ours = await world.find_scientists("tactile grasping", 5)
        assert [one.name for one in ours] == [
            one.name for one in await old.find_scientists("tactile grasping", 5)
        ]
        works, before = ({one.id for one in each.works(first.name, 99)} for each in (world, old))
        assert works - before == {f"epoch-{epoch}-team-{n}" for epoch in (1, 2) for n in (1, 2)}
        assert before < works

        assert [one.id for one in world.hot(2)] == ["p8", "epoch-1-team-1"]
        assert old.hot(2) == []
        assert world.names() == old.names()
    assert not damaged_files(base, whole=True)


def test_what_stands_beside_a_corpus_is_read_through_its_layers(base: Path, tmp_path: Path) -> None:
    [*_, folder] = grown(base, tmp_path / "epochs")
    measuring = MeasuringCorpus.open(folder)
    assert measuring.folder == base
    assert not [one for one in measuring.past.ids if one.startswith("epoch")]
    found = bylines(str(folder), {"p0", "epoch-2-team-1"})
    assert found is not None
    assert found.keys() == {"p0", "epoch-2-team-1"}
    assert "4 papers" in verify_corpus(folder)[-1]


async def test_a_search_in_the_corpus_finds_papers_of_its_layers(base: Path, tmp_path: Path) -> None:
    [*_, folder] = grown(base, tmp_path / "epochs")
    config = RunConfig(corpus=str(folder)).model_copy(
        update={"literature": LiteratureConfig(cascade=("local",), before="bound")}
    )
    found = await search(config, "bees sort parcels", 5)
    assert {paper.id for paper in found.papers} == {"local:epoch-1-team-1", "local:epoch-2-team-1"}


def test_a_layer_is_written_again_where_one_was(base: Path, tmp_path: Path) -> None:
    first = [read_meta(folder).fingerprint for folder in grown(base, tmp_path / "epochs")]
    assert [read_meta(folder).fingerprint for folder in grown(base, tmp_path / "epochs")] == first
    assert len({*first}) == 3


def test_a_run_folder_that_moved_keeps_its_layers_in_order(base: Path, tmp_path: Path) -> None:
    grown(base, tmp_path / "run" / "epochs")
    (tmp_path / "run").rename(tmp_path / "moved")
    assert [one.name for one in parts_of(tmp_path / "moved" / "epochs" / "002")] == ["base", "001", "002"]


def test_a_part_that_is_missing_another_or_damaged_is_named(base: Path, tmp_path: Path) -> None:
    _, lower, upper = grown(base, tmp_path / "epochs")

    def complaint() -> str:
        with pytest.raises(CorpusError) as caught:
            Ecosystem.open(resolve_corpus(str(upper)))
        return str(caught.value)

    lower.rename(aside := tmp_path / "aside")
    assert str(lower) in complaint()
    aside.rename(lower)
    base.rename(aside)
    assert str(base) in complaint()
    built(base, papers(61), BuildOptions(bound=BOUND))  # another one in its place
    assert str(base) in complaint()
    shutil.rmtree(base)
    aside.rename(base)
    resolve_corpus(str(upper))
    (lower / "changes.json").write_text("{}")
    assert "changes.json" in complaint()


def test_a_layer_is_written_without_reading_all_scientists_again(base: Path, tmp_path: Path) -> None:
    with Ecosystem.open(base) as world:
        (base / "scientists.json").unlink()
        same, other = world.scientists[:2]
        write_layer(
            tmp_path / "layer", below=world, year=BOUND, papers=[], vectors=np.zeros((0, world.embedder.dim), np.float32),
            scientists=[same, other.model_copy(update={"interests": ("bees",)})], citations={},
        )  # fmt: skip
    assert LayerChanges.read(tmp_path / "layer")[0].profiles == (other.name,)


def test_vectors_that_do_not_fit_are_refused(base: Path, tmp_path: Path) -> None:
    with Ecosystem.open(base) as world, pytest.raises(EmbeddingError, match=r"expected \(0, "):
        write_layer(
            tmp_path / "layer", below=world, year=BOUND, papers=[], vectors=np.zeros((1, 3), dtype=np.float32),
            scientists=[], citations={},
        )  # fmt: skip
    assert not (tmp_path / "layer").exists()


@pytest.mark.slow
async def test_another_machine_gets_each_part_once(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANYHEADS_CACHE", str(tmp_path / "cache"))
    folders = grown(base, tmp_path / "epochs")
    known = dict[Path, Manifest]()
    lower, upper = (manifests_of(str(folder), known) for folder in folders[1:])
    assert [one.folder for one in upper] == [*map(str, folders)]
    assert lower[0] is upper[0]
    asked, source = list[str](), CorpusSource()

    async def ask(path: str, start: int) -> bytes:
        asked.append(path)
        return source.piece(path, start)

    for each in (*lower, *upper):
        # as if this were another machine: under its own name, nothing is there
        copy = await local_copy(replace(each, corpus=f"{each.corpus}-there"), ask)
        monkeypatch.setitem(COPIES, each.fingerprint, copy)
    assert len(asked) == sum(-(-file.size // PIECE) for each in upper for file in each.files)
    top = COPIES[upper[-1].fingerprint]
    assert all(str(tmp_path / "cache") in str(part) for part in parts_of(top))
    shutil.rmtree(tmp_path / "epochs")
    with Ecosystem.open(top) as world:
        assert world.last_year == BOUND + 1
