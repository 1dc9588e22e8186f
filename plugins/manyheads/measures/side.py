"""One database as texts see it: which papers are nearest, how far, how much cited, and what that is divided by."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from manyheads.errors import MeasureError
from manyheads.measures.nearest import Floats, Means, Neighbours, Survey, mean_distances, ranked, survey
from manyheads.measures.papers import Papers

Normalise = Literal["year", "database", "none"]
Ask: TypeAlias = Callable[[Floats, int], Sequence[Sequence[str]]]
"""Another search: the ids of the k papers that it holds to be nearest to each of (q, dim) vectors."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A paper near a text, and its Euclidean distance: 0 for the same direction, 2 for the opposite one."""

    id: str
    title: str
    year: int
    citations: int | None
    distance: float


@dataclass(frozen=True)
class Side:
    """The database: of each neighbour of q texts its value and what that is divided by, all (q, k).

    Attributes:
        called: what messages call its papers.
        mean_citations: not a number where citations are not known.
    """

    called: str
    papers: Papers
    near: Neighbours
    mean_distances: Means
    citations: Means
    mean_citations: Means

    def papers_near(self, row: int) -> tuple[Neighbour, ...]:
        """The neighbours of a text, nearest first."""
        papers = self.papers
        pairs = zip(self.near.rows[row].tolist(), self.near.distances[row].tolist(), strict=True)
        return tuple(
            Neighbour(papers.ids[at], papers.titles[at], papers.years[at], papers.citations[at], far)
            for at, far in pairs
        )

    def dissimilarity(self, row: int) -> float | str:
        """How far a text is from its neighbours; or why that cannot be said."""
        return self._mean(row, "distance", self.near.distances[row], self.mean_distances[row])

    def impact(self, row: int) -> float | str:
        """How much a text's neighbours are cited; or why that cannot be said."""
        return self._mean(row, "citation count", self.citations[row], self.mean_citations[row])

    def _mean(self, row: int, what: str, values: NDArray[Any], means: Means) -> float | str:
        """The mean of the values, each divided by its mean; or why there is none."""
        if np.isnan(values).any():
            return f"the {what}s of {np.isnan(values).sum()} of its {len(values)} neighbours are not known"
        if np.isnan(means).any():
            return f"the {what}s of some {self.called} papers are not known, so their mean is not"
        if (zero := np.flatnonzero(means == 0)).size:
            year = self.papers.years[int(self.near.rows[row][zero[0]])]
            return f"the mean {what} of the {self.called} papers that its neighbour of {year} is held against is 0"
        return float(np.mean(values / means))


def look(
    vectors: Floats, papers: Papers, k: int, normalise: Normalise, *, called: str, ask: Ask | None = None
) -> Side:
    """The k papers nearest to each of q texts, by exact search unless `ask` is given.

    Raises:
        MeasureError: there are fewer than k papers, or vectors are of another size.
    """
    groups = _groups(papers, normalise)
    found = _survey(vectors, papers, k, groups, ask)
    rows = found.neighbours.rows
    counts = np.array([np.nan if one is None else one for one in papers.citations], dtype=np.float64)
    if not groups:
        ones = np.ones(rows.shape)
        return Side(called, papers, found.neighbours, ones, counts[rows], ones)
    starts = np.array([group.start for group in groups])
    which = np.searchsorted(starts, rows, side="right") - 1
    mean_counts = np.array([counts[group].mean() for group in groups])[which]
    mean_far = np.take_along_axis(found.means, which, axis=1)
    return Side(called, papers, found.neighbours, mean_far, counts[rows], mean_counts)


def _survey(vectors: Floats, papers: Papers, k: int, groups: Sequence[slice], ask: Ask | None) -> Survey:
    if ask is None:
        return survey(vectors, papers.vectors, k, groups)
    rows = _rows(papers, ask(vectors, k), k)
    means = mean_distances(vectors, papers.vectors, groups)
    return Survey(ranked(vectors, papers.vectors, rows), means)


def _rows(papers: Papers, ids: Sequence[Sequence[str]], k: int) -> NDArray[np.intp]:
    row_of = {one: row for row, one in enumerate(papers.ids)}
    if (fewest := min(map(len, ids))) < k:
        raise MeasureError(
            f"the index found only {fewest} of {k} neighbours", hint="search exactly: --search exact"
        )
    return np.array([[row_of[one] for one in some] for some in ids], dtype=np.intp)


def _groups(papers: Papers, normalise: Normalise) -> tuple[slice, ...]:
    """The papers that each mean is over."""
    match normalise:
        case "year":
            return tuple(papers.by_year.values())
        case "database":
            return (slice(0, len(papers)),)
        case "none":
            return ()
