"""A suite's means as a table: a column for each measure where the terminal is wide enough, else a line."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from manyheads.suites.evaluate import Evaluation
    from manyheads.suites.suite import Suite
    from manyheads.suites.summary import Entry

WIDEST = 16
"""Characters of an axis's name that a table holds in one line."""
ENDLESS = 100_000
"""Characters of a line that no table fills: what a table would like is not told beyond the width that it has."""


def suite_table(console: "Console", suite: "Suite", found: "Evaluation") -> "Table":
    """The table that fits best; no mean is parted from its error by chance."""
    from manyheads.suites.report import mean_text

    def stacked(entry: "Entry") -> str:
        return mean_text(entry).replace(" ± ", "\n± ")

    unbound = console.options.update(width=ENDLESS)
    for table in (
        _wide(suite, found, mean_text, narrow=False),
        _wide(suite, found, stacked, narrow=True),
        _long(suite, found, mean_text, narrow=False),
        _long(suite, found, mean_text, narrow=True),
    ):
        if console.measure(table, options=unbound).maximum <= console.width:
            return table
    return _long(suite, found, mean_text, narrow=True, fold=True)


def _wide(suite: "Suite", found: "Evaluation", told: "Callable[[Entry], str]", *, narrow: bool) -> "Table":
    from rich.text import Text

    table = _headed(suite, narrow=narrow)
    table.pad_edge = False
    for measure in suite.spec.measures:
        table.add_column(Text(measure), justify="right", no_wrap=True)
    for entries in _conditions(suite, found):
        counts = sorted({entry.n for entry in entries})
        n = str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
        table.add_row(*_axes(suite, entries[0]), n, *map(told, entries))
    return table


def _long(
    suite: "Suite", found: "Evaluation", told: "Callable[[Entry], str]", *, narrow: bool, fold: bool = False
) -> "Table":
    from rich.text import Text

    table = _headed(suite, narrow=narrow)
    table.add_column("measure", no_wrap=not fold, overflow="fold")
    table.add_column("mean ± SE", justify="right", no_wrap=True)
    for entries in _conditions(suite, found):
        for entry in entries:
            axes = _axes(suite, entry) if entry is entries[0] else [Text()] * len(suite.spec.axes)
            table.add_row(*axes, str(entry.n), Text(entry.measure), told(entry))
    return table


def _headed(suite: "Suite", *, narrow: bool) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=not narrow, collapse_padding=narrow)
    for axis in suite.spec.axes:
        head = axis.replace(".", ".\n") if narrow else axis
        table.add_column(head, min_width=min(max(map(len, head.split("\n"))), WIDEST), overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    return table


def _conditions(suite: "Suite", found: "Evaluation") -> "Iterator[Sequence[Entry]]":
    """The entries of each condition: one for each measure."""
    each = len(suite.spec.measures)
    return (found.entries[start : start + each] for start in range(0, len(found.entries), each))


def _axes(suite: "Suite", entry: "Entry") -> "list[Text]":
    from rich.text import Text

    return [Text(str(entry.condition[axis])) for axis in suite.spec.axes]
