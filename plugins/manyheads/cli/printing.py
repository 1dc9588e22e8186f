"""What commands print, without control characters of papers, models or file names."""

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from manyheads.base.errors import closest, scrubbed
from manyheads.base.text import plain, printable, printable_json, shortened

if TYPE_CHECKING:
    from rich.console import Console


CHOICE, QUOTED = re.compile(r"'([^']*)' is not one of (.*)\.$"), re.compile(r"'([^']*)'")
"""How the parser names choices."""


def say(text: object = "", *, err: bool = False) -> None:
    """Print text, made safe for the terminal."""
    typer.echo(printable(str(text)), err=err)


def say_json(text: str) -> None:
    typer.echo(printable_json(text))


def print_line(data: Mapping[str, Any]) -> None:
    """Print an object as a line of JSON in ASCII: lone surrogates from a model stay printable; nothing once the reader is gone."""
    try:
        sys.stdout.write(json.dumps(data) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_or_print(text: str, out: Path | None, *, as_json: bool = False) -> None:
    """Write text that ends with a newline to a file, or print it; raises `ConfigError` if the file cannot be written."""
    if out is None:
        (say_json if as_json else say)(text.rstrip("\n"))
        return
    from manyheads.base.files import writable  # slow, and seldom needed

    with writable(out):
        out.write_text(text, encoding="utf-8", errors="replace", newline="")


def fail(error: object) -> None:
    parts = re.split(r"(\n  (?:tried|next): )", f"manyheads: {error}")
    say("".join(shortened(scrubbed(part)) for part in parts), err=True)


def fail_usage(error: Any) -> None:
    """Print a usage error, with the closest choice and the command for help."""
    message, context = str(error.format_message()), getattr(error, "ctx", None)
    if "\n\n" in message and context and message == context.get_help():  # a group without a command
        return say(message, err=True)
    message = message.replace("Value error, ", "")
    if meant := getattr(error, "possibilities", None):
        message = f"{error.message}. Did you mean {', '.join(sorted(meant))}?"
    if (choice := CHOICE.search(message)) and (near := closest(choice[1], QUOTED.findall(choice[2]))):
        message += f" Did you mean {near}?"
    hint = f"{context.command_path if context else 'manyheads'} --help"
    lines = f"manyheads: {message}\n  next: {hint}".split("\n")
    return say("\n".join(shortened(scrubbed(line)) for line in lines), err=True)


def safe_console(*, stderr: bool = False) -> "Console":
    """Rich's console, for tables and live views."""
    from rich.console import Console

    class Safe(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterable[Any]:
            for each in super().render(renderable, options):
                yield each if each.control else each._replace(text=printable(each.text))

    return Safe(stderr=stderr)


def warn_of_skipped(reasons: Iterable[str]) -> None:
    for reason in reasons:
        say(f"warning: left out: {plain(reason)}", err=True)


def browse(page: Path) -> None:
    """Open a page in the browser; without one, print its path."""
    import webbrowser

    try:
        shown = webbrowser.open(page.absolute().as_uri())
    except webbrowser.Error:
        shown = False
    if not shown:
        say(f"No browser was found. Open {page} in one.", err=True)
