"""`manyheads run` and `manyheads resume`."""

import asyncio
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyheads.cli.options import (
    Configs,
    HostName,
    Model,
    Paths,
    Seed,
    Sets,
    configured,
    inputs,
    settings,
    with_folders,
)
from manyheads.cli.printing import say

if TYPE_CHECKING:
    from manyheads.config import RunConfig

Json = Annotated[bool, typer.Option("--json", help="Print every event as a line of JSON.")]
Out = Annotated[Path | None, typer.Option("--out", help="The run folder; runs/<time>-<name> if left out.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print only warnings and the result.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")]


def run(
    ctx: typer.Context,
    configs: Configs,
    host: HostName = None,
    model: Model = None,
    seed: Seed = None,
    sets: Sets = None,
    path: Paths = None,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a system by its name or config; the report's path is printed. NAME --help shows the options of its own."""
    begin(configured(configs, (*inputs(ctx), *settings(sets, host, model, seed)), path), out, json, quiet)


def resume(
    folder: RunFolder,
    host: HostName = None,
    model: Model = None,
    sets: Sets = None,
    path: Paths = None,
    accept_changes: Annotated[
        bool,
        typer.Option(
            "--accept-changes", help="Go on from the first turn whose prompt or config has changed."
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Ask once more for what a finished run went without, such as orders of a ranking."
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a run that was stopped; finished turns are not asked again."""
    from manyheads.cli.progress import JsonProgress
    from manyheads.core.events import Result
    from manyheads.core.results import result_data
    from manyheads.engine.session import Session
    from manyheads.errors import SubjectError
    from manyheads.systems.loading import reopen
    from manyheads.systems.results import load

    changed = again or host or model or sets or path or accept_changes
    with suppress(SubjectError):
        if not changed and getattr(load(folder, unfinished=False).result, "failed", 0):
            if json:
                JsonProgress().show(Result(data=result_data(folder)))
            else:
                say(closing(folder))
            say("finished, but for what has failed; manyheads resume RUN --again asks for that", err=True)
            return
    config = with_folders(reopen(folder, settings(sets, host, model)), path)
    go(Session(config, folder, accept_changes), json, quiet)


def begin(config: "RunConfig", out: Path | None, json: bool, quiet: bool) -> None:
    """Run a config in a new folder, see `go`."""
    from manyheads.engine.session import Session, fresh, new_folder

    folder = fresh(out) if out else new_folder(config, Path("runs"))
    go(Session(config, folder), json, quiet)


def go(session: Any, json: bool, quiet: bool) -> None:
    """Drive a session to its end, showing what happens; an interrupt says how to go on and exits with 130."""
    try:
        asyncio.run(_drive(session, json, quiet))
    except KeyboardInterrupt:
        kept = f"; what was said is kept: {session.way_back}" if session.way_back else ""
        say(f"manyheads: stopped{kept}", err=True)
        raise typer.Exit(130) from None
    finally:
        with suppress(OSError):
            session.folder.rmdir()  # empty: the run never began


async def _drive(session: Any, json: bool, quiet: bool) -> None:
    from manyheads.cli.progress import make_progress
    from manyheads.hosts import host_factory

    factory = host_factory(session.config.host)
    with make_progress("json" if json else "quiet" if quiet else "auto") as progress:
        async with aclosing(session.events(factory)) as events:
            async for event in events:
                progress.show(event)
    if not json:
        say(closing(session.folder))


def closing(folder: Path) -> str:
    """What is printed of a run that has ended."""
    from manyheads.systems.results import closing_lines

    return closing_lines(folder)


def report(folder: RunFolder) -> None:
    """Write the report of a run anew, as far as the run has come; its path is printed."""
    from manyheads.systems.results import write_report

    say(write_report(folder))
