"""Plots, drawn with matplotlib where it is installed: the optional extra `plots`."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from manyheads.errors import RatingError
from manyheads.measures.comparison import Comparison, Held

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


def _draw(axes: Any, held: Held) -> None:
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


def _caption(held: Held, raters: int) -> str:
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
