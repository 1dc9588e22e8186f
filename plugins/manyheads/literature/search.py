"""A search by hand, as agents search: in the sources of a config, its own corpus among them."""

from contextlib import ExitStack

from manyheads.base.files import cache_folder
from manyheads.config import RunConfig
from manyheads.corpus.corpora import resolve_corpus
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.literature.library import Library
from manyheads.literature.lookup import CACHE, Findings, Note


async def search(config: RunConfig, query: str, limit: int, note: Note = lambda entry: None) -> Findings:
    """The papers that a config's sources find for a few keywords.

    Args:
        note: called with every look-up when it ends.

    Raises:
        UserError: the corpus cannot be opened, or no source answered.
    """
    with ExitStack() as held:
        corpus = None
        # needed to search its papers, or for its bound
        if "local" in config.literature.cascade or config.literature.before == "bound":
            folder = resolve_corpus(config.corpus, embedding=config.embedding)
            corpus = held.enter_context(Ecosystem.open(folder))
        bank, bound = corpus and corpus.papers, corpus and corpus.meta.options.bound
        library = Library(config.literature, bank=bank, bound=bound, note=note, cache=cache_folder() / CACHE)
        async with library as sources:
            return await sources.search(query, limit)
