"""arXiv's Atom API for tests, over a handful of entries."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from support.scholar import Asked, Record, Scholar

FEED = """<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom" \
xmlns="http://www.w3.org/2005/Atom">
  <id>https://arxiv.org/api/cHxbiOdZaP56ODnBPIenZhzg5f8</id>
  <title>arXiv Query</title>
  <updated>2026-11-21T00:00:00Z</updated>
  <opensearch:itemsPerPage>{size}</opensearch:itemsPerPage>
  <opensearch:totalResults>{total}</opensearch:totalResults>
  <opensearch:startIndex>{start}</opensearch:startIndex>
{entries}</feed>"""
ENTRY = """  <entry>
    <id>http://arxiv.org/abs/{number}v2</id>
    <title>{title}</title>
    <updated>2026-01-02T03:04:05Z</updated>
    <summary>{abstract}</summary>
    <category term="cs.RO" scheme="http://arxiv.org/schemas/atom"/>
    <published>{published}T03:04:05Z</published>
{rest}  </entry>
"""
WRONG = """  <entry>
    <id>https://arxiv.org/api/errors#{about}</id>
    <title>Error</title>
    <summary>{about}</summary>
  </entry>
"""
_TERM = re.compile(r"all:(\w+)|submittedDate:\[(\d{8})0000 TO (\d{8})2359\]")


def entry(number: str, title: str, published: str, **known: Any) -> Record:
    """One paper; `known`: abstract, authors, doi, journal_ref."""
    return {"number": number, "title": title, "published": published, "abstract": "", "authors": (), **known}


@dataclass
class ArxivServer(Scholar):
    """The server. `papers` are entries, most relevant first."""

    empty_pages: int = 0
    """So many times a page comes empty though there are papers, as the real one's do now and then."""

    def body(self, asked: Asked) -> str:
        """The feed for a request."""
        params = asked.params
        if asked.path != "/api/query" or not {"search_query", "id_list"} & set(params):
            return _feed([WRONG.format(about="incorrect query")], 1, 0)
        if "id_list" in params:
            found = [one for one in self.papers if one["number"] in params["id_list"].split(",")]
        else:
            terms = [_TERM.fullmatch(term) for term in params["search_query"].split(" AND ")]
            if not all(terms):
                return _feed([WRONG.format(about="malformed search_query")], 1, 0)
            found = [one for one in self.papers if all(term and _fits(one, term) for term in terms)]
        return self._page(found, params)

    def _page(self, found: Sequence[Record], params: Mapping[str, str]) -> str:
        start, size = int(params.get("start", 0)), int(params["max_results"])
        page = found[start : start + size]
        if self.empty_pages and page:
            self.empty_pages, page = self.empty_pages - 1, []
        return _feed([_entry(one) for one in page], len(found), start)


def _fits(one: Record, term: re.Match[str]) -> bool:
    word, first, last = term.groups()
    if word:
        return word.casefold() in re.findall(r"\w+", f"{one['title']} {one['abstract']}".casefold())
    return first <= one["published"].replace("-", "") <= last


def _feed(entries: Sequence[str], total: int, start: int) -> str:
    return FEED.format(size=len(entries), total=total, start=start, entries="".join(entries))


def _entry(one: Record) -> str:
    names = [f"    <author>\n      <name>{escape(name)}</name>\n    </author>\n" for name in one["authors"]]
    extra = [
        f"    <arxiv:{key}>{escape(one[key])}</arxiv:{key}>\n" for key in ("doi", "journal_ref") if key in one
    ]
    plain = {key: escape(str(one[key])) for key in ("number", "title", "abstract", "published")}
    return ENTRY.format(rest="".join(names + extra), **plain)
