"""The result of a test of retrieval, and its report: the recall of each method, and each paper under test."""

from collections.abc import Iterator
from typing import Literal

from manyheads.core.results import Figure, Part
from manyheads.judges.retrieval_recall.config import WAYS, Method, RecallConfig
from manyheads.report.page import Page, View
from manyheads.report.record import Record, count
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


def report(record: Record) -> View:
    """The report of a run."""
    result: RecallResult = record.result.result
    first = result.rows[0].method if result.rows else ""
    best = max(result.rows, key=lambda row: [*row.recall.values()][-1].mean, default=None)
    shown = {
        "share": share,
        "hits_of": hits_of,
        "first": first,
        "ways": WAYS,
        "best": best,
        "other": other_count,
    }
    return View(__package__ or "", Page(record), shown)


def essence(result: RecallResult) -> Iterator[tuple[str, str]]:
    """The recall of each method, and the number of papers."""
    core = f", {result.core} of them by those of introduction and method" if result.core else ""
    yield (
        "Tested",
        f"{count(len(result.targets), 'paper')} of {result.eligible:,} that could be, in {result.papers:,} papers{core}",
    )
    for row in result.rows:
        yield (
            row.title,
            ", ".join(
                f"@{depth} {share(one.mean)}{one.ends(3)}{other_count(result, one)}"
                for depth, one in row.recall.items()
            ),
        )


def other_count(result: RecallResult, one: Recall) -> str:
    """The recall by the other count, in words."""
    words = "near" if result.count == "members" else "members"
    return "" if one.otherwise is None else f", {words} {share(one.otherwise)}"


def share(value: float) -> str:
    """A share with three decimals, as in the paper."""
    return f"{value:.3f}"


def hits_of(target: Target, method: str) -> str:
    """The number of a paper's references a method finds at the largest depth."""
    hits = target.hits.get(method)
    return "–" if not hits else f"{hits[-1]:.0f} of {len(target.truth)}"
