"""What commands that make forms for people tell of them."""

from collections.abc import Sequence
from pathlib import Path

import typer


def show_forms(things: str, raters: int, paths: Sequence[Path]) -> None:
    """The files of a form: a table for each rater, then the guideline and the key.

    Args:
        things: what is rated, with its number, such as `3 texts`.
    """
    *tables, guide, key = paths
    typer.echo(f"{things} for {count(raters, 'rater')}")
    for table in tables:
        typer.echo(f"Form       {table}")
    typer.echo(f"Guideline  {guide}")
    typer.echo(f"Key        {key}  (keep it from the raters)")


def count(things: int, word: str) -> str:
    """`1 text`, `1000 texts`."""
    return f"{things} {word}{'' if things == 1 else 's'}"
