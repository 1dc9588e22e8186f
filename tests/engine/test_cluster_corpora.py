"""Corpora and papers on a cluster whose nodes share no cache: corpora are sent once to a node, and built as in one process, whatever
dies; PDFs are read beside the workers."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from manyheads.base.files import cache_folder
from manyheads.corpus.database import RECORDS, VECTORS, Records
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.graph import GRAPH, Graph
from manyheads.corpus.meta import BuildOptions
from manyheads.documents.reading import MEMORY
from manyheads.literature.lookup import LEDGER
from support.command import Done, finish, manyheads_command, outcome_of, served_by, start
from support.corpora import built, contents, copied
from support.embedding import needs_minilm
from support.llm import LLM
from support.papers import papers, write_corpus
from support.pdfs import body, heading, typeset
from support.ray_nodes import NEEDS_RAY, RayNodes, ray_nodes
from support.scholar import Scholar, record
from support.suites import write_suite

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), NEEDS_RAY]
BUILD = ("corpus", "build", "papers.jsonl", "--bound", "2015", "--name", "mine", "--out")


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that only the first node sees."""
    hide = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    if sys.platform != "linux" or subprocess.run(hide, check=False, capture_output=True).returncode:
        pytest.skip("only the superuser can hide a folder from a node")
    return tmp_path_factory.mktemp("hidden")


@pytest.fixture(scope="module")
def nodes(hidden: Path) -> Generator[RayNodes]:
    with ray_nodes(hidden=hidden) as running:
        yield running


def on_ray(nodes: RayNodes, folder: Path, *words: str, cache: Path | None = None) -> Done:
    env = {**nodes.env, **({"MANYHEADS_CACHE": str(cache)} if cache else {})}
    with start(*words, *nodes.options, cwd=folder, env=env) as process:
        return finish(process, 400)


def copies(nodes: RayNodes) -> dict[str, int]:
    """The copies of corpora by node, with their inodes."""
    found = nodes.folder.glob("cache-*/corpora/*")
    whole = (path for path in found if path.is_dir() and len(path.name) == 64)
    return {path.parents[1].name: path.stat().st_ino for path in whole}


def test_a_corpus_is_sent_once_to_a_node_that_lacks_it_and_results_are_equal(
    tmp_path: Path, hidden: Path, nodes: RayNodes
) -> None:
    folder, known = built(hidden / "mine", papers(40), BuildOptions(bound=2015)), dict[str, int]()
    keys = {"embedding": "lexical", "turns": 1, "corpus": str(folder)}
    write_suite(tmp_path, "mine", plot=None, set=keys)
    assert manyheads_command("eval", "mine", "--out", "whole", cwd=tmp_path).code == 0
    for out in ("first", "again"):
        done = on_ray(nodes, tmp_path, "eval", "mine", "--workers", "2", "--jobs", "2", "--out", out)
        assert done.code == 0, done.err
        for cell in (tmp_path / "whole" / "cells").iterdir():
            assert outcome_of(cell) == outcome_of(tmp_path / out / "cells" / cell.name)
        known = known or copies(nodes)
        assert copies(nodes) == known
        assert [*known] == ["cache-1"]  # the first node uses the folder itself


def test_a_look_up_is_asked_once_on_all_nodes_and_by_no_later_command(
    tmp_path: Path, nodes: RayNodes
) -> None:
    found = [
        record(f"{n:040x}", f"Tactile fingers for fruit {n}", abstract="Fruit.", year=2012) for n in range(3)
    ]
    keys = {
        "embedding": "lexical",
        "turns": 1,
        "topic": "Tactile fingers",
        "literature.references": "services",
    }
    own = {"literature.cascade": ["semantic_scholar"], "literature.before": "any", "literature.retries": 0}
    write_suite(tmp_path, "mine", plot=None, set=keys | own)
    with Scholar(found) as scholar, LLM() as llm:
        llm.answers["title"] = "Tactile fingers for fruit"
        more = served_by(llm, f"literature.endpoints.semantic_scholar={scholar.url}")
        asked = list[int]()
        for out in ("first", "again"):
            words = ("eval", "mine", "--workers", "2", "--jobs", "2", "--out", out, *more)
            done = on_ray(nodes, tmp_path, *words, cache=tmp_path / "cache")
            assert done.code == 0, done.err
            asked.append(len(scholar.requests))
    assert asked == [len({(one.path, str(sorted(one.params.items()))) for one in scholar.requests})] * 2
    assert asked[0] > 0
    ledgers = [path.read_text().splitlines() for path in tmp_path.glob(f"first/cells/*/{LEDGER}")]
    assert len(ledgers) == 4
    assert sum(map(len, ledgers)) > asked[0]
    assert not [*nodes.folder.glob("cache-*/literature.sqlite")]


def test_pdfs_are_read_in_limited_processes_of_the_workers(tmp_path: Path, nodes: RayNodes) -> None:
    for name in ("owls", "bats"):
        story = [heading("1 Introduction"), body(f"We plan with {name}. ", 400)]
        typeset(tmp_path / f"{name}.pdf", [], [heading("Abstract"), body(f"On {name}."), *story])
    words = ("review", "owls.pdf", "bats.pdf", "--form", "conference", "--repeats", "1", *nodes.options)
    parents, limits = set[bytes](), set[bytes]()
    with start(*words, "--workers", "2", cwd=tmp_path, env=nodes.env) as process:
        while process.poll() is None:
            for reader in nodes.processes("manyheads.documents.reading"):
                with suppress(OSError):
                    status, own = Path(f"/proc/{reader}/status").read_bytes(), Path(f"/proc/{reader}/limits")
                    parent = int(status.partition(b"PPid:")[2].split()[0])
                    parents.add(Path(f"/proc/{parent}/cmdline").read_bytes())
                    limits.add(own.read_bytes().partition(b"Max address space")[2].split()[0])
            time.sleep(0.01)
        done = finish(process, 100)
    assert done.code == 0, done.err
    assert parents
    assert all(parent.startswith(b"ray::JobWorker") for parent in parents), parents
    assert str(MEMORY).encode() in limits
    assert len([*tmp_path.glob("runs/*/result.json")]) == 2


def test_records_by_rules_are_equal_and_made_by_one_and_two_workers(tmp_path: Path, nodes: RayNodes) -> None:
    made, told = built(tmp_path / "made", papers(700), BuildOptions(bound=2015)), list[tuple[str, object]]()
    for workers in (0, 1, 2):
        folder, seen = copied(made, tmp_path / str(workers)), set[int]()
        engine = (*nodes.options, "--workers", str(workers)) if workers else ()
        with start("corpus", "extract", folder.name, *engine, cwd=tmp_path, env=nodes.env) as process:
            while process.poll() is None:
                seen |= {*nodes.processes()}
                time.sleep(0.05)
            done = finish(process, 100)
        assert done.code == 0, done.err
        assert len(seen) == workers
        with (
            Graph(folder / GRAPH) as graph,
            Records.open(folder / RECORDS, load_embedder("lexical"), name=VECTORS) as bank,
        ):
            records = [repr(one) for one in graph.extractions()]
            vectors = sorted(
                (one.id, str(one.payload), str(one.vectors)) for one in bank.store.scroll(vectors=True)
            )
        told.append((done.out, (records, vectors, contents(folder))))
        assert len(records) == len(vectors) == 700
    assert told[0] == told[1] == told[2]


@needs_minilm
def test_a_build_is_equal_on_one_and_two_workers_and_after_kills(tmp_path: Path, nodes: RayNodes) -> None:
    load_embedder()  # its files are made once
    write_corpus(tmp_path / "papers.jsonl", [*papers(200), *papers(300)[290:]])
    own = {each: tmp_path / f"cache-{each}" for each in ("whole", "1", "2", "killed")}
    for cache in own.values():
        shutil.copytree(next(cache_folder().glob("all-MiniLM*-onnx-*")), cache / "all-MiniLM-L6-v2-onnx-1")
    whole = manyheads_command(*BUILD, "whole", cwd=tmp_path, env={"MANYHEADS_CACHE": str(own["whole"])})
    assert whole.code == 0, whole.err
    for workers in ("1", "2"):
        done = on_ray(nodes, tmp_path, *BUILD, workers, "--workers", workers, cache=own[workers])
        assert done.code == 0, done.err
        assert contents(tmp_path / workers) == contents(tmp_path / "whole")

    def vectors() -> int:
        with (
            suppress(sqlite3.Error),
            sqlite3.connect(f"file:{own['killed']}/vectors.sqlite?mode=ro", uri=True) as cached,
        ):
            return cached.execute("SELECT count(*) FROM vectors").fetchone()[0]
        return 0

    env = {**nodes.env, "MANYHEADS_CACHE": str(own["killed"])}
    with start(*BUILD, "killed", *nodes.options, cwd=tmp_path, env=env) as process:
        while not vectors() and process.poll() is None:
            time.sleep(0.02)
        process.kill()
    kept = vectors()
    assert not (tmp_path / "killed").exists()
    assert kept
    with start(*BUILD, "killed", *nodes.options, cwd=tmp_path, env=env) as process:
        while vectors() == kept and process.poll() is None:
            time.sleep(0.02)
        for worker in [*nodes.processes()][:1]:
            os.kill(worker, signal.SIGKILL)
        done = finish(process, 400)
    assert done.code == 0, done.err
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
