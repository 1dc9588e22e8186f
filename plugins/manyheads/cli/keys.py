"""The user's stored keys: `manyheads keys set`, `list`, `remove`."""

import os
import sys
from typing import Annotated

import typer

from manyheads.base.errors import ConfigError
from manyheads.cli.printing import say

app = typer.Typer(no_args_is_help=True)
LONGEST = 10_000
Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A service, such as openai, or the name of a variable.")
]


@app.command("set")
def store(name: Name) -> None:
    """Store a key in a file that only you can read.

    Asks for it on a terminal, else reads it from standard input. A variable of the environment and `.env` come before it.
    """
    from manyheads.cli.person import is_terminal
    from manyheads.config.environment import variable_of
    from manyheads.config.keys import keys_file, store_keys, stored_keys

    variable = variable_of(name)
    try:
        value = (
            typer.prompt(variable, hide_input=True, err=True) if is_terminal() else sys.stdin.read(LONGEST)
        )
    except typer.Abort:
        raise ConfigError("no key was given", hint=f"manyheads keys set {name} again") from None
    value = value.strip()
    if not value or not (value.isascii() and value.isprintable()) or " " in value:
        problem = "contains invalid characters" if value else "is empty"
        raise ConfigError(f"the key {problem}", hint="paste it on one line, as its service shows it")
    store_keys({**stored_keys(), variable: value})
    say(f"{variable} is stored in {keys_file()}")
    if os.environ.get(variable, value) != value:
        say(f"warning: {variable} is also set in the environment or in .env, which comes first", err=True)


@app.command("list")
def show() -> None:
    """List the keys that services take, and where each comes from; no value is shown."""
    from manyheads.config.environment import HOMES
    from manyheads.config.keys import stored_keys

    stored = stored_keys()
    places = {
        name: "environment or .env" if os.environ.get(name) else "stored" if name in stored else "-"
        for name in dict.fromkeys((*HOMES, *stored))
    }
    width = max(map(len, places))
    for name, place in places.items():
        say(f"{name:<{width}}  {place}")


@app.command("remove")
def remove(name: Name) -> None:
    """Remove a stored key."""
    from manyheads.config.environment import variable_of
    from manyheads.config.keys import store_keys, stored_keys

    keys, variable = stored_keys(), variable_of(name)
    if variable not in keys:
        known = f"stored: {', '.join(keys) or 'none'}"
        raise ConfigError(f"{variable} is not stored", tried=known, hint="manyheads keys list")
    store_keys({each: value for each, value in keys.items() if each != variable})
    say(f"{variable} is removed")
