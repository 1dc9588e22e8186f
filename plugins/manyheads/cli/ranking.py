"""`manyheads ranking`: ideas held against a target idea, by a judge who does not know which it is."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli import ranking_people
from manyheads.cli.options import HostName, Model, Paths, Seed, Sets, configured, settings
from manyheads.cli.run import Json, Quiet, go
from manyheads.errors import ConfigError

if TYPE_CHECKING:
    from manyheads.config import RunConfig

CONFIG = "ranking"

app = typer.Typer(
    help="Relative quality ranking: ideas beside a target idea, ranked blind.", no_args_is_help=True
)
app.command("form")(ranking_people.form)
app.command("agreement")(ranking_people.agreement)


@app.command()
def judge(
    ideas: Annotated[
        list[str], typer.Argument(metavar="IDEA…", help="Folders of runs, text files, or texts in quotes.")
    ],
    target: Annotated[
        str,
        typer.Option(help="The abstract to hold them against: a file, a run's folder, or a text in quotes."),
    ],
    indicator: Annotated[
        str | None,
        typer.Option(help="The quality that is judged. [default: novelty]", show_default=False),
    ] = None,
    area: Annotated[
        str | None,
        typer.Option(help="The judge's field. [default: computer science]", show_default=False),
    ] = None,
    orders: Annotated[
        int | None,
        typer.Option(min=1, help="In how many orders the ideas are shown. [default: 4]", show_default=False),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            "--round",
            min=0,
            help="Of runs that revised: the idea after so many revisions. [default: the final one]",
            show_default=False,
        ),
    ] = None,
    host: HostName = None,
    model: Model = None,
    seed: Seed = None,
    sets: Sets = None,
    path: Paths = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The run folder; runs/<time>-ranking if left out.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rank ideas beside a target idea, blind and in several orders; S is the share that is better than it."""
    from manyheads.session import Session, fresh, new_folder

    given = {
        "target": target, "ideas": ideas, "indicator": indicator, "area": area, "orders": orders,
        "round": after,
    }  # fmt: skip
    config = configured([CONFIG], (*_flags(given), *settings(sets, host, model, seed)), path)
    _need_a_ranking(config)
    folder = fresh(out) if out else new_folder(config, Path("runs"))
    go(Session(config, folder), json, quiet)


def _flags(given: Mapping[str, object]) -> list[str]:
    """Flags as settings, each a JSON value, which stays what it is when it is read as YAML."""
    return [
        f"ranking.{key}={json.dumps(value, ensure_ascii=False)}"
        for key, value in given.items()
        if value is not None
    ]


def _need_a_ranking(config: "RunConfig") -> None:
    """Raises `ConfigError` where the settings ask for what is not done here."""
    if config.system != CONFIG:
        raise ConfigError(f"system: {config.system} is no ranking", hint="manyheads run takes every system")
