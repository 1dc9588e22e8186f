"""`manyheads corpus`: build, inspect and check a corpus."""

import asyncio
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.base.errors import CorpusError
from manyheads.cli import completion
from manyheads.cli.extraction import extract
from manyheads.cli.options import (
    Changes,
    Corpus,
    Embedding,
    Options,
    Services,
    Sets,
    configured,
    resumable,
    settings,
)
from manyheads.cli.printing import safe_console, say
from manyheads.cli.progress import building, library, show_silent
from manyheads.corpus.meta import INDEX_FROM

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.corpus.building import Progress
    from manyheads.corpus.meta import Meta
    from manyheads.datasets.targets import Targets
    from manyheads.engine.interests import Librarian


Columns = Annotated[
    str | None,
    typer.Option(metavar="FIELD=COLUMN,…", help="Column names of a table, such as title=Title,year=Year."),
]
FORMAT_NAMES = (
    "auto", "jsonl", "aminer", "oag", "semantic-scholar", "semantic-scholar-api", "unarxive", "anthology", "tei", "pdf",
    "bibtex", "csv", "json", "parquet",
)  # fmt: skip
"""Listed here so that completion does not load the readers."""
Format = Annotated[
    str,
    typer.Option(
        "--format", metavar="NAME", autocompletion=completion.one_of(*FORMAT_NAMES),
        help="Format of the papers; `manyheads corpus formats` lists them.",
    ),
]  # fmt: skip


# `manyheads corpus targets`: real papers as the targets of a ranking, written as the cases of a suite.


def targets(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE…", help="Datasets with reference lists, and datasets with the cited papers."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="New file for the cases, for `eval --cases`.")
    ] = Path("cases.jsonl"),
    corpus: Annotated[
        str | None,
        typer.Option(
            metavar="CORPUS",
            autocompletion=completion.corpora,
            help="Sample from a corpus instead: contemporary papers, each with the most similar past ones.",
        ),
    ] = None,
    paper: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID|TITLE",
            help="Look up this paper instead, by DOI, arXiv number, id or title. Repeatable.",
        ),
    ] = None,
    count: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Number of targets to sample.")] = 10,
    least: Annotated[
        int,
        typer.Option(metavar="NUMBER", min=1, help="Minimum number of references with abstracts per paper."),
    ] = 5,
    most: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Maximum number of references per paper.")
    ] = 20,
    after: Annotated[
        int | None,
        typer.Option(metavar="YEAR", help="Only papers published after this year.", show_default=False),
    ] = None,
    citations: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", min=0, help="Minimum citation count.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Random seed of the sample.")] = 0,
    format: Format = "auto",  # noqa: A002
    columns: Columns = None,
    embedding: Embedding = "auto",
    config: Services = "virsci",
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            autocompletion=completion.one_of("semantic_scholar", "openalex"),
            help="Service to ask: semantic_scholar or openalex, in this order. Repeatable.",
        ),
    ] = None,
    sets: Sets = None,
) -> None:
    """Sample published papers, with the abstracts they cite, as ranking targets."""
    from manyheads.corpus.corpora import resolve_corpus
    from manyheads.corpus.ecosystem import Ecosystem
    from manyheads.datasets.table import column_option
    from manyheads.datasets.targets import (
        Wish,
        need_new,
        open_datasets,
        reasons,
        targets_in,
        targets_named,
        targets_of,
        write_cases,
    )  # fmt: skip

    if sum(map(bool, (sources, corpus, paper))) != 1:
        raise typer.BadParameter(
            "name datasets, or --corpus, or --paper, but only one of these", param_hint="SOURCE"
        )
    if most < least:
        raise typer.BadParameter(f"{least} is more than --most {most}", param_hint="--least")
    need_new(out)
    wish = Wish(count, least, most, after, citations, seed)
    with resumable(kept=not sources), building() as progress:
        if paper:
            cascade = settings({"literature.cascade": source or None})
            services = configured([config], (*cascade, *(sets or ()))).literature

            async def named() -> "Targets":
                async with library(services) as asked:
                    return await targets_named(asked, paper, wish)

            drawn = asyncio.run(named())
        elif corpus:
            folder = resolve_corpus(corpus, embedding=embedding, progress=progress)
            with Ecosystem.open(folder) as ecosystem:
                drawn = asyncio.run(targets_in(ecosystem, wish))
        else:
            datasets = open_datasets(sources or [], format, column_option(columns) if columns else {})
            drawn = targets_of(datasets, wish, progress)
    write_cases(out, drawn.cases)
    if passed := reasons(drawn.passed):
        say(f"papers not used: {passed}", err=True)
    show_silent(drawn.silent)
    say(f"{out}: {len(drawn.cases)} of {drawn.fit:,} suitable papers")


app = typer.Typer(
    help="Build, inspect and check corpora, the papers and scientists that teams work with.",
    no_args_is_help=True,
)
app.command("targets")(targets)
app.command("extract")(extract)


class Filters(Options):
    """Filters of papers and authors."""

    bound: Annotated[
        int | None,
        typer.Option(metavar="YEAR", help="Papers before this year are past, the others contemporary."),
    ] = None
    start: Annotated[int | None, typer.Option(metavar="YEAR", help="First year of papers to include.")] = None
    end: Annotated[int | None, typer.Option(metavar="YEAR", help="Last year of papers to include.")] = None
    min_past_citations: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=0, help="Minimum citations of a past paper.")
    ] = None
    min_contemporary_citations: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=0, help="Minimum citations of a contemporary paper.")
    ] = None
    min_papers: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=0, help="Minimum papers of an author.")
    ] = None
    min_coauthors: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=0, help="Minimum co-authors of an author.")
    ] = None
    author_counts: Annotated[
        str | None,
        typer.Option(
            metavar="[past|dataset]",
            autocompletion=completion.one_of("past", "dataset"),
            help="Count an author's papers and co-authors in the past papers, or use the dataset's own counts.",
        ),
    ] = None
    max_scientists: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=0, help="Maximum number of scientists.")
    ] = None
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="[aminer-cs|oag-3.1]",
            autocompletion=completion.one_of("aminer-cs", "oag-3.1"),
            help="Use the filters of the VirSci paper; it embeds with --embedding mixedbread-ai/mxbai-embed-large-v1.",
        ),
    ] = None


@app.command()
def build(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE…", help="Files or folders of papers, or s2:WORDS for a Semantic Scholar search."
        ),
    ],
    changes: Changes,
    filters: Filters,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="New corpus folder. [default: corpora/NAME]",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="Name of the corpus. [default: the name of --out, else of the first source]",
        ),
    ] = None,
    format: Format = "auto",  # noqa: A002
    columns: Columns = None,
    interests: Annotated[
        str,
        typer.Option(
            metavar="[keywords|model]",
            autocompletion=completion.one_of("keywords", "model"),
            help="Research interests for datasets without them: keywords, or keywords summarised by --model.",
        ),
    ] = "keywords",
    embedding: Embedding = "auto",
    vectors: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use these vectors (.npy); needs --ids.")
    ] = None,
    ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Paper ids of the rows of --vectors, one per line.")
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            metavar="NUMBER", min=1, max=1000, help="Maximum number of papers per year of a search."
        ),
    ] = 1000,
    index_from: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="Number of papers from which an index for measure --search approximate is built; 0 for never.",
        ),
    ] = INDEX_FROM,
    seed: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Random seed: numbers the scientists.")
    ] = None,
) -> None:
    """Build a corpus from papers: files, datasets, or a search.

    Run the same command again to resume an interrupted build.
    """
    from manyheads.config import CORPORA
    from manyheads.corpus.building import build_corpus
    from manyheads.corpus.embedding import load_embedder
    from manyheads.corpus.meta import PRESET_FORMATS, BuildOptions
    from manyheads.datasets.formats import Opening, folder_of, open_sources
    from manyheads.datasets.table import column_option

    if (vectors is None) != (ids is None):
        raise typer.BadParameter("--vectors and --ids go together")
    options = BuildOptions.of(**filters.model_dump(), seed=seed)
    config = changes.config([])
    target = out or CORPORA / folder_of(name, sources[0])
    opening = Opening(
        format=format,
        preset=PRESET_FORMATS.get(filters.preset or ""),
        columns=column_option(columns) if columns else {},
        years=(options.start, options.end),
        scratch=target.parent,
        limit=limit,
        literature=config.literature,
    )
    pair = None if vectors is None or ids is None else (vectors, ids)
    with ExitStack() as held, resumable(), building() as progress:
        reader = open_sources(sources, opening)
        librarian = _librarian(interests, changes.model, config, progress, held)
        made = build_corpus(
            reader, target, options, load_embedder(embedding),
            name=name, vectors=pair, interests=librarian, progress=progress,
            index_from=index_from,
        )  # fmt: skip
    with made:
        _show(made.meta, target)
    say(f"next: manyheads run virsci --set {shlex.quote(f'corpus={target}')}", err=True)
    if librarian:
        say(librarian.summary(), err=True)


def _librarian(
    interests: str, model: str | None, config: "RunConfig", progress: "Progress", held: ExitStack
) -> "Librarian | None":
    """The librarian for `--interests model`, else None."""
    if interests not in ("keywords", "model") or (interests == "model") != (model is not None):
        raise typer.BadParameter(
            "must be keywords, or model together with --model PROVIDER/NAME", param_hint="--interests"
        )
    if interests == "keywords":
        return None
    from manyheads.engine.interests import Librarian
    from manyheads.hosts import host_factory

    librarian = Librarian.of(config, host_factory(config.host), progress)
    held.enter_context(librarian.cache)
    return librarian


@app.command()
def formats() -> None:
    """List the formats of papers that a corpus can be built from."""
    from manyheads.datasets.formats import FORMATS

    for one in FORMATS.values():
        say(f"{one.name:<22}{one.about}\n{'':<22}example: {one.example}")


@app.command()
def info(
    corpus: Corpus = "sample",
    embedding: Embedding = "auto",
) -> None:
    """Show what a corpus contains. A shipped corpus is built on first use."""
    from manyheads.corpus.corpora import resolve_corpus
    from manyheads.corpus.meta import read_meta

    with building() as progress:
        folder = resolve_corpus(corpus, embedding=embedding, progress=progress)
    _show(read_meta(folder), folder)


@app.command()
def verify(
    corpus: Corpus = "sample",
    embedding: Embedding = "auto",
) -> None:
    """Check every file of a corpus for damage."""
    from manyheads.corpus.corpora import SHIPPED, folder_of, resolve_corpus, verify_corpus

    with building() as progress:
        shipped = corpus in SHIPPED
        folder = (
            resolve_corpus(corpus, embedding=embedding, progress=progress) if shipped else folder_of(corpus)
        )
        for line in verify_corpus(folder):
            say(line)


def _show(meta: "Meta", folder: Path) -> None:
    """Print the summary table; rejected records go to standard error."""
    from rich.table import Table
    from rich.text import Text

    from manyheads.core.texts import count
    from manyheads.corpus.meta import REJECTS
    from manyheads.corpus.records import LOGGED

    table = Table(
        title=Text(f"corpus {meta.name}", style="table.title"), title_justify="left", show_header=False
    )
    for label, value in meta.rows():
        table.add_row(label, value)
    for label, value in _records(folder):
        table.add_row(label, value)
    table.add_row("folder", str(folder))
    safe_console().print(table, markup=False)
    if meta.uses:
        say(meta.uses)
    if meta.rejects:
        which = "all" if meta.counts.rejected <= LOGGED else f"{LOGGED:,}"
        rejected = (
            f"{count(meta.counts.rejected, 'record')} rejected, {which} in {folder / REJECTS}; the first:"
        )
        safe_console(stderr=True).print("\n  ".join((rejected, *meta.rejects)), markup=False, highlight=False)


def _records(folder: Path) -> list[tuple[str, str]]:
    """Table rows on the corpus's literature database, if it has one."""
    from manyheads.corpus.graph import GRAPH, Graph

    if not (folder / GRAPH).is_file():
        return []
    try:
        with Graph(folder / GRAPH) as graph:
            counts, recipes, makers = graph.counts(), graph.recipes(), graph.makers()
    except CorpusError as error:  # such as on a disk that cannot be written
        return [("records", f"cannot be read here: {error.message}")]
    if not counts.extractions:
        return []
    rows = [("records", f"{counts.extractions:,} of {counts.papers:,} papers; {counts.entities:,} entities")]
    return rows + [
        (f"records by {makers[recipe]}", f"{count:,} ({recipe})") for recipe, count in recipes.items()
    ]
