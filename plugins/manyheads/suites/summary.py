"""What a suite comes to: for each condition and measure n, mean ± standard error, intervals, and what is left out."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from manyheads.measures.effects import Mean, by_group, mean_difference, mean_of
from manyheads.suites.measuring import Row
from manyheads.suites.spec import Condition, SuiteSpec

Place: TypeAlias = tuple[str, int]
"""Case and seed."""
Values: TypeAlias = dict[Place, float]


class Entry(BaseModel):
    """A condition's mean of a measure, and how far it is from that of the condition it is compared with.

    Cells are left out that failed, or lack the measure: they are counted here, and named in the report.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    condition: dict[str, Any]
    measure: str
    n: int
    """Values that the mean is over: cells, or cases where there are several, each the mean of its cells."""
    cells: int
    """Cells that have the measure."""
    left_out: int
    """Cells that do not."""
    mean: float | None = None
    se: float | None = None
    """Standard error of the mean."""
    low: float | None = None
    high: float | None = None
    """Ends of the bootstrap interval of the mean."""
    level: float
    why: str | None = None
    """Why there is no interval."""
    against: dict[str, Any] | None = None
    """The condition that this one is compared with; null for that one itself."""
    pairs: int = 0
    """Values that the difference is over: those of cases and seeds that both have, or of cases where there are several."""
    difference: float | None = None
    """Mean of this condition's values minus those of the other one, pair by pair."""
    difference_se: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None


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
    values = _values(of_it, measure)
    told: dict[str, Any] = {"condition": condition, "measure": measure, "level": spec.level}
    told |= {"n": 0, "cells": len(values), "left_out": len(of_it) - len(values)}
    if found := mean_of(_independent(values, several), level=spec.level):
        told |= {name: getattr(found, name) for name in ("n", "mean", "se", "low", "high", "why")}
    other = spec.counterpart(condition)
    if other != condition:
        theirs = _values([row for row in rows if row.condition == other], measure)
        told |= {"against": other, **_difference(values, theirs, several, spec.level)}
    return Entry(**told)


def _values(rows: Sequence[Row], measure: str) -> Values:
    return {(row.case, row.seed): row.values[measure] for row in rows if measure in row.values}


def _independent(values: Values, several: bool) -> list[float]:
    """Where there are several cases, the mean of each: the runs of one case are not independent."""
    return list((by_group(values, lambda place: place[0]) if several else values).values())


def _difference(ours: Values, theirs: Values, several: bool, level: float) -> dict[str, Any]:
    both = [place for place in ours if place in theirs]
    first = _independent({place: ours[place] for place in both}, several)
    second = _independent({place: theirs[place] for place in both}, several)
    found: Mean | None = mean_difference(first, second, level=level)
    if found is None:
        return {}
    ends = {"difference_low": found.low, "difference_high": found.high}
    return {"pairs": found.n, "difference": found.mean, "difference_se": found.se, **ends}
