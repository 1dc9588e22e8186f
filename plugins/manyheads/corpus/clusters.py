"""Clusters of similar papers, each with a representative (SciPIP, §3.2.2, Eq. 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.floating[Any]]

MOST = 4000
"""Maximum papers to compare: 64 MB of similarities. Later papers form clusters of their own."""
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Cluster:
    """Ids of papers with pairwise similarities of at least the threshold; the representative is first."""

    members: tuple[str, ...]


def weighted(parts: "Sequence[tuple[float, Rows]]") -> "Rows":
    """Σ weight · (n, dim) rows of unit length, normalised (SciPIP, Eq. 5). If one part has a row of zeros, only the others
    count; if all remaining weights are zero, all parts count equally."""
    import numpy as np

    weights = [weight for weight, _ in parts]
    even = not any(weights)
    rows = np.zeros(parts[0][1].shape, dtype=np.float32)
    for weight, part in parts:
        rows += (1.0 if even else weight) * part
    # without any weighted part, use the others
    bare = ~rows.any(axis=1)
    rows[bare] = np.sum([part[bare] for _, part in parts], axis=0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=rows, where=lengths > 0)


def clusters(ids: Sequence[str], vectors: "Rows", threshold: float) -> list[Cluster]:
    """Assign each paper to a cluster, with all cosine similarities within it at least the threshold (complete linkage).

    The clusters do not depend on the papers' order; the order determines the representatives and the order of clusters.

    Args:
        ids: n distinct ids, best paper first.
        vectors: (n, dim) of unit length; a paper with a row of zeros gets its own cluster.
        threshold: cosine similarity, -1…1.
    """
    import numpy as np
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    compared = np.flatnonzero(np.any(vectors, axis=1))[:MOST]
    # of equal distances the first two are joined: sort, so that the papers' order does not matter
    compared = compared[np.argsort([ids[row] for row in compared], kind="stable")]
    together: dict[int, list[int]] = {}
    if len(compared) > 1:
        rows = np.asarray(vectors)[compared]
        distances = np.clip(1.0 - rows @ rows.T, 0.0, 2.0)
        np.fill_diagonal(distances, 0.0)
        tree = linkage(squareform(distances, checks=False), "complete")
        labels = fcluster(tree, 1.0 - threshold + _ROUNDING, "distance")
        for row, label in sorted(zip(compared.tolist(), labels.tolist(), strict=True)):
            together.setdefault(label, []).append(row)
    joined = {members[0]: members for members in together.values()}
    later = {row for members in joined.values() for row in members[1:]}
    return [
        Cluster(tuple(ids[row] for row in joined.get(first, [first])))
        for first in range(len(ids))
        if first not in later
    ]
