"""Ecosystems on disk: built, resumed, opened by many, masked everywhere."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from manyheads.base.errors import CorpusError, EmbeddingError
from manyheads.base.papers import Paper
from manyheads.corpus.building import build_corpus
from manyheads.corpus.corpora import resolve_corpus, verify_corpus
from manyheads.corpus.ecosystem import Ecosystem, KnowledgeBank
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.graph import GRAPH, Graph, Text
from manyheads.corpus.meta import BuildOptions, read_meta
from manyheads.corpus.vectors import Embedder
from support.corpora import copied
from support.papers import NAMES, paper, papers, write_corpus

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

OPTIONS = BuildOptions(bound=2014, min_past_citations=5)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_embedder("lexical")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Path:
    folder = tmp_path_factory.mktemp("built")
    records = papers(120)
    records[3] |= {
        "introduction": f"{NAMES[0]} (okafor@sea.org) has shown this.",
        "method": f"As {NAMES[1]}\n does.",
    }
    records += [paper(500, abstract=f"{NAMES[0]} has shown this.", venue="V", year=2016)]
    source = write_corpus(folder / "papers.jsonl.gz", [*records, "{broken"])
    build_corpus(source, folder / "corpus", OPTIONS, embedder).close()
    return folder / "corpus"


@pytest.fixture
def ecosystem(built: Path, embedder: Embedder) -> Iterator[Ecosystem]:
    with Ecosystem.open(built, embedder) as opened:
        yield opened


async def test_past_and_contemporary_are_found_apart(ecosystem: Ecosystem) -> None:
    queries = ["tactile grasping", "dense retrieval"]
    past, contemporary = await ecosystem.past(queries, 5), await ecosystem.contemporary(queries, 5)
    assert [len(hits) for hits in (*past, *contemporary)] == [5, 5, 5, 5]
    assert all((hit.paper.year or 9999) < 2014 for hits in past for hit in hits)
    assert all((hit.paper.year or 0) >= 2014 for hits in contemporary for hit in hits)
    assert "grasping" in past[0][0].paper.abstract


async def test_past_papers_before_a_year(ecosystem: Ecosystem) -> None:
    [hits] = await ecosystem.past(["tactile grasping"], 50, before=2012)
    assert {hit.paper.year for hit in hits} == {2010, 2011}


async def test_scientists_are_found_by_profile_but_not_those_excluded(ecosystem: Ecosystem) -> None:
    best = await ecosystem.find_scientists("tactile grasping", len(NAMES))
    others = await ecosystem.find_scientists("tactile grasping", len(NAMES), exclude={best[0].name})
    assert others == best[1:]
    assert "tactile" in " ".join(best[0].interests)
    assert best[0] == ecosystem.scientist(best[0].name)
    with pytest.raises(CorpusError, match="'Scientist99': no such scientist"):
        ecosystem.scientist("Scientist99")


@pytest.mark.slow
def test_nothing_but_the_names_file_holds_a_real_name(built: Path, ecosystem: Ecosystem) -> None:
    assert sorted(ecosystem.names().values()) == sorted(NAMES)
    files = [
        path
        for path in built.rglob("*")
        if path.is_file() and path.name not in ("names.json", "bylines.jsonl")
    ]
    assert len(files) > 5
    for path in files:
        content = path.read_bytes().rstrip(b"\0")
        assert not [name for name in NAMES if name.encode() in content], path
    masks = {real: mask for mask, real in ecosystem.names().items()}
    with Graph(built / GRAPH) as graph:
        [text] = graph.texts(["p3", "p4"]).values()
    assert text == Text(f"{masks[NAMES[0]]} ((address)) has shown this.", f"As {masks[NAMES[1]]}\n does.")


def test_the_folder_says_what_is_in_it(built: Path, ecosystem: Ecosystem) -> None:
    meta = ecosystem.meta
    assert (meta.name, meta.source, meta.counts.read, meta.counts.rejected) == (
        "corpus",
        "papers.jsonl.gz",
        121,
        1,
    )
    assert meta.counts.past + meta.counts.contemporary + meta.counts.removed["past citations ≥ 5"] == 121
    assert meta.counts.scientists == len(ecosystem.scientists) == len(NAMES)
    assert meta.past_years == (2010, 2013)
    told = [json.loads(line) for line in (built / "rejects.jsonl").read_text().splitlines()]
    assert [one["line"] for one in told if "reason" in one] == [122]
    assert sum("left_out" in one for one in told) == meta.counts.removed["past citations ≥ 5"]
    for one in ecosystem.scientists:
        assert all(
            ecosystem.scientist(other).collaborators[one.name] == n for other, n in one.collaborators.items()
        )


def test_a_corpus_that_is_being_written_is_not_opened(
    built: Path, tmp_path: Path, embedder: Embedder
) -> None:
    copied(built, tmp_path / "corpus")
    with (
        KnowledgeBank.open(tmp_path / "corpus", embedder),
        pytest.raises(CorpusError, match="another process"),
    ):
        Ecosystem.open(tmp_path / "corpus", embedder)


def test_a_corpus_whose_model_is_gone_asks_for_its_folder_not_for_word_hashing(
    built: Path, tmp_path: Path
) -> None:
    copied(built, tmp_path / "corpus")
    meta = tmp_path / "corpus" / "meta.json"
    kept = json.loads(meta.read_text(encoding="utf-8"))
    kept["embedding"]["name"] = "minilm-of-my-own"
    meta.write_text(json.dumps(kept), encoding="utf-8")
    with pytest.raises(EmbeddingError, match="minilm-of-my-own") as refused:
        Ecosystem.open(tmp_path / "corpus")
    assert "--set embedding=FOLDER" in str(refused.value.hint)
    assert "lexical" not in str(refused.value.hint)


def test_a_folder_that_is_no_corpus_names_the_next_command(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="not a built corpus") as told:
        Ecosystem.open(tmp_path)
    assert "manyheads corpus build" in str(told.value)


@pytest.mark.parametrize("content", ["{", '{"format": "something else"}'])
def test_a_damaged_corpus_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "meta.json").write_text(content)
    with pytest.raises(CorpusError, match=r"meta\.json: this version cannot read the corpus"):
        Ecosystem.open(tmp_path)


class Counting:
    """An embedder that counts what it was asked for, and can be made to stop its process or raise."""

    def __init__(self, inner: Embedder, *, name: str, stop_after: int | None = None) -> None:
        self.name, self.dim, self.asked = name, inner.dim, 0
        self._inner, self._stop_after = inner, stop_after

    def embed(self, texts: Sequence[str]) -> "Vectors":
        if self._stop_after is not None and self.asked >= self._stop_after:
            raise KeyboardInterrupt
        self.asked += len(texts)
        return self._inner.embed(texts)


def texts_embedded(source: Path, target: Path, embedder: Embedder) -> int:
    """By a build that nothing stops: of equal texts, as two profiles may be, only the first is embedded."""
    counting = Counting(embedder, name=f"whole-{target}")
    with build_corpus(source, target, OPTIONS, counting) as made:
        counts = made.meta.counts
    papers_kept = counts.past + counts.contemporary
    assert papers_kept < counting.asked <= papers_kept + counts.scientists
    return counting.asked


KILLED = """
import os, signal, sys
from pathlib import Path
from manyheads.corpus import building
from manyheads.corpus.building import build_corpus
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.meta import BuildOptions

class Dying:
    inner = load_embedder("lexical")
    name, dim, asked = sys.argv[3], inner.dim, 0
    def embed(self, texts):
        if self.asked:
            os.kill(os.getpid(), signal.SIGKILL)
        self.asked += len(texts)
        return self.inner.embed(texts)

build_corpus(Path(sys.argv[1]), Path(sys.argv[2]), BuildOptions(bound=2014, min_past_citations=5), Dying())
"""


@pytest.mark.slow
def test_a_killed_build_goes_on(tmp_path: Path, embedder: Embedder) -> None:
    source, target = write_corpus(tmp_path / "papers.jsonl", papers(700)), tmp_path / "corpus"
    name = f"dying-{tmp_path}"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(source), str(target), name], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not target.exists()
    going_on = Counting(embedder, name=name)
    build_corpus(source, target, OPTIONS, going_on).close()
    assert going_on.asked == texts_embedded(source, tmp_path / "whole", embedder) - 64


@pytest.mark.slow
def test_what_a_killed_build_left_broken_is_no_hindrance(tmp_path: Path, embedder: Embedder) -> None:
    source, target = write_corpus(tmp_path / "papers.jsonl", papers(60)), tmp_path / "corpus"
    partial = tmp_path / "corpus.partial"
    partial.mkdir()
    for name in ("selected.sqlite", "graph.sqlite", "graph.sqlite-wal", "graph.sqlite-shm"):
        (partial / name).write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    build_corpus(source, target, OPTIONS, embedder).close()
    assert not (target / "selected.sqlite").exists()


@pytest.mark.slow
def test_vectors_are_imported_and_the_missing_ones_embedded(tmp_path: Path, embedder: Embedder) -> None:
    records = [paper(n, year=2010 + n % 8, authors=NAMES[:1]) for n in range(40)]
    source = write_corpus(tmp_path / "papers.jsonl", records)
    rows = embedder.embed([one["abstract"] for one in records[:30]])
    np.save(tmp_path / "vectors.npy", rows.astype(np.float16))
    (tmp_path / "ids.txt").write_text("".join(f"{one['id']}\n" for one in records[:30]))
    counting = Counting(embedder, name=f"importing-{tmp_path}")
    pair = (tmp_path / "vectors.npy", tmp_path / "ids.txt")
    with build_corpus(source, tmp_path / "corpus", OPTIONS, counting, vectors=pair) as made:
        assert made.meta.counts.vectors_imported == 30
        assert (
            counting.asked == 10 + 1 + 8
        )  # papers without a vector, the scientist's profile, papers compared


@pytest.mark.parametrize(
    ("prefix", "shift", "said"),
    [("another-", 0, "none of its ids"), ("", 100, "not the vectors of .*mean cosine of 8")],
)
def test_vectors_of_other_papers_or_another_model_are_refused(
    tmp_path: Path, embedder: Embedder, prefix: str, shift: int, said: str
) -> None:
    source = write_corpus(tmp_path / "papers.jsonl", records := papers(40))
    vectors, ids = tmp_path / "vectors.npy", tmp_path / "ids.txt"
    np.save(vectors, np.roll(embedder.embed([one["abstract"] for one in records]), shift, axis=1))
    ids.write_text("".join(f"{prefix}{one['id']}\n" for one in records))
    with pytest.raises(EmbeddingError, match=said):
        build_corpus(source, tmp_path / "corpus", OPTIONS, embedder, vectors=(vectors, ids))


def test_a_bad_source_leaves_nothing_behind(tmp_path: Path, embedder: Embedder) -> None:
    with pytest.raises(CorpusError, match="no such file"):
        build_corpus(tmp_path / "none.jsonl", tmp_path / "corpus", OPTIONS, embedder)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_source_leaves_what_was_rejected_in_it(tmp_path: Path, embedder: Embedder) -> None:
    source = write_corpus(tmp_path / "papers.jsonl", [paper(1), *["{broken"] * 9])
    with pytest.raises(CorpusError, match="9 of 10 lines are not papers") as told:
        build_corpus(source, tmp_path / "corpus", OPTIONS, embedder)
    log = tmp_path / "corpus.partial" / "rejects.jsonl"
    assert str(log) in str(told.value)
    assert len(log.read_text().splitlines()) == 9
    assert not (tmp_path / "corpus").exists()


def test_a_target_in_the_way_is_told_before_any_work(built: Path, tmp_path: Path, embedder: Embedder) -> None:
    with pytest.raises(CorpusError, match="already contains a built corpus"):
        build_corpus(tmp_path / "none.jsonl", built, OPTIONS, embedder)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(CorpusError, match="not a corpus"):
        build_corpus(tmp_path / "none.jsonl", tmp_path, OPTIONS, embedder)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, embedder: Embedder) -> None:
    source = write_corpus(tmp_path / "papers.jsonl", papers(60))
    with pytest.raises(CorpusError, match="Not a directory"):
        build_corpus(source, source / "corpus", OPTIONS, embedder)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_told_and_what_was_done_is_kept(tmp_path: Path, embedder: Embedder) -> None:
    source, target = write_corpus(tmp_path / "papers.jsonl", papers(60)), tmp_path / "corpus"

    def fill_up(step: str, done: int, total: int | None) -> None:
        names = tmp_path / "corpus.partial" / "names.json"
        if step == "embedding scientists" and not names.is_symlink():
            names.symlink_to("/dev/full")

    with pytest.raises(CorpusError, match=r"No space left.*") as told:
        build_corpus(source, target, OPTIONS, embedder, progress=fill_up)
    assert "run the same command again" in str(told.value)
    assert (tmp_path / "corpus.partial" / "papers").is_dir()
    build_corpus(source, target, OPTIONS, embedder).close()


@pytest.mark.slow
def test_the_sample_is_built_once_and_then_found(tmp_path: Path) -> None:
    first = resolve_corpus("sample", tmp_path, embedding="lexical")
    built_at = (first / "meta.json").stat().st_mtime_ns
    assert resolve_corpus("sample", tmp_path, embedding="lexical") == first
    assert (first / "meta.json").stat().st_mtime_ns == built_at
    with Ecosystem.open(first) as sample:
        counts = sample.meta.counts
        assert (sample.meta.name, counts.past, counts.contemporary, counts.scientists) == (
            "sample",
            80,
            40,
            24,
        )
        assert counts.interests_by == {"keywords": 24}
        assert not counts.removed
        assert all(one.affiliations for one in sample.scientists)


def test_a_corpus_by_path_and_by_wrong_path(built: Path, tmp_path: Path) -> None:
    assert resolve_corpus(str(built), tmp_path) == built
    source = write_corpus(tmp_path / "mine.jsonl.gz", [paper()])
    with pytest.raises(CorpusError, match="not a built corpus") as told:
        resolve_corpus(str(source), tmp_path)
    assert f"manyheads corpus build {source}" in str(told.value)
    with pytest.raises(CorpusError, match="no such corpus"):
        resolve_corpus("smaple", tmp_path)


def _spoil(folder: Path, name: str) -> None:
    """Change bytes of the one file of the papers' bank that is called so."""
    [file] = (folder / "papers").rglob(name)
    data = bytearray(file.read_bytes())
    data[:16] = b"\xff" * 16
    file.write_bytes(data)


def test_a_damaged_corpus_is_not_opened(built: Path, tmp_path: Path) -> None:
    copied(built, tmp_path / "mine")
    (tmp_path / "mine" / "names.json").unlink()
    (tmp_path / "mine" / "rejects.jsonl").unlink()
    assert resolve_corpus(str(tmp_path / "mine")) == tmp_path / "mine"
    assert len(verify_corpus(tmp_path / "mine")) == 4
    _spoil(tmp_path / "mine", "vector_storage/deleted/flags_a.dat")
    for check in (lambda: resolve_corpus(str(tmp_path / "mine")), lambda: verify_corpus(tmp_path / "mine")):
        with pytest.raises(CorpusError, match=r"damaged since the build: papers/shard/.*flags_a\.dat"):
            check()


@pytest.mark.slow
def test_a_corpus_without_checksums_opens_and_is_verified_by_its_records(built: Path, tmp_path: Path) -> None:
    copied(built, tmp_path / "mine")
    (tmp_path / "mine" / "checksums.json").unlink()
    with Ecosystem.open(resolve_corpus(str(tmp_path / "mine"))) as ecosystem:
        assert ecosystem.scientists
    assert "without checksums" in verify_corpus(tmp_path / "mine")[0]
    _spoil(tmp_path / "mine", "vector_storage/deleted/flags_a.dat")
    with pytest.raises(CorpusError, match=r"mine/papers: .* the vector of"):
        verify_corpus(tmp_path / "mine")


@pytest.mark.slow
def test_a_panic_of_the_engine_is_told(built: Path, tmp_path: Path) -> None:
    copied(built, tmp_path / "mine")
    [file] = (tmp_path / "mine" / "papers").rglob("vector_storage/vectors/status.dat")
    file.write_bytes(b"")
    with pytest.raises(CorpusError, match="mine/papers failed: its files are damaged"):
        Ecosystem.open(tmp_path / "mine")


@pytest.mark.slow
def test_a_corpus_that_is_written_to_has_no_checksums_of_before(
    built: Path, tmp_path: Path, embedder: Embedder
) -> None:
    copied(built, tmp_path / "mine")
    with KnowledgeBank.open(tmp_path / "mine", embedder) as bank:
        bank.add([Paper(id="new", title="New", abstract="Of robots.", year=2012)], period="past")
    with Ecosystem.open(resolve_corpus(str(tmp_path / "mine"))) as ecosystem:
        assert ecosystem.papers.get(["new"])


@pytest.mark.slow
def test_a_damaged_sample_is_built_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = resolve_corpus("sample", tmp_path, embedding="lexical")
    fingerprint = read_meta(folder).fingerprint
    for spoil in (lambda: _spoil(folder, "payload_storage/tracker.dat"), (folder / "meta.json").unlink):
        spoil()
        caplog.clear()
        assert resolve_corpus("sample", tmp_path, embedding="lexical") == folder
        assert str(folder) in caplog.text
        assert read_meta(folder).fingerprint == fingerprint
        assert len(verify_corpus(folder)) == 4
