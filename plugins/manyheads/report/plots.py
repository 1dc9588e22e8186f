"""Plots, drawn with matplotlib where it is installed: the optional extra `plots`."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import isfinite, nan
from pathlib import Path
from textwrap import fill, wrap
from typing import Any, Literal

from manyheads.errors import JournalError, RatingError
from manyheads.measures.ratings import Comparison, ScoreAgreement

KINDS = (".png", ".svg", ".pdf")
SIZE = (6.4, 5.2)
"""Inches."""
LABELS = {
    "on": "ON, overall novelty",
    "hd": "HD, historical dissimilarity",
    "cd": "CD, contemporary dissimilarity",
    "ci": "CI, contemporary impact",
    "rnd": "RND, relative neighbour density",
    "overall": "overall",
}
POINTS, LINE = "#1d5c57", "#7a4b00"
SAME: dict[Any, Any] = {"svg.hashsalt": "manyheads", "svg.fonttype": "none", "text.parse_math": False}
"""What makes the same numbers the same file, and leaves texts as they are."""


def needs_plots(path: Path) -> None:
    """Say early that a plot cannot be drawn.

    Raises:
        RatingError: matplotlib is not installed, or the file is of no kind that it draws.
    """
    if path.suffix.lower() not in KINDS:
        raise RatingError(f"{path}: no kind of picture", hint=f"name a file that ends in {', '.join(KINDS)}")
    if find_spec("matplotlib") is None:
        raise RatingError(
            f"{path}: plots need matplotlib, which is not installed", hint="pip install 'manyheads[plots]'"
        )


def scatter_plot(comparison: Comparison, path: Path) -> None:
    """Draw score against mean rating, a point each text, with the regression line (VirSci 2025, Fig. 3, 10, 11).

    The caption holds n, Pearson's r with its interval, and Spearman's rho. Without a date in it: the same comparison
    gives the same file.

    Raises:
        RatingError: nothing was compared, matplotlib is not installed, or the file cannot be written.
    """
    needs_plots(path)
    held = comparison.held
    if held is None:
        raise RatingError(f"{path}: nothing to draw, there are no scores", hint="--scores measures.jsonl")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(SAME):
        figure = Figure(figsize=SIZE, layout="constrained")
        _draw(figure.subplots(), held)
        figure.supxlabel(_caption(held, comparison.raters), fontsize=9, color="#444444")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=200, metadata=undated(path))
        except OSError as error:
            raise RatingError(
                f"{path}: cannot be written: {error.strerror}", hint="name another --plot"
            ) from error


def _draw(axes: Any, held: ScoreAgreement) -> None:
    x, y = held.pairs.scores, held.pairs.ratings
    ends = [min(x), max(x)]
    line = [held.agreement.intercept + held.agreement.slope * end for end in ends]
    axes.scatter(x, y, s=34, color=POINTS, alpha=0.6, linewidths=0, zorder=3)
    axes.plot(ends, line, color=LINE, linewidth=1.8, zorder=2)
    axes.set_xlabel(LABELS.get(held.by, held.by))
    axes.set_ylabel(f"{held.on}, mean of raters (1 to 10)")
    axes.grid(color="#e4e1d9", linewidth=0.8, zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _caption(held: ScoreAgreement, raters: int) -> str:
    found = held.agreement.pearson
    interval = found.fisher or found.bootstrap
    return (
        f"n = {held.agreement.n} texts, {raters} rater{'s' if raters > 1 else ''}; "
        f"Pearson r = {found.value:.2f} ({interval.level:.0%} interval {interval.low:.2f} to {interval.high:.2f}); "
        f"Spearman ρ = {held.agreement.spearman.value:.2f}"
    )


def undated(path: Path) -> dict[str, None]:
    """What keeps the date out of a picture."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})


# What a suite found, drawn with matplotlib: a heat map, lines or bars, a panel for each measure.

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
LABEL, LINES = 14, 3
"""Characters of a line under an axis, and how many lines."""
CROWDED, ASLANT = 44, 24
"""Characters that fit side by side under a panel; where there are more, each name stands aslant, and is cut there."""
REACH = 1.0
"""How far beyond means and errors intervals may stretch a scale, in parts of it; those of two values are endless."""
TICKS = 12
"""Numbers that fit side by side under a panel."""
NOTHING = "no values"
WORDS = {
    "ranking.s": "S, relative quality",
    "ranking.settled": "share of runs that had ended",
    "ranking.position_bias": "bias of places",
    "ranking.consistency": "W, consistency of orders",
    "ranking.failed": "orders without a ranking",
    "ranking.round": "revisions",
    "rebuttal.iterations": "revisions made",
    "rebuttal.iterations < 10": "share with fewer than ten",
    "rebuttal.converged": "share that converged",
    "rebuttal.indicator": "quality",
    "inference_cost": "replies asked for",
}
"""What measures and axes mean whose paths do not say it; the paths stand beside it, for these are what suites name."""
WITHOUT = "drawing needs matplotlib, which is not installed: pip install 'manyheads[plots]'"


@dataclass(frozen=True)
class Point:
    """A condition's mean of a measure at two axes' values, `y` empty where there is one axis. Without a mean: no cell has it.

    Attributes:
        se: its standard error.
        low, high: ends of its interval.
    """

    x: str
    y: str
    mean: float | None
    se: float | None = None
    low: float | None = None
    high: float | None = None


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

    @property
    def known(self) -> bool:
        """Whether there is anything to draw."""
        return any(point.mean is not None for point in self.points)


def can_draw() -> bool:
    """Whether matplotlib is there."""
    return find_spec("matplotlib") is not None


def title_of(measure: str) -> str:
    """What pictures and reports call a measure or an axis."""
    return f"{WORDS[measure]} ({measure})" if measure in WORDS else LABELS.get(measure, measure)


def draw(kind: Kind, panels: Sequence[Panel], title: str, caption: str, paths: Sequence[Path]) -> None:
    """Draw the panels into each of these files. Without a date in them: the same numbers give the same file.

    Raises:
        JournalError: a file cannot be written.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with rc_context(SAME):
        figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.8), layout="constrained")
        figure.suptitle(fill(title, TITLE * columns), fontsize=12)
        figure.supxlabel(fill(caption, CAPTION * columns), fontsize=9, color="#444444")
        grid = figure.subplots(rows, columns, squeeze=False).flatten()
        drawn = list(zip(grid, panels, strict=False))
        for axes, panel in drawn:
            axes.set_title(fill(panel.title, TITLE), fontsize=10)
            axes.set_xlabel(panel.x)
            (_DRAWERS[kind] if panel.known else _nothing)(figure, axes, panel)
        for measure in {panel.measure for panel in panels}:
            _to_one_scale(kind, [axes for axes, panel in drawn if panel.measure == measure and panel.known])
        _legend(figure, [axes for axes, _ in drawn], panels)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        for path in paths:
            _save(figure, path)


def _legend(figure: Any, group: Sequence[Any], panels: Sequence[Panel]) -> None:
    """What the lines or bars are, over all panels: one of them may lack some."""
    found = {
        name: handle for axes in group for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    names = [
        name
        for name in dict.fromkeys(each for panel in panels for each in _values(panel, "y"))
        if name in found
    ]
    if len(names) > 1:
        shown = [fill(name, LABEL * 2) for name in names]
        handles = [found[name] for name in names]
        figure.legend(handles, shown, title=panels[0].y, fontsize=9, loc="outside right upper")


def _nothing(_figure: Any, axes: Any, _panel: Panel) -> None:
    """A scale without any value on it would be made up."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(0.5, 0.5, NOTHING, ha="center", va="center", transform=axes.transAxes, color="#777777")


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, dpi=160, metadata=undated(path))
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
    _label(axes, across)
    axes.set_yticks(range(len(upward)), [_folded(name) for name in upward])
    axes.set_ylabel(panel.y)
    for point in panel.points:
        place = across.index(point.x), upward.index(point.y)
        axes.text(*place, _written(point), ha="center", va="center", fontsize=8, bbox=BEHIND)


def _to_one_scale(kind: Kind, group: Sequence[Any]) -> None:
    """The same colour, or the same height, for the same value."""
    scaled = [image for axes in group for image in axes.images] if kind == "heatmap" else group
    ends = [end for each in scaled for end in (each.get_clim() if kind == "heatmap" else each.get_ylim())]
    for each in scaled:
        (each.set_clim if kind == "heatmap" else each.set_ylim)(min(ends), max(ends))


def _lines(_figure: Any, axes: Any, panel: Panel) -> None:
    """Means with their standard errors; intervals as bands where the axis is one of numbers, else as thin lines.

    Where there is no mean, the line has a gap.
    """
    across, series = _values(panel, "x"), _values(panel, "y")
    numbers = _numbers(across)
    for number, name in enumerate(series):
        points = [point for point in panel.points if point.y == name]
        aside = (number - (len(series) - 1) / 2) * BESIDE
        places = [numbers[point.x] if numbers else across.index(point.x) + aside for point in points]
        colour = _colour(number)
        if numbers:
            points, places = _sorted(points, places)
            low, high = zip(*map(_ends, points), strict=True)
            axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
        else:
            _intervals(axes, points, places, colour)
        axes.errorbar(
            places, list(map(_mean, points)), yerr=list(map(_error, points)), label=name,
            color=colour, marker=MARKERS[(number + number // len(COLOURS)) % len(MARKERS)], capsize=3, linewidth=1.6,
        )  # fmt: skip
    _finish(axes, panel)
    if numbers:
        axes.set_xticks(*_ticks(numbers))
    else:
        _label(axes, across)
        axes.set_xlim(-0.5, len(across) - 0.5)


def _bars(_figure: Any, axes: Any, panel: Panel) -> None:
    """Means, with intervals, or standard errors where there are none."""
    across, series = _values(panel, "x"), _values(panel, "y")
    width = 0.8 / len(series)
    for number, name in enumerate(series):
        points = [point for point in panel.points if point.y == name and point.mean is not None]
        places = [across.index(point.x) + (number - (len(series) - 1) / 2) * width for point in points]
        axes.bar(places, [point.mean for point in points], width, label=name, color=_colour(number), zorder=2)
        _intervals(axes, points, places, "#333333")
        axes.errorbar(
            places, [point.mean for point in points], yerr=list(map(_error, points)),
            fmt="none", color="#333333", capsize=3, linewidth=1.6, zorder=3,
        )  # fmt: skip
    _finish(axes, panel, base=(0.0,))
    _label(axes, across)
    axes.set_xlim(-0.5, len(across) - 0.5)


_DRAWERS = {"heatmap": _heatmap, "lines": _lines, "bars": _bars}


def _intervals(axes: Any, points: Sequence[Point], places: Sequence[float], colour: str) -> None:
    ends = [_ends(point) for point in points]
    axes.vlines(
        places, [low for low, _ in ends], [high for _, high in ends], color=colour, linewidth=0.7, zorder=3
    )


def _finish(axes: Any, panel: Panel, base: Sequence[float] = ()) -> None:
    axes.set_ylim(*_height(panel, base))
    axes.grid(axis="y", color="#e4e1d9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _height(panel: Panel, base: Sequence[float]) -> tuple[float, float]:
    """From where to where a panel goes: all means with their errors, and intervals as far as they do not dwarf these."""
    known = [(point.mean, point.se or 0.0, point) for point in panel.points if point.mean is not None]
    least = min([mean - se for mean, se, _ in known] + list(base))
    most = max([mean + se for mean, se, _ in known] + list(base))
    span = (most - least) or abs(most) or 1.0
    ends = [end for _, _, point in known for end in (point.low, point.high) if end is not None]
    low = max(min([least, *ends]), least - REACH * span)
    high = min(max([most, *ends]), most + REACH * span)
    room = 0.05 * (high - low or span)
    return (low if low in base else low - room), (high if high in base else high + room)


def _label(axes: Any, names: Sequence[str]) -> None:
    """Names under an axis, aslant where they would stand on each other."""
    shown, places = [_folded(name) for name in names], range(len(names))
    if sum(max(map(len, name.split("\n"))) + 2 for name in shown) <= CROWDED:
        axes.set_xticks(places, shown)
        return
    cut = [name if len(name) <= ASLANT else f"{name[: ASLANT - 1]}…" for name in names]
    axes.set_xticks(places, cut, rotation=35, ha="right", rotation_mode="anchor", fontsize=8)


def _folded(name: str) -> str:
    """A name in so many short lines, cut where it has more."""
    lines = wrap(name, LABEL) or [""]
    return "\n".join(
        lines if len(lines) <= LINES else [*lines[: LINES - 1], f"{lines[LINES - 1][: LABEL - 1]}…"]
    )


def _numbers(names: Sequence[str]) -> dict[str, float]:
    """What an axis's values are as numbers; empty where one is none."""
    try:
        found = {name: float(name) for name in names}
    except ValueError:
        return {}
    return found if all(map(isfinite, found.values())) else {}


def _ticks(numbers: dict[str, float]) -> tuple[list[float], list[str]]:
    """Ticks at the values themselves, at every other one or fewer where there are many."""
    there = sorted(numbers.items(), key=lambda each: each[1])
    step = -(-len(there) // TICKS)
    return [value for _, value in there[::step]], [name for name, _ in there[::step]]


def _sorted(points: Sequence[Point], places: Sequence[float]) -> tuple[list[Point], list[float]]:
    order = sorted(range(len(points)), key=places.__getitem__)
    return [points[at] for at in order], [places[at] for at in order]


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _values(panel: Panel, axis: Literal["x", "y"]) -> list[str]:
    return list(dict.fromkeys(point.x if axis == "x" else point.y for point in panel.points))


def _mean(point: Point) -> float:
    return nan if point.mean is None else point.mean


def _error(point: Point) -> float:
    """One value has no standard error, which is not one of zero."""
    return nan if point.se is None else point.se


def _ends(point: Point) -> tuple[float, float]:
    """Likewise: no interval is not one without width."""
    return (nan, nan) if point.low is None or point.high is None else (point.low, point.high)


def _written(point: Point) -> str:
    if point.mean is None:
        return "–"
    return f"{point.mean:.3g}" if point.se is None else f"{point.mean:.3g}\n±{point.se:.2g}"
