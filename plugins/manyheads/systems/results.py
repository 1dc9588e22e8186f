"""What runs have come to, each by what its system tells of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from manyheads.core.results import RunResult, parse_result, result_data
from manyheads.engine.system import System
from manyheads.errors import ConfigError, SubjectError
from manyheads.report import closing
from manyheads.report.record import read_run
from manyheads.systems import system_of


def own(name: str) -> System:
    """The system of a result; raises `SubjectError` for one that is not there."""
    try:
        return system_of(name)
    except ConfigError as error:
        raise SubjectError(
            error.message, tried=error.tried, hint="install the package that brings it"
        ) from error


def load(folder: Path | str) -> RunResult[Any]:
    """What a run has come to, finished or not: `load("runs/…").result.idea.title`.

    Raises:
        SubjectError: the folder has no readable result, or its system is not there.
    """
    data = result_data(folder := Path(folder), unfinished=True)
    return parse_result(data, own(str(data.get("system"))).result, folder)


def typed(data: Mapping[str, Any]) -> RunResult[Any]:
    """A result as the last event of a run has it."""
    return RunResult[own(data["system"]).result].model_validate(data)


def essence(run: RunResult[Any]) -> list[tuple[str, str]]:
    """The essence of a result: names, and what is told under each, in order."""
    return list(own(run.system).essence(run.result))


def details(run: RunResult[Any]) -> list[str]:
    """What a reader wants of a result beyond its essence, in Markdown."""
    return list(own(run.system).details(run.result))


def in_full(run: RunResult[Any]) -> list[str]:
    """What was written; or else the essence, and what a reader wants beyond it."""
    return list(own(run.system).work(run.result)) or [*closing.in_bold(essence(run)), *details(run)]


def closing_lines(folder: Path) -> str:
    """A finished run's essence; what it cost, and where the report is."""
    run = load(folder)
    return closing.closing_lines(folder, run, essence(run))


def write_report(folder: Path) -> Path:
    """Write `report.html` into a run folder, of a finished or an unfinished run.

    Returns:
        The path of the report.

    Raises:
        UserError: the folder is no run folder, or the report cannot be written.
    """
    record = read_run(folder)
    return own(record.result.system).write_report(record)
