"""Plots with matplotlib, the optional extra `plots`.

Scatter plots of scores and ratings; heat maps, lines or bars of a suite, one panel per measure. Pictures have no date: the same
numbers give the same file.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import isfinite, nan
from pathlib import Path
from statistics import linear_regression
from textwrap import fill
from typing import Any, Literal

from manyheads.base.errors import JournalError, RatingError, UserError, install_command
from manyheads.base.files import make_folder, writable
from manyheads.base.text import count, decimals_of, rounded
from manyheads.measures.agreement import RatingSummary

Kind = Literal["heatmap", "lines", "bars", "scatter"]
KINDS = (".png", ".svg", ".pdf")
WITHOUT = "drawing needs matplotlib, which is not installed; it is in the extra plots of manyheads"
LABELS = {
    "on": "ON, overall novelty",
    "hd": "HD, historical dissimilarity",
    "cd": "CD, contemporary dissimilarity",
    "ci": "CI, contemporary impact",
    "rnd": "RND, relative neighbour density",
    "overall": "overall",
}
COLOURS = ("#1d5c57", "#b3541e", "#5b4b8a", "#7a6a00", "#9c2f4f", "#35679a", "#4d7a2b", "#555555")
MARKERS = "osD^vPX*"
GREY, DARK = "#777777", "#333333"
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "manyheads", "svg.fonttype": "none",  # the same numbers, the same file
    "text.parse_math": False,  # names are drawn as they are written
    "figure.constrained_layout.use": True, "figure.titlesize": 12, "savefig.dpi": 160,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 10, "axes.axisbelow": True,
    "axes.grid": True, "axes.grid.axis": "y", "grid.color": "#e4e1d9", "legend.fontsize": 9, "errorbar.capsize": 3,
}  # fmt: skip
PANEL, COLUMNS = (4.8, 4.0), 2
"""Inches of a panel, and panels per row."""
TITLE, CAPTION = 45, 65
"""Maximum characters per line above and below a panel."""
CROWDED, ASLANT = 44, 24
"""Characters that fit below a panel; beyond, names are slanted and cut at the second number."""
TICKS = 12
"""Numbers that fit below a panel."""
BESIDE = 0.05
"""Sideways shift of lines, so that error bars do not overlap."""
REACH = 1.0
"""How far intervals may stretch a scale beyond means and errors, as a factor; those of two values are huge."""


@dataclass(frozen=True)
class PlotPoint:
    """A condition's mean of a measure at two axes' values; `y` is empty with one axis. No mean: no cell has the measure.

    Attributes:
        se: its standard error.
        low, high: ends of its interval.
        published: what publications print in its place.
    """

    x: str
    y: str
    mean: float | None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    published: tuple[float, ...] = ()

    @property
    def numbers(self) -> tuple[float, ...]:
        """Mean, error and interval, as far as they exist."""
        return tuple(nan if each is None else each for each in (self.mean, self.se, self.low, self.high))


@dataclass(frozen=True)
class Panel:
    """One measure: its axes' titles, and its points in the order of the axes' values.

    Panels of the same measure have the same scale.
    """

    measure: str
    title: str
    x: str
    y: str
    points: tuple[PlotPoint, ...]


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def needs_plots(path: Path) -> None:
    """Raises `RatingError` if matplotlib is not installed, or cannot write this file type."""
    if path.suffix.lower() not in KINDS:
        raise RatingError(f"{path}: not a picture format", hint=f"name a file ending in {', '.join(KINDS)}")
    if not can_draw():
        raise RatingError(f"{path}: {WITHOUT.partition(';')[0]}", hint=install_command("plots"))


def scatter_plot(summary: RatingSummary, path: Path) -> None:
    """Draw score against mean rating, one point per text, with the regression line (VirSci 2025, Fig. 3, 10, 11).

    The caption has n, Pearson's r with its interval, and Spearman's rho.

    Raises:
        RatingError: there are no scores, matplotlib is not installed, or the file cannot be written.
    """
    needs_plots(path)
    pairs, found = summary.pairs, summary.calibration
    if pairs is None or found is None:
        raise RatingError(f"{path}: nothing to draw, there are no scores", hint="--scores measures.jsonl")
    pearson, spearman = (found.scores.figures[name] for name in ("pearson", "spearman"))
    if pearson is None or spearman is None:
        raise RatingError(f"{path}: nothing to draw: {found.scores.why['pearson']}", hint="rate more texts")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    x, y = pairs.scores, pairs.ratings
    with rc_context({**STYLE, "axes.grid.axis": "both"}):
        figure = Figure(figsize=(6.4, 5.2))
        axes = figure.subplots()
        _scatter(axes, x, y)
        axes.set_xlabel(LABELS.get(summary.by, summary.by))
        scale = summary.criteria[summary.on].scale
        ends = f" ({scale[0]:g} to {scale[1]:g})" if scale else ""
        axes.set_ylabel(f"{summary.on}, mean of raters{ends}")
        caption = (
            f"n = {found.papers} texts, {count(summary.raters, 'rater') if summary.raters else 'raters without names'}; Pearson r = {pearson.estimate:.2f} "
            f"({pearson.level:.0%} interval {pearson.low:.2f} to {pearson.high:.2f}); "
            f"Spearman ρ = {spearman.estimate:.2f}"
        )
        figure.supxlabel(caption, fontsize=9, color=DARK)
        _save(figure, path, RatingError, "--plot")


def draw(
    kind: Kind, panels: Sequence[Panel], title: str, caption: str, paths: Sequence[Path], most: int = COLUMNS
) -> None:
    """Draw the panels, at most `most` side by side, into each of these files; raises `JournalError` if one cannot be written."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    columns = min(most, len(panels))
    rows = -(-len(panels) // columns)
    series = _values(point.y for panel in panels for point in panel.points)
    with rc_context(STYLE):
        figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.8))
        figure.suptitle(fill(title, TITLE * columns))
        figure.supxlabel(fill(caption, CAPTION * columns), fontsize=9, color=DARK)
        grid = figure.subplots(rows, columns, squeeze=False).flatten()
        for axes in grid[len(panels) :]:
            axes.remove()
        groups: dict[str, list[Any]] = {}
        for axes, panel in zip(grid, panels, strict=False):
            axes.set_title(fill(panel.title, TITLE))
            axes.set_xlabel(panel.x)
            if all(point.mean is None for point in panel.points):
                # A scale without values would be made up.
                axes.set(xticks=[], yticks=[])
                axes.text(0.5, 0.5, "no values", ha="center", transform=axes.transAxes, color=GREY)
                continue
            if kind == "heatmap":
                _heatmap(axes, panel)
            elif kind == "scatter":
                axes.set_ylabel(panel.y)
                points = [(float(point.x), point.mean) for point in panel.points if point.mean is not None]
                _scatter(axes, *zip(*points, strict=True))
            else:
                _lines_or_bars(axes, panel, series, bars=kind == "bars")
            groups.setdefault(panel.measure, []).append(axes)
        for group in groups.values():  # the same scale for the same measure
            if images := [image for axes in group for image in axes.images]:
                ends = [end for each in images for end in each.get_clim()]
                for each in images:
                    each.set_clim(min(ends), max(ends))
                figure.colorbar(images[0], ax=group, shrink=0.9)
            else:
                ends = [end for axes in group for end in axes.get_ylim()]
                for axes in group:
                    axes.set_ylim(min(ends), max(ends))
        # The legend of all panels, as some may lack lines or bars.
        handles: dict[str, Any] = {}
        for axes in figure.axes:
            lines, names = axes.get_legend_handles_labels()
            handles |= zip(names, lines, strict=True)
        if len(shown := [name for name in series if name in handles]) > 1:
            labels = [fill(name, ASLANT) for name in shown]
            lines = [handles[name] for name in shown]
            figure.legend(lines, labels, title=panels[0].y, loc="outside right center")
        for path in paths:
            _save(figure, path, JournalError, "--out")


def interval_plot(
    rows: Sequence[tuple[str, float, float | None, float | None, float | None]],
    label: str,
    title: str,
    caption: str,
    paths: Sequence[Path],
) -> None:
    """Draw values with their intervals, one row each, the first on top; raises `JournalError` if a file cannot be written.

    Args:
        rows: name, value, the ends of its interval, and a second value (adjusted), as far as there is one.
        label: of the values.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({**STYLE, "axes.grid.axis": "x"}):
        figure = Figure(figsize=(7.2, 1.8 + 0.34 * len(rows)))
        figure.suptitle(fill(title, 2 * TITLE))
        figure.supxlabel(fill(caption, 2 * CAPTION), fontsize=9, color=DARK)
        axes = figure.subplots()
        for place, (_, value, low, high, _) in enumerate(rows):
            if low is not None and high is not None:
                axes.plot((low, high), (place, place), color=COLOURS[0], linewidth=2, zorder=2)
            axes.plot(value, place, MARKERS[0], color=COLOURS[0], zorder=3)
        adjusted = [(other, place) for place, (*_, other) in enumerate(rows) if other is not None]
        if adjusted:
            x, y = zip(*adjusted, strict=True)
            axes.scatter(
                x, y, marker=MARKERS[2], s=30, facecolors="none", edgecolors=COLOURS[1], zorder=4,
                label="style-adjusted",
            )  # fmt: skip
            figure.legend(loc="outside lower right")
        names = [name if len(name) <= CROWDED else f"{name[: CROWDED - 1]}…" for name, *_ in rows]
        axes.set_yticks(range(len(rows)), names)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(label)
        for path in paths:
            _save(figure, path, JournalError, "--out")


def _save(figure: Any, path: Path, error_type: type[UserError], option: str) -> None:
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    with writable(path, error_type, f"name another {option}"):
        make_folder(path.parent)
        figure.savefig(path, metadata=undated)


def _scatter(axes: Any, x: Sequence[float], y: Sequence[float]) -> None:
    """Points, and the regression line if x varies."""
    axes.scatter(x, y, s=34, color=COLOURS[0], alpha=0.6, linewidths=0, zorder=3)
    if (ends := (min(x), max(x)))[0] < ends[1]:
        slope, intercept = linear_regression(x, y)
        line = [intercept + slope * end for end in ends]
        axes.plot(ends, line, color=COLOURS[1], linewidth=1.8, zorder=2)


def _heatmap(axes: Any, panel: Panel) -> None:
    """Means by colour, labelled with mean and standard error."""
    import numpy as np
    from matplotlib import colormaps

    across, upward = _values(point.x for point in panel.points), _values(point.y for point in panel.points)
    means = np.full((len(upward), len(across)), np.nan)
    digits = decimals_of(*(point.se for point in panel.points))
    behind = {"boxstyle": "round,pad=0.25", "facecolor": "white", "alpha": 0.75, "linewidth": 0}
    for point in panel.points:
        x, y = across.index(point.x), upward.index(point.y)
        means[y, x], se = point.numbers[0], point.se
        text = rounded(point.mean, digits) + ("" if se is None else f"\n±{rounded(se, digits)}")
        text += "".join(f"\n[{rounded(each, digits)}]" for each in point.published)
        axes.text(x, y, text, ha="center", va="center", fontsize=8, bbox=behind)
    axes.imshow(means, origin="lower", aspect="auto", cmap=colormaps["YlGnBu"].with_extremes(bad="#ececec"))
    axes.grid(visible=False)
    _name(axes, across)
    axes.set_yticks(range(len(upward)), [fill(name, ASLANT) for name in upward])
    axes.set_ylabel(panel.y)


def _lines_or_bars(axes: Any, panel: Panel, series: Sequence[str], *, bars: bool) -> None:
    """Means with standard errors; intervals as thin lines, or as bands if a line's axis is numeric.

    Missing means leave a gap in the line.
    """
    across = _values(point.x for point in panel.points)
    numbers = {} if bars else _numbers(across)
    width = 0.8 / len(series) if bars else BESIDE
    for number, name in enumerate(series):
        if not (points := [point for point in panel.points if point.y == name]):
            continue
        aside = (number - (len(series) - 1) / 2) * width
        place = numbers or {each: at + aside for at, each in enumerate(across)}
        points.sort(key=lambda point: place[point.x])
        places = [place[point.x] for point in points]
        means, errors, low, high = zip(*(point.numbers for point in points), strict=True)
        colour = COLOURS[number % len(COLOURS)]
        if bars:
            axes.bar(places, means, width, label=name, color=colour)
            style = {"color": DARK, "fmt": "none"}
        else:
            marker = MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]
            style = {"color": colour, "label": name, "marker": marker}
        if numbers:
            axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
        else:
            axes.vlines(places, low, high, color=style["color"], linewidth=0.7)
        axes.errorbar(places, means, yerr=errors, linewidth=1.6, **style)
        printed = [(place[point.x], value) for point in points for value in point.published]
        if printed:
            marks = {"facecolors": "white", "edgecolors": DARK if bars else colour, "zorder": 5}
            axes.scatter(*zip(*printed, strict=True), marker=MARKERS[2], s=34, **marks)
    axes.set_ylim(*_height(panel, base=0.0 if bars else None))
    if numbers:
        ticks = sorted((value, name) for name, value in numbers.items())
        axes.set_xticks(*zip(*ticks[:: -(-len(ticks) // TICKS)], strict=True))
    else:
        _name(axes, across)


def _height(panel: Panel, base: float | None) -> tuple[float, float]:
    """The range of a panel: means with errors, and intervals unless they would dwarf these."""
    points = [point for point in panel.points if point.mean is not None]
    errors = [(point.mean or 0) + sign * (point.se or 0) for point in points for sign in (-1, 1)]
    errors += [] if base is None else [base]
    errors += [value for point in panel.points for value in point.published]
    least, most = min(errors), max(errors)
    span = (most - least) or abs(most) or 1.0
    ends = [end for point in points for end in (point.low, point.high) if end is not None]
    low = max(min([least, *ends]), least - REACH * span)
    high = min(max([most, *ends]), most + REACH * span)
    room = 0.05 * (high - low or span)
    return (low if low == base else low - room), (high if high == base else high + room)


def _name(axes: Any, names: Sequence[str]) -> None:
    """Axis labels, slanted if they would overlap, and cut in the middle, as their ends differ most."""
    axes.set_xlim(-0.5, len(names) - 0.5)
    if sum(len(name) + 2 for name in names) <= CROWDED:
        axes.set_xticks(range(len(names)), names)
        return
    half = ASLANT // 2
    cut = [name if len(name) <= ASLANT else f"{name[:half]}…{name[1 - half :]}" for name in names]
    axes.set_xticks(range(len(names)), cut, rotation=35, ha="right", rotation_mode="anchor", fontsize=8)


def _numbers(names: Sequence[str]) -> dict[str, float]:
    """Axis values as numbers; empty if one is not a number."""
    try:
        numbers = {name: float(name) for name in names}
    except ValueError:
        return {}
    return numbers if all(map(isfinite, numbers.values())) else {}


def _values(each: Iterable[str]) -> list[str]:
    """Distinct values in order."""
    return list(dict.fromkeys(each))
