"""`manyheads review`: a run of conference-review for each text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.options import HostName, Model, Paths, Seed, Sets, configured, settings
from manyheads.cli.run import Json, Quiet, go
from manyheads.errors import ConfigError, UserError

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.report.review import Mean
    from manyheads.session import Session

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
    from manyheads.subjects import read_subjects

    # All are read before the first of them is paid for.
    named = [Path(subject.source) for text in texts for subject in read_subjects(text)]
    chosen = {"review.form": form, "review.repeats": repeats}
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
    from manyheads.session import Session, new_folder

    named = {"name": f"review-{text.resolve().stem}", "subject": str(text.resolve())}
    config = config.model_copy(update=named)
    return Session(config, new_folder(config, out))


def _need_a_review(config: "RunConfig") -> None:
    """Raises `ConfigError` where the settings ask for what is not done here."""
    if config.system != CONFIG:
        raise ConfigError(f"system: {config.system} is no review", hint="manyheads run takes every system")
    if config.subject is not None:
        raise ConfigError(
            f"subject: {config.subject} would be passed over", hint="name texts after manyheads review"
        )


def _went(session: "Session", json: bool, quiet: bool) -> Path | None:
    """The run's folder, None where the text was not reviewed, which must not keep the others from it."""
    from manyheads.cli.progress import printable

    try:
        go(session, json, quiet)
    except UserError as error:
        typer.echo(printable(f"manyheads: {session.config.subject}: {error}"), err=True)
        return None
    return session.folder


def _show(folders: list[Path]) -> None:
    from rich.console import Console
    from rich.table import Table

    from manyheads.cli.progress import plain
    from manyheads.report.folder import read_run
    from manyheads.report.review import reviewed_of

    found = {folder: reviewed_of(read_run(folder)) for folder in folders}
    names = list(dict.fromkeys(name for each in found.values() for name in each.means))
    table = Table(title="Mean scores, with their 95% intervals", title_justify="left")
    for heading in ("text", *names, "run"):
        table.add_column(heading, overflow="fold")
    for folder, each in found.items():
        title = plain(each.title or Path(each.subject.source).name)
        table.add_row(title, *(_cell(each.means[name]) for name in names), str(folder))
    Console().print(table, markup=False)


def _cell(mean: "Mean") -> str:
    interval = "" if mean.low is None else f"\n{mean.low:.2f} to {mean.high:.2f}"
    return f"{mean.mean:.2f}{interval}"
