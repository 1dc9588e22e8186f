"""Semantic Scholar: its Academic Graph (api.semanticscholar.org/api-docs/graph), through the semanticscholar package."""

import datetime as dt
import re
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast
from urllib.parse import parse_qsl, quote

from pydantic import BaseModel, model_validator

from manyheads.base.http import GarbledError, Pace, RefusedError
from manyheads.base.papers import ANY_TIME, Paper, year_of
from manyheads.config import SourceName
from manyheads.literature.source import (
    WITH_REFERENCES,
    HttpService,
    Part,
    Request,
    papers_of,
    parse,
    read_json,
)

if TYPE_CHECKING:
    from semanticscholar import AsyncSemanticScholar
    from semanticscholar.PaginatedResults import PaginatedResults

_SEARCH_PAGE, _SEARCH_MOST = 100, 1000
_LINKS_PAGE, _LINKS_MOST = 1000, 9999
"""The service's limits: results per page, and number of results reachable."""
_KINDS = {kind.casefold(): kind for kind in ("DOI", "ARXIV", "CorpusId", "MAG", "ACL", "PMID", "PMCID")}
_OWN_ID = re.compile(r"[0-9a-f]{40}")
_HYPHENS = re.compile(r"[-‐‑‒–—]")


# The service's answers (api.semanticscholar.org/api-docs): null or missing means unknown or withheld.


def _fields(record: dict[str, Any]) -> dict[str, Any] | None:
    """A record as the fields of a paper; None without an id or a title.

    In references, the paper is nested in the citation's record.
    """
    record = record.get("citedPaper", record)
    title, day = " ".join((record.get("title") or "").split()), record.get("publicationDate")
    # null: cited, but not in the database
    paper_id = record["paperId"] and "semantic_scholar:" + record["paperId"]
    if not (paper_id and title):
        return None
    date = dt.date.fromisoformat(day) if day else None
    people = [(one["name"], one.get("authorId")) for one in record.get("authors") or () if one.get("name")]
    ids = record.get("externalIds") or {}
    doi, preprint = ids.get("DOI"), f"https://arxiv.org/pdf/{ids['ArXiv']}" if ids.get("ArXiv") else None
    works = record.get("references") or ()
    cited = (((one.get("externalIds") or {}).get("DOI"), one.get("title")) for one in works)
    return {
        "id": paper_id,
        "source": "semantic_scholar",
        "title": title,
        "abstract": (record.get("abstract") or "").strip(),
        "year": year_of(record.get("year"), date),
        "date": date,
        "citations": record.get("citationCount"),
        "authors": tuple(name for name, _ in people),
        "author_ids": tuple((known and "semantic_scholar:" + known) or "" for _, known in people),
        "venue": record.get("venue") or None,
        "doi": str(doi) if doi else None,
        "url": record.get("url") or None,
        "open_text": ((record["openAccessPdf"] or {}).get("url") or preprint)
        if "openAccessPdf" in record
        else None,
        "references": tuple(str(doi or name) for doi, name in cited if doi or name),
    }


class _RecordsPage(BaseModel):
    """One page of a list. Its data is missing if nothing matches, and null if publishers withhold it."""

    total: int | None = None
    offset: int = 0
    next: int | None = None
    data: list[Any] | None = None
    error: Any = None

    @model_validator(mode="after")
    def _explained(self) -> Self:
        if self.data is None and self.total == 0:
            self.data = []
        if "data" not in self.model_fields_set:
            raise ValueError("neither data nor a total of 0")
        return self


@dataclass(kw_only=True, eq=False)
class SemanticScholar(HttpService):
    """Papers of Semantic Scholar.

    Papers are identified by the 40 digits of its own ids and by `DOI:…`, `ARXIV:…`, `CorpusId:…`, `MAG:…`, `ACL:…`, `PMID:…` and
    `PMCID:…`. A search gives at most a thousand papers, references 9,999. Cited works that are not in the database (they have
    no id) are omitted.
    """

    name: SourceName = "semantic_scholar"
    gives: ClassVar[frozenset[Part]] = WITH_REFERENCES
    batch: ClassVar[int] = 500
    address: str = "https://api.semanticscholar.org"
    paces: ClassVar[tuple[Pace, Pace]] = (Pace(3.0), Pace(1.0))
    """Without a key all users share one pool; each address's share was a hundred requests in five minutes. With a key, one request
    a second over all endpoints together."""
    always: ClassVar[Sequence[str]] = ("paperId", "title", "year")
    fields: ClassVar[Mapping[Part, str]] = {
        "abstract": "abstract", "authors": "authors", "venue": "venue", "citations": "citationCount", "date": "publicationDate",
        "doi": "externalIds", "url": "url", "open_text": "openAccessPdf", "references": "references.title,references.externalIds",
    }  # fmt: skip

    @property
    def headers(self) -> Mapping[str, str]:
        return {"x-api-key": self.key} if self.key else {}

    async def search(self, request: Request) -> list[Paper]:
        """Papers by the service's relevance."""
        # the service finds nothing for hyphenated words
        words = " ".join(_HYPHENS.sub(" ", request.query).split())
        if not words:
            return []
        size, window = min(request.limit, _SEARCH_PAGE), request.window
        client, answers = self._package(request)
        first = client.search_paper(
            quote(words, safe="", errors="replace"),
            fields=self._dated(request),
            publication_date_or_year=""
            if window == ANY_TIME
            else f"{window.after or ''}:{window.last or ''}",
            limit=size,
        )
        first = cast("Awaitable[PaginatedResults]", first)  # it is a single paper only for `match_title`
        return await self._pages(first, answers, size, _SEARCH_MOST)

    async def paper(self, request: Request) -> list[Paper]:
        """One paper."""
        if (path := _path(request.query)) is None:
            return []
        client, answers = self._package(request)
        await client.get_paper(path, self._dated(request))
        return answers.papers

    def own_name(self, name: str) -> str | None:
        return name if _path(name) else None

    async def batch_of(self, names: Sequence[str], request: Request) -> list[Paper]:
        client, answers = self._package(request)
        # the package's own method warns of each paper that is not there
        url = f"{client.api_url}{client.BASE_PATH_GRAPH}/paper/batch"
        await answers.get_data_async(url, f"fields={','.join(self._dated(request))}", {}, {"ids": [*names]})
        return answers.papers

    async def references(self, request: Request) -> list[Paper]:
        """A paper's references, none for an unknown paper; without a date filter of the service, those outside the window are dropped."""
        if (path := _path(request.query)) is None:
            return []
        size = _LINKS_PAGE if request.window != ANY_TIME else min(request.limit, _LINKS_PAGE)
        client, answers = self._package(request)
        first = client.get_paper_references(path, self._dated(request), size)
        return await self._pages(first, answers, size, _LINKS_MOST)

    async def _pages(
        self, first: Awaitable["PaginatedResults"], answers: "_Requester", size: int, most: int
    ) -> list[Paper]:
        """The papers of pages that the package turns."""
        results: PaginatedResults | None = None

        async def page(start: int) -> tuple[list[Paper], int | None]:
            nonlocal results
            if results is None:
                results = await first
            else:
                await results.async_next_page()
            end = start + size
            # a short page is the last, whatever `next` says: the next request would be refused
            return answers.papers, end if results.next == end and end + size <= most else None

        return await self.paged(page, 0, answers.request)

    def _dated(self, request: Request) -> list[str]:
        """The fields to request; with the date if a window must be checked."""
        return self.selected(request.parts if request.window == ANY_TIME else {*request.parts, "date"})

    def _package(self, request: Request) -> "tuple[AsyncSemanticScholar, _Requester]":
        """The package's client for one look-up, with our requester in place of its own, which is a private part: the package
        offers no other way to send its requests."""
        from semanticscholar import AsyncSemanticScholar

        client, ours = AsyncSemanticScholar(api_url=self.address, retry=False), _Requester(self, request)
        vars(client)["_requester"] = ours
        return client, ours


class _Requester:
    """Sends the requests of the package's client. Its own opens a connection per request, ignores Retry-After, sends no key for
    references, and gives `{}` for unknown statuses: a service that is down would look like one without results. With this one
    an answer is validated, or an error; the package words the requests and turns the pages.
    """

    def __init__(self, service: SemanticScholar, request: Request) -> None:
        self._service, self.request = service, request
        self.papers: list[Paper] = []
        """Of the last answer."""

    async def get_data_async(
        self, url: str, parameters: str, headers: object, payload: object = None
    ) -> dict[str, Any]:
        """What the package needs of an answer: where the next page begins. The headers are the service's own."""
        params = dict(parse_qsl(parameters.lstrip("&"), keep_blank_values=True))
        later, path = params.get("offset", "0") != "0", url.removeprefix(self._service.address)
        self.papers = []
        paging = await self._service.ask_one(
            path, params, lambda body: self._read(body, later), self.request, partial(_means_none, later), payload
        )  # fmt: skip
        return {"data": [], **(paging or {})}

    def _read(self, body: bytes, later: bool) -> dict[str, Any]:
        request = self.request
        if request.operation == "paper":
            self.papers = papers_of([read_json(body)], _fields, request)
            return {}
        if request.operation == "papers":
            if not isinstance(records := read_json(body), list):
                raise GarbledError("not a list of papers")
            self.papers = papers_of([*filter(None, cast("list[Any]", records))], _fields, request)
            return {}
        page = parse(_RecordsPage, body)
        if page.data is None:
            raise self._service.withheld(request)
        total = None if later else page.total or len(page.data)
        self.papers = papers_of(page.data, _fields, request, total, page.error)
        return {"offset": page.offset, "next": page.next}


def _means_none(later: bool, refusal: RefusedError) -> bool:
    """Whether a refusal means no paper: an unknown id, no known id, or a page after the last (the service counts matches that it
    does not return). Any other 404 means a wrong address."""
    text = refusal.text
    if refusal.status == 404:
        return " with id " in text and "not found" in text
    beyond = later and "Requested data" in text and "is not available" in text
    return refusal.status == 400 and (beyond or "No valid paper ids" in text)


def _path(paper_id: str) -> str | None:
    """An id as part of an address; None for unsupported ids."""
    kind, colon, rest = paper_id.strip().partition(":")
    if not colon:
        return kind if _OWN_ID.fullmatch(kind) else None
    known = _KINDS.get(kind.casefold())
    if known is None or {"", ".", ".."} & {*rest.split("/")}:
        return None
    return f"{known}:{quote(rest, safe='/', errors='replace')}"
