"""OpenAlex. Its requests are worded by pyalex; we send them, as pyalex knows one address and forgets Retry-After."""

import datetime as dt
import html
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from manyheads.config import SourceName
from manyheads.errors import LiteratureError
from manyheads.literature.queries import words_of
from manyheads.literature.source import ALL, Part, Service, Source, parse
from manyheads.papers import ANY_TIME, Paper, Window, year_of
from manyheads.retry import Pace, RefusedError

ADDRESS = "https://api.openalex.org"
PACE = Pace(0.1)
"""Ten requests a second, OpenAlex' limit for one caller."""
KEY_ENV, MAILTO_ENV = "OPENALEX_API_KEY", "OPENALEX_MAILTO"
MOST = 100
"""Results on a page, and ids in one filter."""

_OWN_ID = re.compile(r"[Ww]\d+")

_ALWAYS = ("id", "title", "publication_year", "publication_date")
"""The date is needed to hold the bound, whether it is asked for or not."""
_FIELDS: dict[Part, str] = {
    "abstract": "abstract_inverted_index",
    "authors": "authorships",
    "venue": "primary_location",
    "citations": "cited_by_count",
    "doi": "doi",
}

_MARKUP = re.compile(
    r"</?(?:i|b|u|em|strong|italic|bold|sub|sup|sc|scp|tt|(?:jats|mml):[a-z]+)(?:\s[^<>]*)?>", re.IGNORECASE
)
"""Publishers hand it in with their titles; it would make another title of each."""


# The service's records; what is null in them is unknown.


class _Named(BaseModel):
    display_name: str | None = None


class _Authorship(BaseModel):
    author: _Named | None = None
    raw_author_name: str | None = None


class _Location(BaseModel):
    source: _Named | None = None


class _Work(BaseModel):
    """A work with the fields that were selected."""

    id: str
    title: str | None = None
    publication_year: int | None = None
    publication_date: dt.date | None = None
    abstract_inverted_index: dict[str, list[int]] | None = None
    authorships: list[_Authorship] | None = None
    primary_location: _Location | None = None
    cited_by_count: int | None = None
    doi: str | None = None
    referenced_works: list[str] | None = None
    related_works: list[str] | None = None


class _Meta(BaseModel):
    next_cursor: str | None = None


class _Page(BaseModel):
    meta: _Meta
    results: list[_Work]


def _fields_of(parts: Collection[Part]) -> list[str]:
    """The fields to ask for."""
    return [*_ALWAYS, *(field for part, field in _FIELDS.items() if part in parts)]


def _paper(work: _Work) -> Paper | None:
    """A work as a paper; None for one without a title, which no reader could use."""
    title = " ".join(_MARKUP.sub("", html.unescape(work.title or "")).split())
    if not title:
        return None
    names = [one.author.display_name if one.author else None for one in work.authorships or ()]
    raw = [one.raw_author_name for one in work.authorships or ()]
    place = work.primary_location.source if work.primary_location else None
    return Paper(
        id=f"openalex:{_tail(work.id)}",
        source="openalex",
        title=title,
        abstract=_abstract(work.abstract_inverted_index),
        year=year_of(work.publication_year, work.publication_date),
        date=work.publication_date,
        citations=work.cited_by_count,
        authors=tuple(name or other or "" for name, other in zip(names, raw, strict=True) if name or other),
        venue=place.display_name if place else None,
        doi=work.doi.removeprefix("https://doi.org/") if work.doi else None,
        url=work.id,
    )


def _tail(url: str) -> str:
    """`W2741809807` of `https://openalex.org/W2741809807`."""
    return url.rpartition("/")[2]


def _abstract(index: dict[str, list[int]] | None) -> str:
    """An abstract from the places of its words."""
    from pyalex import invert_abstract

    text: Any = invert_abstract(index) if index else None
    return text or ""


class OpenAlex(Source):
    """Works of OpenAlex (docs: developers.openalex.org).

    Papers are taken by `W…`, `DOI:…` and `ARXIV:…`. Without a key the service gives some hundred answers a day.

    Args:
        service: sends the requests, to OpenAlex or a mirror.
        key: sent in a header.
        mailto: an address at which the service may reach the user.
    """

    name: SourceName = "openalex"

    def __init__(self, service: Service, *, key: str | None = None, mailto: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {key}" if key else "", "From": mailto or ""}
        self._service = replace(service, headers={name: value for name, value in headers.items() if value})
        self._address = service.address.rstrip("/")
        self._is_openalex = self._address == ADDRESS

    async def search(
        self, query: str, limit: int = 10, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """Works that hold all the words in title, abstract or full text, most relevant first."""
        from pyalex import Works

        if not (words := _words(query)):
            return []
        request: Any = _inside(Works().search(words), window).select(_fields_of(parts))
        return await self._works(request, limit, window, self._deadline())

    async def paper(self, paper_id: str, *, parts: Collection[Part] = ALL) -> Paper | None:
        """One work."""
        work = await self._work(paper_id, _fields_of(parts), self._deadline())
        return work and _paper(work)

    async def references(
        self, paper_id: str, limit: int = 100, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """The works that a work cites, in the order in which OpenAlex lists them."""
        until = self._deadline()
        work = await self._work(paper_id, ["id", "referenced_works"], until)
        return await self._works_of(work and work.referenced_works, limit, window, parts, until)

    async def citations(
        self, paper_id: str, limit: int = 100, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """The works that cite a work, most cited first."""
        from pyalex import Works

        until = self._deadline()
        work = await self._work(paper_id, ["id"], until)
        if work is None:
            return []
        request: Any = _inside(Works().filter(cites=_tail(work.id)), window).sort(cited_by_count="desc")
        return await self._works(request.select(_fields_of(parts)), limit, window, until)

    async def recommendations(
        self, paper_id: str, limit: int = 10, *, window: Window = ANY_TIME, parts: Collection[Part] = ALL
    ) -> list[Paper]:
        """The works that OpenAlex holds to be related to a work."""
        until = self._deadline()
        work = await self._work(paper_id, ["id", "related_works"], until)
        return await self._works_of(work and work.related_works, limit, window, parts, until)

    async def close(self) -> None:
        """Close the connections."""
        await self._service.close()

    def _deadline(self) -> float:
        return self._service.deadline()

    async def _work(self, paper_id: str, fields: Sequence[str], until: float) -> _Work | None:
        """One work; None for one that is not there.

        A wrong address says 404 too: one that has never answered as OpenAlex does must list works as well.
        """
        from pyalex import Works

        if (named := _identifier(paper_id)) is None:
            return None
        request: Any = Works({})
        request.params = named
        params, what = {"select": ",".join(fields)}, f"work {paper_id}"
        try:
            work = await self._service.get(
                self._url(request), params, partial(parse, _Work), what, until=until
            )
        except LiteratureError as error:
            match error.__cause__:
                case RefusedError(status=404):
                    work = None
                case _:
                    raise
        if work is None and not self._is_openalex:
            await self._page(Works().select(["id"]), "*", 1, until)
        self._is_openalex = True
        return work

    async def _works(self, request: Any, limit: int, window: Window, until: float) -> list[Paper]:
        """Page after page until there are enough; the window has the last word, whatever the service filters by."""
        found, cursor = list[Paper](), "*"
        while cursor and len(found) < limit:
            page = await self._page(request, cursor, limit, until)
            found += filter(window.holds, filter(None, map(_paper, page.results)))
            cursor = page.meta.next_cursor if page.results else None
        return found[:limit]

    async def _works_of(
        self,
        ids: Sequence[str] | None,
        limit: int,
        window: Window,
        parts: Collection[Part],
        until: float,
    ) -> list[Paper]:
        """The works of these ids, in their order, a hundred at a time."""
        from pyalex import Works

        wanted = list(dict.fromkeys(_tail(one) for one in ids or ()))
        found: list[Paper] = []
        for start in range(0, len(wanted), MOST):
            some = wanted[start : start + MOST]
            if len(found) >= limit:
                break
            request: Any = _inside(Works().filter_or(openalex_id=some), window).select(_fields_of(parts))
            place = {f"openalex:{one}": number for number, one in enumerate(some)}
            papers = await self._works(request, len(some), window, until)
            found += sorted(papers, key=lambda paper: place.get(paper.id, len(place)))
        return found[:limit]

    async def _page(self, request: Any, cursor: str, limit: int, until: float) -> _Page:
        url = self._url(request)
        params = {"per-page": min(limit, MOST), "cursor": cursor}
        page = await self._service.get(url, params, partial(parse, _Page), "search", until=until)
        self._is_openalex = True
        return page

    def _url(self, request: Any) -> str:
        """pyalex' request at our address."""
        asked = urlsplit(str(request.url))
        return f"{self._address}{asked.path}" + (f"?{asked.query}" if asked.query else "")


def _words(query: str) -> str:
    """The words alone: quotes, wildcards and capital operators would make it another query."""
    return " ".join(word.lower() if word in ("AND", "OR", "NOT") else word for word in words_of(query))


def _identifier(paper_id: str) -> str | None:
    """How OpenAlex is asked for a paper; None for what cannot be an identifier of its."""
    kind, _, rest = paper_id.partition(":")
    match kind.upper():
        case "DOI":
            return f"doi:{rest}"
        case "ARXIV":
            return f"doi:10.48550/arxiv.{rest}"
        case _:
            return paper_id.upper() if _OWN_ID.fullmatch(paper_id) else None


def _inside(request: Any, window: Window) -> Any:
    """The window as filters, which OpenAlex takes with both ends in it."""
    dates: dict[str, str] = {}
    if window.after:
        dates["from_publication_date"] = window.after.isoformat()
    if window.before:
        dates["to_publication_date"] = (window.before - dt.timedelta(days=1)).isoformat()
    return request.filter(**dates) if dates else request
