"""Bearings: the directions of a text's nearest papers on a map."""

import numpy as np
import pytest

from manyheads.measures.novelty import bearings, novelty, with_bearings
from manyheads.measures.papers import Floats
from support.measured import random_papers, random_points


def apart(one: float, other: float) -> float:
    """The angle between two bearings."""
    return abs((one - other + 180) % 360 - 180)


def test_papers_around_the_text_in_a_plane_keep_their_angles() -> None:
    angles = np.radians([0, 60, 180, 240])
    plane = np.linalg.qr(np.random.default_rng(0).normal(size=(16, 2)))[0]
    text = np.full(16, 0.1, dtype=np.float32)
    papers = text + np.stack([np.cos(angles), np.sin(angles)], axis=1) @ plane.T * [
        [0.3],
        [0.9],
        [0.5],
        [0.7],
    ]
    found = bearings(text, papers.astype(np.float32))
    gaps = [apart(one, other) for n, one in enumerate(found) for other in found[n + 1 :]]
    assert gaps == pytest.approx([60, 180, 120, 120, 180, 60], abs=0.3)


@pytest.mark.parametrize("papers", [np.zeros((3, 4)), np.ones((2, 4)), np.eye(1, 4)])
def test_copies_of_the_text_and_equal_papers_have_a_bearing(papers: Floats) -> None:
    found = bearings(np.zeros(4, dtype=np.float32), papers.astype(np.float32))
    assert len(found) == len(papers)
    assert all(0 <= angle < 360 for angle in found)


def test_neighbours_keep_their_order_and_distance() -> None:
    past, contemporary = random_papers(0, 40), random_papers(1, 30)
    [text] = random_points(2, 1)
    [found] = novelty(text[None], past, contemporary)
    turned = with_bearings(found, text, past, contemporary)
    for one, other in zip(
        (*found.past, *found.contemporary), (*turned.past, *turned.contemporary), strict=True
    ):
        assert (one.id, one.distance) == (other.id, other.distance)
        assert one.bearing is None
        assert other.bearing is not None
    vectors = [past.vectors[past.row_of[one.id]] for one in found.past]
    vectors += [contemporary.vectors[contemporary.row_of[one.id]] for one in found.contemporary]
    assert [one.bearing for one in (*turned.past, *turned.contemporary)] == bearings(text, np.stack(vectors))
