"""What a suite found, drawn with matplotlib: a heat map, lines or bars, a panel for each measure."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import nan
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

from manyheads.errors import JournalError
from manyheads.report.plots import LABELS

Kind = Literal["heatmap", "lines", "bars"]
PANEL = (4.8, 4.0)
"""Inches."""
COLUMNS = 2
TITLE, CAPTION = 45, 65
"""Characters of a line that fit above and below a panel."""
COLOURS = ("#1d5c57", "#b3541e", "#5b4b8a", "#7a6a00", "#9c2f4f", "#35679a", "#4d7a2b", "#555555")
MARKERS = "osD^vPX*"
LACKING = "#ececec"
BEHIND = {"boxstyle": "round,pad=0.25", "facecolor": "white", "alpha": 0.75, "linewidth": 0}
BESIDE = 0.05
"""How far lines are moved sideways, so that their errors do not lie on each other."""
WITHOUT = "drawing needs matplotlib, which is not installed: pip install 'manyheads[plots]'"


@dataclass(frozen=True)
class Point:
    """A condition's mean of a measure at two axes' values, `y` empty where there is one axis. Without a mean: no cell has it."""

    x: str
    y: str
    mean: float | None
    se: float | None


@dataclass(frozen=True)
class Panel:
    """One measure; what its axes are called, and its points in the order of the axes' values.

    Panels of the same measure are drawn to the same scale.
    """

    measure: str
    title: str
    x: str
    y: str
    points: tuple[Point, ...]


def can_draw() -> bool:
    """Whether matplotlib is there."""
    return find_spec("matplotlib") is not None


def title_of(measure: str) -> str:
    """What a picture calls a measure."""
    return LABELS.get(measure, measure)


def draw(kind: Kind, panels: Sequence[Panel], title: str, caption: str, paths: Sequence[Path]) -> None:
    """Draw the panels into each of these files. Without a date in them: the same numbers give the same file.

    Raises:
        JournalError: a file cannot be written.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with rc_context({"svg.hashsalt": "manyheads", "svg.fonttype": "none", "text.parse_math": False}):
        figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.8), layout="constrained")
        figure.suptitle(fill(title, TITLE * columns), fontsize=12)
        figure.supxlabel(fill(caption, CAPTION * columns), fontsize=9, color="#444444")
        grid = figure.subplots(rows, columns, squeeze=False).flatten()
        drawn = list(zip(grid, panels, strict=False))
        for axes, panel in drawn:
            axes.set_title(panel.title, fontsize=10)
            axes.set_xlabel(panel.x)
            _DRAWERS[kind](figure, axes, panel)
        for measure in {panel.measure for panel in panels}:
            _to_one_scale(kind, [axes for axes, panel in drawn if panel.measure == measure])
        handles, names = grid[0].get_legend_handles_labels()
        if len(names) > 1:
            figure.legend(handles, names, title=panels[0].y, fontsize=9, loc="outside right upper")
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        for path in paths:
            _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else {})
    except OSError as error:
        raise JournalError(
            f"{path}: cannot be written: {error.strerror}", hint="choose another --out"
        ) from error


def _heatmap(figure: Any, axes: Any, panel: Panel) -> None:
    """Means by colour, each with its standard error written on it."""
    import numpy as np
    from matplotlib import colormaps

    across, upward = _values(panel, "x"), _values(panel, "y")
    means = np.full((len(upward), len(across)), np.nan)
    for point in panel.points:
        if point.mean is not None:
            means[upward.index(point.y), across.index(point.x)] = point.mean
    colours = colormaps["YlGnBu"].with_extremes(bad=LACKING)
    image = axes.imshow(means, origin="lower", aspect="auto", cmap=colours)
    figure.colorbar(image, ax=axes, shrink=0.9)
    axes.set_xticks(range(len(across)), across)
    axes.set_yticks(range(len(upward)), upward)
    axes.set_ylabel(panel.y)
    for point in panel.points:
        place = across.index(point.x), upward.index(point.y)
        axes.text(*place, _written(point), ha="center", va="center", fontsize=8, bbox=BEHIND)


def _to_one_scale(kind: Kind, group: Sequence[Any]) -> None:
    """The same colour, or the same height, for the same value."""
    scaled = [image for axes in group for image in axes.images] if kind == "heatmap" else group
    ends = [each.get_clim() if kind == "heatmap" else each.get_ylim() for each in scaled]
    known = [end for pair in ends for end in pair if end is not None]
    for each in scaled if known else ():
        (each.set_clim if kind == "heatmap" else each.set_ylim)(min(known), max(known))


def _lines(_figure: Any, axes: Any, panel: Panel) -> None:
    across, series = _values(panel, "x"), _values(panel, "y")
    for number, name in enumerate(series):
        points = [point for point in panel.points if point.y == name and point.mean is not None]
        places = [across.index(point.x) + (number - (len(series) - 1) / 2) * BESIDE for point in points]
        axes.errorbar(
            places, [point.mean for point in points], yerr=list(map(_error, points)), label=name,
            color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)], capsize=3, linewidth=1.6,
        )  # fmt: skip
    _finish(axes, across)


def _bars(_figure: Any, axes: Any, panel: Panel) -> None:
    across, series = _values(panel, "x"), _values(panel, "y")
    width = 0.8 / len(series)
    for number, name in enumerate(series):
        points = [point for point in panel.points if point.y == name and point.mean is not None]
        places = [across.index(point.x) + (number - (len(series) - 1) / 2) * width for point in points]
        axes.bar(
            places, [point.mean for point in points], width, yerr=list(map(_error, points)), label=name,
            color=COLOURS[number % len(COLOURS)], capsize=3,
        )  # fmt: skip
    _finish(axes, across)


_DRAWERS = {"heatmap": _heatmap, "lines": _lines, "bars": _bars}


def _finish(axes: Any, across: Sequence[str]) -> None:
    axes.set_xticks(range(len(across)), across)
    axes.set_xlim(-0.5, len(across) - 0.5)
    axes.grid(axis="y", color="#e4e1d9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _values(panel: Panel, axis: Literal["x", "y"]) -> list[str]:
    return list(dict.fromkeys(point.x if axis == "x" else point.y for point in panel.points))


def _error(point: Point) -> float:
    """One value has no standard error, which is not one of zero."""
    return nan if point.se is None else point.se


def _written(point: Point) -> str:
    if point.mean is None:
        return "–"
    return f"{point.mean:.3g}" if point.se is None else f"{point.mean:.3g}\n±{point.se:.2g}"
