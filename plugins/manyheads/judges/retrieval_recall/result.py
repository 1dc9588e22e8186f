"""Settings and result of a test of retrieval: the tested methods, a row each (SciPIP, Tables 4 and 5), their recall, its report."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from pydantic import Field, field_validator

from manyheads.base.errors import ConfigError
from manyheads.base.text import count
from manyheads.config import How, Inputs, RunConfig, Section
from manyheads.core.results import Figure, Part
from manyheads.report.page import Page, View
from manyheads.report.record import Record
from manyheads.team.run import Run

THREE_WAYS: tuple[How, ...] = ("semantic", "entity", "cocitation")
DEPTHS = (10, 20, 30, 40, 50)
"""Maximum papers or clusters that a method returns (SciPIP, Table 4)."""
Method = Literal[
    "semantic", "entity", "semantic+entity", "semantic+clusters", "semantic+entity+clusters",
    "semantic+entity+cocitation", "scipip", "scimon-like", "research-agent-like", "cosine", "bm25", "fused",
    "chance",
]  # fmt: skip


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
    """From Table 5: `semantic` alone and with `+entity`, `+cocitation`, `+clusters`, `entity`, and `scipip`, which is all of them.
    From Table 4: `scimon-like`, `research-agent-like`. Also `cosine` of abstracts, `bm25` and `fused` (all ways
    and BM25, by reciprocal rank). `chance` is the expected recall of papers drawn at random."""
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


class Recall(Figure):
    """The share of a paper's references among the first results of a method."""

    seen: float
    """Mean number of papers in these results; all members of clusters count."""
    near: float | None = None
    """The same, where a reference also counts whose content is as similar to the centre of a result as papers of a cluster are to
    each other (§4.4: a paper may cite only one of several like it); None for chance."""
    difference: Figure | None = None
    """Difference from the reference method, paper by paper; None for that method."""


class MethodRecall(Part):
    """A method."""

    method: Method
    title: str
    recall: dict[str, Recall] = {}
    """By depth."""
    found: float = 0
    """Mean number of papers it finds at all."""
    empty: int = 0
    """Papers under test without any result."""


class TestedPaper(Part):
    """A paper under test."""

    paper: str
    title: str
    year: int | None = None
    query: Literal["background", "abstract", "title"]
    """The kind of query."""
    truth: list[str]
    """Ids of its references that can be found."""
    core: bool
    """Whether these are the references of introduction and method, or else all."""
    within: int
    """Papers that can be found: not itself, its other versions, later papers, or papers that cite it."""
    hits: dict[str, list[float]] = {}
    """By method, the number of its references found at each depth; for chance, the expected number."""
    near: dict[str, list[float]] = {}
    """The same with near references."""


class RecallResult(Part):
    """The recall of each method, and the papers under test."""

    corpus: str = ""
    papers: int = 0
    """In the corpus."""
    citations: int = 0
    """Citations between papers of the corpus."""
    eligible: int = 0
    """Papers that could be drawn."""
    records: dict[str, int] = {}
    """Records of the corpus, by maker."""
    depths: list[int] = []
    rows: list[MethodRecall] = []
    recall: dict[str, Recall] = {}
    """Of the method, or of `scipip` if all are tested."""
    targets: list[TestedPaper] = []

    @property
    def core(self) -> int:
        """Papers under test whose introduction and method have known citations."""
        return sum(each.core for each in self.targets)


RecallRun = Run[RecallResult, RecallConfig, None]


def report(record: Record) -> View:
    result: RecallResult = record.result.result
    first = result.rows[0].method if result.rows else ""
    best = max(result.rows, key=lambda row: [*row.recall.values()][-1].mean, default=None)
    shown = {
        "share": share,
        "hits_of": hits_of,
        "first": first,
        "ways": WAYS,
        "best": best,
        "near": near_words,
    }
    return View(__package__ or "", Page(record), shown)


def essence(result: RecallResult) -> Iterator[tuple[str, str]]:
    """The recall of each method, and the number of papers."""
    core = f", {result.core} of them by those of introduction and method" if result.core else ""
    papers = f"{count(len(result.targets), 'paper')} of {result.eligible:,} that could be"
    yield "Tested", f"{papers}, in {result.papers:,} papers{core}"
    for row in result.rows:
        figures = (f"@{n} {share(one.mean)}{one.ends(3)}{near_words(one)}" for n, one in row.recall.items())
        yield row.title, ", ".join(figures)


def near_words(one: Recall) -> str:
    """The recall with near references, in words."""
    return "" if one.near is None else f", near {share(one.near)}"


def share(value: float) -> str:
    """A share with three decimals, as in the paper."""
    return f"{value:.3f}"


def hits_of(target: TestedPaper, method: str) -> str:
    """The number of a paper's references a method finds at the largest depth."""
    hits = target.hits.get(method)
    return "–" if not hits else f"{hits[-1]:.0f} of {len(target.truth)}"
