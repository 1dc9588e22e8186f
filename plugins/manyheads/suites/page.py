"""A suite's report as a page: question, answer, picture, tables, and links to the runs."""

import base64
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from manyheads.base.text import ABSENT, count, decimals_of, rounded
from manyheads.measures.agreement import FIGURES as ALIKE
from manyheads.measures.agreement import Calibration
from manyheads.measures.agreement import figure as alike
from manyheads.measures.statistics import FEW
from manyheads.report.page import render, write_html
from manyheads.report.plots import WITHOUT
from manyheads.report.top import REPORT
from manyheads.suites.cells import Cell
from manyheads.suites.report import (
    FILES,
    Results,
    SummaryEntry,
    cells_by,
    correlation,
    draw_suite,
    ends,
    share,
    small_sample,
    title_of,
    troubles,
    verdicts,
    with_error,
)  # fmt: skip
from manyheads.suites.spec import Condition, Suite, label_of


def write_suite_page(
    folder: Path,
    suite: Suite,
    results: Results,
    cells: Sequence[Cell],
    pictures: Sequence[Path],
    *,
    repeats: int,
    accepted: Sequence[str] = (),
    made: Sequence[str] = (),
    calibrations: Sequence[tuple[Condition, Calibration | str]] = (),
    texts: int = 0,
) -> Path:
    """Write `report.html` into a suite's folder; raises `JournalError` where it cannot be written.

    Args:
        accepted: changes since the suite began.
        made: hosts, models and settings, one per line.
        calibrations: agreement with people's ratings by condition, or why there is none.
        texts: number of texts in the blind comparison.
    """
    spec = suite.spec
    plotted = spec.plot.value if spec.plot else ()
    picture = next((path.read_bytes() for path in pictures if path.suffix == ".svg"), None)
    several = spec.plot and (len(plotted) > 1 or len(spec.axes) > 2)
    with TemporaryDirectory() as aside:
        narrow = draw_suite(results, Path(aside), FILES[1:], columns=1) if picture and several else ()
        slim = next((path.read_bytes() for path in narrow), None)
    functions = (
        answer, correlation, label_of, title_of, rounded, decimals_of, with_error, ends, share, cells_by,
    )  # fmt: skip
    shown: dict[str, Any] = {
        "suite": suite, "spec": spec, "results": results, "repeats": repeats, "accepted": accepted, "made": made,
        "calibrations": calibrations, "verdicts": verdicts(results), "small": small_sample(suite, repeats), "texts": texts, "troubles": troubles(results),
        "asked": [*dict.fromkeys((*plotted, *spec.measures))][:3], "percent": f"{spec.level:.0%}",
        **{name: each and base64.b64encode(each).decode() for name, each in (("picture", picture), ("slim", slim))},
        "links": {cell.name: links(cell, folder) for cell in cells},
        "ALIKE": ALIKE, "alike": alike, "ABSENT": ABSENT, "FEW": FEW, "WITHOUT": WITHOUT,
        **{each.__name__: each for each in functions},
    }  # fmt: skip
    html = render("manyheads.suites", "report.html.j2", shown)
    return write_html(folder, html)


def links(cell: Cell, folder: Path) -> list[tuple[str, str]]:
    """The reports of a cell's runs and judgements, with titles and relative links."""
    reports = [(job.kind, job.folder / REPORT) for job in cell.jobs]
    return [(kind, quote(Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()))
            for kind, path in reports if path.is_file()]  # fmt: skip


def answer(results: Results, measure: str) -> str:
    """The answer of a suite for a measure; claims no more than its intervals."""
    entries = [each for each in results.entries if each.measure == measure]
    known = [each for each in entries if each.mean is not None]
    title, digits = title_of(measure), results.decimals(measure)
    title = title[:1].upper() + title[1:]
    if not known:
        return f"{title}: nothing could be measured."
    best, worst = (choose(known, key=lambda each: each.mean or 0.0) for choose in (max, min))
    if len(known) == 1:
        lacking = f"; the other {len(entries) - 1} conditions have no value" if entries[1:] else ""
        return f"{title} is {_value(best, digits)}, n = {best.n} {results.unit}{lacking}."
    if best.mean == worst.mean:
        return f"{title} is {rounded(best.mean, digits)} in all {len(known)} conditions that have a value."
    extremes = (
        f"Highest with {label_of(best.condition)}: {_value(best, digits)}; "
        f"lowest with {label_of(worst.condition)}: {_value(worst, digits)}."
    )
    return f"{title}: {_differences(known, digits)} {extremes}"


def _value(entry: SummaryEntry, digits: int | None) -> str:
    within = f" ({entry.level:.0%} interval {ends(entry.low, entry.high, digits)})"
    interval = within * (entry.low is not None)
    return f"{rounded(entry.mean, digits)}{interval}".replace("-", "−")


def _differences(entries: Sequence[SummaryEntry], digits: int | None) -> str:
    """The number of conditions with a significant difference, in words."""
    compared = [each for each in entries if each.difference is not None]
    bounded = [each for each in compared if each.difference_low is not None]
    if not bounded:
        return "no difference can be claimed, as there are too few values, or too little variation, for intervals."
    clear = [each for each in bounded if (each.difference_low or 0) > 0 or (each.difference_high or 0) < 0]
    level = f"{entries[0].level:.0%}"
    if not clear:
        one = f"the {level} interval includes 0"
        all_of = f"{'both' if len(bounded) == 2 else f'all {len(bounded)}'} {level} intervals include 0"
        return (
            f"no significant difference from {_reference(compared)} ({one if len(bounded) == 1 else all_of})."
        )
    most = max(clear, key=lambda each: abs(each.difference or 0.0))
    chance = len(bounded) * (1 - entries[0].level)
    many = f" Expected by chance: {chance:.1f} of {len(bounded)}." * (len(bounded) > 1)
    size = "+" * ((most.difference or 0) > 0) + rounded(most.difference, digits)
    return (
        f"{count(len(clear), 'significant difference')} from {_reference(compared)}, of {len(bounded)} "
        f"({level} interval without 0); the largest is {size} with {label_of(most.condition)}.{many}"
    ).replace(" -", " −")


def _reference(compared: Sequence[SummaryEntry]) -> str:
    references = {label_of(each.against or {}) for each in compared}
    return references.pop() if len(references) == 1 else "the reference conditions"
