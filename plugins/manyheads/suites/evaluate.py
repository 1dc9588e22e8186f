"""From a suite to its numbers: run what is not finished, measure, sum up, write, draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from manyheads.hosts import need_framework
from manyheads.measures.lines import as_lines
from manyheads.suites.cells import Cell
from manyheads.suites.folder import REPORT, RESULTS, SuiteFolder
from manyheads.suites.measuring import Row, open_corpora, rows_of
from manyheads.suites.pictures import draw_suite
from manyheads.suites.report import report_text
from manyheads.suites.run import Runner, Tell
from manyheads.suites.suite import Suite
from manyheads.suites.summary import Entry, summarise, summary_table

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
        """The cells with a result that does not hold all that is measured."""
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
) -> Evaluation:
    """Bring a suite to its end in its folder; called again, it goes on where it was stopped.

    Raises:
        ChangedError: the folder was begun by another suite, config or prompts, and changes are not accepted.
        UserError: a host, the folder or a corpus cannot be used. A cell that fails raises nothing: it is told of.
    """
    spec = suite.spec
    for host in {cell.config.host for cell in cells}:
        need_framework(host)
    with SuiteFolder.opened(out, suite, cells, accept_changes=accept_changes) as folder:
        corpora = open_corpora(spec, cells)
        reviewed = any(each.of == "review" for each in spec.wanted)
        failures = await Runner(folder, reviewed, jobs, accept_changes, tell).run(cells)
        rows = rows_of(spec, cells, failures, folder, corpora)
        entries = summarise(spec, rows)
        folder.write(RESULTS, as_lines(rows))
        folder.write(SUMMARY, as_lines(entries))
        folder.write(TABLE, summary_table(spec, entries))
        pictures = draw_suite(spec, rows, entries, folder.path)
        report = folder.write(REPORT, report_text(suite, repeats, rows, entries, pictures))
        return Evaluation(tuple(rows), tuple(entries), report, tuple(pictures))
