"""`manyheads corpus targets`: real papers as the targets of a ranking, written as the cases of a suite."""

import asyncio
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.building import going_on_later, naming_the_option, showing_progress
from manyheads.cli.looked_up import show_look_up, show_silent
from manyheads.cli.options import Sets, configured

if TYPE_CHECKING:
    from manyheads.bank.filling import Progress
    from manyheads.config import RunConfig
    from manyheads.literature.targets.case import Targets, Wish


def targets(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE...]", help="Datasets that tell references, and those that hold them."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The file to make: the cases of a suite.")] = Path("cases.jsonl"),
    corpus: Annotated[
        str | None,
        typer.Option(help="A built corpus instead: contemporary papers, with the past ones nearest to each."),
    ] = None,
    paper: Annotated[
        list[str] | None,
        typer.Option(
            help="This paper instead, by DOI, arXiv number, id or title, from the services. Repeatable."
        ),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Targets to draw.")] = 10,
    least: Annotated[int, typer.Option(min=1, help="References with an abstract that each must have.")] = 5,
    most: Annotated[int, typer.Option(min=1, help="References that are told of each.")] = 20,
    after: Annotated[
        int | None, typer.Option(metavar="YEAR", help="Only papers of later years.", show_default=False)
    ] = None,
    citations: Annotated[
        int | None, typer.Option(min=0, help="Only papers cited so often.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    format: Annotated[str, typer.Option(help="One that `manyheads corpus formats` lists.")] = "auto",  # noqa: A002
    columns: Annotated[
        str | None, typer.Option(metavar="FIELD=COLUMN,...", help="Of a table, such as references=Cited.")
    ] = None,
    embedding: Annotated[
        str, typer.Option(help="Of a shipped corpus: auto, lexical, a fastembed model, or a model's folder.")
    ] = "auto",
    config: Annotated[
        str, typer.Option(help="The config whose `literature` section tells the services.")
    ] = "virsci",
    source: Annotated[
        list[str] | None, typer.Option(help="semantic_scholar or openalex, asked in this order. Repeatable.")
    ] = None,
    sets: Sets = None,
) -> None:
    """Draw papers that were really written, with the abstracts of what they cite, as targets of a ranking."""
    from manyheads.literature.targets.case import Wish, need_new, write_cases

    if sum(map(bool, (sources, corpus, paper))) != 1:
        raise typer.BadParameter("name datasets, or a --corpus, or a --paper", param_hint="SOURCE")
    if most < least:
        raise typer.BadParameter("is more than --most", param_hint="--least")
    need_new(out)
    wish = Wish(count, least, most, after, citations, seed)
    with going_on_later(kept=not sources), naming_the_option(), showing_progress() as tell:
        if paper:
            found = asyncio.run(_named(paper, wish, _configured(config, source, sets)))
        elif corpus:
            found = _in_corpus(corpus, embedding, wish, tell)
        else:
            found = _in_sources(sources or [], format, columns, wish, tell)
    write_cases(out, found.cases)
    _show(found, out)


def _in_sources(
    sources: list[str],
    format: str,  # noqa: A002
    columns: str | None,
    wish: "Wish",
    tell: "Progress",
) -> "Targets":
    from manyheads.literature.readers.table_columns import column_option
    from manyheads.literature.targets.sources import open_datasets, targets_of

    chosen = column_option(columns) if columns else {}
    return targets_of(open_datasets(sources, format, chosen), wish, tell)


def _in_corpus(corpus: str, embedding: str, wish: "Wish", tell: "Progress") -> "Targets":
    from manyheads.bank.ecosystem import Ecosystem
    from manyheads.bank.named import resolve_corpus
    from manyheads.literature.targets.corpus import targets_in

    with Ecosystem.open(resolve_corpus(corpus, embedding=embedding, progress=tell)) as ecosystem:
        return asyncio.run(targets_in(ecosystem, wish))


def _configured(config: str, source: list[str] | None, sets: list[str] | None) -> "RunConfig":
    cascade = [f"literature.cascade={dumps(source)}"] if source else []
    return configured([config], (*cascade, *(sets or ())), None)


async def _named(papers: list[str], wish: "Wish", config: "RunConfig") -> "Targets":
    from manyheads.bank.cache import cache_folder
    from manyheads.literature.libraries import CACHE, open_library
    from manyheads.literature.targets.services import targets_named

    library = open_library(config.literature, note=show_look_up, cache=cache_folder() / CACHE)
    try:
        return await targets_named(library, papers, wish)
    finally:
        await library.close()


def _show(found: "Targets", out: Path) -> None:
    if passed := found.told():
        typer.echo(f"papers passed over: {passed}", err=True)
    show_silent(found.silent)
    typer.echo(f"{out}: {len(found.cases)} of {found.fit:,} papers that can be targets")
