"""What a suite shows while it runs: a bar and the cells under way on a terminal, a line each finished cell elsewhere."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from manyheads.cli.progress import plain

if TYPE_CHECKING:
    from rich.console import Console

    from manyheads.suites.cells import Cell
    from manyheads.suites.run import State, Tell


@contextmanager
def suite_progress(total: int) -> "Generator[Tell]":
    """Tells of cells on standard error."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield _lines(total)
        return
    with _live(console, total) as tell:
        yield tell


def _lines(total: int) -> "Tell":
    ended = 0

    def tell(cell: "Cell", state: "State", said: str) -> None:
        nonlocal ended
        if state in ("kept", "finished", "failed"):
            ended += 1
        if state in ("finished", "failed"):
            print(f"{ended}/{total} {_line(cell, state, said)}", file=sys.stderr, flush=True)

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

    whole = Progress(TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    said = TextColumn("{task.description}", markup=False)
    cells = Progress(SpinnerColumn(), said, TimeElapsedColumn())
    with Live(Group(whole, cells), console=console, transient=True, redirect_stdout=False):
        yield _telling(console, whole, whole.add_task("", total=total), cells)


def _telling(console: "Console", whole: Any, all_cells: Any, cells: Any) -> "Tell":
    under_way: dict[str, Any] = {}

    def tell(cell: "Cell", state: "State", said: str) -> None:
        if state == "began":
            under_way[cell.name] = cells.add_task(cell.label, total=None)
        elif state == "goes on":
            cells.update(under_way[cell.name], description=f"{cell.label}: {plain(said)}")
        else:
            if cell.name in under_way:
                cells.remove_task(under_way.pop(cell.name))
            if state == "failed":
                console.print(_line(cell, state, said), markup=False, highlight=False)
            whole.advance(all_cells)

    return tell


def _line(cell: "Cell", state: "State", said: str) -> str:
    return f"{state}: {plain(cell.label)}{f': {plain(said)}' if said else ''}"
