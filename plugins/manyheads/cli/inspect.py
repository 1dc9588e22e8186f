"""What there is: `manyheads check`, `roles`, `export`, `search`, and a run's result: `show`, `open`."""

import asyncio
import re
from functools import partial
from json import dumps
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import Field

from manyheads.base.errors import ConfigError, ExitCode, SubjectError
from manyheads.base.files import writable
from manyheads.base.folders import CONFIG, REPORT
from manyheads.cli import completion
from manyheads.cli.engine import Placement
from manyheads.cli.options import (
    Changes,
    Configs,
    Options,
    Output,
    Paths,
    RunFolder,
    Services,
    Sets,
    configured,
    settings,
)
from manyheads.cli.printing import browse, safe_console, say, say_json, write_or_print

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from manyheads.base.papers import Paper
    from manyheads.config import RunConfig
    from manyheads.corpus.retrieval import Inspirations
    from manyheads.engine.readiness import CheckResult


class Checking(Options):
    probe: Annotated[bool | None, typer.Option("--probe/--no-probe")] = None
    """Ask each model what it supports: tools, schemas, images, context; about 7 requests and 1,000 tokens. Runs use the answers
    for a day. [default: only models on your own servers (base_url, ollama)]"""
    ping: bool = False
    """Send one short request to each model (about 30 tokens) and one search to each literature service; print seconds, tokens
    and cost. Models are then probed only with --probe."""


def check(configs: Configs, changes: Changes, options: Checking, placing: Placement) -> None:
    """Check that a config can run: keys, roles, prompts, models and corpus; with --engine ray, on each node.

    Says what is missing and how to get it. Exits with 4 if only servers or services fail, with 2 for anything else.
    """
    from manyheads.engine.readiness import UNASKED, findings

    config = changes.config(configs)

    def show(finding: "CheckResult", what: str = "") -> "CheckResult":
        say(f"{'ok   ' if finding.ok else 'WRONG'}  {what}{finding.subject}: {finding.message}")
        return finding

    ping = options.ping
    asked = False if ping and options.probe is None else options.probe
    found = [show(finding) for finding in findings(config, ask_models=asked, connect=not ping)]
    found += [show(finding) for finding in placing.findings(config)]
    wrong = {finding.subject for finding in found if not finding.ok}
    if ping and "host" not in wrong:
        from manyheads.engine.estimate import pings
        from manyheads.hosts import host_factory

        answers = asyncio.run(pings(config, host_factory(config.host), wrong))
        found += [show(finding, "ping ") for finding in answers]
    elif any(finding.message.endswith(UNASKED) for finding in found):
        say("Only settings and addresses were checked. To send one short request to each: --ping")
    if not all(finding.ok for finding in found):
        raise typer.Exit(min(finding.error.exit_code for finding in found if finding.error))


# `manyheads roles`.


class RoleOptions(Options):
    role: Annotated[tuple[str, ...], typer.Argument(metavar="ROLE…", autocompletion=completion.roles)] = ()
    """Show these roles in detail. [default: all, in short]"""
    path: Paths = None
    prompts: bool = False
    """Print the prompt file of each task instead."""


def roles(options: RoleOptions) -> None:
    """List the roles of agents, with their tasks and variables."""
    from manyheads.asking.roles import Roles
    from manyheads.base.resources import Resources

    role, resources = options.role, Resources.of(options.path or ())
    every = Roles(resources)
    cards = [every.card(name) for name in role] if role else [*every.cards.values()]
    for number, card in enumerate(cards):
        say(f"{chr(10) if number else ''}{card.name}")
        if options.prompts:
            files = dict(zip(("(system)", "(persona)"), every.of_itself(card.name), strict=False))
            files |= {task: card.prompt_of(task) for task in card.tasks}
            width = max(map(len, files))
            for task, prompt in files.items():
                file = resources.find("prompts", prompt) or f"prompts/{prompt}: not found"
                say(f"  {task:<{width}}  {file}")
            continue
        _say_wrapped(card.description, "  ")
        if role:
            for name, task in card.tasks.items():
                kind = task.reply if isinstance(task.reply, str) else every.reply(card.name, name).__name__
                _say_wrapped(f"{name}: {task.description}", "  task      ")
                _say_wrapped(f"given {', '.join(task.variables) or 'nothing'}; replies {kind}", " " * 14)
        else:
            _say_wrapped(", ".join(card.tasks) or "none", "  tasks     ")
        for name, value in card.variables.items():
            _say_wrapped(
                f"{name} (required)" if value is None else f"{name}: {value or '(empty)'}", "  variable  "
            )
    if not role:
        say("\nDetails: manyheads roles ROLE")


def _say_wrapped(text: str, margin: str) -> None:
    from shutil import get_terminal_size
    from textwrap import fill

    from manyheads.base.text import plain

    width = max(40, min(get_terminal_size().columns, 100))
    say(fill(plain(text), width, initial_indent=margin, subsequent_indent=" " * len(margin)))


# `manyheads export`.


def export(configs: Configs, changes: Changes, out: Output = None) -> None:
    """Write a config as component JSON, for AutoGen's loader and AutoGen Studio."""
    from manyheads.hosts import component

    write_or_print(f"{component(changes.config(configs))}\n", out, as_json=True)


# `manyheads search`.


class SearchOptions(Options):
    query: Annotated[str, typer.Argument(metavar="QUERY")]
    """A few keywords; with --how, a research background of any length."""
    config: Services = "virsci"
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", autocompletion=completion.sources),
    ] = None
    """Source to search: local (the corpus), semantic_scholar, openalex, arxiv, crossref, pubmed, or one of another package.
    Repeatable: each is asked if those before it find too little. [default: the config's]"""
    corpus: Annotated[str | None, typer.Option(metavar="CORPUS", autocompletion=completion.corpora)] = None
    """A corpus by name, or a corpus folder. [default: the config's]"""
    how: Annotated[
        str | None,
        typer.Option(
            metavar="WAY,…", autocompletion=completion.one_of("semantic", "entity", "cocitation", "bm25")
        ),
    ] = None
    """Search the corpus's literature database instead: semantic, entity, cocitation, bm25, or several, separated by commas.
    Shows why each paper was found."""
    before: Annotated[str | None, typer.Option(metavar="DATE")] = None
    """Only papers published before this year or date; any for no limit. [default: the config's]"""
    limit: int = Field(default=10, ge=1, le=200)
    """Maximum number of papers."""
    sets: Sets = None
    lines: Annotated[bool, typer.Option("--json")] = False
    """Print JSON, one paper per line."""


def search(options: SearchOptions) -> None:
    """Search the literature as agents do.

    Standard error shows how each source answered. Exits with 4 if nothing was found and a source failed.
    """
    from manyheads.cli.progress import show_look_up, show_silent
    from manyheads.literature.search import search as search_papers

    how, source = options.how, options.source
    if how is not None and source:
        hint = "leave one of them out"
        raise ConfigError("--how searches the corpus only, --source the literature services", hint=hint)
    flags = settings({"before": options.before, "cascade": source or None}, "literature")
    flags += settings(
        {"corpus": options.corpus, "literature.retrieval.how": how and how.replace(" ", "").split(",")}
    )
    loaded = configured([options.config], (*flags, *(options.sets or ())))
    if how is not None:
        _print_inspirations(asyncio.run(_retrieve(loaded, options.query, options.limit)), options.lines)
        return
    findings = asyncio.run(search_papers(loaded, options.query, options.limit, show_look_up))
    show_silent(findings.degraded)
    if findings.degraded and not findings.papers:
        say("no paper found in the sources that could be searched", err=True)
        raise typer.Exit(ExitCode.SERVER)
    if options.lines:
        for paper in findings.papers:
            say_json(paper.model_dump_json())
        return
    _print_papers((paper, ()) for paper in findings.papers)


def _print_papers(found: "Iterable[tuple[Paper, Sequence[str]]]") -> None:
    """Print a table of papers, each with the reasons for which it was found."""
    from rich.table import Table
    from rich.text import Text

    from manyheads.base.text import plain

    table = Table("year", "cited", "title and id", box=None, pad_edge=False)
    for paper, reasons in found:
        year, cited = (str(value) if value is not None else "–" for value in (paper.year, paper.citations))
        # a column of its own would cut long ids
        cell = Text(plain(paper.title)).append(f"\n{plain(paper.id)}", "dim")
        for reason in reasons:
            cell.append(f"\n  {plain(reason)}", "dim")
        table.add_row(year, cited, cell)
    safe_console().print(table if table.rows else "No paper found.")


async def _retrieve(config: "RunConfig", background: str, limit: int) -> "Inspirations":
    from manyheads.corpus.corpora import resolve_corpus
    from manyheads.corpus.ecosystem import Ecosystem
    from manyheads.corpus.retrieval import LiteratureDatabase, Scope

    options = config.literature.retrieval.model_copy(update={"papers": limit})
    match config.literature.before:
        case "bound":
            scope = Scope()
        case "any":
            scope = Scope(period=None)
        case date:
            # a corpus has years only
            scope = Scope(years=(None, int(date[:4])), period=None)
    with Ecosystem.open(resolve_corpus(config.corpus, embedding=config.embedding)) as corpus:
        database = await asyncio.to_thread(LiteratureDatabase.ready, corpus, partial(say, err=True))
        return await database.retrieve(background, options, scope=scope)


def _print_inspirations(found: "Inspirations", json: bool) -> None:
    from manyheads.base.text import plain

    for note in found.notes:
        say(f"note: {note}", err=True)
    if json:
        for one in found.papers:
            channels = (channel._asdict().items() for channel in one.channels)
            data = {
                **one._asdict(),
                "paper": one.paper.model_dump(mode="json"),
                "channels": [{key: value for key, value in each if value is not None} for each in channels],
            }
            say_json(dumps(data, ensure_ascii=False))
        return
    _print_papers((one.paper, [channel.reason for channel in one.channels]) for one in found.papers)
    if found.papers:
        ways = ", ".join(f"{how} {count}" for how, count in found.by_channel().items())
        say(f"{len(found.papers)} of {found.total} papers found: {ways}", err=True)
        if found.entities:
            say(f"entities: {', '.join(map(plain, found.entities))}", err=True)


class Showing(Options):
    run: RunFolder
    form: Annotated[
        Literal["md", "bib", "ris", "csl", "json", "csv", "docx", "pdf"], typer.Option("--format")
    ] = "md"
    """md: a document with title, abstract, idea and references, or the review. bib, ris, csl: the references with their authors, as
    BibTeX, RIS or CSL-JSON. csv: all ideas with their scores. json: the whole result. docx: the document for Word. pdf: the
    reviewed paper with the points of the review as annotations. These two are written into the run's folder by default."""
    out: Output = None


def show(options: Showing) -> None:
    """Print the result of a run, for your notes, Zotero or a spreadsheet."""
    from manyheads.report.index import read_entry
    from manyheads.systems.exports import FILES, exported

    run = read_entry(options.run)
    end = f"{run.state}{f': {run.reason.strip()}' if run.reason else ''}"
    more = f" --set {limit[0]}=<larger>" if (limit := re.search(r"budget\.\w+", run.reason)) else ""
    resume = f"manyheads resume {quote(str(options.run))}{more}" if run.state in ("stopped", "failed") else ""
    form, out = options.form, options.out
    try:
        content = exported(options.run, form)
    except SubjectError as error:
        error.message += f"; it ended early, {end}" if run.reason else ""
        error.hint = resume or error.hint
        raise
    if isinstance(content, bytes):
        out = out or options.run / FILES[form]
        with writable(out):
            out.write_bytes(content)
    else:
        write_or_print(content, out, as_json=form in ("json", "csl"))
    if out:
        say(out)
    if resume:
        say(f"{options.run}: {end}\n  next: {resume}", err=True)


class BundleOptions(Options):
    folder: Annotated[Path, typer.Argument(metavar="FOLDER")]
    """A folder of runs."""
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="SITE")] = None
    """The site's folder, or a .zip file. [default: FOLDER-site]"""
    replace: bool = False
    """Replace an earlier site."""


def bundle(options: BundleOptions) -> None:
    """Write a folder of runs as a static site to share: start page, reports and exports.

    It has no scripts, journals, configs or absolute paths. Exports name the authors of cited papers; reports keep their masks.
    Unfinished and damaged runs are listed as such.
    """
    from collections import Counter

    from manyheads.systems.bundle import write_bundle

    folder = options.folder
    out = options.out or folder.parent / f"{folder.resolve().name}-site"
    runs = write_bundle(folder, out, replace=options.replace)
    states = Counter(run.state or "without a run" for run in runs)
    say(f"{len(runs)} listed: {', '.join(f'{number} {state}' for state, number in states.items())}")
    for run in runs:
        if not run.report:
            say(f"warning: {run.folder}: no report", err=True)
    say(out if out.suffix == ".zip" else out / "index.html")


class OpenOptions(Options):
    run: Annotated[Path | None, typer.Argument(metavar="RUN", autocompletion=completion.runs)] = None
    """A run, by folder or name, or a folder of runs. [default: runs, else the newest run of the project]"""


def open_report(options: OpenOptions) -> None:
    """Open a run's report in the browser; without a run, the list of those in runs/, else the newest of the project."""
    from manyheads.report.index import RUNS, read_entries, run_named, runs_here

    listed = any(each.state for each in read_entries(Path(RUNS)))
    newest = [] if listed else [folder for folder, _ in runs_here()[:1]]
    page = _page_of(run_named(options.run) if options.run else next(iter(newest), Path(RUNS)))
    say(page)
    browse(page)


def _page_of(folder: Path) -> Path:
    """The page of a run, or of a folder of runs, made if missing; raises `SubjectError`."""
    from manyheads.report.index import INDEX, entries, write_index
    from manyheads.systems.results import write_report

    try:
        if (folder / CONFIG).is_file():
            page = folder / REPORT
            return page if page.is_file() else write_report(folder)
        if not folder.is_dir() or not entries(folder):
            raise SubjectError(f"{folder}: no runs in it", hint="name a run folder: manyheads list runs")
        page = write_index(folder)
    except OSError as error:
        raise SubjectError(f"{folder}: {error.strerror}", hint="name the folder of a run") from error
    if page is None:
        raise SubjectError(f"{folder / INDEX}: not a page of manyheads", hint="rename it")
    return page
