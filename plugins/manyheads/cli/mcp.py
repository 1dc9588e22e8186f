"""`manyheads mcp`: runs, literature and roles for clients of the Model Context Protocol; `manyheads skills export`."""

import os
import secrets
from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from manyheads.base.errors import ConfigError
from manyheads.cli import completion
from manyheads.cli.options import Changes, Options
from manyheads.cli.printing import say
from manyheads.cli.project import LOCAL, listener_of, names_of, run_server, warn_of_network

TOKEN = "MANYHEADS_MCP_TOKEN"
LIMIT = typer.Option(metavar="LIMIT=NUMBER", autocompletion=completion.limits)
SHORTEST = 16
"""Characters of a token."""


class ServingClients(Options):
    folder: Annotated[Path | None, typer.Option("--folder", metavar="DIR")] = None
    """The folder in which clients may name files; runs go to its `runs`. [default: the working folder]"""
    http: bool = False
    """Serve streamable HTTP at /mcp, for clients with the token, instead of one client on standard input and output."""
    port: int | None = Field(default=None, ge=1, le=65535)
    """Port of HTTP. [default: 8765, or the next free one]"""
    address: Annotated[str, typer.Option(metavar="ADDRESS")] = LOCAL
    """Address of HTTP to listen on; others than 127.0.0.1 open it to the network."""
    token: Annotated[str | None, typer.Option(metavar="TEXT", envvar=TOKEN, show_envvar=False)] = None
    """Token of HTTP, at least 16 characters; better in MANYHEADS_MCP_TOKEN. [default: a new one, printed]"""
    budget: Annotated[list[str] | None, LIMIT] = None
    """The most that a run may use: calls, tokens, money or minutes. Repeatable. [default: calls=1000 minutes=120]"""
    cap: Annotated[list[str] | None, LIMIT] = None
    """The most that all runs of this server may use together. Repeatable. [default: calls=5000]"""
    jobs: Annotated[int, typer.Option("--jobs", "-j")] = Field(default=2, ge=1)
    """Runs in parallel; others wait in a queue."""


def serve_clients(options: ServingClients, changes: Changes) -> None:
    """Let other agents and editors use manyheads, by the Model Context Protocol.

    Clients start it themselves, with this command in their settings; with --http, they connect to it. Runs go on when a client
    leaves. The host, the model and other settings are those of all runs.
    """
    from manyheads.base.errors import need_extra

    need_extra("mcp", "manyheads mcp")

    from manyheads.engine.budget import Budget
    from manyheads.mcp.bounds import Bounds
    from manyheads.mcp.serving import http_server, serve_stdio
    from manyheads.systems.loading import load

    folder = (options.folder or Path()).resolve()
    if not folder.is_dir():
        raise ConfigError(f"{options.folder}: no such folder", hint="make it, or name another --folder")
    paths = tuple(path.resolve() for path in changes.path or ())
    os.chdir(folder)  # the runs read from here, too
    bounds = Bounds(
        folder, changes.settings(), paths,
        run=Budget.parse(options.budget or ("calls=1000", "minutes=120")).limits,
        cap=Budget.parse(options.cap or ("calls=5000",)).limits,
    )  # fmt: skip
    load(["virsci"], bounds.settings, resources=bounds.resources)  # the owner's mistakes are said at once
    if not options.http:
        serve_stdio(bounds, options.jobs)
        return
    token = options.token or secrets.token_urlsafe(32)
    if len(token) < SHORTEST:
        raise ConfigError(f"--token: shorter than {SHORTEST} characters", hint="leave it out for a new one")
    listener = listener_of(options.address, options.port)
    warn_of_network(options.address, "gets the token")
    server = http_server(bounds, token, options.address, names_of(options.address), options.jobs)
    port = listener.getsockname()[1]
    say(f"Folder      {folder}\nAddress     http://{options.address}:{port}/mcp")
    say(f"Header      Authorization: Bearer {token if options.token is None else f'(--token or {TOKEN})'}")
    say("Ctrl-C ends the server; runs go on.")
    run_server(server, listener)
