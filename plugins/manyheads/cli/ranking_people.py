"""`manyheads ranking form` and `agreement`: people rank what a judge has ranked, and the two are compared."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.forms import count, show_forms

if TYPE_CHECKING:
    from manyheads.measures.effects import Mean
    from manyheads.measures.ranking_agreement import Alignment
    from manyheads.measures.rankings import Rankings

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
    from manyheads.measures.ranking_form import make_ranking_form, read_ranked_set, write_ranking_form

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

    from manyheads.measures.ranking_agreement import alignments, as_data
    from manyheads.measures.rankings import read_ranking_key, read_rankings

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
