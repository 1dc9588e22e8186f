"""`manyheads search`: look papers up where a run would, and see how each source answered."""

import asyncio
from contextlib import ExitStack
from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.looked_up import show_look_up, show_silent
from manyheads.cli.options import Sets, configured

if TYPE_CHECKING:
    from manyheads.bank.ecosystem import Ecosystem
    from manyheads.config import RunConfig
    from manyheads.literature.library import Findings


def search(
    query: Annotated[str, typer.Argument(help="A few keywords.")],
    config: Annotated[str, typer.Option(help="The config whose `literature` section is used.")] = "virsci",
    source: Annotated[
        list[str] | None,
        typer.Option(help="local, semantic_scholar, openalex or arxiv, asked in this order. Repeatable."),
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
    flags = [f"literature.before={dumps(before)}"] if before is not None else []
    flags += [f"literature.cascade={dumps(source)}"] if source else []
    found = asyncio.run(_look(configured([config], (*flags, *(sets or ())), None), query, limit))
    show_silent(found.degraded)
    _show_papers(found, json)


async def _look(config: "RunConfig", query: str, limit: int) -> "Findings":
    from manyheads.bank.cache import cache_folder
    from manyheads.literature.libraries import CACHE, open_library

    with ExitStack() as held:
        corpus = _corpus(config, held)
        library = open_library(
            config.literature,
            bank=corpus and corpus.papers,
            bound=corpus and corpus.meta.options.bound,
            note=show_look_up,
            cache=cache_folder() / CACHE,
        )
        try:
            return await library.search(query, limit)
        finally:
            await library.close()


def _corpus(config: "RunConfig", held: ExitStack) -> "Ecosystem | None":
    """The config's corpus, where its papers are searched or its year bounds the search."""
    from manyheads.bank.ecosystem import Ecosystem
    from manyheads.bank.named import resolve_corpus

    if "local" not in config.literature.cascade and config.literature.before != "bound":
        return None
    folder = resolve_corpus(config.corpus, embedding=config.embedding)
    return held.enter_context(Ecosystem.open(folder))


def _show_papers(found: "Findings", json: bool) -> None:
    if json:
        for paper in found.papers:
            typer.echo(paper.model_dump_json())
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from manyheads.cli.progress import plain

    table = Table("year", "cited", "title and id", box=None, pad_edge=False)
    for paper in found.papers:
        year, cited = (str(value) if value is not None else "–" for value in (paper.year, paper.citations))
        # in a column of its own a long id would be cut short, and could not be asked for
        table.add_row(year, cited, Text(plain(paper.title)).append(f"\n{plain(paper.id)}", "dim"))
    Console().print(table if found.papers else _nothing(found))


def _nothing(found: "Findings") -> str:
    return "No paper found in the sources that could be asked." if found.degraded else "No paper found."
