"""Judging what is written: `manyheads review`, many texts side by side, and `manyheads ranking judge`."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.cost import Yes, confirm, print_estimate
from manyheads.cli.options import Budget, Changes, Estimated, Seed, going_on_later, settings
from manyheads.cli.printing import safe_console, say
from manyheads.cli.run import Out, Show, begin, closing, go, with_budget
from manyheads.cli.show import browse
from manyheads.errors import ConfigError

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
            help="Papers (PDF, TEI, LaTeX, HTML), text, Markdown or JSON files, .jsonl of many texts, or run folders.",
        ),
    ],
    changes: Changes,
    show: Show,
    form: Annotated[
        str | None,
        typer.Option(
            help="The form of the review: mamorx, neurips, iclr, outline, or one of yours, for papers; conference, or rating, "
            "which people fill in too, for abstracts. [default: mamorx for a paper, conference for an abstract]",
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Independent reviews of each abstract. [default: 3]", show_default=False),
    ] = None,
    seed: Seed = None,
    out: Annotated[Path, typer.Option(help="Where the run folders go, one for each text.")] = Path("runs"),
    budget: Budget = None,
    jobs: Annotated[int, typer.Option(min=1, help="Texts at a time.")] = 4,
    estimate: Estimated = False,
    yes: Yes = False,
) -> None:
    """Review papers by a committee that looks at figures, cited work and what others have published; or abstracts, each
    several times over, with scores from 1 to 10.

    The same command again goes on with what was stopped or has failed of several; `manyheads resume` with one.
    """
    from manyheads.engine.budget import JobsBudget
    from manyheads.engine.session import Session, new_folder
    from manyheads.report.index import write_index
    from manyheads.resources import Resources
    from manyheads.suites.reviews import review_all, review_of, reviewer_of, texts_of

    limits = JobsBudget.parse(budget or (), whose="the reviews'")
    # All are looked at before the first of them is paid for.
    named = [each for text in texts for each in texts_of(text)]
    system, own = reviewer_of(named, form, Resources.of(changes.path or ()))
    config = changes.config([system.name], settings({**own, "repeats": repeats}, system.name), seed)
    _need_system(config, system.name, "review")
    if given := [name for name in system.slots if getattr(config.inputs, name)]:
        raise ConfigError(
            f"{given[0]}: {getattr(config.inputs, given[0])} would be passed over",
            hint="name texts after manyheads review",
        )
    if estimate:
        print_estimate([review_of(config, each) for each in named], as_json=show.json)
    elif len(named) == 1:
        config = with_budget(review_of(config, named[0]), budget)
        confirm([config], yes=yes, as_json=show.json)
        go(Session(config, new_folder(config, out)), show)
    else:
        confirm([review_of(config, each) for each in named], yes=yes, as_json=show.json)
        with going_on_later(), _outcomes(len(named), show) as listener:
            work = review_all(config, named, out, at_once=jobs, budget=limits, listener=listener)
            done = asyncio.run(work)
        if not show.json:
            _show([job for job, failure in done if failure is None])
        if show.open and (page := write_index(out)):
            browse(page)
        if failed := sum(failure is not None for _, failure in done):
            say(f"manyheads: {failed} of {len(done)} texts have no review, see above", err=True)
            raise typer.Exit(2)


def _need_system(config: "RunConfig", system: str, what: str) -> None:
    """Raises `ConfigError` where the settings ask for another system than the command's."""
    if config.system != system:
        raise ConfigError(f"system: {config.system} is no {what}", hint="manyheads run takes every system")


@contextmanager
def _outcomes(texts: int, shows: Show) -> "Generator[Listener]":
    """Prints what came of texts in their order, with `json` the events of one after those of another.

    Below a bar where that is shown, else as they end; warnings at once.
    """
    from manyheads.cli.progress import jobs_bars, show_json, show_warning

    notes: dict[str, list[JobNews]] = {}

    def show() -> None:
        """Print what has ended, up to the first text that has not."""
        for key in list(notes):
            if notes[key][-1].state in ("began", "goes on"):
                return
            for news in notes.pop(key):
                if news.event:
                    show_json(news.event)
                elif news.failure:
                    say(f"manyheads: {news.job.label}: {news.failure.reason}", err=True)
                elif news.state != "began" and not shows.json:
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
    """The scores of each text, and what a review has come to in tokens, time and cost."""
    from rich.table import Table

    from manyheads.engine.system import system_of
    from manyheads.escaping import plain
    from manyheads.report.record import read_run

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
    """Calls, tokens, time and cost a review: mean, standard deviation, standard error, ends."""
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
    table = Table(title=f"What one of these {len(records)} reviews took", title_justify="left")
    for heading in ("", "mean", "standard deviation", "standard error", "least", "most"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, values in rows.items():
        if numbers := [value for value in values if value is not None]:
            spread = stdev(numbers) if len(numbers) > 1 else 0.0
            digits = {"seconds": 1, "cost": 4}.get(name, 0)
            told = (fmean(numbers), spread, spread / len(numbers) ** 0.5, min(numbers), max(numbers))
            table.add_row(name, *(f"{value:,.{digits}f}" for value in told))
    return table


# `manyheads ranking judge`.


def judge(
    ideas: Annotated[
        list[str], typer.Argument(metavar="IDEA…", help="Folders of runs, text files, or texts in quotes.")
    ],
    target: Annotated[
        str,
        typer.Option(help="The abstract to hold them against: a file, a run's folder, or a text in quotes."),
    ],
    changes: Changes,
    show: Show,
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
    seed: Seed = None,
    out: Out = None,
    yes: Yes = False,
) -> None:
    """Rank ideas beside a target idea, blind and in several orders; S is the share that is better than it."""
    given = {
        "target": target, "ideas": ideas, "indicator": indicator, "area": area, "orders": orders,
        "round": after,
    }  # fmt: skip
    flags = settings(given, "ranking")
    config = changes.config(["ranking"], flags, seed)
    _need_system(config, "ranking", "ranking")
    begin(config, out, show, yes=yes)
