"""The report of a test of retrieval: the recall of each method, and each paper under test."""

from collections.abc import Iterator

from manyheads.judges.retrieval_recall.config import WAYS
from manyheads.judges.retrieval_recall.result import Recall, RecallResult, Target
from manyheads.report.page import Page, View
from manyheads.report.record import Record, count


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
