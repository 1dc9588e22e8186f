"""What a suite shows while it runs: a bar and the runs under way on a terminal, a line each finished run elsewhere."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from manyheads.cli.progress import plain

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from manyheads.suites.plan import Job
    from manyheads.suites.run import State, Tell


@contextmanager
def suite_progress(total: int) -> "Generator[Tell]":
    """Tells of runs, and of what judges them, on standard error."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield _lines(total)
        return
    with _live(console, total) as tell:
        yield tell


def _lines(total: int) -> "Tell":
    ended = 0

    def tell(job: "Job", state: "State", said: str) -> None:
        nonlocal ended
        if state in ("kept", "finished", "failed", "left out"):
            ended += 1
        if state in ("finished", "failed", "lacks"):
            print(f"{ended}/{total} {_line(job, state, said)}", file=sys.stderr, flush=True)

    return tell


@contextmanager
def _live(console: "Console", total: int) -> "Generator[Tell]":
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

    whole = Progress(TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    said = TextColumn("{task.description}", markup=False)
    jobs = Progress(SpinnerColumn(), said, TimeElapsedColumn())
    with Live(Group(whole, jobs), console=console, transient=True, redirect_stdout=False):
        yield _telling(console, whole, whole.add_task("", total=total), jobs)


def _telling(console: "Console", whole: Any, all_jobs: Any, jobs: Any) -> "Tell":
    under_way: dict[Path, Any] = {}

    def tell(job: "Job", state: "State", said: str) -> None:
        if state in ("failed", "lacks"):
            console.print(_line(job, state, said), markup=False, highlight=False)
        if state == "began":
            under_way[job.folder] = jobs.add_task(job.label, total=None)
        elif state == "goes on":
            jobs.update(under_way[job.folder], description=f"{job.label}: {plain(said)}")
        elif state != "lacks":
            if job.folder in under_way:
                jobs.remove_task(under_way.pop(job.folder))
            whole.advance(all_jobs)

    return tell


def _line(job: "Job", state: "State", said: str) -> str:
    return f"{state}: {plain(job.label)}{f': {plain(said)}' if said else ''}"
