"""`manyheads corpus extract`: records of a corpus's papers, which its literature database finds them by."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.options import Budget, Changes, building, going_on_later
from manyheads.cli.printing import say
from manyheads.errors import ConfigError

if TYPE_CHECKING:
    from manyheads.bank.building import Progress
    from manyheads.bank.database import LiteratureDatabase
    from manyheads.bank.extraction import Extraction
    from manyheads.bank.records import Source
    from manyheads.config import RunConfig
    from manyheads.engine.extraction import Extractor

NOTES = 5
"""What was left out of papers: so many are told, the others counted."""


def extract(
    corpus: Annotated[str, typer.Argument(help="A built corpus's folder, or a shipped corpus's name.")],
    changes: Changes,
    extractor: Annotated[
        str | None,
        typer.Option(
            metavar="lexical|model",
            help="By rules, or by a model. [default: model, where --model or the config names one]",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE", help="A config whose model is asked. Repeatable.", show_default=False
        ),
    ] = None,
    budget: Budget = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="texts|abstract",
            help="What papers are found by: texts embeds background, summary and main ideas; abstract takes the vector that "
            "the corpus has of each paper for all three; earlier records are changed too. [default: texts of a model, else abstract]",
            show_default=False,
        ),
    ] = None,
    embedding: Annotated[
        str, typer.Option(help="auto, lexical, a fastembed model, or a model's folder.")
    ] = "auto",
) -> None:
    """Extract each paper's entities, background, summary and main ideas. Run again, it goes on with those that have none."""
    from manyheads.bank.corpora import resolve_corpus
    from manyheads.bank.database import LiteratureDatabase
    from manyheads.bank.digest import extracting
    from manyheads.bank.ecosystem import Ecosystem
    from manyheads.bank.embedding import load_embedder
    from manyheads.models.offline import OFFLINE

    if extractor not in (None, "lexical", "model"):
        raise typer.BadParameter("lexical or model", param_hint="--extractor")
    if vectors not in (None, "texts", "abstract"):
        raise typer.BadParameter("texts or abstract", param_hint="--vectors")
    if extractor == "lexical" and (changes.model or budget):
        raise typer.BadParameter(
            "lexical asks no model; leave out --model, --budget", param_hint="--extractor"
        )
    settings = changes.config(config or [])
    with ExitStack() as held, going_on_later(), building() as tell:
        surveyor = None
        if extractor != "lexical":
            surveyor = _extractor(settings, budget or (), tell)
            if extractor is None and surveyor.model.provider == OFFLINE:
                surveyor = None
            else:
                held.enter_context(surveyor.cache)
        folder = resolve_corpus(corpus, embedding=embedding, progress=tell)
        ecosystem = held.enter_context(
            Ecosystem.open(folder, None if embedding == "auto" else load_embedder(embedding))
        )
        held.enter_context(extracting(ecosystem))
        database = LiteratureDatabase.of(ecosystem)
        _restore(database, vectors, tell)
        if surveyor:
            line = _by_model(database, surveyor, vectors or "texts")
        else:
            line = _by_rules(database, tell, vectors or "abstract", anew=extractor == "lexical")
        if vectors:
            line += _found_by(database, vectors, tell)
        about = database.about()
    made = ", ".join(f"{count:,} by {recipe}" for recipe, count in about.recipes.items())
    say(f"corpus {ecosystem.meta.name}: {line}")
    say(
        f"records: {about.records:,} of {about.papers:,} papers ({made or 'none'}); {about.entities:,} entities"
    )


def _found_by(database: "LiteratureDatabase", vectors: "Source", tell: "Progress") -> str:
    """Have the records that were there before be found by what is asked for now."""
    papers = database.found_by("abstract" if vectors == "texts" else "texts")
    _embed(database, papers, vectors, tell)
    return f"; {len(papers):,} of before are found by {vectors} from now on" if papers else ""


def _restore(database: "LiteratureDatabase", vectors: "Source | None", tell: "Progress") -> None:
    """Make vectors of records that have lost theirs: as is asked for, else as is usual for who has made the records."""
    from manyheads.bank.extraction import LEXICAL

    if papers := database.without_vectors():
        lexical = {*database.graph.makers().values()} == {LEXICAL}
        _embed(database, papers, vectors or ("abstract" if lexical else "texts"), tell)
        say(f"the vectors of {len(papers):,} records were gone, and are made anew")


def _embed(
    database: "LiteratureDatabase", papers: Sequence[str], vectors: "Source", tell: "Progress"
) -> None:
    from manyheads.bank.digest import STEP

    done = 0

    def more(count: int) -> None:
        nonlocal done
        tell(STEP, done := done + count, len(papers))

    database.embed(papers, vectors, more)


def _extractor(config: "RunConfig", budget: Sequence[str], tell: "Progress") -> "Extractor":
    from manyheads.disk import cache_folder
    from manyheads.engine.budget import CommandBudget
    from manyheads.engine.extraction import Extractor
    from manyheads.hosts import host_factory
    from manyheads.literature.cache import LookupCache
    from manyheads.resources import Resources
    from manyheads.roles import Roles

    limits = CommandBudget.parse(budget, whose="the extraction's")
    limits.need_prices([config])
    cache = LookupCache(cache_folder() / "extraction.sqlite")
    roles = Roles(Resources.of(config.paths))
    return Extractor(config, roles, host_factory(config.host), cache, tell, [limits])


def _by_model(database: "LiteratureDatabase", extractor: "Extractor", vectors: "Source") -> str:
    from manyheads.bank.digest import readings

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
        raise ConfigError(
            f"{len(passed):,} of {len(papers):,} papers have no record by {extractor.name}, see above",
            hint="run the same command again, or choose another model: --model PROVIDER/NAME",
        )
    had = database.ecosystem.papers.count() - len(papers)
    return f"{extractor.done:,} papers extracted by {extractor.name}; {had:,} had such a record before"


def _by_rules(database: "LiteratureDatabase", tell: "Progress", vectors: "Source", *, anew: bool) -> str:
    """Records by rules of the papers that have none; `anew`: of those that a model has made records of as well."""
    from manyheads.bank.digest import RECIPE, extract_papers

    papers = database.missing(RECIPE if anew else None)
    kept = sum(count for recipe, count in database.graph.recipes().items() if recipe != RECIPE)
    done = extract_papers(database, papers, tell, vectors)
    had = database.ecosystem.papers.count() - done
    line = f"{done:,} papers extracted without a model; {had:,} had {'such a' if anew else 'a'} record before"
    return (
        f"{line}, {kept:,} of them by a model or by earlier rules, which stay" if kept and not anew else line
    )
