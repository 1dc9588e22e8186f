"""`manyheads rating` and `manyheads ranking`: forms for human raters, and agreement with them."""

from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli import completion, review
from manyheads.cli.options import BootstrapSeed, Json, Options, without_index
from manyheads.cli.printing import say, say_json, warn_of_skipped

if TYPE_CHECKING:
    from manyheads.measures.forms import Form


class Forms(Options):
    """Options of blind forms."""

    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Table to write; with several raters, one numbered table each.",
        ),
    ] = Path("form.csv")
    raters: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, max=1000, help="Number of people who fill in the form.")
    ] = 3
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Random seed of the order of items.")] = 0

    def write(self, form: "Form", number: int, thing: str) -> None:
        """Write a form and list its files: a table for each rater, the guideline and the key."""
        from manyheads.core.texts import count

        *tables, guide, key = form.write(self.out)
        say(f"{count(number, thing)} for {count(len(tables), 'rater')}")
        for table in tables:
            say(f"Form       {table}")
        say(f"Guideline  {guide}")
        say(f"Key        {key}  (keep it from the raters)")


ratings = typer.Typer(
    help="Have people rate texts blind, and compare measures with their ratings.",
    no_args_is_help=True,
)


@ratings.command("form")
def rating_form(
    texts: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|FILE…",
            help="Run folders, text files, or .jsonl files of abstracts.",
            autocompletion=completion.texts,
            callback=without_index,
        ),
    ],
    forms: Forms,
) -> None:
    """Write blind rating forms: a table for each rater, a guideline, and a key that raters must not see."""
    from manyheads.core.texts import read_each
    from manyheads.measures.ratings import rating_form as blind_form

    subjects, left = read_each(texts)
    warn_of_skipped(left)
    forms.write(blind_form(subjects, forms.raters, forms.seed), len(subjects), "text")


@ratings.command("agreement")
def rating_agreement(
    ratings: Annotated[
        list[Path],
        typer.Argument(metavar="FORM|RUN…", help="Filled-in forms, or run folders of `manyheads review`."),
    ],
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE|RUN",
            help="Scores to compare with: measures.jsonl, a CSV file, or run folders of `manyheads review`. Repeatable.",
        ),
    ] = None,
    by: Annotated[str, typer.Option(metavar="NAME", help="Name of the score in --scores.")] = "on",
    on: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="Rating criterion to compare with. [default: novelty, else the one of the scores]",
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Key of the form, which maps its ids to texts.")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="[FILE:]ROW", help="Exclude a row; row 1 is the header. Repeatable."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=COLUMN,…",
            help="Column names of your own table, such as rater=who,id=paper,clarity=clear; each name besides rater "
            "and id is a criterion.",
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOWEST-HIGHEST",
            help="Scale of your own table, such as 0-100. Forms are rated from 1 to 10.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a scatter plot (.png, .svg or .pdf).")
    ] = None,
    seed: BootstrapSeed = 0,
    json: Json = False,
) -> None:
    """Report how well raters agree with each other, and a measure with the raters.

    Prints correlations with confidence intervals.
    """
    from manyheads.measures.agreement import as_lines, compare, read_scores
    from manyheads.measures.forms import Key, columns_named, scale_named
    from manyheads.measures.ratings import (  # fmt: skip
        COLUMNS,
        LAYOUT,
        identities,
        read_ratings,
        read_reviews,
    )
    from manyheads.report.plots import needs_plots, scatter_plot

    folders = [path for path in ratings if path.is_dir()]
    if not scores and (on or plot):
        raise typer.BadParameter("--on and --plot need --scores")
    if folders and len(folders) < len(ratings):
        raise typer.BadParameter(
            f"{folders[0]}: forms and run folders cannot be mixed; if the run folders hold scores, give each with --scores"
        )
    if folders and (key or exclude or columns or scale):
        raise typer.BadParameter(
            "--key, --exclude, --columns and --scale work with filled-in forms only, not with run folders"
        )
    if plot:
        needs_plots(plot)
    if folders:
        table, texts = read_reviews(folders)
    else:
        names = columns_named(columns, COLUMNS, others=True) if columns else None
        ids, ends = Key.read(key, LAYOUT) if key else None, scale_named(scale) if scale else None
        table = read_ratings(ratings, exclude or (), ids, names, ends)
        texts = identities(ids) if ids else {}
    comparison = compare(table, read_scores(scores, by) if scores else None, by, on, texts, seed=seed)
    if plot:
        scatter_plot(comparison, plot)
    if json:
        say_json(dumps(asdict(comparison), indent=2, ensure_ascii=False))
    else:
        say("\n".join(as_lines(comparison)))
    if plot and not json:
        say(f"Plot        {plot}")


@ratings.command("calibration")
def rating_calibration(
    people: Annotated[
        Path,
        typer.Argument(metavar="CSV", help="People's ratings, one per row: paper,rater,score[,accepted]."),
    ],
    scores: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE|RUN",
            help="Scores of the same papers: run folders of reviews, a CSV file, or JSON Lines. Repeatable.",
        ),
    ],
    by: Annotated[str, typer.Option(metavar="NAME", help="Name of the score in --scores.")] = "overall",
    on: Annotated[str, typer.Option(metavar="COLUMN", help="Column with people's ratings.")] = "score",
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Minimum mean rating of a good paper, if there is no column `accepted`.",
        ),
    ] = None,
    score_threshold: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            show_default=False,
            help="Minimum score of a good paper. [default: --threshold]",
        ),
    ] = None,
    seed: BootstrapSeed = 0,
    json: Json = False,
) -> None:
    """Compare review scores with people's ratings of the papers.

    The baseline is how well one person agrees with the others.
    """
    from manyheads.measures.agreement import pair, read_scores
    from manyheads.measures.calibration import as_data, as_lines, calibrate, read_people

    ratings = read_people(people, on)
    pairs = pair(ratings.means(), read_scores(scores, by), {})
    calibration = calibrate(
        dict(zip(pairs.items, pairs.scores, strict=True)),
        ratings,
        threshold=threshold,
        score_threshold=score_threshold,
        seed=seed,
    )
    if json:
        say_json(dumps(as_data(calibration), indent=2, ensure_ascii=False))
    else:
        say("\n".join(as_lines(calibration)))


rankings = typer.Typer(
    help="Rank ideas against a target idea, by a model or by people.", no_args_is_help=True
)


rankings.command("judge")(review.judge)


@rankings.command("form")
def ranking_form(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN…",
            help="Run folders of finished rankings.",
            autocompletion=completion.runs,
            callback=without_index,
        ),
    ],
    forms: Forms,
) -> None:
    """Write blind forms for people to rank the same ideas: a table each, a guideline and a key."""
    from manyheads.measures.ranking import doubts, read_ranked_set
    from manyheads.measures.ranking import ranking_form as blind_form

    made = blind_form([read_ranked_set(path) for path in runs], forms.raters, forms.seed)
    for doubt in doubts(made):
        say(f"warning: {doubt}", err=True)
    forms.write(made, len(runs), "set")


@rankings.command("agreement")
def ranking_agreement(
    forms: Annotated[list[Path], typer.Argument(metavar="FORM…", help="Filled-in forms.")],
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Key of the form, which maps its letters to ideas.")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[FILE:]ROW", help="Exclude the rater's set that this row belongs to. Repeatable."
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=COLUMN,…",
            help="Column names of your own table, which has no key: rater=who,set=topic,idea=paper,rank=place.",
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(metavar="RATER", help="With --columns: the rater who is the judge. Repeatable."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="IDEA", help="With --columns: the idea that is the target.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare the judge's rankings with people's: D(S), whole rankings, first places.

    The baselines are agreement among people, and guessing.
    """
    from manyheads.measures.forms import Key, columns_named
    from manyheads.measures.ranking import COLUMNS, LAYOUT, own_rankings, read_rankings
    from manyheads.measures.rankings import alignments, as_data, as_lines

    if (key is None) == (columns is None) or (key and (judge or target)):
        raise typer.BadParameter(
            "name the form's key by --key, or the columns of a table of your own by --columns, with --judge and --target"
        )
    if key:
        orders = read_rankings(forms, Key.read(key, LAYOUT), exclude or [])
    else:
        names = columns_named(columns or "", COLUMNS)
        orders = own_rankings(forms, names, judge or (), target, exclude or ())
    agreement = alignments(orders)
    if json:
        say_json(dumps(as_data(orders, agreement), indent=2, ensure_ascii=False))
    else:
        say("\n".join(as_lines(orders, agreement)))
