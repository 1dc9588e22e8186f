"""Judging what is written: `manyheads review`, many texts side by side, and `manyheads ranking judge`."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.options import Budget, Changes, Seed, going_on_later, settings
from manyheads.cli.printing import safe_console, say
from manyheads.cli.run import Out, Show, begin, closing, go
from manyheads.errors import ConfigError

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.engine.jobs import JobNews, Listener

CONFIG = "conference-review"


def review(
    texts: Annotated[
        list[Path],
        typer.Argument(
            metavar="TEXT|RUN…", help="Text, Markdown or JSON files, .jsonl of many texts, or run folders."
        ),
    ],
    changes: Changes,
    show: Show,
    form: Annotated[
        str | None,
        typer.Option(
            help="conference, or rating: what people rate too. [default: conference]", show_default=False
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Independent reviews of each text. [default: 3]", show_default=False),
    ] = None,
    seed: Seed = None,
    out: Annotated[Path, typer.Option(help="Where the run folders go, one for each text.")] = Path("runs"),
    budget: Budget = None,
    jobs: Annotated[int, typer.Option(min=1, help="Texts at a time.")] = 4,
) -> None:
    """Review texts on a conference's form, each several times over, and score them from 1 to 10.

    The same command again goes on with what was stopped or has failed.
    """
    from manyheads.engine.budget import JobsBudget
    from manyheads.engine.session import Session, new_folder
    from manyheads.suites.reviews import review_all, review_of
    from manyheads.texts import read_subjects

    limits = JobsBudget.parse(budget or (), whose="the reviews'")
    # All are read before the first of them is paid for.
    subjects = [subject for text in texts for subject in read_subjects(text)]
    flags = settings({"form": form, "repeats": repeats}, CONFIG)
    config = changes.config([CONFIG], flags, seed)
    _need_system(config, CONFIG, "review")
    if config.inputs.subject is not None:
        raise ConfigError(
            f"subject: {config.inputs.subject} would be passed over", hint="name texts after manyheads review"
        )
    if len(subjects) == 1 and not budget:
        config = review_of(config, subjects[0])
        go(Session(config, new_folder(config, out)), show)
        return
    with going_on_later(), _outcomes(len(subjects), show) as listener:
        work = review_all(config, subjects, out, at_once=jobs, budget=limits, listener=listener)
        done = asyncio.run(work)
    finished = [job.folder for job, failure in done if failure is None]
    if not show.json:
        _show(finished)
    if failed := len(done) - len(finished):
        say(f"manyheads: {failed} of {len(done)} texts have no score, see above", err=True)
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
                    text = f"manyheads: {news.job.config.inputs.subject}: {news.failure.reason}"
                    say(text, err=True)
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


def _show(folders: list[Path]) -> None:
    from rich.table import Table

    from manyheads.escaping import plain
    from manyheads.systems.results import load

    results = {folder: load(folder).result for folder in folders}
    names = list(dict.fromkeys(name for each in results.values() for name in each.means))
    table = Table(title="Mean scores, with their 95% intervals", title_justify="left")
    for heading in ("text", *names, "run"):
        table.add_column(heading, overflow="fold")
    for folder, each in results.items():
        title = plain(each.title or (Path(each.subject.source).name if each.subject else ""))
        cells = [f"{mean.mean:.2f}" + ("" if mean.low is None else f"\n{mean.low:.2f} to {mean.high:.2f}")
                 for mean in map(each.means.__getitem__, names)]  # fmt: skip
        table.add_row(title, *cells, str(folder))
    safe_console().print(table, markup=False)


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
) -> None:
    """Rank ideas beside a target idea, blind and in several orders; S is the share that is better than it."""
    given = {
        "target": target, "ideas": ideas, "indicator": indicator, "area": area, "orders": orders,
        "round": after,
    }  # fmt: skip
    flags = settings(given, "ranking")
    config = changes.config(["ranking"], flags, seed)
    _need_system(config, "ranking", "ranking")
    begin(config, out, show)
