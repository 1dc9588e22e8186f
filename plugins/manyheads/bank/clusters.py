"""Papers that say much the same, together: one of them can stand for all (SciPIP, §3.2.2, Eq. 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.floating[Any]]

MOST = 4000
"""Papers that are compared with each other: 64 MB of similarities. Those that come after them stand alone."""
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Cluster:
    """Ids of papers of which any two are at least as similar as the threshold asks; the representative is the first."""

    members: tuple[str, ...]

    @property
    def representative(self) -> str:
        return self.members[0]


def weighted(parts: "Sequence[tuple[float, Rows]]") -> "Rows":
    """Σ weight · (n, dim) rows of unit length, made unit length (SciPIP, Eq. 5). A row of zeros in one part leaves it to the
    others; with weights of zero alone, all count the same."""
    import numpy as np

    weights = [weight for weight, _ in parts]
    even = not any(weights)
    rows = np.zeros(parts[0][1].shape, dtype=np.float32)
    for weight, part in parts:
        rows += (1.0 if even else weight) * part
    # where nothing is left that has a weight, what there is
    bare = ~rows.any(axis=1)
    rows[bare] = np.sum([part[bare] for _, part in parts], axis=0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=rows, where=lengths > 0)


def clusters(ids: Sequence[str], vectors: "Rows", threshold: float) -> list[Cluster]:
    """Each paper in one cluster, no two of a cluster with a cosine similarity under the threshold (complete linkage).

    Which papers are together does not hang on their order; their order says who stands for a cluster, and which cluster
    comes first.

    Args:
        ids: n ids, each once, the best paper first.
        vectors: (n, dim) of length one; a paper with a row of zeros stands alone.
        threshold: cosine similarity, -1…1.
    """
    import numpy as np
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    compared = np.flatnonzero(np.any(vectors, axis=1))[:MOST]
    # of equal distances the first two are joined: in an order of their own, whatever the papers' is
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
