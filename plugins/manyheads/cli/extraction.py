"""`manyheads corpus extract`: the records that searches of the literature database use."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from manyheads.base.errors import PartialError
from manyheads.cli import completion
from manyheads.cli.options import Changes, Corpus, Embedding, Limits, resumable
from manyheads.cli.printing import say
from manyheads.cli.progress import building

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.corpus.building import Progress
    from manyheads.corpus.database import LiteratureDatabase
    from manyheads.corpus.extracted import Source
    from manyheads.corpus.graph import Extraction
    from manyheads.engine.extraction import Extractor

NOTES = 5
"""Maximum messages printed about single papers; the others are counted."""


def extract(
    corpus: Corpus,
    changes: Changes,
    extractor: Annotated[
        Literal["lexical", "model"] | None,
        typer.Option(
            help="Extract by rules (lexical), or with a language model. [default: model if --model or --config names one]",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Config whose model to use. Repeatable.",
            autocompletion=completion.configs,
        ),
    ] = None,
    budget: Limits = None,
    vectors: Annotated[
        Literal["texts", "abstract"] | None,
        typer.Option(
            help="Find papers by embeddings of their extracted texts, or by the corpus's own vector of each abstract; applies to "
            "existing records, too. [default: texts for records of a model, else abstract]",
            show_default=False,
        ),
    ] = None,
    embedding: Embedding = "auto",
) -> None:
    """Extract entities, background, summary and main ideas of each paper of a corpus.

    Searches of the literature database use these records. Run the command again to resume: only papers without a record are
    extracted.
    """
    from manyheads.corpus.corpora import resolve_corpus
    from manyheads.corpus.database import LiteratureDatabase
    from manyheads.corpus.digest import extracting
    from manyheads.corpus.ecosystem import Ecosystem
    from manyheads.corpus.embedding import load_embedder
    from manyheads.models.offline import OFFLINE

    if extractor == "lexical" and (changes.model or budget):
        raise typer.BadParameter(
            "lexical uses no language model; leave out --model and --budget", param_hint="--extractor"
        )
    settings = changes.config(config or [])
    with ExitStack() as held, resumable(), building() as progress:
        surveyor = None
        if extractor != "lexical":
            surveyor = _extractor(settings, budget or (), progress)
            if extractor is None and surveyor.model.provider == OFFLINE:
                surveyor = None
            else:
                held.enter_context(surveyor.cache)
        folder = resolve_corpus(corpus, embedding=embedding, progress=progress)
        ecosystem = held.enter_context(
            Ecosystem.open(folder, None if embedding == "auto" else load_embedder(embedding))
        )
        held.enter_context(extracting(ecosystem))
        database = LiteratureDatabase.of(ecosystem)
        _restore(database, vectors, progress)
        if surveyor:
            line = _by_model(database, surveyor, vectors or "texts")
        else:
            line = _by_rules(database, progress, vectors or "abstract", again=extractor == "lexical")
        if vectors:
            line += _found_by(database, vectors, progress)
        about = database.about()
    made = ", ".join(f"{count:,} by {recipe}" for recipe, count in about.recipes.items())
    say(f"corpus {ecosystem.meta.name}: {line}")
    say(
        f"records: {about.records:,} of {about.papers:,} papers ({made or 'none'}); {about.entities:,} entities"
    )


def _found_by(database: "LiteratureDatabase", vectors: "Source", progress: "Progress") -> str:
    """Switch earlier records to these vectors."""
    papers = database.found_by("abstract" if vectors == "texts" else "texts")
    _embed(database, papers, vectors, progress)
    return f"; {len(papers):,} earlier records switched to --vectors {vectors}" if papers else ""


def _restore(database: "LiteratureDatabase", vectors: "Source | None", progress: "Progress") -> None:
    """Recompute missing vectors of records: of this kind, else of the default kind for their extractor."""
    from manyheads.corpus.graph import LEXICAL

    if papers := database.without_vectors():
        lexical = {*database.graph.makers().values()} == {LEXICAL}
        _embed(database, papers, vectors or ("abstract" if lexical else "texts"), progress)
        say(f"the vectors of {len(papers):,} records were missing and have been recomputed")


def _embed(
    database: "LiteratureDatabase", papers: Sequence[str], vectors: "Source", progress: "Progress"
) -> None:
    from manyheads.corpus.digest import STEP

    done = 0

    def more(count: int) -> None:
        nonlocal done
        progress(STEP, done := done + count, len(papers))

    database.embed(papers, vectors, more)


def _extractor(config: "RunConfig", budget: Sequence[str], progress: "Progress") -> "Extractor":
    from manyheads.engine.budget import Budget
    from manyheads.engine.extraction import Extractor
    from manyheads.hosts import host_factory

    limits = Budget.parse(budget, whose="the extraction's")
    limits.need_prices([config])
    return Extractor.of(config, host_factory(config.host), progress, [limits.asking])


def _by_model(database: "LiteratureDatabase", extractor: "Extractor", vectors: "Source") -> str:
    from manyheads.corpus.digest import readings

    def keep(records: Sequence["Extraction"]) -> None:
        database.put(records, vectors)

    papers = database.missing(extractor.recipe)
    try:
        extractor(readings(database, papers), len(papers), keep)
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


def _by_rules(database: "LiteratureDatabase", progress: "Progress", vectors: "Source", *, again: bool) -> str:
    """Records by rules for the papers without one; `again`: also for those with a record by a model."""
    from manyheads.corpus.digest import RECIPE, extract_papers

    papers = database.missing(RECIPE if again else None)
    kept = sum(count for recipe, count in database.graph.recipes().items() if recipe != RECIPE)
    done = extract_papers(database, papers, progress, vectors)
    had = database.ecosystem.papers.count() - done
    line = (
        f"{done:,} papers extracted without a model; {had:,} already had {'such a' if again else 'a'} record"
    )
    return f"{line}, {kept:,} of them by a model or by earlier rules (kept)" if kept and not again else line
