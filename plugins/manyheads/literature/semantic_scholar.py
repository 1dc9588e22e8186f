"""Semantic Scholar: its Academic Graph and its Recommendations, through the semanticscholar package."""

import datetime as dt
import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar, cast
from urllib.parse import parse_qsl, quote

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

from manyheads.config import SourceName
from manyheads.errors import LiteratureError
from manyheads.limiter import Pace
from manyheads.literature.service import MISSING, Service, parsed
from manyheads.literature.source import ALL, Part
from manyheads.papers import ANY_TIME, Author, Publication, Window, year_of
from manyheads.retry import RefusedError

if TYPE_CHECKING:
    import httpx
    from semanticscholar import AsyncSemanticScholar
    from semanticscholar.PaginatedResults import PaginatedResults


# Semantic Scholar's answers: their shapes, checked, and what we take of them (api.semanticscholar.org/api-docs).


T = TypeVar("T")

_FIELDS: dict[Part, str] = {
    "abstract": "abstract",
    "authors": "authors",
    "venue": "venue",
    "citations": "citationCount",
    "date": "publicationDate",
    "doi": "externalIds",
    "url": "url",
}
PERSON_FIELDS = ["name", "affiliations", "paperCount", "citationCount"]


class _Answer(BaseModel):
    """Fields are null or left out where Semantic Scholar does not know them, or may not tell."""

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore")


class PersonRecord(_Answer):
    author_id: str | None
    name: str | None = None
    affiliations: list[str] | None = None
    paper_count: int | None = None
    citation_count: int | None = None


class NamedRecord(_Answer):
    name: str | None = None
    author_id: str | None = None


class PaperRecord(_Answer):
    paper_id: str | None
    """Null for works that are cited but not held."""
    title: str | None = None
    abstract: str | None = None
    year: int | None = None
    publication_date: dt.date | None = None
    citation_count: int | None = None
    venue: str | None = None
    authors: list[NamedRecord] | None = None
    external_ids: dict[str, str | int | None] | None = None
    url: str | None = None


class CitedRecord(_Answer):
    cited_paper: PaperRecord


class CitingRecord(_Answer):
    citing_paper: PaperRecord


class Page(_Answer, Generic[T]):
    """One page of a list. Its data is left out when nothing matches, and null when publishers withhold it."""

    total: int | None = None
    offset: int = 0
    next: int | None = None
    data: list[T] | None = None

    @model_validator(mode="after")
    def _explained(self) -> Self:
        if self.data is None and self.total == 0:
            self.data = []
        if "data" not in self.model_fields_set:
            raise ValueError("neither data nor a total of 0")
        return self


class Recommended(_Answer):
    recommended_papers: list[PaperRecord]


def fields(parts: Collection[Part], window: Window) -> list[str]:
    """What to ask for, in a fixed order; the date too where a window has to be checked."""
    wanted = {*parts, "date"} if window.after or window.before else {*parts}
    return ["paperId", "title", "year", *(field for part, field in _FIELDS.items() if part in wanted)]


def publication(record: PaperRecord) -> Publication | None:
    """None for a record without id or title, which could neither be looked up nor shown."""
    title = " ".join((record.title or "").split())
    if not (record.paper_id and title):
        return None
    doi = (record.external_ids or {}).get("DOI")
    people = [person for person in record.authors or () if person.name]
    return Publication(
        id=_own(record.paper_id),
        source="semantic_scholar",
        title=title,
        abstract=(record.abstract or "").strip(),
        year=year_of(record.year, record.publication_date),
        date=record.publication_date,
        citations=record.citation_count,
        authors=tuple(person.name or "" for person in people),
        author_ids=tuple(_own(person.author_id) if person.author_id else "" for person in people),
        venue=record.venue or None,
        doi=str(doi) if doi else None,
        url=record.url or None,
    )


def author(record: PersonRecord) -> Author | None:
    """None for a record without id or name."""
    if not (record.author_id and record.name):
        return None
    return Author(
        id=_own(record.author_id),
        source="semantic_scholar",
        name=record.name,
        affiliations=tuple(filter(None, record.affiliations or ())),
        papers=record.paper_count,
        citations=record.citation_count,
    )


def _own(identifier: str) -> str:
    return f"semantic_scholar:{identifier}"


# What the semanticscholar package sends with, in the place of its own requester.
#
# That one opens a connection for every request, forgets Retry-After, sends no key for references and citations, and gives
# `{}` for statuses that it does not know: a service that is down would read as one that knows nothing.


_BAD_REQUEST = 400


class AbsentError(Exception):
    """Semantic Scholar was asked for a paper by id and has none."""


class CheckedRequester:
    """Of one look-up. An answer is what its shape says, or an error.

    Args:
        service: sends.
        shape: the model of the answers.
        what: is looked up, for messages.
        until: the look-up's deadline, of `Service.deadline`.
    """

    def __init__(self, service: Service, shape: type[BaseModel], what: str, until: float) -> None:
        self._service, self._shape, self._what, self._until = service, shape, what, until

    async def get_data_async(
        self, url: str, parameters: str, headers: object, payload: object = None
    ) -> dict[str, Any]:
        """What the package calls, for each page.

        Raises:
            AbsentError: the service has no paper of that id.
            LiteratureError: the service refuses, cannot be reached, answers nonsense, or takes too long.
        """
        params = dict(parse_qsl(parameters.lstrip("&"), keep_blank_values=True))
        try:
            return await self._service.get(url, params, self._read, self._what, until=self._until)
        except LiteratureError as error:
            if _is_absence(error.__cause__):
                raise AbsentError from error
            if params.get("offset", "0") != "0" and _is_end(error.__cause__):
                return {"data": []}
            raise

    def _read(self, response: "httpx.Response") -> dict[str, Any]:
        data = parsed(self._shape, response).model_dump(mode="json", by_alias=True)
        if "data" in data and data["data"] is None:
            self._withheld()
        return data

    def _withheld(self) -> NoReturn:
        source = self._service.name
        raise LiteratureError(
            f"{source}: {self._what}: withheld by the publisher",
            source=source,
            hint="ask another source: literature.cascade",
        )


def _is_absence(cause: BaseException | None) -> bool:
    """Whether the service says that it has no such paper; a 404 of anybody else's tells of a wrong address."""
    return _told(cause, MISSING, " with id ", "not found")


def _is_end(cause: BaseException | None) -> bool:
    """Whether the service says that its pages end here: it counts matches that it does not give."""
    return _told(cause, _BAD_REQUEST, "Requested data", "is not available")


def _told(cause: BaseException | None, status: int, *words: str) -> bool:
    match cause:
        case RefusedError():
            return cause.status == status and all(word in cause.text for word in words)
        case _:
            return False


ADDRESS = "https://api.semanticscholar.org"
WITH_KEY = Pace(1.0)
"""A key grants one request a second, over all endpoints together."""
SHARED_POOL = Pace(3.0)
"""Without a key everybody shares one pool; a hundred requests in five minutes was each address' share of it."""

_SEARCH_PAGE, _SEARCH_MOST = 100, 1000
_LINKS_PAGE, _LINKS_MOST = 1000, 9999
_PEOPLE_MOST = 1000
_RECOMMENDED_MOST = 500
"""The service's limits: results a page, and how far pages go."""

_KINDS = {kind.casefold(): kind for kind in ("DOI", "ARXIV", "CorpusId", "MAG", "ACL", "PMID", "PMCID")}
_OWN_ID = re.compile(r"[0-9a-f]{40}")
_HYPHENS = re.compile(r"[-‐‑‒–—]")

Read = Callable[[dict[str, Any]], Publication | None]
"""From a record as it came to a paper."""


class SemanticScholar:
    """Papers and people of Semantic Scholar.

    Papers are taken by the 40 digits of its own ids and by `DOI:…`, `ARXIV:…`, `CorpusId:…`, `MAG:…`, `ACL:…`, `PMID:…` and
    `PMCID:…`. A search gives a thousand papers at most, references and citations 9,999, recommendations 500.
    Works that are cited but not held (they have no id) are left out.

    Args:
        service: sends the requests, to Semantic Scholar or a mirror.
        key: sent in the header `x-api-key`.

    Raises:
        LiteratureError: the key is none that a header could hold.
    """

    name: SourceName = "semantic_scholar"

    def __init__(self, service: Service, *, key: str | None = None) -> None:
        if key and not (key.isascii() and key.isprintable()):
            raise LiteratureError(
                f"{self.name}: the key in {service.key_env} has letters that no key has",
                source=self.name,
                hint=f"export {service.key_env}=… anew, on one line",
            )
        self._service = replace(service, headers={"x-api-key": key} if key else {})

    async def search(
        self, query: str, limit: int = 10, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Publication]:
        """Papers by the service's relevance."""
        words = " ".join(_HYPHENS.sub(" ", query).split())  # the service finds nothing for hyphenated words
        if limit < 1 or not words or _is_empty(window):
            return []
        size = min(limit, _SEARCH_PAGE)
        first = self._asking(Page[PaperRecord], "search").search_paper(
            _escaped(words),
            fields=fields(parts, window),
            publication_date_or_year=_range(window),
            limit=size,
        )
        first = cast("Awaitable[PaginatedResults]", first)  # it would be one paper for `match_title` alone
        return await _listed(first, _paper, limit, size, _SEARCH_MOST, window)

    async def paper(self, paper_id: str, *, parts: Collection[Part] = ALL) -> Publication | None:
        """One paper."""
        if (path := _path(paper_id)) is None:
            return None
        try:
            found = await self._asking(PaperRecord, f"paper {paper_id}").get_paper(
                path, fields(parts, ANY_TIME)
            )
        except AbsentError:
            return None
        return _paper(found.raw_data)

    async def references(
        self, paper_id: str, limit: int = 100, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Publication]:
        """What a paper cites; the service takes no date bounds here, so what lies outside is read and left out."""
        asking = self._asking(Page[CitedRecord], f"references of {paper_id}")
        return await _linked(asking.get_paper_references, _cited, paper_id, limit, window, parts)

    async def citations(
        self, paper_id: str, limit: int = 100, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Publication]:
        """What cites a paper; as with references, what lies outside the window is read and left out."""
        asking = self._asking(Page[CitingRecord], f"citations of {paper_id}")
        return await _linked(asking.get_paper_citations, _citing, paper_id, limit, window, parts)

    async def recommendations(
        self, paper_id: str, limit: int = 10, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Publication]:
        """Papers like one paper: recent ones, or with date bounds those of all computer science inside them."""
        if (path := _path(paper_id)) is None or limit < 1 or _is_empty(window):
            return []
        asking = self._asking(Recommended, f"recommendations for {paper_id}")
        bounded = window != ANY_TIME
        try:
            found = await asking.get_recommended_papers(
                path,
                fields(parts, window),
                _RECOMMENDED_MOST if bounded else min(limit, _RECOMMENDED_MOST),
                "all-cs" if bounded else "recent",
            )
        except AbsentError:
            return []
        papers = filter(None, (_paper(paper.raw_data) for paper in found))
        return [paper for paper in papers if window.holds(paper)][:limit]

    async def authors(self, query: str, limit: int = 10) -> list[Author]:
        """People by name; the service's limit is a thousand."""
        words = " ".join(query.split())
        if limit < 1 or not words:
            return []
        size = min(limit, _PEOPLE_MOST)
        asking = self._asking(Page[PersonRecord], "authors")
        results = await asking.search_author(_escaped(words), PERSON_FIELDS, size)
        people = (author(PersonRecord.model_validate(person)) for person in results.raw_data)
        return [person for person in people if person]

    async def close(self) -> None:
        """Close the connections."""
        await self._service.close()

    def _asking(self, shape: type[BaseModel], what: str) -> "AsyncSemanticScholar":
        """The package's client for one look-up, with its whole patience before it."""
        from semanticscholar import AsyncSemanticScholar

        client = AsyncSemanticScholar(api_url=self._service.address.rstrip("/"), retry=False)
        until = self._service.deadline()
        vars(client)["_requester"] = CheckedRequester(self._service, shape, what, until)
        return client


async def _linked(
    ask: Callable[[str, list[str], int], Awaitable["PaginatedResults"]],
    read: Read,
    paper_id: str,
    limit: int,
    window: Window,
    parts: Collection[Part],
) -> list[Publication]:
    """Papers on the other side of a citation; none of a paper that the service does not know."""
    if (path := _path(paper_id)) is None or limit < 1 or _is_empty(window):
        return []
    size = _LINKS_PAGE if window != ANY_TIME else min(limit, _LINKS_PAGE)
    try:
        return await _listed(ask(path, fields(parts, window), size), read, limit, size, _LINKS_MOST, window)
    except AbsentError:
        return []


async def _listed(
    first: Awaitable["PaginatedResults"], read: Read, limit: int, size: int, most: int, window: Window
) -> list[Publication]:
    """The first `limit` papers inside the window, each once, over as many pages of `size` as it takes."""
    results = await first
    found: dict[str, Publication] = {}
    while True:
        for paper in map(read, results.raw_data):
            if paper and window.holds(paper):
                found.setdefault(paper.id, paper)
        # a page that is short of its size is the last, whatever `next` says: asking on would be refused
        goes_on = results.next == results.offset + size and results.next + size <= most
        if len(found) >= limit or not goes_on:
            return list(found.values())[:limit]
        await results.async_next_page()


def _paper(raw: dict[str, Any]) -> Publication | None:
    return publication(PaperRecord.model_validate(raw))


def _cited(raw: dict[str, Any]) -> Publication | None:
    return publication(CitedRecord.model_validate(raw).cited_paper)


def _citing(raw: dict[str, Any]) -> Publication | None:
    return publication(CitingRecord.model_validate(raw).citing_paper)


def _path(paper_id: str) -> str | None:
    """An id as it stands in an address; None for what is none of the service's kinds of ids."""
    kind, colon, rest = paper_id.strip().partition(":")
    if not colon:
        return kind if _OWN_ID.fullmatch(kind) else None
    known = _KINDS.get(kind.casefold())
    if known is None or {"", ".", ".."} & {*rest.split("/")}:
        return None
    return f"{known}:{quote(rest, safe='/', errors='replace')}"


def _escaped(words: str) -> str:
    return quote(words, safe="", errors="replace")


def _range(window: Window) -> str:
    """Days in the service's form, `first:last`, both included; empty for all."""
    if window == ANY_TIME:
        return ""
    last = window.before - dt.timedelta(days=1) if window.before else ""
    return f"{window.after or ''}:{last}"


def _is_empty(window: Window) -> bool:
    """Whether no day at all lies inside."""
    return window.before is not None and window.before <= (window.after or dt.date.min)
