"""Semantic Scholar: its Academic Graph and its Recommendations, through the semanticscholar package."""

import datetime as dt
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import parse_qsl, quote

from pydantic import BaseModel, ConfigDict, field_validator, model_validator
from pydantic.alias_generators import to_camel

from manyheads.config import SourceName
from manyheads.errors import LiteratureError
from manyheads.literature.source import ALL, Part, Service, Source, parse
from manyheads.papers import ANY_TIME, Paper, Window, year_of
from manyheads.retry import Pace, RefusedError

if TYPE_CHECKING:
    import httpx
    from semanticscholar import AsyncSemanticScholar
    from semanticscholar.PaginatedResults import PaginatedResults

ADDRESS = "https://api.semanticscholar.org"
WITH_KEY = Pace(1.0)
"""A key grants one request a second, over all endpoints together."""
SHARED_POOL = Pace(3.0)
"""Without a key everybody shares one pool; a hundred requests in five minutes was each address' share of it."""

_SEARCH_PAGE, _SEARCH_MOST = 100, 1000
_LINKS_PAGE, _LINKS_MOST = 1000, 9999
_RECOMMENDED_MOST = 500
"""The service's limits: results a page, and how far pages go."""
_FIELDS: dict[Part, str] = {
    "abstract": "abstract",
    "authors": "authors",
    "venue": "venue",
    "citations": "citationCount",
    "date": "publicationDate",
    "doi": "externalIds",
    "url": "url",
}
_KINDS = {kind.casefold(): kind for kind in ("DOI", "ARXIV", "CorpusId", "MAG", "ACL", "PMID", "PMCID")}
_OWN_ID = re.compile(r"[0-9a-f]{40}")
_HYPHENS = re.compile(r"[-‐‑‒–—]")


# The service's answers (api.semanticscholar.org/api-docs): null or left out is what it does not know, or may not tell.


class _Record(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="ignore")


class _Person(_Record):
    name: str | None = None
    author_id: str | None = None


class _Paper(_Record):
    paper_id: str | None
    """Null for works that are cited but not held."""
    title: str | None = None
    abstract: str | None = None
    year: int | None = None
    publication_date: dt.date | None = None
    citation_count: int | None = None
    venue: str | None = None
    authors: list[_Person] | None = None
    external_ids: dict[str, str | int | None] | None = None
    url: str | None = None

    def paper(self) -> Paper | None:
        """None for a record without id or title, which could neither be looked up nor shown."""
        title = " ".join((self.title or "").split())
        if not (self.paper_id and title):
            return None
        doi = (self.external_ids or {}).get("DOI")
        people = [person for person in self.authors or () if person.name]
        return Paper(
            id=f"semantic_scholar:{self.paper_id}",
            source="semantic_scholar",
            title=title,
            abstract=(self.abstract or "").strip(),
            year=year_of(self.year, self.publication_date),
            date=self.publication_date,
            citations=self.citation_count,
            authors=tuple(person.name or "" for person in people),
            author_ids=tuple(
                f"semantic_scholar:{person.author_id}" if person.author_id else "" for person in people
            ),
            venue=self.venue or None,
            doi=str(doi) if doi else None,
            url=self.url or None,
        )


class _Page(_Record):
    """One page of a list. Its data is left out when nothing matches, and null when publishers withhold it."""

    total: int | None = None
    offset: int = 0
    next: int | None = None
    data: list[_Paper] | None = None

    @field_validator("data", mode="before")
    @classmethod
    def _at_the_other_end(cls, value: Any) -> Any:
        """References and citations come with the paper inside of what is said of the citation."""
        if not isinstance(value, list):
            return value
        listed: list[Any] = value
        return [
            one.get("citedPaper", one.get("citingPaper", one)) if isinstance(one, Mapping) else one
            for one in listed
        ]

    @model_validator(mode="after")
    def _explained(self) -> Self:
        if self.data is None and self.total == 0:
            self.data = []
        if "data" not in self.model_fields_set:
            raise ValueError("neither data nor a total of 0")
        return self


class _Recommended(_Record):
    recommended_papers: list[_Paper]


class AbsentError(Exception):
    """Semantic Scholar was asked for a paper by id and has none."""


class _Requester:
    """What the package sends with during one look-up, in the place of its own requester.

    That one opens a connection for every request, forgets Retry-After, sends no key for references and citations, and gives
    `{}` for statuses that it does not know: a service that is down would read as one that knows nothing. Here an answer is
    what its shape says, or an error. The records, validated once, stay in `papers`; the package sees how pages go on.
    """

    def __init__(self, service: Service, shape: type[BaseModel], what: str) -> None:
        self._service, self._shape, self._what, self._until = service, shape, what, service.deadline()
        self.papers: list[Paper] = []
        """Of the last answer."""

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
            match error.__cause__:
                # a 404 of anybody else's tells of a wrong address
                case RefusedError(status=404, text=text) if " with id " in text and "not found" in text:
                    raise AbsentError from error
                # the service counts matches that it does not give
                case RefusedError(status=400, text=text) if (
                    params.get("offset", "0") != "0"
                    and "Requested data" in text
                    and "is not available" in text
                ):
                    self.papers = []
                    return {"data": []}
                case _:
                    raise

    def _read(self, response: "httpx.Response") -> dict[str, Any]:
        answer = parse(self._shape, response)
        paging: dict[str, Any] = {"recommendedPapers": []}
        match answer:
            case _Page(data=None):
                raise LiteratureError(
                    f"{self._service.name}: {self._what}: withheld by the publisher",
                    source=self._service.name,
                    hint="ask another source: literature.cascade",
                )
            case _Page(data=list(records)):
                paging = {"data": [], "offset": answer.offset, "next": answer.next}
            case _Recommended():
                records = answer.recommended_papers
            case _:
                records = [cast(_Paper, answer)]
        self.papers = [paper for record in records if (paper := record.paper())]
        return paging


class SemanticScholar(Source):
    """Papers of Semantic Scholar.

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
    ) -> list[Paper]:
        """Papers by the service's relevance."""
        words = " ".join(_HYPHENS.sub(" ", query).split())  # the service finds nothing for hyphenated words
        if limit < 1 or not words or _is_empty(window):
            return []
        size = min(limit, _SEARCH_PAGE)
        client, requester = self._client(_Page, "search")
        first = client.search_paper(
            quote(words, safe="", errors="replace"),
            fields=_fields(parts, window),
            publication_date_or_year=_range(window),
            limit=size,
        )
        first = cast("Awaitable[PaginatedResults]", first)  # it would be one paper for `match_title` alone
        return await _pages(first, requester, limit, size, _SEARCH_MOST, window)

    async def paper(self, paper_id: str, *, parts: Collection[Part] = ALL) -> Paper | None:
        """One paper."""
        if (path := _path(paper_id)) is None:
            return None
        client, requester = self._client(_Paper, f"paper {paper_id}")
        try:
            await client.get_paper(path, _fields(parts, ANY_TIME))
        except AbsentError:
            return None
        return next(iter(requester.papers), None)

    async def references(
        self, paper_id: str, limit: int = 100, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """What a paper cites; the service takes no date bounds here, so what lies outside is read and left out."""
        client, requester = self._client(_Page, f"references of {paper_id}")
        return await _links(client.get_paper_references, requester, paper_id, limit, window, parts)

    async def citations(
        self, paper_id: str, limit: int = 100, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """What cites a paper; as with references, what lies outside the window is read and left out."""
        client, requester = self._client(_Page, f"citations of {paper_id}")
        return await _links(client.get_paper_citations, requester, paper_id, limit, window, parts)

    async def recommendations(
        self, paper_id: str, limit: int = 10, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """Papers like one paper: recent ones, or with date bounds those of all computer science inside them."""
        if (path := _path(paper_id)) is None or limit < 1 or _is_empty(window):
            return []
        client, requester = self._client(_Recommended, f"recommendations for {paper_id}")
        bounded = window != ANY_TIME
        size = _RECOMMENDED_MOST if bounded else min(limit, _RECOMMENDED_MOST)
        try:
            await client.get_recommended_papers(
                path, _fields(parts, window), size, "all-cs" if bounded else "recent"
            )
        except AbsentError:
            return []
        return [paper for paper in requester.papers if window.holds(paper)][:limit]

    async def close(self) -> None:
        """Close the connections."""
        await self._service.close()

    def _client(self, shape: type[BaseModel], what: str) -> "tuple[AsyncSemanticScholar, _Requester]":
        """The package's client for one look-up, with its whole patience before it, and what it sends with."""
        from semanticscholar import AsyncSemanticScholar

        client = AsyncSemanticScholar(api_url=self._service.address.rstrip("/"), retry=False)
        requester = vars(client)["_requester"] = _Requester(self._service, shape, what)
        return client, requester


async def _links(
    ask: Callable[[str, list[str], int], Awaitable["PaginatedResults"]],
    requester: _Requester,
    paper_id: str,
    limit: int,
    window: Window,
    parts: Collection[Part],
) -> list[Paper]:
    """Papers on the other side of a citation; none of a paper that the service does not know."""
    if (path := _path(paper_id)) is None or limit < 1 or _is_empty(window):
        return []
    size = _LINKS_PAGE if window != ANY_TIME else min(limit, _LINKS_PAGE)
    try:
        first = ask(path, _fields(parts, window), size)
        return await _pages(first, requester, limit, size, _LINKS_MOST, window)
    except AbsentError:
        return []


async def _pages(
    first: Awaitable["PaginatedResults"],
    requester: _Requester,
    limit: int,
    size: int,
    most: int,
    window: Window,
) -> list[Paper]:
    """The first `limit` papers inside the window, each once, over as many pages of `size` as it takes."""
    results = await first
    found: dict[str, Paper] = {}
    while True:
        for paper in requester.papers:
            if window.holds(paper):
                found.setdefault(paper.id, paper)
        # a page that is short of its size is the last, whatever `next` says: asking on would be refused
        goes_on = results.next == results.offset + size and results.next + size <= most
        if len(found) >= limit or not goes_on:
            return list(found.values())[:limit]
        await results.async_next_page()


def _fields(parts: Collection[Part], window: Window) -> list[str]:
    """What to ask for, in a fixed order; the date too where a window has to be checked."""
    wanted = {*parts, "date"} if window.after or window.before else {*parts}
    return ["paperId", "title", "year", *(field for part, field in _FIELDS.items() if part in wanted)]


def _path(paper_id: str) -> str | None:
    """An id as it stands in an address; None for what is none of the service's kinds of ids."""
    kind, colon, rest = paper_id.strip().partition(":")
    if not colon:
        return kind if _OWN_ID.fullmatch(kind) else None
    known = _KINDS.get(kind.casefold())
    if known is None or {"", ".", ".."} & {*rest.split("/")}:
        return None
    return f"{known}:{quote(rest, safe='/', errors='replace')}"


def _range(window: Window) -> str:
    """Days in the service's form, `first:last`, both included; empty for all."""
    if window == ANY_TIME:
        return ""
    last = window.before - dt.timedelta(days=1) if window.before else ""
    return f"{window.after or ''}:{last}"


def _is_empty(window: Window) -> bool:
    """Whether no day at all lies inside."""
    return window.before is not None and window.before <= (window.after or dt.date.min)
