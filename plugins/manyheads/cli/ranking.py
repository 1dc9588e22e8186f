"""`manyheads ranking`: ideas held against a target idea, by a judge who does not know which it is."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.options import HostName, Model, Paths, Seed, Sets, configured, settings
from manyheads.cli.rating import write
from manyheads.cli.run import Json, Quiet, go
from manyheads.errors import ConfigError

if TYPE_CHECKING:
    from manyheads.config import RunConfig


# `manyheads ranking form` and `agreement`: people rank what a judge has ranked, and the two are compared.


def form(
    rankings: Annotated[
        list[Path], typer.Argument(metavar="RANKING_RUN…", help="Folders of finished runs of ranking.")
    ],
    out: Annotated[Path, typer.Option(help="The table to write; several raters get one each.")] = Path(
        "form.csv"
    ),
    raters: Annotated[int, typer.Option(min=1, help="How many people rank each set.")] = 3,
    seed: Annotated[int, typer.Option(help="Of the order of the sets and of their ideas.")] = 0,
) -> None:
    """Write blind forms for people to rank the same ideas by hand: a table each, a guideline, and the key."""
    from manyheads.measures.forms import count
    from manyheads.measures.ranking import doubts, ranking_form, read_ranked_set

    made = ranking_form([read_ranked_set(path) for path in rankings], raters, seed)
    for doubt in doubts(made):
        typer.echo(f"warning: {doubt}", err=True)
    write(made, out, count(len(rankings), "set"))


def agreement(
    forms: Annotated[list[Path], typer.Argument(metavar="FORM…", help="Filled-in forms.")],
    key: Annotated[Path, typer.Option(help="The key of the form: what its letters stand for.")],
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[FILE:]ROW", help="Leave out the set in which a row stands, of that rater. Repeatable."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Say how far the judge ranks as people do: D(S), whole rankings, first places; and people among themselves."""
    from json import dumps

    from manyheads.measures.alignment import alignments, as_data, as_lines
    from manyheads.measures.forms import Key
    from manyheads.measures.ranking import LAYOUT, read_rankings

    given = read_rankings(forms, Key.read(key, LAYOUT), exclude or [])
    found = alignments(given)
    if json:
        typer.echo(dumps(as_data(given, found), indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(as_lines(given, found)))


CONFIG = "ranking"

app = typer.Typer(
    help="Relative quality ranking: ideas beside a target idea, ranked blind.", no_args_is_help=True
)
app.command("form")(form)
app.command("agreement")(agreement)


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
    from manyheads.engine.session import Session, fresh, new_folder

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
        f"{CONFIG}.{key}={json.dumps(value, ensure_ascii=False)}"
        for key, value in given.items()
        if value is not None
    ]


def _need_a_ranking(config: "RunConfig") -> None:
    """Raises `ConfigError` where the settings ask for what is not done here."""
    if config.system != CONFIG:
        raise ConfigError(f"system: {config.system} is no ranking", hint="manyheads run takes every system")
