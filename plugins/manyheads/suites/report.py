"""A suite's report in Markdown: what was asked, what came of it, and what did not."""

import re
from collections.abc import Iterator, Sequence
from math import floor, log10
from pathlib import Path
from typing import Any

from manyheads.report.suite_plots import WITHOUT, title_of
from manyheads.suites.folder import CELLS
from manyheads.suites.measuring import Row
from manyheads.suites.spec import SuiteSpec, label_of
from manyheads.suites.suite import Suite
from manyheads.suites.summary import Entry, counted

ABSENT = "–"
OFFLINE_NOTE = (
    "Written by the offline model, which is no language model: the numbers show how a suite goes, no more"
)
FEW = 10
"""Values, below which bootstrap intervals are known to be much too narrow."""
ROUNDING = 1e-9
"""Part of a mean, below which an error comes of how numbers are added up."""
SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#$~])")


def report_text(
    suite: Suite, repeats: int, rows: Sequence[Row], entries: Sequence[Entry], pictures: Sequence[Path]
) -> str:
    """The report. What models and errors said is escaped: it is text, never markup."""
    spec = suite.spec
    parts = [*_head(suite, repeats, rows), *_picture(spec, pictures)]
    for measure in spec.measures:
        parts.append(f"## {plain(title_of(measure))}")
        parts.append(_table(spec, [entry for entry in entries if entry.measure == measure]))
    return "\n\n".join([*parts, *_trouble(rows), *_reading(spec, rows, entries)]) + "\n"


def is_offline(rows: Sequence[Row]) -> bool:
    """Whether the offline model wrote in any cell, and no language model."""
    return any(row.by_language_model is False for row in rows)


def figure(value: float | None) -> str:
    """A number with four digits that count, and all of those before its point."""
    if value is None:
        return ABSENT
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def mean_text(entry: Entry) -> str:
    """Mean ± standard error, as `with_error` writes it."""
    return with_error(entry.mean, entry.se)


def with_error(value: float | None, error: float | None) -> str:
    """A number ± its error; two digits of the error count, and the number has no more decimals than that."""
    if value is None or not error:
        return figure(value) + ("" if error is None else " ± 0")
    if error < ROUNDING * abs(value):
        return f"{figure(value)} ± {error:.0e}"
    decimals = max(0, 1 - floor(log10(error)))
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def plain(text: object) -> str:
    """A text in one line, without any markup in it."""
    return SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def _head(suite: Suite, repeats: int, rows: Sequence[Row]) -> Iterator[str]:
    spec = suite.spec
    yield f"# {plain(spec.title)}"
    if spec.description:
        yield plain(spec.description)
    failed = sum(row.error is not None for row in rows)
    if is_offline(rows):
        yield f"**{OFFLINE_NOTE}.**"
    cases = f", {len(suite.cases)} cases" if len(suite.cases) > 1 else ""
    yield "\n".join([
        f"- Suite: {plain(suite.name)}, version {spec.version}",
        f"- Sources: {'; '.join(map(plain, spec.sources))}",
        f"- Cells: {len(rows)} ({len(list(spec.conditions()))} conditions{cases}, {repeats} repeats); failed: {failed}",
    ])  # fmt: skip


def _picture(spec: SuiteSpec, pictures: Sequence[Path]) -> Iterator[str]:
    if pictures:
        yield f"![{plain(spec.title)}]({pictures[0].name})"
    elif spec.plot:
        yield f"Nothing is drawn: {WITHOUT}."


def _table(spec: SuiteSpec, entries: Sequence[Entry]) -> str:
    interval = f"{spec.level:.0%} interval"
    head = [*spec.axes, "n", "mean ± SE", interval, "difference ± SE", interval, "pairs", "left out"]
    lines = [head, ["---"] * len(head), *(list(map(plain, _cells(spec, entry))) for entry in entries)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(spec: SuiteSpec, entry: Entry) -> list[Any]:
    return [
        *(entry.condition[axis] for axis in spec.axes),
        entry.n,
        mean_text(entry),
        _ends(entry.low, entry.high),
        with_error(entry.difference, entry.difference_se),
        _ends(entry.difference_low, entry.difference_high),
        entry.pairs or ABSENT,
        entry.left_out,
    ]


def _ends(low: float | None, high: float | None) -> str:
    return ABSENT if low is None or high is None else f"{figure(low)} to {figure(high)}"


def _trouble(rows: Sequence[Row]) -> Iterator[str]:
    if failed := [row for row in rows if row.error is not None]:
        yield f"## Failed: {len(failed)} of {len(rows)} cells, in none of the numbers above"
        yield "\n".join(f"- {plain(row.cell)}: {plain(row.error)}" for row in failed)
    if lacking := [row for row in rows if row.missing]:
        yield f"## Not to be measured: {len(lacking)} of {len(rows)} cells"
        yield "\n".join(
            f"- {plain(row.cell)}: no {plain(name)}: {plain(why)}"
            for row in lacking
            for name, why in row.missing.items()
        )
    if warned := [row for row in rows if row.warnings]:
        yield f"## Warnings: {len(warned)} of {len(rows)} cells, which are in the numbers above"
        yield "\n".join(f"- {plain(row.cell)}: {plain(said)}" for row in warned for said in row.warnings)


def _reading(spec: SuiteSpec, rows: Sequence[Row], entries: Sequence[Entry]) -> Iterator[str]:
    unit = "cases, each the mean of its cells" if counted(rows) == "cases" else "cells"
    against = label_of(spec.counterpart(next(spec.conditions())))
    compared = f"where they agree with {label_of(spec.against)}" if spec.against else f"of {against}"
    yield "## How to read this"
    yield (
        f"n and pairs count {unit}. SE is the standard error of the mean. Intervals are bootstrapped (BCa)"
        f"{', and too narrow: n is small' if any(entry.n < FEW for entry in entries) else ''}. Differences are "
        f"from the values {plain(compared)}, over the cases and seeds that both have. No correction is made for "
        f"comparing many conditions. Each cell's run, with its own report, is in {CELLS}/."
    )
