"""The result of a test of retrieval."""

from typing import Literal

from manyheads.core.results import Figure, Part
from manyheads.judges.retrieval_recall.config import Method, RecallConfig
from manyheads.team.run import Run


class Recall(Figure):
    """The share of a paper's references among the first results of a method."""

    seen: float
    """Mean number of papers in these results; all members of clusters count."""
    otherwise: float | None = None
    """The same by the other count: near references too, or members alone; None for chance."""
    difference: Figure | None = None
    """Difference from the reference method, paper by paper; None for that method."""


class Row(Part):
    """A method."""

    method: Method
    title: str
    recall: dict[str, Recall] = {}
    """By depth."""
    found: float = 0
    """Mean number of papers it finds at all."""
    empty: int = 0
    """Papers under test without any result."""


class Target(Part):
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
    otherwise: dict[str, list[float]] = {}
    """The same by the other count."""


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
    count: Literal["members", "near"] = "members"
    rows: list[Row] = []
    recall: dict[str, Recall] = {}
    """Of the method, or of `scipip` if all are tested."""
    targets: list[Target] = []

    @property
    def core(self) -> int:
        """Papers under test whose introduction and method have known citations."""
        return sum(each.core for each in self.targets)


RecallRun = Run[RecallResult, RecallConfig, None]
