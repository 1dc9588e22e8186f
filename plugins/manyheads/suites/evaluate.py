"""From a suite to its numbers: run what is not finished, measure, sum up, write, draw."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from manyheads.config import BudgetConfig
from manyheads.engine.budget import JobsBudget
from manyheads.engine.folder import JOURNAL
from manyheads.engine.jobs import Listener, Local, Scheduler, finished_jobs
from manyheads.engine.jobtable import JobTable
from manyheads.hosts import host_factory, need_framework
from manyheads.measures.scores import as_lines
from manyheads.suites.cells import Cell, jobs_of, need_all
from manyheads.suites.folder import begin, locked, record_of, write
from manyheads.suites.measuring import Coverage, open_corpora, replies_of, rows_of
from manyheads.suites.report import Results, draw_suite, replies_table, report_text, summary_table
from manyheads.suites.spec import REPLIES, Suite

RESULTS, SUMMARY, TABLE, REPORT = "results.jsonl", "summary.jsonl", "summary.csv", "report.md"
TASKS = "replies.csv"


@dataclass(frozen=True)
class Evaluation:
    """What came of a suite, and the files to look at."""

    results: Results
    report: Path
    pictures: tuple[Path, ...]


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
    budget: JobsBudget | None = None,
    settings: Sequence[str] = (),
) -> Evaluation:
    """Bring a suite to its end in its folder; called again, it goes on, and shares the jobs with other processes.

    Args:
        cells: whose jobs have their folders below `out`.
        jobs: how many runs, or judgings of runs, there are at a time.
        settings: those that were laid on the suite's own by hand, for the report.

    Raises:
        ChangedError: the folder was begun by another suite, config or prompts, and changes are not accepted.
        UserError: a host, the folder, a prompt, a corpus, a config or a measure cannot be used. Cells that fail are
            told of instead.
    """
    spec, budget = suite.spec, budget or JobsBudget(BudgetConfig())
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
        write(out / SUMMARY, as_lines(results.entries))
        write(out / TABLE, summary_table(results))
        if counted:
            write(out / TASKS, replies_table(results))
        pictures = draw_suite(results, out)
        text = report_text(suite, repeats, results, pictures, accepted, _made_with(cells, settings))
        write(out / REPORT, text)
    return Evaluation(results, out / REPORT, tuple(pictures))


def _journals(folder: Path) -> dict[str, Path]:
    """Every journal that jobs have left, earlier ones too, by the job's key."""
    return {path.parent.relative_to(folder).as_posix(): path for path in folder.rglob(JOURNAL)}


def _made_with(cells: Sequence[Cell], settings: Sequence[str]) -> list[str]:
    """The host, the models and the settings that a reader of the numbers has to know of."""
    configs = [cell.config for cell in cells]
    models = dict.fromkeys(
        f"{alias} {model.provider}/{model.name}" for each in configs for alias, model in each.models.items()
    )
    hosts = ", ".join(sorted({each.host for each in configs}))
    by_hand = [f"Set by hand: {'; '.join(settings)}"] if settings else []
    return [f"Host: {hosts}; models: {', '.join(models)}", *by_hand]
