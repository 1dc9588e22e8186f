"""What each system's runs come to: the type of its result, its essence in words, its report."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from manyheads.core import results
from manyheads.core.results import RunResult
from manyheads.errors import SubjectError
from manyheads.report import closing
from manyheads.report.html import View, write_page
from manyheads.report.record import Record, read_run
from manyheads.systems.baselines import report as baselines
from manyheads.systems.baselines.result import BaselineResult
from manyheads.systems.conference_review import report as conference_review
from manyheads.systems.conference_review.result import ReviewResult
from manyheads.systems.ranking import report as ranking
from manyheads.systems.ranking.result import RankingResult
from manyheads.systems.rebuttal import report as rebuttal
from manyheads.systems.rebuttal.result import RebuttalResult
from manyheads.systems.virsci import report as virsci
from manyheads.systems.virsci.result import VirSciResult

R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True)
class Own(Generic[R]):
    """What a system brings for its results."""

    result: type[R]
    essence: Callable[[R], Iterable[tuple[str, str]]]
    """What a result comes to: names, and what is told under each, in order."""
    report: Callable[[Record], View]
    details: Callable[[R], Iterable[str]] = lambda result: ()
    """What a reader wants of it beyond its essence, in Markdown."""
    work: Callable[[R], Iterable[str]] = lambda result: ()
    """What was written, in full, in Markdown: it stands for the essence where others go on with it."""
    source: Callable[[R], str | None] = lambda result: None
    """What it is about, as the user has named it."""


BASELINE = Own(BaselineResult, baselines.essence, baselines.report, work=virsci.work)
OWN: Mapping[str, Own[Any]] = {
    "virsci": Own(VirSciResult, virsci.essence, virsci.report, work=virsci.work),
    "self-reflection": BASELINE,
    "discussion": BASELINE,
    "single": BASELINE,
    "conference-review": Own(
        ReviewResult,
        conference_review.essence,
        conference_review.report,
        details=conference_review.in_full,
        source=lambda result: result.subject and result.subject.source,
    ),
    "rebuttal": Own(RebuttalResult, rebuttal.essence, rebuttal.report, work=rebuttal.work),
    "ranking": Own(RankingResult, ranking.essence, ranking.report),
}


def own(system: str) -> Own[Any]:
    """What a system brings; raises `SubjectError` for one that is not there."""
    if system not in OWN:
        raise SubjectError(
            f"{system or 'no name'}: no such system here, only {', '.join(OWN)}",
            hint="install the package that brings it",
        )
    return OWN[system]


def load(folder: Path | str) -> RunResult[Any]:
    """What a run has come to, finished or not: `load("runs/…").result.idea.title`.

    Raises:
        SubjectError: the folder has no readable result, or its system is not there.
    """
    folder = Path(folder)
    system = str(results.result_data(folder, unfinished=True).get("system"))
    return results.read_result(folder, own(system).result, unfinished=True)


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
    source = own(run.system).source(run.result)
    named = [("Text", source)] if source else []
    return closing.closing_lines(folder, run, [*named, *essence(run)])


def write_report(folder: Path) -> Path:
    """Write `report.html` into a run folder, of a finished or an unfinished run.

    Returns:
        The path of the report.

    Raises:
        UserError: the folder is no run folder, or the report cannot be written.
    """
    record = read_run(folder, lambda system: own(system).result)
    return write_page(folder, own(record.result.system).report(record))
