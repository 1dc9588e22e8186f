"""What a test of retrieval comes to."""

from typing import Literal

from manyheads.core.results import Figure, Part
from manyheads.discussion.run import Run
from manyheads.systems.retrieval_recall.config import Method, RecallConfig


class Recall(Figure):
    """The share of a paper's references that are among the first so many that a method returns."""

    seen: float
    """Papers in them, on average: of a method with clusters, all members count; of another at most as many as asked for."""
    difference: Figure | None = None
    """To the method that it is held against, paper by paper; none of that itself."""


class Row(Part):
    """A method."""

    method: Method
    title: str
    recall: dict[str, Recall] = {}
    """By depth."""
    found: float = 0
    """Papers that it has found at all, on average."""
    empty: int = 0
    """Papers under test for which it has found nothing."""


class Target(Part):
    """A paper under test."""

    paper: str
    title: str
    year: int | None = None
    query: Literal["background", "abstract", "title"]
    """What was looked up by."""
    truth: list[str]
    """Ids of its references that could be found."""
    core: bool
    """Whether these are of its introduction and method; else all of its references."""
    within: int
    """Papers that could be found: not itself, its twins, later ones, nor those that cite it."""
    hits: dict[str, list[float]] = {}
    """By method, how many of its references were found at each depth; of chance, how many are to be expected."""


class RecallResult(Part):
    """The recall of each method, and the papers under test."""

    corpus: str = ""
    papers: int = 0
    """In the corpus."""
    citations: int = 0
    """Within the corpus, of all its papers."""
    eligible: int = 0
    """Papers that could be drawn."""
    records: dict[str, int] = {}
    """Of the corpus, by who made them."""
    depths: list[int] = []
    rows: list[Row] = []
    recall: dict[str, Recall] = {}
    """Of the method; of `scipip`, where all are tested."""
    targets: list[Target] = []

    @property
    def core(self) -> int:
        """Papers under test of which is known what their introduction and method cite."""
        return sum(each.core for each in self.targets)


RecallRun = Run[RecallResult, RecallConfig, None]
