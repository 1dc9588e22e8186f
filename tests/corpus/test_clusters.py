"""Clusters of papers: tight, whole, and the same in any order."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as some
from numpy.typing import NDArray

from manyheads.corpus.retrieval import clusters, weighted

Rows = NDArray[np.float64]


@some.composite
def papers(draw: some.DrawFn) -> Rows:
    """Unit rows, some of them the same, some of zeros."""
    count, dim = draw(some.integers(0, 25)), draw(some.integers(2, 5))
    seed = draw(some.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, size=(count, dim)).astype(float)  # few values: ties and equals
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=rows, where=lengths > 0)


@given(papers(), some.floats(-1, 1), some.randoms(use_true_random=False))
def test_clusters_hold_what_they_promise(rows: Rows, threshold: float, random: Random) -> None:
    ids = [f"p{number}" for number in range(len(rows))]
    found = clusters(ids, rows, threshold)
    assert sorted(one for cluster in found for one in cluster) == sorted(ids)
    for cluster in found:
        members = rows[[ids.index(one) for one in cluster]]
        assert len(members) == 1 or (members @ members.T).min() >= threshold - 2e-6
        assert cluster[0] == min(cluster, key=ids.index)
    places = [ids.index(cluster[0]) for cluster in found]
    assert places == sorted(places)

    order = list(range(len(ids)))
    random.shuffle(order)
    again = clusters([ids[row] for row in order], rows[order], threshold)
    assert {frozenset(one) for one in again} == {frozenset(one) for one in found}


def test_weights_of_summary_and_ideas() -> None:
    one, other, none = np.eye(2)[:1], np.eye(2)[1:], np.zeros((1, 2))
    assert np.allclose(weighted([(3, one), (4, other)]), [[0.6, 0.8]])
    assert np.allclose(weighted([(0.5, none), (0.5, other)]), other)
    assert np.allclose(weighted([(0, one), (1, none), (0, other)]), [[2**-0.5, 2**-0.5]])
    assert not weighted([(1, none)]).any()
