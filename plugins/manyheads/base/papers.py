"""Papers, their identifiers, date windows, and scientists: the data of the bank and the services."""

import datetime as dt
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal, Protocol, TypeAlias, overload

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from manyheads.base.entry_points import points
from manyheads.base.errors import CorpusError, describe

SourceName: TypeAlias = str
"""One of `OWN_SOURCES`, or of another package (entry points `SOURCES`)."""
OWN_SOURCES: tuple[SourceName, ...] = ("local", "semantic_scholar", "openalex", "arxiv", "crossref", "pubmed")
SOURCES = "manyheads.sources"
"""The group of entry points by which other packages bring sources of papers; each names its class."""


def source_names() -> tuple[SourceName, ...]:
    """All sources, those of other packages last."""
    return tuple(dict.fromkeys((*OWN_SOURCES, *points(SOURCES))))


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


class Paper(BaseModel):
    """A paper of a knowledge bank or a literature service. Unknown fields are None or empty, never made up.

    A bank masks its authors (`Scientist17`) before it stores them; a service gives their real names.

    Example:
        >>> Paper(id="p1", title="Robust retrieval", abstract="We …", year=2014).source
        'local'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """A bank's paper: its id in the corpus. A library's paper: `source:identifier`, such as `semantic_scholar:649def34f8be…`."""
    source: SourceName = "local"
    """The source; `local` is the corpus."""
    title: str
    abstract: str = ""
    year: int | None = None
    """Always present in a bank."""
    date: dt.date | None = None
    """Day of publication."""
    citations: Annotated[int | None, BeforeValidator(_count)] = None
    """None if the source's value is not a count."""
    authors: tuple[str, ...] = ()
    author_ids: tuple[str, ...] = ()
    """The authors' ids in the source, in order; empty for an author whom the source cannot identify."""
    venue: str | None = None
    keywords: tuple[str, ...] = ()
    affiliations: tuple[str, ...] = ()
    doi: str | None = None
    url: str | None = None
    retracted: bool | None = Field(default=None, exclude_if=lambda value: value is None)
    """None if not looked up, or unknown to every source; then omitted."""
    open_text: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The address of its full text, as a source gives it; None if it is not open or was not looked up, then omitted."""

    references: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The DOI, else the title or the entry of each of its references, if they were looked up; omitted if there are none."""

    @property
    def key(self) -> str:
        """Key to match papers across sources: the title's letters and digits."""
        return fold(self.title)


def year_of(year: object, date: dt.date | None) -> int | None:
    """The source's year, else that of the date; None if it is not a calendar year."""
    if type(year) is int and dt.MINYEAR <= year <= dt.MAXYEAR:
        return year
    return date.year if date else None


def fold(text: str) -> str:
    """Letters and digits only, in lower case, without accents."""
    if text.isascii():  # four times as fast
        return re.sub(r"[^a-z0-9]", "", text.lower())
    plain = unicodedata.normalize("NFKD", text).casefold()
    return re.sub(r"[^\w]|_", "", "".join(c for c in plain if not unicodedata.combining(c)))


# Identifiers of a paper: our own id, a DOI, an arXiv number, its title.

ARXIV_NUMBER = re.compile(r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})", re.ASCII)
"""`2101.00001`, or `hep-th/9901001` before April 2007; without a version."""
ARXIV_DOI = "10.48550/arxiv."
"""Prefix of arXiv's own DOIs."""
_DOI = re.compile(r"(?i:doi:|https?://(?:dx\.)?doi\.org/)?\s*(10\.\d{4,9}/\S+)", re.ASCII)
_ARXIV = re.compile(
    r"(?i:arxiv:|(?:https?://)?(?:www\.|export\.)?arxiv\.org/(?:abs|pdf|html|format)/)?"
    rf"\s*({ARXIV_NUMBER.pattern})(v\d+)?(?:\.pdf)?/?(?:[?#].*)?",
    re.ASCII,
)
"""The number and the version of a paper's name or link."""


@dataclass(frozen=True)
class Identifier:
    """An identifier without its prefix; for `own`, the identifier in its `source`."""

    kind: Literal["own", "doi", "arxiv", "title"]
    value: str
    source: SourceName | None = None

    def at(self, source: SourceName) -> str | None:
        """The identifier to query a source with; None if the source must be searched by title."""
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

    @property
    def key(self) -> str:
        """Equal for spellings of one DOI or arXiv number."""
        return f"{self.kind}:{self.value.casefold()}"

    def means(self, paper: Paper) -> bool:
        """Whether a search result has this title."""
        return self.kind == "title" and paper.key == fold(self.value) != ""


def identify(text: str) -> Identifier:
    """Parse a paper's identifier by its form; anything else is a title."""
    text = text.strip()
    if arxiv := _ARXIV.fullmatch(text):
        return Identifier("arxiv", arxiv[1])
    prefix, _, rest = text.partition(":")
    if rest.strip() == rest != "" and (prefix in OWN_SOURCES or prefix in source_names()):
        return Identifier("own", rest, prefix)
    if doi := _DOI.fullmatch(text):
        if doi[1].casefold().startswith(ARXIV_DOI):
            return Identifier("arxiv", re.sub(r"v\d+$", "", doi[1][len(ARXIV_DOI) :]))
        return Identifier("doi", doi[1])
    return Identifier("title", " ".join(text.split()))


def web_address(name: str) -> str | None:
    """Where a paper named by an arXiv number, a DOI, or a link is on the web; None for any other text.

    Example:
        >>> web_address("arXiv:2401.12345v2")
        'https://arxiv.org/pdf/2401.12345v2'
    """
    name = name.strip()
    if arxiv := _ARXIV.fullmatch(name):
        return f"https://arxiv.org/pdf/{arxiv[1]}{arxiv[2] or ''}"
    if (known := identify(name)).kind in ("arxiv", "doi"):
        return f"https://{'arxiv.org/pdf' if known.kind == 'arxiv' else 'doi.org'}/{known.value}"
    return name if re.match(r"https?://[^\s/]", name, re.I) and len(name.split()) == 1 else None


def identifiers_of(paper: Paper) -> tuple[Identifier, ...]:
    """The paper's identifiers for other sources, most reliable first."""
    number = [Identifier("arxiv", paper.id.partition(":")[2])] if paper.source == "arxiv" else []
    doi = [identify(paper.doi)] if paper.doi else []
    return (*number, *doi, Identifier("title", paper.title))


# Dates.


@dataclass(frozen=True)
class Window:
    """Publication dates, half open: `after` ≤ date < `before`; None leaves an end open."""

    after: dt.date | None = None
    before: dt.date | None = None

    @property
    def last(self) -> dt.date | None:
        """The last day, for services whose bounds include both ends."""
        return self.before and self.before - dt.timedelta(days=1)

    @property
    def is_empty(self) -> bool:
        return self.before is not None and self.before <= (self.after or dt.date.min)

    def holds(self, paper: Paper) -> bool:
        """Whether a paper surely lies in the window. With a year alone, the whole year must; an undated paper does not."""
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


# Scientists of the knowledge bank (VirSci 2025, §3.1).


Period = Literal["past", "contemporary"]


class Scientist(BaseModel):
    """A digital twin's profile in the author knowledge bank. `name` is the masked `Scientist{n}`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    affiliations: tuple[str, ...] = ()
    interests: tuple[str, ...] = ()
    papers: int = 0
    citations: int | None = None
    """None if the corpus has no citation counts for the papers."""
    collaborators: dict[str, int] = Field(default_factory=dict)
    """Masked name of each past co-author in S, with the number of papers written together (row of A)."""

    def closest(self, count: int) -> list[str]:
        """The `count` collaborators with the most joint papers; ties by lower number."""
        together = self.collaborators
        return sorted(together, key=lambda name: (-together[name], len(name), name))[:count]


class People(Sequence[Scientist]):
    """Scientists in order, each as its line of JSON until it is looked at: of a large ecosystem most are not.

    One that waits takes some 700 bytes, a `Scientist` 3 kB.

    Args:
        rows: each scientist by name, or its JSON.
        source: the file of the JSON, for errors.

    Example:
        >>> People.of([Scientist(name="Scientist0")]).scientist("Scientist0").papers
        0
    """

    def __init__(self, rows: Mapping[str, bytes | Scientist], source: object = "") -> None:
        self._rows, self._source = rows, source

    @classmethod
    def of(cls, scientists: Sequence[Scientist]) -> "People":
        """The same as `People`."""
        return scientists if isinstance(scientists, cls) else cls({one.name: one for one in scientists})

    @cached_property
    def names(self) -> Sequence[str]:
        return [*self._rows]

    def scientist(self, name: str) -> Scientist:
        """One by name. Raises KeyError for an unknown name, `CorpusError` if its JSON is damaged."""
        row = self._rows[name]
        if isinstance(row, Scientist):
            return row
        try:
            return Scientist.model_validate_json(row)
        except ValidationError as wrong:
            hint = "build the corpus again"
            raise CorpusError(f"{self._source}: {name}: {describe(wrong)}", hint=hint) from wrong

    def changed(self, by: Mapping[str, Scientist]) -> "People":
        """The same with others, or with more."""
        return People({**self._rows, **by}, self._source)

    def only(self, names: Iterable[str]) -> "People":
        """Some of them."""
        return People({name: self._rows[name] for name in names}, self._source)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Scientist: ...
    @overload
    def __getitem__(self, place: slice) -> list[Scientist]: ...
    def __getitem__(self, place: int | slice) -> Scientist | list[Scientist]:
        if isinstance(place, slice):
            return [*map(self.scientist, self.names[place])]
        return self.scientist(self.names[place])


def profile_text(scientist: Scientist) -> str:
    """The text of a scientist that the author knowledge bank embeds."""
    parts = (", ".join(scientist.interests), "; ".join(scientist.affiliations))
    return ". ".join(filter(None, parts)) or scientist.name


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved paper with its cosine similarity to the query (-1…1)."""

    paper: Paper
    score: float
    channels: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    """Name and reason of each retrieval strategy that found it, for look-ups with several."""


class Literature(Protocol):
    """What a system reads from a research ecosystem; implemented by `bank.ecosystem.Ecosystem`."""

    @property
    def scientists(self) -> Sequence[Scientist]:
        """S, the available scientists."""
        ...

    def scientist(self, name: str) -> Scientist:
        """One profile; raises `CorpusError` for a name that is not in S."""
        ...

    def works(self, name: str, k: int) -> list[Paper]:
        """A scientist's `k` most cited papers in B_past."""
        ...

    @property
    def last_year(self) -> int | None:
        """The last year of B_past; None if unbounded."""
        ...

    def hot(self, k: int) -> list[Paper]:
        """The `k` papers that gained most citations in the last epoch of a society, most first; none outside of one."""
        ...

    async def past(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """B_past(q) for each query: its `k` nearest papers, best first."""
        ...

    async def find_scientists(self, query: str, k: int, *, exclude: Collection[str] = ()) -> list[Scientist]:
        """The `k` scientists with the most similar profiles, best first."""
        ...

    async def unread(self, queries: Sequence[str]) -> Sequence[int | None]:
        """Tokens by which each query exceeds the embedding model's limit; None if the model has no stated limit."""
        ...

    def expect(self, *queries: str) -> None:
        """Announce upcoming queries, so that they can be prepared in the meantime."""
        ...


class NoLiterature:
    """The empty ecosystem, for a system that needs none."""

    @property
    def scientists(self) -> list[Scientist]:
        return []

    def scientist(self, name: str) -> Scientist:
        """Raises `CorpusError`: there are no scientists."""
        raise CorpusError(f"{name!r}: no such scientist: this run has no corpus")

    def works(self, name: str, k: int) -> list[Paper]:
        return []

    @property
    def last_year(self) -> None:
        return None

    def hot(self, k: int) -> list[Paper]:
        return []

    async def past(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [[] for _ in queries]

    async def find_scientists(self, query: str, k: int, *, exclude: Collection[str] = ()) -> list[Scientist]:
        return []

    async def unread(self, queries: Sequence[str]) -> Sequence[int | None]:
        return [None] * len(queries)

    def expect(self, *queries: str) -> None:
        """No-op."""
