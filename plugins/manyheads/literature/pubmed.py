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
from manyheads.literature import source
from manyheads.literature.matching import without_operators
from manyheads.literature.source import HttpService, LackingError, Part, Request, T, text_at

_PAGE, _MOST = 100, 9_998
"""Articles of one request, and the last one that a search reaches."""
_FIRST, _LAST = dt.date(1000, 1, 1), dt.date(3000, 12, 31)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


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
    gives: ClassVar[frozenset[Part]] = source.WITH_REFERENCES.difference(("citations",))
    batch: ClassVar[int] = _PAGE
    address: str = "https://eutils.ncbi.nlm.nih.gov"
    paces: ClassVar[tuple[Pace, Pace]] = (Pace(0.34), Pace(0.1))
    """NCBI's limits: three requests a second, with a key ten."""
    key_env: str | None = "NCBI_API_KEY"

    @property
    def secrets(self) -> Mapping[str, str]:
        return {"api_key": self.key} if self.key else {}

    async def search(self, request: Request) -> list[Paper]:
        """Articles by PubMed's relevance, which knows synonyms."""
        if not (words := without_operators(request.query)):
            return []
        window, size = request.window, min(request.limit, _PAGE)
        query = {"term": words, "sort": "relevance"}
        if window.after or window.before:
            first, last = (f"{day:%Y/%m/%d}" for day in (window.after or _FIRST, window.last or _LAST))
            query |= {"datetype": "pdat", "mindate": first, "maxdate": last}

        async def page(start: int) -> tuple[list[Paper], int]:
            ids, total = await self._ids(query, start, size, request)
            return await self._articles(ids, request), min(total, _MOST)

        return await self.numbered(page, size, request)

    async def paper(self, request: Request) -> list[Paper]:
        """One article."""
        papers = await self._articles(await self._named([request.query], request), request)
        return _with_dois(papers, [request.query])

    def own_name(self, name: str) -> str | None:
        """A DOI; PubMed has no arXiv numbers."""
        return name if identify(name).kind == "doi" else None

    async def batch_of(self, names: Sequence[str], request: Request) -> list[Paper]:
        return _with_dois(await self._articles(await self._named(names, request), request), names)

    async def references(self, request: Request) -> list[Paper]:
        """The references of an article that are in PubMed, if it lists them, in order."""
        ids = await self._named([request.query], request)
        cited = await self._fetched(ids, lambda articles: [*map(_cited, articles)], request) if ids else []
        if cited and not cited[0]:
            raise self.withheld(request, "not listed there")
        links = cited[0] if cited else []
        return await self.linked(links, lambda some: self._articles(some, request), request)

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
            page = source.parse(_SearchPage, body).esearchresult
            if page.error:
                raise RefusedError(400, text=page.error)
            if page.count is None or page.idlist is None:
                raise GarbledError("neither a count nor numbers")
            return page.idlist, page.count

        params = {**query, "retmode": "json", "retstart": start, "retmax": size}
        return await self._tool("esearch", params, read, request)

    async def _articles(self, ids: Sequence[str], request: Request) -> list[Paper]:
        """The articles with these numbers, in order."""

        def read(articles: list[Element]) -> list[Paper]:
            return source.papers_of(articles, source.requested(_fields, request), request, len(ids))

        return source.in_order(await self._fetched(ids, read, request), ids) if ids else []

    async def _fetched(self, ids: Sequence[str], read: Callable[[list[Element]], T], request: Request) -> T:
        params: dict[str, str | int] = {"retmode": "xml", "id": ",".join(ids)}
        return await self._tool(
            "efetch", params, lambda body: read([*source.read_xml(body, "PubmedArticleSet")]), request
        )

    async def _tool(
        self, tool: str, params: dict[str, str | int], read: Callable[[bytes], T], request: Request
    ) -> T:
        params |= {"db": "pubmed", "tool": "manyheads"}
        return await self.ask(f"/entrez/eutils/{tool}.fcgi", params, read, request)


def _fields(record: Element) -> dict[str, Any] | None:
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
    return {
        "id": f"pubmed:{number}",
        "source": "pubmed",
        # a title that was translated into English stands in brackets
        "title": re.sub(r"^\[(.*)\]$", r"\1", title.removesuffix(".")).removesuffix("."),
        "year": year,
        "date": date,
        "references": tuple(filter(None, cited)),
        "abstract": " ".join(parts),
        "authors": tuple(filter(None, people)),
        "venue": text_at(article, "Journal/Title") or None,
        "doi": next(filter(None, map(str.strip, filter(None, dois))), None),
        "url": f"https://pubmed.ncbi.nlm.nih.gov/{number}/",
        "retracted": "retracted publication" in kinds,
    }


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
        if (name := month[:3].casefold()) in _MONTHS:
            month = str(_MONTHS.index(name) + 1)
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
