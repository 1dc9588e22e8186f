"""`manyheads review`, of one text or many in parallel, and `manyheads ranking judge`."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from manyheads.base.errors import ConfigError, ExitCode
from manyheads.cli import completion
from manyheads.cli.engine import Running
from manyheads.cli.options import Changes, Options, Seed, Spending, resumable, runs_found, settings
from manyheads.cli.printing import browse, safe_console, say, warn_of_skipped
from manyheads.cli.run import Show, Start, begin, go, only_estimated, with_budget

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.core.results import Figure
    from manyheads.engine.jobs import Job, JobNews, Listener


class Reviewing(Spending):
    texts: Annotated[
        tuple[str, ...],
        typer.Argument(metavar="PAPER|TEXT|RUN…", autocompletion=completion.runs, callback=runs_found),
    ]
    """Papers (PDF, LaTeX, HTML, Word, …): files, folders, arXiv numbers, DOIs, links; text, Markdown or JSON files, .jsonl files of
    many texts, or run folders."""
    form: Annotated[str | None, typer.Option(metavar="NAME", autocompletion=completion.forms)] = None
    """Review form. For papers: mamorx, neurips, iclr, outline or your own. For abstracts: conference, or rating (the form for
    human raters). [default: mamorx for papers, conference for abstracts]"""
    repeats: int | None = Field(default=None, ge=1)
    """Reviews of each abstract. [default: 3]"""
    seed: Seed = None
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER")] = Path("runs")
    """Folder for the run folders, one per text."""
    shard: Annotated[str | None, typer.Option(metavar="I/N")] = None
    """Review only part I of N of the texts, such as on one of N machines."""


def review(options: Reviewing, running: Running, changes: Changes, show: Show) -> None:
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
    from manyheads.suites.shards import Shard

    limits = Budget.parse(options.budget or (), whose="the reviews'")
    # Check all before paying for the first.
    given = [each for text in options.texts for each in texts_of(text)]
    shard = Shard.parse(options.shard) if options.shard else Shard(1, 1)
    named = shard.part(given)
    limits = shard.share(limits, len(named), len(given))
    if not named:
        say(f"shard {shard}: none of the {len(given)} texts is in it")
        return
    system, own = reviewer_of(named, options.form, Resources.of(changes.path or ()))
    config = changes.config(
        [system.name], settings({**own, "repeats": options.repeats}, system.name), options.seed
    )
    _need_system(config, system.name, "review")
    if set_too := [name for name in system.slots if getattr(config.inputs, name)]:
        hint = "name the texts as arguments of manyheads review"
        raise ConfigError(f"{set_too[0]}: {getattr(config.inputs, set_too[0])} would be ignored", hint=hint)
    runs = [review_of(config, each) for each in named]
    alone = len(runs) == 1 and not options.shard
    if running.engine_name(config) != "local" and alone:
        say("one text is reviewed in this process, without Ray", err=True)
    if alone:
        runs = [with_budget(runs[0], limits)]
    if only_estimated(runs, options, as_json=show.as_json):
        return
    if alone:
        go(Session(runs[0], new_folder(runs[0], options.out)), show)
    else:
        with resumable(), running.opened(config) as engine, _outcomes(runs, show) as listener:
            work = review_all(config, named, options.out, engine=engine, budget=limits, listener=listener)
            done = running.finish(work)
        if not show.as_json:
            _show([job for job, failure in done if failure is None])
        if show.open and (page := write_index(options.out)):
            browse(page)
        if failed := sum(failure is not None for _, failure in done):
            say(f"manyheads: {failed} of {len(done)} texts have no review, see above", err=True)
            raise typer.Exit(ExitCode.BUDGET if limits.stopped else ExitCode.PARTIAL)


def _need_system(config: "RunConfig", system: str, what: str) -> None:
    if config.system != system:
        raise ConfigError(f"system: {config.system} is not a {what}", hint=f"manyheads run {config.system}")


@contextmanager
def _outcomes(runs: "Sequence[RunConfig]", shows: Show) -> "Generator[Listener]":
    """Print the outcome of each text, in order; with `json`, all events of a text before those of the next.

    Printed below a progress bar if there is one, else as texts finish; warnings at once.
    """
    from manyheads.cli.progress import jobs_progress, show_json, show_warning
    from manyheads.systems.results import closing_lines

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
                elif news.state not in ("held", "began") and not shows.as_json:
                    say(closing_lines(news.job.folder))

    hidden = shows.as_json or shows.quiet
    with jobs_progress("texts", len(runs), lambda news: show(), hidden=hidden, runs=runs) as progress:

        def listener(news: "JobNews") -> None:
            if news.event and not shows.as_json:
                show_warning(news.event)
            else:
                notes.setdefault(news.job.key, []).append(news)
            progress(news)

        yield listener
    show()


def _show(jobs: "Sequence[Job]") -> None:
    from statistics import fmean

    from rich.table import Table

    from manyheads.base.text import plain
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
        usages = [record.result.usage for record in records]
        means: list[tuple[str, int, list[float | None]]] = [
            ("calls", 0, [usage.calls for usage in usages]),
            ("tokens in", 0, [usage.input_tokens for usage in usages]),
            ("tokens out", 0, [usage.output_tokens for usage in usages]),
            ("seconds", 1, [record.seconds for record in records]),
            ("cost", 4, [usage.cost for usage in usages]),
        ]
        shown = (
            f"{name} {fmean(known):,.{digits}f}"
            for name, digits, values in means
            if (known := [each for each in values if each is not None])
        )
        say(f"Means per review: {', '.join(shown)}")


def _in_words(score: "Figure") -> str:
    low, high = score.low, score.high
    return f"{score.mean:.2f}" + ("" if low is None or high is None else f"\n{low:.2f} to {high:.2f}")


# `manyheads ranking judge`.

ranking = typer.Typer(no_args_is_help=True)


class Judging(Options):
    ideas: Annotated[
        tuple[str, ...], typer.Argument(metavar="IDEA…", autocompletion=completion.runs, callback=runs_found)
    ]
    """Run folders, text files, or texts in quotes."""
    target: Annotated[str, typer.Option(metavar="TEXT|FILE|RUN", autocompletion=completion.runs)]
    """Abstract to compare with: a file, a run folder, or a text in quotes."""
    indicator: Annotated[str | None, typer.Option(metavar="NAME")] = None
    """Quality to judge. [default: novelty]"""
    area: Annotated[str | None, typer.Option(metavar="FIELD")] = None
    """The judge's research field. [default: computer science]"""
    orders: int | None = Field(default=None, ge=1)
    """Number of orders in which the judge sees the ideas. [default: 4]"""
    round: Annotated[int | None, typer.Option(metavar="N")] = Field(default=None, ge=0)
    """Use the idea after N revisions. [default: the final idea]"""


@ranking.command()
def judge(options: Judging, changes: Changes, show: Show, start: Start) -> None:
    """Rank ideas against a target idea, blind and in several orders. S is the share of ideas ranked above the target."""
    from manyheads.systems.ideas import with_ideas

    whole, skipped = with_ideas(options.ideas)
    warn_of_skipped(skipped)
    given = settings({**options.model_dump(), "ideas": whole}, "ranking")
    config = changes.config(["ranking"], given, start.seed)
    _need_system(config, "ranking", "ranking")
    begin(config, start, show)
