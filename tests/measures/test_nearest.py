"""Nearest neighbours: exact, the same on every run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from manyheads.base.errors import MeasureError
from manyheads.measures.papers import Floats, nearest
from support.measured import at, plain_distances, random_points

COARSE = st.integers(-2, 2).map(float)
"""So few places that many papers share one."""


def grid(rows: int) -> st.SearchStrategy[Floats]:
    return arrays(np.float32, (rows, 3), elements=COARSE)


@given(points=grid(12), among=grid(15), k=st.integers(1, 15))
def test_the_nearest_are_those_of_plain_loops(points: Floats, among: Floats, k: int) -> None:
    found = nearest(points, among, k)
    plain = plain_distances(points, among).astype(np.float32)
    order = np.array([sorted(range(15), key=lambda row: (far[row], row)) for far in plain])[:, :k]
    assert (found.rows == order).all()
    assert (found.distances == np.take_along_axis(plain, order, axis=1)).all()


def test_copies_are_at_distance_zero_and_near_copies_are_told_apart() -> None:
    """Matrix products in float32 alone cannot see differences of 1e-4 between unit vectors."""
    text = random_points(0, 1, 384)
    text /= np.linalg.norm(text)
    steps = np.arange(12, dtype=np.float32)[::-1, None]
    among = (text + steps * 1e-5 * random_points(1, 1, 384)).astype(np.float32)
    found = nearest(text, among, 12)
    assert found.rows.tolist() == [list(range(11, -1, -1))]
    assert found.distances[0, 0] == 0
    assert (np.diff(found.distances[0]) > 0).all()


def test_a_row_can_be_passed_over() -> None:
    among = at([0], [1], [3], [3])
    found = nearest(among, among, 1, without=np.arange(4))
    assert found.rows.tolist() == [[1], [0], [3], [2]]
    assert found.distances.tolist() == [[1], [1], [0], [0]]


@pytest.mark.parametrize(("k", "dim", "said"), [(6, 2, "6 neighbours .* 5"), (0, 2, "0 neigh"), (1, 3, "shape")])  # fmt: skip
def test_too_few_papers_and_strange_vectors_are_refused(k: int, dim: int, said: str) -> None:
    with pytest.raises(MeasureError, match=said):
        nearest(random_points(0, 2, dim), random_points(1, 5, 2), k)
