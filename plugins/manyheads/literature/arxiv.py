"""arXiv, through its Atom API (info.arxiv.org/help/api/user-manual)."""

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from xml.etree.ElementTree import Element

from manyheads.base.http import GarbledError, Pace, RefusedError
from manyheads.base.papers import ARXIV_NUMBER, Paper, identify
from manyheads.config import SourceName
from manyheads.literature.matching import salient
from manyheads.literature.source import (
    ALL,
    HttpService,
    LackingError,
    Part,
    Request,
    papers_of,
    read_xml,
    text_at,
)

_PAGE = 100
_MOST_WORDS = 32
_FIRST, _LAST = dt.date(1990, 1, 1), dt.date(2199, 12, 31)
_ATOM = "{http://www.w3.org/2005/Atom}"
_OPENSEARCH = "{http://a9.com/-/spec/opensearch/1.1/}"
_ARXIV = "{http://arxiv.org/schemas/atom}"


@dataclass(kw_only=True, eq=False)
class Arxiv(HttpService):
    """Preprints by words and by number; arXiv has no references.

    Papers are identified by number, by `ARXIV:…` and by arXiv's own `DOI:10.48550/arXiv.…`. A paper's date is that of its
    first version.
    """

    name: SourceName = "arxiv"
    address: str = "https://export.arxiv.org"
    paces: ClassVar[tuple[Pace, Pace]] = (Pace(3.0, at_once=1), Pace(3.0, at_once=1))
    """arXiv's terms of use: one request every three seconds, on a single connection."""
    gives: ClassVar[frozenset[Part]] = ALL.difference(("citations",))
    lacking: ClassVar[Mapping[str, str]] = {
        "papers": "arXiv supports only one paper per request",
        "references": "arXiv has no references",
    }

    async def search(self, request: Request) -> list[Paper]:
        """Papers with all the words, except stop words, most relevant first."""
        terms, window = salient(request.query, _MOST_WORDS), request.window
        words = [f"all:{word}" for term in terms for word in re.findall(r"\w+", term)]
        if not words:
            return []
        if window.after or window.before:
            first, last = window.after or _FIRST, window.last or _LAST
            words.append(f"submittedDate:[{first:%Y%m%d}0000 TO {last:%Y%m%d}2359]")
        size = min(request.limit, _PAGE)

        async def page(start: int) -> tuple[list[Paper], int]:
            query = {"search_query": " AND ".join(words), "sortBy": "relevance"}
            return await self._feed({**query, "start": start, "max_results": size}, request)

        return await self.numbered(page, size, request)

    async def paper(self, request: Request) -> list[Paper]:
        """One paper by its number; a version at its end is ignored."""
        if (number := _number(request.query)) is None:
            return []
        papers, _ = await self._feed({"id_list": number, "max_results": 1}, request)
        return [paper for paper in papers if paper.id == f"arxiv:{number}"]

    async def _feed(self, params: dict[str, str | int], request: Request) -> tuple[list[Paper], int]:
        """The papers of one page, and the total number."""
        return await self.ask("/api/query", params, lambda body: _read(body, request), request)


def _number(paper_id: str) -> str | None:
    """An arXiv number without its version; None if it is not one. Raises `LackingError` for other DOIs."""
    known = identify(paper_id)
    if known.kind == "doi":
        raise LackingError("arXiv only knows its own DOIs", source="arxiv")
    return known.value if known.kind == "arxiv" and ARXIV_NUMBER.fullmatch(known.value) else None


def _read(body: bytes, request: Request) -> tuple[list[Paper], int]:
    """Raises `GarbledError` for anything but a feed, and for an empty page within a list, which arXiv sometimes sends."""
    feed = read_xml(body, f"{_ATOM}feed")
    entries = feed.findall(f"{_ATOM}entry")
    if any("/api/errors" in text_at(entry, f"{_ATOM}id") for entry in entries):
        raise RefusedError(400, text=text_at(entries[0], f"{_ATOM}summary"))
    total, start = _count(feed, "totalResults"), _count(feed, "startIndex")
    left = total if start < total and request.operation == "search" else None
    return papers_of(entries, _fields, request, left), total


def _fields(entry: Element) -> dict[str, Any] | None:
    """None for an empty entry, which arXiv may send for an unknown number."""
    number = re.sub(r"v\d+$", "", text_at(entry, f"{_ATOM}id").partition("/abs/")[2])
    title, day = text_at(entry, f"{_ATOM}title"), text_at(entry, f"{_ATOM}published")
    if not (number or title):
        return None
    if not (number and title):
        raise ValueError("without a title" if number else "without a number")
    date = dt.datetime.fromisoformat(day).date() if day else None
    names = [text_at(one, f"{_ATOM}name") for one in entry.findall(f"{_ATOM}author")]
    return {
        "id": f"arxiv:{number}",
        "source": "arxiv",
        "title": title,
        "abstract": text_at(entry, f"{_ATOM}summary"),
        "year": date and date.year,
        "date": date,
        "authors": tuple(filter(None, names)),
        "venue": text_at(entry, f"{_ARXIV}journal_ref") or None,
        "doi": text_at(entry, f"{_ARXIV}doi") or None,
        "url": f"https://arxiv.org/abs/{number}",
        "open_text": f"https://arxiv.org/pdf/{number}",
    }


def _count(feed: Element, name: str) -> int:
    text = text_at(feed, f"{_OPENSEARCH}{name}")
    if not (text.isdecimal() and len(text) < 20):
        raise GarbledError(f"the feed has no {name}")
    return int(text)
