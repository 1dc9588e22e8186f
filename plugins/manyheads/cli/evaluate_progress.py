"""What a suite shows while it runs: bars on a terminal, a line each finished cell elsewhere."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from manyheads.cli.progress import plain

if TYPE_CHECKING:
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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bars:
        yield _bars(bars, total)


def _lines(total: int) -> "Tell":
    ended = 0

    def tell(cell: "Cell", state: "State", said: str) -> None:
        nonlocal ended
        if state in ("kept", "finished", "failed"):
            ended += 1
        if state in ("finished", "failed"):
            more = f": {plain(said)}" if said else ""
            print(f"{ended}/{total} {state}: {cell.label}{more}", file=sys.stderr, flush=True)

    return tell


def _bars(bars: Any, total: int) -> "Tell":
    """One bar for all cells, and a line for each that is under way."""
    whole = bars.add_task("cells", total=total)
    under_way: dict[str, Any] = {}

    def tell(cell: "Cell", state: "State", said: str) -> None:
        if state == "began":
            under_way[cell.name] = bars.add_task(f"  {cell.label}", total=None)
        elif state == "goes on":
            bars.update(under_way[cell.name], description=f"  {cell.label}: {plain(said)}")
        else:
            if cell.name in under_way:
                bars.remove_task(under_way.pop(cell.name))
            if state == "failed":
                bars.console.print(f"failed: {cell.label}: {plain(said)}", markup=False, highlight=False)
            bars.advance(whole)

    return tell
