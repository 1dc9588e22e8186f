"""The knowledge bank as its users see it: papers in, papers out, by meaning, year and field."""

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from manyheads.base.errors import CorpusError, EmbeddingError
from manyheads.base.papers import Paper, Scientist
from manyheads.corpus.ecosystem import Collection, KnowledgeBank
from manyheads.corpus.phrases import LexicalEmbedder
from manyheads.corpus.stores import MEMORY, Filter
from support.embedding import PrecomputedEmbedder

TOPICS = ["robust retrieval for robots", "parsing of rare languages", "proofs about prime numbers"]


def paper(number: int) -> Paper:
    topic = TOPICS[number % 3]
    return Paper(
        id=f"p{number}",
        title=f"On {topic}",
        abstract=f"We study {topic}, part {number + 100}.",
        year=2000 + number,
        citations=number,
        authors=(f"Scientist{number}", "Scientist0"),
        venue="ICRA" if number % 2 else None,
        keywords=("robots",),
    )


PAPERS = [paper(number) for number in range(12)]


@pytest.fixture
def bank() -> KnowledgeBank:
    bank = KnowledgeBank.create(MEMORY, LexicalEmbedder())
    bank.add(PAPERS[:8], period="past")
    bank.add(PAPERS[8:], period="contemporary")
    return bank


async def test_papers_are_found_by_meaning(bank: KnowledgeBank) -> None:
    robots, proofs = await bank.search(["a robust robot", "prime number"], k=3)
    assert {hit.paper.title for hit in robots} == {"On robust retrieval for robots"}
    assert {hit.paper.title for hit in proofs} == {"On proofs about prime numbers"}
    assert [hit.score for hit in robots] == sorted((hit.score for hit in robots), reverse=True)
    assert all(hit.paper in PAPERS and -1 <= hit.score <= 1 for hit in robots + proofs)


async def test_fields_and_ids_narrow_a_search(bank: KnowledgeBank) -> None:
    [hits] = await bank.search(
        ["study"], k=50, where={"period": "contemporary", "venue": "ICRA"}, exclude={"p9"}
    )
    assert [hit.paper.id for hit in hits] == ["p11"]
    [hits] = await bank.search(["study"], k=50, where={"authors": "Scientist3"})
    assert [hit.paper.id for hit in hits] == ["p3"]
    [hits] = await bank.search(["study"], k=50, years=(2003, 2006))
    assert (
        {hit.paper.id for hit in hits}
        == {one.id for one in bank.papers(years=(2003, 2006))}
        == {"p3", "p4", "p5"}
    )
    assert (bank.count(where={"period": "past"}), bank.count(years=(2003, 2006)), bank.count()) == (8, 3, 12)
    assert bank.get(["p5", "nobody", "p1"]) == {"p5": PAPERS[5], "p1": PAPERS[1]}


async def test_it_is_kept_in_a_folder(tmp_path: Path) -> None:
    embedder, steps = LexicalEmbedder(), list[int]()
    with KnowledgeBank.create(tmp_path, embedder) as bank:
        assert bank.add((paper(number) for number in range(300)), progress=steps.append) == 300
    assert steps == [256, 44]
    meta = json.loads((tmp_path / "papers" / "meta.json").read_text())
    assert meta == {"model": "lexical-hash-384", "dim": 384, "count": 300}
    with KnowledgeBank.open(tmp_path, embedder, read_only=True) as bank:
        [[hit]] = await bank.search([PAPERS[4].abstract], k=1)
        assert (hit.paper, hit.score) == (PAPERS[4], pytest.approx(1, abs=1e-5))
        assert sorted(bank.papers(), key=lambda one: one.year or 0) == [
            paper(number) for number in range(300)
        ]


def test_another_embedding_model_is_refused(tmp_path: Path) -> None:
    KnowledgeBank.create(tmp_path, LexicalEmbedder(384)).close()
    for other in (LexicalEmbedder(256), PrecomputedEmbedder("another/model", 384)):
        with pytest.raises(
            EmbeddingError, match=rf"built with lexical-hash-384 \(384 .*{other.name}"
        ) as caught:
            KnowledgeBank.open(tmp_path, other)
        assert "--set embedding=lexical-hash-384" in str(caught.value)
    KnowledgeBank.open(tmp_path, LexicalEmbedder(384)).close()  # the refusals left it free


def test_memory_cannot_be_opened() -> None:
    with pytest.raises(CorpusError, match="in memory"):
        KnowledgeBank.open(MEMORY, LexicalEmbedder())


def test_precomputed_vectors_need_no_model() -> None:
    embedder = PrecomputedEmbedder("some/model", 8)
    vectors = np.eye(12, 8, dtype=np.float32) + 1
    with KnowledgeBank.create(MEMORY, embedder) as bank:
        bank.add(PAPERS, vectors)
        [[hit]] = bank.store.query(vectors[3:4], k=1)
        assert hit.id == PAPERS[3].id
        with pytest.raises(EmbeddingError, match="12 vectors were given for 11 texts"):
            bank.add(PAPERS[1:], vectors)
        with pytest.raises(EmbeddingError, match="do not fit"):
            bank.add(PAPERS, vectors[:4])


async def test_another_kind_of_thing_can_be_kept_beside_it(tmp_path: Path) -> None:
    people = [Scientist(name=f"Scientist{n}", interests=(topic,), papers=n) for n, topic in enumerate(TOPICS)]
    with Collection.create(tmp_path, LexicalEmbedder(), name="authors") as authors:
        authors.add_items((one.name, one.interests[0], one.model_dump(mode="json")) for one in people)
        [found] = await authors.find(["rare language"], k=2, where=Filter(ranges={"papers": (1, None)}))
        assert Scientist.model_validate(found[0].payload) == people[1]
        assert {record.id for record in authors.store.scroll()} == {one.name for one in people}
        assert list(authors.store.get(["Scientist2"])) == ["Scientist2"]


class SlowEmbedder(LexicalEmbedder):
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        time.sleep(0.2)
        return super().embed(texts)


async def test_a_search_leaves_the_event_loop_free() -> None:
    bank, ticks = KnowledgeBank.create(MEMORY, SlowEmbedder()), 0
    searching = asyncio.create_task(bank.search(["anything"]))
    while not searching.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks > 5
    assert await searching == [[]]
