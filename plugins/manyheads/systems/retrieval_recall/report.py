"""What the report of a test of retrieval shows: the recall of each method, and each paper under test."""

from collections.abc import Iterator

from manyheads.core.results import Figure
from manyheads.report.page import Page, View
from manyheads.report.record import Record, count
from manyheads.systems.retrieval_recall.config import WAYS
from manyheads.systems.retrieval_recall.result import RecallResult, Target


def report(record: Record) -> View:
    """The report of a run."""
    result: RecallResult = record.result.result
    first = result.rows[0].method if result.rows else ""
    return View(
        __package__ or "",
        Page(record),
        {"share": share, "ends": ends, "found": found, "first": first, "ways": WAYS},
    )


def essence(result: RecallResult) -> Iterator[tuple[str, str]]:
    """The recall of each method, and of how many papers."""
    core = f", {result.core} of them by those of introduction and method" if result.core else ""
    yield (
        "Tested",
        f"{count(len(result.targets), 'paper')} of {result.eligible:,} that could be, in {result.papers:,} papers{core}",
    )
    for row in result.rows:
        yield (
            row.title,
            ", ".join(f"@{depth} {share(one.mean)}{ends(one)}" for depth, one in row.recall.items()),
        )


def share(value: float) -> str:
    """A share with three places, as the paper prints it."""
    return f"{value:.3f}"


def ends(figure: Figure, sign: bool = False) -> str:
    """The ends of its interval, where there is one."""
    plus = "+" if sign else ""
    return "" if figure.low is None else f" ({figure.low:{plus}.3f} to {figure.high:{plus}.3f})"


def found(target: Target, method: str) -> str:
    """How many of a paper's references a method has found at its deepest."""
    hits = target.hits.get(method)
    return "–" if not hits else f"{hits[-1]:.0f} of {len(target.truth)}"
