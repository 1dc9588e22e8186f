"""`manyheads review`, of one text or many in parallel, and `manyheads ranking judge`."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.base.errors import ConfigError, ExitCode
from manyheads.cli import completion
from manyheads.cli.cost import Yes, confirm, print_estimate
from manyheads.cli.options import Changes, Estimated, Limits, Seed, resumable, settings, without_index
from manyheads.cli.printing import safe_console, say, warn_of_skipped
from manyheads.cli.run import Out, Show, begin, closing, go, with_budget
from manyheads.cli.show import browse

if TYPE_CHECKING:
    from rich.table import Table

    from manyheads.config import RunConfig
    from manyheads.core.results import Figure
    from manyheads.engine.jobs import Job, JobNews, Listener
    from manyheads.report.record import Record


def review(
    texts: Annotated[
        list[Path],
        typer.Argument(
            metavar="PAPER|TEXT|RUN…",
            help="Papers (PDF, TEI, LaTeX, HTML), text, Markdown or JSON files, .jsonl files of many texts, or run folders.",
            autocompletion=completion.texts,
            callback=without_index,
        ),
    ],
    changes: Changes,
    show: Show,
    form: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            autocompletion=completion.forms,
            help="Review form. For papers: mamorx, neurips, iclr, outline or your own. For abstracts: conference, or rating "
            "(the form for human raters). [default: mamorx for papers, conference for abstracts]",
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", min=1, help="Reviews of each abstract. [default: 3]", show_default=False
        ),
    ] = None,
    seed: Seed = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the run folders, one per text.")
    ] = Path("runs"),
    budget: Limits = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="NUMBER", min=1, help="Texts reviewed in parallel.")
    ] = 4,
    estimate: Estimated = False,
    yes: Yes = False,
) -> None:
    """Review papers or abstracts.

    A committee of agents reviews each paper: text, figures, cited work and related literature. Each abstract gets several
    independent reviews with scores from 1 to 10. To resume an interrupted review of several texts, run the same command
    again; of a single text, use `manyheads resume`. Exits with 5 if some of several texts could not be reviewed.
    """
    from manyheads.base.resources import Resources
    from manyheads.engine.budget import Budget
    from manyheads.engine.session import Session, new_folder
    from manyheads.report.index import write_index
    from manyheads.suites.reviews import review_all, review_of, reviewer_of, texts_of

    limits = Budget.parse(budget or (), whose="the reviews'")
    # Check all before paying for the first.
    named = [each for text in texts for each in texts_of(text)]
    system, own = reviewer_of(named, form, Resources.of(changes.path or ()))
    config = changes.config([system.name], settings({**own, "repeats": repeats}, system.name), seed)
    _need_system(config, system.name, "review")
    if given := [name for name in system.slots if getattr(config.inputs, name)]:
        raise ConfigError(
            f"{given[0]}: {getattr(config.inputs, given[0])} would be ignored",
            hint="name the texts as arguments of manyheads review",
        )
    if estimate:
        print_estimate([review_of(config, each) for each in named], as_json=show.json)
    elif len(named) == 1:
        config = with_budget(review_of(config, named[0]), budget)
        confirm([config], yes=yes, as_json=show.json)
        go(Session(config, new_folder(config, out)), show)
    else:
        confirm([review_of(config, each) for each in named], yes=yes, as_json=show.json)
        with resumable(), _outcomes(len(named), show) as listener:
            work = review_all(config, named, out, at_once=jobs, budget=limits, listener=listener)
            done = asyncio.run(work)
        if not show.json:
            _show([job for job, failure in done if failure is None])
        if show.open and (page := write_index(out)):
            browse(page)
        if failed := sum(failure is not None for _, failure in done):
            say(f"manyheads: {failed} of {len(done)} texts have no review, see above", err=True)
            raise typer.Exit(ExitCode.BUDGET if limits.stopped else ExitCode.PARTIAL)


def _need_system(config: "RunConfig", system: str, what: str) -> None:
    """Raises `ConfigError` if the settings name another system."""
    if config.system != system:
        raise ConfigError(f"system: {config.system} is not a {what}", hint=f"manyheads run {config.system}")


@contextmanager
def _outcomes(texts: int, shows: Show) -> "Generator[Listener]":
    """Print the outcome of each text, in order; with `json`, all events of a text before those of the next.

    Printed below a progress bar if there is one, else as texts finish; warnings at once.
    """
    from manyheads.cli.progress import jobs_bars, show_json, show_warning

    notes: dict[str, list[JobNews]] = {}

    def show() -> None:
        """Print finished texts, up to the first unfinished one."""
        for key in list(notes):
            if notes[key][-1].state in ("held", "began", "goes on"):
                return
            for news in notes.pop(key):
                if news.event:
                    show_json(news.event)
                elif news.failure:
                    say(f"manyheads: {news.job.label}: {news.failure.reason}", err=True)
                elif news.state not in ("held", "began") and not shows.json:
                    say(closing(news.job.folder))

    with jobs_bars("texts", texts, hidden=shows.json or shows.quiet) as bars:

        def listener(news: "JobNews") -> None:
            kept = notes.setdefault(news.job.key, [])
            if news.event and not shows.json:
                show_warning(news.event)
            else:
                kept.append(news)
            if bars:
                bars(news)
            else:
                show()

        yield listener
    show()


def _show(jobs: "Sequence[Job]") -> None:
    """Print the scores of each text, and the tokens, time and cost per review."""
    from rich.table import Table

    from manyheads.base.escaping import plain
    from manyheads.report.record import read_run
    from manyheads.team.system import system_of

    if not jobs:
        return
    system = system_of(jobs[0].config)
    assert system.reviews
    records = [read_run(job.folder, system.result) for job in jobs]
    scores = [system.reviews.scores(record.result.result) for record in records]
    names = list(dict.fromkeys(name for each in scores for name in each))
    intervals = any(score.low is not None for each in scores for score in each.values())
    title = f"Mean scores{', with their 95% intervals' * intervals}" if names else "Reviews"
    table = Table(title=title, title_justify="left")
    for heading in ("text", *names, "run"):
        table.add_column(heading, overflow="fold")
    for job, record, each in zip(jobs, records, scores, strict=True):
        cells = [_in_words(each[name]) if name in each else "–" for name in names]
        table.add_row(plain(record.result.result.title or job.label), *cells, str(job.folder))
    safe_console().print(table, markup=False)
    if len(records) > 1:
        safe_console().print(_costs(records), markup=False)


def _in_words(score: "Figure") -> str:
    low, high = score.low, score.high
    return f"{score.mean:.2f}" + ("" if low is None or high is None else f"\n{low:.2f} to {high:.2f}")


def _costs(records: "Sequence[Record]") -> "Table":
    """Calls, tokens, time and cost per review: mean, standard deviation, standard error, minimum, maximum."""
    from statistics import fmean, stdev

    from rich.table import Table

    usages = [record.result.usage for record in records]
    rows: dict[str, list[float | None]] = {
        "calls": [usage.calls for usage in usages],
        "tokens in": [usage.input_tokens for usage in usages],
        "tokens out": [usage.output_tokens for usage in usages],
        "seconds": [record.seconds for record in records],
        "cost": [usage.cost for usage in usages],
    }
    table = Table(title=f"Per review (n = {len(records)})", title_justify="left")
    for heading in ("", "mean", "standard deviation", "standard error", "min", "max"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, values in rows.items():
        if numbers := [value for value in values if value is not None]:
            spread = stdev(numbers) if len(numbers) > 1 else 0.0
            digits = {"seconds": 1, "cost": 4}.get(name, 0)
            cells = (fmean(numbers), spread, spread / len(numbers) ** 0.5, min(numbers), max(numbers))
            table.add_row(name, *(f"{value:,.{digits}f}" for value in cells))
    return table


# `manyheads ranking judge`.


def judge(
    ideas: Annotated[
        list[str],
        typer.Argument(
            metavar="IDEA…",
            help="Run folders, text files, or texts in quotes.",
            autocompletion=completion.texts,
            callback=without_index,
        ),
    ],
    target: Annotated[
        str,
        typer.Option(
            metavar="TEXT|FILE|RUN",
            autocompletion=completion.texts,
            help="Abstract to compare with: a file, a run folder, or a text in quotes.",
        ),
    ],
    changes: Changes,
    show: Show,
    indicator: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Quality to judge. [default: novelty]", show_default=False),
    ] = None,
    area: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="The judge's research field. [default: computer science]",
            show_default=False,
        ),
    ] = None,
    orders: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=1,
            show_default=False,
            help="Number of orders in which the judge sees the ideas. [default: 4]",
        ),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            "--round",
            metavar="N",
            min=0,
            show_default=False,
            help="Use the idea after N revisions. [default: the final idea]",
        ),
    ] = None,
    seed: Seed = None,
    out: Out = None,
    budget: Limits = None,
    estimate: Estimated = False,
    yes: Yes = False,
) -> None:
    """Rank ideas against a target idea, blind and in several orders. S is the share of ideas ranked above the target."""
    from manyheads.systems.ideas import with_ideas

    whole, skipped = with_ideas(ideas)
    warn_of_skipped(skipped)
    given = {
        "target": target, "ideas": whole, "indicator": indicator, "area": area, "orders": orders,
        "round": after,
    }  # fmt: skip
    flags = settings(given, "ranking")
    config = with_budget(changes.config(["ranking"], flags, seed), budget)
    _need_system(config, "ranking", "ranking")
    if estimate:
        print_estimate([config], as_json=show.json)
    else:
        begin(config, out, show, yes=yes)
