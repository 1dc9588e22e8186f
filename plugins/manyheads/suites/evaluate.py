"""From a suite to its numbers: run what is not finished, measure, sum up, write, draw."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from manyheads.config.run import BudgetConfig
from manyheads.engine.budget import JobsBudget
from manyheads.engine.folder import JOURNAL
from manyheads.engine.jobs import Listener, Local, Scheduler, finished_jobs
from manyheads.engine.jobtable import JobTable
from manyheads.hosts import host_factory, need_framework
from manyheads.measures.scores import as_lines
from manyheads.suites.cells import Cell, jobs_of, need_all, plans_of
from manyheads.suites.folder import begin, locked, record_of, write
from manyheads.suites.measuring import Coverage, Row, open_corpora, rows_of
from manyheads.suites.report import Entry, draw_suite, report_text, summarise, summary_table
from manyheads.suites.spec import Suite

RESULTS, SUMMARY, TABLE, REPORT = "results.jsonl", "summary.jsonl", "summary.csv", "report.md"


@dataclass(frozen=True)
class Evaluation:
    """What came of a suite: a row each cell, an entry each condition and measure, and the files to look at."""

    rows: tuple[Row, ...]
    entries: tuple[Entry, ...]
    report: Path
    pictures: tuple[Path, ...]

    @property
    def failed(self) -> list[Row]:
        """The cells without a result."""
        return [row for row in self.rows if row.error is not None]

    @property
    def lacking(self) -> list[Row]:
        """The cells with a result that does not hold all that is measured; what it holds as null is not meant."""
        return [row for row in self.rows if row.missing]


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
    """Bring a suite to its end in its folder; called again, it goes on where it was stopped.

    Processes that do so at the same time share the jobs, and each comes to the same end.

    Args:
        jobs: how many runs, or judgings of runs, there are at a time.
        budget: what all of it may cost together.
        settings: the `key=value` settings that were laid on the suite's own by hand, for the report to tell.

    Raises:
        ChangedError: the folder was begun by another suite, config or prompts, and changes are not accepted.
        UserError: a host, the folder, a prompt or a corpus cannot be used; a config lacks what its system needs; a
            measure that no result can have. A cell that fails raises nothing: it is told of.
    """
    spec, budget = suite.spec, budget or JobsBudget(BudgetConfig())
    plans = plans_of(cells, out)
    graph = jobs_of(plans)
    for host in {job.config.host for job in graph.values()}:
        need_framework(host)
    need_all(suite, graph.values())
    budget.need_prices(job.config for job in graph.values())
    record = record_of(suite, plans)
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
        executor = Local(host_factory, accept_changes, AGAIN)
        failures = await Scheduler(table, executor, budget, coverage, at_once=jobs).run(graph)
    rows = rows_of(spec, plans, failures, corpora)
    entries = summarise(spec, rows)
    with locked(out):
        write(out / RESULTS, as_lines(rows))
        write(out / SUMMARY, as_lines(entries))
        write(out / TABLE, summary_table(spec, entries))
        pictures = draw_suite(spec, rows, entries, out)
        made = list(_made_with(cells, settings))
        text = report_text(suite, repeats, rows, entries, pictures, accepted, made)
        write(out / REPORT, text)
    return Evaluation(tuple(rows), tuple(entries), out / REPORT, tuple(pictures))


def _journals(folder: Path) -> dict[str, Path]:
    """Every journal that a suite's jobs have left, earlier ones too, by the job's key."""
    return {path.parent.relative_to(folder).as_posix(): path for path in folder.rglob(JOURNAL)}


def _made_with(cells: Sequence[Cell], settings: Sequence[str]) -> Iterator[str]:
    """The host, the models and the settings that a reader of the numbers has to know of."""
    configs = [cell.config for cell in cells]
    models = {
        f"{alias} {model.provider}/{model.name}": None
        for each in configs
        for alias, model in each.models.items()
    }
    yield f"Host: {', '.join(sorted({each.host for each in configs}))}; models: {', '.join(models)}"
    if settings:
        yield f"Set by hand: {'; '.join(settings)}"
