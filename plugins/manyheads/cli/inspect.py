"""`manyheads check`."""

import asyncio
from contextlib import ExitStack
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.options import Changes, Configs, Paths, Sets, configured, library, settings, show_silent
from manyheads.cli.printing import safe_console, say, say_json
from manyheads.errors import ConfigError

if TYPE_CHECKING:
    from manyheads.bank.retrieval import Inspirations
    from manyheads.config import RunConfig
    from manyheads.literature.lookup import Findings


def check(
    configs: Configs,
    changes: Changes,
    probe: Annotated[
        bool | None,
        typer.Option(
            "--probe/--no-probe",
            help="Ask each model what it can do: tools, schemas, images, context; some 7 small requests, about 1,000 tokens."
            " By default only those at servers of your own (base_url, ollama). Runs go by the answers for a day.",
        ),
    ] = None,
) -> None:
    """Validate a config, its roles and prompts, its model and its corpus; say what is missing and how to get it."""
    from manyheads.engine.readiness import findings

    config = changes.config(configs)
    found = list(findings(config, ask_models=probe))
    for finding in found:
        say(f"{'ok   ' if finding.ok else 'WRONG'}  {finding.subject}: {finding.message}")
    if not all(finding.ok for finding in found):
        raise typer.Exit(2)


# `manyheads roles`.


Prompts = Annotated[bool, typer.Option("--prompts", help="List the prompt file of each task instead.")]


def roles(path: Paths = None, prompts: Prompts = False) -> None:
    """List the roles with their tasks and variables, or with --prompts the files that their prompts come from."""
    from manyheads.resources import Resources
    from manyheads.roles import Roles

    resources = Resources.of(path or ())
    cards = Roles(resources).cards.values()
    if prompts:
        for number, card in enumerate(cards):
            say(f"{chr(10) if number else ''}{card.name}")
            files = {"(system)": card.system_prompt(), **{task: card.prompt_of(task) for task in card.tasks}}
            width = max(map(len, files))
            for task, prompt in files.items():
                file = resources.find("prompts", prompt) or f"prompts/{prompt}: not found"
                say(f"  {task:<{width}}  {file}")
        return
    from rich.table import Table

    table = Table("role", "what it does", "tasks", "variables")
    for card in cards:
        variables = (
            f"{name} (needed)" if value is None else f"{name}: {value}"
            for name, value in card.variables.items()
        )
        table.add_row(card.name, card.description, ", ".join(card.tasks), "\n".join(variables))
    safe_console().print(table, markup=False)


# `manyheads prompts export`.


app = typer.Typer(help="The prompt files.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """The prompt files."""


@app.command("export")
def export_prompts(
    folder: Annotated[
        Path, typer.Argument(help="Folder for your copies; files that are there stay as they are.")
    ],
    path: Paths = None,
) -> None:
    """Copy roles and prompts into a folder of yours, to edit them there and use them with --path."""
    from manyheads.resources import Resources, copy_out

    written = copy_out(Resources.of(path or ()), folder, ("roles", "prompts"))
    say(f"{len(written)} files in {folder}; use them with: manyheads run virsci --path {folder}")


# `manyheads export`.


def export(
    configs: Configs,
    changes: Changes,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write; standard output if left out.")
    ] = None,
) -> None:
    """Write a config as the component JSON that AutoGen's own loader and Studio take."""
    from manyheads.hosts import component

    text = component(changes.config(configs))
    if out is None:
        say_json(text)
        return
    try:
        out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{out}: cannot be written: {error.strerror}", hint="choose another --out"
        ) from error


# `manyheads search`: look papers up where a run would, and see how each source answered.


def search(
    query: Annotated[
        str, typer.Argument(help="A few keywords; with --how, a research background of any length.")
    ],
    config: Annotated[str, typer.Option(help="The config whose `literature` section is used.")] = "virsci",
    source: Annotated[
        list[str] | None,
        typer.Option(help="local, semantic_scholar, openalex or arxiv, asked in this order. Repeatable."),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(help="A shipped corpus by name, or a built one's folder. [default: the config's]"),
    ] = None,
    how: Annotated[
        str | None,
        typer.Option(
            help="Ask the corpus's literature database instead, in these ways: semantic,entity,cocitation,bm25, or some of them;"
            " each paper with its reasons.",
        ),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(help="A year or date that all papers are older than, or any. [default: the config's]"),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many papers.")] = 10,
    sets: Sets = None,
    json: Annotated[bool, typer.Option("--json", help="Print one paper a line as JSON.")] = False,
) -> None:
    """Search the literature as a run would; what each source was asked goes to standard error."""
    if how is not None and source:
        raise ConfigError(
            "--how asks the corpus alone, --source the literature", hint="leave one of them out"
        )
    flags = settings({"before": before, "cascade": source or None}, "literature")
    flags += settings({"corpus": corpus, "literature.retrieval.how": how and how.replace(" ", "").split(",")})
    loaded = configured([config], (*flags, *(sets or ())))
    if how is not None:
        _print_inspirations(asyncio.run(_retrieve(loaded, query, limit)), json)
        return
    findings = asyncio.run(_look(loaded, query, limit))
    show_silent(findings.degraded)
    if json:
        for paper in findings.papers:
            say_json(paper.model_dump_json())
        return
    from rich.table import Table
    from rich.text import Text

    from manyheads.escaping import plain

    table = Table("year", "cited", "title and id", box=None, pad_edge=False)
    for paper in findings.papers:
        year, cited = (str(value) if value is not None else "–" for value in (paper.year, paper.citations))
        # in a column of its own a long id would be cut short, and could not be asked for
        table.add_row(year, cited, Text(plain(paper.title)).append(f"\n{plain(paper.id)}", "dim"))
    where = " in the sources that could be asked" if findings.degraded else ""
    safe_console().print(table if findings.papers else f"No paper found{where}.")


async def _look(config: "RunConfig", query: str, limit: int) -> "Findings":
    from manyheads.bank.corpora import resolve_corpus
    from manyheads.bank.ecosystem import Ecosystem

    with ExitStack() as held:
        corpus = None
        # where the corpus' papers are searched, or its year bounds the search
        if "local" in config.literature.cascade or config.literature.before == "bound":
            folder = resolve_corpus(config.corpus, embedding=config.embedding)
            corpus = held.enter_context(Ecosystem.open(folder))
        bound = corpus and corpus.meta.options.bound
        async with library(config.literature, bank=corpus and corpus.papers, bound=bound) as sources:
            return await sources.search(query, limit)


async def _retrieve(config: "RunConfig", background: str, limit: int) -> "Inspirations":
    from manyheads.bank.corpora import resolve_corpus
    from manyheads.bank.database import Scope
    from manyheads.bank.digest import open_database
    from manyheads.bank.ecosystem import Ecosystem

    options = config.literature.retrieval.model_copy(update={"papers": limit})
    match config.literature.before:
        case "bound":
            scope = Scope()
        case "any":
            scope = Scope(period=None)
        case date:
            # a corpus knows years: of papers before a date, those of the years before it
            scope = Scope(years=(None, int(date[:4])), period=None)
    with Ecosystem.open(resolve_corpus(config.corpus, embedding=config.embedding)) as corpus:
        database = await asyncio.to_thread(open_database, corpus, partial(say, err=True))
        return await database.retrieve(background, options, scope=scope)


def _print_inspirations(found: "Inspirations", json: bool) -> None:
    for note in found.notes:
        say(f"note: {note}", err=True)
    if json:
        for one in found.papers:
            say_json(
                dumps(
                    {
                        **one._asdict(),
                        "paper": one.paper.model_dump(mode="json"),
                        "channels": [
                            {key: value for key, value in channel._asdict().items() if value is not None}
                            for channel in one.channels
                        ],
                    },
                    ensure_ascii=False,
                )
            )
        return
    from rich.table import Table
    from rich.text import Text

    from manyheads.escaping import plain

    table = Table("year", "title and id, and why it was found", box=None, pad_edge=False)
    for one in found.papers:
        cell = Text(plain(one.paper.title)).append(f"\n{plain(one.paper.id)}", "dim")
        for channel in one.channels:
            cell.append(f"\n  {plain(channel.reason)}", "dim")
        table.add_row(str(one.paper.year or "–"), cell)
    safe_console().print(table if found.papers else "No paper found.")
    if found.papers:
        ways = ", ".join(f"{how} {count}" for how, count in found.by_channel().items())
        say(f"{len(found.papers)} of {found.total} papers found: {ways}", err=True)
        if found.entities:
            say(f"entities: {', '.join(map(plain, found.entities))}", err=True)
