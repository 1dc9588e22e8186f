"""The report of a test by planted errors: shares by kind, and each error with the points that name it."""

from collections.abc import Iterator
from pathlib import Path

from manyheads.judges.planted_error.planted import KINDS, TITLES, Kind
from manyheads.judges.planted_error.result import PlantedErrorResult, Rates
from manyheads.judges.shared import Step, Table, figure_words, view
from manyheads.report.page import View
from manyheads.report.record import Record, count


def words(each: Rates) -> str:
    """The two shares."""
    return f"found {figure_words(each.found)}, falsely alleged {figure_words(each.false_alarms)}"


def essence(result: PlantedErrorResult) -> Iterator[tuple[str, str]]:
    """The shares by kind, and failures."""
    yield (
        "Checked",
        f"{count(result.all.planted, 'planted error')}, {count(result.all.clean, 'check')} of papers without them",
    )
    yield "All kinds", words(result.all)
    for kind, each in result.kinds.items():
        if each.planted or each.clean:
            yield kind, words(each)
    yield from _asides(result)


def _asides(result: PlantedErrorResult) -> Iterator[tuple[str, str]]:
    if result.alarms:
        yield (
            "Alarms",
            f"{figure_words(result.alarms)} points per review of a paper without errors allege one",
        )
    if result.failed:
        yield "No answer", count(result.failed, "check")


def report(record: Record) -> View:
    """The report of a run."""
    result: PlantedErrorResult = record.result.result
    lead = (
        "Found: the share of planted errors that a review names. False alarms: the share of the same errors that a review names in "
        "the paper without them. Difference: found minus false alarms, paper by paper; a review that complains about everything "
        "has 0. Intervals are 95% intervals over papers. Whether a point names an error is decided by "
        + ("rules on its words." if result.judged_by == "rules" else "a judge model.")
    )
    rows = [
        ("All", result.all),
        *((TITLES[_kind(name)], each) for name, each in result.kinds.items() if each.planted or each.clean),
    ]
    tables = [
        Table(
            title="Found and false alarms",
            lead=lead,
            head=["Error", "Found", "False alarms", "Difference", "Planted errors", "Checks of clean papers"],
            rows=[
                [
                    title,
                    *map(figure_words, (each.found, each.false_alarms, each.difference)),
                    str(each.planted),
                    str(each.clean),
                ]
                for title, each in rows
            ],
        ),
        Table(
            title="Reviews",
            lead="Alarms: points that allege an error of one of these kinds, other than the planted one.",
            head=["Review", "Paper", "Points", "Alarms"],
            rows=[
                [
                    Path(each.source).name,
                    f"{each.paper}, {each.planted or 'clean'}",
                    str(each.points),
                    str(each.alarms),
                ]
                for each in result.reviews
            ],
            wordy=True,
        ),
    ]
    steps = [
        Step(
            title=f"{each.paper}: {each.about}",
            note=each.failed or f"{'planted' if each.planted else 'not planted'}, {'named' if each.named else 'not named'}",
            failed=each.named is None,
            texts=[("Points that name it", "\n".join(f"– {point}" for point in each.points) or "none"),
                   *([("Why", each.reason)] if each.reason else [])],
        )
        for each in result.checks
    ]  # fmt: skip
    facts = [
        ("Found", figure_words(result.all.found)),
        ("False alarms", figure_words(result.all.false_alarms)),
        ("Difference", figure_words(result.all.difference)),
        *_asides(result),
    ]
    return view(record, "Planted errors", facts, tables if result.checks else [], steps)


def _kind(name: str) -> Kind:
    return next(each for each in KINDS if each == name)
