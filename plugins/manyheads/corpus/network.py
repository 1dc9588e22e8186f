"""The graph in memory for retrieval: ids, years, citations and mentions, the latter two as sparse matrices.

Some 500 bytes per paper with 20 citations and 5 entities; the names of entities stay in the graph's file.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from manyheads.corpus.graph import Graph

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.int64]
    Mask: TypeAlias = NDArray[np.bool_]


class Together(NamedTuple):
    """Co-citations: `other` with `paper`, by `times` papers; numbers, one row each."""

    paper: "Numbers"
    other: "Numbers"
    times: "Numbers"


class Network:
    """Papers and entities by their numbers in the graph: a snapshot.

    A mask has an entry for each paper number: whose citations and mentions count, or which papers may be found.
    """

    def __init__(self, graph: Graph) -> None:
        import numpy as np

        papers = _rows(graph.paper_rows(), 4)
        ids = dict(graph.paper_ids())
        self.size = int(papers[:, 0].max(initial=0)) + 1
        self.years = np.full(self.size, -1, dtype=np.int32)
        self.in_corpus = np.zeros(self.size, dtype=bool)
        self.has_record = np.zeros(self.size, dtype=bool)
        self.years[papers[:, 0]] = papers[:, 1]
        self.in_corpus[papers[:, 0]], self.has_record[papers[:, 0]] = papers[:, 2] > 0, papers[:, 3] > 0
        self.ids = [ids.get(number, "") for number in range(self.size)]
        self._numbers = {ids[number]: number for number in np.flatnonzero(self.in_corpus).tolist()}
        cites, mentions = _rows(graph.citation_rows(), 2), _rows(graph.mention_rows(), 2)
        self.citations = int(self.in_corpus[cites].all(axis=1).sum())
        self._cites, self._cited = _matrices(cites, self.size, self.size)
        self.entities = int(mentions[:, 1].max(initial=0)) + 1
        self._mentions, self._holding = _matrices(mentions, self.size, self.entities)

    def numbers(self, ids: Iterable[str]) -> "Numbers":
        """The numbers of papers of the corpus; others are omitted."""
        import numpy as np

        known = (self._numbers.get(one) for one in ids)
        return np.fromiter((one for one in known if one is not None), dtype=np.int64)

    def mask(self, before: int | None = None, since: int | None = None) -> "Mask":
        """The papers of the corpus from these years; those of unknown year only without bounds."""
        mask = self.in_corpus.copy()
        if before is not None:
            mask &= (self.years < before) & (self.years >= 0)
        if since is not None:
            mask &= self.years >= since
        return mask

    def cited_with(self, papers: "Numbers", count: int, visible: "Mask", candidates: "Mask") -> Together:
        """For each paper the `count` candidates most often cited together with it by visible papers; ties by earliest in the
        corpus (SciPIP, §3.2.1, Eq. 4)."""
        import numpy as np

        together = _masked(self._cited[papers], visible) @ self._cites
        rows = np.repeat(np.arange(len(papers)), np.diff(together.indptr))
        others: Any = together.indices.astype(np.int64)
        keep = candidates[others] & (together.data > 0) & (others != papers[rows])
        rows, others, times = rows[keep], others[keep], together.data[keep].astype(np.int64)
        # a paper's best has the largest key: the most times, then the lowest number
        keys = times * self.size + (self.size - others)
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        lengths = np.diff(starts, append=len(keys))
        best_rows = np.zeros(len(keys), dtype=bool)
        for _ in range(count if len(keys) else 0):
            best = np.repeat(np.maximum.reduceat(keys, starts), lengths)
            best_rows |= (keys == best) & (keys > 0)
            keys[best_rows] = 0
        return Together(papers[rows[best_rows]], others[best_rows], times[best_rows])

    def near(
        self, entities: "Numbers", least: int, visible: "Mask", candidates: "NDArray[np.bool_]"
    ) -> "Numbers":
        """The candidates, an entry for each entity, that occur with one of these entities in a minimum number of papers (SciPIP,
        §3.2.1)."""
        import numpy as np

        places, papers = _columns(self._holding, entities)
        keep = visible[papers]
        places, papers = places[keep], papers[keep]
        rows, beside = _columns(self._mentions, papers)
        keep = candidates[beside]
        pairs, times = np.unique(places[rows[keep]] * self.entities + beside[keep], return_counts=True)
        return np.unique(pairs[times >= least] % self.entities)

    def frequencies(self, visible: "Mask") -> "Numbers":
        """Number of the papers with each entity in their record."""
        return self._holding @ visible.astype("int64")

    def holding(self, entity: int) -> "Numbers":
        """The papers with an entity in their record (SciPIP, §3.2.1, Eq. 3)."""
        start, end = self._holding.indptr[entity : entity + 2]
        return self._holding.indices[start:end]

    def entities_by_paper(self, papers: "Numbers") -> "Numbers":
        """The entities of these papers, concatenated with repetitions."""
        return _columns(self._mentions, papers)[1]


def _rows(rows: Iterator[tuple[Any, ...]], width: int) -> "Numbers":
    import numpy as np

    flat = (-1 if value is None else value for value in chain.from_iterable(rows))
    return np.fromiter(flat, dtype=np.int64).reshape(-1, width)


def _matrices(pairs: "Numbers", height: int, width: int) -> tuple[Any, Any]:
    """Sparse (height, width) with a one at each pair, and its transpose."""
    import numpy as np
    from scipy.sparse import csr_matrix

    ones = np.ones(len(pairs), dtype=np.int32)
    matrix = csr_matrix((ones, (pairs[:, 0], pairs[:, 1])), shape=(height, width))
    return matrix, matrix.T.tocsr()


def _columns(matrix: Any, rows: "Numbers") -> "tuple[Numbers, Numbers]":
    """The columns of these rows of a sparse matrix, concatenated: positions in `rows`, columns."""
    import numpy as np

    starts = matrix.indptr[rows].astype(np.int64)
    lengths = matrix.indptr[rows + 1] - starts
    places = np.repeat(np.arange(len(rows)), lengths)
    steps = np.arange(len(places)) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return places, matrix.indices[steps].astype(np.int64)


def _masked(rows: Any, mask: "Mask") -> Any:
    """Sparse rows, with zeros in columns outside the mask."""
    rows.data = rows.data * mask[rows.indices]
    return rows
