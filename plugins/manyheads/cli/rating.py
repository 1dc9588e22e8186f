"""`manyheads rating`: forms for people to fill in, and what comes of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from manyheads.measures.agreement import Correlation
    from manyheads.measures.comparison import Comparison
    from manyheads.measures.ratings import Identity, Ratings


# What commands that make forms for people tell of them.


def show_forms(things: str, raters: int, paths: Sequence[Path]) -> None:
    """The files of a form: a table for each rater, then the guideline and the key.

    Args:
        things: what is rated, with its number, such as `3 texts`.
    """
    *tables, guide, key = paths
    typer.echo(f"{things} for {count(raters, 'rater')}")
    for table in tables:
        typer.echo(f"Form       {table}")
    typer.echo(f"Guideline  {guide}")
    typer.echo(f"Key        {key}  (keep it from the raters)")


def count(things: int, word: str) -> str:
    """`1 text`, `1000 texts`."""
    return f"{things} {word}{'' if things == 1 else 's'}"


app = typer.Typer(
    help="Ratings of texts by people: blind forms, and how far a measure agrees with them.",
    no_args_is_help=True,
)


@app.command()
def form(
    texts: Annotated[
        list[Path],
        typer.Argument(metavar="RUN|FILE…", help="Run folders, text files, or .jsonl of abstracts."),
    ],
    out: Annotated[Path, typer.Option(help="The table to write; several raters get one each.")] = Path(
        "form.csv"
    ),
    raters: Annotated[int, typer.Option(min=1, help="How many people rate each text.")] = 3,
    seed: Annotated[int, typer.Option(help="Of the order of the texts.")] = 0,
) -> None:
    """Write blind rating forms: a table for each rater, a guideline, and the key, which is not for raters."""
    from manyheads.measures.ratings import make_form, write_form
    from manyheads.texts import read_subjects

    subjects = [subject for path in texts for subject in read_subjects(path)]
    written = write_form(make_form(subjects, raters, seed), out)
    show_forms(count(len(subjects), "text"), raters, written)


@app.command()
def agreement(
    ratings: Annotated[
        list[Path],
        typer.Argument(metavar="RATINGS…", help="Filled-in forms, or run folders of manyheads review."),
    ],
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="Scores of the texts: measures.jsonl, a CSV, or run folders of manyheads review. Repeatable."
        ),
    ] = None,
    by: Annotated[str, typer.Option(help="The score's name.")] = "on",
    on: Annotated[
        str | None,
        typer.Option(help="The criterion. [default: novelty, else what was scored]", show_default=False),
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The key of the form: what its ids stand for.")] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="[FILE:]ROW", help="Leave a row out. Repeatable.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw a scatter plot: .png, .svg or .pdf.")] = None,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Say how far raters agree with each other, and a measure with the raters: correlations with intervals."""
    from manyheads.measures.comparison import compare, describe_ratings
    from manyheads.measures.ratings import read_scores
    from manyheads.report.plots import needs_plots, scatter_plot

    if not scores and (on or plot):
        raise typer.BadParameter("--on and --plot are about scores: name them with --scores")
    if plot:
        needs_plots(plot)
    given, known = _given(ratings, key, exclude or [])
    if scores:
        criterion = on or ("novelty" if "novelty" in given.criteria else given.criteria[0])
        found = compare(given, criterion, read_scores(scores, by), by, known, seed=seed)
    else:
        found = describe_ratings(given)
    if plot:
        scatter_plot(found, plot)
    typer.echo(_as_json(found) if json else "\n".join(_lines(found)))
    if plot and not json:
        typer.echo(f"Plot        {plot}")


def _given(paths: list[Path], key: Path | None, exclude: list[str]) -> "tuple[Ratings, dict[str, Identity]]":
    from manyheads.measures.ratings import read_key, read_ratings, read_reviews

    if all(path.is_dir() for path in paths):
        if key or exclude:
            raise typer.BadParameter("--key and --exclude are for filled-in forms, not for reviews")
        return read_reviews(paths)
    if folders := [path for path in paths if path.is_dir()]:
        raise typer.BadParameter(
            f"{folders[0]}: forms and run folders are not taken together; "
            "if these are scores, name each of them with a --scores of its own"
        )
    given = read_ratings(paths, exclude)
    return given, read_key(key, given) if key else {}


def _as_json(found: "Comparison") -> str:
    from json import dumps

    return dumps(found.as_data(), indent=2, ensure_ascii=False)


def _lines(found: "Comparison") -> list[str]:
    low, high = found.per_text
    each = f"{low}" if low == high else f"{low} to {high}"
    lines = [f"{count(found.texts, 'text')}, {count(found.raters, 'rater')}, ratings a text: {each}"]
    if found.excluded:
        lines.append(f"Left out    {', '.join(found.excluded)}")
    for name, rated in found.criteria.items():
        alpha = "not to be told" if rated.alpha is None else f"{rated.alpha:.2f}"
        lines.append(f"{name:13} mean {rated.mean:.2f}, agreement of raters (Krippendorff's alpha) {alpha}")
    if held := found.held:
        lines += ["", f"{held.by} against {held.on}, n = {held.agreement.n}"]
        lines += [_correlation("Pearson r", held.agreement.pearson)]
        lines += [_correlation("Spearman ρ", held.agreement.spearman)]
        if held.agreement.few:
            lines.append("So few texts make the bootstrap's intervals too narrow")
        if held.pairs.unrated:
            lines.append(f"{len(held.pairs.unrated)} scores are of texts that nobody rated")
    return lines


def _correlation(name: str, found: "Correlation") -> str:
    fisher, boot = found.fisher, found.bootstrap
    told = f"{name:11} {found.value:.2f}  {boot.level:.0%} interval "
    told += f"{fisher.low:.2f} to {fisher.high:.2f} (Fisher z), " if fisher else ""
    told += f"{boot.low:.2f} to {boot.high:.2f} (bootstrap)"
    return told + (
        f", {found.unusable:.1%} of the resamples were constant and left out" if found.unusable else ""
    )
