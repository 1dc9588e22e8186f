"""`manyheads ranking`: ideas held against a target idea, by a judge who does not know which it is."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.options import HostName, Model, Paths, Seed, Sets, configured, settings
from manyheads.cli.rating import count, show_forms
from manyheads.cli.run import Json, Quiet, go
from manyheads.errors import ConfigError

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.measures.rankings import Alignment, Rankings
    from manyheads.measures.statistics import Mean


# `manyheads ranking form` and `agreement`: people rank what a judge has ranked, and the two are compared.


ABSENT = "–"
WIDTH = 38
"""Characters of a line's name."""


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
    from manyheads.measures.rankings import make_ranking_form, read_ranked_set, write_ranking_form

    sets = [read_ranked_set(path) for path in rankings]
    made = make_ranking_form(sets, raters, seed)
    written = write_ranking_form(made, out)
    for doubt in made.doubts():
        typer.echo(f"warning: {doubt}", err=True)
    show_forms(count(len(sets), "set"), raters, written)


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

    from manyheads.measures.rankings import alignments, as_data, read_ranking_key, read_rankings

    given = read_rankings(forms, read_ranking_key(key), exclude or [])
    found = alignments(given)
    if json:
        typer.echo(dumps(as_data(given, found), indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(_lines(given, found)))


def _lines(given: "Rankings", found: "list[Alignment]") -> Iterator[str]:
    counts = sorted({len(by_rater) for by_rater in given.given.values()})
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    sets, raters = count(len(given.sets), "set"), count(len(given.raters), "rater")
    yield f"{sets}, {raters}, rankings a set: {each}"
    if given.excluded:
        yield f"Left out, each with its set: {', '.join(given.excluded)}"
    for one in found:
        yield ""
        yield from _told(one)
    yield ""
    yield (
        "D(S) = |S of a person - S of the judge in one order|, alignment = 1 - D(S). Means are over targets, "
        "each that of its sets, ± their standard error."
    )


def _told(one: "Alignment") -> Iterator[str]:
    """One quality."""
    sets, targets = count(len(one.sets), "set"), count(one.targets, "target")
    people = f"{count(one.raters, 'rater')}, {count(one.rankings, 'ranking')}"
    yield f"{one.indicator}: {sets} beside {targets}, {people}"
    yield _line("S of the judge, the mean of its orders", one.s_judge)
    yield _line("S of people", one.s_human)
    yield _line("D(S) of judge and people", one.difference, f"alignment {one.alignment:.0%}")
    yield _line("D(S) between two people", one.between_people)
    yield _line("D(S) of a judge who guesses", one.by_chance, f"alignment {1 - one.by_chance:.0%}")
    yield _line("D(S) of the means of both", one.of_means)
    yield _line("Kendall's tau of judge and people", one.tau)
    yield _line("Kendall's tau between two people", one.tau_between_people)
    yield _line("Kendall's W of all people", one.concordance)
    yield _line("Same first place, judge and people", one.first)
    yield _line("Same first place, two people", one.first_between_people)
    yield _line("Same first place, by guessing", one.first_by_chance)
    for each in one.sets:
        people = ", ".join(f"{rater} {s:.2f}" for rater, s in sorted(each.s_human.items()))
        yield f"  {each.name}: S of the judge {each.s_judge:.2f}, of {people}; D(S) {each.difference:.2f}"


def _line(name: str, found: "Mean | float | None", more: str = "") -> str:
    return f"  {name:{WIDTH}}  {_figures(found)}{f'; {more}' if more else ''}"


def _figures(found: "Mean | float | None") -> str:
    if found is None:
        return ABSENT
    if isinstance(found, float | int):
        return f"{found:z.2f}"
    error = "" if found.se is None else f" ± {found.se:.2f}"
    if found.low is None or found.high is None:
        return f"{found.mean:z.2f}{error}"
    ends = f"{found.level:.0%} interval {found.low:z.2f} to {found.high:z.2f} ({found.method})"
    return f"{found.mean:z.2f}{error}, {ends}"


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
