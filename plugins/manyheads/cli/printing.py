"""All that commands print: nothing that a paper, a model or a file name holds commands the terminal."""

import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import typer

from manyheads.escaping import printable, printable_json, scrubbed, shortened

if TYPE_CHECKING:
    from rich.console import Console


def say(text: object = "", *, err: bool = False) -> None:
    """Print lines that were laid out already."""
    typer.echo(printable(str(text)), err=err)


def say_json(text: str) -> None:
    """Print JSON, whose values stay as they are."""
    typer.echo(printable_json(text))


def fail(error: object) -> None:
    """Print what a user can mend: without keys, and no longer than one reads."""
    parts = re.split(r"(\n  (?:tried|next): )", f"manyheads: {error}")
    say("".join(shortened(scrubbed(part)) for part in parts), err=True)


def fail_usage(error: Any) -> None:
    """Print what the parser refuses, as it would itself."""
    shown = io.StringIO()
    error.show(shown)
    say("\n".join(shortened(scrubbed(line)) for line in shown.getvalue().rstrip().split("\n")), err=True)


def safe_console(*, stderr: bool = False) -> "Console":
    """Rich's console, for tables and live views."""
    from rich.console import Console

    class Safe(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterable[Any]:
            for each in super().render(renderable, options):
                yield each if each.control else each._replace(text=printable(each.text))

    return Safe(stderr=stderr)
