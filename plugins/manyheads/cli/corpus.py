"""`manyheads corpus`: build, inspect and check a corpus; targets for a ranking; records for the literature database."""

import asyncio
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import Field

from manyheads.base.errors import CorpusError, PartialError
from manyheads.cli import completion
from manyheads.cli.engine import Placement, stoppable
from manyheads.cli.options import (
    Changes,
    Corpus,
    Embedding,
    Given,
    Limits,
    Options,
    Services,
    Sets,
    configured,
    resumable,
    settings,
)
from manyheads.cli.printing import safe_console, say
from manyheads.cli.progress import building, library, show_silent
from manyheads.corpus.meta import BuildOptions

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.corpus.building import Progress
    from manyheads.corpus.meta import Meta
    from manyheads.corpus.retrieval import LiteratureDatabase
    from manyheads.corpus.vectors import Remote
    from manyheads.datasets.targets import Targets, Wish
    from manyheads.systems.scipip.extraction import Extractor
    from manyheads.systems.virsci.interests import Librarian

app = typer.Typer(no_args_is_help=True)


class ReadOptions(Options):
    format: Annotated[str, typer.Option(metavar="NAME|FILE", autocompletion=completion.formats)] = "auto"
    """Format of the papers: one that `manyheads corpus formats` lists, or a YAML file of your own."""
    columns: Annotated[str | None, typer.Option(metavar="FIELD=COLUMN,…")] = None
    """Column names of a table, such as title=Title,year=Year."""

    @property
    def mapping(self) -> dict[str, str]:
        from manyheads.datasets.opening import column_option

        return column_option(self.columns) if self.columns else {}


# `manyheads corpus targets`: real papers as the targets of a ranking, written as the cases of a suite.


class Drawing(Options):
    count: int = Field(default=10, ge=1)
    """Number of targets to sample."""
    least: int = Field(default=5, ge=1)
    """Minimum number of references with abstracts per paper."""
    most: int = Field(default=20, ge=1)
    """Maximum number of references per paper."""
    after: Annotated[int | None, typer.Option(metavar="YEAR")] = None
    """Only papers published after this year."""
    citations: Annotated[int | None, Field(ge=0)] = None
    """Minimum citation count."""
    seed: int = 0
    """Random seed of the sample."""

    @property
    def wish(self) -> "Wish":
        from manyheads.datasets.targets import Wish

        if self.most < self.least:
            raise typer.BadParameter(f"{self.least} is more than --most {self.most}", param_hint="--least")
        return Wish(**self.model_dump())


class Drawn(Options):
    sources: Annotated[tuple[str, ...], typer.Argument(metavar="SOURCE…")] = ()
    """Datasets with reference lists, and datasets with the cited papers."""
    corpus: Annotated[str | None, typer.Option(metavar="CORPUS", autocompletion=completion.corpora)] = None
    """Sample from a corpus instead: contemporary papers, each with the most similar past ones."""
    paper: Annotated[tuple[str, ...], typer.Option(metavar="ID|TITLE")] = ()
    """Look up this paper instead, by DOI, arXiv number, id or title."""
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE")] = Path("cases.jsonl")
    """New file for the cases, for `eval --cases`."""
    embedding: Embedding = "auto"
    config: Services = "virsci"
    source: Annotated[
        tuple[str, ...],
        typer.Option(metavar="NAME", autocompletion=completion.one_of("semantic_scholar", "openalex")),
    ] = ()
    """Service to ask: semantic_scholar or openalex, in this order."""
    sets: Sets = None


@app.command()
def targets(options: Drawn, drawing: Drawing, reading: ReadOptions) -> None:
    """Sample published papers, with the abstracts they cite, as ranking targets."""
    from manyheads.datasets.targets import need_new, reasons, write_cases

    if sum(map(bool, (options.sources, options.corpus, options.paper))) != 1:
        raise typer.BadParameter(
            "name datasets, or --corpus, or --paper, but only one of these", param_hint="SOURCE"
        )
    wish = drawing.wish
    need_new(options.out)
    with resumable(kept=not options.sources), building() as progress:
        drawn = _drawn(options, wish, reading, progress)
    write_cases(options.out, drawn.cases)
    if passed := reasons(drawn.passed):
        say(f"papers not used: {passed}", err=True)
    show_silent(drawn.silent)
    say(f"{options.out}: {len(drawn.cases)} of {drawn.fit:,} suitable papers")


def _drawn(options: Drawn, wish: "Wish", reading: ReadOptions, progress: "Progress") -> "Targets":
    from manyheads.corpus.corpora import resolve_corpus
    from manyheads.corpus.ecosystem import Ecosystem
    from manyheads.datasets.targets import open_datasets, targets_in, targets_named, targets_of

    if options.paper:
        cascade = settings({"literature.cascade": options.source or None})
        services = configured([options.config], (*cascade, *(options.sets or ()))).literature

        async def named() -> "Targets":
            async with library(services) as asked:
                return await targets_named(asked, options.paper, wish)

        return asyncio.run(named())
    if options.corpus:
        folder = resolve_corpus(options.corpus, embedding=options.embedding, progress=progress)
        with Ecosystem.open(folder) as ecosystem:
            return asyncio.run(targets_in(ecosystem, wish))
    return targets_of(open_datasets(options.sources, reading.format, reading.mapping), wish, progress)


# `manyheads corpus build`.


class Building(Options):
    sources: Annotated[tuple[str, ...], typer.Argument(metavar="SOURCE…")]
    """Files or folders of papers, or s2:WORDS for a Semantic Scholar search."""
    preset: Annotated[
        str | None,
        typer.Option(metavar="[aminer-cs|oag-3.1]", autocompletion=completion.one_of("aminer-cs", "oag-3.1")),
    ] = None
    """Use the filters of the VirSci paper; it embeds with --embedding mixedbread-ai/mxbai-embed-large-v1."""
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FOLDER")] = None
    """New corpus folder. [default: corpora/NAME]"""
    name: Annotated[str | None, typer.Option(metavar="NAME")] = None
    """Name of the corpus. [default: the name of --out, else of the first source]"""
    interests: Literal["keywords", "model"] = "keywords"
    """Research interests for datasets without them: keywords, or keywords summarised by --model."""
    embedding: Embedding = "auto"
    vectors: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    """Use these vectors (.npy); needs --ids."""
    ids: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    """Paper ids of the rows of --vectors, one per line."""
    limit: int = Field(default=1000, ge=1, le=1000)
    """Maximum number of papers per year of a search."""
    complete: bool = False
    """Look up missing abstracts, years, citation counts, DOIs, authors and references (OpenAlex, Semantic Scholar, Crossref)."""


@app.command()
@stoppable()
def build(
    options: Building,
    reading: ReadOptions,
    filters: Annotated[dict[str, Any], Given(BuildOptions, without=("preset", "require_abstract"))],
    changes: Changes,
    placement: Placement,
) -> None:
    """Build a corpus from papers: files, datasets, or a search.

    Run the same command again to resume an interrupted build.
    """
    from manyheads.config import CORPORA
    from manyheads.corpus.building import build_corpus
    from manyheads.corpus.embedding import available, load_available
    from manyheads.corpus.meta import PRESET_FORMATS
    from manyheads.corpus.selection import period_of
    from manyheads.datasets.opening import SourceOptions, folder_of, open_sources
    from manyheads.literature.completion import COMPLETED, Completion

    if (options.vectors is None) != (options.ids is None):
        raise typer.BadParameter("--vectors and --ids go together")
    built = BuildOptions.of(options.preset, **filters)
    config = changes.config([])
    target = options.out or CORPORA / folder_of(options.name, options.sources[0])
    opening = SourceOptions(
        format=reading.format,
        preset=PRESET_FORMATS.get(options.preset or ""),
        columns=reading.mapping,
        years=(built.start, built.end),
        scratch=target.parent,
        limit=options.limit,
        literature=config.literature,
    )
    with ExitStack() as held, resumable(), building() as progress:
        reader = open_sources(options.sources, opening)
        if options.complete:
            reader = Completion(
                reader,
                config.literature,
                target.with_name(f"{target.name}.partial") / COMPLETED,
                wanted=lambda paper: not paper.year or period_of(paper.year, built) is not None,
            )
        librarian = _librarian(options.interests, changes.model, config, progress, held)
        own, choice = load_available(options.embedding), available(options.embedding)
        model = held.enter_context(placement.spread(config, own, choice))
        made = build_corpus(
            reader, target, built, model,
            name=options.name, vectors=(options.vectors, options.ids) if options.vectors and options.ids else None,
            interests=librarian, progress=progress,
        )  # fmt: skip
    with made:
        _show(made.meta, target)
    for failure in reader.failures.values() if isinstance(reader, Completion) else ():
        say(f"warning: not every paper could be looked up: {failure}", err=True)
    if made.meta.counts.scientists:
        say(f"next: manyheads run virsci --set {shlex.quote(f'corpus={target}')}", err=True)
    if librarian:
        say(librarian.summary(), err=True)


def _librarian(
    interests: str, model: str | None, config: "RunConfig", progress: "Progress", held: ExitStack
) -> "Librarian | None":
    if (interests == "model") != (model is not None):
        raise typer.BadParameter(
            "must be keywords, or model together with --model PROVIDER/NAME", param_hint="--interests"
        )
    if interests == "keywords":
        return None
    from manyheads.hosts import host_factory
    from manyheads.systems.virsci.interests import Librarian

    librarian = Librarian.of(config, host_factory(config.host), progress)
    held.enter_context(librarian.cache)
    return librarian


@app.command()
def formats() -> None:
    """List the formats of papers that a corpus can be built from."""
    from manyheads.datasets.formats import formats

    for name, one in formats().items():
        say(f"{name:<22}{one.about}\n{'':<22}example: {one.example}")


@app.command()
def info(corpus: Corpus = "sample", embedding: Embedding = "auto") -> None:
    """Show what a corpus contains. A shipped corpus is built on first use."""
    from manyheads.corpus.corpora import resolve_corpus
    from manyheads.corpus.meta import read_meta

    with building() as progress:
        folder = resolve_corpus(corpus, embedding=embedding, progress=progress)
    _show(read_meta(folder), folder)


@app.command()
def verify(corpus: Corpus = "sample", embedding: Embedding = "auto") -> None:
    """Check every file of a corpus for damage."""
    from manyheads.corpus.corpora import SHIPPED, folder_of, resolve_corpus, verify_corpus

    with building() as progress:
        shipped = corpus in SHIPPED and resolve_corpus(corpus, embedding=embedding, progress=progress)
        for line in verify_corpus(shipped or folder_of(corpus)):
            say(line)


@app.command()
def upload(
    corpus: Corpus,
    address: Annotated[str, typer.Argument(metavar="URL", help="The server, such as http://HOST:6333.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The new folder.")],
) -> None:
    """Put a built corpus on a Qdrant server, for many machines.

    What does not go there is in a small new folder, which any command can name.
    The server's key, if it wants one, is read from QDRANT_API_KEY.
    """
    from manyheads.corpus.corpora import resolve_corpus
    from manyheads.corpus.upload import upload_corpus

    with building() as progress:
        upload_corpus(resolve_corpus(corpus), address, out, progress)
    say(f"Corpus     {out}")


def _show(meta: "Meta", folder: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    from manyheads.base.text import count
    from manyheads.corpus.meta import REJECTS
    from manyheads.corpus.records import LOGGED

    table = Table(
        title=Text(f"corpus {meta.name}", style="table.title"), title_justify="left", show_header=False
    )
    for label, value in (*meta.rows(), *_records(folder), ("folder", str(folder))):
        table.add_row(label, value)
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
            counts, recipes = graph.counts(), graph.recipes()
    except CorpusError as error:  # such as on a disk that cannot be written
        return [("records", f"cannot be read here: {error.message}")]
    if not counts.extractions:
        return []
    rows = [("records", f"{counts.extractions:,} of {counts.papers:,} papers; {counts.entities:,} entities")]
    return rows + [(f"records by {one.maker}", f"{one.records:,} ({one.name})") for one in recipes]


# `manyheads corpus extract`: the records that searches of the literature database use.

NOTES = 5
"""Maximum messages printed about single papers; the others are counted."""


class Extracting(Options):
    corpus: Corpus
    extractor: Literal["lexical", "model"] | None = None
    """Extract by rules (lexical), or with a language model. [default: model if --model or --config names one]"""
    config: Annotated[
        tuple[str, ...], typer.Option(metavar="NAME|FILE", autocompletion=completion.configs)
    ] = ()
    """Config whose model to use."""
    budget: Limits = None
    embedding: Embedding = "auto"


@app.command()
@stoppable()
def extract(options: Extracting, changes: Changes, placement: Placement) -> None:
    """Extract entities, background, summary and main ideas of each paper of a corpus.

    Searches of the literature database use these records. Run the command again to resume: only papers without a record are
    extracted.
    """
    from manyheads.corpus.corpora import resolve_corpus
    from manyheads.corpus.ecosystem import Ecosystem
    from manyheads.corpus.embedding import load_embedder
    from manyheads.corpus.meta import read_meta
    from manyheads.corpus.retrieval import LiteratureDatabase
    from manyheads.engine.budget import Budget
    from manyheads.hosts import host_factory
    from manyheads.models.offline import OFFLINE
    from manyheads.systems.scipip.extraction import Extractor

    rules = options.extractor == "lexical"
    if rules and (changes.model or options.budget):
        raise typer.BadParameter(
            "lexical uses no language model; leave out --model and --budget", param_hint="--extractor"
        )
    config = changes.config(options.config or [])
    with ExitStack() as held, resumable(), building() as progress:
        surveyor = None
        if not rules:
            limits = Budget.parse(options.budget or (), whose="the extraction's")
            limits.need_prices([config])
            surveyor = Extractor.of(config, host_factory(config.host), progress, [limits.asking])
            if options.extractor is None and surveyor.model.provider == OFFLINE:
                surveyor = None
            else:
                held.enter_context(surveyor.cache)
        folder = resolve_corpus(options.corpus, embedding=options.embedding, progress=progress)
        chosen = None if options.embedding == "auto" else load_embedder(options.embedding)
        if layer := read_meta(folder).layer:
            hint = f"manyheads corpus extract {layer.base}"
            raise CorpusError(f"{folder}: a layer of a society has no records of its own", hint=hint)
        ecosystem = held.enter_context(Ecosystem.open(folder, chosen))
        if surveyor:
            own, choice = ecosystem.embedder, options.embedding if chosen else ecosystem.embedder.name
            ecosystem.papers.embedder = held.enter_context(placement.spread(config, own, choice))
        database = LiteratureDatabase.of(ecosystem)
        held.enter_context(database.extracting())
        if restored := database.restore_vectors(progress):
            say(f"the vectors of {restored:,} records were missing and have been recomputed")
        spread = None if surveyor else held.enter_context(placement.rules(config))
        line = (
            _by_model(database, surveyor) if surveyor else _by_rules(database, progress, spread, again=rules)
        )
        counts, recipes = database.graph.counts(), database.graph.recipes()
    made = ", ".join(f"{one.records:,} by {one}" for one in recipes)
    say(f"corpus {ecosystem.meta.name}: {line}")
    say(
        f"records: {counts.extractions:,} of {counts.papers:,} papers ({made or 'none'}); {counts.entities:,} entities"
    )


def _by_model(database: "LiteratureDatabase", extractor: "Extractor") -> str:
    papers = database.graph.missing(extractor.recipe)
    try:
        extractor(database.readings(papers), len(papers), database.store_records)
    finally:
        passed = [f"{paper}: {error.message}" for paper, error in extractor.passed_over.items()]
        for name, notes in (("warning", extractor.notes), ("passed over", passed)):
            for note in notes[:NOTES]:
                say(f"{name}: {note}", err=True)
            if len(notes) > NOTES:
                say(f"{name}: {len(notes) - NOTES:,} more", err=True)
        say(extractor.summary(), err=True)
    if passed:
        raise PartialError(
            f"{len(passed):,} of {len(papers):,} papers have no record by {extractor.name}, see above",
            hint="run the same command again, or choose another model: --model PROVIDER/NAME",
        )
    had = database.ecosystem.papers.count() - len(papers)
    return f"{extractor.done:,} papers extracted by {extractor.name}; {had:,} already had such a record"


def _by_rules(
    database: "LiteratureDatabase", tell: "Progress", spread: "Remote | None", *, again: bool
) -> str:
    """Records by rules for the papers without one; `again`: also for those with a record by a model."""
    from manyheads.corpus.digest import RECIPE

    papers = database.graph.missing(RECIPE if again else None)
    kept = sum(one.records for one in database.graph.recipes() if one.name != RECIPE)
    done = database.extract(papers, tell, spread)
    had = database.ecosystem.papers.count() - done
    line = (
        f"{done:,} papers extracted without a model; {had:,} already had {'such a' if again else 'a'} record"
    )
    return f"{line}, {kept:,} of them by a model or by earlier rules (kept)" if kept and not again else line
