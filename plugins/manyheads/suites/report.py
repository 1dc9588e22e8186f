"""A suite's report in Markdown: what was asked, what came of it, and what did not."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import floor, log10
from pathlib import Path
from typing import TypeAlias

from manyheads.measures.effects import FEW
from manyheads.report.suite_plots import WITHOUT, title_of
from manyheads.report.words import count
from manyheads.suites.measuring import Row
from manyheads.suites.plan import CELLS, RANKINGS
from manyheads.suites.spec import SuiteSpec, label_of
from manyheads.suites.suite import Suite
from manyheads.suites.summary import Entry, counted, is_share, pooled

Column: TypeAlias = tuple[str, Callable[[Entry], object]]
"""The head of a table, and what stands below it of an entry."""
ABSENT = "–"
OFFLINE_NOTE = (
    "Written by the offline model, which is no language model: the numbers show how a suite goes, no more"
)
BIAS = "ranking.position_bias"
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
    rows: Sequence[Row],
    entries: Sequence[Entry],
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
    parts = [*_head(suite, repeats, rows, made), *_mixed(accepted), *_picture(spec, pictures)]
    for measure in spec.measures:
        parts.append(f"## {plain(title_of(measure))}")
        of_it = [entry for entry in entries if entry.measure == measure]
        parts += [_means(spec, of_it, share=is_share(measure, rows)), *_repeats(spec, rows, of_it)]
        parts += _bias(spec, rows) if measure == BIAS else ()
    return "\n\n".join([*parts, *_trouble(rows), *_reading(spec, rows, entries)]) + "\n"


def is_offline(rows: Sequence[Row]) -> bool:
    """Whether the offline model wrote in any cell, and no language model."""
    return any(row.by_language_model is False for row in rows)


def figure(value: float | None) -> str:
    """A number with four digits that count, and all of those before its point."""
    if value is None:
        return ABSENT
    if abs(value) < NOTHING:
        return "0"
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def mean_text(entry: Entry) -> str:
    """Mean ± standard error, as `with_error` writes it."""
    return with_error(entry.mean, entry.se)


def with_error(value: float | None, error: float | None) -> str:
    """A number ± its error; two digits of the error count, and the number has no more decimals than that."""
    if value is None or not error or max(abs(value), error) < NOTHING:
        return figure(value) + ("" if error is None else " ± 0")
    if error < ROUNDING * abs(value):
        return f"{figure(value)} ± {error:.0e}"
    decimals = max(0, 1 - floor(log10(error)))
    return f"{value:z.{decimals}f} ± {error:.{decimals}f}"


def plain(text: object) -> str:
    """A text in one line, without any markup in it."""
    return SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def _head(suite: Suite, repeats: int, rows: Sequence[Row], made: Sequence[str]) -> Iterator[str]:
    spec = suite.spec
    yield f"# {plain(spec.title)}"
    if spec.description:
        yield plain(spec.description)
    failed = sum(row.error is not None for row in rows)
    if is_offline(rows):
        yield f"**{OFFLINE_NOTE}.**"
    parts = [count(len(list(spec.conditions())), "condition")]
    parts += [count(len(suite.cases), "case")] if len(suite.cases) > 1 else []
    parts += [count(repeats, "repeat")] + ([f"{spec.ideas} runs each"] if spec.ideas > 1 else [])
    yield "\n".join([
        f"- Suite: {plain(suite.name)}, version {spec.version}",
        f"- Sources: {'; '.join(map(plain, spec.sources))}",
        f"- Cells: {len(rows)} ({', '.join(parts)}); failed: {failed}",
        *(f"- {plain(line)}" for line in made),
    ])  # fmt: skip


def _mixed(accepted: Sequence[str]) -> Iterator[str]:
    if accepted:
        yield "**Changes that were accepted: what was finished before them is in the numbers below all the same.**"
        yield "\n".join(f"- {plain(change)}" for change in accepted)


def _picture(spec: SuiteSpec, pictures: Sequence[Path]) -> Iterator[str]:
    if pictures:
        yield f"![{plain(spec.title)}]({pictures[0].name})"
    elif spec.plot:
        yield f"Nothing is drawn: {WITHOUT}."


def _means(spec: SuiteSpec, entries: Sequence[Entry], *, share: bool) -> str:
    interval = f"{spec.level:.0%} interval"
    columns: list[Column] = [
        ("n", lambda each: each.n),
        ("mean ± SE", mean_text),
        (interval, lambda each: _ends(each.low, each.high)),
        ("median", lambda each: figure(each.median)),
        ("difference ± SE", lambda each: with_error(each.difference, each.difference_se)),
        (interval, lambda each: _ends(each.difference_low, each.difference_high)),
        ("pairs", lambda each: each.pairs or ABSENT),
        ("left out", lambda each: each.left_out),
        ("unknown", lambda each: each.unknown),
    ]
    optional = {"median": not share, "unknown": any(entry.unknown for entry in entries)}
    return _table(spec, entries, [column for column in columns if optional.get(column[0], True)])


def _table(spec: SuiteSpec, entries: Sequence[Entry], columns: Sequence[Column]) -> str:
    """A line each condition: the values of its axes, then these columns."""
    head = [*spec.axes, *(name for name, _ in columns)]
    lines = (
        [*(entry.condition[axis] for axis in spec.axes), *(told(entry) for _, told in columns)]
        for entry in entries
    )
    told = [head, ["---"] * len(head), *(map(plain, line) for line in lines)]
    return "\n".join(f"| {' | '.join(line)} |" for line in told)


def _ends(low: float | None, high: float | None) -> str:
    return ABSENT if low is None or high is None else f"{figure(low)} to {figure(high)}"


def _repeats(spec: SuiteSpec, rows: Sequence[Row], entries: Sequence[Entry]) -> Iterator[str]:
    """Where there is one case, repeats are what n counts, and the table above tells it all."""
    if counted(rows) == "cells" or not any(entry.repeats for entry in entries):
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
        (f"{spec.level:.0%} interval (t)", lambda each: _ends(each.repeat_low, each.repeat_high)),
    ]
    yield _table(spec, entries, columns)


def _bias(spec: SuiteSpec, rows: Sequence[Row]) -> Iterator[str]:
    """Whether the judge of all these rankings goes by places, in words."""
    found = pooled(BIAS, rows, spec.level)
    if found is None or found.se is None:
        yield "Whether the judge goes by the place in which an idea is shown cannot be told from these cells."
        return
    over = f"Over all conditions the bias of places is {with_error(found.mean, found.se)}"
    n, favoured = f"n = {found.n} {_pooled_over(rows)}", "early" if found.mean > 0 else "late"
    if found.low is None or found.high is None:
        told = f"the judge favours what it is shown {favoured}" if found.mean else "no place is favoured"
        yield f"{over}, the same everywhere ({n}): {told}."
        return
    if found.low <= 0 <= found.high:
        told = "0 lies inside the interval: no favour for a place can be told from chance"
    else:
        told = f"0 lies outside the interval: the judge favours what it is shown {favoured}"
    yield f"{over} ({spec.level:.0%} interval {_ends(found.low, found.high)}, {n}). {told}."


def _pooled_over(rows: Sequence[Row]) -> str:
    return "cases" if counted(rows) == "cases" else "seeds"


def cells_by(told: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Of what is told of cells, the cells of which it is told, both in their order."""
    found: dict[str, list[str]] = {}
    for text, cell in told:
        found.setdefault(text, []).append(cell)
    return found


def _trouble(rows: Sequence[Row]) -> Iterator[str]:
    yield from _named(
        "Failed", "In none of the numbers above.", rows, lambda row: [row.error] if row.error else []
    )
    yield from _named(
        "Not to be measured", "", rows, lambda row: [f"no {name}: {why}" for name, why in row.missing.items()]
    )
    lead = "These runs did not fail; nobody knows the value, such as a cost without prices."
    yield from _named("Unknown", lead, rows, lambda row: row.unknown)
    yield from _named("Warnings", "These cells are in the numbers above.", rows, lambda row: row.warnings)


def _named(title: str, lead: str, rows: Sequence[Row], of: Callable[[Row], Sequence[str]]) -> Iterator[str]:
    """A section on what is told of some cells, a line each with the first of these."""
    if cells := cells_by((text, row.cell) for row in rows for text in of(row)):
        yield f"## {title}: {sum(bool(of(row)) for row in rows)} of {len(rows)} cells"
        yield from [lead] if lead else []
        yield "\n".join(_line(text, names) for text, names in cells.items())


def _line(text: str, cells: Sequence[str]) -> str:
    more = f" and {len(cells) - NAMED} more" if len(cells) > NAMED else ""
    return f"- {plain(text)} ({plain(', '.join(cells[:NAMED]))}{more})"


def _reading(spec: SuiteSpec, rows: Sequence[Row], entries: Sequence[Entry]) -> Iterator[str]:
    unit = "cases, each the mean of its cells" if counted(rows) == "cases" else "cells"
    against = label_of(spec.counterpart(next(spec.conditions())))
    compared = f"where they agree with {label_of(spec.against)}" if spec.against else f"of {against}"
    ranked = any(each.of == "ranking" for each in spec.wanted)
    places = f"{CELLS}/, the rankings in {RANKINGS}/" if ranked else f"{CELLS}/"
    yield "## How to read this"
    yield (
        f"n and pairs count {unit}. SE is the standard error of the mean. "
        f"{''.join(f'{each} ' for each in _intervals(rows, entries))}Differences are from the values {plain(compared)}, over the cases and seeds that both have. No correction is "
        f"made for comparing many conditions. Left out are cells that failed or whose result has no such thing. "
        f"Each cell's runs, with reports of their own, are in {places}."
    )


def _intervals(rows: Sequence[Row], entries: Sequence[Entry]) -> Iterator[str]:
    """What the intervals are that stand in these tables."""
    used = {method for entry in entries for method in (entry.method, entry.difference_method)}
    if "t" in used:
        yield (
            f"Intervals of fewer than {FEW} values are Student's t, which takes them to be drawn from a bell curve; "
            "those of shares, rankings and counts are cut where their scales end. Bootstrapped ones are too narrow for so "
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
    if counted(rows) == "cases" and any(entry.repeats for entry in entries):
        yield (
            "The interval over repeats says how the mean over these very cases would vary another time, and "
            "nothing of other cases; that of the mean says how it would vary with other cases."
        )
