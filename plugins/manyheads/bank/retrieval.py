"""What is retrieved for a background, by which numbers, and why each paper was found (SciPIP, §3.2)."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator

from manyheads.config import Strict
from manyheads.papers import Paper

How: TypeAlias = Literal["semantic", "entity", "cocitation", "bm25"]
THREE_WAYS: tuple[How, ...] = ("semantic", "entity", "cocitation")


class RetrievalConfig(Strict):
    """How papers are retrieved from a literature database. The numbers that the paper names k, m, n and so on are not printed in
    its text as we have it: the defaults are ours."""

    how: tuple[How, ...] = THREE_WAYS
    """Which ways are gone: `semantic`, `entity`, `cocitation` (SciPIP, §3.2.1), `bm25`. Entities of semantic hits and what is
    cited with them need `semantic` or `bm25`, or the background's own entities."""
    semantic: int = Field(default=55, ge=1, le=10_000)
    """k: papers whose backgrounds are nearest to the one given (Eq. 2)."""
    together: int = Field(default=2, ge=1)
    """m: papers in which two entities must stand together for one to bring in the other."""
    rarest: int = Field(default=5, ge=0)
    """n: entities that are kept, those that the fewest papers hold (Eq. 3)."""
    held: int = Field(default=2, ge=1)
    """Papers that must hold an entity for it to be kept: one that a single paper holds leads nowhere. 1 keeps all."""
    cocited: int = Field(default=2, ge=0)
    """Papers that are taken for each paper found: those most often cited together with it (Eq. 4)."""
    bm25: int = Field(default=55, ge=1, le=10_000)
    """Papers that BM25 finds, over titles and abstracts; not of the paper."""
    fusion: int = Field(default=60, ge=1)
    """The constant of reciprocal rank fusion: a channel gives its paper of rank r 1 / (fusion + r)."""
    papers: int | None = Field(default=None, ge=1)
    """Papers that are returned, the best first; all that were found, if not given."""
    weights: tuple[float, float] = (0.5, 0.5)
    """Of a paper's summary and of its main ideas when papers are compared (Eq. 5)."""
    threshold: float = Field(default=0.8, ge=-1, le=1)
    """Cosine similarity that any two papers of a cluster have at least."""

    @field_validator("how")
    @classmethod
    def _each_once(cls, value: tuple[How, ...]) -> tuple[How, ...]:
        if not value or len(set(value)) < len(value):
            raise ValueError("name at least one way, each once")
        return value

    @field_validator("weights")
    @classmethod
    def _not_negative(cls, value: tuple[float, float]) -> tuple[float, float]:
        if min(value) < 0 or not any(value):
            raise ValueError("two weights of at least 0, one of them above")
        return value


class Channel(BaseModel):
    """One way in which a paper was found, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    how: How
    similarity: float | None = None
    """Cosine of its background to the one given; of `semantic`."""
    entity: str | None = None
    """The entity that it holds; of `entity`."""
    papers: int | None = None
    """How many papers hold that entity."""
    cited_with: str | None = None
    """The id of a paper found before, which others cite together with it; of `cocitation`."""
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
                return f"holds “{self.entity}”, as {self.papers} papers do"
            case "cocitation":
                return f"cited {self.times}× together with {self.cited_with}"
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
