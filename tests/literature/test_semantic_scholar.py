"""Semantic Scholar's look-ups against a local server of its shapes: answers, bounds, and every way to fail."""

import datetime as dt
import inspect
import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from semanticscholar import AsyncSemanticScholar
from semanticscholar.ApiRequester import ApiRequester
from semanticscholar.PaginatedResults import PaginatedResults

from manyheads.base.errors import LiteratureError
from manyheads.base.http import Pace
from manyheads.base.papers import Paper, Window
from manyheads.literature.semantic_scholar import SemanticScholar, _Requester
from manyheads.literature.source import ALL, Operation, Request
from support.scholar import Record, Scholar, Trouble, record
from support.services import ask, paper_of

A, B, C, D, E = ("abcde"[number] * 40 for number in range(5))
PAPERS = (
    record(
        A,
        "Tactile  fingers\nfor fruit",
        abstract="Soft fingers grasp fruit.",
        year=2014,
        publicationDate="2014-06-30",
        citationCount=12,
        venue="ICRA",
        authors=[{"authorId": "1", "name": "Ada Abel"}, {"authorId": None, "name": "Bo Berg"}],
        externalIds={"DOI": "10.1000/a(1)<2>;3/b?c#d", "CorpusId": 77, "ArXiv": "1406.00001"},
        url="https://www.semanticscholar.org/paper/" + A,
    ),
    record(B, "Fruit without a day", year=2014),
    record(C, "Fruit of which nothing is known"),
    record(D, "Fruit of next year", year=2015, publicationDate="2015-01-01", authors=[], venue=""),
    record(E, "Weighing fruit", year=2010, publicationDate="2010-02-03", abstract="Scales."),
)
CITES = {A: [E, "A book that is not held", B, D], D: [A], B: None, E: [A]}
LookUp = Callable[[SemanticScholar], Coroutine[Any, Any, object]]
LOOK_UPS: dict[str, LookUp] = {
    "search": lambda source: ask(source, "search", "fruit"),
    "paper": lambda source: paper_of(source, A),
    "references": lambda source: ask(source, "references", A),
}


@pytest.fixture
def scholar() -> Iterator[Scholar]:
    with Scholar(papers=PAPERS, cites=CITES) as scholar:
        yield scholar


def asking(url: str, key: str | None = None, **settings: Any) -> SemanticScholar:
    given: dict[str, Any] = {"retries": 2, "patience": 5.0, "backoff": 0.002, "pace": Pace(0)} | settings
    return SemanticScholar(address=url, key_env="S2_KEY", key=key, **given)


@pytest.fixture
def source(scholar: Scholar) -> SemanticScholar:
    return asking(scholar.url)


def ids(papers: list[Paper]) -> list[str]:
    return [paper.id.removeprefix("semantic_scholar:")[0] for paper in papers]


@pytest.mark.parametrize(
    ("known", "address"),
    [
        ({"openAccessPdf": {"url": "https://a.example/1.pdf", "status": "GREEN"}}, "https://a.example/1.pdf"),
        (
            {"openAccessPdf": {"url": ""}, "externalIds": {"ArXiv": "1406.00001"}},
            "https://arxiv.org/pdf/1406.00001",
        ),
        ({"externalIds": {"ArXiv": "1406.00001"}}, "https://arxiv.org/pdf/1406.00001"),
        ({}, None),
    ],
)
async def test_where_a_text_is_open_is_told_if_it_is_asked_for(
    source: SemanticScholar, scholar: Scholar, known: Record, address: str | None
) -> None:
    """As the service says, else on arXiv."""
    scholar.papers = [record("a" * 40, "Tactile", **known)]
    [told] = await ask(source, "search", "tactile", parts=["doi", "open_text"])
    [unasked] = await ask(source, "search", "tactile", parts=["doi"])
    assert (told.open_text, unasked.open_text) == (address, None)


async def test_a_paper_comes_with_all_that_is_known(source: SemanticScholar) -> None:
    assert await paper_of(source, A) == Paper(
        id=f"semantic_scholar:{A}",
        source="semantic_scholar",
        title="Tactile fingers for fruit",
        abstract="Soft fingers grasp fruit.",
        year=2014,
        date=dt.date(2014, 6, 30),
        citations=12,
        authors=("Ada Abel", "Bo Berg"),
        author_ids=("semantic_scholar:1", ""),
        venue="ICRA",
        doi="10.1000/a(1)<2>;3/b?c#d",
        url=f"https://www.semanticscholar.org/paper/{A}",
    )


async def test_what_is_not_known_is_not_made_up(source: SemanticScholar) -> None:
    bare = Paper(
        id=f"semantic_scholar:{C}", source="semantic_scholar", title="Fruit of which nothing is known"
    )
    assert await paper_of(source, C) == bare
    assert bare in await ask(source, "search", "nothing is known")


async def test_only_what_is_wanted_is_asked_for(scholar: Scholar, source: SemanticScholar) -> None:
    await ask(source, "search", "fruit", parts=())
    await ask(source, "search", "fruit", parts=("abstract", "doi"))
    await ask(source, "search", "fruit", parts=(), window=Window(before=dt.date(2015, 1, 1)))
    await ask(source, "search", "fruit", parts=ALL)
    plain = "paperId,title,year"
    assert [asked.params["fields"] for asked in scholar.requests] == [
        plain,
        f"{plain},abstract,externalIds",
        f"{plain},publicationDate",
        f"{plain},abstract,authors,venue,citationCount,publicationDate,externalIds,url",
    ]


async def test_nothing_newer_than_the_bound_leaks_in(scholar: Scholar, source: SemanticScholar) -> None:
    # the service counts a year from its first day: its own bound lets through what may be of December
    half = Window(after=dt.date(2014, 1, 1), before=dt.date(2014, 7, 1))
    assert ids(await ask(source, "search", "fruit", window=half)) == ["a"]
    assert scholar.requests[-1].params["publicationDateOrYear"] == "2014-01-01:2014-06-30"
    window = Window(before=dt.date(2015, 1, 1))
    assert ids(await ask(source, "references", A, window=window)) == ["e", "b"]


@pytest.mark.parametrize("look_up", ["search", "references"])
async def test_a_window_without_a_day_holds_nothing(
    scholar: Scholar, source: SemanticScholar, look_up: Operation
) -> None:
    day = dt.date(2014, 1, 1)
    assert await ask(source, look_up, A, window=Window(after=day, before=day)) == []
    assert await ask(source, look_up, A, limit=0) == []
    assert scholar.requests == []


def many(number: int) -> list[Record]:
    return [record(f"{one:040x}", f"Fruit {one}", year=2000 + one % 10) for one in range(number)]


async def test_no_page_is_asked_for_beyond_the_service_s_end(
    scholar: Scholar, source: SemanticScholar
) -> None:
    scholar.papers = many(1_200)
    assert len(await ask(source, "search", "fruit", 1_200)) == 1_000
    scholar.requests.clear()
    old = Window(before=dt.date(2000, 1, 1))
    assert await ask(source, "search", "fruit", 30, window=old) == []
    assert all(
        int(asked.params["offset"]) + int(asked.params["limit"]) <= 1_000 for asked in scholar.requests
    )


@pytest.mark.parametrize("number", [146, 200])
async def test_a_search_that_counts_more_than_it_gives_ends_where_it_ends(
    scholar: Scholar, source: SemanticScholar, number: int
) -> None:
    scholar.papers, scholar.ungiven = many(number), 76
    assert len(await ask(source, "search", "fruit", 400)) == number
    scholar.troubles.append(
        Trouble("status", times=None, status=400, body='{"error": "Requested data is not available"}')
    )
    with pytest.raises(LiteratureError, match="400"):
        await ask(source, "search", "fruit")


async def test_references_are_read_on_until_enough_lie_inside(
    scholar: Scholar, source: SemanticScholar
) -> None:
    papers = many(1_500)
    scholar.papers = [*papers, PAPERS[0]]
    scholar.cites = {A: [one["paperId"] for one in papers]}
    found = await ask(source, "references", A, 130, window=Window(before=dt.date(2001, 1, 1)), parts=())
    assert {paper.year for paper in found} == {2000}
    assert len(found) == 130
    assert [asked.params["offset"] for asked in scholar.requests] == ["0", "1000"]


async def test_what_is_cited_but_not_held_is_left_out(source: SemanticScholar) -> None:
    assert ids(await ask(source, "references", A)) == ["e", "b", "d"]
    assert ids(await ask(source, "references", A, 2)) == ["e", "b"]


async def test_references_that_a_publisher_withholds_are_not_taken_for_none(source: SemanticScholar) -> None:
    with pytest.raises(LiteratureError, match=r"references of b+: withheld by the publisher") as caught:
        await ask(source, "references", B)
    assert caught.value.source == "semantic_scholar"


@pytest.mark.parametrize(
    "paper_id",
    [A, "DOI:10.1000/a(1)<2>;3/b?c#d", "doi:10.1000/a(1)<2>;3/b?c#d", "CorpusId:77", "arXiv:1406.00001"],
)
async def test_papers_are_taken_by_several_kinds_of_ids(
    scholar: Scholar, source: SemanticScholar, paper_id: str
) -> None:
    found = await paper_of(source, paper_id)
    assert found is not None
    assert found.id == f"semantic_scholar:{A}"
    raw = scholar.requests[-1].raw_path
    assert raw.startswith("/graph/v1/paper/")
    assert not set("?#<>;() ") & set(raw)


@pytest.mark.parametrize(
    "paper_id",
    [
        "",
        "Fruit",
        "../author/1",
        "DOI:../../author/1",
        "DOI:10.1/../x",
        "DOI:/x",
        "DOI:",
        "URL:http://x/",
        A.upper(),
    ],
)
async def test_what_is_no_id_is_never_sent(scholar: Scholar, source: SemanticScholar, paper_id: str) -> None:
    assert await paper_of(source, paper_id) is None
    assert await ask(source, "references", paper_id) == []
    assert scholar.requests == []


@pytest.mark.parametrize(
    "words", ["fruit&limit=1&fields=title", "50% fruit + #1?", "a=b;c", "früchte \ud800"]
)
async def test_words_stay_words(scholar: Scholar, source: SemanticScholar, words: str) -> None:
    await ask(source, "search", words, 7)
    for asked in scholar.requests:
        assert asked.params["query"] == words.replace("\ud800", "?")
        assert asked.params["limit"] == "7"


async def test_hyphens_go_as_the_service_finds_nothing_with_them(
    scholar: Scholar, source: SemanticScholar
) -> None:
    scholar.papers = [record(A, "Multi agent fruit")]
    assert ids(await ask(source, "search", "multi-agent  fruit")) == ["a"]


@pytest.mark.parametrize("look_up", LOOK_UPS)
async def test_the_key_goes_with_every_look_up(scholar: Scholar, look_up: Operation) -> None:
    source = asking(scholar.url, "right")
    await LOOK_UPS[look_up](source)
    assert [asked.headers.get("x-api-key") for asked in scholar.requests] == ["right"]


async def test_a_page_that_fails_fails_the_look_up(scholar: Scholar, source: SemanticScholar) -> None:
    scholar.papers = many(230)
    assert len(await ask(source, "search", "fruit", 100)) == 100
    scholar.troubles.append(Trouble("status", status=503, times=None))
    with pytest.raises(LiteratureError, match="503"):
        await ask(source, "search", "fruit", 230)


async def test_the_key_goes_to_nobody_to_whom_the_service_sends_us_on(scholar: Scholar) -> None:
    elsewhere = {
        "Location": f"{scholar.url}/graph/v1/paper/search?query=fruit&fields=title&offset=0&limit=10"
    }
    moved = Trouble("status", None, status=302, headers=elsewhere)
    with Scholar(troubles=[moved]) as first:
        source = asking(first.url, scholar.key)
        assert ids(await ask(source, "search", "fruit"))
        assert {asked.headers.get("x-api-key") for asked in first.requests} == {scholar.key}
    assert {asked.headers.get("x-api-key") for asked in scholar.requests} == {None}


async def test_odd_records_of_the_wild_cost_themselves(scholar: Scholar) -> None:
    source = asking(scholar.url, retries=0)
    good: dict[str, Any] = {
        "paperId": A,
        "title": "Fruit <i>in vitro</i>",
        "abstract": "Half \ud800 a letter.",
        "citationCount": -5,
        "year": True,
    }
    odd = [{**good, "authors": [None]}, None, {**good, "publicationDate": "2019-00-00"}, {**good, "title": 5}]
    scholar.troubles[:] = [Trouble("body", body=json.dumps({"offset": 0, "data": [*odd, good]}))]
    request = Request("search", "fruit")
    (paper,) = await source.look_up(request)
    assert (paper.title, paper.citations, paper.year) == ("Fruit in vitro", None, None)
    assert "a letter." in paper.abstract
    assert [fault.partition(" (")[0] for fault in request.faults] == ["4 of 5 records cannot be read"]


async def test_an_answer_that_grows_is_left_at_a_bound(scholar: Scholar) -> None:
    source = asking(scholar.url, retries=0)
    scholar.troubles[:] = [Trouble("body", body='{"data": [' + "[]," * 500_000 + "0]}")]
    with pytest.raises(LiteratureError, match="more than 500,000 values"):
        await ask(source, "search", "fruit")


async def test_an_answer_from_where_the_service_sends_us_on_is_told_with_its_place(scholar: Scholar) -> None:
    source = asking(scholar.url, retries=0)
    scholar.troubles[:] = [Trouble("status", None, status=301, headers={"Location": "/login"})]
    with pytest.raises(LiteratureError, match=r"too many redirections.*/login.*\(301\)"):
        await ask(source, "search", "fruit")


def test_the_package_has_the_private_part_that_is_replaced() -> None:
    client = AsyncSemanticScholar(retry=False)
    assert type(vars(client)["_requester"]) is ApiRequester
    own, ours = (inspect.signature(kind.get_data_async) for kind in (ApiRequester, _Requester))
    assert [*own.parameters] == [*ours.parameters]
    assert inspect.iscoroutinefunction(ApiRequester.get_data_async)
    assert "self._requester.get_data_async" in inspect.getsource(PaginatedResults)


async def test_a_later_page_may_hold_no_paper(scholar: Scholar, source: SemanticScholar) -> None:
    first = {
        "total": 1200,
        "offset": 0,
        "next": 100,
        "data": [{"paperId": A, "title": "Fruit", "year": 2011}] * 100,
    }
    for last in ([], [{"paperId": A, "title": None}]):
        later = {"total": 1200, "offset": 100, "data": last}
        scholar.troubles[:] = [Trouble("body", body=json.dumps(page)) for page in (first, later)]
        assert ids(await ask(source, "search", "fruit", 200)) == ["a"]
