"""Planted errors in papers: how many of them reviews find, and how many they allege in papers without them."""

from collections.abc import Sequence
from math import inf

from manyheads.judges.planted_error.judging import PlantedErrorConfig, PlantedErrorInputs, judge, needs, read
from manyheads.judges.planted_error.planted import KINDS
from manyheads.judges.planted_error.result import PlantedErrorResult, Rates, essence, report
from manyheads.team.system import Judge, Number, System

__all__ = ["PLANTED_ERROR"]


def path(steps: Sequence[str]) -> tuple[str, ...]:
    """`found`, `caption.found` and `alarms` are means; other measures are read at their paths."""
    place = (
        ("kinds", *steps)
        if steps[0] in KINDS
        else ("all", *steps)
        if steps[0] in Rates.model_fields
        else tuple(steps)
    )
    return (*place, "mean") if steps[-1] in ("found", "false_alarms", "difference", "alarms") else place


SHARES = {
    "found": "share of planted errors found",
    "false_alarms": "share of them alleged in papers without them",
}
PLANTED_ERROR = System(
    name="planted-error",
    title="Planted errors",
    about="Counts the planted errors that reviews of papers find, and those they allege without cause.",
    config=PlantedErrorConfig,
    inputs=PlantedErrorInputs,
    result=PlantedErrorResult,
    run=judge,
    needs=needs,
    essence=essence,
    table=lambda result: result.checks,
    report=report,
    read=read,
    judge=Judge("reviews", "planted-error.found", path),
    extras=("statistics",),
    numbers={
        **{f"planted-error.{name}": Number(title, (0, 1)) for name, title in SHARES.items()},
        **{
            f"planted-error.{kind}.{name}": Number(f"{title}: {kind}", (0, 1))
            for kind in KINDS
            for name, title in SHARES.items()
        },
        "planted-error.alarms": Number("points that allege an error that does not exist", (0, inf)),
        "planted-error.failed": Number("checks without a valid answer", (0, inf)),
    },
)
