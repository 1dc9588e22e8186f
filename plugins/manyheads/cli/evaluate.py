"""`manyheads eval`: a suite of runs, and what they come to."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from manyheads.cli.options import HostName, Model, Paths, Sets, configured, settings
from manyheads.cli.progress import plain

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from manyheads.config import RunConfig
    from manyheads.engine.jobs import JobNews, Listener
    from manyheads.suites.evaluate import Evaluation
    from manyheads.suites.report import Entry
    from manyheads.suites.spec import Suite

T = TypeVar("T")


def evaluate(
    name: Annotated[str, typer.Argument(help="A shipped suite such as team-size, or a suite's folder.")],
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1, help="Runs of each condition and case. [default: the suite's]", show_default=False
        ),
    ] = None,
    host: HostName = None,
    model: Model = None,
    sets: Sets = None,
    path: Paths = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The suite's folder. [default: runs/eval-<name>]", show_default=False),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Other cases: JSON Lines like the suite's own.", show_default=False
        ),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="What the whole suite may cost: calls, tokens, money, or minutes of this start. Repeatable.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 4,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Go on although suite, config or prompts have changed.")
    ] = False,
) -> None:
    """Run a suite: every condition, case and seed; measured, averaged, drawn. The same command again goes on."""
    from manyheads.resources import Resources
    from manyheads.suites.budget import SuiteBudget
    from manyheads.suites.cells import cells_of
    from manyheads.suites.evaluate import evaluate
    from manyheads.suites.plan import jobs_of, plans_of
    from manyheads.suites.spec import read_suite

    limits = SuiteBudget.parse(budget or ())
    suite = read_suite(name, Resources.of(path or ()), cases)
    flags = settings(sets, host, model)
    times = repeats or suite.spec.repeats

    def load(keys: tuple[str, ...]) -> "RunConfig":
        return configured(list(suite.spec.configs), keys, path)

    cells = cells_of(suite, times, load, flags)
    folder = out or Path("runs") / "-".join(["eval", suite.name, *([cases.stem] if cases else [])])
    with jobs_progress("runs", len(jobs_of(plans_of(suite.spec, cells, folder)))) as listener:
        work = evaluate(
            suite, cells, folder, repeats=times, jobs=jobs, accept_changes=accept_changes, listener=listener,
            budget=limits, settings=sets or (),
        )  # fmt: skip
        evaluation = driven(work)
    _show(suite, evaluation)
    if evaluation.failed or evaluation.lacking:
        raise typer.Exit(1)


def driven(work: Coroutine[Any, Any, T]) -> T:
    """Run jobs; an interrupt says how to go on, and exits with 130."""
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        typer.echo("manyheads: stopped; what was said is kept: the same command goes on", err=True)
        raise typer.Exit(130) from None


def _show(suite: "Suite", evaluation: "Evaluation") -> None:
    from rich.console import Console

    from manyheads.report.plots import WITHOUT
    from manyheads.suites.report import OFFLINE_NOTE, counted, is_offline

    console = Console()
    typer.echo(f"{suite.name}: mean ± standard error over n {counted(evaluation.rows)}")
    console.print(suite_table(console, suite, evaluation))
    _explain(suite, evaluation)
    if warned := sum(bool(row.warnings) for row in evaluation.rows):
        typer.echo(
            f"{warned} of {len(evaluation.rows)} cells finished with warnings, which the report names",
            err=True,
        )
    if suite.spec.plot and not evaluation.pictures:
        typer.echo(f"warning: {WITHOUT}", err=True)
    if is_offline(evaluation.rows):
        typer.echo(f"{OFFLINE_NOTE}.")
    for picture in evaluation.pictures:
        typer.echo(f"Plot      {picture}")
    typer.echo(f"Report    {evaluation.report}")


def _explain(suite: "Suite", evaluation: "Evaluation") -> None:
    """What is not in the means, and why; the same reason once."""
    for why, cells in _by_reason((row.error or "", row.cell) for row in evaluation.failed).items():
        typer.echo(f"failed: {cells}: {why}", err=True)
    lacking = (
        (f"no {name}: {why}", row.cell) for row in evaluation.lacking for name, why in row.missing.items()
    )
    for why, cells in _by_reason(lacking).items():
        typer.echo(f"not measured: {cells}: {why}", err=True)
    if bad := len(evaluation.failed) + len(evaluation.lacking):
        typer.echo(f"{bad} of {len(evaluation.rows)} cells are left out of means, see above", err=True)
    if evaluation.failed:
        typer.echo("The same command goes on, with what has failed and what was not tried.", err=True)
    for name in suite.spec.measures:
        if unknown := sum(name in row.unknown for row in evaluation.rows):
            typer.echo(
                f"unknown: {name}: null in the results of {unknown} of {len(evaluation.rows)} cells", err=True
            )


def _by_reason(said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Of what was said of cells, for what reason which."""
    from manyheads.cli.progress import plain
    from manyheads.suites.report import cells_by

    return {
        why: f"{cells[0]} and {len(cells) - 1} more" if cells[1:] else cells[0]
        for why, cells in cells_by((plain(why), cell) for why, cell in said).items()
    }


# What is shown while jobs run: a bar and the jobs under way on a terminal, a line each finished job elsewhere.


@contextmanager
def jobs_progress(what: str, total: int) -> "Generator[Listener]":
    """Tells of jobs on standard error."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield _lines(total)
        return
    with _live(console, what, total) as listener:
        yield listener


def _lines(total: int) -> "Listener":
    ended = 0

    def listener(news: "JobNews") -> None:
        nonlocal ended
        if news.state in ("kept", "finished", "failed", "left out"):
            ended += 1
        if news.state in ("finished", "failed", "lacks"):
            print(f"{ended}/{total} {_line(news)}", file=sys.stderr, flush=True)

    return listener


@contextmanager
def _live(console: "Console", what: str, total: int) -> "Generator[Listener]":
    from rich.console import Group
    from rich.live import Live
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    whole = Progress(TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    text = TextColumn("{task.description}", markup=False)
    jobs = Progress(SpinnerColumn(), text, TimeElapsedColumn())
    with Live(Group(whole, jobs), console=console, transient=True, redirect_stdout=False):
        yield _bars(console, whole, whole.add_task("", total=total), jobs)


def _bars(console: "Console", whole: Any, all_jobs: Any, jobs: Any) -> "Listener":
    under_way: dict[str, Any] = {}

    def listener(news: "JobNews") -> None:
        key, label = news.job.key, plain(news.job.label)
        if news.state in ("failed", "lacks"):
            console.print(_line(news), markup=False, highlight=False)
        if news.state == "began":
            under_way[key] = jobs.add_task(label, total=None)
        elif news.state == "goes on":
            if news.text:
                jobs.update(under_way[key], description=f"{label}: {plain(news.text)}")
        elif news.state != "lacks":
            if key in under_way:
                jobs.remove_task(under_way.pop(key))
            whole.advance(all_jobs)

    return listener


def _line(news: "JobNews") -> str:
    return f"{news.state}: {plain(news.job.label)}{f': {plain(news.text)}' if news.text else ''}"


# A suite's means as a table: a column for each measure where the terminal is wide enough, else a line.


WIDEST = 16
"""Characters of an axis's name that a table holds in one line."""
ENDLESS = 100_000
"""Characters of a line that no table fills: what a table would like is not told beyond the width that it has."""


def suite_table(console: "Console", suite: "Suite", evaluation: "Evaluation") -> "Table":
    """The table that fits best; no mean is parted from its error by chance."""
    from manyheads.suites.report import mean_text

    def stacked(entry: "Entry") -> str:
        return mean_text(entry).replace(" ± ", "\n± ")

    unbound = console.options.update(width=ENDLESS)
    for table in (
        _wide(suite, evaluation, mean_text, narrow=False),
        _wide(suite, evaluation, stacked, narrow=True),
        _long(suite, evaluation, mean_text, narrow=False),
        _long(suite, evaluation, mean_text, narrow=True),
    ):
        if console.measure(table, options=unbound).maximum <= console.width:
            return table
    return _long(suite, evaluation, mean_text, narrow=True, fold=True)


def _wide(
    suite: "Suite", evaluation: "Evaluation", told: "Callable[[Entry], str]", *, narrow: bool
) -> "Table":
    from rich.text import Text

    table = _headed(suite, narrow=narrow)
    table.pad_edge = False
    for measure in suite.spec.measures:
        table.add_column(Text(measure), justify="right", no_wrap=True)
    for entries in _conditions(suite, evaluation):
        counts = sorted({entry.n for entry in entries})
        n = str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
        table.add_row(*_axes(suite, entries[0]), n, *map(told, entries))
    return table


def _long(
    suite: "Suite",
    evaluation: "Evaluation",
    told: "Callable[[Entry], str]",
    *,
    narrow: bool,
    fold: bool = False,
) -> "Table":
    from rich.text import Text

    table = _headed(suite, narrow=narrow)
    table.add_column("measure", no_wrap=not fold, overflow="fold")
    table.add_column("mean ± SE", justify="right", no_wrap=True)
    for entries in _conditions(suite, evaluation):
        for entry in entries:
            axes = _axes(suite, entry) if entry is entries[0] else [Text()] * len(suite.spec.axes)
            table.add_row(*axes, str(entry.n), Text(entry.measure), told(entry))
    return table


def _headed(suite: "Suite", *, narrow: bool) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=not narrow, collapse_padding=narrow)
    for axis in suite.spec.axes:
        head = axis.replace(".", ".\n") if narrow else axis
        table.add_column(head, min_width=min(max(map(len, head.split("\n"))), WIDEST), overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    return table


def _conditions(suite: "Suite", evaluation: "Evaluation") -> "Iterator[Sequence[Entry]]":
    """The entries of each condition: one for each measure."""
    each = len(suite.spec.measures)
    return (evaluation.entries[start : start + each] for start in range(0, len(evaluation.entries), each))


def _axes(suite: "Suite", entry: "Entry") -> "list[Text]":
    from rich.text import Text

    return [Text(str(entry.condition[axis])) for axis in suite.spec.axes]
