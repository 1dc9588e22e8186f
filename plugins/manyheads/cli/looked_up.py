"""The search ledger on standard error: what each source was asked, and how it answered."""

from collections.abc import Collection
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from manyheads.events import Searched


def show_look_up(entry: "Searched") -> None:
    """A line on one look-up; a service's own words in it are made safe to print."""
    from manyheads.cli.progress import plain

    asked = f" as {entry.asked!r}" if entry.asked != entry.query else ""
    disk = " (from disk)" if entry.cached else ""
    reason = f": {entry.reason}" if entry.reason else ""
    bounds = f", {entry.window}" if entry.window else ""
    came = f"{entry.outcome}, {entry.hits} in {entry.seconds:.1f} s{disk}{reason}"
    typer.echo(plain(f"{entry.source}{asked}{bounds}: {came}"), err=True)


def show_silent(sources: Collection[str]) -> None:
    """The sources that could not be asked, if there are any."""
    if sources:
        typer.echo(f"not everything was asked: {', '.join(sources)}; there may be more papers", err=True)
