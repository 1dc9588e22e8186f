"""Crossref and PubMed against local servers of their shapes: what their records hold, and what is theirs alone."""

import datetime as dt
import json
from typing import Any

import pytest

from manyheads.base.errors import LiteratureError
from manyheads.base.http import Pace
from manyheads.base.papers import Paper, Window
from manyheads.config import LiteratureConfig
from manyheads.literature.crossref import Crossref
from manyheads.literature.library import connect
from manyheads.literature.pubmed import PubMed
from support.crossref import CrossrefServer, crossref_work
from support.pubmed import PubMedServer, article
from support.scholar import Trouble
from support.services import ask, paper_of

JATS = "<jats:title>Abstract</jats:title><jats:p>Owls at p &lt; 0.05 and 10<jats:sup>3</jats:sup> &amp; more.</jats:p>"
OWLS = crossref_work(
    "10.1000/Owls(1)<2>;3", "Owls <i>in vitro</i>", 2014, 6, 30,
    subtitle=["A survey"], abstract=JATS, cites=["10.1000/B", "10.1000/none", "10.1000/A"],
    author=[{"given": "Ada", "family": "Abel", "sequence": "first"}, {"name": "The Owl Group"}, {"family": "Cato"}],
    **{"container-title": ["Journal of Owls"], "is-referenced-by-count": 12},
)  # fmt: skip
WORKS = [
    OWLS,
    crossref_work("10.1000/a", "Owls of a year", 2014),
    crossref_work("10.1000/b", "Owls of a month", 2014, 7),
    crossref_work(
        "10.1000/c", "Owls of no date", **{"updated-by": [{"type": "retraction", "DOI": "10.1000/r"}]}
    ),
    crossref_work("10.1000/d", None, 2014),
    crossref_work("10.1000/e", "Owls and withheld lists", 2015, **{"reference-count": 7}),
    crossref_work("10.1000/f", "Retirement homes in vitro", 2012),
]


def _settings(more: dict[str, Any]) -> dict[str, Any]:
    return {"retries": 1, "patience": 5.0, "backoff": 0.002, "pace": Pace(0)} | more


def crossref(server: CrossrefServer, **more: Any) -> Crossref:
    return Crossref(address=server.url, **_settings(more))


def pubmed(server: PubMedServer, **more: Any) -> PubMed:
    return PubMed(address=server.url, **_settings(more))


async def test_a_work_of_crossref_comes_with_all_that_is_deposited() -> None:
    whole = Paper(
        id="crossref:10.1000/owls(1)<2>;3",
        source="crossref",
        title="Owls in vitro: A survey",
        abstract="Owls at p < 0.05 and 10^3 & more.",
        year=2014,
        date=dt.date(2014, 6, 30),
        citations=12,
        authors=("Ada Abel", "The Owl Group", "Cato"),
        venue="Journal of Owls",
        doi="10.1000/owls(1)<2>;3",
        url="https://doi.org/10.1000/owls%281%29%3C2%3E%3B3",
    )
    with CrossrefServer(papers=WORKS) as server:
        source = crossref(server, mailto="me@example.org")
        [listed] = await ask(source, "search", "owls vitro survey")
        [named] = await ask(source, "paper", "DOI:10.1000/OWLS(1)<2>;3")
        batch = await ask(
            source, "papers", "DOI:10.1000/C DOI:10.1000/owls(1)<2>;3 DOI:10.1000/x,y ARXIV:2101.00001"
        )
        bare = await ask(source, "paper", "DOI:10.1000/c", parts=["retracted"])
        assert (listed, named) == (whole, whole)
        assert [one.doi for one in batch] == ["10.1000/owls(1)<2>;3", "10.1000/c"]
        assert [(one.retracted, one.date, one.year, one.doi) for one in bare] == [
            (True, None, None, "10.1000/c")
        ]
        assert len(server.requests) == 4
        agents = {asked.headers["user-agent"] for asked in server.requests}
        assert len(agents) == 1
        assert agents.pop().endswith("(mailto:me@example.org)")


async def test_crossref_s_search_takes_any_word_and_ours_does_not() -> None:
    with CrossrefServer(papers=WORKS) as server:
        source = crossref(server)
        assert [one.doi for one in await ask(source, "search", "owls in vitro")] == ["10.1000/owls(1)<2>;3"]
        bounds = Window(before=dt.date(2014, 7, 1))
        assert [one.doi for one in await ask(source, "search", "owls", window=bounds)] == [
            "10.1000/owls(1)<2>;3"
        ]
        assert server.requests[-1].params["filter"] == "until-pub-date:2014-06-30"


async def test_references_by_crossref() -> None:
    """In the paper's order, those alone that have a DOI; a list that is counted and not given says nothing."""
    with CrossrefServer(papers=WORKS) as server:
        source = crossref(server)
        found = await ask(source, "references", "DOI:10.1000/owls(1)<2>;3")
        assert [one.doi for one in found] == ["10.1000/b", "10.1000/a"]
        assert await ask(source, "references", "DOI:10.1000/a") == []
        assert await ask(source, "references", "DOI:10.1000/unknown") == []
        with pytest.raises(LiteratureError, match="withheld by the publisher"):
            await ask(source, "references", "DOI:10.1000/e")
        before = len(server.requests)
        assert await paper_of(source, "an owl") is None
        assert len(server.requests) == before


async def test_an_unknown_doi_is_none_and_a_wrong_address_a_failure() -> None:
    with CrossrefServer(papers=WORKS) as server:
        assert await paper_of(crossref(server), "DOI:10.1000/unknown") is None
        wrong = Crossref(address=f"{server.url}/v9", retries=0, patience=5.0, pace=Pace(0))
        with pytest.raises(LiteratureError, match=r"404[\s\S]+literature\.endpoints\.crossref"):
            await paper_of(wrong, "DOI:10.1000/unknown")


ARTICLES = [
    article(
        11, "Owls at 10<sup>3</sup> &lt; <i>x</i>.", "2014-06-30", doi="10.1000/Owls", journal="Owls &amp; Birds", cites=(13, 99, 12),
        issue="<PubDate><Year>2014</Year><Month>Jun</Month><Day>30</Day></PubDate>",
        authors="<AuthorList><Author><LastName>Abel</LastName><ForeName>Ada</ForeName></Author>"
        "<Author><CollectiveName>The Owl Group</CollectiveName></Author></AuthorList>",
        abstract='<Abstract><AbstractText Label="BACKGROUND">Owls <b>plan</b>.</AbstractText>'
        '<AbstractText Label="RESULTS">p &lt; 0.05.</AbstractText></Abstract>',
    ),
    article(12, "[Owls of another tongue].", "2013-12-01", issue="<PubDate><MedlineDate>2013 Dec-2014 Jan</MedlineDate></PubDate>"),
    article(
        13, "Owls in print.", "2015-02-01", kinds=("Journal Article", "Retracted Publication"),
        issue="<PubDate><Year>2015</Year><Month>Feb</Month></PubDate>",
        electronic='<ArticleDate DateType="Electronic"><Year>2014</Year><Month>12</Month><Day>24</Day></ArticleDate>',
    ),
]  # fmt: skip


async def test_an_article_of_pubmed_comes_with_all_that_is_known() -> None:
    with PubMedServer(papers=ARTICLES) as server:
        source = pubmed(server, key="right")
        [one] = await ask(source, "search", "owls plan")
        assert one == Paper(
            id="pubmed:11",
            source="pubmed",
            title="Owls at 10^3 < x",
            abstract="Background: Owls plan. Results: p < 0.05.",
            year=2014,
            date=dt.date(2014, 6, 30),
            authors=("Ada Abel", "The Owl Group"),
            venue="Owls & Birds",
            doi="10.1000/Owls",
            url="https://pubmed.ncbi.nlm.nih.gov/11/",
        )
        for name in ("11", "PMID:11", "DOI:10.1000/owls"):
            assert await ask(source, "paper", name) == [one]
        [other] = await ask(source, "paper", "12")
        assert (other.title, other.year, other.date) == ("Owls of another tongue", 2013, None)
        [printed] = await ask(source, "paper", "13", parts=["retracted"])
        assert (printed.date, printed.year, printed.retracted, printed.url) == (
            dt.date(2014, 12, 24),
            2014,
            True,
            None,
        )
        assert [each.id for each in await ask(source, "references", "11")] == ["pubmed:13", "pubmed:12"]
        with pytest.raises(LiteratureError, match="not listed"):
            await ask(source, "references", "12")
        with pytest.raises(LiteratureError, match="no arXiv numbers"):
            await ask(source, "paper", "ARXIV:2101.00001")
        assert await ask(source, "paper", "404") == await ask(source, "references", "404") == []
        assert [
            each.id
            for each in await ask(source, "papers", "DOI:10.1000/OWLS DOI:10.1000/none ARXIV:2101.00001")
        ] == [one.id]
        assert {asked.params["api_key"] for asked in server.requests} == {"right"}


async def test_an_article_with_another_doi_is_not_the_one_asked_for() -> None:
    """PubMed splits a phrase that it does not find."""
    split = json.dumps({"esearchresult": {"count": "1", "idlist": ["11"]}})
    with PubMedServer(papers=ARTICLES, troubles=[Trouble("body", None, "esearch", body=split)]) as server:
        assert await paper_of(pubmed(server), "DOI:10.1000/none") is None
        assert await ask(pubmed(server), "papers", "DOI:10.1000/none") == []


async def test_pubmed_s_key_goes_to_nobody_to_whom_it_sends_us_on() -> None:
    with PubMedServer(papers=ARTICLES) as other:
        place = {"Location": f"{other.url}/entrez/eutils/esearch.fcgi?api_key=right&x=1"}
        with PubMedServer(troubles=[Trouble("status", None, status=302, headers=place)]) as first:
            with pytest.raises(LiteratureError) as caught:
                await ask(pubmed(first, key="right"), "search", "owls")
            assert {asked.params["api_key"] for asked in first.requests} == {"right"}
        assert other.requests
        assert not any("api_key" in asked.params for asked in other.requests)
        assert "right" not in str(caught.value)


def test_the_pace_is_the_services(monkeypatch: pytest.MonkeyPatch) -> None:
    def pace(name: Any) -> Any:
        return getattr(connect(name, LiteratureConfig()), "pace")  # noqa: B009

    assert (pace("crossref"), pace("pubmed")) == (Pace(1.0, at_once=1), Pace(0.34))
    monkeypatch.setenv("CROSSREF_MAILTO", "me@example.org")
    monkeypatch.setenv("NCBI_API_KEY", "k")
    assert (pace("crossref"), pace("pubmed")) == (Pace(0.34, at_once=3), Pace(0.1))
