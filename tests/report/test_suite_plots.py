"""What a suite's pictures show, read from the SVG that is drawn, and what they leave out."""

import re
from pathlib import Path

import pytest

from manyheads.base.errors import JournalError
from manyheads.report.plots import Kind, Panel, PlotPoint, draw

KINDS: tuple[Kind, ...] = ("heatmap", "lines", "bars")
TICK = re.compile(r'<g id="(?:x|y)tick_')


def panel(*points: PlotPoint, measure: str = "s", title: str = "S", y: str = "indicator") -> Panel:
    return Panel(measure, title, "round", y, points)


def svg_of(kind: Kind, panels: list[Panel], folder: Path) -> str:
    path = folder / "plot.svg"
    draw(kind, panels, "How do ideas evolve?", "n = 3", [path])
    return path.read_text("utf-8")


def words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def heights(svg: str) -> list[str]:
    """What stands beside the axis that goes up."""
    return re.findall(r'<g id="ytick_.*?<text[^>]*>([^<]*)</text>', svg, re.DOTALL)


@pytest.mark.parametrize(
    "kind", ["bars", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind != "bars")]
)
def test_without_any_value_no_scale_is_made_up(kind: Kind, tmp_path: Path) -> None:
    empty = panel(PlotPoint("1", "a", None), PlotPoint("2", "b", None))
    svg = svg_of(kind, [empty], tmp_path)
    assert "no values" in words(svg)
    assert not TICK.search(svg)
    assert not {"0.0", "1.0", "0.5"} & set(words(svg))


def test_numbers_stand_where_they_belong_and_other_names_side_by_side(tmp_path: Path) -> None:
    def places(names: tuple[str, ...]) -> list[float]:
        points = [PlotPoint(name, "", 0.5, 0.1) for name in names]
        svg = svg_of("lines", [panel(*points, y="")], tmp_path)
        return [float(x) for x in re.findall(r'<g id="xtick_.*?<use [^>]*x="([0-9.]+)"', svg, re.DOTALL)]

    first, second, last = places(("0", "1", "10"))
    assert (last - first) / (second - first) == pytest.approx(10, rel=1e-3)
    first, second, last = places(("initial", "1", "10"))
    assert (last - first) / (second - first) == pytest.approx(2, rel=1e-3)


def test_endless_intervals_do_not_dwarf_what_they_are_of(tmp_path: Path) -> None:
    """Student's interval of two values reaches 13 standard errors to each side."""
    points = [PlotPoint("ours", "", 0.6, 0.2, -1.9, 3.1), PlotPoint("none", "", 0.2, 0.1, -1.1, 1.5)]
    svg = svg_of("bars", [panel(*points, y="")], tmp_path)
    up = [float(height.replace("−", "-")) for height in heights(svg)]
    assert min(up) >= -0.9
    assert max(up) <= 1.7


@pytest.mark.slow
def test_all_series_are_in_the_legend_each_with_a_look_of_its_own(tmp_path: Path) -> None:
    """Also one that only a later panel has; with more of them than colours."""
    series = [f"series {number}" for number in range(10)]
    first = panel(*(PlotPoint("1", name, 0.5) for name in series[:9]))
    second = panel(PlotPoint("1", "series 9", 0.5))
    svg = svg_of("lines", [first, second], tmp_path)
    assert [word for word in words(svg) if word.startswith("series")] == series
    legend = svg[svg.index('<g id="legend_1">') :]
    looks = re.findall(r'<use xlink:href="#(\w+)"[^>]*style="fill: (#\w+)', legend)
    assert len(set(looks)) >= 9


@pytest.mark.parametrize(
    "kind", ["bars", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind != "bars")]
)
def test_the_same_numbers_give_the_same_file(kind: Kind, tmp_path: Path) -> None:
    panels = [
        panel(PlotPoint("1", "a", 0.5, 0.1, 0.2, 0.8), PlotPoint("2", "a", None), PlotPoint("2", "b", 0.4))
    ]
    assert svg_of(kind, panels, tmp_path) == svg_of(kind, panels, tmp_path)


def test_a_picture_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match=r"plot\.svg"):
        draw("bars", [panel(PlotPoint("1", "", 1.0))], "", "", [tmp_path / "file" / "plot.svg"])
