"""`manyheads run` and `manyheads resume`, and the cost that runs are estimated to have."""

import asyncio
import json
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, aclosing, contextmanager, suppress
from itertools import chain
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import Field

from manyheads.base.errors import closest
from manyheads.base.files import read_text, replace_text, writable
from manyheads.base.folders import CONFIG, LABELS, write
from manyheads.base.text import count
from manyheads.cli import completion
from manyheads.cli.engine import Running
from manyheads.cli.options import (
    Changes,
    Configs,
    Options,
    RunFolder,
    Seed,
    Spending,
    collect_garbage,
    runs_found,
    settings,
    stopped,
    with_folders,
)
from manyheads.cli.person import Control, Terminal, errors_as_lines, is_terminal
from manyheads.cli.printing import browse, safe_console, say, say_json, warn_of_skipped

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.engine.bills import Bills
    from manyheads.engine.budget import Budget
    from manyheads.engine.estimate import Estimating


def print_estimate(
    configs: "Sequence[RunConfig]",
    *,
    as_json: bool,
    without: Sequence[str] = (),
    by: "Estimating | None" = None,
) -> None:
    """Print the estimated cost of runs by stage. Needs their models' names, but no key and no server.

    Args:
        by: estimates them, if they are no runs of a system.
        without: what the estimate leaves out, in words.
    """
    from rich.table import Table

    from manyheads.engine.estimate import LONGER, estimate

    made = asyncio.run((by or estimate)(configs))
    spent, (currency, note) = made.spent, _prices(configs)
    if as_json:
        shown = {"calls", "input_tokens", "output_tokens", "cost"}
        stages = [{"stage": stage, **usage.model_dump(include=shown)} for stage, usage in spent.items()]
        data = {"runs": len(configs), "stages": stages, "total": spent.total.model_dump(include=shown)}
        data |= {"longer": LONGER, "currency": currency, "prices": note, "basis": made.basis}
        say_json(json.dumps(data))
        return
    priced = spent.total.cost is not None
    runs = f" of {len(configs)} runs" if len(configs) != 1 else ""
    table = Table(title=f"Estimate{runs} (no model was asked)", title_justify="left")
    cost = [f"cost ({currency})" if currency else "cost"] * priced
    for heading in ("stage", "calls", "tokens in", "tokens out", *cost):
        table.add_column(heading, justify="left" if heading == "stage" else "right", overflow="fold")
    for name, usage in [*spent.items(), ("total", spent.total)]:
        if name == "total":
            table.add_section()
        figures = (f"{each:,}" for each in (usage.calls, usage.input_tokens, usage.output_tokens))
        table.add_row(name, *figures, *([f"{usage.cost or 0:.4f}"] * priced))
    safe_console().print(table, markup=False)
    say(
        f"Based on a dry run of the offline model, with replies {LONGER} times as long (or as long as the form asks for) and "
        "the maximum number of papers per search.\nReasoning and repeated requests come on top, unless runs of yours correct the "
        "estimate: manyheads estimate --against RUN…"
    )
    for each in made.basis:
        say(f"The estimate is {each}.")
    if any(model.calls_tools for each in configs for model in each.models.values()):
        say("The model calls tools: each round of tool calls in a turn takes one more request.")
    for each in without:
        say(f"Not included: {each}.")
    if note:
        say(f"Prices: {note}.")
    if not priced:
        say(
            "For a cost: --set 'models.default.price={input: 0.15, output: 0.6}', per million tokens; list prices hold for the provider's own server only"
        )


class Comparing(Options):
    against: Annotated[list[Path], typer.Option(metavar="RUN", autocompletion=completion.runs)]
    """A finished run, or a folder of runs. Repeatable."""
    more: Annotated[tuple[Path, ...], typer.Argument(metavar="RUN…", autocompletion=completion.runs)] = ()
    """Further runs, so that --against runs/* takes all."""


def estimate(options: Comparing) -> None:
    """Compare finished runs with their estimates, and correct later estimates of the same systems and models.

    Prints bill ÷ estimate by stage. From three runs of a system and its models on, later estimates are corrected, and say so.
    A new run is estimated by: manyheads run NAME --estimate
    """
    from manyheads.base.errors import SubjectError, UserError
    from manyheads.engine.estimate import compared
    from manyheads.systems.loading import reopen

    found, skipped = dict[str, "Bills"](), list[str]()
    for folder in chain.from_iterable(map(_runs_in, runs_found([*options.against, *options.more]))):
        try:
            bills = asyncio.run(compared(folder, reopen(folder)))
            found[bills.about] = bills
        except UserError as error:
            skipped.append(error.message)
    if not found:
        hint = "name finished runs of language models: manyheads list runs"
        raise SubjectError("no run could be compared", tried="; ".join(skipped), hint=hint)
    warn_of_skipped(skipped)
    for bills in found.values():
        _print_bills(bills)


def _runs_in(folder: Path) -> list[Path]:
    """The folder itself, or the runs in it and in the folders below it."""
    from manyheads.report.index import runs_here

    return [folder] if (folder / CONFIG).is_file() else [run for run, _ in runs_here(folder)] or [folder]


def _print_bills(bills: "Bills") -> None:
    from rich.table import Table

    from manyheads.engine.bills import TOTAL

    title = f"Bill ÷ estimate: {count(len(bills.runs), 'run')} of {bills.about}"
    table = Table("stage", "calls", "tokens in", "tokens out", "cost", title=title, title_justify="left")
    for stage, sums in sorted(bills.sums().items(), key=lambda each: each[0] == TOTAL):
        figures = ((each.calls, each.input_tokens, each.output_tokens, each.cost or 0) for each in sums)
        pairs = zip(*figures, strict=True)
        table.add_row(stage, *(f"{paid / known:.2f}" if known else "–" for known, paid in pairs))
    safe_console().print(table, markup=False)
    if bills:
        labels = "Uncorrected", "Corrected by the other runs"
        for label, ratios in zip(labels, bills.each_by_the_others(), strict=True):
            near = f"{sum(abs(each - 1) <= 0.1 for each in ratios)} of {len(ratios)} runs within 10 %"
            say(f"{label}: {near} ({min(ratios):.2f} to {max(ratios):.2f}).")
    say(f"Later estimates are {bills.words}.\nKept in {bills.file}; to estimate without them, remove it.")


def _prices(configs: "Sequence[RunConfig]") -> tuple[str | None, str]:
    from manyheads.core.results import currency_of, price_note

    models = {
        f"{alias} {model.provider}/{model.name}": model
        for each in configs
        for alias, model in each.models.items()
    }
    prices = {name: model.price for name, model in models.items() if model.price}
    half = "; batches at half price" if any(model.batch for model in models.values()) else ""
    return currency_of(prices), price_note(prices, {name: name.split(" ", 1)[1] for name in models}) + half


def confirm(
    configs: "Sequence[RunConfig]", *, yes: bool, as_json: bool = False, by: "Estimating | None" = None
) -> None:
    """Ask for confirmation if runs are estimated to cost more than `confirm.money`.

    Does not ask without a terminal, or with `--json` or `--yes`.

    Raises:
        typer.Exit: the answer is no.
    """
    if yes or as_json or not is_terminal(sys.stdin, sys.stdout):
        return
    from manyheads.base.errors import UserError
    from manyheads.engine.estimate import excess

    told = ""
    with suppress(UserError):  # said by the run itself
        told = asyncio.run(excess(configs, by))
    if not told:
        return
    say(f"{told} Nothing was asked yet.")
    try:
        if typer.confirm("Start?"):
            return
    except typer.Abort:
        say()
    say("manyheads: not started", err=True)
    raise typer.Exit(130)


def only_estimated(
    configs: "Sequence[RunConfig]",
    how: Spending,
    *,
    as_json: bool = False,
    without: Sequence[str] = (),
    by: "Estimating | None" = None,
) -> bool:
    """Print an estimate if it is asked for, and return True; else see `confirm`."""
    if how.estimate:
        print_estimate(configs, as_json=as_json, without=without, by=by)
    else:
        confirm(configs, yes=how.yes, as_json=as_json, by=by)
    return how.estimate


class Start(Spending):
    seed: Seed = None
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FOLDER")] = None
    """New run folder. [default: runs/TIME-NAME]"""


class Show(Options):
    """What a run prints while it works, in place of the live view."""

    events: Annotated[bool, typer.Option("--json")] = False
    """Print every event as a line of JSON."""
    quiet: Annotated[bool, typer.Option("--quiet", "-q")] = False
    """Print only warnings and the result."""
    open: bool = False
    """Open the report in the browser at the end."""

    @property
    def as_json(self) -> bool:
        return self.events


class ShowOrControl(Show):
    """What a single run prints, or who controls it."""

    control: bool = False
    """Let another program steer: events on stdout, commands on stdin, as lines of JSON."""
    answer_within: Annotated[float | None, typer.Option(metavar="MINUTES")] = Field(default=None, ge=0)
    """With --control, stop the run if a question has no answer for so long; it can be resumed. [default: no limit]"""

    @property
    def as_json(self) -> bool:
        return self.events or self.control


class SteerOptions(Options):
    steer: Annotated[str | None, typer.Option(metavar="STAGE,…")] = None
    """Let a person steer after these stages, such as topic,idea, or all."""


class Resuming(Options):
    accept_changes: bool = False
    """Resume although prompts or config have changed: ask again from the first changed turn on."""
    again: bool = False
    """Retry the parts of a finished run that failed, such as orders of a ranking."""


def run(
    configs: Configs,
    changes: Changes,
    show: ShowOrControl,
    start: Start,
    steering: SteerOptions,
    where: Running,
) -> None:
    """Run a system, such as virsci, and write its report.

    `manyheads run NAME --help` shows the system's own options. `manyheads resume` continues an interrupted run from its
    folder.
    """
    with errors_as_lines(show.control):
        begin(changes.config(configs, settings({"steer": steering.steer}), start.seed), start, show, where)


def with_budget(config: "RunConfig", budget: "Budget") -> "RunConfig":
    limits = config.budget.model_copy(update=budget.limits.model_dump(exclude_none=True))
    return config.model_copy(update={"budget": limits})


def resume(folder: RunFolder, changes: Changes, show: ShowOrControl, how: Resuming, where: Running) -> None:
    """Resume a run that was stopped. Finished turns are not asked again."""
    with errors_as_lines(show.control):
        _resume(folder, changes, show, how, where)


def _resume(folder: Path, changes: Changes, show: Show, how: Resuming, where: Running) -> None:
    from manyheads.base.errors import SubjectError
    from manyheads.cli.progress import show_json
    from manyheads.core.events import Result
    from manyheads.core.results import is_finished, result_data
    from manyheads.engine.session import Session
    from manyheads.systems.loading import reopen
    from manyheads.systems.results import closing_lines, load

    changed = changes != Changes() or how != Resuming()
    with suppress(SubjectError):
        if not changed and getattr(load(folder, unfinished=False).result, "failed", 0):
            if show.as_json:
                show_json(Result(data=result_data(folder)))
            else:
                say(closing_lines(folder))
            say("finished, but some parts failed; to retry them: manyheads resume RUN --again", err=True)
            return
        if not changed and is_finished(folder):
            say("the run had finished; its turns are replayed, and nothing is asked", err=True)
    config = with_folders(reopen(folder, changes.settings()), changes.path)
    go(Session(config, folder, how.accept_changes), show, where)


def begin(config: "RunConfig", start: Start, show: Show, where: Running | None = None) -> None:
    """Estimate a run, or run it in a new folder, after `confirm`."""
    from manyheads.engine.budget import Budget
    from manyheads.engine.session import Session, fresh, new_folder

    config = with_budget(config, Budget.parse(start.budget or (), whose="the run's"))
    if not only_estimated([config], start, as_json=show.as_json):
        go(Session(config, fresh(start.out) if start.out else new_folder(config, Path("runs"))), show, where)


def go(session: Any, show: Show, where: Running | None = None) -> None:
    """Run a session and show its events; after Ctrl-C, says how to resume and exits with 130."""
    try:
        with _placed(session.config, where or Running()):
            asyncio.run(_drive(session, show))
    except KeyboardInterrupt:
        resume = f"; finished turns are kept; to resume: {session.way_back}" if session.way_back else ""
        raise stopped(resume) from None
    finally:
        with suppress(OSError):
            session.folder.rmdir()  # empty: the run never began
    if show.open:
        browse(session.folder / "report.html")


@contextmanager
def _placed(config: "RunConfig", where: Running) -> Generator[None]:
    """Where the runs below a run's folder run; a run that has none runs here."""
    from manyheads.base.errors import ConfigError
    from manyheads.team.system import system_of

    if system_of(config).nests:
        from manyheads.engine.local import ENGINE

        with where.opened(config) as engine, ExitStack() as stack:
            stack.callback(ENGINE.reset, ENGINE.set(engine))
            yield
        return
    if where != Running():
        what = f"{config.system}: one run, in this process; --engine, --address, --workers and --jobs place the runs of many"
        raise ConfigError(what, hint="leave them out")
    yield


async def _drive(session: Any, show: Show) -> None:
    from manyheads.base.errors import BudgetError, SubjectError
    from manyheads.cli.progress import estimate_beside, run_progress
    from manyheads.hosts import host_factory
    from manyheads.systems.results import closing_lines, update_reports

    factory = host_factory(session.config.host)
    folder = None if session.way_back else session.folder
    terminal = Terminal(session.brake) if is_terminal() and not show.as_json else None
    session.person, session.beside = terminal, estimate_beside
    try:
        with run_progress(as_json=show.as_json, quiet=show.quiet, folder=folder, terminal=terminal) as note:
            if isinstance(show, ShowOrControl) and show.control:
                within = inf if show.answer_within is None else show.answer_within * 60
                control = session.person = Control(session.brake, session.steer, within)
                control.listen()
                note = control.show
            async with aclosing(session.events(factory)) as events:
                async for event in events:
                    collect_garbage()  # from the first one on
                    note(event)
    except BudgetError:
        with suppress(SubjectError):
            if not show.as_json:  # show what was paid for
                say(closing_lines(session.folder))
        raise
    update_reports(session.folder)  # of the runs that this one reviews or judges
    if not show.as_json:
        say(closing_lines(session.folder))


Labels = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Words for its labels; a new file gets them.")
]


def report(folder: RunFolder, labels: Labels = None) -> None:
    """Regenerate a run's report and print its path. Works for interrupted runs, too."""
    from manyheads.systems.results import write_report

    path = write_report(folder)
    if labels:
        _put_in_words(folder, labels)
        write_report(folder)
    say(path)


def _put_in_words(run: Path, file: Path) -> None:
    """Keep the words of a file with a run; a new file gets the labels of the run's page."""
    from manyheads.config import label_words
    from manyheads.report.labels import labels_of, texts_of
    from manyheads.systems.results import write_report

    if new := not file.exists():
        with writable(file, hint="name another file"):
            replace_text(file, "")
    words = {} if new else label_words(file)
    write(run / LABELS, "")  # for the page in English
    labels = labels_of(read_text(write_report(run)), texts_of(run))
    if new:
        (run / LABELS).unlink()
        replace_text(file, "".join(f'{json.dumps(each, ensure_ascii=False)}: ""\n' for each in labels))
        say(f"{file} is new; put in words, then: manyheads report {run} --labels {file}", err=True)
        return
    write(run / LABELS, read_text(file))
    without = [each for each in labels if each not in words]
    say(f"{len(without)} of {len(labels)} labels have no word", err=True)
    near = [(each, closest(each, without)) for each in words if each not in labels]
    if wrong := [each for each in near if each[1]]:
        say(f"{file}: the report has no label {wrong[0][0]!r}; did you mean {wrong[0][1]!r}?", err=True)
