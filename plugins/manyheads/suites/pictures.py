"""What a suite wants drawn, from its summary."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from manyheads.report.suite_plots import Kind, Panel, Point, can_draw, draw, title_of
from manyheads.report.words import count
from manyheads.suites.measuring import Row
from manyheads.suites.report import is_offline
from manyheads.suites.spec import PlotConfig, SuiteSpec
from manyheads.suites.summary import Entry, counted

FILES = ("plot.png", "plot.svg")


def draw_suite(spec: SuiteSpec, rows: Sequence[Row], entries: Sequence[Entry], folder: Path) -> list[Path]:
    """Draw the suite's plot into its folder; no files where it has none, or matplotlib is not installed.

    A picture of earlier numbers does not stay.

    Raises:
        JournalError: the folder cannot be written.
    """
    files = [folder / name for name in FILES]
    for earlier in files:
        earlier.unlink(missing_ok=True)
    if spec.plot is None or not can_draw():
        return []
    kind, drawn = spec.plot.kind, [entry for entry in entries if entry.measure in spec.plot.value]
    panels = list(panels_of(spec, spec.plot, drawn))
    draw(kind, panels, spec.title, caption_of(kind, rows, drawn), files)
    return files


def panels_of(spec: SuiteSpec, plot: PlotConfig, entries: Sequence[Entry]) -> Iterator[Panel]:
    """A panel for each measure and each combination of the axes that the plot does not name."""
    rest = {axis: values for axis, values in spec.axes.items() if axis not in (plot.x, plot.y)}
    for measure, values in product(plot.value, product(*rest.values())):
        held = dict(zip(rest, values, strict=True))
        shown = [
            entry
            for entry in entries
            if entry.measure == measure and all(entry.condition[axis] == held[axis] for axis in held)
        ]
        title = ", ".join([title_of(measure), *(f"{axis}={value}" for axis, value in held.items())])
        points = tuple(_point(plot, entry) for entry in shown)
        yield Panel(measure, title, title_of(plot.x), title_of(plot.y) if plot.y else "", points)


def caption_of(kind: Kind, rows: Sequence[Row], entries: Sequence[Entry]) -> str:
    """What is drawn, over how many values, how many cells are not in it, and whether a language model wrote."""
    counts = sorted({entry.n for entry in entries})
    n = (
        count(counts[0], counted(rows)[:-1])
        if len(counts) == 1
        else f"{counts[0]} to {counts[-1]} {counted(rows)}"
    )
    out = max(entry.left_out for entry in entries)
    shown = "" if kind == "heatmap" else f", {entries[0].level:.0%} interval thin or shaded"
    told = [f"mean ± standard error{shown}, n = {n}"]
    told += [f"cells left out of a condition: up to {out}"] if out else []
    unknown = max(entry.unknown for entry in entries)
    told += [f"cells of a condition whose value is unknown: up to {unknown}"] if unknown else []
    told += ["offline model, which is no language model"] if is_offline(rows) else []
    return "; ".join(told)


def _point(plot: PlotConfig, entry: Entry) -> Point:
    y = str(entry.condition[plot.y]) if plot.y else ""
    return Point(str(entry.condition[plot.x]), y, entry.mean, entry.se, entry.low, entry.high)
