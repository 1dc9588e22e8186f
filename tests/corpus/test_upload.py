"""A corpus on a Qdrant server: commands use it as one in a folder, and nothing of its vectors lies on the machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import models

from manyheads.corpus.corpora import resolve_corpus, verify_corpus
from manyheads.corpus.database import RECORDS, VECTORS
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.graph import GRAPH, Extraction
from manyheads.corpus.meta import BuildOptions, read_meta
from manyheads.corpus.qdrant import EdgeStore
from manyheads.corpus.retrieval import LiteratureDatabase
from manyheads.corpus.transfer import Manifest
from manyheads.corpus.upload import upload_corpus
from support import corpora
from support.command import manyheads_command
from support.papers import SUBJECTS, paper
from support.qdrant import QdrantServer

MEASURES = ("hd", "cd", "ci", "on")


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with QdrantServer() as server:
        yield server


@pytest.fixture
def served(tmp_path: Path, server: QdrantServer) -> str:
    """A corpus on it; returns what its collections' names begin with."""
    done = manyheads_command("corpus", "upload", "sample", server.url, "--out", "served", cwd=tmp_path)
    assert done.code == 0, done.err
    meta = read_meta(tmp_path / "served").server
    assert meta
    return meta.collections


@pytest.mark.slow
def test_a_corpus_on_a_server_is_searched_and_measured_as_in_its_folder(
    tmp_path: Path, server: QdrantServer, served: str
) -> None:
    (tmp_path / "text.md").write_text("# Owls\n\nRobust retrieval of papers for robots that plan.\n")

    def printed(*words: str) -> list[dict[str, Any]]:
        done = manyheads_command(*words, "--json", cwd=tmp_path)
        assert done.code == 0, done.err
        return done.events

    def outcome(corpus: str) -> tuple[list[str], Any]:
        found = printed("search", "robust retrieval", "--source", "local", "--corpus", corpus)
        [measured] = printed("measure", "text.md", "--corpus", corpus)
        # the server's engine may round in another way
        return [one["id"] for one in found], pytest.approx([measured[each] for each in MEASURES], rel=1e-4)

    (papers, here), (same, there) = outcome("sample"), outcome("served")
    assert papers
    assert (papers, here.expected) == (same, there)
    assert ("POST", f"/collections/{served}-papers/points/query/batch") in server.asked
    assert "records" in manyheads_command("corpus", "verify", "served", cwd=tmp_path).out
    twice = manyheads_command("corpus", "upload", "served", server.url, "-o", "twice", cwd=tmp_path)
    assert f"is on {server.url}" in twice.message


@pytest.mark.slow
def test_a_server_that_is_away_is_named(tmp_path: Path) -> None:
    with QdrantServer() as server:
        manyheads_command("corpus", "upload", "sample", server.url, "--out", "served", cwd=tmp_path)
    away = manyheads_command("run", "virsci", "-s", "corpus=served", cwd=tmp_path)
    assert away.code == 4
    assert f"{server.url} does not answer" in away.message


@pytest.mark.slow
def test_a_corpus_is_uploaded_while_records_are_read_and_takes_more_afterwards(
    tmp_path: Path, server: QdrantServer
) -> None:
    papers = [paper(number, abstract=f"We study {SUBJECTS[number]}.") for number in range(4)]
    here = corpora.built(tmp_path / "here", papers, BuildOptions(bound=2014))
    first, second = (
        Extraction(paper=f"p{number}", entities=("grasping",), background="Objects fall.",
                   summary="We hold them.", main_ideas=("Hold them.",), recipe="rule-1")
        for number in (0, 1)
    )  # fmt: skip
    with Ecosystem.open(here) as ecosystem:
        LiteratureDatabase.of(ecosystem).store_records([first])
        with EdgeStore.open(here / RECORDS / VECTORS, read_only=True):
            upload_corpus(here, server.url, tmp_path / "there", lambda step, done, total: None)
            assert (here / f"{GRAPH}-wal").stat().st_size
    there = tmp_path / "there"
    assert not [*there.glob(f"{GRAPH}-*")]
    with Ecosystem.open(there) as ecosystem:
        database = LiteratureDatabase.of(ecosystem)
        assert database.graph.counts().extractions == 1
        database.store_records([second])
        database.close()
    assert any("2 records" in line for line in verify_corpus(there))


@pytest.mark.parametrize("address", [":memory:", "localhost:6333", "ftp://host", "http://u:secret@host:6333"])
def test_an_address_that_cannot_be_shared_is_refused(tmp_path: Path, address: str) -> None:
    refused = manyheads_command("corpus", "upload", "sample", address, "--out", "served", cwd=tmp_path)
    assert refused.code == 2
    assert "http://HOST:6333" in refused.err
    assert "secret" not in refused.err
    assert not (tmp_path / "served").exists()


def test_what_a_node_gets_of_it_has_no_vectors(tmp_path: Path, served: str) -> None:
    whole = Manifest.of("sample", resolve_corpus("sample"))
    sent = Manifest.of("served", tmp_path / "served")
    assert sum(one.size for one in sent.files) < sum(one.size for one in whole.files) / 5
    assert not [one.name for one in sent.files if one.name.startswith(("papers/", "authors/"))]
    assert sent.fingerprint == whole.fingerprint


def test_a_collection_that_lacks_records_is_said_and_mended_by_another_upload(
    tmp_path: Path, server: QdrantServer, served: str
) -> None:
    lost_one = models.PointIdsList(points=[server.engine.scroll(f"{served}-papers", limit=1)[0][0].id])
    server.engine.delete(f"{served}-papers", lost_one)
    lost = manyheads_command("search", "retrieval", "--source", "local", "--corpus", "served", cwd=tmp_path)
    assert lost.code == 4
    assert f"{server.url} has " in lost.message
    again = manyheads_command("corpus", "upload", "sample", server.url, "-o", "again", cwd=tmp_path)
    assert again.code == 0, again.err
    assert (
        manyheads_command("search", "retrieval", "--source", "local", "--corpus", "served", cwd=tmp_path).code
        == 0
    )
