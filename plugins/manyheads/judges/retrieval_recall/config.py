"""Settings of a test of retrieval, and the tested methods, a row each (SciPIP, Tables 4 and 5)."""

from typing import Literal, NamedTuple

from pydantic import Field, field_validator

from manyheads.base.errors import ConfigError
from manyheads.config import Inputs, RunConfig, Section
from manyheads.corpus.retrieval import How

THREE_WAYS: tuple[How, ...] = ("semantic", "entity", "cocitation")
DEPTHS = (10, 20, 30, 40, 50)
"""Maximum papers or clusters that a method returns (SciPIP, Table 4)."""
Method = Literal[
    "semantic",
    "entity",
    "semantic+entity",
    "semantic+clusters",
    "semantic+entity+clusters",
    "semantic+entity+cocitation",
    "scipip",
    "scimon-like",
    "research-agent-like",
    "cosine",
    "bm25",
    "fused",
    "chance",
]


class Way(NamedTuple):
    """A method.

    Attributes:
        title: its name in tables.
        how: the database's retrieval paths it uses, if any.
        clusters: whether papers with nearly the same content count as one, found if any of them is (§4.4).
    """

    title: str
    how: tuple[How, ...] = ()
    clusters: bool = False


WAYS: dict[Method, Way] = {
    "semantic": Way("Semantics", ("semantic",)),
    "entity": Way("Entities", ("entity",)),
    "semantic+entity": Way("Semantics, entities", ("semantic", "entity")),
    "semantic+clusters": Way("Semantics, clusters", ("semantic",), True),
    "semantic+entity+clusters": Way("Semantics, entities, clusters", ("semantic", "entity"), True),
    "semantic+entity+cocitation": Way("Semantics, entities, co-citation", THREE_WAYS),
    "scipip": Way("SciPIP: semantics, entities, co-citation, clusters", THREE_WAYS, True),
    "scimon-like": Way("SCIMON-like"),
    "research-agent-like": Way("ResearchAgent-like"),
    "cosine": Way("Cosine of abstracts, exact"),
    "bm25": Way("BM25", ("bm25",)),
    "fused": Way("Semantics, entities, co-citation, BM25", (*THREE_WAYS, "bm25")),
    "chance": Way("Chance"),
}
"""The rows. Which ones Table 5 marks is not legible in its text as we have it: these are the columns one after the other."""


class RecallConfig(Section):
    """The papers to test, their queries, and the methods (SciPIP, §4.4).

    The numbers of retrieval are those of `literature.retrieval`, but for `how`, which the method says, `bm25`, which is
    `semantic`, and `papers`.
    """

    retrieves = True

    method: Method | Literal["all"] = "all"
    """Of Table 5: `semantic` alone and with `+entity`, `+cocitation`, `+clusters`, `entity`, and `scipip`, which is all of them.
    Of Table 4: `scimon-like`, `research-agent-like`. Beside them: `cosine` of abstracts, `bm25`, `fused` (all ways and BM25, by
    reciprocal rank), and `chance`, the recall to be expected of papers drawn at random."""
    sample: int = Field(default=100, ge=1)
    """Number of papers, drawn with the run's seed; all if there are fewer."""
    period: Literal["contemporary", "any"] = "any"
    """The papers to draw from: those from the corpus's year bound on, or any."""
    least: int = Field(default=3, ge=1)
    """Minimum references in the corpus of a drawn paper."""
    depths: tuple[int, ...] = DEPTHS
    """Numbers of papers or clusters for which the recall is reported."""
    query: Literal["background", "abstract"] = "background"
    """The query: the background of the paper's record, or its whole abstract. Without a record, the abstract."""
    count: Literal["members", "near"] = "members"
    """A reference counts if a result holds it (`members`), or also if its content is as similar to the centre of one as papers of
    a cluster are to each other (`near`, §4.4: a paper may cite only one of several like it). The other count stands beside it."""
    against: Method = "semantic"
    """With all methods tested: the method that the others are compared with, paper by paper."""

    @field_validator("depths")
    @classmethod
    def _ascending(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value or list(value) != sorted(set(value)) or value[0] < 1:
            raise ValueError("name numbers from 1 on, each once and in order, such as [10, 50]")
        return value

    @property
    def methods(self) -> tuple[Method, ...]:
        """The tested methods."""
        return tuple(WAYS) if self.method == "all" else (self.method,)


class RecallInputs(Inputs):
    """Nothing: the test uses only the corpus."""


def need_corpus(config: RunConfig) -> RunConfig:
    """The config itself; raises `ConfigError` if papers come from services, which know no citations within a corpus."""
    if config.literature.references != "corpus":
        raise ConfigError(
            f"{config.system}: literature.references={config.literature.references}: it tests a corpus",
            hint="leave the key out, and name a corpus: --set corpus=…",
        )
    return config
