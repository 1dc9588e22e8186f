"""The results of a suite: means and differences, tables, problems and the plot."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import inf
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from manyheads.base.text import ABSENT, NOTHING, count, csv_text, decimals_of, rounded
from manyheads.measures import BY_FIELD
from manyheads.measures.agreement import pearson
from manyheads.measures.statistics import (
    Ends,
    Mean,
    Method,
    group_means,
    mean_difference,
    mean_of,
    student_interval,
)
from manyheads.report.plots import COLUMNS, LABELS, Panel, PlotPoint, can_draw, draw
from manyheads.suites.cells import RIVALS, CellRow
from manyheads.suites.replies import FIGURES, ReplyCount
from manyheads.suites.spec import (
    REPLIES,
    VARIANT,
    Condition,
    PlotConfig,
    Published,
    Suite,
    SuiteSpec,
    as_texts,
    judges,
)
from manyheads.systems import systems
from manyheads.team.system import Number

# The results of a suite: for each condition and measure n, mean ± standard error, and intervals.


Place: TypeAlias = tuple[str, int]
"""Case and seed."""
Values: TypeAlias = dict[Place, float]
USAGE = ("usage.calls", "usage.input_tokens", "usage.output_tokens", "usage.cost")
MEANS = tuple(f"{REPLIES}.{name}" for name in ("characters", "tokens"))
COMMON = {
    **{f"{REPLIES}.{name}": Number("", (0.0, 1.0)) for name in FIGURES},
    **dict.fromkeys((*USAGE, *MEANS), Number("", (0.0, inf))),
    "inference_cost": Number("replies asked for", (0.0, inf)),
}
"""Measures of any run."""


def numbers() -> dict[str, Number]:
    """Titles and bounds of measures and settings by name."""
    return COMMON | {name: each for system in systems().values() for name, each in system.numbers.items()}


def title_of(name: str) -> str:
    """The title of a measure or an axis in pictures and reports."""
    number = numbers().get(name)
    return f"{number.title} ({name})" if number and number.title else LABELS.get(name, name)


class SummaryEntry(BaseModel):
    """A condition's mean of a measure, and its difference from the reference condition.

    Cells that failed, lack the measure, or have it unknown are left out and counted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    condition: dict[str, Any]
    measure: str
    n: int
    """Values in the mean: cells, or means of cases if there are several cases, or of their groups."""
    cells: int
    """Cells that have the measure."""
    left_out: int
    """Cells that failed or lack the measure."""
    unknown: int = 0
    """Cells whose result has null, such as a cost without prices."""
    partial: int = 0
    """Cells in the mean whose value is over a part of their runs or citation counts."""
    mean: float | None = None
    se: float | None = None
    """Standard error of the mean."""
    low: float | None = None
    high: float | None = None
    """Interval of the mean."""
    level: float
    """Confidence level of all intervals."""
    method: Method | None = None
    """Method of the interval: Student's t for few values, the bootstrap (BCa) for many, Wilson for a share."""
    why: str | None = None
    """Why there is no interval."""
    runs: int = 0
    """Runs with the measure; equals `cells` unless a cell has several runs."""
    median: float | None = None
    """Over all these runs."""
    repeats: int = 0
    """Repeats in the following means over cases; 0 if fewer than two."""
    repeat_cases: int = 0
    """Cases that have the measure in every repeat; the means leave the others out."""
    repeat_mean: float | None = None
    repeat_sd: float | None = None
    repeat_low: float | None = None
    repeat_high: float | None = None
    """Student's t interval over the repeats (Review and Rebuttal, Table 5): how much the mean over the same cases varies between
    repeats. It does not cover other cases."""
    against: dict[str, Any] | None = None
    """The reference condition; null for itself."""
    pairs: int = 0
    """Pairs of values with the same case and seed, or of cases if there are several."""
    difference: float | None = None
    """Mean of this condition's values minus the reference's, pair by pair."""
    difference_se: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    difference_method: Method | None = None


@dataclass(frozen=True)
class Results:
    """The rows of a suite's cells, and their summary."""

    spec: SuiteSpec
    rows: Sequence[CellRow]
    replies: Sequence[tuple[Condition, Mapping[str, ReplyCount]]] = ()
    """By condition and `role.task`."""
    published: Sequence[Published] = ()
    """What publications print; never part of a mean."""
    groups: Mapping[str, str] = field(default_factory=dict[str, str])
    """What cases are of: those of one group are alike, and count as one."""

    def beside(self, entry: SummaryEntry) -> list[Published]:
        """What publications print for a condition and a measure."""
        own = as_texts(entry.condition)
        return [each for each in self.published if each.condition == own and each.measure == entry.measure]

    @cached_property
    def entries(self) -> list[SummaryEntry]:
        """One for each condition and measure, in the suite's order."""
        return [self._entry(*both) for both in product(self.spec.conditions(), self.spec.measures)]

    @cached_property
    def unit(self) -> Literal["cases", "groups", "cells"]:
        """The unit that n counts."""
        if len({row.case for row in self.rows}) < 2:
            return "cells"
        return "groups" if self.groups else "cases"

    @cached_property
    def shares(self) -> set[str]:
        """Yes-or-no measures, whose means are shares."""
        return {measure for row in self.rows for measure in row.shares}

    @property
    def offline(self) -> bool:
        """Whether only the offline model wrote in the cells."""
        return any(row.by_language_model is False for row in self.rows)

    @property
    def failed(self) -> list[CellRow]:
        """The cells without a result."""
        return [row for row in self.rows if row.error is not None]

    @property
    def lacking(self) -> list[CellRow]:
        """Cells with a result that lacks a measure; null counts as present."""
        return [row for row in self.rows if row.missing]

    def decimals(self, measure: str) -> int | None:
        """Of all figures of a measure, as the largest of their errors leaves them."""
        own = [each for each in self.entries if each.measure == measure]
        return decimals_of(*(each.se for each in own), *(each.difference_se for each in own))

    def pooled(self, measure: str) -> Mean | None:
        """The mean of a measure over all cells of all conditions; None where no cell has it.

        Conditions have cases and seeds in common, so that n counts cases, or seeds where there is one case.
        """
        values = {(row.seed if self.unit == "cells" else self.groups.get(row.case, row.case), row.cell): row.values[measure]
                  for row in self.rows if measure in row.values}  # fmt: skip
        return self._mean(group_means(values, lambda place: place[0]), measure)

    def sign(self, measure: str) -> str:
        """What a value above or below 0 means, over all conditions, or what ON follows; empty for most measures."""
        if measure == "on":
            return f"{BY_FIELD}."
        number = numbers().get(measure)
        if not number or not number.signs:
            return ""
        mean, (above, below, neither) = self.pooled(measure), number.signs
        if mean is None or mean.se is None:
            return f"Over all conditions the {number.title} cannot be estimated from these cells."
        over = f"Over all conditions the {number.title} is {with_error(mean.mean, mean.se)}"
        n = f"n = {mean.n} {'seeds' if self.unit == 'cells' else self.unit}"
        sign = above if mean.mean > 0 else below
        if mean.low is None or mean.high is None:
            return f"{over}, the same everywhere ({n}): {sign if mean.mean else neither}."
        inside = mean.low <= 0 <= mean.high
        place = f"0 lies inside the interval: {neither}" if inside else f"0 lies outside the interval: {sign}"
        return f"{over} ({mean.level:.0%} interval {ends(mean.low, mean.high, decimals_of(mean.se))}, {n}). {place}."

    @property
    def methods(self) -> set[Method | None]:
        return {method for each in self.entries for method in (each.method, each.difference_method)}

    def _mean(self, values: Iterable[float], measure: str) -> Mean | None:
        share, within = measure in self.shares, self._ends(measure)
        return mean_of(list(values), level=self.spec.level, share=share, within=within)

    def _ends(self, measure: str) -> Ends | None:
        number = numbers().get(measure)
        return (0.0, 1.0) if measure in self.shares else number and number.ends

    def _independent(self, values: Values) -> list[float]:
        """The mean of each case if there are several: runs of one case, or of one group, are not independent."""
        if self.unit == "cells":
            return list(values.values())
        return group_means(values, lambda place: self.groups.get(place[0], place[0]))

    def _entry(self, condition: Condition, measure: str) -> SummaryEntry:
        level, within, other = self.spec.level, self._ends(measure), self.spec.counterpart(condition)
        here, there = ([row for row in self.rows if row.condition == one] for one in (condition, other))
        values, theirs = ({(row.case, row.seed): row.values[measure] for row in rows if measure in row.values}
                          for rows in (here, there))  # fmt: skip
        unknown = sum(measure in row.unknown for row in here)
        entry: dict[str, Any] = {"condition": condition, "measure": measure, "level": level, "n": 0}
        out = sum(
            row.error is not None or measure in row.missing for row in here if measure not in row.values
        )
        entry |= {"cells": len(values), "left_out": out, "unknown": unknown}
        entry["partial"] = sum(measure in row.partial for row in here)
        if mean := self._mean(self._independent(values), measure):
            parts = ("n", "mean", "se", "low", "high", "method", "why")
            entry |= {name: getattr(mean, name) for name in parts}
            # The median over all runs differs from that of the cells' means.
            each = [one for row in here if measure in row.values
                    for one in row.each.get(measure, (row.values[measure],))]  # fmt: skip
            entry |= {"runs": len(each), "median": median(each)}
            entry |= _repeats_of(values, {row.seed for row in here}, level, within)
        if other != condition:
            entry["against"], both = other, [place for place in values if place in theirs]
            pairs = (self._independent({place: each[place] for place in both}) for each in (values, theirs))
            if difference := mean_difference(*pairs, level=level, within=within):
                entry |= {"pairs": difference.n, "difference": difference.mean}
                for name in ("se", "low", "high", "method"):
                    entry[f"difference_{name}"] = getattr(difference, name)
        return SummaryEntry(**entry)


def summary_table(results: Results) -> str:
    """The entries as CSV: one column per axis, then the fields of `SummaryEntry`."""

    def cell(value: Any) -> object:
        written = isinstance(value, str | int | float) and not isinstance(value, bool)
        return value if written else json.dumps(value, ensure_ascii=False)

    axes = results.spec.axes
    columns = [name for name in SummaryEntry.model_fields if name not in ("condition", "against")]
    table: list[list[object]] = [[*axes, *columns, "against"]]
    for entry in results.entries:
        data = entry.model_dump(mode="json")
        values = ["" if (value := entry.condition[axis]) is None else cell(value) for axis in axes]
        against = "" if entry.against is None else cell(entry.against)
        table.append([*values, *(data[name] for name in columns), against])
    return csv_text(table)


def _repeats_of(values: Values, seeds: Collection[int], level: float, within: Ends | None) -> dict[str, Any]:
    """Each repeat's mean is over the same cases, so that repeats stay comparable."""
    cases = {case for case, _ in values}
    whole = sorted(case for case in cases if all((case, seed) in values for seed in seeds))
    if not whole or len(seeds) < 2:
        return {}
    means = [fmean(values[case, seed] for case in whole) for seed in sorted(seeds)]
    mean, sd, count = fmean(means), stdev(means), len(means)
    low, high = student_interval(mean, sd / count**0.5, count, level, within) if sd else (None, None)
    repeats = {"repeats": count, "repeat_cases": len(whole), "repeat_mean": mean, "repeat_sd": sd}
    return {**repeats, "repeat_low": low, "repeat_high": high}


OFFLINE_NOTE = (
    "Written by the offline model, which is no language model: the numbers only show how a suite works"
)
ROUNDING = 1e-9
"""Relative tolerance for floating-point error in means."""


def small_sample(suite: Suite, repeats: int) -> str:
    """What is said of a suite that is smaller than the publication; empty for others."""
    larger = suite.spec.paper
    if larger and (larger.cases or 0) > len(suite.cases):
        return f"{count(len(suite.cases), 'case')}, the paper has {larger.cases}: --cases takes yours."
    if larger is None or (suite.preset == "paper" and repeats >= suite.spec.repeats):
        return ""
    most = larger.repeats or suite.spec.repeats
    size = f"{count(repeats, 'repeat')}, the paper has {most}" if repeats < most else "the paper's is larger"
    return f"{size}: --preset paper runs it at the paper's size."


def verdicts(results: Results) -> list[str]:
    """Whether each variant's texts win more than half of the blind comparisons with its rival's, and at what price; a line each."""
    spec, told = results.spec, list[str]()
    compared = {name for name, judge in judges().items() if RIVALS in judge.slots}
    wins = next((each.name for each in spec.measure_paths if each.of in compared), "")
    for variant, rival in spec.rivals.items() if wins else ():
        own, their = (
            {each.measure: each for each in results.entries if each.condition.get(VARIANT) == name}
            for name in (variant, rival)
        )
        won, digits = own.get(wins), results.decimals(wins)
        if won is None or won.mean is None:
            told.append(f"{variant} against {rival}: nothing could be compared.")
            continue
        sure = won.low is not None and won.high is not None
        better, worse = sure and (won.low or 0) > 0.5, sure and (won.high or 0) < 0.5
        verdict = "better" if better else "worse" if worse else "can't be told"
        interval = f" ({won.level:.0%} interval {ends(won.low, won.high, digits)})" if sure else ""
        told.append(
            f"{variant} against {rival}: {verdict}. It wins {rounded(won.mean, digits)} of the comparisons{interval}, "
            f"n = {count(won.n, results.unit[:-1])}, {_price(own, their)}."
        )
    return told


def _price(own: Mapping[str, SummaryEntry], their: Mapping[str, SummaryEntry]) -> str:
    """The tokens of a run beside those of its rival, and its cost if that is known."""
    names = [name for name in ("usage.input_tokens", "usage.output_tokens") if name in own]
    spent, other = (sum(each[name].mean or 0 for name in names) for each in (own, their))
    times = f", {spent / other:.2g} times its rival's" if other else ""
    cost = own["usage.cost"].mean if "usage.cost" in own else None
    return f"for {spent:,.0f} tokens a run{times}{f', {rounded(cost)} in money' if cost else ''}"


def troubles(results: Results) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Problems of cells, by kind: a title, their effect on the numbers, and texts with their cells."""
    rows, replies = results.rows, " except those of replies" * bool(results.replies)
    unknown = "These runs did not fail; the value is not known, such as a cost without prices."
    return [
        ("Failed", f"Not in the numbers above{replies}.", [(row.error, row.cell) for row in rows if row.error]),
        ("Not measured", "",
         [(f"no {name}: {why}", row.cell) for row in rows for name, why in row.missing.items()]),
        ("Unknown", unknown, [(name, row.cell) for row in rows for name in row.unknown]),
        ("Known in part", "These values are in the numbers above, as means over what is known.",
         [(f"{name}: {over}", row.cell) for row in rows for name, over in row.partial.items()]),
        ("Warnings", "These cells are in the numbers above.",
         [(warning, row.cell) for row in rows for warning in row.warnings]),
    ]  # fmt: skip


def share(number: int, part: float | None) -> str:
    """A count with its share of all."""
    return ABSENT if part is None else f"{number} ({part:.0%})"


def with_error(value: float | None, error: float | None, decimals: int | None = None) -> str:
    """A number ± its error, with the digits that this error leaves, or with these decimals."""
    if value is None or not error or max(abs(value), error) < NOTHING:
        return rounded(value, decimals) + ("" if error is None else " ± 0")
    places = decimals_of(error) if decimals is None else decimals
    if error < ROUNDING * abs(value):
        return f"{rounded(value, decimals)} ± {error:.0e}"
    least = f"{error:.1g}" if error < 0.5 * 10.0 ** -(places or 0) else rounded(error, places)
    return f"{rounded(value, places)} ± {least}"


def ends(low: float | None, high: float | None, decimals: int | None = None) -> str:
    return ABSENT if low is None or high is None else f"{rounded(low, decimals)} to {rounded(high, decimals)}"


def cells_by(told: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The cells of each text, both in order."""
    found: dict[str, list[str]] = {}
    for text, cell in told:
        found.setdefault(text, []).append(cell)
    return found


# The suite's plot.

FILES = ("plot.png", "plot.svg")


def draw_suite(
    results: Results, folder: Path, names: Sequence[str] = FILES, columns: int = COLUMNS
) -> list[Path]:
    """Draw the suite's plot into its folder, replacing an earlier one; no files without a plot or without matplotlib.

    A telephone has it in one column. Raises `JournalError` if the folder cannot be written.
    """
    files, spec = [folder / name for name in names], results.spec
    for earlier in files:
        earlier.unlink(missing_ok=True)
    if spec.plot is None or not can_draw():
        return []
    scatter = spec.plot.kind == "scatter"
    panels = list((_scatters if scatter else _panels)(spec.plot, results))
    draw(spec.plot.kind, panels, spec.title, caption_of(spec.plot, results), files, columns)
    return files


def _panels(plot: PlotConfig, results: Results) -> Iterator[Panel]:
    """A panel for each measure and each combination of axes that the plot does not name."""
    spec, entries = results.spec, results.entries
    rest = {axis: values for axis, values in spec.axes.items() if axis not in (plot.x, plot.y)}
    for measure, values in product(plot.value, product(*rest.values())):
        held = dict(zip(rest, values, strict=True))
        title = ", ".join([title_of(measure), *(f"{axis}={value}" for axis, value in held.items())])
        points = tuple(
            PlotPoint(
                str(entry.condition[plot.x]),
                str(entry.condition[plot.y]) if plot.y else "",
                *(entry.mean, entry.se, entry.low, entry.high),
                published=tuple(each.value for each in results.beside(entry)),
            )
            for entry in entries
            if entry.measure == measure and held.items() <= entry.condition.items()
        )
        yield Panel(measure, title, title_of(plot.x), title_of(plot.y) if plot.y else "", points)


def _scatters(plot: PlotConfig, results: Results) -> Iterator[Panel]:
    """A panel for each measure, with a point for each cell that has it and x."""
    for y in plot.value:
        both = [row.values for row in results.rows if {plot.x, y} <= row.values.keys()]
        points = tuple(PlotPoint(str(values[plot.x]), "", values[y]) for values in both)
        yield Panel(y, correlation(results, plot.x, y), title_of(plot.x), title_of(y), points)


def correlation(results: Results, x: str, y: str) -> str:
    """Pearson's r of two measures over all cells, with its interval."""
    pairs = [(row.values[x], row.values[y]) for row in results.rows if {x, y} <= row.values.keys()]
    found = pearson([one for one, _ in pairs], [other for _, other in pairs], results.spec.level)
    names = " and ".join(name.upper() if name in LABELS else name for name in (x, y))
    if found is None:
        return f"{names}: no correlation, as there are too few cells ({len(pairs)}), or all values are equal"
    within = f"({found.level:.0%} interval {found.low:.2f} to {found.high:.2f})"
    return f"{names}: Pearson r = {found.estimate:.2f} {within}, n = {found.n}".replace("-0.", "−0.")


def caption_of(plot: PlotConfig, results: Results) -> str:
    """The caption: intervals, n, cells left out, and the offline model."""
    entries = [entry for entry in results.entries if entry.measure in plot.value]
    counts, unit = sorted({entry.n for entry in entries}), results.unit
    n = f"{counts[0]} to {counts[-1]} {unit}" if counts[1:] else count(counts[0], unit[:-1])
    out, unknown = (max(getattr(entry, name) for entry in entries) for name in ("left_out", "unknown"))
    shown = "" if plot.kind == "heatmap" else f", {entries[0].level:.0%} interval thin or shaded"
    parts = [f"mean ± standard error{shown}, n = {n}" if plot.kind != "scatter" else "one point a cell"]
    parts += [f"cells left out of a condition: up to {out}"] if out else []
    parts += [f"cells of a condition whose value is unknown: up to {unknown}"] if unknown else []
    parts += ["hollow or in brackets: as published"] if any(map(results.beside, entries)) else []
    parts += ["offline model, which is no language model"] if results.offline else []
    return "; ".join(parts)
