"""What a suite comes to: for each condition and measure n, mean ± standard error, intervals, and what is left out."""

import csv
import io
import json
from collections.abc import Collection, Sequence
from math import inf
from statistics import fmean, median, stdev
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from manyheads.measures.effects import (
    Ends,
    Mean,
    Method,
    by_group,
    mean_difference,
    mean_of,
    student_interval,
)
from manyheads.suites.measuring import Row
from manyheads.suites.spec import Condition, SuiteSpec

Place: TypeAlias = tuple[str, int]
"""Case and seed."""
Values: TypeAlias = dict[Place, float]
SCALES = {
    **dict.fromkeys(("ranking.s", "ranking.settled", "ranking.consistency"), (0.0, 1.0)),
    "ranking.position_bias": (-1.0, 1.0),
    **dict.fromkeys(("ranking.failed", "rebuttal.iterations", "inference_cost"), (0.0, inf)),
    **dict.fromkeys(("usage.calls", "usage.input_tokens", "usage.output_tokens", "usage.cost"), (0.0, inf)),
}
"""Measures that cannot lie beyond these ends: scales, and counts; shares are others, between 0 and 1."""


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


def summarise(spec: SuiteSpec, rows: Sequence[Row]) -> list[Entry]:
    """An entry for each condition and measure, in the suite's order."""
    several = counted(rows) == "cases"
    return [
        _entry(spec, rows, condition, measure, several)
        for condition in spec.conditions()
        for measure in spec.measures
    ]


def counted(rows: Sequence[Row]) -> Literal["cases", "cells"]:
    """What n counts."""
    return "cases" if len({row.case for row in rows}) > 1 else "cells"


def is_share(measure: str, rows: Sequence[Row]) -> bool:
    """Whether a measure says of each run that it has something or has it not, so that its mean is a share."""
    return any(measure in row.shares for row in rows)


def pooled(measure: str, rows: Sequence[Row], level: float) -> Mean | None:
    """The mean of a measure over all cells of all conditions; None where no cell has it.

    Conditions have cases and seeds in common, so that n counts cases, or seeds where there is one case.
    """
    several = counted(rows) == "cases"
    values = {row.cell: (row, row.values[measure]) for row in rows if measure in row.values}
    groups = by_group(
        {name: value for name, (_, value) in values.items()},
        lambda name: values[name][0].case if several else values[name][0].seed,
    )
    share, within = is_share(measure, rows), _scale(measure, rows)
    return mean_of(list(groups.values()), level=level, share=share, within=within)


def summary_table(spec: SuiteSpec, entries: Sequence[Entry]) -> str:
    """The same as CSV: a column for each axis, then those of an entry."""
    columns = [name for name in Entry.model_fields if name not in ("condition", "against")]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*spec.axes, *columns, "against"])
    for entry in entries:
        data = entry.model_dump(mode="json")
        axes = [_cell(entry.condition[axis]) for axis in spec.axes]
        writer.writerow([*axes, *(data[name] for name in columns), _cell(entry.against)])
    return text.getvalue()


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _entry(spec: SuiteSpec, rows: Sequence[Row], condition: Condition, measure: str, several: bool) -> Entry:
    of_it = [row for row in rows if row.condition == condition]
    values, unknown = _values(of_it, measure), sum(measure in row.unknown for row in of_it)
    told: dict[str, Any] = {"condition": condition, "measure": measure, "level": spec.level}
    told |= {"n": 0, "cells": len(values), "left_out": len(of_it) - len(values) - unknown, "unknown": unknown}
    share, within = is_share(measure, rows), _scale(measure, rows)
    if found := mean_of(_independent(values, several), level=spec.level, share=share, within=within):
        told |= {name: getattr(found, name) for name in ("n", "mean", "se", "low", "high", "method", "why")}
        told |= {**_ends("t", found.t), **_ends("bca", found.bca), **_runs(of_it, measure)}
        told |= _repeats(values, {row.seed for row in of_it}, spec.level, within)
    other = spec.counterpart(condition)
    if other != condition:
        theirs = _values([row for row in rows if row.condition == other], measure)
        told |= {"against": other, **_difference(values, theirs, several, spec.level, within)}
    return Entry(**told)


def _scale(measure: str, rows: Sequence[Row]) -> Ends | None:
    return (0.0, 1.0) if is_share(measure, rows) else SCALES.get(measure)


def _ends(name: str, ends: tuple[float, float] | None) -> dict[str, float]:
    return {f"{name}_low": ends[0], f"{name}_high": ends[1]} if ends else {}


def _runs(rows: Sequence[Row], measure: str) -> dict[str, Any]:
    """Over all runs: of the means of cells there is another median."""
    each = [
        value
        for row in rows
        if measure in row.values
        for value in row.each.get(measure, (row.values[measure],))
    ]
    return {"runs": len(each), "median": median(each)}


def _repeats(values: Values, seeds: Collection[int], level: float, within: Ends | None) -> dict[str, Any]:
    """Each repeat's mean is over the same cases, or repeats would differ for the cases that they lack."""
    cases = {case for case, _ in values}
    whole = sorted(case for case in cases if all((case, seed) in values for seed in seeds))
    if not whole or len(seeds) < 2:
        return {}
    means = [fmean(values[case, seed] for case in whole) for seed in sorted(seeds)]
    mean, sd, count = fmean(means), stdev(means), len(means)
    ends = student_interval(mean, sd / count**0.5, count, level, within) if sd else (None, None)
    told = {"repeats": count, "repeat_cases": len(whole), "repeat_mean": mean, "repeat_sd": sd}
    return {**told, "repeat_low": ends[0], "repeat_high": ends[1]}


def _values(rows: Sequence[Row], measure: str) -> Values:
    return {(row.case, row.seed): row.values[measure] for row in rows if measure in row.values}


def _independent(values: Values, several: bool) -> list[float]:
    """Where there are several cases, the mean of each: the runs of one case are not independent."""
    return list((by_group(values, lambda place: place[0]) if several else values).values())


def _difference(
    ours: Values, theirs: Values, several: bool, level: float, within: Ends | None
) -> dict[str, Any]:
    both = [place for place in ours if place in theirs]
    first = _independent({place: ours[place] for place in both}, several)
    second = _independent({place: theirs[place] for place in both}, several)
    found: Mean | None = mean_difference(first, second, level=level, within=within)
    if found is None:
        return {}
    told = {"pairs": found.n, "difference": found.mean, "difference_se": found.se}
    ends = {"difference_low": found.low, "difference_high": found.high, "difference_method": found.method}
    return {**told, **ends}
