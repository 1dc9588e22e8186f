"""Papers, how they are named, the dates between which they are looked for, and scientists: what the bank and the services give."""

import datetime as dt
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Protocol, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from manyheads.errors import CorpusError

SourceName = Literal["local", "semantic_scholar", "openalex", "arxiv"]


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


class Paper(BaseModel):
    """A paper of a knowledge bank or of a literature service. What is not known of it is None or empty, never made up.

    A bank masks its authors (`Scientist17`) before it keeps them; those of a service stand under their own names.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """In a bank its id in the corpus; of a library `source:identifier`, such as `semantic_scholar:649def34f8be…`."""
    source: SourceName = "local"
    """Where it was found; `local` is the corpus."""
    title: str
    abstract: str = ""
    year: int | None = None
    """Every paper of a bank has one."""
    date: dt.date | None = None
    """Day of publication."""
    citations: Annotated[int | None, BeforeValidator(_count)] = None
    """None too for what is no count."""
    authors: tuple[str, ...] = ()
    author_ids: tuple[str, ...] = ()
    """Beside the authors, their ids in the source; empty for one whom the source does not tell from namesakes."""
    venue: str | None = None
    keywords: tuple[str, ...] = ()
    affiliations: tuple[str, ...] = ()
    doi: str | None = None
    url: str | None = None
    retracted: bool | None = Field(default=None, exclude_if=lambda value: value is None)
    """None where nobody has asked, or no source tells; left out then."""

    @property
    def key(self) -> str:
        """The same for a paper of two sources: its title's letters and digits."""
        return fold(self.title)


def year_of(year: object, date: dt.date | None) -> int | None:
    """The year that a source tells, else that of the date; None for what is no year of our calendar."""
    if type(year) is int and dt.MINYEAR <= year <= dt.MAXYEAR:
        return year
    return date.year if date else None


def fold(text: str) -> str:
    """Letters and digits alone, in lower case, accents dropped."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return re.sub(r"[^\w]|_", "", "".join(c for c in plain if not unicodedata.combining(c)))


# The ways to name a paper: an id of ours, a DOI, an arXiv number, its title.

ARXIV_NUMBER = re.compile(r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})", re.ASCII)
"""`2101.00001`, or `hep-th/9901001` of before April 2007; without a version."""
ARXIV_DOI = "10.48550/arxiv."
"""With which the DOIs begin that are arXiv's own."""
_DOI = re.compile(r"(?i:doi:|https?://(?:dx\.)?doi\.org/)?\s*(10\.\d{4,9}/\S+)", re.ASCII)
_ARXIV = re.compile(
    rf"(?i:arxiv:|(?:https?://)?arxiv\.org/(?:abs|pdf|html)/)?\s*({ARXIV_NUMBER.pattern})(?:v\d+)?(?:\.pdf)?",
    re.ASCII,
)


@dataclass(frozen=True)
class Identifier:
    """A paper's name without its prefix; an `own` one is the identifier of its `source`."""

    kind: Literal["own", "doi", "arxiv", "title"]
    value: str
    source: SourceName | None = None

    def at(self, source: SourceName) -> str | None:
        """What the source's `paper` is asked for; None where it must be searched for by its title."""
        match self.kind:
            case "own":
                return self.value if source == self.source else None
            case "doi" | "arxiv" if source == "local":
                return None
            case "arxiv":
                return self.value if source == "arxiv" else f"ARXIV:{self.value}"
            case "doi":
                return f"DOI:{self.value}"
            case "title":
                return None

    def means(self, paper: Paper) -> bool:
        """Whether a paper found bears this title."""
        return self.kind == "title" and paper.key == fold(self.value) != ""


def identify(text: str) -> Identifier:
    """How a paper is named, told by its form; what is nothing else is a title."""
    text = text.strip()
    if arxiv := _ARXIV.fullmatch(text):
        return Identifier("arxiv", arxiv[1])
    prefix, _, rest = text.partition(":")
    for source in get_args(SourceName):
        if prefix == source and rest.strip() == rest != "":
            return Identifier("own", rest, source)
    if doi := _DOI.fullmatch(text):
        if doi[1].casefold().startswith(ARXIV_DOI):
            return Identifier("arxiv", re.sub(r"v\d+$", "", doi[1][len(ARXIV_DOI) :]))
        return Identifier("doi", doi[1])
    return Identifier("title", " ".join(text.split()))


def identifiers_of(paper: Paper) -> tuple[Identifier, ...]:
    """The names by which other sources may know a paper, surest first."""
    number = [Identifier("arxiv", paper.id.partition(":")[2])] if paper.source == "arxiv" else []
    doi = [identify(paper.doi)] if paper.doi else []
    return (*number, *doi, Identifier("title", paper.title))


# Dates.


@dataclass(frozen=True)
class Window:
    """Dates of publication, half open: `after` ≤ date < `before`; None leaves an end open."""

    after: dt.date | None = None
    before: dt.date | None = None

    def holds(self, paper: Paper) -> bool:
        """Whether a paper surely lies inside: of one with a year alone, the whole year must; undated ones do not."""
        if self.after is None and self.before is None:
            return True
        if paper.date is None and paper.year is None:
            return False
        year = paper.year or 1
        first, last = (paper.date, paper.date) if paper.date else (dt.date(year, 1, 1), dt.date(year, 12, 31))
        return (self.after is None or first >= self.after) and (self.before is None or last < self.before)

    def __str__(self) -> str:
        parts = [f"from {self.after}" if self.after else "", f"before {self.before}" if self.before else ""]
        return ", ".join(filter(None, parts))


ANY_TIME = Window()


# Scientists as the knowledge bank keeps them (VirSci 2025, §3.1).


Period = Literal["past", "contemporary"]


class Scientist(BaseModel):
    """A digital twin's profile in the author knowledge bank. `name` is the masked `Scientist{n}`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    affiliations: tuple[str, ...] = ()
    interests: tuple[str, ...] = ()
    papers: int = 0
    citations: int | None = None
    """None where the corpus knows of none of the papers how often it is cited."""
    collaborators: dict[str, int] = Field(default_factory=dict)
    """Masked name of each past co-author in S, with the number of papers written together (row of A)."""

    def closest(self, count: int) -> list[str]:
        """The `count` collaborators with the most papers written together; among equals, lower numbers first."""
        together = self.collaborators
        return sorted(together, key=lambda name: (-together[name], len(name), name))[:count]


@dataclass(frozen=True, slots=True)
class Hit:
    """A paper found, with its cosine similarity to the query (-1…1)."""

    paper: Paper
    score: float
    channels: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    """Name and reason of each way in which it was found, where a look-up has several."""


class Literature(Protocol):
    """What a system reads of a research ecosystem; `bank.ecosystem.Ecosystem` is one."""

    @property
    def scientists(self) -> list[Scientist]:
        """S, the scientists that can be asked."""
        ...

    def scientist(self, name: str) -> Scientist:
        """One profile; raises `CorpusError` for a name that is not in S."""
        ...

    def works(self, name: str, k: int) -> list[Paper]:
        """The `k` papers of B_past by a scientist that are cited most."""
        ...

    @property
    def last_year(self) -> int | None:
        """The last year of B_past; None where nothing bounds it."""
        ...

    async def past(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """B_past(q) for each query: its `k` nearest papers, best first."""
        ...

    async def find_scientists(self, query: str, k: int, *, exclude: Collection[str] = ()) -> list[Scientist]:
        """The `k` scientists whose profiles are nearest to a query, best first."""
        ...

    async def unread(self, queries: Sequence[str]) -> Sequence[int | None]:
        """Tokens of each query beyond those that the embedding model reads at once; None where it does not say."""
        ...

    def expect(self, *queries: str) -> None:
        """Queries that will be looked up soon; what they need may be made ready meanwhile."""
        ...


class NoLiterature:
    """The ecosystem of a system that needs none: nobody in it, nothing to find."""

    @property
    def scientists(self) -> list[Scientist]:
        return []

    def scientist(self, name: str) -> Scientist:
        """Nobody is there; raises `CorpusError`."""
        raise CorpusError(f"{name!r}: no such scientist: this run has no corpus")

    def works(self, name: str, k: int) -> list[Paper]:
        return []

    @property
    def last_year(self) -> None:
        return None

    async def past(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [[] for _ in queries]

    async def find_scientists(self, query: str, k: int, *, exclude: Collection[str] = ()) -> list[Scientist]:
        return []

    async def unread(self, queries: Sequence[str]) -> Sequence[int | None]:
        return [None] * len(queries)

    def expect(self, *queries: str) -> None:
        """Nothing is looked up here."""
