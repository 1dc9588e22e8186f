"""Semantic Scholar: its Academic Graph and its Recommendations, through the semanticscholar package."""

import datetime as dt
import re
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from pydantic import BaseModel

from manyheads.config import SourceName
from manyheads.errors import LiteratureError
from manyheads.literature.fetch import Fetcher
from manyheads.literature.publication import ANY_TIME, Author, Publication, Window
from manyheads.literature.semantic_scholar_records import (
    PERSON_FIELDS,
    CitedRecord,
    CitingRecord,
    Page,
    PaperRecord,
    PersonRecord,
    Recommended,
    author,
    fields,
    publication,
)
from manyheads.literature.semantic_scholar_requester import AbsentError, CheckedRequester
from manyheads.literature.service import Service
from manyheads.literature.source import ALL, Part

if TYPE_CHECKING:
    from semanticscholar import AsyncSemanticScholar
    from semanticscholar.PaginatedResults import PaginatedResults

ADDRESS = "https://api.semanticscholar.org"

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
        service: paces and repeats the requests.
        address: of the service or a mirror.
        key: sent in the header `x-api-key`.

    Raises:
        LiteratureError: the key is none that a header could hold.
    """

    name: SourceName = "semantic_scholar"

    def __init__(self, service: Service, *, address: str = ADDRESS, key: str | None = None) -> None:
        if key and not (key.isascii() and key.isprintable()):
            raise LiteratureError(
                f"{self.name}: the key in {service.key_env} has letters that no key has",
                source=self.name,
                hint=f"export {service.key_env}=… anew, on one line",
            )
        self._address = address.rstrip("/")
        self._fetcher = Fetcher(service, self._address, {"x-api-key": key} if key else None)

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
        await self._fetcher.close()

    def _asking(self, shape: type[BaseModel], what: str) -> "AsyncSemanticScholar":
        """The package's client for one look-up, with its whole patience before it."""
        from semanticscholar import AsyncSemanticScholar

        client = AsyncSemanticScholar(api_url=self._address, retry=False)
        until = self._fetcher.service.deadline()
        vars(client)["_requester"] = CheckedRequester(self._fetcher, shape, what, until)
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
