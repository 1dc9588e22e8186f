"""RND: worked by hand on a line, and what must hold of it whatever the papers are."""

import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.base.errors import MeasureError
from manyheads.measures.novelty import relative_neighbour_density as density_of
from manyheads.measures.papers import Papers
from support.measured import at, laid_out, plain_distances, random_papers, random_points

relative_neighbour_density = partial(density_of, density="abstract")
SEEDS = st.integers(0, 2**32 - 10)
LINE = laid_out(*(((place,), 2010, 1) for place in (0, 1, 2, 3, 10, 12)))


@pytest.mark.parametrize(
    ("place", "around", "own", "expected"),
    [
        # Its two nearest are at 10 and 12, each 2 from its own nearest; it is only 1 from its own.
        (11.0, 2, 1, 0.0),
        # At 3 and 10, which are 1 and 2 from their nearest; it is 3 from its own.
        (6.0, 2, 1, 1.0),
        # At 1 and 2, each 1 from its nearest; it is 0.5 from its own.
        (1.5, 2, 1, 0.0),
        # At 10, 12 and 3: 2, 2 and 1 from their nearest; it is 1.5 from its own, so only the one at 3 is denser.
        (8.5, 3, 1, 1 / 3),
        # Two own: at 12 and 10 these are (2 + 9)/2 and (2 + 7)/2 away on average; its own (3 + 5)/2: neither is denser.
        (15.0, 2, 2, 0.0),
        # It is (0 + 1)/2 away on average, being a copy of the one at 0, which is (1 + 2)/2 away.
        (0.0, 1, 2, 0.0),
        # An equal density counts as no larger: at 4 it is 1 from the one at 3, which is 1 from the one at 2.
        (4.0, 1, 1, 1.0),
    ],
)
def test_the_density_worked_by_hand(place: float, around: int, own: int, expected: float) -> None:
    assert relative_neighbour_density(at([place]), LINE, around=around, own=own) == [pytest.approx(expected)]


def plainly(point: np.ndarray, papers: Papers, around: int, own: int) -> float:
    [far] = plain_distances(point[None], papers.vectors)
    among = plain_distances(papers.vectors, papers.vectors)
    np.fill_diagonal(among, np.inf)
    thinness = np.sort(among, axis=1)[:, :own].mean(axis=1)
    return float(np.mean(thinness[np.argsort(far)[:around]] <= np.sort(far)[:own].mean()))


@given(seed=SEEDS, around=st.integers(1, 40), own=st.integers(1, 39))
def test_plain_loops_agree(seed: int, around: int, own: int) -> None:
    papers, points = random_papers(seed), random_points(seed + 5)
    found = relative_neighbour_density(points, papers, around=around, own=own)
    assert found == pytest.approx([plainly(point, papers, around, own) for point in points])
    assert all(0 <= one <= 1 for one in found)


@pytest.mark.parametrize(("around", "own"), [(7, 1), (1, 6)])
def test_too_few_papers_are_refused(around: int, own: int) -> None:
    with pytest.raises(MeasureError, match="past papers; the corpus has 6") as refused:
        relative_neighbour_density(at([0]), LINE, around=around, own=own)
    smaller = re.search(r"--rnd-papers (\d+) --rnd-neighbours (\d+) fit", str(refused.value))
    assert smaller
    fitting = dict(zip(("around", "own"), map(int, smaller.groups()), strict=True))
    assert fitting["around"] <= around
    assert fitting["own"] <= own
    assert relative_neighbour_density(at([0]), LINE, **fitting)


@given(seed=SEEDS, around=st.integers(1, 40), own=st.integers(1, 39))
def test_as_in_its_paper_by_mean_cosine_distances(seed: int, around: int, own: int) -> None:
    papers, points = random_papers(seed), random_points(seed + 5)
    unit = papers.vectors / np.linalg.norm(papers.vectors, axis=1, keepdims=True)
    among = 1 - unit @ unit.T
    np.fill_diagonal(among, np.inf)
    thinness = np.sort(among, axis=1)[:, :own].mean(axis=1)
    for point, found in zip(points, density_of(points, papers, around=around, own=own), strict=True):
        far = 1 - unit @ (point / np.linalg.norm(point))
        theirs = thinness[np.argsort(far)[:around]] - np.sort(far)[:own].mean()
        # rounding may decide between two that are as thin
        least, most = (float(np.mean(theirs <= margin)) for margin in (-1e-6, 1e-6))
        assert least - 1 / around / 2 <= found <= most + 1 / around / 2
