"""Progress of a run: a live view on a terminal, JSON lines on request, else only warnings.

Control characters of models are removed.
"""

import asyncio
import math
import sys
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyheads.base.errors import UserError
from manyheads.base.text import plain
from manyheads.cli.printing import print_line, safe_console, say
from manyheads.core.events import AnyEvent, Began, Emit, Estimated, Said, Searched, Warned
from manyheads.engine.tracing import RunStatus

if TYPE_CHECKING:
    from manyheads.cli.person import Terminal
    from manyheads.config import LiteratureConfig, RunConfig
    from manyheads.corpus.building import Progress as Building
    from manyheads.engine.jobs import JobNews, Listener
    from manyheads.literature.library import Library

SOON = 10.0
"""Seconds of runs before their estimate: shorter ones need none, and no first request waits for it."""


def show_warning(event: AnyEvent) -> None:
    """Print warnings on stderr and nothing else: for `--quiet`, pipes and logs."""
    if isinstance(event, Warned):
        say(f"warning: {plain(event.message)}", err=True)


def show_json(event: AnyEvent) -> None:
    print_line(event.model_dump(mode="json"))


@contextmanager
def run_progress(
    *,
    as_json: bool = False,
    quiet: bool = False,
    folder: Path | None = None,
    terminal: "Terminal | None" = None,
) -> Generator[Emit]:
    """The listener that shows a run's events; a live view if stderr is a terminal that can move its cursor.

    Args:
        folder: of a new run, printed when it begins.
        terminal: the person at the terminal, for whom the live view pauses.
    """
    show: Emit = show_json if as_json else show_warning
    tell: Callable[[str], None] = say
    live: AbstractContextManager[object] = nullcontext()
    if not (as_json or quiet) and sys.stderr.isatty():
        from manyheads.cli.live import LiveView

        console = safe_console(stderr=True)
        if not console.is_dumb_terminal:
            view = LiveView(console)
            show, tell, live = view.show, view.tell, view.live
            if terminal:
                terminal.quiet = view.paused

    def listener(event: AnyEvent) -> None:
        if folder and isinstance(event, Began) and not as_json and not quiet:
            tell(f"Run       {folder}")
        show(event)

    with live:
        yield listener


async def estimate_beside(configs: "Sequence[RunConfig]", tell: Emit) -> None:
    """Tell the estimate of runs, once they have gone on for `SOON` seconds."""
    await asyncio.sleep(SOON)
    from manyheads.engine.estimate import in_thread

    with suppress(Exception):  # what is wrong, the runs say themselves
        if (made := await in_thread(configs)).whole:
            tell(Estimated(usage=made.spent.total))


# Progress of jobs: a bar and the running jobs on a terminal, else a line per finished job.


@contextmanager
def jobs_progress(
    what: str, total: int, without: "Listener | None" = None, *, hidden: bool = False, runs: "Sequence[RunConfig]" = ()
) -> "Generator[Listener]":  # fmt: skip
    """The listener that shows a bar and the running jobs at the foot of a terminal.

    Args:
        without: the listener for output that is no terminal; by default a line on stderr for each job.
        hidden: use it on a terminal, too.
        runs: those of the jobs, to be estimated; none if the jobs are more than that.
    """
    from rich import progress as rich
    from rich.console import Group
    from rich.live import Live

    console, ended = safe_console(stderr=True), 0

    def line(news: "JobNews") -> None:
        nonlocal ended
        ended += news.state in ("kept", "finished", "failed", "left out")
        if news.state in ("held", "finished", "failed", "lacks"):
            say(f"{ended}/{total} {_job_line(news)}", err=True)

    if hidden or not console.is_terminal or console.is_dumb_terminal:
        yield without or line
        return
    spending = rich.TimeRemainingColumn(), rich.TextColumn("{task.fields[cost]}", markup=False)
    passed, ready = rich.TimeElapsedColumn(), rich.MofNCompleteColumn()
    whole = rich.Progress(rich.TextColumn(what), rich.BarColumn(), ready, passed, *spending)
    text = rich.TextColumn("{task.description}", markup=False)
    jobs = rich.Progress(rich.SpinnerColumn(), text, rich.TimeElapsedColumn())
    all_jobs, under_way = whole.add_task("", total=total, cost=""), dict[str, Any]()
    spent, tasks, rest = RunStatus(), list[asyncio.Task[None]](), [*runs]

    def bars(news: "JobNews") -> None:
        if runs and not tasks:
            tasks.append(asyncio.create_task(estimate_beside(rest, lambda event: spent.note(event, 0))))
        if news.state == "kept" and news.job.config in rest:
            rest.remove(news.job.config)  # its calls are not counted either
        key, label = news.job.key, plain(news.job.label)
        if news.state in ("held", "failed", "lacks"):
            console.print(_job_line(news), markup=False, highlight=False)
        if news.state == "began":
            under_way[key] = jobs.add_task(label, total=None)
        elif news.state == "goes on":
            if isinstance(news.event, Began | Said):
                spent.note(news.event, 0)
                whole.update(all_jobs, cost=f"{spent.usage.tokens:,} tokens · {spent.spending}")
            if news.text:
                jobs.update(under_way[key], description=f"{label}: {plain(news.text)}")
        elif news.state != "lacks":
            if key in under_way:
                jobs.remove_task(under_way.pop(key))
            whole.advance(all_jobs, news.state != "held")

    with Live(Group(whole, jobs), console=console, transient=True, redirect_stdout=False):
        yield bars


def _job_line(news: "JobNews") -> str:
    return f"{news.state}: {plain(news.job.label)}{f': {plain(news.text)}' if news.text else ''}"


# Commands that may build a corpus, and their look-ups.

LINE_EVERY = 60
"""Seconds between progress lines without a terminal."""


@contextmanager
def building() -> "Generator[Building]":
    """Show a progress bar for each step on standard error; without a terminal, a line a minute.

    Hints name the config key of the embedding model; here it is an option.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = safe_console(stderr=True)
    columns = (TextColumn("{task.description:<20}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, Any] = {}
    last = time.monotonic()
    with Progress(
        *columns, console=console, disable=not console.is_terminal, speed_estimate_period=10 * LINE_EVERY
    ) as bars:

        def progress(step: str, done: int, total: int | None) -> None:
            nonlocal last
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)
            if not console.is_terminal and (now := time.monotonic()) - last >= LINE_EVERY:
                last, seconds = now, bars.tasks[tasks[step]].time_remaining or 0
                rest = f" of {total:,}, about {math.ceil(seconds / 60)} min left" if total else ""
                say(f"{step}: {done:,}{rest}", err=True)

        try:
            yield progress
        except UserError as error:
            error.hint = error.hint and error.hint.replace("--set embedding=", "--embedding ")
            raise


def library(config: "LiteratureConfig", **bank: Any) -> "Library":
    """A library that prints its look-ups and caches the answers."""
    from manyheads.base.files import cache_folder
    from manyheads.literature.library import Library
    from manyheads.literature.lookup import CACHE

    return Library(config, note=show_look_up, cache=cache_folder() / CACHE, **bank)


def show_look_up(entry: Searched) -> None:
    asked = f" as {entry.asked!r}" if entry.asked != entry.query else ""
    disk = " (from disk)" if entry.cached else ""
    reason = f": {entry.reason}" if entry.reason else ""
    bounds = f", {entry.window}" if entry.window else ""
    came = f"{entry.outcome}, {entry.hits} in {entry.seconds:.1f} s{disk}{reason}"
    say(plain(f"{entry.source}{asked}{bounds}: {came}"), err=True)


def show_silent(sources: Collection[str]) -> None:
    if sources:
        say(f"not searched: {', '.join(sources)}; there may be more papers", err=True)
