"""`manyheads corpus`: build an ecosystem from papers, and say what is in one."""

import asyncio
import shlex
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.extraction import extract
from manyheads.cli.options import (
    Changes,
    Sets,
    building,
    configured,
    going_on_later,
    library,
    settings,
    show_silent,
)
from manyheads.cli.printing import safe_console, say
from manyheads.errors import CorpusError

if TYPE_CHECKING:
    from manyheads.bank.building import Progress
    from manyheads.bank.meta import Meta
    from manyheads.config import RunConfig
    from manyheads.engine.interests import Librarian
    from manyheads.literature.targets import Targets


Columns = Annotated[
    str | None, typer.Option(metavar="FIELD=COLUMN,...", help="Of a table, such as title=Title,year=Year.")
]
Corpus = Annotated[
    str, typer.Argument(help="A corpus's folder, or the name of a shipped one or of one in corpora/.")
]
Count = Annotated[int | None, typer.Option(min=0, show_default=False)]
Embedding = Annotated[
    str,
    typer.Option(
        help="auto, minilm-int8 or static (quicker), lexical, a fastembed model, or a model's folder."
    ),
]
Format = Annotated[str, typer.Option("--format", help="One that `manyheads corpus formats` lists.")]


# `manyheads corpus targets`: real papers as the targets of a ranking, written as the cases of a suite.


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
    format: Format = "auto",  # noqa: A002
    columns: Columns = None,
    embedding: Embedding = "auto",
    config: Annotated[
        str, typer.Option(help="The config whose `literature` section tells the services.")
    ] = "virsci",
    source: Annotated[
        list[str] | None, typer.Option(help="semantic_scholar or openalex, asked in this order. Repeatable.")
    ] = None,
    sets: Sets = None,
) -> None:
    """Draw papers that were really written, with the abstracts of what they cite, as targets of a ranking."""
    from manyheads.bank.corpora import resolve_corpus
    from manyheads.bank.ecosystem import Ecosystem
    from manyheads.literature.readers.table import column_option
    from manyheads.literature.targets import (
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
        raise typer.BadParameter("name datasets, or a --corpus, or a --paper", param_hint="SOURCE")
    if most < least:
        raise typer.BadParameter("is more than --most", param_hint="--least")
    need_new(out)
    wish = Wish(count, least, most, after, citations, seed)
    with going_on_later(kept=not sources), building() as tell:
        if paper:
            cascade = settings({"literature.cascade": source or None})
            services = configured([config], (*cascade, *(sets or ()))).literature

            async def named() -> "Targets":
                async with library(services) as asked:
                    return await targets_named(asked, paper, wish)

            drawn = asyncio.run(named())
        elif corpus:
            folder = resolve_corpus(corpus, embedding=embedding, progress=tell)
            with Ecosystem.open(folder) as ecosystem:
                drawn = asyncio.run(targets_in(ecosystem, wish))
        else:
            datasets = open_datasets(sources or [], format, column_option(columns) if columns else {})
            drawn = targets_of(datasets, wish, tell)
    write_cases(out, drawn.cases)
    if passed := reasons(drawn.passed):
        say(f"papers passed over: {passed}", err=True)
    show_silent(drawn.silent)
    say(f"{out}: {len(drawn.cases)} of {drawn.fit:,} papers that can be targets")


app = typer.Typer(
    help="Research ecosystems: build one from papers, say what is in one.", no_args_is_help=True
)
app.command("targets")(targets)
app.command("extract")(extract)


@dataclass(frozen=True)
class Filters:
    """Which papers and authors a corpus takes."""

    bound: Annotated[
        int | None, typer.Option(help="Papers before this year are past, the others contemporary.")
    ] = None
    start: Annotated[int | None, typer.Option(help="First year.")] = None
    end: Annotated[int | None, typer.Option(help="Last year.")] = None
    min_past_citations: Count = None
    min_contemporary_citations: Count = None
    min_papers: Count = None
    min_coauthors: Count = None
    author_counts: Annotated[
        str | None,
        typer.Option(
            help="Count an author's papers and co-authors in the past papers (past), or take the dataset's own (dataset)."
        ),
    ] = None
    max_scientists: Count = None
    preset: Annotated[
        str | None,
        typer.Option(
            help="Filters of the paper: aminer-cs or oag-3.1. Its model: --embedding mixedbread-ai/mxbai-embed-large-v1"
        ),
    ] = None


@app.command()
def build(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", help="Files or folders of papers, or s2:WORDS, a search."),
    ],
    changes: Changes,
    filters: Filters,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder to make. [default: corpora/ and the corpus's name]", show_default=False
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="What it is called. [default: the name of --out, else of the source]", show_default=False
        ),
    ] = None,
    format: Format = "auto",  # noqa: A002
    columns: Columns = None,
    interests: Annotated[
        str, typer.Option(help="Where a dataset has none: keywords, or a model condenses them: model.")
    ] = "keywords",
    embedding: Embedding = "auto",
    vectors: Annotated[Path | None, typer.Option(help="Ready-made vectors, .npy; with --ids.")] = None,
    ids: Annotated[Path | None, typer.Option(help="The papers of the vectors' rows, an id a line.")] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, help="Papers of a year that a search gives, at most.")
    ] = 1000,
    seed: Annotated[int | None, typer.Option(help="Decides who is Scientist0, Scientist1, …")] = None,
) -> None:
    """Build a corpus. Run again after a kill, it goes on where it was."""
    from manyheads.bank.building import build_corpus
    from manyheads.bank.embedding import load_embedder
    from manyheads.bank.meta import PRESET_FORMATS, BuildOptions
    from manyheads.config import CORPORA
    from manyheads.literature.readers.formats import Opening, folder_of, open_sources
    from manyheads.literature.readers.table import column_option

    if (vectors is None) != (ids is None):
        raise typer.BadParameter("--vectors and --ids go together")
    options = BuildOptions.of(**asdict(filters), seed=seed)
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
    with ExitStack() as held, going_on_later(), building() as tell:
        reader = open_sources(sources, opening)
        librarian = _librarian(interests, changes.model, config, tell, held)
        made = build_corpus(
            reader, target, options, load_embedder(embedding),
            name=name, vectors=pair, interests=librarian, progress=tell,
        )  # fmt: skip
    with made:
        _show(made.meta, target)
    say(f"next: manyheads run virsci --set {shlex.quote(f'corpus={target}')}", err=True)
    if librarian:
        say(librarian.summary(), err=True)


def _librarian(
    interests: str, model: str | None, config: "RunConfig", tell: "Progress", held: ExitStack
) -> "Librarian | None":
    """Who condenses keywords into interests, if a model is to."""
    if interests not in ("keywords", "model") or (interests == "model") != (model is not None):
        raise typer.BadParameter(
            "keywords, or model together with --model PROVIDER/NAME", param_hint="--interests"
        )
    if interests == "keywords":
        return None
    from manyheads.disk import cache_folder
    from manyheads.engine.interests import Librarian
    from manyheads.hosts import host_factory
    from manyheads.literature.cache import LookupCache
    from manyheads.resources import Resources
    from manyheads.roles import Roles

    make_host, roles = host_factory(config.host), Roles(Resources.of(config.paths))
    cache = held.enter_context(LookupCache(cache_folder() / "interests.sqlite"))
    return Librarian(config, roles, make_host, cache, tell)


@app.command()
def formats() -> None:
    """List the formats that a corpus can be built from."""
    from manyheads.literature.readers.formats import FORMATS

    for one in FORMATS.values():
        say(f"{one.name:<22}{one.about}\n{'':<22}such as {one.example}")


@app.command()
def info(
    corpus: Corpus = "sample",
    embedding: Embedding = "auto",
) -> None:
    """Say what is in a corpus. A shipped one is built on first use, with an embedding model of your choice."""
    from manyheads.bank.corpora import resolve_corpus
    from manyheads.bank.meta import read_meta

    with building() as tell:
        folder = resolve_corpus(corpus, embedding=embedding, progress=tell)
    _show(read_meta(folder), folder)


@app.command()
def verify(
    corpus: Corpus = "sample",
    embedding: Embedding = "auto",
) -> None:
    """Read all of a corpus, and say whether it is as it was built."""
    from manyheads.bank.corpora import SHIPPED, folder_of, resolve_corpus, verify_corpus

    with building() as tell:
        shipped = corpus in SHIPPED
        folder = resolve_corpus(corpus, embedding=embedding, progress=tell) if shipped else folder_of(corpus)
        for line in verify_corpus(folder):
            say(line)


def _show(meta: "Meta", folder: Path) -> None:
    """The summary table on standard output, and on standard error the records that were rejected."""
    from rich.table import Table
    from rich.text import Text

    from manyheads.bank.corpus import LOGGED
    from manyheads.bank.meta import REJECTS
    from manyheads.texts import count

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
    """What a corpus's literature database holds, where it has any."""
    from manyheads.bank.graph import GRAPH, Graph

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
