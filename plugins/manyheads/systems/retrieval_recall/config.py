"""What steers a test of retrieval, and the methods that are tested, a row each (SciPIP, Tables 4 and 5)."""

from typing import Literal, NamedTuple

from pydantic import Field, field_validator

from manyheads.bank.retrieval import How, RetrievalConfig
from manyheads.config import Inputs, RunConfig, Section
from manyheads.errors import ConfigError

THREE_WAYS: tuple[How, ...] = ("semantic", "entity", "cocitation")
DEPTHS = (10, 20, 30, 40, 50)
"""Papers, or clusters, that a method may return (SciPIP, Table 4)."""
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
        title: what a table calls it.
        how: the database's ways, where it is made of them.
        clusters: whether papers that say nearly the same count as one, and any of them as found (§4.4).
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
    """Whose references are looked for, from what, by what (SciPIP, §4.4)."""

    method: Method | Literal["all"] = "all"
    """Of Table 5: `semantic` alone and with `+entity`, `+cocitation`, `+clusters`, `entity`, and `scipip`, which is all of them.
    Of Table 4: `scimon-like`, `research-agent-like`. Beside them: `cosine` of abstracts, `bm25`, `fused` (all ways and BM25, by
    reciprocal rank), and `chance`, the recall to be expected of papers drawn at random."""
    sample: int = Field(default=100, ge=1)
    """Papers that are drawn by the run's seed; all, where there are fewer."""
    period: Literal["contemporary", "any"] = "any"
    """Which papers are drawn from: those from the corpus's year bound on, or any."""
    least: int = Field(default=3, ge=1)
    """References in the corpus that a paper must have to be drawn."""
    depths: tuple[int, ...] = DEPTHS
    """Of how many papers, or clusters, the recall is told."""
    query: Literal["background", "abstract"] = "background"
    """What papers are looked up by: the background of the paper's record, or its whole abstract. Where there is no record,
    the abstract."""
    against: Method = "semantic"
    """The method that the others are held against, paper by paper, where all are tested."""
    options: RetrievalConfig = RetrievalConfig()
    """The numbers of retrieval; `how` is the method's, and BM25 finds as many as the semantic way. The paper's own numbers are
    not legible in its text as we have it."""

    @field_validator("depths")
    @classmethod
    def _ascending(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value or list(value) != sorted(set(value)) or value[0] < 1:
            raise ValueError("name numbers from 1 on, each once and in order, such as [10, 50]")
        return value

    @property
    def methods(self) -> tuple[Method, ...]:
        """Those that are tested."""
        return tuple(WAYS) if self.method == "all" else (self.method,)


class RecallInputs(Inputs):
    """Nothing: what is tested is the corpus."""


def need_corpus(config: RunConfig) -> RunConfig:
    """The config as it is; raises `ConfigError` where papers are to come from services, which tell no citations of a corpus."""
    if config.literature.references != "corpus":
        raise ConfigError(
            f"{config.system}: literature.references={config.literature.references}: it tests a corpus",
            hint="leave the key out, and name a corpus: --set corpus=…",
        )
    return config
