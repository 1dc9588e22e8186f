"""PubMed, through NCBI's E-utilities (ncbi.nlm.nih.gov/books/NBK25499)."""

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from xml.etree.ElementTree import Element, tostring
from xml.sax.saxutils import escape

from pydantic import BaseModel, Field

from manyheads.base.http import GarbledError, Pace, RefusedError
from manyheads.base.papers import Paper, identify, year_of
from manyheads.config import SourceName
from manyheads.literature.matching import without_operators
from manyheads.literature.source import (
    ALL,
    HttpService,
    LackingError,
    Part,
    Request,
    T,
    WithheldError,
    papers_of,
    parse,
    read_xml,
    text_at,
)

ADDRESS = "https://eutils.ncbi.nlm.nih.gov"
ALONE, WITH_KEY = Pace(0.34), Pace(0.1)
"""NCBI's limits: three requests a second, with a key ten."""
KEY_ENV = "NCBI_API_KEY"

_PAGE, _MOST = 100, 9_998
"""Articles of one request, and the last one that a search reaches."""
_FIRST, _LAST = dt.date(1000, 1, 1), dt.date(3000, 12, 31)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}


class _Search(BaseModel):
    count: int | None = None
    idlist: list[str] | None = None
    error: str = Field("", alias="ERROR")


class _SearchPage(BaseModel):
    esearchresult: _Search


@dataclass(kw_only=True, eq=False)
class PubMed(HttpService):
    """Articles of PubMed by words, `PMID:…` and `DOI:…`, each first searched for and then fetched; it counts no citations.

    An article's date is that of its electronic version, if it has one.
    """

    name: SourceName = "pubmed"
    tells_retractions: ClassVar[bool] = True
    gives: ClassVar[frozenset[Part]] = frozenset((*ALL.difference(("citations",)), "references"))
    batch: ClassVar[int] = _PAGE
    pace: Pace = ALONE
    address: str = ADDRESS
    key_env: str | None = KEY_ENV

    @property
    def secrets(self) -> Mapping[str, str]:
        return {"api_key": self.key} if self.key else {}

    async def search(self, request: Request) -> list[Paper]:
        """Articles by PubMed's relevance, which knows synonyms."""
        if not (words := without_operators(request.query)):
            return []
        window, dates = request.window, {}
        if window.after or window.before:
            last = window.before - dt.timedelta(days=1) if window.before else _LAST
            dates = {
                "datetype": "pdat",
                "mindate": f"{window.after or _FIRST:%Y/%m/%d}",
                "maxdate": f"{last:%Y/%m/%d}",
            }

        async def page(start: int) -> tuple[list[Paper], int | None]:
            size = min(request.limit, _PAGE)
            ids, total = await self._ids({"term": words, "sort": "relevance", **dates}, start, size, request)
            return await self._articles(ids, request), start + size if start + size < min(
                total, _MOST
            ) else None

        return await self.paged(page, 0, request)

    async def paper(self, request: Request) -> list[Paper]:
        """One article."""
        papers = await self._articles(await self._named([request.query], request), request)
        return _with_dois(papers, [request.query])

    async def papers(self, request: Request) -> list[Paper]:
        """Articles by DOI, a hundred at a time; PubMed has no arXiv numbers."""
        names = [name for name in request.query.split() if identify(name).kind == "doi"]
        papers = list[Paper]()
        for start in range(0, len(names), _PAGE):
            ids = await self._named(names[start : start + _PAGE], request)
            papers += _with_dois(await self._articles(ids, request), names)
        return [*filter(request.window.holds, papers)]

    async def references(self, request: Request) -> list[Paper]:
        """The references of an article that are in PubMed, if it lists them, in order."""
        ids = await self._named([request.query], request)
        cited = await self._fetched(ids, lambda articles: [*map(_cited, articles)], request) if ids else []
        if cited and not cited[0]:
            raise WithheldError(
                f"{self.name}: references of {request.query}: not listed there",
                source=self.name,
                hint="add another source to literature.cascade",
            )
        links = [*dict.fromkeys(cited[0] if cited else [])]

        async def page(start: int) -> tuple[list[Paper], int | None]:
            end = start + _PAGE
            return await self._articles(links[start:end], request), end if end < len(links) else None

        return await self.paged(page, 0, request) if links else []

    async def _named(self, names: Sequence[str], request: Request) -> list[str]:
        """The PubMed numbers of articles; raises `LackingError` for arXiv numbers."""
        terms = list[str]()
        for name in names:
            kind, _, rest = name.rpartition(":")
            if kind.upper() in ("", "PMID", "PUBMED") and rest.isdecimal() and rest.isascii():
                terms.append(f"{rest}[uid]")
            elif (known := identify(name)).kind == "arxiv":
                raise LackingError("PubMed has no arXiv numbers", source=self.name)
            elif known.kind == "doi" and '"' not in known.value:
                terms.append(f'"{known.value}"[doi]')
        if not terms:
            return []
        ids, _ = await self._ids({"term": " OR ".join(terms)}, 0, 2 * _PAGE, request)
        return ids

    async def _ids(
        self, query: Mapping[str, str], start: int, size: int, request: Request
    ) -> tuple[list[str], int]:
        """The numbers of the articles that match, and how many there are."""

        def read(body: bytes) -> tuple[list[str], int]:
            page = parse(_SearchPage, body).esearchresult
            if page.error:
                raise RefusedError(400, text=page.error)
            if page.count is None or page.idlist is None:
                raise GarbledError("neither a count nor numbers")
            return page.idlist, page.count

        params = {
            **query,
            "db": "pubmed",
            "retmode": "json",
            "retstart": start,
            "retmax": size,
            "tool": "manyheads",
        }
        return await self.get(
            self._url("esearch"), params, read, f"search {query['term'][:80]}", until=request.until
        )

    async def _articles(self, ids: Sequence[str], request: Request) -> list[Paper]:
        """The articles with these numbers, in order."""

        def read(articles: list[Element]) -> list[Paper]:
            return papers_of(articles, lambda one: _fields(one, request), request, len(ids))

        place = {f"pubmed:{one}": number for number, one in enumerate(ids)}
        papers = await self._fetched(ids, read, request) if ids else []
        return sorted(papers, key=lambda paper: place.get(paper.id, len(place)))

    async def _fetched(self, ids: Sequence[str], read: Callable[[list[Element]], T], request: Request) -> T:
        params = {"db": "pubmed", "retmode": "xml", "id": ",".join(ids), "tool": "manyheads"}
        what = f"{len(ids)} articles"
        return await self.get(
            self._url("efetch"),
            params,
            lambda body: read([*read_xml(body, "PubmedArticleSet")]),
            what,
            until=request.until,
        )

    def _url(self, tool: str) -> str:
        return f"{self.address.rstrip('/')}/entrez/eutils/{tool}.fcgi"


def _fields(record: Element, request: Request) -> dict[str, Any] | None:
    """An article as the fields of a paper; None for a book."""
    if (article := record.find("MedlineCitation/Article")) is None:
        if record.find("BookDocument") is None:
            raise ValueError("without an article")
        return None
    number = text_at(record, "MedlineCitation/PMID")
    if not number.isdecimal():
        raise ValueError(f"{number[:40]!r} is not a PubMed number")
    if not (title := _markup(article.find("ArticleTitle")).strip()):
        raise ValueError("without a title")
    date, year = _date(article)
    kinds = [(kind.text or "").casefold() for kind in article.iter("PublicationType")]
    dois = [one.text for one in record.findall("PubmedData/ArticleIdList/ArticleId[@IdType='doi']")]
    dois += [one.text for one in article.findall("ELocationID[@EIdType='doi']")]
    parts = (
        f"{label.title() if label.isupper() else label}: {text}" if (label := part.get("Label", "")) else text
        for part in article.findall("Abstract/AbstractText")
        if (text := _markup(part))
    )
    people = [
        " ".join(
            filter(None, (text_at(one, "ForeName") or text_at(one, "Initials"), text_at(one, "LastName")))
        )
        or text_at(one, "CollectiveName")
        for one in article.findall("AuthorList/Author")
    ]
    cited = (
        text_at(one, "ArticleIdList/ArticleId[@IdType='doi']") or text_at(one, "Citation")
        for one in record.findall("PubmedData/ReferenceList//Reference")
    )
    fields = {
        "references": tuple(filter(None, cited)),
        "abstract": " ".join(parts),
        "authors": tuple(filter(None, people)),
        "venue": text_at(article, "Journal/Title") or None,
        "doi": next(filter(None, map(str.strip, filter(None, dois))), None),
        "url": f"https://pubmed.ncbi.nlm.nih.gov/{number}/",
        "retracted": "retracted publication" in kinds,
    }
    return {
        "id": f"pubmed:{number}",
        "source": "pubmed",
        # a title that was translated into English stands in brackets
        "title": re.sub(r"^\[(.*)\]$", r"\1", title.removesuffix(".")).removesuffix("."),
        "year": year,
        "date": date,
    } | {part: value for part, value in fields.items() if part in request.parts}


def _with_dois(papers: Sequence[Paper], names: Sequence[str]) -> list[Paper]:
    """The papers but those with other DOIs: PubMed splits a phrase that it does not find."""
    dois = {known.value.casefold() for known in map(identify, names) if known.kind == "doi"}
    return [paper for paper in papers if not dois or paper.doi is None or paper.doi.casefold() in dois]


def _cited(record: Element) -> list[str]:
    """The PubMed numbers of an article's references."""
    links = record.findall("PubmedData/ReferenceList//ArticleId[@IdType='pubmed']")
    return [number for link in links if (number := (link.text or "").strip()).isdecimal()]


def _date(article: Element) -> tuple[dt.date | None, int | None]:
    """The day and the year of an article: of its electronic version, else of its issue, which may be `1998 Dec-1999 Jan`."""
    for place in ("ArticleDate", "Journal/JournalIssue/PubDate"):
        year, month, day = (text_at(article, f"{place}/{part}") for part in ("Year", "Month", "Day"))
        month = str(_MONTHS.get(month[:3].casefold(), month))
        if year.isdecimal() and month.isdecimal() and day.isdecimal():
            date = dt.date(int(year), int(month), int(day))
            return date, date.year
    year = text_at(article, "Journal/JournalIssue/PubDate/Year")
    year = year or text_at(article, "Journal/JournalIssue/PubDate/MedlineDate")[:4]
    return None, year_of(int(year) if year.isdecimal() and len(year) == 4 else None, None)


def _markup(element: Element | None) -> str:
    """What stands inside an element, with its tags."""
    if element is None:
        return ""
    return escape(element.text or "") + "".join(tostring(child, encoding="unicode") for child in element)
