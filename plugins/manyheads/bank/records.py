"""Papers and scientists as the knowledge bank keeps them (VirSci 2025, §3.1)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from manyheads.errors import CorpusError

Period = Literal["past", "contemporary"]


class Paper(BaseModel):
    """One paper of B_past or B_con. `authors` hold masked names once an ecosystem is built."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: str
    abstract: str
    year: int
    citations: int | None = None
    """None where the corpus does not say."""
    authors: tuple[str, ...] = ()
    venue: str | None = None
    keywords: tuple[str, ...] = ()
    affiliations: tuple[str, ...] = ()


class Scientist(BaseModel):
    """A digital twin's profile in the author knowledge bank. `name` is the masked `Scientist{n}`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    affiliations: tuple[str, ...] = ()
    interests: tuple[str, ...] = ()
    papers: int = 0
    citations: int | None = None
    """None where the corpus knows of none of the papers how often it is cited."""
    collaborators: dict[str, int] = Field(default_factory=dict)
    """Masked name of each past co-author in S, with the number of papers written together (row of A)."""

    def closest(self, count: int) -> list[str]:
        """The `count` collaborators with the most papers written together; among equals, lower numbers first."""
        together = self.collaborators
        return sorted(together, key=lambda name: (-together[name], len(name), name))[:count]


@dataclass(frozen=True, slots=True)
class Hit:
    """A paper found, with its cosine similarity to the query (-1…1)."""

    paper: Paper
    score: float


class Literature(Protocol):
    """What a system reads of a research ecosystem; `bank.ecosystem.Ecosystem` is one."""

    @property
    def scientists(self) -> list[Scientist]:
        """S, the scientists that can be asked."""
        ...

    def scientist(self, name: str) -> Scientist:
        """One profile; raises `CorpusError` for a name that is not in S."""
        ...

    def collaborations(self, name: str) -> Mapping[str, int]:
        """Row of A: papers written together with each past collaborator."""
        ...

    async def past(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """B_past(q) for each query: its `k` nearest papers, best first."""
        ...

    async def find_scientists(self, query: str, k: int, *, exclude: Collection[str] = ()) -> list[Scientist]:
        """The `k` scientists whose profiles are nearest to a query, best first."""
        ...


class NoLiterature:
    """The ecosystem of a system that needs none: nobody in it, nothing to find."""

    @property
    def scientists(self) -> list[Scientist]:
        return []

    def scientist(self, name: str) -> Scientist:
        """Nobody is there; raises `CorpusError`."""
        raise CorpusError(f"{name!r}: no such scientist: this run has no corpus")

    def collaborations(self, name: str) -> Mapping[str, int]:
        return {}

    async def past(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [[] for _ in queries]

    async def find_scientists(self, query: str, k: int, *, exclude: Collection[str] = ()) -> list[Scientist]:
        return []
