"""`manyheads prompts export`."""

from pathlib import Path
from typing import Annotated

import typer

from manyheads.cli.options import Paths

app = typer.Typer(help="The prompt files.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """The prompt files."""


@app.command("export")
def export(
    folder: Annotated[
        Path, typer.Argument(help="Folder for your copies; files that are there stay as they are.")
    ],
    path: Paths = None,
) -> None:
    """Copy roles and prompts into a folder of yours, to edit them there and use them with --path."""
    from manyheads.resources import Resources, copy_out

    written = copy_out(Resources.of(path or ()), folder, ("roles", "prompts"))
    typer.echo(f"{len(written)} files in {folder}; use them with: manyheads run virsci --path {folder}")
