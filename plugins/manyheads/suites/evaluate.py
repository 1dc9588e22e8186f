"""From a suite to its numbers: run what is not finished, measure, sum up, write, draw."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from manyheads.config.sections import BudgetConfig
from manyheads.hosts import need_framework
from manyheads.measures.scores import as_lines
from manyheads.suites.cells import Cell
from manyheads.suites.folder import REPORT, RESULTS, SuiteFolder, record_of
from manyheads.suites.measuring import Row, open_corpora, rows_of
from manyheads.suites.plan import jobs_of, need_all, plans_of
from manyheads.suites.report import Entry, draw_suite, report_text, summarise, summary_table
from manyheads.suites.run import Lookout, Purse, Runner, Tell
from manyheads.suites.spec import Suite

SUMMARY, TABLE = "summary.jsonl", "summary.csv"


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


async def evaluate(
    suite: Suite,
    cells: Sequence[Cell],
    out: Path,
    *,
    repeats: int,
    jobs: int,
    accept_changes: bool,
    tell: Tell,
    purse: Purse | None = None,
    given: Sequence[str] = (),
) -> Evaluation:
    """Bring a suite to its end in its folder; called again, it goes on where it was stopped.

    Args:
        jobs: how many runs, or judgings of runs, there are at a time.
        purse: what all of it may cost together.
        given: the `key=value` settings that were laid on the suite's own by hand, for the report to tell.

    Raises:
        ChangedError: the folder was begun by another suite, config or prompts, and changes are not accepted.
        UserError: a host, the folder, a prompt or a corpus cannot be used; a config lacks what its system needs; a
            measure that no result can have. A cell that fails raises nothing: it is told of.
    """
    spec, purse = suite.spec, purse or Purse(BudgetConfig())
    plans = plans_of(spec, cells, out)
    wanted = jobs_of(plans)
    for host in {job.config.host for job in wanted.values()}:
        need_framework(host)
    need_all(suite, wanted.values())
    with SuiteFolder.opened(out, record_of(suite, plans), accept_changes=accept_changes) as folder:
        corpora = open_corpora(spec, cells)
        purse.open(wanted.values(), folder.path)
        failures = await Runner(jobs, accept_changes, purse, Lookout(spec, wanted), tell).run(wanted)
        rows = rows_of(spec, plans, failures, corpora)
        entries = summarise(spec, rows)
        folder.write(RESULTS, as_lines(rows))
        folder.write(SUMMARY, as_lines(entries))
        folder.write(TABLE, summary_table(spec, entries))
        pictures = draw_suite(spec, rows, entries, folder.path)
        made = list(_made_with(cells, given))
        text = report_text(suite, repeats, rows, entries, pictures, folder.accepted, made)
        report = folder.write(REPORT, text)
        return Evaluation(tuple(rows), tuple(entries), report, tuple(pictures))


def _made_with(cells: Sequence[Cell], given: Sequence[str]) -> Iterator[str]:
    """The host, the models and the settings that a reader of the numbers has to know of."""
    configs = [cell.config for cell in cells]
    models = {
        f"{alias} {model.provider}/{model.name}": None
        for each in configs
        for alias, model in each.models.items()
    }
    yield f"Host: {', '.join(sorted({each.host for each in configs}))}; models: {', '.join(models)}"
    if given:
        yield f"Set by hand: {'; '.join(given)}"
