"""`manyheads eval`: a suite of runs with its results; `manyheads plant`: papers with known errors for one."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import Field

from manyheads.base.errors import BudgetError, ConfigError, ExitCode, UserError, did_you_mean
from manyheads.base.text import first_few, plain
from manyheads.cli import completion
from manyheads.cli.engine import Running
from manyheads.cli.options import Changes, Options, Spending, configured, resumable
from manyheads.cli.printing import safe_console, say
from manyheads.cli.progress import jobs_progress
from manyheads.cli.run import only_estimated

Preset = Literal["quick", "paper"]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from manyheads.config import BudgetConfig, RunConfig
    from manyheads.suites.cells import Load
    from manyheads.suites.evaluate import Evaluation
    from manyheads.suites.report import Results
    from manyheads.suites.spec import Suite


class Evaluating(Spending):
    name: Annotated[str, typer.Argument(metavar="SUITE", autocompletion=completion.suites)] = ""
    """A shipped suite, such as team-size, or the folder of your own."""
    folders: Annotated[tuple[Path, ...], typer.Argument(metavar="[SHARD…]")] = ()
    """With --merge: the folders of the shards."""
    list: bool = False
    """List all suites: the paper and table that each repeats, and its cost with the model."""
    preset: Annotated[Preset, typer.Option(metavar="NAME")] = "quick"
    """Size: quick (minutes with the offline model), or paper (that of the publication)."""
    repeats: int | None = Field(default=None, ge=1)
    """Runs per condition and case, each with another seed. [default: the suite's]"""
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FOLDER")] = None
    """Folder of the results. [default: runs/eval-SUITE]"""
    cases: Annotated[Path | None, typer.Option(metavar="FILE|FOLDER")] = None
    """Use these cases instead of the suite's: JSON Lines, or a folder of papers for a suite on papers."""
    shard: Annotated[str | None, typer.Option(metavar="I/N")] = None
    """Run only part I of N, in a folder of its own, such as on another machine."""
    merge: bool = False
    """Put the shards' folders together and report; asks no model."""
    accept_changes: bool = False
    """Resume although suite, config or prompts have changed."""


def evaluate(options: Evaluating, running: Running, changes: Changes) -> None:
    """Run an evaluation suite, measure every run, and write tables, plots and a report.

    A suite runs each condition on each case with several seeds. Run the same command again to resume it. Exits with 5 if
    runs failed or lack a measure, and with 3 if the budget is spent; the results of the others are reported.
    """
    from manyheads.base.resources import Resources
    from manyheads.engine.budget import Budget
    from manyheads.engine.jobs import finished_jobs
    from manyheads.suites.cells import RUN, cells_of, expected_runs, jobs_of
    from manyheads.suites.evaluate import run_jobs, summarise
    from manyheads.suites.shards import Shard, shards_in
    from manyheads.suites.spec import read_suite

    if options.list:
        return _list(changes)
    _check_shards(options)
    limits = Budget.parse(options.budget or ())
    suite = read_suite(options.name, Resources.of(changes.path or ()), options.cases, options.preset)
    times = options.repeats or suite.spec.repeats
    for judge, key in suite.lacking.items():
        say(f"warning: nothing of {judge} is measured: not every case has {key}", err=True)

    load = loader(suite, changes)
    own = [options.cases.stem] if options.cases else []
    folder = options.out or Path("runs") / "-".join(["eval", suite.name, *own])
    cells = cells_of(suite, times, load, folder, changes.settings())
    shard = Shard.parse(options.shard) if options.shard else None
    merged = shards_in(options.folders) if options.merge else []
    graph = jobs_of(cells)
    total = len(graph)
    if shard:
        graph = jobs_of(shard.cells(cells))
        limits = shard.share(limits, len(graph), total)
    left = [graph[key] for key, finished in finished_jobs(graph).items() if not finished and not merged]
    runs = expected_runs(left)
    kinds = sorted({job.kind for job in left if job.kind != RUN})
    if only_estimated(runs, options, without=[f"each {kind} of a run" for kind in kinds]):
        return
    _warn_of(runs, limits.limits)
    with (
        resumable(),
        running.opened(cells[0].config, here=options.merge) as engine,
        jobs_progress("runs", len(graph), runs=() if kinds else runs) as listener,
    ):
        work = run_jobs(
            suite, cells, folder, engine=engine, accept_changes=options.accept_changes, listener=listener,
            budget=limits, shard=shard, merged=merged,
        )  # fmt: skip
        outcome = running.finish(work)
    if shard:
        say(f"Shard     {folder}  ({len(graph)} of {total} runs; put all together: --merge FOLDER…)")
        if outcome.failures:
            raise typer.Exit(ExitCode.BUDGET if limits.stopped else ExitCode.PARTIAL)
        return
    evaluation = summarise(suite, cells, folder, outcome, repeats=times, settings=changes.sets or ())
    _show(suite, evaluation)
    if evaluation.results.failed or evaluation.results.lacking:
        raise typer.Exit(ExitCode.BUDGET if limits.stopped else ExitCode.PARTIAL)


def _warn_of(runs: "Sequence[RunConfig]", limits: "BudgetConfig") -> None:
    """Print what models cannot do and the budget cannot pay; raises `BudgetError` if it cannot pay the first run."""
    from manyheads.engine.estimate import shortfall
    from manyheads.engine.readiness import blind, roles_of, switched_off

    kinds = {config.model_copy(update={"seed": 0}).model_dump_json(): config for config in runs}.values()
    try:
        pairs = [(config, roles_of(config)) for config in kinds]
        lines = [line for pair in pairs for line in (*switched_off(*pair), *blind(*pair))]
        lines += [short] if (short := asyncio.run(shortfall(runs, limits))) else []
    except BudgetError:
        raise
    except UserError:
        return  # said by the suite, with the name of the run
    for line in dict.fromkeys(lines):
        say(f"warning: {line}", err=True)


def loader(suite: "Suite", changes: Changes) -> "Load":
    def load(keys: tuple[str, ...], system: str | None) -> "RunConfig":
        return configured([*suite.spec.configs], keys, changes.path, system=system, strict=False)

    return load


def _list(changes: Changes) -> None:
    """Print all suites with their costs."""
    from manyheads.base.resources import Resources
    from manyheads.config import ModelConfig
    from manyheads.core.usage import money
    from manyheads.suites.catalogue import sizes_of
    from manyheads.suites.spec import suite_names

    resources, alone = Resources.of(changes.path or ()), not (changes.sets or changes.path)
    model = ModelConfig.parse(changes.model or "offline") if alone else None
    model = model and model.model_copy(update={"batch": changes.batch})
    for name in suite_names(resources):
        loading = sizes_of(name, resources, lambda sized: loader(sized, changes), changes.settings(), model)
        suite, sizes = asyncio.run(loading)
        say(f"{name}  {suite.spec.table or suite.spec.title}")
        for size in sizes:
            label = "once" if size.preset == "quick" else "paper"
            if (usage := size.usage) is None:
                say(f"  {label:<6} cannot be estimated here: {size.why}")
                continue
            cost = "" if usage.cost is None else f"  {money(usage.cost, 'USD')}"
            judged = f"  and each {', each '.join(size.judged)}" if size.judged else ""
            own = "  with models of its own" if size.own_models and changes.model else ""
            more = "" if size.whole else "  or more"
            counts = f"{size.runs:>7,} runs {usage.calls:>9,} calls {usage.tokens / 1e6:>9,.2f} M tokens"
            say(f"  {label:<6}{counts}{cost}{more}{own}{judged}")
    say(
        "once: each condition and case one time; paper: as in the publication. Estimated from a few runs of each."
    )


def _check_shards(options: Evaluating) -> None:
    """Raises `typer.BadParameter` for options of shards that do not go together."""
    if not options.name:
        raise typer.BadParameter("name a suite; manyheads eval --list shows all")
    if options.folders and not options.merge:
        raise typer.BadParameter(f"{options.folders[0]}: a folder is named only with --merge")
    if options.merge and (options.shard or options.estimate or options.budget):
        raise typer.BadParameter("--merge runs nothing: it takes no --shard, --estimate or --budget")
    if options.shard and not options.out:
        raise typer.BadParameter("--shard: name a folder of its own: --out FOLDER")


def _show(suite: "Suite", evaluation: "Evaluation") -> None:
    from manyheads.report.plots import WITHOUT
    from manyheads.suites.report import OFFLINE_NOTE, verdicts

    results = evaluation.results
    say(f"{suite.name}: mean ± standard error over n {results.unit}")
    safe_console().print(_table(results))
    for line in verdicts(results):
        say(line)
    _explain(results)
    if warned := sum(bool(row.warnings) for row in results.rows):
        say(f"{warned} of {len(results.rows)} cells finished with warnings; see the report", err=True)
    if suite.spec.plot and not evaluation.pictures:
        say(f"warning: {WITHOUT}", err=True)
    if results.offline:
        say(f"{OFFLINE_NOTE}.")
    for picture in evaluation.pictures:
        say(f"Plot      {picture}")
    if evaluation.arena:
        say(f"Arena     {evaluation.arena}  (manyheads arena invite {evaluation.arena} NAME)")
    say(f"Report    {evaluation.report}")


def _explain(results: "Results") -> None:
    """Print the cells left out of the means, each reason once."""
    from manyheads.suites.report import cells_by

    failed = [(row.error or "", row.cell) for row in results.failed]
    lacking = [
        (f"no {name}: {why}", row.cell) for row in results.lacking for name, why in row.missing.items()
    ]
    for what, reasons in (("failed", failed), ("not measured", lacking)):
        for why, cells in cells_by((plain(why), cell) for why, cell in reasons).items():
            say(f"{what}: {first_few(cells, 1)}: {why}", err=True)
    if bad := len(results.failed) + len(results.lacking):
        say(f"{bad} of {len(results.rows)} cells are left out of the means, see above", err=True)
    if failed:
        say("To retry failed runs, run the same command again.", err=True)
    for name in results.spec.measures:
        if partial := [row.partial[name] for row in results.rows if name in row.partial]:
            some = f"{len(partial)} of {len(results.rows)} cells, such as {partial[0]}"
            say(f"known in part: {name}: {some}", err=True)
        if unknown := sum(name in row.unknown for row in results.rows):
            say(f"unknown: {name}: null in the results of {unknown} of {len(results.rows)} cells", err=True)


def _table(results: "Results") -> "Table":
    """The means, a line for each measure of each condition."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from manyheads.suites.report import with_error

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for axis in results.spec.axes:
        table.add_column(axis.replace(".", ".\n"), overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("measure", overflow="fold")
    table.add_column("mean ± SE", justify="right", no_wrap=True)
    for number, entry in enumerate(results.entries):
        first = number % len(results.spec.measures) == 0
        names = (Text(str(entry.condition[axis]) if first else "") for axis in results.spec.axes)
        mean = with_error(entry.mean, entry.se, results.decimals(entry.measure))
        table.add_row(*names, str(entry.n), Text(entry.measure), mean)
    return table


PLANTED = ("wrong-number", "caption", "missing-baseline", "broken-reference", "swapped-columns")
"""The kinds of `judges.planted_error.planted`, listed here so that help does not load it."""


class PlantOptions(Options):
    papers: Annotated[tuple[Path, ...], typer.Argument(metavar="PAPER|FOLDER…")]
    """Papers in a supported format, or folders of papers."""
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", autocompletion=completion.one_of(*PLANTED))
    ] = None
    """Kind of error: wrong-number, caption, missing-baseline, broken-reference, swapped-columns. Repeatable. [default: all]"""
    seed: int = 0
    """Random seed: chooses the numbers, captions and rows to change."""
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER")] = Path("planted")
    """Folder to write to."""


def plant(options: PlantOptions) -> None:
    """Plant known errors into copies of papers, to test reviewers.

    Each copy gets one error. `manyheads eval review-planted-errors` then measures how many of them reviewers find.
    """
    from manyheads.base.text import count
    from manyheads.judges.planted_error.planted import KINDS
    from manyheads.judges.planted_error.result import CASES, KEY, plant_all

    kind, out = options.kind or KINDS, options.out
    if strange := set(kind) - {*KINDS}:
        word = min(strange)
        raise ConfigError(
            f"--kind {', '.join(sorted(strange))}: no such kind of error",
            tried=f"kinds: {', '.join(KINDS)}",
            hint=did_you_mean(word, KINDS, "name one of these"),
        )
    files = [
        file
        for path in options.papers
        for file in (sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path])
    ]
    if not files:
        raise typer.BadParameter(f"{options.papers[0]}: no files in it")
    key = plant_all(files, out, [each for each in KINDS if each in kind], options.seed)
    clean = sum(each.planted is None for each in key.documents)
    say(f"{count(clean, 'paper')}, {count(len(key.documents) - clean, 'planted error')}")
    for paper, kinds in key.without.items():
        say(f"{paper}: no place for these errors: {', '.join(kinds)}")
    say(f"Key       {out / KEY}  (keep it from reviewers)")
    say(f"Cases     {out / CASES}  (manyheads eval review-planted-errors --cases {out / CASES})")
