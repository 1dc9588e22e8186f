"""Run a suite: run unfinished cells, measure, summarise, write, draw."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from manyheads.base.errors import RatingError
from manyheads.base.folders import JOURNAL
from manyheads.config import BudgetConfig
from manyheads.engine.budget import Budget
from manyheads.engine.jobs import Listener, Local, Scheduler, finished_jobs
from manyheads.engine.jobtable import JobTable
from manyheads.hosts import host_factory, need_framework
from manyheads.measures.agreement import Calibration, calibrate
from manyheads.measures.scores import as_lines
from manyheads.suites.arena import ARENA, write_arena
from manyheads.suites.cells import Cell, jobs_of, need_all
from manyheads.suites.files import Suite
from manyheads.suites.folder import begin, locked, record_of, write
from manyheads.suites.measuring import Coverage, Row, open_corpora, replies_of, rows_of
from manyheads.suites.page import write_suite_page
from manyheads.suites.report import Results, draw_suite, replies_table, summary_table
from manyheads.suites.spec import REPLIES, Condition

RESULTS, SUMMARY, TASKS, CALIBRATION = "results.jsonl", "summary.csv", "replies.csv", "calibration.json"


@dataclass(frozen=True)
class Evaluation:
    """The results of a suite, and its files."""

    results: Results
    report: Path
    pictures: tuple[Path, ...]
    arena: Path | None = None
    """The folder of the blind comparison."""


AGAIN = "the same manyheads eval command"


async def evaluate(
    suite: Suite,
    cells: Sequence[Cell],
    out: Path,
    *,
    repeats: int,
    jobs: int,
    accept_changes: bool,
    listener: Listener,
    budget: Budget | None = None,
    settings: Sequence[str] = (),
) -> Evaluation:
    """Run a suite in its folder. Called again, it resumes, and shares the jobs with other processes.

    Args:
        cells: their jobs have folders in `out`.
        jobs: number of runs or judgements in parallel.
        settings: changes by hand, for the report.

    Raises:
        ChangedError: the folder was made from another suite, config or prompts, and changes are not accepted.
        UserError: a host, the folder, a prompt, a corpus, a config or a measure cannot be used. Failed cells are
        reported instead.
    """
    spec, budget = suite.spec, budget or Budget(BudgetConfig())
    graph = jobs_of(cells)
    for host in {job.config.host for job in graph.values()}:
        need_framework(host)
    need_all(suite, graph.values())
    budget.need_prices(job.config for job in graph.values())
    record = record_of(suite, cells)
    with ExitStack() as stack:
        with locked(out):
            accepted = begin(out, record, accept_changes=accept_changes)
            table = JobTable(out)
            stack.callback(table.close)
            finished = finished_jobs(graph)
            first = table.join(finished)
            budget.open(table, _journals(out), first=first)
        corpora = open_corpora(spec, cells)
        coverage = Coverage(spec, graph, {key for key, ended in finished.items() if not ended}, listener)
        executor = Local(host_factory, table, accept_changes, AGAIN)
        failures = await Scheduler(table, executor, budget, coverage, at_once=jobs).run(graph)
    counted = any(each.of == REPLIES for each in spec.measure_paths)
    replies = replies_of(cells) if counted else []
    results = Results(spec, rows_of(spec, cells, failures, corpora), replies)
    with locked(out):
        write(out / RESULTS, as_lines(results.rows))
        write(out / SUMMARY, summary_table(results))
        if counted:
            write(out / TASKS, replies_table(results))
        pictures = draw_suite(results, out)
        held = list(calibrations(suite, results.rows))
        if held:
            data = [
                {"condition": condition, "figures": found if isinstance(found, str) else asdict(found)}
                for condition, found in held
            ]
            write(out / CALIBRATION, json.dumps(data, ensure_ascii=False, indent=2) + "\n")
        arena = out / ARENA if spec.arena else None
        texts = write_arena(spec.arena, cells, failures, out / ARENA) if spec.arena else 0
        page = write_suite_page(
            out, suite, results, cells, pictures,
            repeats=repeats, accepted=accepted, made=_made_with(cells, settings), calibrations=held, texts=texts,
        )  # fmt: skip
    return Evaluation(results, page, tuple(pictures), arena)


def calibrations(suite: Suite, rows: Sequence[Row]) -> Iterator[tuple[Condition, Calibration | str]]:
    """For each condition, the agreement of a measure with people's ratings of the cases, or why there is none."""
    how = suite.spec.calibration
    if how is None or suite.people is None:
        return
    for condition in suite.spec.conditions():
        values = defaultdict[str, list[float]](list)
        for row in rows:
            if row.condition == condition and how.measure in row.values:
                values[row.case].append(row.values[how.measure])
        try:
            yield (
                condition,
                calibrate(
                    {case: fmean(some) for case, some in values.items()},
                    suite.people,
                    threshold=how.threshold,
                    score_threshold=how.score_threshold,
                    level=suite.spec.level,
                ),
            )
        except RatingError as error:
            yield condition, error.message


def _journals(folder: Path) -> dict[str, Path]:
    """All journals of jobs, earlier ones too, by the job's key."""
    return {path.parent.relative_to(folder).as_posix(): path for path in folder.rglob(JOURNAL)}


def _made_with(cells: Sequence[Cell], settings: Sequence[str]) -> list[str]:
    """Host, models and settings, for the report."""
    configs = [cell.config for cell in cells]
    models = dict.fromkeys(
        f"{alias} {model.provider}/{model.name}" for each in configs for alias, model in each.models.items()
    )
    hosts = ", ".join(sorted({each.host for each in configs}))
    by_hand = [f"Set by hand: {'; '.join(settings)}"] if settings else []
    return [f"Host: {hosts}; models: {', '.join(models)}", *by_hand]
