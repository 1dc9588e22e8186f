"""`manyheads run` and `manyheads resume`."""

import asyncio
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyheads.cli.inputs import inputs
from manyheads.cli.options import (
    Configs,
    HostName,
    Model,
    Paths,
    Seed,
    Sets,
    configured,
    led_by,
    settings,
)
from manyheads.errors import ConfigError, UserError

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.engine.session import Session
    from manyheads.measures.statistics import RatingMean


Json = Annotated[bool, typer.Option("--json", help="Print every event as a line of JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print only warnings and the result.")]


def run(
    ctx: typer.Context,
    configs: Configs,
    host: HostName = None,
    model: Model = None,
    seed: Seed = None,
    sets: Sets = None,
    path: Paths = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The run folder; runs/<time>-<name> if left out.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a system by its name or config; the report's path is printed. NAME --help shows the options of its own."""
    from manyheads.engine.session import Session, fresh, new_folder

    config = configured(configs, (*inputs(ctx), *settings(sets, host, model, seed)), path)
    folder = fresh(out) if out else new_folder(config, Path("runs"))
    go(Session(config, folder), json, quiet)


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
    from manyheads.engine.session import Session
    from manyheads.systems.loading import reopen

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

    factory = host_factory(session.config.host)
    caps = session.system.turns(session.config)
    with make_progress("json" if json else "quiet" if quiet else "auto", caps) as progress:
        async with aclosing(session.events(factory)) as events:
            async for event in events:
                progress.show(event)
    if not json:
        typer.echo(_closing(session))


def _closing(session: Any) -> str:
    from manyheads.cli.progress import printable
    from manyheads.systems.results import closing_lines

    return printable(closing_lines(session.folder))


# `manyheads review`: a run of conference-review for each text.


CONFIG = "conference-review"


def review(
    texts: Annotated[
        list[Path],
        typer.Argument(
            metavar="TEXT|RUN…", help="Text, Markdown or JSON files, .jsonl of many texts, or run folders."
        ),
    ],
    form: Annotated[
        str | None,
        typer.Option(
            help="conference, or rating: what people rate too. [default: conference]", show_default=False
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Independent reviews of each text. [default: 3]", show_default=False),
    ] = None,
    host: HostName = None,
    model: Model = None,
    seed: Seed = None,
    sets: Sets = None,
    path: Paths = None,
    out: Annotated[Path, typer.Option(help="Where the run folders go, one for each text.")] = Path("runs"),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Review texts on a conference's form, each several times over, and score them from 1 to 10."""
    from manyheads.texts import read_subjects

    # All are read before the first of them is paid for.
    named = [Path(subject.source) for text in texts for subject in read_subjects(text)]
    chosen = {f"{CONFIG}.form": form, f"{CONFIG}.repeats": repeats}
    flags = [f"{key}={value}" for key, value in chosen.items() if value is not None]
    config = configured([CONFIG], (*flags, *settings(sets, host, model, seed)), path)
    _need_a_review(config)
    if len(named) == 1:
        go(_session(config, named[0], out), json, quiet)
        return
    done = [folder for text in named if (folder := _went(_session(config, text, out), json, quiet))]
    if not json:
        _show(done)
    if failed := len(named) - len(done):
        typer.echo(f"manyheads: {failed} of {len(named)} texts have no score, see above", err=True)
        raise typer.Exit(2)


def _session(config: "RunConfig", text: Path, out: Path) -> "Session":
    from manyheads.engine.session import Session, new_folder

    inputs = config.inputs.model_copy(update={"subject": str(text.resolve())})
    config = config.model_copy(update={"name": f"review-{text.resolve().stem}", "inputs": inputs})
    return Session(config, new_folder(config, out))


def _need_a_review(config: "RunConfig") -> None:
    """Raises `ConfigError` where the settings ask for what is not done here."""
    if config.system != CONFIG:
        raise ConfigError(f"system: {config.system} is no review", hint="manyheads run takes every system")
    if config.inputs.subject is not None:
        raise ConfigError(
            f"subject: {config.inputs.subject} would be passed over", hint="name texts after manyheads review"
        )


def _went(session: "Session", json: bool, quiet: bool) -> Path | None:
    """The run's folder, None where the text was not reviewed, which must not keep the others from it."""
    from manyheads.cli.progress import printable

    try:
        go(session, json, quiet)
    except UserError as error:
        typer.echo(printable(f"manyheads: {session.config.inputs.subject}: {error}"), err=True)
        return None
    return session.folder


def _show(folders: list[Path]) -> None:
    from rich.console import Console
    from rich.table import Table

    from manyheads.cli.progress import plain
    from manyheads.core.results import read_result
    from manyheads.systems.conference_review.result import ReviewResult

    found = {folder: read_result(folder, ReviewResult).result for folder in folders}
    names = list(dict.fromkeys(name for each in found.values() for name in each.means))
    table = Table(title="Mean scores, with their 95% intervals", title_justify="left")
    for heading in ("text", *names, "run"):
        table.add_column(heading, overflow="fold")
    for folder, each in found.items():
        title = plain(each.title or (Path(each.subject.source).name if each.subject else ""))
        table.add_row(title, *(_cell(each.means[name]) for name in names), str(folder))
    Console().print(table, markup=False)


def _cell(mean: "RatingMean") -> str:
    interval = "" if mean.low is None else f"\n{mean.low:.2f} to {mean.high:.2f}"
    return f"{mean.mean:.2f}{interval}"


# `manyheads report`.


def report(folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")]) -> None:
    """Write the report of a run anew, as far as the run has come; its path is printed."""
    from manyheads.systems.results import write_report

    typer.echo(write_report(folder))
