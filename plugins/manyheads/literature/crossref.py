"""Crossref: what publishers say of their DOIs (api.crossref.org)."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

from pydantic import BaseModel, Field

from manyheads.base.http import GarbledError, Pace
from manyheads.base.papers import Paper, identify, year_of
from manyheads.config import SourceName
from manyheads.literature import source
from manyheads.literature.matching import Topic, words_of
from manyheads.literature.source import HttpService, Part, Request, T

_PAGE, _MOST = 100, 10_000
"""Works of a page, and the number of works that an offset reaches."""
_RETRACTIONS = {"retraction", "removal", "withdrawal"}


def _fields(work: dict[str, Any]) -> dict[str, Any] | None:
    """A work as the fields of a paper; None for one without a title, such as an issue."""
    doi = work["DOI"].casefold()
    if not (title := _first(work.get("title"))):
        return None
    subtitle = _first(work.get("subtitle"))
    first = [number for number in ((work.get("issued") or {}).get("date-parts") or [[]])[0] if number]
    date = dt.date(*first) if len(first) == 3 else None
    people = [
        " ".join(filter(None, (one.get("given"), one.get("family")))) or one.get("name")
        for one in work.get("author") or ()
    ]
    works = work.get("reference") or ()
    cited = (one.get("DOI") or one.get("article-title") or one.get("unstructured") for one in works)
    return {
        "id": f"crossref:{doi}",
        "source": "crossref",
        "title": title if subtitle.casefold() in title.casefold() else f"{title}: {subtitle}",
        "abstract": work.get("abstract"),
        "year": year_of(first[0] if first else None, date),
        "date": date,
        "citations": work.get("is-referenced-by-count"),
        "authors": tuple(filter(None, people)),
        "venue": _first(work.get("container-title")) or None,
        "doi": doi,
        "url": f"https://doi.org/{quote(doi)}",
        "retracted": any(one["type"] in _RETRACTIONS for one in work.get("updated-by") or ()),
        "references": tuple(filter(None, cited)),
    }


def _first(texts: Any) -> str:
    """The first of a list of texts, empty if there is none."""
    if texts and not (isinstance(texts, list) and isinstance(texts[0], str)):
        raise TypeError
    return texts[0] if texts else ""


class _Deposit(BaseModel):
    message: dict[str, Any]


def _message(body: bytes) -> dict[str, Any]:
    return source.parse(_Deposit, body).message


class _DepositPage(BaseModel):
    total: int = Field(alias="total-results")
    items: list[Any]


class _DepositsPage(BaseModel):
    message: _DepositPage


@dataclass(kw_only=True, eq=False)
class Crossref(HttpService):
    """Works by DOI and by words. Crossref needs no key; an address to contact the user gives a faster pool.

    Its search takes any of the words, so that works with few of them are dropped. A work's date is its first, in print or online.
    """

    name: SourceName = "crossref"
    tells_retractions: ClassVar[bool] = True
    gives: ClassVar[frozenset[Part]] = source.WITH_REFERENCES
    batch: ClassVar[int] = 40
    """DOIs of one request, which stand in its address."""
    address: str = "https://api.crossref.org"
    paces: ClassVar[tuple[Pace, Pace]] = (Pace(1.0, at_once=1), Pace(0.34, at_once=3))
    """Crossref's limits for lists."""
    mailto_env: ClassVar[str | None] = "CROSSREF_MAILTO"
    always: ClassVar[Sequence[str]] = ("DOI", "title", "subtitle", "issued")
    fields: ClassVar[Mapping[Part, str]] = {
        "abstract": "abstract", "authors": "author", "venue": "container-title", "citations": "is-referenced-by-count",
        "retracted": "updated-by", "references": "reference",
    }  # fmt: skip

    @property
    def headers(self) -> Mapping[str, str]:
        return {"User-Agent": f"{source.AGENT} (mailto:{self.mailto})"} if self.mailto else {}

    async def search(self, request: Request) -> list[Paper]:
        """Works with most of the words in title or abstract, by the service's relevance."""
        if not (words := " ".join(words_of(request.query))):
            return []
        topic, window = Topic(words), request.window
        # the service's own filters include both ends
        bounds = {"from-pub-date": window.after, "until-pub-date": window.last}
        query = {"query.bibliographic": words}
        if filters := ",".join(f"{name}:{day}" for name, day in bounds.items() if day):
            query["filter"] = filters
        size = min(request.limit, _PAGE)

        async def page(start: int) -> tuple[list[Paper], int]:
            some, total = await self._works(query, start, size, request)
            papers = [paper for paper in some if topic.of(paper)]
            # those after a page without one have fewer of the words
            return papers, min(total, _MOST - _PAGE) if papers else 0

        return await self.numbered(page, size, request)

    async def paper(self, request: Request) -> list[Paper]:
        """One work by its DOI."""

        def read(body: bytes) -> list[Paper]:
            work = _message(body)
            if "DOI" not in work:
                raise GarbledError("a work without a DOI")
            return source.papers_of([work], source.requested(_fields, request), request)

        return await self._work(request, read) or []

    def own_name(self, name: str) -> str | None:
        """A DOI, also of arXiv's preprints as far as publishers gave them one."""
        known = identify(name.removeprefix("crossref:"))
        return known.value.casefold() if known.kind == "doi" else None

    async def batch_of(self, names: Sequence[str], request: Request) -> list[Paper]:
        filters = ",".join(f"doi:{doi}" for doi in names if "," not in doi)
        papers, _ = await self._works({"filter": filters}, 0, self.batch, request) if filters else ([], 0)
        return papers

    async def references(self, request: Request) -> list[Paper]:
        """The works of a paper's references that the publisher gave a DOI, in order."""
        work = await self._work(request, _message) or {}
        links = work.get("reference")
        if links is None and work.get("reference-count"):
            raise self.withheld(request)
        dois = [str(one["DOI"]).casefold() for one in links or () if isinstance(one, dict) and one.get("DOI")]
        return await self.linked(dois, lambda some: self.batch_of(some, request), request)

    async def _work(self, request: Request, read: Callable[[bytes], T]) -> T | None:
        """One work; None if Crossref does not have the DOI. Any other 404 means a wrong address."""
        if (doi := self.own_name(request.query)) is None:
            return None
        absent = "Resource not found"
        path = f"/works/{quote(doi, safe='')}"
        return await self.ask_one(path, {}, read, request, lambda no: no.status == 404 and absent in no.text)

    async def _works(
        self, query: Mapping[str, str], start: int, rows: int, request: Request
    ) -> tuple[list[Paper], int]:
        """The papers of one page, and the number of all matches."""

        def read(body: bytes) -> tuple[list[Paper], int]:
            page = source.parse(_DepositsPage, body).message
            left = page.total if start < page.total and "query.bibliographic" in query else None
            papers = source.papers_of(page.items, source.requested(_fields, request), request, left)
            return papers, page.total

        select = ",".join(self.selected(request.parts))
        params = {**query, "select": select, "rows": rows, "offset": start}
        return await self.ask("/works", params, read, request)
