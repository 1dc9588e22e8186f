"""NCBI's E-utilities for tests: esearch as JSON, efetch as XML, over a handful of articles."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from support.scholar import Asked, Record, RefusedError, Scholar

SET = """<?xml version="1.0" ?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN" \
"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">
<PubmedArticleSet>{articles}</PubmedArticleSet>"""
ARTICLE = """<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{number}</PMID>
<DateRevised><Year>2026</Year><Month>01</Month><Day>02</Day></DateRevised>
<Article PubModel="Print-Electronic"><Journal><ISSN IssnType="Electronic">1552-4469</ISSN>
<JournalIssue CitedMedium="Internet"><Volume>6</Volume>{issue}</JournalIssue><Title>{journal}</Title></Journal>
<ArticleTitle>{title}</ArticleTitle>{abstract}{authors}<Language>eng</Language>
<PublicationTypeList>{kinds}</PublicationTypeList>{electronic}</Article></MedlineCitation>
<PubmedData><PublicationStatus>ppublish</PublicationStatus><ArticleIdList><ArticleId IdType="pubmed">{number}</ArticleId>
{doi}</ArticleIdList>{references}</PubmedData></PubmedArticle>
"""


def article(number: int, title: str, day: str = "2011-03-04", **known: Any) -> Record:
    """An article; `title`, `abstract`, `authors`, `issue`, `electronic` are XML. `cites` are numbers, `kinds` publication types."""
    year, month, date = day.split("-")
    issue = f"<PubDate><Year>{year}</Year><Month>{month}</Month><Day>{date}</Day></PubDate>"
    return {
        "number": number, "title": title, "day": day, "issue": issue, "journal": "Journal of Owls", "abstract": "", "doi": "",
        "authors": "", "electronic": "", "kinds": ("Journal Article",), "cites": (), **known,
    }  # fmt: skip


@dataclass
class PubMedServer(Scholar):
    """The server. `papers` are articles, most relevant first; `key` is the only one that it takes, if any is sent."""

    def body(self, asked: Asked) -> str:
        params = asked.params
        if params.get("api_key", self.key) != self.key:
            raise RefusedError(400, "API key invalid")
        tool = asked.path.removeprefix("/entrez/eutils/")
        if tool == "esearch.fcgi" and params.get("db") == "pubmed" and params.get("retmode") == "json":
            return json.dumps(
                {"header": {"type": "esearch", "version": "0.3"}, "esearchresult": self._found(params)}
            )
        if tool == "efetch.fcgi" and params.get("retmode") == "xml":
            ids = params["id"].split(",")
            articles = [
                _xml(one) for one in self.papers if str(one["number"]) in ids
            ]  # in the service's order
            return SET.format(articles="".join(articles))
        raise RefusedError(404, "Not Found")

    def _found(self, params: Mapping[str, str]) -> Record:
        start, size = int(params["retstart"]), int(params["retmax"])
        if start > 9998:
            return {"ERROR": "Search Backend failed: 'retstart' cannot be larger than 9998."}
        found = [str(one["number"]) for one in self.papers if _fits(one, params)]
        page = found[start : start + size]
        return {"count": str(len(found)), "retmax": str(len(page)), "retstart": str(start), "idlist": page}


def _fits(one: Record, params: Mapping[str, str]) -> bool:
    day = one["day"].replace("-", "/")
    if not params.get("mindate", "0") <= day <= params.get("maxdate", "9"):
        return False
    term = params["term"]
    if tagged := re.findall(r'"([^"]+)"\[doi\]|(\d+)\[uid\]', term):
        return any(
            (doi and doi.casefold() == one["doi"].casefold()) or number == str(one["number"])
            for doi, number in tagged
        )
    return set(term.casefold().split()) <= set(
        re.findall(r"\w+", f"{one['title']} {one['abstract']}".casefold())
    )


def _xml(one: Record) -> str:
    doi = f'<ArticleId IdType="doi">{escape(one["doi"])}</ArticleId>' if one["doi"] else ""
    kinds = "".join(f'<PublicationType UI="D1">{kind}</PublicationType>' for kind in one["kinds"])
    links = "".join(
        f'<Reference><Citation>An entry.</Citation><ArticleIdList><ArticleId IdType="pubmed">{number}</ArticleId></ArticleIdList></Reference>'
        for number in one["cites"]
    )
    references = f"<ReferenceList>{links}</ReferenceList>" if links else ""
    return ARTICLE.format(**one | {"doi": doi, "kinds": kinds, "references": references})
