"""OpenAlex (developers.openalex.org)."""

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar
from urllib.parse import quote

from pydantic import BaseModel

from manyheads.base.http import Pace
from manyheads.base.papers import ARXIV_DOI, Identifier, Paper, identify, year_of
from manyheads.config import SourceName
from manyheads.literature.matching import without_operators
from manyheads.literature.source import HttpService, Part, Request, T, papers_of, parse, read_json

ADDRESS = "https://api.openalex.org"
MOST = 100
"""Results per page, and ids per filter."""

_OWN_ID = re.compile(r"[Ww]\d+")


# The service's records; null is unknown.


def _fields(work: dict[str, Any]) -> dict[str, Any] | None:
    """A work as the fields of a paper; None for one without a title."""
    if not (title := (work["title"] or "").strip()):
        return None
    if not _OWN_ID.fullmatch(number := _tail(work["id"])):
        raise ValueError(f"{number[:40]!r} is not an OpenAlex id")
    day, doi, index = work["publication_date"], work.get("doi"), work.get("abstract_inverted_index")
    date = dt.date.fromisoformat(day) if day else None
    people = [
        ((one.get("author") or {}).get("display_name"), one.get("raw_author_name"))
        for one in work.get("authorships") or ()
    ]
    words = [(at, word) for word, places in (index or {}).items() for at in places]
    return {
        "id": f"openalex:{number}",
        "source": "openalex",
        "title": title,
        "abstract": " ".join(word for _, word in sorted(words, key=itemgetter(0))),
        "year": year_of(work["publication_year"], date),
        "date": date,
        "citations": work.get("cited_by_count"),
        "authors": tuple(name or other for name, other in people if name or other),
        "venue": ((work.get("primary_location") or {}).get("source") or {}).get("display_name"),
        "doi": doi.removeprefix("https://doi.org/") if doi else None,
        "url": work["id"],
        "retracted": work.get("is_retracted"),
        "open_text": (work.get("best_oa_location") or {}).get("pdf_url") or None,
    }


def _tail(url: str) -> str:
    """`W2741809807` of `https://openalex.org/W2741809807`."""
    return url.rpartition("/")[2]


class _Linked(BaseModel):
    """A work with the ids of its references."""

    id: str
    referenced_works: list[Any] | None = None


class _Meta(BaseModel):
    count: int | None = None
    next_cursor: str | None = None


class _WorksPage(BaseModel):
    meta: _Meta
    results: list[Any]
    error: Any = None


@dataclass(kw_only=True, eq=False)
class OpenAlex(HttpService):
    """Works of OpenAlex (docs: developers.openalex.org).

    Papers are identified by `W…`, `DOI:…` and `ARXIV:…`. Without a key the service gives some hundred answers a day.
    """

    name: SourceName = "openalex"
    tells_retractions: ClassVar[bool] = True
    batch: ClassVar[int] = MOST
    address: str = ADDRESS
    paces: ClassVar[tuple[Pace, Pace]] = (Pace(0.1), Pace(0.1))
    """Ten requests a second, OpenAlex's limit per client."""
    key_env: str | None = "OPENALEX_API_KEY"
    mailto_env: ClassVar[str | None] = "OPENALEX_MAILTO"
    always: ClassVar[Sequence[str]] = ("id", "title", "publication_year", "publication_date")
    """Always with the date, to check the window."""
    fields: ClassVar[Mapping[Part, str]] = {
        "abstract": "abstract_inverted_index", "authors": "authorships", "venue": "primary_location", "citations": "cited_by_count",
        "doi": "doi", "retracted": "is_retracted", "open_text": "best_oa_location",
    }  # fmt: skip
    _has_answered: bool = field(default=False, init=False)
    """Like OpenAlex; at its own address no check is needed."""

    @property
    def headers(self) -> Mapping[str, str]:
        headers = {"Authorization": self.key and f"Bearer {self.key}", "From": self.mailto}
        return {name: value for name, value in headers.items() if value}

    async def search(self, request: Request) -> list[Paper]:
        """Works with all the words in title, abstract or full text, most relevant first."""
        words = without_operators(request.query)
        return await self._works(request, search=words) if words else []

    async def paper(self, request: Request) -> list[Paper]:
        """One work."""
        names = ",".join(self.selected(request.parts))
        return (
            await self._work(request, names, lambda body: papers_of([read_json(body)], _fields, request))
            or []
        )

    def own_name(self, name: str) -> str | None:
        doi = (_identifier(name) or "").removeprefix("doi:")
        return None if {*",|"} & {*doi} else doi

    async def batch_of(self, names: Sequence[str], request: Request) -> list[Paper]:
        return await self._those("doi", names, request)

    async def references(self, request: Request) -> list[Paper]:
        """The references of a work, in OpenAlex's order."""
        work = await self._work(request, "id,referenced_works", partial(parse, _Linked))
        links = (work and work.referenced_works) or ()
        ids = [_tail(link) for link in links if isinstance(link, str)]
        if faulty := len(links) - len(ids):
            request.faults.append(f"{faulty} of {len(links)} ids cannot be read")
        return await self.linked(ids, lambda some: self._those("openalex_id", some, request), request)

    async def _work(self, request: Request, fields: str, read: Callable[[bytes], T]) -> T | None:
        """One work; None if it does not exist.

        A wrong address gives 404 too: an address that has never answered like OpenAlex must first list works.
        """
        if (identifier := _identifier(request.query)) is None:
            return None
        path = f"/works/{quote(identifier, safe='')}"
        work = await self.ask_one(path, {"select": fields}, read, request, lambda no: no.status == 404)
        if work is None and not self._has_answered and self.address != ADDRESS:
            await self._page({"select": ",".join(self.always)}, "*", 1, request)
        self._has_answered = True
        return work

    async def _those(self, field: str, values: Sequence[str], request: Request) -> list[Paper]:
        return await self._works(replace(request, limit=len(values)), f"{field}:{'|'.join(values)}")

    async def _works(self, request: Request, *filters: str, **query: str) -> list[Paper]:
        """Page after page until there are enough; the window is checked again after the service's filter."""
        # the service's own filters include both ends
        bounds = {"from_publication_date": request.window.after, "to_publication_date": request.window.last}
        filters = (*filters, *(f"{name}:{day}" for name, day in bounds.items() if day))
        query |= {"select": ",".join(self.selected(request.parts))}
        if filters:
            query["filter"] = ",".join(filters)
        return await self.paged(lambda at: self._page(query, at, request.limit, request), "*", request)

    async def _page(
        self, query: Mapping[str, str], cursor: str, limit: int, request: Request
    ) -> tuple[list[Paper], str | None]:
        """The papers of one page, and the cursor of the next one; None after the last."""

        def read(body: bytes) -> tuple[list[Paper], str | None]:
            page = parse(_WorksPage, body)
            total = (page.meta.count or len(page.results)) if cursor == "*" else None
            papers = papers_of(page.results, _fields, request, total, page.error)
            return papers, page.meta.next_cursor if page.results else None

        params = {**query, "per-page": min(limit, MOST), "cursor": cursor}
        page = await self.ask("/works", params, read, request)
        self._has_answered = True
        return page


def _identifier(paper_id: str) -> str | None:
    """OpenAlex's form of a paper's identifier; None for unsupported ones."""
    match identify(paper_id):
        case Identifier("doi", doi):
            return f"doi:{doi}"
        case Identifier("arxiv", number):
            return f"doi:{ARXIV_DOI}{number}"
        case _:
            return paper_id.upper() if _OWN_ID.fullmatch(paper_id) else None
