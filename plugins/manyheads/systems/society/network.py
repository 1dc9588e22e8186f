"""The network of a society: scientists joined if they were in one team. Its figures, with scipy's sparse matrices alone."""

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import Any

MOST_SOURCES = 500
"""Scientists from whom paths are measured; of a larger network, this many at equal distances in the order of their first team."""

BLOCK = 50
"""Sources at once."""


def joint_teams(teams: Iterable[Sequence[str]]) -> tuple[list[str], dict[tuple[int, int], int]]:
    """The scientists in the order of their first team, and each pair of their places, the lower first, with its number of teams."""
    places, pairs = dict[str, int](), dict[tuple[int, int], int]()
    for team in teams:
        own = sorted({places.setdefault(name, len(places)) for name in team})
        for pair in combinations(own, 2):
            pairs[pair] = pairs.get(pair, 0) + 1
    return list(places), pairs


def network_figures(teams: Iterable[Sequence[str]]) -> dict[str, float | None]:
    """Figures of the network of all who have been in a team.

    `scientists`, `links`; `components`, and the share of scientists in the `largest`; `clustering`: the mean of the local
    coefficients (Watts and Strogatz, 1998), 0 for those with fewer than two neighbours; `path`: the mean length of the
    shortest paths between those who reach each other, from at most `MOST_SOURCES` of them; `assortativity`: the correlation
    of the degrees at the two ends of a link (Newman, 2002), None if all degrees are equal.
    """
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, shortest_path

    names, pairs = joint_teams(teams)
    n = len(names)
    figures: dict[str, float | None] = {"scientists": n, "links": len(pairs)}
    if not n:
        return figures | dict.fromkeys(("components", "largest", "clustering", "path", "assortativity"))
    ends = np.array([*pairs], dtype=np.intp).reshape(-1, 2)
    one, other = np.concatenate([ends, ends[:, ::-1]]).T
    graph: Any = csr_array((np.ones(len(one)), (one, other)), shape=(n, n))
    number, labels = connected_components(graph, directed=False)
    degrees = np.bincount(one, minlength=n)
    # Each triangle at a scientist is counted twice, as a walk in both directions.
    closed = (graph @ graph).multiply(graph).sum(axis=1) if len(pairs) else np.zeros(n)
    possible = degrees * (degrees - 1)
    local = np.divide(closed, possible, out=np.zeros(n), where=possible > 0)
    sources = np.unique(np.linspace(0, n - 1, min(n, MOST_SOURCES)).astype(np.intp))
    total, reached = 0.0, 0
    # a row of n numbers a source: not all at once
    for some in np.array_split(sources, -(-len(sources) // BLOCK)):
        lengths = shortest_path(graph, directed=False, unweighted=True, indices=some)
        finite = lengths[np.isfinite(lengths)]
        total, reached = total + float(finite.sum()), reached + len(finite) - len(some)
    varied = len(pairs) and np.ptp(degrees[one]) > 0
    return figures | {
        "components": number,
        "largest": float(np.bincount(labels).max() / n),
        "clustering": float(local.mean()),
        "path": total / reached if reached else None,
        "assortativity": float(np.corrcoef(degrees[one], degrees[other])[0, 1]) if varied else None,
    }


def gini(counts: Collection[int], number: int) -> float | None:
    """The Gini coefficient of counts over `number` people, of whom those without a count have 0; None if all have 0."""
    total = sum(counts)
    if not total:
        return None
    zeros = max(0, number - len(counts))
    weighted = sum(rank * each for rank, each in enumerate(sorted(counts), zeros + 1))
    people = zeros + len(counts)
    return 2 * weighted / (people * total) - (people + 1) / people
