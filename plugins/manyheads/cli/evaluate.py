"""`manyheads eval`: a suite of runs, and what they come to."""

import asyncio
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyheads.cli.options import HostName, Model, Paths, Sets, configured, settings

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.suites.evaluate import Evaluation
    from manyheads.suites.suite import Suite


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
    from manyheads.cli.evaluate_progress import suite_progress
    from manyheads.resources import Resources
    from manyheads.suites.cells import cells_of
    from manyheads.suites.evaluate import evaluate
    from manyheads.suites.plan import jobs_of, plans_of
    from manyheads.suites.purse import purse_of
    from manyheads.suites.suite import read_suite

    purse = purse_of(budget or ())
    suite = read_suite(name, Resources.of(path or ()), cases)
    flags = settings(sets, host, model)
    times = repeats or suite.spec.repeats

    def load(keys: tuple[str, ...]) -> "RunConfig":
        return configured(list(suite.spec.configs), keys, path)

    cells = cells_of(suite, times, load, flags)
    folder = out or Path("runs") / "-".join(["eval", suite.name, *([cases.stem] if cases else [])])
    with suite_progress(len(jobs_of(plans_of(suite.spec, cells, folder)))) as tell:
        work = evaluate(
            suite, cells, folder, repeats=times, jobs=jobs, accept_changes=accept_changes, tell=tell, purse=purse,
            given=sets or (),
        )  # fmt: skip
        found = _driven(work)
    _show(suite, found)
    if found.failed or found.lacking:
        raise typer.Exit(1)


def _driven(work: Coroutine[Any, Any, "Evaluation"]) -> "Evaluation":
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        typer.echo("manyheads: stopped; what was said is kept: the same command goes on", err=True)
        raise typer.Exit(130) from None


def _show(suite: "Suite", found: "Evaluation") -> None:
    from rich.console import Console

    from manyheads.cli.evaluate_table import suite_table
    from manyheads.report.suite_plots import WITHOUT
    from manyheads.suites.report import OFFLINE_NOTE, is_offline
    from manyheads.suites.summary import counted

    console = Console()
    typer.echo(f"{suite.name}: mean ± standard error over n {counted(found.rows)}")
    console.print(suite_table(console, suite, found))
    _explain(suite, found)
    if warned := sum(bool(row.warnings) for row in found.rows):
        typer.echo(
            f"{warned} of {len(found.rows)} cells finished with warnings, which the report names", err=True
        )
    if suite.spec.plot and not found.pictures:
        typer.echo(f"warning: {WITHOUT}", err=True)
    if is_offline(found.rows):
        typer.echo(f"{OFFLINE_NOTE}.")
    for picture in found.pictures:
        typer.echo(f"Plot      {picture}")
    typer.echo(f"Report    {found.report}")


def _explain(suite: "Suite", found: "Evaluation") -> None:
    """What is not in the means, and why; the same reason once."""
    for why, cells in _by_reason((row.error or "", row.cell) for row in found.failed).items():
        typer.echo(f"failed: {cells}: {why}", err=True)
    lacking = ((f"no {name}: {why}", row.cell) for row in found.lacking for name, why in row.missing.items())
    for why, cells in _by_reason(lacking).items():
        typer.echo(f"not measured: {cells}: {why}", err=True)
    if bad := len(found.failed) + len(found.lacking):
        typer.echo(f"{bad} of {len(found.rows)} cells are left out of means, see above", err=True)
    if found.failed:
        typer.echo("The same command goes on, with what has failed and what was not tried.", err=True)
    for name in suite.spec.measures:
        if unknown := sum(name in row.unknown for row in found.rows):
            typer.echo(
                f"unknown: {name}: null in the results of {unknown} of {len(found.rows)} cells", err=True
            )


def _by_reason(said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Of what was said of cells, for what reason which."""
    from manyheads.cli.progress import plain
    from manyheads.suites.report import cells_by

    return {
        why: f"{cells[0]} and {len(cells) - 1} more" if cells[1:] else cells[0]
        for why, cells in cells_by((plain(why), cell) for why, cell in said).items()
    }
