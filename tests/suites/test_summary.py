"""What cells come to: by hand, with what is left out, and read back."""

import csv
import re
import sys
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from manyheads.suites.cells import CellRow
from manyheads.suites.page import answer, write_suite_page
from manyheads.suites.report import (
    Results,
    SummaryEntry,
    caption_of,
    correlation,
    draw_suite,
    summary_table,
    with_error,
)
from manyheads.suites.spec import Suite, SuiteSpec
from support.suites import SPEC, words_of

SPECIFIED = SuiteSpec.model_validate(
    {
        **SPEC,
        "measures": ["hd"],
        "plot": {"kind": "heatmap", "x": "team.size", "y": "topology", "value": "hd"},
        "grid": {"team.size": [2, 3], "topology": ["sequential", "random"]},
    }
)
SMALL: dict[str, Any] = {"team.size": 2, "topology": "sequential"}
LARGE: dict[str, Any] = {"team.size": 3, "topology": "random"}


def page_of(suite: Suite, repeats: int, results: Results) -> str:
    """The words of the report, see `words_of`."""
    with TemporaryDirectory() as folder:
        return words_of(write_suite_page(Path(folder), suite, results, [], [], repeats=repeats))


def row(
    condition: dict[str, Any],
    seed: int,
    value: float | None,
    case: str = "",
    measure: str = "hd",
    **told: Any,
) -> CellRow:
    values = {} if value is None else {measure: value}
    name = f"{condition}{case}{seed}"
    return CellRow(cell=name, condition=condition, case=case, seed=seed, values=values, **told)


def measuring(*measures: str, **keys: Any) -> SuiteSpec:
    """The suite with other measures."""
    return SuiteSpec.model_validate({**SPECIFIED.model_dump(), "measures": measures, "plot": None, **keys})


def failed(condition: dict[str, Any], seed: int, error: str = "no server") -> CellRow:
    return row(condition, seed, None).model_copy(update={"error": error})


def of(entries: list[SummaryEntry], condition: dict[str, Any]) -> SummaryEntry:
    [found] = [entry for entry in entries if entry.condition == condition]
    return found


ROWS = [
    row(SMALL, 0, 1.0), row(SMALL, 1, 2.0), row(SMALL, 2, 6.0),
    row(LARGE, 0, 2.0), row(LARGE, 1, 4.0), failed(LARGE, 2),
]  # fmt: skip


def test_mean_and_error_are_over_what_there_is_and_say_what_there_is_not() -> None:
    entry = of(Results(SPECIFIED, ROWS).entries, LARGE)
    assert (entry.n, entry.cells, entry.left_out, entry.mean) == (2, 2, 1, 3.0)
    assert entry.se == pytest.approx(1.0)
    # Student's t of one degree of freedom is 12.706.
    assert entry.method == "t"
    assert (entry.low, entry.high) == pytest.approx((-9.706, 15.706), abs=1e-3)


def test_differences_are_over_the_seeds_that_both_have() -> None:
    entry = of(Results(SPECIFIED, ROWS).entries, LARGE)
    assert (entry.against, entry.pairs, entry.difference) == (SMALL, 2, 1.5)
    assert entry.difference_se == pytest.approx(0.5)
    assert entry.difference_method == "t"
    assert (entry.difference_low, entry.difference_high) == pytest.approx(
        (1.5 - 6.353, 1.5 + 6.353), abs=1e-3
    )
    assert of(Results(SPECIFIED, ROWS).entries, SMALL).against is None
    other_way = SPECIFIED.model_copy(update={"against": LARGE})
    entry = of(Results(other_way, ROWS).entries, SMALL)
    assert (entry.n, entry.pairs, entry.difference) == (3, 2, -1.5)


def test_runs_of_one_case_are_not_counted_as_independent() -> None:
    rows = [row(SMALL, seed, value, case) for case, value in (("a", 1.0), ("b", 3.0)) for seed in range(5)]
    entry = of(Results(SPECIFIED, rows).entries, SMALL)
    assert (entry.n, entry.cells, entry.mean) == (2, 10, 2.0)
    assert entry.se == pytest.approx(sqrt(2) / sqrt(2))


def test_cases_of_one_paper_count_as_one() -> None:
    """By hand: two documents of paper a, at 1 and 3, and one of b, at 6, are two values, 2 and 6, and not three."""
    rows = [row(SMALL, 0, value, case) for case, value in (("a1", 1.0), ("a2", 3.0), ("b1", 6.0))]
    results = Results(SPECIFIED, rows, groups={"a1": "a", "a2": "a"})
    entry = of(results.entries, SMALL)
    assert (entry.n, entry.mean, results.unit) == (2, 4.0, "groups")
    assert entry.se == pytest.approx(2.0)


def test_differences_count_cases_where_there_are_several() -> None:
    """By hand: case a differs by 1 in each of three seeds, case b by 4 in the one that both have."""
    small = [row(SMALL, seed, 0.0, case) for case in "ab" for seed in range(3)]
    large = [row(LARGE, seed, 1.0, "a") for seed in range(3)] + [row(LARGE, 2, 4.0, "b")]
    entry = of(Results(SPECIFIED, [*small, *large]).entries, LARGE)
    assert (entry.n, entry.cells, entry.pairs, entry.difference) == (2, 4, 2, 2.5)
    assert entry.difference_se == pytest.approx(1.5)


def test_many_values_have_the_interval_of_the_bootstrap() -> None:
    values = [0, 0, 0, 0, 0, 0, 0, 1, 2, 9]
    rows = [row(SMALL, seed, value) for seed, value in enumerate(values)]
    entry = of(Results(SPECIFIED, rows).entries, SMALL)
    assert (entry.n, entry.method) == (10, "BCa")
    assert (entry.low or 0) >= 0
    few = of(Results(SPECIFIED, rows[1:]).entries, SMALL)
    assert (few.n, few.method) == (9, "t")
    assert (few.low or 0) < 0
    assert "Intervals of 10 values or more are bootstrapped" in page_of(
        Suite("mine", SPECIFIED), 10, Results(SPECIFIED, rows)
    )


def test_the_median_is_over_all_runs_and_not_over_the_cells_means() -> None:
    """By hand: runs 1, 1, 10, 2, 2, 3 have the median 2; their cells' means 4 and 7/3 have 3.17."""
    rows = [row(SMALL, 0, 4.0, each={"hd": (1, 1, 10)}), row(SMALL, 1, 7 / 3, each={"hd": (2, 2, 3)})]
    entry = of(Results(SPECIFIED, rows).entries, SMALL)
    assert (entry.n, entry.cells, entry.runs, entry.median) == (2, 2, 6, 2)
    alone = of(Results(SPECIFIED, ROWS).entries, SMALL)
    assert (alone.runs, alone.median) == (3, 2)


def test_repeats_by_hand() -> None:
    """Means over cases a and b: 2, 3 and 7. Case c lacks a repeat and is in none of them."""
    table = {"a": (1.0, 2.0, 6.0), "b": (3.0, 4.0, 8.0), "c": (90.0, 90.0)}
    rows = [row(SMALL, seed, value, case) for case, told in table.items() for seed, value in enumerate(told)]
    rows.append(row(SMALL, 2, None, "c", error="no server"))
    entry = of(Results(SPECIFIED, rows).entries, SMALL)
    assert (entry.n, entry.repeats, entry.repeat_cases, entry.repeat_mean) == (3, 3, 2, 4.0)
    assert entry.repeat_sd == pytest.approx(sqrt(7))
    half = 4.3027 * sqrt(7) / sqrt(3)
    assert (entry.repeat_low, entry.repeat_high) == pytest.approx((4 - half, 4 + half), abs=1e-3)
    text = page_of(Suite("mine", SPECIFIED), 3, Results(SPECIFIED, rows))
    assert "| 2 | sequential | 3 | 2 | 4.0 | 2.6 | -2.6 to 10.6 |" in text
    assert "repeat by repeat" not in page_of(Suite("mine", SPECIFIED), 3, Results(SPECIFIED, ROWS))


def test_a_share_of_single_runs_has_wilsons_interval() -> None:
    name = "usage.calls < 10"
    spec = measuring(name)
    values = (1, 1, 1, 1, 0)
    rows = [row(SMALL, seed, value, measure=name, shares=(name,)) for seed, value in enumerate(values)]
    entry = of(Results(spec, rows).entries, SMALL)
    assert (entry.n, entry.mean, entry.se, entry.method) == (5, 0.8, pytest.approx(sqrt(0.16 / 5)), "Wilson")
    assert (entry.low, entry.high) == pytest.approx((0.3755, 0.9638), abs=1e-4)
    all_of_them = of(Results(spec, rows[:4]).entries, SMALL)
    assert all_of_them.low == pytest.approx(4 / (4 + 1.96**2), abs=1e-3)
    text = page_of(Suite("mine", spec), 5, Results(spec, rows))
    assert "Intervals of shares are Wilson intervals" in text
    assert "| Median |" not in text


def test_what_is_unknown_is_counted_apart_from_what_failed() -> None:
    name = "usage.cost"
    rows = [row(SMALL, 0, 1.0, measure=name), row(SMALL, 1, None, unknown=(name,)), failed(SMALL, 2)]
    spec = measuring(name)
    entry = of(Results(spec, rows).entries, SMALL)
    assert (entry.n, entry.left_out, entry.unknown) == (1, 1, 1)
    text = page_of(Suite("mine", spec), 3, Results(spec, rows))
    assert "Unknown: 1 of 3 cells" in text
    assert "Failed: 1 of 3 cells" in text
    assert "| 2 | sequential | 1 | 1 | – | 1 | 1 | 1 |" in text
    assert "| Unknown |" not in page_of(Suite("mine", SPECIFIED), 3, Results(SPECIFIED, ROWS))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((0.2, -0.2, 0.1, -0.1), "0 lies inside the interval: no significant position bias"),
        ((0.5, 0.6, 0.4, 0.5), "0 lies outside the interval: the judge prefers ideas that it is shown early"),
        ((-0.5, -0.6, -0.4, -0.5), "0 lies outside the interval: the judge prefers ideas that it is shown late"),
        ((1.0, 1.0, 1.0), "the same everywhere (n = 3 seeds): the judge prefers ideas that it is shown early"),
        ((0.0, 0.0), "the same everywhere (n = 2 seeds): no significant position bias"),
        ((0.5,), "cannot be estimated from these cells"),
        ((), "cannot be estimated from these cells"),
    ],
)  # fmt: skip
def test_a_judges_favour_for_places_is_told_in_words(values: tuple[float, ...], told: str) -> None:
    name = "ranking.position_bias"
    spec = measuring(name)
    rows = [row(SMALL, seed, value, measure=name) for seed, value in enumerate(values)]
    assert told in page_of(Suite("mine", spec), 4, Results(spec, rows))


def test_a_favour_is_pooled_over_conditions_that_have_their_cases_in_common() -> None:
    name = "ranking.position_bias"
    rows = [
        row(condition, seed, value, case, measure=name)
        for condition in (SMALL, LARGE)
        for case, value in (("a", 0.1), ("b", 0.3))
        for seed in range(4)
    ]
    found = Results(measuring(name), rows).pooled(name)
    assert found is not None
    assert (found.n, found.mean, found.se) == (2, pytest.approx(0.2), pytest.approx(0.1))


def test_warnings_of_cells_are_told() -> None:
    warned = row(SMALL, 0, 1.0).model_copy(update={"warnings": ("openalex could not be asked",)})
    text = page_of(Suite("mine", SPECIFIED), 3, Results(SPECIFIED, [warned, *ROWS[1:]]))
    assert "Warnings: 1 of 6 cells These cells are in the numbers above." in text
    assert "openalex could not be asked (" in text
    again = [
        each.model_copy(update={"cell": f"c{n}", "warnings": ("no *answer*",)}) for n, each in enumerate(ROWS)
    ]
    text = page_of(Suite("mine", SPECIFIED), 3, Results(SPECIFIED, again))
    assert "no *answer* (c0, c1, c2 and 3 more)" in text
    assert "Warnings" not in page_of(Suite("mine", SPECIFIED), 3, Results(SPECIFIED, ROWS))


def test_the_table_has_a_column_for_each_axis() -> None:
    table = list(csv.DictReader(summary_table(Results(SPECIFIED, ROWS)).splitlines()))
    assert [(line["team.size"], line["topology"], line["n"]) for line in table] == [
        ("2", "sequential", "3"), ("2", "random", "0"), ("3", "sequential", "0"), ("3", "random", "2"),
    ]  # fmt: skip
    assert (table[3]["mean"], table[3]["se"], table[1]["mean"]) == ("3.0", "1.0", "")


def test_the_report_names_what_failed_and_takes_no_markup_from_it() -> None:
    rows = [*ROWS, failed(SMALL, 3, "the model said <script>|</script>\n# *so*")]
    text = page_of(Suite("mine", SPECIFIED), 3, Results(SPECIFIED, rows))
    assert "Failed 2 Conditions" in text
    assert "Failed: 2 of 7 cells" in text
    assert "the model said <script> | </script> # *so*" in text
    assert "| 3 | random | 2 | 3.0 ± 1.0 | -9.7 to 15.7 | 3.0 | 1.5 ± 0.5 | -4.9 to 7.9 | 2 | 1 |" in text
    assert "n and pairs count cells" in text
    assert "Intervals of fewer than 10 values are Student’s t" in text
    assert "BCa" not in text


@pytest.mark.parametrize(
    ("mean", "se", "text"),
    [
        (None, None, "–"), (0.83127, None, "0.831"), (0.458, 0.087, "0.46 ± 0.09"), (48, 0, "48 ± 0"), (1.12345, 0.1789, "1.12 ± 0.18"),
        (46.6667, 3.333, "46.7 ± 3.3"), (187_972.4, 1234.5, "187972 ± 1234"), (0.00012, 0.0000123, "0.000120 ± 0.000012"),
        (187_972.4, None, "187972"), (187_972.0, 0, "187972 ± 0"), (0.5, 1e-17, "0.5 ± 1e-17"),
    ],
)  # fmt: skip
def test_a_mean_has_the_digits_that_its_error_leaves(mean: float | None, se: float | None, text: str) -> None:
    assert with_error(mean, se) == text


@pytest.mark.parametrize(
    "kind", ["heatmap", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("lines", "bars"))]
)
def test_pictures_are_drawn_with_gaps_where_there_is_nothing(kind: str, tmp_path: Path) -> None:
    plot = {**SPECIFIED.model_dump()["plot"], "kind": kind}
    spec = SuiteSpec.model_validate({**SPECIFIED.model_dump(), "plot": plot})
    png, svg = draw_suite(Results(spec, ROWS), tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert png.stat().st_size > 5_000
    drawn = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg.read_text("utf-8")))
    for word in ("HD, historical dissimilarity", "team.size", "random", "n = 0 to 3 cells"):
        assert word in drawn, word
    again = tmp_path / "again"
    again.mkdir()
    draw_suite(Results(spec, ROWS), again)
    assert (again / "plot.svg").read_bytes() == svg.read_bytes()


def clouds(*pairs: tuple[float, float]) -> Results:
    """A scatter plot's results, with ON and HD of each cell, and a cell that lacks one."""
    plot = {"kind": "scatter", "x": "on", "value": "hd"}
    spec = SuiteSpec.model_validate({**SPECIFIED.model_dump(), "measures": ["on", "hd"], "plot": plot})
    rows = [row(SMALL, seed, hd) for seed, (_, hd) in enumerate(pairs)]
    both = [
        each.model_copy(update={"values": {**each.values, "on": on}})
        for each, (on, _) in zip(rows, pairs, strict=True)
    ]
    return Results(spec, [*both, row(LARGE, 0, 9.0)])


def test_the_correlation_of_two_measures_is_over_cells_that_have_both() -> None:
    text = correlation(clouds((1, 2), (2, 1), (3, 4), (4, 3), (5, 5)), "on", "hd")
    # by hand: r = 8 / 10; Fisher: tanh(atanh(0.8) ± 1.96 / √2)
    assert all(part in text for part in ("ON and HD", "r = 0.80", "−0.28 to 0.99", "n = 5")), text
    for few in (clouds((1, 2), (2, 1), (3, 4)), clouds(*[(1, each) for each in range(5)])):
        assert "r =" not in correlation(few, "on", "hd")


@pytest.mark.slow
def test_a_scatter_plot_has_its_axes_and_its_correlation(tmp_path: Path) -> None:
    results = clouds((1, 2), (2, 1), (3, 4), (4, 3), (5, 5))
    _, svg = draw_suite(results, tmp_path)
    drawn = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg.read_text("utf-8")))
    for word in ("ON, overall novelty", "HD, historical dissimilarity", "r = 0.80"):
        assert word in drawn, word
    assert "r = 0.80" in page_of(Suite("mine", results.spec), 3, results)


@pytest.mark.slow
def test_title_and_caption_of_a_narrow_picture_stay_inside_it(tmp_path: Path) -> None:
    titled = SPECIFIED.model_copy(update={"title": "How far do small teams come with few turns? " * 2})
    rows = [each.model_copy(update={"by_language_model": False}) for each in ROWS]
    _, svg = draw_suite(Results(titled, rows), tmp_path)
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", svg.read_text("utf-8"))
    assert any("no language model" in line for line in drawn)
    assert max(map(len, drawn)) <= 65


def test_without_matplotlib_the_report_says_what_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (tmp_path / "plot.png").write_bytes(b"of earlier numbers")
    assert draw_suite(Results(SPECIFIED, ROWS), tmp_path) == []
    assert not list(tmp_path.iterdir())
    text = page_of(Suite("mine", SPECIFIED), 3, Results(SPECIFIED, ROWS))
    assert "No picture: drawing needs matplotlib" in text
    assert "the extra plots" in text


def test_the_caption_says_what_is_left_out_and_who_wrote() -> None:
    plot = SPECIFIED.plot
    assert plot
    left_out = "n = 0 to 3 cells; cells left out of a condition: up to 1"
    assert caption_of(plot, Results(SPECIFIED, ROWS)).endswith(left_out)
    alone = SPECIFIED.model_copy(update={"grid": {axis: (value,) for axis, value in SMALL.items()}})
    assert "n = 1 cell;" in f"{caption_of(plot, Results(alone, ROWS[:1]))};"
    offline = [each.model_copy(update={"by_language_model": False}) for each in ROWS]
    bars = plot.model_copy(update={"kind": "bars"})
    assert caption_of(bars, Results(SPECIFIED, offline)).endswith("no language model")


def test_the_summary_passes_on_nothing_that_a_program_would_obey() -> None:
    spec = measuring(
        "hd", title="Owls\x1b[2J\u202e", grid={"topic": ["=1+1", "Owls"], "temperature": [-1, 1]}
    )
    condition = {"topic": "=1+1", "temperature": -1}
    rows = [row(condition, 0, 1.0), failed(condition, 1, "no\x1b]0;OWNED\x07")]
    results = Results(spec, rows)
    lines = list(csv.DictReader(summary_table(results).splitlines()))
    assert {(line["topic"], line["temperature"]) for line in lines} >= {("'=1+1", "-1"), ("Owls", "1")}


def test_the_answer_claims_no_more_than_its_intervals() -> None:
    def told(*rows: CellRow) -> str:
        return answer(Results(SPECIFIED, rows), "hd")

    some = (*ROWS[:3], row(LARGE, 0, 2.5), row(LARGE, 1, 4.5))
    assert "Highest with team.size=3, topology=random: 3.5" in told(*some)
    assert (
        "no significant difference from team.size=2, topology=sequential (the 95% interval includes 0)"
        in told(*some)
    )
    alike = [row(each, seed, 1.0) for each in (SMALL, LARGE) for seed in range(2)]
    assert "is 1 in all 2 conditions" in told(*alike)
    apart = [row(SMALL, seed, 0.1 * seed) for seed in range(3)] + [
        row(LARGE, seed, 9 + 0.11 * seed) for seed in range(3)
    ]
    assert "1 significant difference from team.size=2, topology=sequential, of 1" in told(*apart)
    assert "no difference can be claimed" in told(row(SMALL, 0, 1.0), row(LARGE, 0, 2.0))
    assert "nothing could be measured" in told(failed(SMALL, 0))


def test_the_page_holds_answer_picture_and_what_failed(tmp_path: Path) -> None:
    results = Results(SPECIFIED, [*ROWS, failed(SMALL, 3, "<b>no server</b>")])
    picture = tmp_path / "plot.svg"
    picture.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    path = write_suite_page(tmp_path, Suite("mine", SPECIFIED), results, [], [picture], repeats=3)
    html = path.read_text("utf-8")
    assert answer(results, "hd") in html
    assert "data:image/svg+xml;base64," in html
    assert "&lt;b&gt;no server" in html
    assert 'href="#picture"' in html
