"""Exact search by the matrix of a large bank finds what the engine finds."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from manyheads.base.errors import CorpusError
from manyheads.base.papers import Paper, Period
from manyheads.corpus import matrix
from manyheads.corpus.building import build_corpus
from manyheads.corpus.ecosystem import PAPERS, Ecosystem, KnowledgeBank
from manyheads.corpus.matrix import FOLDER, VECTORS, writing_matrix
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.phrases import LexicalEmbedder
from manyheads.corpus.qdrant import EdgeStore
from manyheads.corpus.vectors import EVERYTHING, Filter, unit_rows
from support.embedding import PrecomputedEmbedder
from support.papers import papers, write_corpus

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

DIM, COUNT = 16, 900
MODEL = PrecomputedEmbedder("made", DIM)
FILTERS = [
    EVERYTHING,
    Filter(equals={"period": "past"}),
    Filter(equals={"period": "contemporary"}, ranges={"year": (2012, 2016)}),
    Filter(ranges={"year": (None, 2004)}, exclude=frozenset(f"p{n}" for n in range(60))),
    Filter(equals={"period": "past"}, ranges={"year": (2019, None)}),
    Filter(ranges={"year": (1990, 1991)}),
]


def _made() -> tuple[list[Paper], "Vectors"]:
    """Papers in no order of years, every third with the vector of another."""
    rng = np.random.default_rng(1)
    vectors = unit_rows(rng.normal(size=(COUNT, DIM)))
    vectors[::3] = vectors[1 : COUNT // 3 + 1]
    years = rng.integers(2000, 2020, COUNT).tolist()
    return [
        Paper(id=f"p{n}", title=f"T{n}", abstract="a", year=year) for n, year in enumerate(years)
    ], vectors


def _period(paper: Paper) -> Period:
    return "past" if (paper.year or 0) < 2014 else "contemporary"


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, (some, vectors) = tmp_path_factory.mktemp("bank"), _made()
    with KnowledgeBank.create(folder, MODEL) as made, writing_matrix(folder / PAPERS, DIM) as add:
        for period in matrix.PERIODS:
            rows = [row for row, one in enumerate(some) if _period(one) == period]
            part = [some[row] for row in rows]
            made.add(part, vectors[rows], period=period)
            add([(one.year or 0, one.id) for one in part], period, vectors[rows])
    return folder


@pytest.mark.parametrize("where", FILTERS)
def test_the_same_papers_in_the_same_order_as_the_engine(bank: Path, where: Filter) -> None:
    _, vectors = _made()
    with EdgeStore.open(bank / PAPERS, read_only=True) as store:
        assert store.matrix is not None
        quick = store.query(vectors[:20], 8, where)
        store.matrix = None
        slow = store.query(vectors[:20], 8, where)
    assert [[one.id for one in some] for some in quick] == [[one.id for one in some] for some in slow]
    assert [one.payload for some in quick for one in some] == [one.payload for some in slow for one in some]
    one, other = (np.array([one.score for some in found for one in some]) for found in (quick, slow))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_other_filters_and_approximate_searches_go_to_the_engine(bank: Path) -> None:
    _, vectors = _made()
    with EdgeStore.open(bank / PAPERS, read_only=True) as store:
        [none] = store.query(vectors[:1], 3, Filter(equals={"venue": "V"}))
        [some] = store.query(vectors[:1], 3, exact=False)
    assert (len(none), len(some)) == (0, 3)


def test_equal_vectors_have_equal_scores_in_every_batch(bank: Path) -> None:
    _, vectors = _made()
    with EdgeStore.open(bank / PAPERS, read_only=True) as store:
        together = store.query(vectors[:30], 5)
        alone = [store.query(vectors[row : row + 1], 5)[0] for row in range(30)]
    assert [[(one.id, one.score) for one in some] for some in together] == [
        [(one.id, one.score) for one in some] for some in alone
    ]


def test_a_large_corpus_has_one_and_writing_removes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "MATRIX_FROM", 50)
    source = write_corpus(tmp_path / "papers.jsonl", papers(120))
    build_corpus(source, tmp_path / "corpus", BuildOptions(bound=2014), LexicalEmbedder()).close()
    with Ecosystem.open(tmp_path / "corpus") as made:
        store = made.papers.store
        assert isinstance(store, EdgeStore)
        assert store.matrix is not None
        assert len(store.matrix) == store.count()
    with KnowledgeBank.open(tmp_path / "corpus", LexicalEmbedder()):
        assert not (tmp_path / "corpus" / PAPERS / FOLDER).exists()


def test_a_damaged_matrix_is_an_error(bank: Path) -> None:
    file = bank / PAPERS / FOLDER / VECTORS
    whole = file.read_bytes()
    file.write_bytes(whole[:1000])
    try:
        with pytest.raises(CorpusError, match="damaged"):
            EdgeStore.open(bank / PAPERS, read_only=True)
    finally:
        file.write_bytes(whole)
