"""The result of a retrieval: papers, each with the channels that found it (SciPIP, §3.2)."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from manyheads.base.papers import Paper
from manyheads.config import How


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
        return Counter(how for one in self.papers for how in one.how)


def fused(rankings: Iterable[Iterable[str]], constant: int) -> dict[str, float]:
    """Reciprocal rank fusion of rankings of ids: Σ 1 / (constant + rank) (Cormack et al., SIGIR 2009)."""
    scores = defaultdict[str, float](float)
    for ranking in rankings:
        for rank, one in enumerate(ranking, 1):
            scores[one] += 1.0 / (constant + rank)
    return scores
