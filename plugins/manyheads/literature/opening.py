"""Opens the library that a config describes. Nothing is read, written or contacted before it is used."""

import asyncio
import datetime as dt
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from manyheads.bank.vectors import Embedder
from manyheads.config import LiteratureConfig, SourceName
from manyheads.errors import ConfigError
from manyheads.limiter import Pace
from manyheads.literature import arxiv, openalex, semantic_scholar
from manyheads.literature.arxiv import Arxiv
from manyheads.literature.cache import CachedSource, Shelf
from manyheads.literature.library import Cascade, Findings, Library, Note, ignore
from manyheads.literature.local import LocalSource
from manyheads.literature.openalex import OpenAlex
from manyheads.literature.semantic_scholar import SemanticScholar
from manyheads.literature.service import Service
from manyheads.literature.source import ALL, Part, Source
from manyheads.literature.watch import Watched
from manyheads.papers import Author, Hit, Literature, Paper, Publication, Scientist, Window

if TYPE_CHECKING:
    from manyheads.bank.knowledge import KnowledgeBank


# The services as a config says, each with its pace, its address and what the environment holds for it.


def connect(
    name: SourceName, config: LiteratureConfig, paces: Mapping[SourceName, Pace] | None = None
) -> Source:
    """A service as a source; nothing is contacted before it is asked.

    Args:
        paces: other paces than the services ask for.
    """

    def service(address: str, pace: Pace, key_env: str | None = None, key: str | None = None) -> Service:
        return Service(
            name=name,
            pace=(paces or {}).get(name, pace),
            retries=config.retries,
            patience=config.patience,
            address=config.endpoints.get(name) or address,
            key_env=key_env,
            has_key=key is not None,
        )

    if name == "arxiv":
        return Arxiv(service(arxiv.ADDRESS, arxiv.PACE))
    if name == "openalex":
        key, mailto = _secret(openalex.KEY_ENV), _secret(openalex.MAILTO_ENV)
        return OpenAlex(
            service(openalex.ADDRESS, openalex.PACE, openalex.KEY_ENV, key), key=key, mailto=mailto
        )
    variable = config.semantic_scholar_key_env
    key = _secret(variable)
    pace = semantic_scholar.WITH_KEY if key else semantic_scholar.SHARED_POOL
    return SemanticScholar(service(semantic_scholar.ADDRESS, pace, variable, key), key=key)


def _secret(variable: str) -> str | None:
    return os.environ.get(variable, "").strip() or None


CACHE = "literature.sqlite"
"""The name of the cache in the user's cache folder."""
KEPT = "searches.sqlite"
"""The name of a run's own record in its folder."""


def open_library(
    config: LiteratureConfig,
    *,
    bank: "KnowledgeBank | None" = None,
    bound: int | None = None,
    note: Note = ignore,
    cache: Path | None = None,
    kept: Path | None = None,
    paces: Mapping[SourceName, Pace] | None = None,
) -> Library:
    """The sources of a config's cascade as one library.

    Args:
        bank: for the source `local`, which is left out where there is none; it stays its owner's to close.
        bound: the corpus's first contemporary year, what `before: bound` means: nothing from its 1 January on. No corpus, no bound.
        note: told of every look-up in every source, such as a `SearchLedger`'s.
        cache: an SQLite file for the services' answers, as old as `max_age` at most; None to keep none.
        kept: an SQLite file for what this run has found, whatever its age: a resumed run sees what it saw.
        paces: other paces than the services ask for, of mirrors that allow it.

    Raises:
        ConfigError: `before` is no date, or no source is left.
    """
    shelf = Shelf(cache, dt.timedelta(days=config.max_age)) if cache else None
    sources: list[Watched] = []
    for name in config.cascade:
        if name != "local":
            found = CachedSource(connect(name, config, paces), shelf, config.endpoints.get(name, ""))
        elif bank is not None:
            found = CachedSource(LocalSource(bank))
        else:
            continue
        sources.append(Watched(found, config.patience))
    if not sources:
        raise ConfigError(
            "literature.cascade: there is no corpus to look papers up in",
            hint="add semantic_scholar, openalex or arxiv to it",
        )
    closing = [shelf] if shelf else []
    return Cascade(
        sources, window(config, bound), note=note, kept=Shelf(kept) if kept else None, closing=closing
    )


def window(config: LiteratureConfig, bound: int | None = None) -> Window:
    """What `before` means: `bound`, `any`, a year, or a date; raises `ConfigError` for anything else.

    A year stands for its 1 January.
    """
    before = config.before.strip()
    if before == "bound":
        return Window(before=None if bound is None else dt.date(bound, 1, 1))
    if before == "any":
        return Window()
    try:
        return Window(
            before=dt.date(int(before), 1, 1) if len(before) == 4 else dt.date.fromisoformat(before)
        )
    except ValueError as error:
        raise ConfigError(
            f"literature.before: {config.before!r} is no date",
            tried="bound, any, a year, a date",
            hint="write it as 2015 or 2015-06-30",
        ) from error


# A library that is opened by the first look-up: a run that looks nothing up needs no source, no key, and no wait.


class Unopened:
    """A `Library` behind the one who opens it. What opening raises comes out of the first look-up.

    Args:
        open_it: called once, at first use; raises `ConfigError` when the config describes no library.
    """

    def __init__(self, open_it: Callable[[], Library]) -> None:
        self._open_it = open_it
        self._library: Library | None = None

    def opened(self) -> Library:
        """The library itself, from now on open."""
        if self._library is None:
            self._library = self._open_it()
        return self._library

    async def search(self, query: str, limit: int = 10, *, parts: Collection[Part] = ALL) -> Findings:
        """As `Library.search`."""
        return await self.opened().search(query, limit, parts=parts)

    async def paper(self, paper_id: str) -> Publication | None:
        """As `Library.paper`."""
        return await self.opened().paper(paper_id)

    async def references(self, paper_id: str, limit: int = 100) -> Findings:
        """As `Library.references`."""
        return await self.opened().references(paper_id, limit)

    async def citations(self, paper_id: str, limit: int = 100) -> Findings:
        """As `Library.citations`."""
        return await self.opened().citations(paper_id, limit)

    async def recommendations(self, paper_id: str, limit: int = 10) -> Findings:
        """As `Library.recommendations`."""
        return await self.opened().recommendations(paper_id, limit)

    async def authors(self, query: str, limit: int = 10) -> list[Author]:
        """As `Library.authors`."""
        return await self.opened().authors(query, limit)

    async def close(self) -> None:
        """Release what was opened."""
        if self._library is not None:
            await self._library.close()


# The literature services in place of B_past, for a run's references (VirSci 2025, App. C.3).


PARTS: frozenset[Part] = frozenset(("abstract", "citations", "date"))
LOOKED_AT = 3
"""So many times the papers wanted are looked at: a service ranks by words, the nearest in meaning are shown."""


class ServicesInstead:
    """A research ecosystem whose references come from a library; its scientists stay its own.

    A query is looked up by its first line, which is the title of an idea or of an abstract, or the topic. Of what is
    found, the papers nearest to the whole query are given; a hit's score is the cosine of the two texts' vectors, as
    it is for B_past. A paper without an abstract or a year is left out: nothing could be compared with it.

    Args:
        ecosystem: whose scientists are asked.
        library: where papers are looked up, its own date bounds and cascade kept.
        embedder: gives the model of the run's vectors, when it is first needed.
    """

    def __init__(self, ecosystem: Literature, library: Library, embedder: Callable[[], Embedder]) -> None:
        self._ecosystem, self._library, self._embedder = ecosystem, library, embedder

    @property
    def scientists(self) -> list[Scientist]:
        return self._ecosystem.scientists

    def scientist(self, name: str) -> Scientist:
        return self._ecosystem.scientist(name)

    def collaborations(self, name: str) -> Mapping[str, int]:
        return self._ecosystem.collaborations(name)

    async def find_scientists(self, query: str, k: int, *, exclude: Collection[str] = ()) -> list[Scientist]:
        return await self._ecosystem.find_scientists(query, k, exclude=exclude)

    async def past(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The k papers nearest to each query, best first; fewer where the services know fewer.

        Raises:
            LiteratureError: no source could be asked.
        """
        return [await self._near(query, k) for query in queries]

    async def _near(self, query: str, k: int) -> list[Hit]:
        found = await self._library.search(title_of(query), LOOKED_AT * k, parts=PARTS)
        papers = [paper for one in found.papers if (paper := as_paper(one))]
        if not papers:
            return []
        scores = await asyncio.to_thread(self._scores, query, papers)
        hits = [Hit(paper, score) for paper, score in zip(papers, scores, strict=True)]
        return sorted(hits, key=lambda hit: -hit.score)[:k]

    def _scores(self, query: str, papers: Sequence[Paper]) -> list[float]:
        vectors = self._embedder().embed([query, *(paper.abstract for paper in papers)])
        return [float(score) for score in vectors[1:] @ vectors[0]]


def title_of(query: str) -> str:
    """The first line of a text that is not blank: the title of an idea or an abstract, or a topic."""
    return next((line.strip() for line in query.splitlines() if line.strip()), query)


def as_paper(found: Publication) -> Paper | None:
    """A found paper as prompts show it, its authors left out; None without an abstract or a year."""
    year = found.date.year if found.date else found.year
    if year is None or not found.abstract.strip():
        return None
    return Paper(
        id=found.id,
        title=found.title,
        abstract=found.abstract,
        year=year,
        citations=found.citations,
        venue=found.venue,
    )
