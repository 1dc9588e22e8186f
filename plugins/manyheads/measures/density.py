"""RND: is a text in a thinner place of its field than the papers around it (arXiv 2503.01508)?"""

import numpy as np

from manyheads.errors import MeasureError
from manyheads.measures.nearest import Floats, Means, nearest
from manyheads.measures.papers import Papers

AROUND, OWN = 100, 50
"""P and Q of arXiv 2503.01508."""


def relative_neighbour_density(
    vectors: Floats, papers: Papers, *, around: int = AROUND, own: int = OWN
) -> list[float]:
    """RND of q texts, (q, dim), each 0…1.

    The share of the text's `around` (P) nearest papers that lie no more thinly than the text does: whose mean
    distance to their own `own` (Q) nearest papers, themselves left out, is no larger than the text's mean
    distance to its Q nearest. 1: all around it is denser, the text is new; 0: it sits in the thick of it.

    HD and CD are absolute, so that in a field with many papers no text looks new; RND compares a text with the
    field that it is in. Distances are Euclidean, as for HD; among unit vectors they rank papers as cosine does.

    Raises:
        MeasureError: there are fewer than P papers, or not more than Q.
    """
    if len(papers) < around or len(papers) <= own:
        raise _too_few(len(papers), around, own)
    found = nearest(vectors, papers.vectors, max(around, own))
    rows = found.rows[:, :around]
    thinness = _mean(found.distances[:, :own])
    needed, where = np.unique(rows, return_inverse=True)
    theirs = _mean(nearest(papers.vectors[needed], papers.vectors, own, without=needed).distances)
    return (theirs[where.reshape(rows.shape)] <= thinness[:, None]).mean(axis=1).tolist()


def _too_few(count: int, around: int, own: int) -> MeasureError:
    """Sizes that fit keep the proportion of the paper's and leave most of the field outside a neighbourhood."""
    larger = "measure against a larger corpus"
    fitting = min(around, count // 3)
    smaller = f"--rnd-papers {fitting} --rnd-neighbours {min(own, max(1, fitting // 2))}"
    return MeasureError(
        f"RND: the {around} papers nearest to a text (P), each with the {own} nearest to it (Q), "
        f"need {max(around, own + 1)} past papers; the corpus has {count}",
        hint=f"{smaller} fit this one, and make another measure; or {larger}" if fitting else larger,
    )


def _mean(distances: Floats) -> Means:
    return distances.mean(axis=1, dtype=np.float64)
