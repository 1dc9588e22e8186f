"""`manyheads arena`: texts of several makers, compared blind by people and models, and the makers' ratings."""

import shlex
from contextlib import closing
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from manyheads.cli import completion
from manyheads.cli.options import Changes, Estimated, Json, Limits, Options, Yes
from manyheads.cli.printing import safe_console, say, say_json
from manyheads.cli.run import confirm, print_estimate

if TYPE_CHECKING:
    from rich.table import Table

    from manyheads.arena.rating import ArenaResult
    from manyheads.measures.standings import Rules, Standings

app = typer.Typer(help="Compare texts of several makers blind, and rate the makers.", no_args_is_help=True)

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of the arena.", autocompletion=completion.arenas)
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=COLUMN,…",
        help="Column names of your own table, such as left=model_a,right=model_b,winner=winner,rater=judge,case=prompt; each "
        "other name is a question.",
    ),
]


@app.command()
def new(
    folder: Folder,
    form: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help="What raters are asked: review or idea (pairs), rating, ranking, or a YAML file of your own.",
            autocompletion=completion.arena_forms,
        ),
    ] = "review",
) -> None:
    """Make an arena: a folder for texts, raters and votes."""
    from manyheads.arena.form import read_form
    from manyheads.arena.store import Arena

    known = read_form(form)
    Arena.create(folder, known).close()
    say(f"Arena      {folder}: {known.title}")
    say(f"Questions  {', '.join(each.text for each in known.questions)}")
    say(f"Next       manyheads arena add {folder} RUN…")


@app.command()
def add(
    folder: Folder,
    texts: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|FILE…",
            help="Run folders, text files, .jsonl files, or the folder `arena` of a suite.",
            autocompletion=completion.texts,
        ),
    ],
    maker: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Maker of these texts. Files need it; a run has its system."),
    ] = None,
    by: Annotated[
        Literal["system", "config"], typer.Option(help="What a run's maker is: its system, or its config.")
    ] = "system",
    case: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="What these texts are about. [default: name of the run's paper, or of the file]",
        ),
    ] = None,
    papers: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Papers that raters may read: those that runs name, or files named after the cases; text files are shown as background.",
        ),
    ] = None,
    hide: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Replace a word that names a maker. Repeatable.")
    ] = None,
    cut: Annotated[
        list[str] | None,
        typer.Option(metavar="HEADING", help="Leave out sections under this heading. Repeatable."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINE",
            help="Leave out this heading, bold label or sentence; the text below it stays, and numbers may differ. Repeatable.",
        ),
    ] = None,
) -> None:
    """Add texts. The same case by several makers is what raters compare.

    Names of systems, roles, hosts and models are removed from texts of runs.
    """
    from manyheads.arena.blinding import ArenaConfig, giveaways
    from manyheads.arena.entries import Source, sets_of
    from manyheads.arena.store import Arena
    from manyheads.core.texts import count

    with Arena.open(folder) as arena:
        source = Source(
            maker,
            by,
            case,
            papers,
            ArenaConfig(
                names=tuple(hide or ()),
                cut=tuple(cut or ()),
                drop=tuple(drop or ()),
                writer=arena.form.writer,
            ),
            arena.kind == "ratings",
        )
        ranked = arena.kind == "ranking" and maker is None and all(path.is_dir() for path in texts)
        made = sets_of(texts) if ranked else source.texts(texts)
        left = arena.add(made)
        every = arena.texts()
        known = (f"left out: {each}: there already" for each in left)
        for each in (*source.warnings, *known, *giveaways(every)):
            say(f"warning: {each}", err=True)
        say(
            f"{count(len(made) - len(left), 'text')} added; now {count(len(every), 'text')} of "
            f"{count(len({each.maker for each in every}), 'maker')} on {count(len({each.case for each in every}), 'case')}"
        )
        if hints := sum(each.hints for each in made):
            say(f"{count(hints, 'hint')} at makers removed")


@app.command()
def invite(
    folder: Folder,
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Raters.")],
    url: Annotated[
        str, typer.Option(metavar="BASE", help="Address of `manyheads serve`, as raters reach it.")
    ] = "http://127.0.0.1:8765",
    days: Annotated[
        float, typer.Option(metavar="NUMBER", min=0.01, max=3650, help="Days until the link expires.")
    ] = 30,
) -> None:
    """Print a link for each rater. It is shown only here; a second invitation is a second link of the same rater."""
    from manyheads.arena.store import Arena

    with Arena.open(folder) as arena:
        for name in names:
            invitation = arena.invite(name, days=days)
            say(f"{invitation.rater.name}  {url.rstrip('/')}{invitation.path}")
    say(f"The links work while this runs: manyheads serve {shlex.quote(str(folder.parent))}", err=True)


@app.command()
def revoke(
    folder: Folder, names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Raters.")]
) -> None:
    """Revoke all links of a rater. The votes stay."""
    from manyheads.arena.store import Arena
    from manyheads.core.texts import count

    with Arena.open(folder) as arena:
        for name in names:
            say(f"{name}  {count(arena.revoke(name), 'link')} revoked")


@app.command()
def status(folder: Folder, json: Json = False) -> None:
    """Show makers, raters and progress."""
    from manyheads.arena.status import as_lines, status_of
    from manyheads.arena.store import Arena

    with Arena.open(folder) as arena:
        known = status_of(arena)
    say_json(dumps(known, indent=2, ensure_ascii=False)) if json else say("\n".join(as_lines(known)))


@app.command("import")
def import_(
    folder: Folder,
    table: Annotated[Path, typer.Argument(metavar="CSV", help="A table of votes, one per row.")],
    columns: Columns = None,
) -> None:
    """Add votes of another origin, such as published ones. The same table again changes nothing."""
    from manyheads.arena.store import Arena
    from manyheads.core.texts import count
    from manyheads.measures.forms import columns_named
    from manyheads.measures.votes import LEADS, WINNER, read_votes

    named = columns_named(columns, (*LEADS, WINNER), others=True) if columns else None
    with Arena.open(folder) as arena:
        read = read_votes(table, named)
        added = arena.keep(read.votes)
        earlier = f"; {len(read.votes) - added:,} imported before" if added < len(read.votes) else ""
        say(f"{count(added, 'vote')} added, of {len(read.votes):,} in {table}{earlier}")
    for note in read.notes:
        say(f"warning: {note}", err=True)


@app.command()
def export(
    folder: Folder,
    form: Annotated[Literal["csv", "json"], typer.Option("--format", help="Format.")] = "csv",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File to write. [default: votes.csv]", show_default=False
        ),
    ] = None,
) -> None:
    """Write the votes, without invitations. Ratings and rankings become the forms that `rating agreement` and
    `ranking agreement` read, with their key.
    """
    from manyheads.arena.export import export as write
    from manyheads.arena.store import Arena

    with Arena.open(folder) as arena:
        name = "votes" if arena.kind == "pairs" else arena.kind
        table, *keys = write(arena, form, out or Path(f"{name}.{form}"))
    say(f"Votes      {table}")
    for key in keys:
        say(f"Key        {key}  (keep it from the raters)")


@app.command()
def judge(
    folder: Folder,
    changes: Changes,
    pairs: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="Maximum number of this rater's pairs, with those of earlier starts; each is asked twice.",
        ),
    ] = 20,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the rater. [default: the model's]", show_default=False),
    ] = None,
    budget: Limits = None,
    estimate: Estimated = False,
    yes: Yes = False,
) -> None:
    """Have a model vote, on the same form, each pair in both orders. Its votes are kept apart from those of people.

    To resume, run the same command again: pairs with an answer are not asked again. A budget is that of all judges of this
    arena together, over all starts. Exits with 3 if it is spent.
    """
    import asyncio

    from manyheads.arena import judging
    from manyheads.arena.store import Arena
    from manyheads.cli.options import resumable
    from manyheads.core.texts import count
    from manyheads.engine.budget import Budget
    from manyheads.engine.jobtable import JobTable

    config = changes.config([])
    model = config.models["default"]
    rater = name or f"{model.provider}/{model.name}"
    limits = Budget.parse(budget or (), whose="the arena's")
    limits.need_prices([config])
    with Arena.open(folder) as arena, resumable():
        by = partial(judging.estimate, arena, rater, pairs)
        if estimate:
            print_estimate([config], as_json=False, by=by)
            return
        confirm([config], yes=yes, by=by)
        with closing(JobTable(folder)) as table:
            limits.open(table, {}, first=table.join({}))
            work = judging.judge(
                arena, rater, pairs, model=model, host=config.host, attempts=config.attempts, paths=config.paths,
                budget=limits,
            )  # fmt: skip
            done = asyncio.run(work)
    say(f"{count(done.votes, 'vote')} by {rater}; {done.usage.calls:,} calls, {done.usage.tokens:,} tokens")
    if done.invalid:
        say(f"warning: {count(done.invalid, 'question')} without a valid answer, skipped", err=True)


class Fitting(Options):
    """How votes become ratings."""

    poor: Annotated[
        Literal["out", "tie"], typer.Option(help="Leave “both poor” out, or count it as a tie.")
    ] = "out"
    regularise: Annotated[
        float,
        typer.Option(
            metavar="NUMBER",
            min=0,
            max=100,
            help="Ties to add between each two makers that met, so that who always wins has a finite rating.",
        ),
    ] = 0.0
    style: Annotated[
        str,
        typer.Option(
            metavar="NAME,…", help="Signs of style to adjust for: words, lines, headings, lists; or none."
        ),
    ] = "words,lines,headings,lists"
    resamples: Annotated[
        int, typer.Option(metavar="NUMBER", min=2, max=100_000, help="Resamples of each bootstrap.")
    ] = 1000
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Random seed of the resamples.")] = 0

    @property
    def rules(self) -> "Rules":
        from manyheads.base.errors import ConfigError
        from manyheads.measures.standings import Rules
        from manyheads.measures.votes import STYLE

        signs = tuple(each.strip() for each in self.style.split(",") if each.strip() not in ("", "none"))
        if wrong := [each for each in signs if each not in STYLE]:
            raise ConfigError(
                f"--style {wrong[0]}: no sign of style", hint=f"choose from {', '.join(STYLE)}, or none"
            )
        return Rules(self.poor, self.regularise, signs, self.resamples, seed=self.seed)


@app.command()
def rate(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|CSV", help="An arena, or a table of votes.", autocompletion=completion.arenas
        ),
    ],
    fitting: Fitting,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Question to rate by first. [default: the form's main one]",
            show_default=False,
        ),
    ] = None,
    columns: Columns = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Write a page, pictures and tables.")
    ] = None,
    json: Json = False,
) -> None:
    """Rate the makers: Bradley–Terry and Elo, with intervals over raters and cases.

    Makers whose intervals overlap, or that were never compared, are not put in order. People and models are rated apart.
    """
    from manyheads.arena.rating import questions_of, rate, write_result
    from manyheads.arena.store import Arena
    from manyheads.base.errors import need_extra
    from manyheads.measures.forms import columns_named
    from manyheads.measures.votes import LEADS, WINNER, read_votes

    need_extra("statistics", "rating makers")
    rules = fitting.rules
    if source.is_dir():
        if columns:
            raise typer.BadParameter("--columns works with a table of votes, not with an arena")
        with Arena.open(source) as arena:
            votes, first, notes, title = arena.votes(), question or arena.form.first, [], arena.form.title
            _need_pairs(arena.kind, source)
    else:
        named = columns_named(columns, (*LEADS, WINNER), others=True) if columns else None
        read = read_votes(source, named)
        votes, first, notes, title = [*read.votes], question, [*read.notes], source.stem
    result = rate(votes, questions_of(votes, first), rules, notes)
    if json:
        say_json(dumps(result.data(), indent=2, ensure_ascii=False))
    else:
        _show(result)
    if out:
        page = write_result(result, out, title)
        say(f"Report     {page}", err=json)


def _need_pairs(kind: str, folder: Path) -> None:
    from manyheads.base.errors import ArenaError

    if kind != "pairs":
        command = "rating" if kind == "ratings" else "ranking"
        raise ArenaError(
            f"{folder}: an arena of {kind} has no pairs to rate makers by",
            hint=f"manyheads arena export {folder}, then: manyheads {command} agreement FORM --key KEY",
        )


MOST_IN_MATRIX = 6


def _show(result: "ArenaResult") -> None:
    """Print tables for each kind of raters, the win rates, and what the votes say."""
    console = safe_console()
    for name, part in result.parts:
        console.print(_table(part[0], name), markup=False)
        if len(part) > 1:
            console.print(_by_question(part, name), markup=False)
    if len(result.main.makers) <= MOST_IN_MATRIX:
        console.print(_matrix(result.main), markup=False)
    for sentence in result.sentences():
        say(f"- {sentence}")


def _new_table(title: str, *headings: str) -> "Table":
    """A table whose second column, or the only one of text, is a maker."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        if heading == "maker":
            table.add_column(heading, overflow="fold", min_width=12)
        else:
            table.add_column(heading, justify="right", no_wrap=len(heading) <= 14)
    return table


def _table(found: "Standings", name: str) -> "Table":
    from manyheads.arena.rating import elo_range, interval, rank, rating
    from manyheads.base.text import plain
    from manyheads.core.texts import count

    adjusted, grouped = not found.unadjusted, len(found.groups.connected) > 1
    table = _new_table(
        f"{name}: {found.question}, {count(found.votes, 'vote')}",
        "rank", "maker", "rating", f"{found.rules.level:.0%} interval", "won", "Elo, any order",
        *["adjusted"] * adjusted, *["group"] * grouped,
    )  # fmt: skip
    for each in found.makers:
        shown = {"won": "won all", "lost": "lost all"}.get(each.endless or "", rating(each.rated))
        table.add_row(
            rank(each), plain(each.maker), shown, interval(each.rated), f"{each.won} of {each.votes}", elo_range(each),
            *[rating(each.adjusted)] * adjusted, *[str(each.group)] * grouped,
        )  # fmt: skip
    return table


def _by_question(part: "tuple[Standings, ...]", name: str) -> "Table":
    from manyheads.arena.rating import rating
    from manyheads.base.text import plain

    table = _new_table(f"{name}: ratings by question", "maker", *(each.question for each in part))
    by_maker = [{each.maker: each.rated for each in found.makers} for found in part]
    for each in part[0].makers:
        cells = (rating(of[each.maker]) if each.maker in of else "–" for of in by_maker)
        table.add_row(plain(each.maker), *cells)
    return table


def _matrix(found: "Standings") -> "Table":
    from manyheads.arena.rating import win_rates
    from manyheads.base.text import plain

    cells, names = win_rates(found), [each.maker for each in found.makers]
    table = _new_table("Win rate of the row: expected / observed (votes)", "maker")
    for name in names:
        table.add_column(plain(name), justify="right", overflow="fold")
    for one in names:
        table.add_row(plain(one), *("–" if one == other else cells[one, other] for other in names))
    return table
