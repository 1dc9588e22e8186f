"""`manyheads run` and `manyheads resume`."""

import asyncio
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from manyheads.cli.options import (
    Configs,
    HostName,
    Model,
    Paths,
    Seed,
    Sets,
    Topic,
    beginning,
    configured,
    led_by,
    settings,
)
from manyheads.errors import ConfigError

Json = Annotated[bool, typer.Option("--json", help="Print every event as a line of JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print only warnings and the result.")]


def run(
    configs: Configs,
    host: HostName = None,
    model: Model = None,
    topic: Topic = None,
    background: Annotated[
        str | None,
        typer.Option(help="What an idea starts from: papers.bib, abstracts.jsonl, …, or a text (rebuttal)."),
    ] = None,
    idea: Annotated[
        str | None,
        typer.Option(help="An idea to begin with: a run's folder, a file, or a text (rebuttal)."),
    ] = None,
    seed: Seed = None,
    sets: Sets = None,
    path: Paths = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The run folder; runs/<time>-<name> if left out.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a config: a team finds a topic, ideas, a vote and an abstract; the report's path is printed."""
    from manyheads.engine.session import Session, fresh, new_folder

    given = (*beginning(background, idea), *settings(sets, host, model, seed, topic))
    config = configured(configs, given, path)
    _need_use(config, topic is not None, bool(background or idea))
    folder = fresh(out) if out else new_folder(config, Path("runs"))
    go(Session(config, folder), json, quiet)


def _need_use(config: Any, topic: bool, beginning: bool) -> None:
    """Nothing that was given is passed over in silence."""
    from manyheads.systems import SYSTEMS

    system = SYSTEMS[config.system]
    if topic and not system.topic:
        hint = 'name what it begins with: --background "…"' if system.background else "leave it out"
        raise ConfigError(f"--topic: {config.system} works on none", hint=hint)
    if beginning and not system.background:
        fitting = ", ".join(name for name, system in SYSTEMS.items() if system.background)
        raise ConfigError(
            f"--background and --idea: {config.system} begins with neither", hint=f"manyheads run {fitting}"
        )


def resume(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
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
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a run that was stopped; finished turns are not asked again."""
    from manyheads.engine.session import Session, reopen

    config = led_by(reopen(folder, settings(sets, host, model)), path)
    go(Session(config, folder, accept_changes), json, quiet)


def go(session: Any, json: bool, quiet: bool) -> None:
    """Drive a session to its end, showing what happens; an interrupt says how to go on and exits with 130."""
    try:
        asyncio.run(_drive(session, json, quiet))
    except KeyboardInterrupt:
        kept = f"; what was said is kept: {session.way_back}" if session.way_back else ""
        typer.echo(f"manyheads: stopped{kept}", err=True)
        raise typer.Exit(130) from None
    finally:
        with suppress(OSError):
            session.folder.rmdir()  # empty: the run never began


async def _drive(session: Any, json: bool, quiet: bool) -> None:
    from manyheads.cli.progress import make_progress
    from manyheads.hosts import host_factory
    from manyheads.systems import SYSTEMS

    factory = host_factory(session.config.host)
    caps = SYSTEMS[session.config.system].caps(session.config)
    with make_progress("json" if json else "quiet" if quiet else "auto", caps) as progress:
        async with aclosing(session.events(factory)) as events:
            async for event in events:
                progress.show(event)
    if not json:
        typer.echo(closing(session.folder))


def closing(folder: Path) -> str:
    """What is printed of a run that has ended."""
    from manyheads.cli.progress import printable
    from manyheads.report.closing import closing_lines

    return printable(closing_lines(folder))


# `manyheads report`.


def report(folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")]) -> None:
    """Write the report of a run anew, as far as the run has come; its path is printed."""
    from manyheads.report.html import write_report

    typer.echo(write_report(folder))
