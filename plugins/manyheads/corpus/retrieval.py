"""Retrieval for a background: papers with the reasons for each, search by words, clusters of similar papers (SciPIP, §3.2)."""

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from manyheads.base.files import folder_beside, unwritable
from manyheads.base.papers import Paper
from manyheads.config import How, RetrievalConfig
from manyheads.corpus.phrases import stems

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.floating[Any]]


__all__ = ["Channel", "How", "Inspiration", "Inspirations", "RetrievalConfig", "fused"]


class Channel(NamedTuple):
    """One reason why a paper was found."""

    how: How
    similarity: float | None = None
    """`semantic`: cosine similarity of the backgrounds."""
    entity: str | None = None
    """`entity`: the shared entity."""
    papers: int | None = None
    """Number of papers with that entity."""
    cited_with: str | None = None
    """`cocitation`: the id of a paper found before, co-cited with it."""
    title: str | None = None
    """That paper's title."""
    times: int | None = None
    """Number of papers that cite both."""
    score: float | None = None
    """`bm25`: its score."""

    @property
    def reason(self) -> str:
        """The reason in words."""
        match self.how:
            case "semantic":
                return f"background similar: {self.similarity:.2f}"
            case "entity":
                others = "1 paper" if self.papers == 1 else f"{self.papers} papers"
                return f"has the entity “{self.entity}” ({others} with it)"
            case "cocitation":
                return f"cited {self.times}× together with “{self.title or self.cited_with}”"
            case "bm25":
                return f"words in common: {self.score:.1f}"


class Inspiration(NamedTuple):
    """A retrieved paper."""

    paper: Paper
    channels: tuple[Channel, ...]
    """All reasons: each entity, each co-cited paper."""
    score: float
    """Score of reciprocal rank fusion: Σ 1 / (fusion + rank) over the channels."""

    @property
    def similarity(self) -> float | None:
        """Similarity of the backgrounds, if found by it."""
        return next((one.similarity for one in self.channels if one.how == "semantic"), None)

    @property
    def how(self) -> tuple[How, ...]:
        """The channels' names, without duplicates."""
        return tuple(dict.fromkeys(one.how for one in self.channels))


class Inspirations(NamedTuple):
    """The result of a retrieval.

    Papers are ordered by reciprocal rank fusion of the channels, so that those found by several come first; ties by similarity,
    then by id. Within a channel, papers are ranked by similarity (`semantic` and, as in the authors' code, `entity`; ties there
    by the sum of 1 / papers over their entities), by the number of co-citations with the papers found (`cocitation`), by score
    (`bm25`).
    """

    papers: tuple[Inspiration, ...]
    entities: tuple[str, ...]
    """The entities used, rarest first."""
    notes: tuple[str, ...]
    """Warnings: a channel that is off, papers without records, a background in parts."""
    total: int
    """Number of papers found, before `papers` cut them."""

    def by_channel(self) -> dict[How, int]:
        """Number of the papers found by each channel."""
        counts: dict[How, int] = {}
        for one in self.papers:
            for how in one.how:
                counts[how] = counts.get(how, 0) + 1
        return counts


def fused(rankings: Sequence[Sequence[str]], constant: int) -> dict[str, float]:
    """Reciprocal rank fusion of rankings of ids (Cormack et al., SIGIR 2009)."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, one in enumerate(ranking, 1):
            scores[one] = scores.get(one, 0.0) + 1.0 / (constant + rank)
    return scores


# Search by words: BM25 over titles and abstracts, and the papers in which a phrase appears.

_IDS, _ARRAYS = "ids.json", ("numbers.npy", "places.npy", "bounds.npy")


def okapi() -> Any:
    """The BM25 library, without its own log."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s


class WordIndex:
    """An index on disk, mapped into memory; `ids` are its papers in order. Created by `of`.

    Besides BM25's weights: the number of each word of all texts, a 0 after each text, and the places of each number.
    """

    def __init__(self, folder: Path) -> None:
        import numpy as np

        self.ids: list[str] = json.loads((folder / _IDS).read_text(encoding="utf-8"))
        self._index = okapi().BM25.load(folder, mmap=True)
        arrays = (np.load(folder / name, mmap_mode="r") for name in _ARRAYS)
        self._numbers, self._places, self._bounds = arrays

    @classmethod
    def of(cls, folder: Path, fingerprint: str, papers: Iterable[Paper]) -> "WordIndex":
        """The index of a corpus, made on first use. Raises `CacheError` if it cannot be written."""
        import numpy as np

        place = folder.with_name(f"{folder.name}-{fingerprint[:12]}")
        if not place.is_dir():
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                with folder_beside(place) as made:
                    ids, vocabulary, tokens = list[str](), {"": 0}, list[list[int]]()
                    for paper in papers:
                        ids.append(paper.id)
                        words = stems(f"{paper.title}\n{paper.abstract}")
                        own = [vocabulary.setdefault(word, len(vocabulary)) for word in words]
                        tokens.append(own or [0])  # as the library does not accept a text without words
                    index = okapi().BM25()
                    index.index((tokens, vocabulary), create_empty_token=True, show_progress=False)
                    index.save(made, show_progress=False)
                    (made / _IDS).write_text(json.dumps(ids), encoding="utf-8")
                    texts = ((*own, 0) if own[0] else own for own in tokens)
                    numbers = np.fromiter(chain.from_iterable(texts), dtype=np.int32)
                    places = np.argsort(numbers, kind="stable").astype(np.int32)
                    bounds = np.append(0, np.bincount(numbers, minlength=len(vocabulary)).cumsum())
                    for name, array in zip(_ARRAYS, (numbers, places, bounds), strict=True):
                        np.save(made / name, array)
            except OSError as wrong:
                raise unwritable(place, wrong) from wrong
        return cls(place)

    def nearest(self, query: str, k: int, wanted: "NDArray[np.bool_]") -> dict[str, float]:
        """The k best wanted papers, (n,) of the index's n, with scores above zero, best first, ties by position."""
        import numpy as np

        words = [word for word in dict.fromkeys(stems(query)) if word in self._index.vocab_dict]
        if not words:
            return {}
        scores = np.where(wanted, self._index.get_scores(words), 0.0)
        best: list[int] = np.argsort(-scores, kind="stable")[:k].tolist()
        return {self.ids[row]: float(scores[row]) for row in best if scores[row] > 0}

    def having(self, phrase: str) -> "NDArray[np.int64]":
        """Positions of the papers in which the words of a phrase follow each other, whatever their endings and the stop words
        between them."""
        import numpy as np

        numbers = [self._index.vocab_dict.get(word) for word in stems(phrase)]
        if not numbers or None in numbers:
            return np.empty(0, dtype=np.int64)
        starts = self._places_of(numbers[0])
        for step, number in enumerate(numbers):  # a match does not run over the 0 after a text
            starts = starts[self._numbers[starts + step] == number]
        return np.unique(np.searchsorted(self._places_of(0), starts))

    def _places_of(self, number: int) -> "NDArray[np.int64]":
        return self._places[self._bounds[number] : self._bounds[number + 1]]


# Clusters of similar papers, each with a representative (SciPIP, §3.2.2, Eq. 5).

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
