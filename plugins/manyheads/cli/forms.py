"""`manyheads rating` and `manyheads ranking`: forms for people to fill in, and what comes of them."""

from dataclasses import asdict, dataclass
from functools import wraps
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyheads.cli import review
from manyheads.cli.options import Json
from manyheads.cli.printing import say, say_json
from manyheads.escaping import plain

if TYPE_CHECKING:
    from manyheads.measures.forms import Form


@dataclass(frozen=True)
class Forms:
    """Options of blind forms."""

    out: Annotated[Path, typer.Option(help="The table to write; several raters get one each.")] = Path(
        "form.csv"
    )
    raters: Annotated[
        int, typer.Option(min=1, max=1000, help="How many people rate each text, or rank each set.")
    ] = 3
    seed: Annotated[int, typer.Option(help="Of the order in which texts, sets and ideas are shown.")] = 0

    def write(self, form: "Form", number: int, thing: str) -> None:
        """Write a form on so many things, and list its files: a table for each rater, the guideline and the key."""
        from manyheads.texts import count

        *tables, guide, key = form.write(self.out)
        say(f"{count(number, thing)} for {count(len(tables), 'rater')}")
        for table in tables:
            say(f"Form       {table}")
        say(f"Guideline  {guide}")
        say(f"Key        {key}  (keep it from the raters)")


ratings = typer.Typer(
    help="Ratings of texts by people: blind forms, and how far a measure agrees with them.",
    no_args_is_help=True,
)


@ratings.command("form")
def rating_form(
    texts: Annotated[
        list[Path],
        typer.Argument(metavar="RUN|FILE…", help="Run folders, text files, or .jsonl of abstracts."),
    ],
    forms: Forms,
) -> None:
    """Write blind rating forms: a table for each rater, a guideline, and the key, which is not for raters."""
    from manyheads.measures.ratings import rating_form as blind_form
    from manyheads.texts import read_each

    subjects, left = read_each(texts)
    _leave_out(left)
    forms.write(blind_form(subjects, forms.raters, forms.seed), len(subjects), "text")


@ratings.command("agreement")
def rating_agreement(
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
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=COLUMN,...",
            help="What a table of yours calls rater, id and the criteria, such as rater=who,id=paper.",
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw a scatter plot: .png, .svg or .pdf.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    json: Json = False,
) -> None:
    """Say how far raters agree with each other, and a measure with the raters: correlations with intervals."""
    from manyheads.measures.forms import Key, columns_named
    from manyheads.measures.ratings import (
        COLUMNS,
        LAYOUT,
        as_lines,
        compare,
        identities,
        read_ratings,
        read_reviews,
        read_scores,
    )  # fmt: skip
    from manyheads.report.plots import needs_plots, scatter_plot

    folders = [path for path in ratings if path.is_dir()]
    if not scores and (on or plot):
        raise typer.BadParameter("--on and --plot are about scores: name them with --scores")
    if folders and len(folders) < len(ratings):
        raise typer.BadParameter(
            f"{folders[0]}: forms and run folders are not taken together; "
            "if these are scores, name each of them with a --scores of its own"
        )
    if folders and (key or exclude or columns):
        raise typer.BadParameter("--key, --exclude and --columns are for filled-in forms, not for reviews")
    if plot:
        needs_plots(plot)
    if folders:
        given, known = read_reviews(folders)
    else:
        named = columns_named(columns, COLUMNS) if columns else None
        ids = Key.read(key, LAYOUT) if key else None
        given, known = read_ratings(ratings, exclude or (), ids, named), identities(ids) if ids else {}
    found = compare(given, read_scores(scores, by) if scores else None, by, on, known, seed=seed)
    if plot:
        scatter_plot(found, plot)
    if json:
        say_json(dumps(asdict(found), indent=2, ensure_ascii=False))
    else:
        say("\n".join(as_lines(found)))
    if plot and not json:
        say(f"Plot        {plot}")


@ratings.command("calibration")
def rating_calibration(
    people: Annotated[
        Path, typer.Argument(metavar="PEOPLE.csv", help="A row a rating: paper,rater,score[,accepted].")
    ],
    scores: Annotated[
        list[Path],
        typer.Option(
            help="Scores of the same papers: run folders of reviews, a CSV, or JSON Lines. Repeatable."
        ),
    ],
    by: Annotated[str, typer.Option(help="The score's name.")] = "overall",
    on: Annotated[str, typer.Option(help="The column with people's ratings.")] = "score",
    threshold: Annotated[
        float | None,
        typer.Option(help="Mean rating from which on a paper is good, where no column `accepted` tells."),
    ] = None,
    score_threshold: Annotated[
        float | None,
        typer.Option(
            help="Score from which on a paper is called good. [default: --threshold]", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    json: Json = False,
) -> None:
    """Hold scores of reviews against people's ratings of the papers, beside one person against the others."""
    from manyheads.measures.calibration import as_data, as_lines, calibrate, read_people
    from manyheads.measures.ratings import pair, read_scores

    given = read_people(people, on)
    pairs = pair(given.means(), read_scores(scores, by), {})
    found = calibrate(
        dict(zip(pairs.items, pairs.scores, strict=True)),
        given,
        threshold=threshold,
        score_threshold=score_threshold,
        seed=seed,
    )
    if json:
        say_json(dumps(as_data(found), indent=2, ensure_ascii=False))
    else:
        say("\n".join(as_lines(found)))


def _leave_out(reasons: list[str]) -> None:
    for reason in reasons:
        say(f"warning: left out: {plain(reason)}", err=True)


rankings = typer.Typer(
    help="Relative quality ranking: ideas beside a target idea, ranked blind.", no_args_is_help=True
)


@rankings.command("judge")
@wraps(review.judge)
def judge(ideas: list[str], **options: Any) -> None:
    """Folders that hold no idea are left out first."""
    from manyheads.systems.ideas import with_ideas

    kept, left = with_ideas(ideas)
    _leave_out(left)
    review.judge(kept, **options)


@rankings.command("form")
def ranking_form(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RANKING_RUN…", help="Folders of finished runs of ranking.")
    ],
    forms: Forms,
) -> None:
    """Write blind forms for people to rank the same ideas by hand: a table each, a guideline, and the key."""
    from manyheads.measures.ranking import doubts, read_ranked_set
    from manyheads.measures.ranking import ranking_form as blind_form

    made = blind_form([read_ranked_set(path) for path in runs], forms.raters, forms.seed)
    for doubt in doubts(made):
        say(f"warning: {doubt}", err=True)
    forms.write(made, len(runs), "set")


@rankings.command("agreement")
def ranking_agreement(
    forms: Annotated[list[Path], typer.Argument(metavar="FORM…", help="Filled-in forms.")],
    key: Annotated[Path, typer.Option(help="The key of the form: what its letters stand for.")],
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[FILE:]ROW", help="Leave out the set in which a row stands, of that rater. Repeatable."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Say how far the judge ranks as people do: D(S), whole rankings, first places; and people among themselves."""
    from manyheads.measures.alignment import alignments, as_data, as_lines
    from manyheads.measures.forms import Key
    from manyheads.measures.ranking import LAYOUT, read_rankings

    given = read_rankings(forms, Key.read(key, LAYOUT), exclude or [])
    found = alignments(given)
    if json:
        say_json(dumps(as_data(given, found), indent=2, ensure_ascii=False))
    else:
        say("\n".join(as_lines(given, found)))
