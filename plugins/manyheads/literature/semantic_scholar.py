"""Semantic Scholar: its Academic Graph (api.semanticscholar.org/api-docs/graph)."""

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast
from urllib.parse import quote

from pydantic import BaseModel, model_validator

from manyheads.base.errors import LiteratureError
from manyheads.base.http import GarbledError, Pace, RefusedError
from manyheads.base.papers import ANY_TIME, Paper, year_of
from manyheads.config import SourceName
from manyheads.literature.source import (
    ALL,
    HttpService,
    Part,
    Request,
    WithheldError,
    papers_of,
    parse,
    read_json,
)

ADDRESS = "https://api.semanticscholar.org"
WITH_KEY = Pace(1.0)
"""Rate limit with a key: one request a second, over all endpoints together."""
SHARED_POOL = Pace(3.0)
"""Without a key all users share one pool; each address's share was a hundred requests in five minutes."""

_SEARCH_PAGE, _SEARCH_MOST = 100, 1000
_LINKS_PAGE, _LINKS_MOST = 1000, 9999
_BATCH_MOST = 500
"""The service's limits: results per page, and number of results reachable."""
_FIELDS: dict[Part, str] = {
    "abstract": "abstract",
    "authors": "authors",
    "venue": "venue",
    "citations": "citationCount",
    "date": "publicationDate",
    "doi": "externalIds",
    "url": "url",
    "open_text": "openAccessPdf",
    "references": "references.title,references.externalIds",
}
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
    paper_id = (
        record["paperId"] and "semantic_scholar:" + record["paperId"]
    )  # null: cited, but not in the database
    if not (paper_id and title):
        return None
    date = dt.date.fromisoformat(day) if day else None
    people = [(one["name"], one.get("authorId")) for one in record.get("authors") or () if one.get("name")]
    ids = record.get("externalIds") or {}
    doi, preprint = ids.get("DOI"), f"https://arxiv.org/pdf/{ids['ArXiv']}" if ids.get("ArXiv") else None
    cited = (
        ((one.get("externalIds") or {}).get("DOI"), one.get("title"))
        for one in record.get("references") or ()
    )
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
    gives: ClassVar[frozenset[Part]] = frozenset((*ALL, "references"))
    batch: ClassVar[int] = _BATCH_MOST
    address: str = ADDRESS

    @property
    def headers(self) -> Mapping[str, str]:
        return {"x-api-key": self.key} if self.key else {}

    async def search(self, request: Request) -> list[Paper]:
        """Papers by the service's relevance."""
        # the service finds nothing for hyphenated words
        words = " ".join(_HYPHENS.sub(" ", request.query).split()).encode(errors="replace").decode()
        if not words or _is_empty(request):
            return []
        size, window = min(request.limit, _SEARCH_PAGE), request.window
        last = window.before - dt.timedelta(days=1) if window.before else ""
        dates = {} if window == ANY_TIME else {"publicationDateOrYear": f"{window.after or ''}:{last}"}
        return await self._listed("search", {"query": words, **dates}, "search", size, _SEARCH_MOST, request)

    async def paper(self, request: Request) -> list[Paper]:
        """One paper."""
        if (path := _path(request.query)) is None:
            return []

        def read(body: bytes) -> list[Paper]:
            return papers_of([read_json(body)], _fields, request)

        what, params = f"paper {request.query}", {"fields": _names(request)}
        try:
            return await self.get(self._url(path), params, read, what, until=request.until)
        except LiteratureError as error:
            if not _means_none(error, later=False):
                raise
            return []

    async def papers(self, request: Request) -> list[Paper]:
        """Papers by DOI or arXiv number, five hundred at a time."""

        def read(body: bytes) -> list[Paper]:
            if not isinstance(records := read_json(body), list):
                raise GarbledError("not a list of papers")
            return papers_of([*filter(None, cast("list[Any]", records))], _fields, request)

        names, papers = [name for name in request.query.split() if _path(name)], list[Paper]()
        what, params = f"{len(names)} papers", {"fields": _names(request)}
        for start in range(0, len(names), _BATCH_MOST):
            ids = {"ids": names[start : start + _BATCH_MOST]}
            try:
                papers += await self.get(
                    self._url("batch"), params, read, what, until=request.until, body=ids
                )
            except LiteratureError as error:
                if not _means_none(error, later=False):
                    raise
        return [*filter(request.window.holds, papers)]

    async def references(self, request: Request) -> list[Paper]:
        """A paper's references, none for an unknown paper; without a date filter of the service, those outside the window are dropped."""
        if (path := _path(request.query)) is None or _is_empty(request):
            return []
        size = _LINKS_PAGE if request.window != ANY_TIME else min(request.limit, _LINKS_PAGE)
        what = f"references of {request.query}"
        return await self._listed(f"{path}/references", {}, what, size, _LINKS_MOST, request)

    def _url(self, path: str) -> str:
        return f"{self.address.rstrip('/')}/graph/v1/paper/{path}"

    async def _listed(
        self, path: str, query: Mapping[str, str], what: str, size: int, most: int, request: Request
    ) -> list[Paper]:
        """The papers of a list, over several pages of `size`."""

        async def page(start: int) -> tuple[list[Paper], int | None]:
            def read(body: bytes) -> tuple[list[Paper], int | None]:
                answer = parse(_RecordsPage, body)
                if answer.data is None:
                    raise WithheldError(
                        f"{self.name}: {what}: withheld by the publisher",
                        source=self.name,
                        hint="add another source to literature.cascade",
                    )
                total = None if start else answer.total or len(answer.data)
                return papers_of(answer.data, _fields, request, total, answer.error), answer.next

            params = {**query, "fields": _names(request), "offset": start, "limit": size}
            try:
                papers, following = await self.get(self._url(path), params, read, what, until=request.until)
            except LiteratureError as error:
                if not _means_none(error, later=start > 0):
                    raise
                return [], None
            # a short page is the last, whatever `next` says: the next request would be refused
            end = start + size
            return papers, end if following == end and end + size <= most else None

        return await self.paged(page, 0, request)


def _means_none(error: LiteratureError, *, later: bool) -> bool:
    """Whether a refusal means no paper: an unknown id, no known id, or a page after the last (the service counts matches that it
    does not return). Any other 404 means a wrong address."""
    match error.__cause__:
        case RefusedError(status=404, text=text):
            return " with id " in text and "not found" in text
        case RefusedError(status=400, text=text):
            return "No valid paper ids" in text or (
                later and "Requested data" in text and "is not available" in text
            )
        case _:
            return False


def _names(request: Request) -> str:
    """The fields to request, in a fixed order; with the date if a window must be checked."""
    parts = request.parts if request.window == ANY_TIME else {*request.parts, "date"}
    return ",".join(
        ["paperId", "title", "year", *(field for part, field in _FIELDS.items() if part in parts)]
    )


def _path(paper_id: str) -> str | None:
    """An id as part of an address; None for unsupported ids."""
    kind, colon, rest = paper_id.strip().partition(":")
    if not colon:
        return kind if _OWN_ID.fullmatch(kind) else None
    known = _KINDS.get(kind.casefold())
    if known is None or {"", ".", ".."} & {*rest.split("/")}:
        return None
    return f"{known}:{quote(rest, safe='/', errors='replace')}"


def _is_empty(request: Request) -> bool:
    """Whether no paper is requested, or the window is empty."""
    after, before = request.window.after or dt.date.min, request.window.before
    return request.limit < 1 or (before is not None and before <= after)
