"""Literature services on this machine, a bank beside them, and libraries over them all."""

from collections.abc import AsyncGenerator, Callable, Collection, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manyheads.base.http import Pace
from manyheads.base.papers import ANY_TIME, OWN_SOURCES, Paper, Window
from manyheads.config import LiteratureConfig, SourceName
from manyheads.core.events import Searched
from manyheads.corpus.ecosystem import KnowledgeBank
from manyheads.corpus.embedding import load_embedder
from manyheads.literature.library import Library
from manyheads.literature.lookup import Findings
from manyheads.literature.source import ALL, Operation, Part, Request, Source
from support.arxiv import ArxivServer, entry
from support.openalex import OpenAlexServer, work
from support.scholar import Record, Scholar, Trouble, record

A, B, C, D = ("abcd"[number] * 40 for number in range(4))
AT_ONCE: dict[SourceName, Pace] = {name: Pace(0) for name in OWN_SOURCES}


def down() -> Trouble:
    """A service that is overloaded for good."""
    return Trouble("status", None, status=503)


def scholarly(letters: str, title: str, **known: Any) -> Record:
    """A paper of Semantic Scholar, of 2011 if nothing else is said."""
    return record(letters, title, **{"year": 2011, "publicationDate": "2011-03-04", **known})


def open_work(number: int, title: str, **known: Any) -> Record:
    """A work of OpenAlex, of 2011 if nothing else is said."""
    return work(number, title, **{"publication_year": 2011, "publication_date": "2011-03-04", **known})


HELD = (
    Paper(id="p1", title="Tactile fruit grasping", abstract="Fingers grasp fruit.", year=2011),
    Paper(id="p2", title="Sensing slip", abstract="Tactile sensing of slip.", year=2012),
)
SCHOLARLY = (
    scholarly(
        A,
        "Tactile Fruit: Grasping!",
        externalIds={"DOI": "10.1000/A", "ArXiv": "1103.00001"},
        citationCount=3,
    ),
    scholarly(B, "Tactile fruit sorting", externalIds={"DOI": "10.1000/B"}),
    scholarly(C, "Tactile fruit of next year", year=2015, publicationDate="2015-01-01"),
    scholarly(D, "Weighing fruit"),
)
OPEN = (
    open_work(1, "Sorting of tactile fruit", abstract="We sort fruit.", doi="https://doi.org/10.1000/b"),
    open_work(2, "Tactile fruit washing", cites=[3]),
    open_work(3, "Weighing fruit", cites=[2, 1]),
)
PREPRINTS = (entry("1103.00001", "Tactile fruit grasping", "2011-03-04"),)


@dataclass
class Services:
    """Three services, a bank, and the configs of libraries over them."""

    scholar: Scholar
    openalex: OpenAlexServer
    arxiv: ArxivServer
    bank: KnowledgeBank

    def config(self, *cascade: SourceName, **changes: Any) -> LiteratureConfig:
        """A config with these services' addresses, that tries once and has no date bound."""
        endpoints = {
            "semantic_scholar": self.scholar.url,
            "openalex": self.openalex.url,
            "arxiv": self.arxiv.url,
        }
        given: dict[str, Any] = {"retries": 0, "patience": 5.0, "endpoints": endpoints, "before": "any"}
        return LiteratureConfig(
            cascade=cascade or ("local", "semantic_scholar", "openalex"), **given | changes
        )

    @property
    def asked(self) -> list[int]:
        """How many requests Semantic Scholar, OpenAlex and arXiv have had."""
        return [len(one.requests) for one in (self.scholar, self.openalex, self.arxiv)]

    @asynccontextmanager
    async def library(
        self,
        *cascade: SourceName,
        note: Callable[[Searched], None] = lambda _: None,
        cache: Path | None = None,
        record: Path | None = None,
        bound: int | None = None,
        **changes: Any,
    ) -> AsyncGenerator[Library]:
        """A library over the cascade, by default local, Semantic Scholar, OpenAlex; without pauses between requests."""
        library = Library(
            self.config(*cascade, **changes),
            bank=self.bank,
            bound=bound,
            note=note,
            cache=cache,
            record=record,
            paces=AT_ONCE,
        )
        try:
            yield library
        finally:
            await library.close()


@contextmanager
def running() -> Generator[Services]:
    """The services, with some papers on tactile fruit; in Semantic Scholar one of them is of 2015."""
    with (
        Scholar(papers=SCHOLARLY, cites={A: [D, C], D: [B]}) as scholar,
        OpenAlexServer(papers=OPEN) as openalex,
        ArxivServer(papers=PREPRINTS) as arxiv,
        KnowledgeBank.create(":memory:", load_embedder("lexical")) as bank,
    ):
        bank.add(HELD, period="past")
        yield Services(scholar, openalex, arxiv, bank)


async def ask(
    source: Source,
    operation: Operation,
    query: str,
    limit: int | None = None,
    *,
    window: Window = ANY_TIME,
    parts: Collection[Part] = ALL,
) -> list[Paper]:
    """What a source gives for a look-up; as many papers as a library wants of such a one, if no limit is given."""
    usual = 100 if operation in ("references", "citations") else 10
    count = usual if limit is None else limit
    return await source.look_up(Request(operation, query, count, window, frozenset(parts)))


async def paper_of(source: Source, paper_id: str) -> Paper | None:
    """One paper, if the source knows it."""
    return next(iter(await ask(source, "paper", paper_id)), None)


def ids(found: Findings) -> list[str]:
    """The ids of papers found, `s2:A` for Semantic Scholar's."""
    short = {f"semantic_scholar:{letters}": f"s2:{letters[0].upper()}" for letters in (A, B, C, D)}
    return [short.get(paper.id, paper.id) for paper in found.papers]


def steps(searches: Sequence[Searched]) -> list[tuple[str, str, str, int]]:
    """Source, words, outcome and hits of each look-up."""
    return [(one.source, one.asked, one.outcome, one.hits) for one in searches]
