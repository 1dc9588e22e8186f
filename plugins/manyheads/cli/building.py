"""What commands that may build a corpus share: bars of progress, and hints that name their option."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from manyheads.errors import UserError

if TYPE_CHECKING:
    from manyheads.bank.filling import Progress


@contextmanager
def naming_the_option() -> Generator[None]:
    """Hints name the embedding model as a config's key; here it is an option."""
    try:
        yield
    except UserError as error:
        error.hint = error.hint and error.hint.replace("--set embedding=", "--embedding ")
        raise


@contextmanager
def going_on_later(*, kept: bool = True) -> Generator[None]:
    """An interrupt says how to go on, and exits with 130.

    Args:
        kept: whether anything of what was done serves the next time.
    """
    try:
        yield
    except KeyboardInterrupt:
        what = "what is done is kept" if kept else "nothing is kept"
        typer.echo(f"manyheads: stopped; {what}: run the same command again", err=True)
        raise typer.Exit(130) from None


@contextmanager
def showing_progress() -> "Generator[Progress]":
    """A bar on standard error, one line a step; nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<20}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:

        def tell(step: str, done: int, total: int | None) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield tell
