"""A suite's report in Markdown: what was asked, what came of it, and what did not."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import floor, inf, log10
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from manyheads.engine.system import Number
from manyheads.escaping import csv_text, plain
from manyheads.measures.statistics import (
    FEW,
    Ends,
    Mean,
    Method,
    group_means,
    mean_difference,
    mean_of,
    student_interval,
)
from manyheads.report.plots import LABELS, WITHOUT, Panel, Point, can_draw, draw
from manyheads.report.record import count
from manyheads.suites.cells import CELLS, together
from manyheads.suites.measuring import Row
from manyheads.suites.spec import Condition, PlotConfig, Suite, SuiteSpec, judges, label_of
from manyheads.systems import systems

# What a suite comes to: for each condition and measure n, mean ± standard error, intervals, and what is left out.


Place: TypeAlias = tuple[str, int]
"""Case and seed."""
Values: TypeAlias = dict[Place, float]
USAGE = ("usage.calls", "usage.input_tokens", "usage.output_tokens", "usage.cost")
COMMON = {
    "inference_cost": Number("replies asked for", (0.0, inf)),
    **dict.fromkeys(USAGE, Number("", (0.0, inf))),
}
"""Measures of any run."""


def numbers() -> dict[str, Number]:
    """What is known of measures and settings by name."""
    return {
        **COMMON,
        **{name: each for system in systems().values() for name, each in system.numbers.items()},
    }


def title_of(name: str) -> str:
    """What pictures and reports call a measure or an axis."""
    number = numbers().get(name)
    return f"{number.title} ({name})" if number and number.title else LABELS.get(name, name)


class Entry(BaseModel):
    """A condition's mean of a measure, and how far it is from that of the condition it is compared with.

    Cells that failed or lack the measure are left out, as are those that hold it as unknown: they are counted here,
    each kind apart, and named in the report.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    condition: dict[str, Any]
    measure: str
    n: int
    """Values that the mean is over: cells, or cases where there are several, each the mean of its cells."""
    cells: int
    """Cells that have the measure."""
    left_out: int
    """Cells that failed, or whose result has no such thing."""
    unknown: int = 0
    """Cells whose result holds it as null, such as a cost without prices."""
    mean: float | None = None
    se: float | None = None
    """Standard error of the mean."""
    low: float | None = None
    high: float | None = None
    """Ends of the interval of the mean."""
    level: float
    """Of all intervals."""
    method: Method | None = None
    """Whose interval it is: Student's t of few values, the bootstrap's (BCa) of many, Wilson's of a share."""
    t_low: float | None = None
    t_high: float | None = None
    bca_low: float | None = None
    bca_high: float | None = None
    """The same by each of the first two, whichever it is."""
    why: str | None = None
    """Why there is no interval."""
    runs: int = 0
    """Runs that have the measure; as many as cells, unless a cell has several."""
    median: float | None = None
    """Of all these runs."""
    repeats: int = 0
    """Repeats whose means over cases stand behind the following; 0 where there are fewer than two."""
    repeat_cases: int = 0
    """Cases that have the measure in every repeat: the others are not in these means."""
    repeat_mean: float | None = None
    repeat_sd: float | None = None
    repeat_low: float | None = None
    repeat_high: float | None = None
    """Student's t interval over the repeats (Review and Rebuttal, Table 5): how far the mean over the very same cases
    would come out otherwise another time. It says nothing of other cases."""
    against: dict[str, Any] | None = None
    """The condition that this one is compared with; null for that one itself."""
    pairs: int = 0
    """Values that the difference is over: those of cases and seeds that both have, or of cases where there are several."""
    difference: float | None = None
    """Mean of this condition's values minus those of the other one, pair by pair."""
    difference_se: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    difference_method: Method | None = None


@dataclass(frozen=True)
class Results:
    """What the cells of a suite measured, and what that comes to."""

    spec: SuiteSpec
    rows: Sequence[Row]

    @cached_property
    def entries(self) -> list[Entry]:
        """One for each condition and measure, in the suite's order."""
        return [
            self._entry(condition, measure)
            for condition in self.spec.conditions()
            for measure in self.spec.measures
        ]

    @cached_property
    def unit(self) -> Literal["cases", "cells"]:
        """What n counts."""
        return "cases" if len({row.case for row in self.rows}) > 1 else "cells"

    @cached_property
    def shares(self) -> set[str]:
        """The measures that say of each run that it has something or has it not, so that their means are shares."""
        return {measure for row in self.rows for measure in row.shares}

    @property
    def offline(self) -> bool:
        """Whether the offline model wrote in any cell, and no language model."""
        return any(row.by_language_model is False for row in self.rows)

    @property
    def failed(self) -> list[Row]:
        """The cells without a result."""
        return [row for row in self.rows if row.error is not None]

    @property
    def lacking(self) -> list[Row]:
        """The cells with a result that does not hold all that is measured; what it holds as null is not meant."""
        return [row for row in self.rows if row.missing]

    def pooled(self, measure: str) -> Mean | None:
        """The mean of a measure over all cells of all conditions; None where no cell has it.

        Conditions have cases and seeds in common, so that n counts cases, or seeds where there is one case.
        """
        values = {(row.case if self.unit == "cases" else row.seed, row.cell): row.values[measure]
                  for row in self.rows if measure in row.values}  # fmt: skip
        return self._mean(group_means(values, lambda place: place[0]), measure)

    def _mean(self, values: Iterable[float], measure: str) -> Mean | None:
        share, within = measure in self.shares, self._ends(measure)
        return mean_of(list(values), level=self.spec.level, share=share, within=within)

    def _ends(self, measure: str) -> Ends | None:
        number = numbers().get(measure)
        return (0.0, 1.0) if measure in self.shares else number and number.ends

    def _independent(self, values: Values) -> list[float]:
        """Where there are several cases, the mean of each: the runs of one case are not independent."""
        return group_means(values, lambda place: place[0]) if self.unit == "cases" else list(values.values())

    def _entry(self, condition: Condition, measure: str) -> Entry:
        level, within, other = self.spec.level, self._ends(measure), self.spec.counterpart(condition)
        here, there = ([row for row in self.rows if row.condition == one] for one in (condition, other))
        values, theirs = ({(row.case, row.seed): row.values[measure] for row in rows if measure in row.values}
                          for rows in (here, there))  # fmt: skip
        unknown = sum(measure in row.unknown for row in here)
        entry: dict[str, Any] = {"condition": condition, "measure": measure, "level": level, "n": 0}
        entry |= {"cells": len(values), "left_out": len(here) - len(values) - unknown, "unknown": unknown}
        if mean := self._mean(self._independent(values), measure):
            entry |= {
                name: getattr(mean, name) for name in ("n", "mean", "se", "low", "high", "method", "why")
            }
            entry["t_low"], entry["t_high"] = mean.t or (None, None)
            entry["bca_low"], entry["bca_high"] = mean.bca or (None, None)
            # Over all runs: of the means of cells there is another median.
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
        return Entry(**entry)


def summary_table(results: Results) -> str:
    """The entries as CSV: a column for each axis, then those of an entry."""

    def cell(value: Any) -> object:
        written = isinstance(value, str | int | float) and not isinstance(value, bool)
        return value if written else json.dumps(value, ensure_ascii=False)

    axes = results.spec.axes
    columns = [name for name in Entry.model_fields if name not in ("condition", "against")]
    table: list[list[object]] = [[*axes, *columns, "against"]]
    for entry in results.entries:
        data = entry.model_dump(mode="json")
        values = ["" if (value := entry.condition[axis]) is None else cell(value) for axis in axes]
        against = "" if entry.against is None else cell(entry.against)
        table.append([*values, *(data[name] for name in columns), against])
    return csv_text(table)


def _repeats_of(values: Values, seeds: Collection[int], level: float, within: Ends | None) -> dict[str, Any]:
    """Each repeat's mean is over the same cases, or repeats would differ for the cases that they lack."""
    cases = {case for case, _ in values}
    whole = sorted(case for case in cases if all((case, seed) in values for seed in seeds))
    if not whole or len(seeds) < 2:
        return {}
    means = [fmean(values[case, seed] for case in whole) for seed in sorted(seeds)]
    mean, sd, count = fmean(means), stdev(means), len(means)
    low, high = student_interval(mean, sd / count**0.5, count, level, within) if sd else (None, None)
    repeats = {"repeats": count, "repeat_cases": len(whole), "repeat_mean": mean, "repeat_sd": sd}
    return {**repeats, "repeat_low": low, "repeat_high": high}


Column: TypeAlias = tuple[str, Callable[[Entry], object]]
"""The head of a table, and what stands below it of an entry."""
ABSENT = "–"
OFFLINE_NOTE = (
    "Written by the offline model, which is no language model: the numbers show how a suite goes, no more"
)
NAMED = 3
"""Cells that are named where several have the same trouble."""
ROUNDING = 1e-9
"""Part of a mean, below which an error comes of how numbers are added up."""
NOTHING = 1e-14
"""What is left of numbers that add up to 0."""
SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#$~])")


def report_text(
    suite: Suite,
    repeats: int,
    results: Results,
    pictures: Sequence[Path],
    accepted: Sequence[str] = (),
    made: Sequence[str] = (),
) -> str:
    """The report. What models and errors said is escaped: it is text, never markup.

    Args:
        accepted: changes since the suite was begun.
        made: what its cells were made with, a line each.
    """
    spec = suite.spec
    parts = [*_head(suite, repeats, results, made)]
    if accepted:
        parts += [
            "**Changes that were accepted: what was finished before them is in the numbers below all the same.**",
            "\n".join(f"- {unmarked(change)}" for change in accepted),
        ]
    if pictures:
        parts.append(f"![{unmarked(spec.title)}]({pictures[0].name})")
    elif spec.plot:
        parts.append(f"Nothing is drawn: {WITHOUT}.")
    for measure in spec.measures:
        own = [entry for entry in results.entries if entry.measure == measure]
        parts += [f"## {unmarked(title_of(measure))}", _means(results, own)]
        parts += [*_repeats(results, own), *_sign(measure, results)]
    return "\n\n".join([*parts, *_trouble(results.rows), *_reading(results)]) + "\n"


def figure(value: float | None) -> str:
    """A number with four digits that count, and all of those before its point."""
    if value is None:
        return ABSENT
    if abs(value) < NOTHING:
        return "0"
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def with_error(value: float | None, error: float | None) -> str:
    """A number ± its error; two digits of the error count, and the number has no more decimals than that."""
    if value is None or not error or max(abs(value), error) < NOTHING:
        return figure(value) + ("" if error is None else " ± 0")
    if error < ROUNDING * abs(value):
        return f"{figure(value)} ± {error:.0e}"
    decimals = max(0, 1 - floor(log10(error)))
    return f"{value:z.{decimals}f} ± {error:.{decimals}f}"


def unmarked(text: object) -> str:
    """A text in one line, without any markup in it."""
    return SPECIAL.sub(r"\\\1", plain(text))


def _head(suite: Suite, repeats: int, results: Results, made: Sequence[str]) -> Iterator[str]:
    spec = suite.spec
    yield f"# {unmarked(spec.title)}"
    if spec.description:
        yield unmarked(spec.description)
    if results.offline:
        yield f"**{OFFLINE_NOTE}.**"
    parts = [count(len(list(spec.conditions())), "condition")]
    parts += [count(len(suite.cases), "case")] if len(suite.cases) > 1 else []
    parts += [count(repeats, "repeat")] + ([f"{spec.ideas} runs each"] if spec.ideas > 1 else [])
    yield "\n".join([
        f"- Suite: {unmarked(suite.name)}, version {spec.version}",
        f"- Sources: {'; '.join(map(unmarked, spec.sources))}",
        f"- Cells: {len(results.rows)} ({', '.join(parts)}); failed: {len(results.failed)}",
        *(f"- {unmarked(line)}" for line in made),
    ])  # fmt: skip


def _means(results: Results, entries: Sequence[Entry]) -> str:
    interval = f"{results.spec.level:.0%} interval"
    columns: list[Column] = [
        ("n", lambda each: each.n),
        ("mean ± SE", lambda each: with_error(each.mean, each.se)),
        (interval, lambda each: _ends(each.low, each.high)),
        ("median", lambda each: figure(each.median)),
        ("difference ± SE", lambda each: with_error(each.difference, each.difference_se)),
        (interval, lambda each: _ends(each.difference_low, each.difference_high)),
        ("pairs", lambda each: each.pairs or ABSENT),
        ("left out", lambda each: each.left_out),
        ("unknown", lambda each: each.unknown),
    ]
    optional = {
        "median": entries[0].measure not in results.shares,
        "unknown": any(entry.unknown for entry in entries),
    }
    return _table(results.spec, entries, [column for column in columns if optional.get(column[0], True)])


def _table(spec: SuiteSpec, entries: Sequence[Entry], columns: Sequence[Column]) -> str:
    """A line each condition: the values of its axes, then these columns."""
    head = [*spec.axes, *(name for name, _ in columns)]
    lines = (
        [*(entry.condition[axis] for axis in spec.axes), *(told(entry) for _, told in columns)]
        for entry in entries
    )
    told = [head, ["---"] * len(head), *(map(unmarked, line) for line in lines)]
    return "\n".join(f"| {' | '.join(line)} |" for line in told)


def _ends(low: float | None, high: float | None) -> str:
    return ABSENT if low is None or high is None else f"{figure(low)} to {figure(high)}"


def _repeats(results: Results, entries: Sequence[Entry]) -> Iterator[str]:
    """Where there is one case, repeats are what n counts, and the table above tells it all."""
    if results.unit == "cells" or not any(entry.repeats for entry in entries):
        return
    if not any(entry.repeat_sd for entry in entries):
        yield "Every repeat had the same mean over cases."
        return
    yield "The mean over cases, repeat by repeat:"
    columns: list[Column] = [
        ("repeats", lambda each: each.repeats or ABSENT),
        ("cases in all of them", lambda each: each.repeat_cases or ABSENT),
        ("mean", lambda each: figure(each.repeat_mean)),
        ("SD", lambda each: figure(each.repeat_sd)),
        (f"{results.spec.level:.0%} interval (t)", lambda each: _ends(each.repeat_low, each.repeat_high)),
    ]
    yield _table(results.spec, entries, columns)


def _sign(measure: str, results: Results) -> Iterator[str]:
    """What it means that a measure lies above or below 0, over all conditions."""
    number = numbers().get(measure)
    if not number or not number.signs:
        return
    mean, (above, below, neither) = results.pooled(measure), number.signs
    if mean is None or mean.se is None:
        yield f"Over all conditions the {number.title} cannot be told from these cells."
        return
    over = f"Over all conditions the {number.title} is {with_error(mean.mean, mean.se)}"
    n = f"n = {mean.n} {'cases' if results.unit == 'cases' else 'seeds'}"
    sign = above if mean.mean > 0 else below
    if mean.low is None or mean.high is None:
        yield f"{over}, the same everywhere ({n}): {sign if mean.mean else neither}."
        return
    inside = mean.low <= 0 <= mean.high
    told = f"0 lies inside the interval: {neither}" if inside else f"0 lies outside the interval: {sign}"
    yield f"{over} ({mean.level:.0%} interval {_ends(mean.low, mean.high)}, {n}). {told}."


def cells_by(told: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Of what is told of cells, the cells of which it is told, both in their order."""
    found: dict[str, list[str]] = {}
    for text, cell in told:
        found.setdefault(text, []).append(cell)
    return found


def _trouble(rows: Sequence[Row]) -> Iterator[str]:
    """A section on each kind of what is told of some cells, a line each with the first of these."""
    unknown = "These runs did not fail; nobody knows the value, such as a cost without prices."
    sections: tuple[tuple[str, str, Callable[[Row], Sequence[str]]], ...] = (
        ("Failed", "In none of the numbers above.", lambda row: [row.error] if row.error else []),
        ("Not to be measured", "", lambda row: [f"no {name}: {why}" for name, why in row.missing.items()]),
        ("Unknown", unknown, lambda row: row.unknown),
        ("Warnings", "These cells are in the numbers above.", lambda row: row.warnings),
    )
    for title, lead, of in sections:
        if cells := cells_by((text, row.cell) for row in rows for text in of(row)):
            yield f"## {title}: {sum(bool(of(row)) for row in rows)} of {len(rows)} cells"
            yield from [lead] if lead else []
            more = {
                text: f" and {len(names) - NAMED} more" if names[NAMED:] else ""
                for text, names in cells.items()
            }
            yield "\n".join(
                f"- {unmarked(text)} ({unmarked(', '.join(names[:NAMED]))}{more[text]})"
                for text, names in cells.items()
            )


def _reading(results: Results) -> Iterator[str]:
    spec = results.spec
    unit = "cases, each the mean of its cells" if results.unit == "cases" else "cells"
    against = label_of(spec.counterpart(next(spec.conditions())))
    compared = f"where they agree with {label_of(spec.against)}" if spec.against else f"of {against}"
    measured = {each.of for each in spec.measure_paths}
    apart = [name for name, system in judges().items() if name in measured and together(system)]
    places = ", ".join([f"{CELLS}/", *(f"the {name}s in {name}s/" for name in apart)])
    yield "## How to read this"
    yield (
        f"n and pairs count {unit}. SE is the standard error of the mean. "
        f"{''.join(f'{each} ' for each in _intervals(results))}Differences are from the values {unmarked(compared)}, over the cases and seeds that both have. No correction is "
        f"made for comparing many conditions. Left out are cells that failed or whose result has no such thing. "
        f"Each cell's runs, with reports of their own, are in {places}."
    )


def _intervals(results: Results) -> Iterator[str]:
    """What the intervals are that stand in these tables."""
    entries = results.entries
    used = {method for entry in entries for method in (entry.method, entry.difference_method)}
    if "t" in used:
        yield (
            f"Intervals of fewer than {FEW} values are Student's t, which takes them to be drawn from a bell curve; "
            "those of shares and counts, and of what else has ends, are cut where their scales end. Bootstrapped ones are too narrow for so "
            "few, and stand beside them in summary.csv."
        )
    if "BCa" in used:
        yield f"Intervals of {FEW} values or more are bootstrapped (BCa)."
    if "Wilson" in used:
        yield "Intervals of shares are Wilson's where each value is all or nothing."
    if any(entry.n > 1 and entry.low is None for entry in entries):
        yield "Values that were all the same have no interval: they say nothing of how much others would vary."
    if any(entry.median is not None for entry in entries):
        yield "Medians are over all runs."
    if results.unit == "cases" and any(entry.repeats for entry in entries):
        yield (
            "The interval over repeats says how the mean over these very cases would vary another time, and "
            "nothing of other cases; that of the mean says how it would vary with other cases."
        )


# What a suite wants drawn, from its summary.

FILES = ("plot.png", "plot.svg")


def draw_suite(results: Results, folder: Path) -> list[Path]:
    """Draw the suite's plot into its folder; no files where it has none, or matplotlib is not installed.

    A picture of earlier numbers does not stay. Raises `JournalError` where the folder cannot be written.
    """
    files, spec = [folder / name for name in FILES], results.spec
    for earlier in files:
        earlier.unlink(missing_ok=True)
    if spec.plot is None or not can_draw():
        return []
    panels = list(_panels(spec, spec.plot, results.entries))
    draw(spec.plot.kind, panels, spec.title, caption_of(spec.plot, results), files)
    return files


def _panels(spec: SuiteSpec, plot: PlotConfig, entries: Sequence[Entry]) -> Iterator[Panel]:
    """A panel for each measure and each combination of the axes that the plot does not name."""
    rest = {axis: values for axis, values in spec.axes.items() if axis not in (plot.x, plot.y)}
    for measure, values in product(plot.value, product(*rest.values())):
        held = dict(zip(rest, values, strict=True))
        title = ", ".join([title_of(measure), *(f"{axis}={value}" for axis, value in held.items())])
        points = tuple(
            Point(
                str(entry.condition[plot.x]),
                str(entry.condition[plot.y]) if plot.y else "",
                *(entry.mean, entry.se, entry.low, entry.high),
            )
            for entry in entries
            if entry.measure == measure and held.items() <= entry.condition.items()
        )
        yield Panel(measure, title, title_of(plot.x), title_of(plot.y) if plot.y else "", points)


def caption_of(plot: PlotConfig, results: Results) -> str:
    """What is drawn, over how many values, how many cells are not in it, and whether a language model wrote."""
    entries = [entry for entry in results.entries if entry.measure in plot.value]
    counts, unit = sorted({entry.n for entry in entries}), results.unit
    n = f"{counts[0]} to {counts[-1]} {unit}" if counts[1:] else count(counts[0], unit[:-1])
    out, unknown = (max(getattr(entry, name) for entry in entries) for name in ("left_out", "unknown"))
    shown = "" if plot.kind == "heatmap" else f", {entries[0].level:.0%} interval thin or shaded"
    parts = [f"mean ± standard error{shown}, n = {n}"]
    parts += [f"cells left out of a condition: up to {out}"] if out else []
    parts += [f"cells of a condition whose value is unknown: up to {unknown}"] if unknown else []
    parts += ["offline model, which is no language model"] if results.offline else []
    return "; ".join(parts)
