"""What is retrieved for a background, by which numbers, and why each paper was found (SciPIP, §3.2)."""

from collections.abc import Sequence
from typing import NamedTuple

from manyheads.config import How, RetrievalConfig
from manyheads.papers import Paper

__all__ = ["Channel", "How", "Inspiration", "Inspirations", "RetrievalConfig", "fused"]


class Channel(NamedTuple):
    """One way in which a paper was found, and why."""

    how: How
    similarity: float | None = None
    """Cosine of its background to the one given; of `semantic`."""
    entity: str | None = None
    """The entity that it holds; of `entity`."""
    papers: int | None = None
    """How many papers hold that entity."""
    cited_with: str | None = None
    """The id of a paper found before, which others cite together with it; of `cocitation`."""
    title: str | None = None
    """Of that paper."""
    times: int | None = None
    """How many papers cite both."""
    score: float | None = None
    """Its BM25 score."""

    @property
    def reason(self) -> str:
        """Why, in words for a person."""
        match self.how:
            case "semantic":
                return f"background similar: {self.similarity:.2f}"
            case "entity":
                others = "1 paper does" if self.papers == 1 else f"{self.papers} papers do"
                return f"holds “{self.entity}”, as {others}"
            case "cocitation":
                return f"cited {self.times}× together with “{self.title or self.cited_with}”"
            case "bm25":
                return f"words in common: {self.score:.1f}"


class Inspiration(NamedTuple):
    """A paper that was found."""

    paper: Paper
    channels: tuple[Channel, ...]
    """Each way in which it was found: of each entity, of each paper that it is cited with."""
    score: float
    """Of reciprocal rank fusion: Σ 1 / (fusion + rank) over the channels."""

    @property
    def similarity(self) -> float | None:
        """Of its background to the one given, where that has found it."""
        return next((one.similarity for one in self.channels if one.how == "semantic"), None)

    @property
    def how(self) -> tuple[How, ...]:
        """The channels' names, each once."""
        return tuple(dict.fromkeys(one.how for one in self.channels))


class Inspirations(NamedTuple):
    """What a retrieval came to.

    Papers are ordered by reciprocal rank fusion of the channels, so that those found in several ways come first; of equals, the
    more similar one, then by id. In a channel, papers are ranked by similarity (`semantic`), by the sum of 1 / papers over the
    entities that they hold (`entity`), by how often they are cited with any of the papers found (`cocitation`), by score (`bm25`).
    """

    papers: tuple[Inspiration, ...]
    entities: tuple[str, ...]
    """Those whose papers were taken, the rarest first."""
    notes: tuple[str, ...]
    """What was not as asked for or may mislead: a channel that is off, papers without records, a background in parts."""
    total: int
    """Papers that were found, before `papers` cut them."""

    def by_channel(self) -> dict[How, int]:
        """How many of the papers each channel has found."""
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
