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

from manyheads.base.errors import LiteratureError
from manyheads.base.http import Pace, RefusedError
from manyheads.base.papers import Paper, year_of
from manyheads.config import SourceName
from manyheads.literature.matching import without_operators
from manyheads.literature.source import HttpService, Part, Request, T, papers_of, parse, read_json

ADDRESS = "https://api.openalex.org"
PACE = Pace(0.1)
"""Ten requests a second, OpenAlex's limit per client."""
KEY_ENV, MAILTO_ENV = "OPENALEX_API_KEY", "OPENALEX_MAILTO"
MOST = 100
"""Results per page, and ids per filter."""

_OWN_ID = re.compile(r"[Ww]\d+")

_ALWAYS = ("id", "title", "publication_year", "publication_date")
_FIELDS: dict[Part, str] = {
    "abstract": "abstract_inverted_index",
    "authors": "authorships",
    "venue": "primary_location",
    "citations": "cited_by_count",
    "doi": "doi",
    "retracted": "is_retracted",
    "open_text": "best_oa_location",
}


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


_LINKED = partial(parse, _Linked)


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

    Args:
        mailto: an e-mail address for the service to contact the user.
    """

    name: SourceName = "openalex"
    tells_retractions: ClassVar[bool] = True
    batch: ClassVar[int] = MOST
    pace: Pace = PACE
    address: str = ADDRESS
    key_env: str | None = KEY_ENV
    mailto: str | None = None
    _has_answered: bool = field(default=False, init=False)
    """Like OpenAlex; at its own address no check is needed."""

    @property
    def headers(self) -> Mapping[str, str]:
        headers = {"Authorization": self.key and f"Bearer {self.key}", "From": self.mailto}
        return {name: value for name, value in headers.items() if value}

    @property
    def _works_url(self) -> str:
        return f"{self.address.rstrip('/')}/works"

    async def search(self, request: Request) -> list[Paper]:
        """Works with all the words in title, abstract or full text, most relevant first."""
        words = without_operators(request.query)
        if not words:
            return []
        return await self._works(request, search=words)

    async def paper(self, request: Request) -> list[Paper]:
        """One work."""

        def read(body: bytes) -> list[Paper]:
            return papers_of([read_json(body)], _fields, request)

        return await self._work(request, _select(request), read) or []

    async def papers(self, request: Request) -> list[Paper]:
        """Works by DOI or arXiv number, a hundred at a time."""
        names = [name.removeprefix("doi:") for name in map(_identifier, request.query.split()) if name]
        dois, papers = [doi for doi in names if not {*",|"} & {*doi}], list[Paper]()
        for start in range(0, len(dois), MOST):
            some = dois[start : start + MOST]
            papers += await self._works(replace(request, limit=len(some)), f"doi:{'|'.join(some)}")
        return papers

    async def references(self, request: Request) -> list[Paper]:
        """The references of a work, in OpenAlex's order."""
        work = await self._work(request, "id,referenced_works", _LINKED)
        return await self._works_of(work and work.referenced_works, request)

    async def _work(self, request: Request, fields: str, read: Callable[[bytes], T]) -> T | None:
        """One work; None if it does not exist.

        A wrong address gives 404 too: an address that has never answered like OpenAlex must first list works.
        """
        if (identifier := _identifier(request.query)) is None:
            return None
        url, what = f"{self._works_url}/{quote(identifier, safe='')}", f"work {request.query}"
        try:
            work = await self.get(url, {"select": fields}, read, what, until=request.until)
        except LiteratureError as error:
            match error.__cause__:
                case RefusedError(status=404):
                    work = None
                case _:
                    raise
        if work is None and not self._has_answered and self.address != ADDRESS:
            await self._page({"select": ",".join(_ALWAYS)}, "*", 1, request)
        self._has_answered = True
        return work

    async def _works(self, request: Request, *filters: str, **query: str) -> list[Paper]:
        """Page after page until there are enough; the window is checked again after the service's filter."""
        window = request.window
        # the service's own filters include both ends
        if window.after:
            filters = (*filters, f"from_publication_date:{window.after}")
        if window.before:
            filters = (*filters, f"to_publication_date:{window.before - dt.timedelta(days=1)}")
        query |= {"select": _select(request), **({"filter": ",".join(filters)} if filters else {})}
        return await self.paged(
            lambda cursor: self._page(query, cursor, request.limit, request), "*", request
        )

    async def _works_of(self, links: Sequence[Any] | None, request: Request) -> list[Paper]:
        """The works with these ids, in order, a hundred per request."""
        links, papers = links or (), list[Paper]()
        texts = [link for link in links if isinstance(link, str)]
        if faulty := len(links) - len(texts):
            request.faults.append(f"{faulty} of {len(links)} ids cannot be read")
        ids = [*dict.fromkeys(map(_tail, texts))]
        for start in range(0, len(ids), MOST):
            if len(papers) >= request.limit:
                break
            some = ids[start : start + MOST]
            works = await self._works(replace(request, limit=len(some)), f"openalex_id:{'|'.join(some)}")
            place = {f"openalex:{one}": number for number, one in enumerate(some)}
            papers += sorted(works, key=lambda paper: place.get(paper.id, len(place)))
        return papers[: request.limit]

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
        page = await self.get(self._works_url, params, read, "search", until=request.until)
        self._has_answered = True
        return page


def _select(request: Request) -> str:
    """The fields to request; always with the date, to check the window."""
    return ",".join([*_ALWAYS, *(field for part, field in _FIELDS.items() if part in request.parts)])


def _identifier(paper_id: str) -> str | None:
    """OpenAlex's form of a paper's identifier; None for unsupported ones."""
    kind, _, rest = paper_id.partition(":")
    match kind.upper():
        case "DOI":
            return f"doi:{rest}"
        case "ARXIV":
            return f"doi:10.48550/arxiv.{rest}"
        case _:
            return paper_id.upper() if _OWN_ID.fullmatch(paper_id) else None
