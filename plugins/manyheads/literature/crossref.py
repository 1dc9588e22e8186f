"""Crossref: what publishers say of their DOIs (api.crossref.org)."""

import datetime as dt
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from urllib.parse import quote

from pydantic import BaseModel, Field

from manyheads.base.errors import LiteratureError
from manyheads.base.http import GarbledError, Pace, RefusedError
from manyheads.base.papers import Paper, identify, year_of
from manyheads.config import SourceName
from manyheads.literature.matching import Topic, words_of
from manyheads.literature.source import (
    AGENT,
    ALL,
    HttpService,
    Part,
    Request,
    T,
    WithheldError,
    papers_of,
    parse,
)

ADDRESS = "https://api.crossref.org"
PUBLIC, POLITE = Pace(1.0, at_once=1), Pace(0.34, at_once=3)
"""Crossref's limits for lists, without and with an e-mail address."""
MAILTO_ENV = "CROSSREF_MAILTO"

_PAGE, _MOST = 100, 10_000
"""Works of a page, and the number of works that an offset reaches."""
_BATCH = 40
"""DOIs of one request, which stand in its address."""
_RETRACTIONS = {"retraction", "removal", "withdrawal"}
_ALWAYS = ("DOI", "title", "subtitle", "issued")
_FIELDS: dict[Part, str] = {
    "abstract": "abstract",
    "authors": "author",
    "venue": "container-title",
    "citations": "is-referenced-by-count",
    "retracted": "updated-by",
    "references": "reference",
}


def _fields(work: dict[str, Any], parts: Collection[Part]) -> dict[str, Any] | None:
    """A work as the fields of a paper, of which a single one has all; None for one without a title, such as an issue."""
    work = {
        name: work.get(name) for name in (*_ALWAYS, *(_FIELDS[part] for part in _FIELDS if part in parts))
    }
    doi = work["DOI"].casefold()
    if not (title := _first(work["title"])):
        return None
    subtitle = _first(work["subtitle"])
    first = [number for number in ((work["issued"] or {}).get("date-parts") or [[]])[0] if number]
    date = dt.date(*first) if len(first) == 3 else None
    people = [
        " ".join(filter(None, (one.get("given"), one.get("family")))) or one.get("name")
        for one in work.get("author") or ()
    ]
    cited = (
        one.get("DOI") or one.get("article-title") or one.get("unstructured")
        for one in work.get("reference") or ()
    )
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
        "retracted": any(one["type"] in _RETRACTIONS for one in work["updated-by"] or ())
        if "updated-by" in work
        else None,
        "references": tuple(filter(None, cited)),
    }


def _first(texts: Any) -> str:
    """The first of a list of texts, empty if there is none."""
    if texts and not (isinstance(texts, list) and isinstance(texts[0], str)):
        raise TypeError
    return texts[0] if texts else ""


class _Deposit(BaseModel):
    message: dict[str, Any]


class _DepositPage(BaseModel):
    total: int = Field(alias="total-results")
    items: list[Any]


class _DepositsPage(BaseModel):
    message: _DepositPage


@dataclass(kw_only=True, eq=False)
class Crossref(HttpService):
    """Works by DOI and by words. Crossref needs no key; an address to contact the user gives a faster pool.

    Its search takes any of the words, so that works with few of them are dropped. A work's date is its first, in print or online.

    Args:
        mailto: an e-mail address for the service to contact the user.
    """

    name: SourceName = "crossref"
    tells_retractions: ClassVar[bool] = True
    gives: ClassVar[frozenset[Part]] = frozenset((*ALL, "references"))
    batch: ClassVar[int] = _BATCH
    pace: Pace = PUBLIC
    address: str = ADDRESS
    mailto: str | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        return {"User-Agent": f"{AGENT} (mailto:{self.mailto})"} if self.mailto else {}

    async def search(self, request: Request) -> list[Paper]:
        """Works with most of the words in title or abstract, by the service's relevance."""
        if not (words := " ".join(words_of(request.query))):
            return []
        topic, filters = Topic(words), list[str]()
        # the service's own filters include both ends
        if request.window.after:
            filters.append(f"from-pub-date:{request.window.after}")
        if request.window.before:
            filters.append(f"until-pub-date:{request.window.before - dt.timedelta(days=1)}")
        query = {"query.bibliographic": words, **({"filter": ",".join(filters)} if filters else {})}

        async def page(start: int) -> tuple[list[Paper], int | None]:
            some, total = await self._works(query, start, min(request.limit, _PAGE), request)
            papers, end = [paper for paper in some if topic.of(paper)], start + min(request.limit, _PAGE)
            # those after a page without one have fewer of the words
            return papers, end if papers and end < min(total, _MOST - _PAGE) else None

        return await self.paged(page, 0, request)

    async def paper(self, request: Request) -> list[Paper]:
        """One work by its DOI."""

        def read(body: bytes) -> list[Paper]:
            work = parse(_Deposit, body).message
            if "DOI" not in work:
                raise GarbledError("a work without a DOI")
            return papers_of([work], lambda one: _fields(one, request.parts), request)

        return await self._work(request, read) or []

    async def papers(self, request: Request) -> list[Paper]:
        """Works by DOI, forty at a time."""
        dois = [doi for doi in map(_doi, request.query.split()) if doi and "," not in doi]
        papers = list[Paper]()
        for start in range(0, len(dois), _BATCH):
            some = dois[start : start + _BATCH]
            found, _ = await self._works(
                {"filter": ",".join(f"doi:{doi}" for doi in some)}, 0, _BATCH, request
            )
            papers += found
        return [*filter(request.window.holds, papers)]

    async def references(self, request: Request) -> list[Paper]:
        """The works of a paper's references that the publisher gave a DOI, in order."""
        work = await self._work(request, lambda body: parse(_Deposit, body).message) or {}
        links = work.get("reference")
        if links is None and work.get("reference-count"):
            raise WithheldError(
                f"{self.name}: references of {request.query}: withheld by the publisher",
                source=self.name,
                hint="add another source to literature.cascade",
            )
        dois = [str(one["DOI"]).casefold() for one in links or () if isinstance(one, dict) and one.get("DOI")]
        papers = await self.papers(
            replace(request, query=" ".join(f"DOI:{doi}" for doi in dois if " " not in doi))
        )
        place = {doi: number for number, doi in enumerate(dois)}
        return sorted(papers, key=lambda paper: place.get(paper.doi or "", len(place)))[: request.limit]

    async def _work(self, request: Request, read: Callable[[bytes], T]) -> T | None:
        """One work; None if Crossref does not have the DOI. Any other 404 means a wrong address."""
        if (doi := _doi(request.query)) is None:
            return None
        url = f"{self.address.rstrip('/')}/works/{quote(doi, safe='')}"
        try:
            return await self.get(url, {}, read, f"work {request.query}", until=request.until)
        except LiteratureError as error:
            match error.__cause__:
                case RefusedError(status=404, text=text) if "Resource not found" in text:
                    return None
                case _:
                    raise

    async def _works(
        self, query: Mapping[str, str], start: int, rows: int, request: Request
    ) -> tuple[list[Paper], int]:
        """The papers of one page, and the number of all matches."""

        def read(body: bytes) -> tuple[list[Paper], int]:
            page = parse(_DepositsPage, body).message
            left = page.total if start < page.total and "query.bibliographic" in query else None
            papers = papers_of(page.items, lambda one: _fields(one, request.parts), request, left)
            return papers, page.total

        select = (*_ALWAYS, *(field for part, field in _FIELDS.items() if part in request.parts))
        params = {**query, "select": ",".join(select), "rows": rows, "offset": start}
        url, what = (
            f"{self.address.rstrip('/')}/works",
            "search" if request.operation == "search" else "works",
        )
        return await self.get(url, params, read, what, until=request.until)


def _doi(name: str) -> str | None:
    """A DOI, also of arXiv's preprints as far as publishers gave them one; None for other identifiers."""
    known = identify(name.removeprefix("crossref:"))
    return known.value.casefold() if known.kind == "doi" else None
