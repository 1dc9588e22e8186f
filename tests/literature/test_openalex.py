"""OpenAlex' look-ups against a local server of its shapes: answers, bounds, and every way to fail."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest

from manyheads.base.errors import LiteratureError
from manyheads.base.http import Pace
from manyheads.base.papers import Paper, Window
from manyheads.literature.openalex import OpenAlex
from manyheads.literature.source import Operation
from support.openalex import OpenAlexServer, work
from support.scholar import Trouble
from support.services import ask, paper_of

WORKS = (
    work(
        1,
        "Tactile  fingers\nfor fruit",
        abstract="Soft fingers grasp soft fruit.",
        publication_year=2014,
        publication_date="2014-06-30",
        cited_by_count=12,
        doi="https://doi.org/10.1000/a(1)<2>;3/b?c#d",
        primary_location={"source": {"display_name": "ICRA"}},
        authorships=[
            {"author": {"display_name": "Ada Abel"}, "raw_author_name": "A. Abel"},
            {"author": {"display_name": None}, "raw_author_name": "Bo Berg"},
            {"author": None, "raw_author_name": None},
        ],
        cites=[4, 404, 2, 3],
        related=[4, 2],
    ),
    work(2, "Fruit of next year", publication_year=2015, publication_date="2015-01-01", cites=[1]),
    work(3, None, publication_year=2012, publication_date="2012-05-05"),
    work(
        4, "Weighing fruit", publication_year=2010, publication_date="2010-02-03", cites=[1], cited_by_count=9
    ),
    work(5, "Fruit of which nothing is known", cites=[1], primary_location={"source": None}),
)
MANY = [
    work(100 + number, f"Grain {number}", publication_year=2011, publication_date="2011-01-01")
    for number in range(230)
]
BEFORE = Window(before=dt.date(2015, 1, 1))


@pytest.fixture
def server() -> Iterator[OpenAlexServer]:
    with OpenAlexServer(papers=[*WORKS, *MANY]) as server:
        yield server


def asking(url: str, key: str | None = None, mailto: str | None = None, **changes: Any) -> OpenAlex:
    given: dict[str, Any] = {"retries": 2, "patience": 5.0, "backoff": 0.01, "pace": Pace(0)} | changes
    return OpenAlex(address=url, key=key, mailto=mailto, **given)


@pytest.fixture
def source(server: OpenAlexServer) -> OpenAlex:
    return asking(server.url)


def ids(papers: list[Paper]) -> list[str]:
    return [paper.id.removeprefix("openalex:") for paper in papers]


async def test_a_work_is_given_with_all_that_is_known_of_it(source: OpenAlex) -> None:
    [paper] = await ask(source, "search", "tactile fingers")
    assert paper == Paper(
        id="openalex:W1",
        source="openalex",
        title="Tactile fingers for fruit",
        abstract="Soft fingers grasp soft fruit.",
        year=2014,
        date=dt.date(2014, 6, 30),
        citations=12,
        authors=("Ada Abel", "Bo Berg"),
        venue="ICRA",
        doi="10.1000/a(1)<2>;3/b?c#d",
        url="https://openalex.org/W1",
    )


@pytest.mark.parametrize(
    ("place", "address"),
    [
        ({"pdf_url": "https://a.example/1.pdf"}, "https://a.example/1.pdf"),
        ({"pdf_url": None}, None),
        (None, None),
    ],
)
async def test_where_a_text_is_open_is_told_if_it_is_asked_for(
    server: OpenAlexServer, place: dict[str, Any] | None, address: str | None
) -> None:
    server.papers = [work(1, "Tactile", best_oa_location=place)]
    source = asking(server.url)
    [told] = await ask(source, "search", "tactile", parts=["open_text"])
    [unasked] = await ask(source, "search", "tactile", parts=[])
    assert (told.open_text, unasked.open_text) == (address, None)


async def test_what_is_null_stays_unknown_and_a_work_without_title_is_left_out(source: OpenAlex) -> None:
    papers = {paper.id: paper for paper in await ask(source, "references", "W1")}
    assert set(papers) == {"openalex:W4", "openalex:W2"}
    [unknown] = [paper for paper in await ask(source, "search", "nothing known") if paper.id == "openalex:W5"]
    assert (unknown.year, unknown.date, unknown.abstract, unknown.venue) == (None, None, "", None)


async def test_only_the_fields_of_the_parts_are_asked_for(source: OpenAlex, server: OpenAlexServer) -> None:
    [paper] = await ask(source, "search", "tactile", parts=["abstract"])
    assert paper.abstract
    assert (paper.authors, paper.venue, paper.citations, paper.doi) == ((), None, None, None)
    assert server.requests[-1].params["select"].split(",") == [
        "id", "title", "publication_year", "publication_date", "abstract_inverted_index",
    ]  # fmt: skip


@pytest.mark.parametrize("look_up", ["search", "references"])
async def test_nothing_newer_than_the_bound_or_undated_comes(source: OpenAlex, look_up: Operation) -> None:
    asked = "fruit" if look_up == "search" else "W1"
    free = ids(await ask(source, look_up, asked))
    bound = ids(await ask(source, look_up, asked, window=BEFORE))
    assert {"W2", "W5"} & set(free)
    assert bound
    assert not {"W2", "W5"} & set(bound)


async def test_a_service_that_ignores_the_bound_leaks_nothing() -> None:
    class Forgetful(OpenAlexServer):
        def answer(self, asked: Any) -> Any:
            asked.params.pop("filter", None)
            return super().answer(asked)

    with Forgetful(papers=WORKS) as server:
        source = asking(server.url)
        assert ids(await ask(source, "search", "fruit", window=BEFORE)) == ["W1", "W4"]


async def test_references_come_in_their_order_a_hundred_ids_at_a_time(server: OpenAlexServer) -> None:
    citing = work(9, "Survey", cites=[100 + number for number in reversed(range(230))])
    with OpenAlexServer(papers=[citing, *MANY]) as server:
        source = asking(server.url)
        found = ids(await ask(source, "references", "W9", 120))
        assert found == [f"W{100 + number}" for number in reversed(range(110, 230))]
        assert len(server.requests) == 3


@pytest.mark.parametrize("name", ["W1", "w1", "DOI:10.1000/a(1)<2>;3/b?c#d", "doi:10.1000/A(1)<2>;3/B?c#d"])
async def test_a_work_is_found_by_id_and_doi(source: OpenAlex, name: str) -> None:
    paper = await paper_of(source, name)
    assert paper is not None
    assert paper.id == "openalex:W1"


async def test_an_arxiv_number_is_looked_up_by_its_doi(source: OpenAlex, server: OpenAlexServer) -> None:
    assert await paper_of(source, "ARXIV:2101.00001") is None
    assert server.requests[0].path == "/works/doi:10.48550/arxiv.2101.00001"


@pytest.mark.parametrize("name", ["W404", "DOI:10.1/none"])
async def test_a_work_that_does_not_exist_is_none(source: OpenAlex, name: str) -> None:
    assert await paper_of(source, name) is None
    assert await ask(source, "references", name) == []


async def test_what_cannot_be_an_id_is_not_sent(source: OpenAlex, server: OpenAlexServer) -> None:
    assert [await paper_of(source, name) for name in ("../authors/A1", "W1/../../x", "W1?select=id", "")] == [
        None
    ] * 4
    assert await ask(source, "search", '"?!" (*)') == []
    assert not server.requests


async def test_operators_in_a_query_are_words(source: OpenAlex, server: OpenAlexServer) -> None:
    assert ids(await ask(source, "search", '"tactile" AND (fing*ers OR fruit) & select=id#')) == []
    assert server.requests[-1].params["search"] == "tactile and fing ers or fruit select id"
    assert set(server.requests[-1].params) == {"search", "select", "per-page", "cursor"}


async def test_key_and_address_go_into_headers(server: OpenAlexServer) -> None:
    source = asking(server.url, "right", "me@example.org")
    await ask(source, "search", "fruit")
    assert server.requests[-1].headers["authorization"] == "Bearer right"
    assert server.requests[-1].headers["from"] == "me@example.org"


async def test_an_address_without_lists_is_a_failure(source: OpenAlex, server: OpenAlexServer) -> None:
    server.troubles.append(Trouble("status", None, status=404))
    with pytest.raises(LiteratureError, match="404"):
        await ask(source, "search", "fruit")


async def test_a_title_comes_without_its_publisher_s_markup() -> None:
    titles = {
        1: "Fruit of <i>E.&nbsp;coli</i> &amp; H<sub>2</sub>O",
        2: "Fruit where x < y and y > z",
        3: "<jats:italic> </jats:italic>",
    }
    given = "<jats:p>Fruit at p < 0.05 &amp; x<sub>2</sub>.</jats:p>"
    works = [work(number, title, abstract=given) for number, title in titles.items()]
    with OpenAlexServer(papers=works) as server:
        source = asking(server.url)
        found = await ask(source, "search", "fruit")
    assert [paper.title for paper in found] == ["Fruit of E. coli & H2O", "Fruit where x < y and y > z"]
    assert found[0].abstract == "Fruit at p < 0.05 & x2."


@pytest.mark.parametrize("year", [0, -50, 10_000])
async def test_a_year_of_no_calendar_is_unknown(year: int) -> None:
    with OpenAlexServer(papers=[work(1, "Old fruit", publication_year=year)]) as server:
        source = asking(server.url)
        [found] = await ask(source, "search", "fruit")
    assert found.year is None
    assert not BEFORE.holds(found)


async def test_a_wrong_address_is_no_missing_paper(server: OpenAlexServer) -> None:
    wrong = asking(f"{server.url}/v2")
    for _ in range(2):
        with pytest.raises(LiteratureError, match=r"404[\s\S]+literature\.endpoints\.openalex"):
            await paper_of(wrong, "W404")
    right = asking(server.url)
    server.requests.clear()
    assert [await paper_of(right, "W404") for _ in range(3)] == [None] * 3
    assert len(server.requests) == 3 + 1, "an address is looked at once"
