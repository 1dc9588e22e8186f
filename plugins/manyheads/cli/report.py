"""`manyheads report`."""

from pathlib import Path
from typing import Annotated

import typer


def report(folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")]) -> None:
    """Write the report of a run anew, as far as the run has come; its path is printed."""
    from manyheads.report.html import write_report

    typer.echo(write_report(folder))
