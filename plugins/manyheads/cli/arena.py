"""`manyheads arena`: texts of several makers, compared blind by people and models, and the makers' ratings."""

import fnmatch
import shlex
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from pydantic import Field

from manyheads.base.errors import ArenaError, ConfigError, RatingError, need_extra
from manyheads.base.text import count, plain
from manyheads.cli import completion
from manyheads.cli.engine import Running
from manyheads.cli.options import Changes, Json, Options, Spending, resumable, runs_found
from manyheads.cli.printing import safe_console, say, say_json
from manyheads.cli.run import only_estimated

if TYPE_CHECKING:
    from rich.table import Table

    from manyheads.arena.report import ArenaResult
    from manyheads.arena.store import Arena
    from manyheads.measures.published import PublishedTable
    from manyheads.measures.ranking import Rankings
    from manyheads.measures.ratings import RatingTable
    from manyheads.measures.standings import Rules, Standings
    from manyheads.measures.votes import VoteTable

H = TypeVar("H", "Rating", "Agreeing", "Importing")

app = typer.Typer(no_args_is_help=True)

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of the arena.", autocompletion=completion.arenas)
]
Names = Annotated[list[str], typer.Argument(metavar="NAME…", help="Raters.")]
COLUMNS = typer.Option(
    metavar="NAME=COLUMN,…",
    help="Column names of your own table, such as left=model_a,right=model_b,winner=winner,rater=judge,case=prompt; each other "
    "name is a question.",
)


def _opened(folder: Path) -> "Arena":
    from manyheads.arena.store import Arena

    return Arena.open(folder)


def _recognised(
    how: H, path: Path, names: Sequence[str]
) -> "tuple[H, dict[str, str], PublishedTable | None]":
    """The options; what a table calls our columns, such as `names`; and the published table, if this file is one and no columns
    are named: then the options have its scale and so on."""
    from manyheads.measures.published import recognised
    from manyheads.measures.tables import columns_named, columns_of

    if how.columns or path.is_dir() or not (known := recognised(there := columns_of(path))):
        return how, columns_named(how.columns, names) if how.columns else {}, None
    if missing := [
        each for each in known.columns.values() if not fnmatch.filter(map(str.lower, there), each.lower())
    ]:
        hint = "name the columns that this file has: --columns NAME=COLUMN,…"
        raise RatingError(
            f"{path}: {known.about}, without its column {', '.join(missing)}",
            tried=f"its columns: {', '.join(there)}",
            hint=hint,
        )
    own = known.model_dump(include={"group", "scale", "by", "threshold"}, exclude_none=True)
    unset = {name: value for name, value in own.items() if getattr(how, name, "") is None}
    return how.model_copy(update=unset), known.columns, known


class Making(Options):
    form: Annotated[str, typer.Option(metavar="NAME|FILE", autocompletion=completion.arena_forms)] = "review"
    """What raters are asked: review or idea (pairs), rating, ranking, or a YAML file of your own."""


@app.command()
def new(folder: Folder, making: Making) -> None:
    """Make an arena: a folder for texts, raters and votes."""
    from manyheads.arena.items import read_form
    from manyheads.arena.store import Arena

    form = read_form(making.form)
    Arena.create(folder, form).close()
    say(f"Arena      {folder}: {form.title}")
    say(f"Questions  {', '.join(each.text for each in form.questions)}")
    say(f"Next       manyheads arena add {folder} RUN…")


class Adding(Options):
    texts: Annotated[
        tuple[Path, ...],
        typer.Argument(metavar="RUN|FILE…", autocompletion=completion.runs, callback=runs_found),
    ]
    """Run folders, text files, or .jsonl files of abstracts."""
    maker: Annotated[str | None, typer.Option(metavar="NAME")] = None
    """Maker of these texts. Files need it, but to be rated; a run has its system."""
    by: Literal["system", "config"] = "system"
    """What a run's maker is: its system, or its config."""
    case: Annotated[str | None, typer.Option(metavar="NAME")] = None
    """What these texts are about. [default: name of the run's paper, or of the file]"""
    papers: Annotated[Path | None, typer.Option(metavar="FOLDER")] = None
    """Papers that raters may read: those that runs name, or files named after the cases; text files are shown as background."""
    hide: Annotated[tuple[str, ...], typer.Option(metavar="WORD")] = ()
    """Replace a word that names a maker."""
    cut: Annotated[tuple[str, ...], typer.Option(metavar="HEADING")] = ()
    """Leave out sections under this heading."""
    drop: Annotated[tuple[str, ...], typer.Option(metavar="LINE")] = ()
    """Leave out this heading, bold label or sentence; the text below it stays, and numbers may differ."""


@app.command()
def add(folder: Folder, how: Adding) -> None:
    """Add texts. The same case by several makers is what raters compare.

    Names of systems, roles, hosts and models are removed from texts of runs.
    """
    from manyheads.arena.entries import TextSource, sets_of
    from manyheads.judges.blinding import ArenaConfig, giveaways

    with _opened(folder) as arena:
        blinding = ArenaConfig(names=how.hide, cut=how.cut, drop=how.drop, writer=arena.form.writer)
        source = TextSource(how.maker, how.by, how.case, how.papers, blinding, arena.kind == "ratings")
        ranked = arena.kind == "ranking" and how.maker is None and all(path.is_dir() for path in how.texts)
        made = sets_of(how.texts) if ranked else source.texts(how.texts)
        left = arena.add(made)
        every = arena.texts()
    known = (f"left out: {each}: there already" for each in left)
    telling = giveaways((each.maker, each.body) for each in every)
    for each in (*source.warnings, *known, *telling):
        say(f"warning: {each}", err=True)
    say(
        f"{count(len(made) - len(left), 'text')} added; now {count(len(every), 'text')} of "
        f"{count(len({each.maker for each in every}), 'maker')} on {count(len({each.case for each in every}), 'case')}"
    )
    if hints := sum(each.hints for each in made):
        say(f"{count(hints, 'identifying phrase')} removed")


class Inviting(Options):
    url: Annotated[str, typer.Option(metavar="BASE")] = "http://127.0.0.1:8765"
    """Address of `manyheads serve`, as raters reach it."""
    days: Annotated[float, Field(ge=0.01, le=3650)] = 30
    """Days until the link expires."""


@app.command()
def invite(folder: Folder, names: Names, how: Inviting) -> None:
    """Print a link for each rater. It is shown only here; a second invitation is a second link of the same rater."""
    with _opened(folder) as arena:
        for name in names:
            invitation = arena.invite(name, days=how.days)
            say(f"{invitation.rater.name}  {how.url.rstrip('/')}{invitation.path}")
    say(f"The links work while this runs: manyheads serve {shlex.quote(str(folder.parent))}", err=True)


@app.command()
def revoke(folder: Folder, names: Names) -> None:
    """Revoke all links of a rater. The votes stay."""
    with _opened(folder) as arena:
        for name in names:
            say(f"{name}  {count(arena.revoke(name), 'link')} revoked")


@app.command()
def status(folder: Folder, json: Json = False) -> None:
    """Show makers, raters and progress."""
    from manyheads.arena.report import as_lines, status_of

    with _opened(folder) as arena:
        known = status_of(arena)
    say_json(dumps(known, indent=2, ensure_ascii=False)) if json else say("\n".join(as_lines(known)))


REPEATS = typer.Option(
    help="In a table: keep all of a rater's votes on the same makers and case, or only the first or last of them."
)


class Importing(Options):
    tables: Annotated[tuple[Path, ...], typer.Argument(metavar="CSV…")]
    """Tables of votes, one per row, or sheets that were filled in."""
    columns: Annotated[str | None, COLUMNS] = None
    repeats: Annotated[Literal["keep", "first", "last"], REPEATS] = "keep"


@app.command("import")
def import_(folder: Folder, source: Importing) -> None:
    """Add answers of another origin: sheets of `arena export --sheets`, or votes on pairs, such as published ones.

    Adding the same table twice changes nothing.
    """
    from manyheads.arena.sheets import take
    from manyheads.measures.votes import COLUMNS

    _, columns, _ = _recognised(source, source.tables[0], COLUMNS)
    with _opened(folder) as arena:
        taken = take(arena, source.tables, columns, source.repeats)
        earlier = f"; {taken.number - taken.new:,} imported before" if taken.new < taken.number else ""
        what = "vote" if arena.kind == "pairs" else "answer"
        say(f"{count(taken.new, what)} added, of {taken.number:,}{earlier}")
    for note in taken.notes:
        say(f"warning: {note}", err=True)


class Exporting(Options):
    form: Annotated[Literal["csv", "json"], typer.Option("--format")] = "csv"
    """Format."""
    sheets: Annotated[int | None, Field(ge=1, le=1000)] = None
    """Instead, write blank sheets for this number of raters, with a guideline."""
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE")] = None
    """File to write. [default: votes.csv]"""


@app.command()
def export(folder: Folder, what: Exporting) -> None:
    """Write the answers with the makers, without invitations; or blank sheets, for raters without a browser.

    Each rater of an arena of ratings or rankings gets a sheet in another order. `arena import` reads them back.
    """
    from manyheads.arena.sheets import export, write_sheets

    with _opened(folder) as arena:
        if what.sheets:
            *files, guide = write_sheets(arena, what.sheets, what.out or Path("sheet.csv"))
            for each in files:
                say(f"Sheet      {each}")
            say(f"Guideline  {guide}")
        else:
            name = "votes" if arena.kind == "pairs" else arena.kind
            say(f"Votes      {export(arena, what.form, what.out or Path(f'{name}.{what.form}'))}")


class Judging(Spending):
    pairs: Annotated[int, Field(ge=0)] = 20
    """Maximum number of this rater's pairs, with those of earlier starts; each is asked twice."""
    name: Annotated[str | None, typer.Option(metavar="NAME")] = None
    """Name of the rater. [default: the model's]"""


@app.command()
def judge(folder: Folder, changes: Changes, how: Judging, running: Running) -> None:
    """Have a model vote, on the same form, each pair in both orders. Its votes are kept separate from those of people.

    To resume, run the same command again: pairs with an answer are not asked again. A budget is that of all judges of this
    arena together, over all starts. Exits with 3 if it is spent.
    """
    from manyheads.arena import judging
    from manyheads.engine.budget import Budget

    config = changes.config([])
    model = config.models["default"]
    rater = how.name or f"{model.provider}/{model.name}"
    limits = Budget.parse(how.budget or (), whose="the arena's")
    limits.need_prices([config])
    with _opened(folder) as arena, resumable():
        by = partial(judging.estimate, arena, rater, how.pairs)
        if only_estimated([config], how, by=by):
            return
        with closing(limits.open(folder)), running.opened(config) as engine:
            work = judging.judge(arena, rater, how.pairs, config, engine=engine, meter=limits.asking)
            done = running.finish(work)
    say(f"{count(done.votes, 'vote')} by {rater}; {done.usage.calls:,} calls, {done.usage.tokens:,} tokens")
    if done.invalid:
        say(f"warning: {count(done.invalid, 'question')} without a valid answer, skipped", err=True)


class Rating(Options):
    source: Annotated[Path, typer.Argument(metavar="DIR|CSV", autocompletion=completion.arenas)]
    """An arena, or a table of votes."""
    question: Annotated[str | None, typer.Option(metavar="NAME")] = None
    """Question to rate by first. [default: the form's main one]"""
    columns: Annotated[str | None, COLUMNS] = None
    repeats: Annotated[Literal["keep", "first", "last"], REPEATS] = "keep"
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FOLDER")] = None
    """Write a page, pictures and tables."""
    json_: Json = False
    poor: Literal["out", "tie"] = "out"
    """Leave “both poor” out, or count it as a tie."""
    regularise: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Ties to add between each two makers that met, so that who always wins has a finite rating."""
    style: Annotated[str, typer.Option(metavar="NAME,…")] = "words,lines,headings,lists"
    """Signs of style to adjust for: words, lines, headings, lists; or none."""
    resamples: Annotated[int, Field(ge=2, le=100_000)] = 1000
    """Resamples of each bootstrap."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Random seed of the resamples."""

    @property
    def rules(self) -> "Rules":
        from manyheads.measures.standings import Rules
        from manyheads.measures.votes import STYLE

        signs = tuple(each.strip() for each in self.style.split(",") if each.strip() not in ("", "none"))
        if wrong := [each for each in signs if each not in STYLE]:
            hint = f"choose from {', '.join(STYLE)}, or none"
            raise ConfigError(f"--style {wrong[0]}: no sign of style", hint=hint)
        return Rules(self.poor, self.regularise, signs, self.resamples, seed=self.seed)


@app.command()
def rate(how: Rating) -> None:
    """Rate the makers: Bradley–Terry and Elo, with intervals over raters and cases.

    Makers whose intervals overlap, or that were never compared, are not ranked against each other. People and models are rated separately.
    """
    from manyheads.arena.report import questions_of, rate, write_result

    need_extra("statistics", "rating makers")
    from manyheads.measures import published
    from manyheads.measures.votes import COLUMNS

    rules = how.rules
    how, columns, known = _recognised(how, how.source, COLUMNS)
    if how.source.is_dir() and (how.columns or how.repeats != "keep"):
        raise typer.BadParameter("--columns and --repeats work with a table of votes, not with an arena")
    read, first, title = _votes_of(how, columns)
    questions = questions_of(read.votes, how.question or first)
    result = rate(read.votes, questions, rules, [*read.notes], read.headline)
    ours = published.of_votes(result.people, known.question) if known else {}
    if how.json_:
        more = {"published": known.beside(ours)} if known else {}
        say_json(dumps(result.data() | more, indent=2, ensure_ascii=False))
    else:
        _show(result)
        say("\n".join(known.as_lines(ours))) if known else None
    if how.out:
        say(f"Report     {write_result(result, how.out, title)}", err=how.json_)


def _votes_of(how: Rating, columns: Mapping[str, str]) -> "tuple[VoteTable, str | None, str]":
    """The votes of an arena or a table; the main question, if it is known; and a title."""
    from manyheads.measures.votes import VoteTable, read_votes

    if (source := how.source).is_dir():
        with _opened(source) as arena:
            if arena.kind != "pairs":
                raise ArenaError(
                    f"{source}: an arena of {arena.kind} has no pairs to rate makers by",
                    hint=f"manyheads arena agreement {source}",
                )
            return VoteTable(tuple(arena.votes()), {}), arena.form.first, arena.form.title
    return read_votes(source, columns, how.repeats), None, source.stem


class Agreeing(Options):
    sources: Annotated[
        tuple[Path, ...], typer.Argument(metavar="DIR|CSV|RUN…", autocompletion=completion.arenas)
    ]
    """An arena of ratings or rankings, tables of your own, or run folders of `manyheads review`."""
    scores: Annotated[tuple[Path, ...], typer.Option(metavar="FILE|RUN|FOLDER")] = ()
    """Scores of the rated texts: measures.jsonl, a CSV or JSON file, or run folders of reviews. Several of one text count as their mean.
    Each table of a folder is compared by itself."""
    by: Annotated[str | None, typer.Option(metavar="NAME")] = None
    """Name of the score in --scores. [default: on]"""
    on: Annotated[str | None, typer.Option(metavar="NAME")] = None
    """Criterion to compare with the scores. [default: novelty, else the first]"""
    columns: Annotated[str | None, typer.Option(metavar="NAME=COLUMN,…")] = None
    """Column names of your own table, such as rater=who,id=paper,clarity=clear, where each name besides rater, id, accepted and group
    is a criterion; a column a rater: score=ann+ben, or score=rating_*; or rater=who,set=topic,idea=paper,rank=place."""
    scale: Annotated[str | None, typer.Option(metavar="LOWEST-HIGHEST,…")] = None
    """Scale of your own table, such as 0-100, or 1-10,clarity=1-5 where criteria have different ones."""
    group: Annotated[str | None, typer.Option(metavar="COLUMN")] = None
    """Compare groups of texts by this column, such as condition; of an arena, by maker."""
    before: Annotated[tuple[Path, ...], typer.Option(metavar="FILE")] = ()
    """Earlier ratings of the same texts: compare the groups' changes, too."""
    threshold: float | None = None
    """Minimum mean rating, and score, of a good text, if there is no column `accepted`."""
    judge: Annotated[tuple[str, ...], typer.Option(metavar="RATER")] = ()
    """Of a table of rankings: the rater who is the judge."""
    target: Annotated[str | None, typer.Option(metavar="IDEA")] = None
    """Of a table of rankings: the idea that is the target."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Random seed of the bootstrap intervals."""
    plot: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    """Draw a scatter plot of the scores (.png, .svg or .pdf)."""
    json_: Json = False


@app.command()
def agreement(how: Agreeing) -> None:
    """Report how well raters agree with each other, and scores or a judge with the raters; compare groups of texts.

    Ratings: Krippendorff's alpha; correlations of --scores with the mean rating, next to those of one person with the others.
    Rankings: D(S), whole rankings, first places, next to those between people and of a judge who guesses.
    """
    from manyheads.arena.sheets import rankings_of, ratings_of
    from manyheads.arena.store import FILE
    from manyheads.measures.ratings import COLUMNS, read_reviews

    sources, folders = how.sources, [path for path in how.sources if path.is_dir()]
    if folders and (len(folders) < len(sources) or how.columns or how.scale or how.judge or how.target):
        raise typer.BadParameter(
            "folders and tables cannot be mixed, and --columns, --scale, --judge and --target work with tables only; "
            "if run folders hold scores, give each with --scores"
        )
    if len(sources) > 1 and any((folder / FILE).is_file() for folder in folders):
        raise typer.BadParameter("one arena at a time")
    if folders and how.group not in (None, "maker"):
        raise typer.BadParameter("--group: texts of an arena are grouped by maker; others need a table")
    if (how.on or how.plot) and not how.scores:
        raise typer.BadParameter("--on and --plot need --scores")
    if how.before and folders:
        raise typer.BadParameter("--before works with tables of ratings")
    if not folders:
        how, columns, known = _recognised(how, next(iter(sources)), COLUMNS)
        _print(_of_tables(sources, how, columns, known), how, columns, known)
    elif (folders[0] / FILE).is_file():
        with _opened(folders[0]) as arena:
            _print(rankings_of(arena) if arena.kind == "ranking" else ratings_of(arena), how)
    else:
        _print(read_reviews(folders), how)


def _of_tables(
    tables: Sequence[Path], how: Agreeing, columns: dict[str, str], known: "PublishedTable | None"
) -> "RatingTable | Rankings":
    """Rankings of tables with a column for ranks, else ratings."""
    from manyheads.measures.ranking import read_rankings
    from manyheads.measures.tables import read_table

    rows = [] if columns else read_table(tables[0], (), "", answers=("rank",))[:1]
    if "rank" in columns or any("rank" in row.cells for row in rows):
        return read_rankings(tables, columns, how.judge, how.target)
    return _ratings_of(tables, how, columns, known)


def _ratings_of(
    tables: Sequence[Path], how: Agreeing, columns: dict[str, str], known: "PublishedTable | None"
) -> "RatingTable":
    from manyheads.measures.ratings import GROUP, read_ratings
    from manyheads.measures.tables import scales_named

    group = {GROUP: how.group} if how.group else {}
    scales, once = scales_named(how.scale) if how.scale else None, bool(known and known.once)
    return read_ratings(tables, columns | group, scales, once=once)


def _print(
    found: "RatingTable | Rankings",
    how: Agreeing,
    columns: Mapping[str, str] | None = None,
    known: "PublishedTable | None" = None,
) -> None:
    from manyheads.measures import ranking

    if isinstance(found, ranking.Rankings):
        qualities = ranking.alignments(found)
        data, lines = ranking.as_data(found, qualities), [*ranking.as_lines(found, qualities)]
    else:
        data, lines = _of_ratings(found, how, columns or {}, known)
    if how.json_:
        say_json(dumps(data, indent=2, ensure_ascii=False))
    else:
        say("\n".join(lines))
        say(f"Plot        {how.plot}") if how.plot else None


def _of_ratings(
    found: "RatingTable", how: Agreeing, columns: Mapping[str, str], known: "PublishedTable | None"
) -> tuple[dict[str, Any], list[str]]:
    """Ratings and scores compared, as data and as text; draws the plot."""
    from manyheads.measures import agreement, groups, published
    from manyheads.measures.ratings import read_scores
    from manyheads.report.plots import needs_plots, scatter_plot

    if how.plot:
        needs_plots(how.plot)
    by, scorers = how.by or "on", dict[str, agreement.RatingSummary]()
    for name, files in _scorers(how.scores, known).items():
        called = known.scorers.get(name, name) if known else name
        least = {"threshold": how.threshold, "score_threshold": known and known.thresholds.get(called)}
        scores = read_scores(files, by, columns)
        scorers[called] = agreement.compare(found, scores, by, how.on, seed=how.seed, **least)
    [compared] = scorers.values() if len(scorers) == 1 else [agreement.compare(found)]
    if how.plot and len(scorers) > 1:
        raise typer.BadParameter("--plot draws one table of scores: name a file of the folder with --scores")
    data, lines = asdict(compared), [*agreement.as_lines(compared)]
    scorers.pop("", None)
    for name, each in scorers.items():
        lines += ["", name, *agreement.score_lines(each)] if len(scorers) > 1 else []
        data.setdefault("scorers", {})[name] = asdict(each)
    ours, against = published.of_ratings(compared, scorers), known and known.against
    for name, table in _grouped(found, how, columns, known).items():
        data[name] = asdict(by_group := groups.compare_groups(table, against=against, seed=how.seed))
        lines += groups.as_lines(by_group)
        ours |= published.of_groups(by_group)
    if known:
        data["published"] = known.beside(ours)
        lines += known.as_lines(ours)
    if how.plot:
        scatter_plot(compared, how.plot)
    return data, lines


def _scorers(scores: Sequence[Path], known: "PublishedTable | None") -> dict[str, Sequence[Path]]:
    """The tables of a folder, or one that a publication names, by their names; else all scores together, without a name."""
    from manyheads.core.results import RESULT

    if len(scores) == 1 and not (scores[0] / RESULT).exists() and (tables := sorted(scores[0].glob("*.csv"))):
        return {each.stem: [each] for each in tables}
    if len(scores) == 1 and known and scores[0].stem in known.scorers:
        return {scores[0].stem: scores}
    return {"": scores} if scores else {}


def _grouped(
    found: "RatingTable", how: Agreeing, columns: Mapping[str, str], known: "PublishedTable | None"
) -> "dict[str, RatingTable]":
    """What groups are compared on: the ratings, and how they have changed."""
    from manyheads.measures.groups import changes
    from manyheads.measures.ratings import GROUP

    tables = {"groups": found} if how.group or GROUP in columns else {}
    if how.before:
        own, earlier = how.model_copy(update={"group": None}), None  # a text is in its later group
        others = {name: column for name, column in columns.items() if name != GROUP}
        if known:
            own, others, earlier = _recognised(own, how.before[0], ())
        tables["changes"] = changes(found, _ratings_of(how.before, own, others, earlier))
    return tables


def _show(result: "ArenaResult") -> None:
    """Print a table for each kind of raters, and what the votes say."""
    for name, part in result.parts:
        safe_console().print(_table(part[0], name, result.repeated), markup=False)
    for sentence in result.sentences():
        say(f"- {sentence}")


def _table(found: "Standings", name: str, repeated: str) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from manyheads.arena.report import elo_range, interval, rank, rating

    adjusted, grouped = not found.unadjusted, len(found.groups.connected) > 1
    title = "; ".join(filter(None, (f"{name}: {found.question}, {count(found.votes, 'vote')}", repeated)))
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("maker", overflow="fold", min_width=12)
    for heading in (
        "rating", f"{found.rules.level:.0%} interval", "won", "Elo, any order", *["adjusted"] * adjusted, *["group"] * grouped,
    ):  # fmt: skip
        table.add_column(heading, justify="right", no_wrap=True)
    for each in found.makers:
        shown = {"won": "won all", "lost": "lost all"}.get(each.endless or "", rating(each.rated))
        table.add_row(
            rank(each), plain(each.maker), shown, interval(each.rated), f"{each.won} of {each.votes}", elo_range(each),
            *[rating(each.adjusted)] * adjusted, *[str(each.group)] * grouped,
        )  # fmt: skip
    return table
