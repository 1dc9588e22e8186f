"""arXiv's look-ups against a local server of its feeds: answers, bounds, and every way to fail."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest

from manyheads.base.errors import LiteratureError
from manyheads.base.http import Pace
from manyheads.base.papers import Paper, Window
from manyheads.literature.arxiv import Arxiv
from manyheads.literature.source import LackingError, Request
from support.arxiv import ArxivServer, entry
from support.scholar import Trouble
from support.services import ask, paper_of

ENTRIES = (
    entry(
        "1406.00001",
        "Tactile  fingers\n  for fruit & <nuts>",
        "2014-06-30",
        abstract="  Soft fingers grasp\n  soft fruit.",
        authors=("Ada Abel", "Bo Berg"),
        doi="10.1000/a",
        journal_ref="Proc. ICRA 2015",
    ),
    entry("1501.00002", "Fruit of next year", "2015-01-01"),
    entry("hep-th/9901001", "Strings and fruit", "1999-01-02"),
)
MANY = [entry(f"1101.{number:05}", f"Grain {number}", "2011-01-01") for number in range(230)]
BOMB = """<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<feed xmlns="http://www.w3.org/2005/Atom"><title>&b;</title></feed>"""


@pytest.fixture
def server() -> Iterator[ArxivServer]:
    with ArxivServer(papers=[*ENTRIES, *MANY]) as server:
        yield server


def asking(url: str, **changes: Any) -> Arxiv:
    given: dict[str, Any] = {"retries": 2, "patience": 5.0, "backoff": 0.01, "pace": Pace(0)} | changes
    return Arxiv(address=url, **given)


@pytest.fixture
def source(server: ArxivServer) -> Arxiv:
    return asking(server.url)


def ids(papers: list[Paper]) -> list[str]:
    return [paper.id.removeprefix("arxiv:") for paper in papers]


async def test_a_paper_is_given_with_all_that_is_known_of_it(source: Arxiv) -> None:
    [paper] = await ask(source, "search", "tactile nuts")
    assert paper == Paper(
        id="arxiv:1406.00001",
        source="arxiv",
        title="Tactile fingers for fruit & <nuts>",
        abstract="Soft fingers grasp soft fruit.",
        year=2014,
        date=dt.date(2014, 6, 30),
        authors=("Ada Abel", "Bo Berg"),
        venue="Proc. ICRA 2015",
        doi="10.1000/a",
        url="https://arxiv.org/abs/1406.00001",
        open_text="https://arxiv.org/pdf/1406.00001",
    )


async def test_what_is_not_told_stays_unknown(source: Arxiv) -> None:
    [paper] = await ask(source, "search", "strings")
    assert (paper.id, paper.venue, paper.doi, paper.citations) == ("arxiv:hep-th/9901001", None, None, None)


async def test_signs_and_operators_of_a_query_are_words(source: Arxiv, server: ArxivServer) -> None:
    assert ids(await ask(source, "search", 'the "fruit" of: (next-year) OR cat:x')) == []
    assert server.requests[-1].params["search_query"] == "all:fruit AND all:next AND all:year AND all:cat"


async def test_a_query_without_words_is_not_sent(source: Arxiv, server: ArxivServer) -> None:
    assert await ask(source, "search", "?! of the") == []
    assert not server.requests


async def test_only_what_was_submitted_within_the_window_comes(source: Arxiv, server: ArxivServer) -> None:
    assert ids(await ask(source, "search", "fruit", window=Window(before=dt.date(2015, 1, 1)))) == [
        "1406.00001",
        "hep-th/9901001",
    ]
    assert ids(await ask(source, "search", "fruit", window=Window(after=dt.date(2000, 1, 1)))) == [
        "1406.00001",
        "1501.00002",
    ]
    assert "submittedDate:[199001010000 TO 201412312359]" in server.requests[0].params["search_query"]


@pytest.mark.parametrize(
    "name",
    ["1406.00001", "1406.00001v3", "ARXIV:1406.00001", "arxiv:1406.00001v1", "DOI:10.48550/arXiv.1406.00001"],
)
async def test_a_paper_is_found_by_its_number(source: Arxiv, name: str) -> None:
    paper = await paper_of(source, name)
    assert paper is not None
    assert paper.id == "arxiv:1406.00001"


async def test_old_numbers_are_numbers(source: Arxiv) -> None:
    paper = await paper_of(source, "hep-th/9901001v2")
    assert paper is not None
    assert paper.title == "Strings and fruit"


async def test_an_unknown_number_is_none_and_what_is_none_is_not_sent(
    source: Arxiv, server: ArxivServer
) -> None:
    assert await paper_of(source, "9912.99999") is None
    assert [await paper_of(source, name) for name in ("x&y=1", "1406.00001,1501.00002", "")] == [None] * 3
    assert len(server.requests) == 1


async def test_what_arxiv_does_not_have_is_said_to_be_lacking(source: Arxiv, server: ArxivServer) -> None:
    number = "1406.00001"
    for look_up in (ask(source, "references", number), paper_of(source, "DOI:10.1000/a")):
        with pytest.raises(LackingError, match="arXiv"):
            await look_up
    assert not server.requests


async def test_an_empty_page_in_the_midst_of_a_list_is_asked_for_again(
    source: Arxiv, server: ArxivServer
) -> None:
    server.empty_pages = 1
    assert len(await ask(source, "search", "fruit")) == 3
    server.empty_pages = 9
    with pytest.raises(LiteratureError, match="an empty page, though 3 papers match"):
        await ask(source, "search", "fruit")


@pytest.mark.parametrize(
    ("body", "said"), [('<feed xmlns="http://www.w3.org/2005/Atom"/>', "no totalResults"), (BOMB, "not XML")]
)
async def test_what_is_no_feed_is_a_failure(source: Arxiv, server: ArxivServer, body: str, said: str) -> None:
    server.troubles.append(Trouble("body", None, body=body))
    with pytest.raises(LiteratureError, match=said):
        await ask(source, "search", "fruit")


async def test_an_error_in_the_feed_is_a_refusal(server: ArxivServer) -> None:
    class Refusing(ArxivServer):
        def body(self, asked: Any) -> str:
            asked.params.pop("search_query")
            return super().body(asked)

    with Refusing(papers=ENTRIES) as refusing:
        source = asking(refusing.url)
        with pytest.raises(LiteratureError, match="incorrect query"):
            await ask(source, "search", "fruit")


async def test_an_entry_without_a_title_is_told(server: ArxivServer) -> None:
    server.papers = [entry("1406.00001", "", "2014-06-30", abstract="Fruit."), *server.papers]
    source, request = asking(server.url), Request("search", "fruit")
    assert await source.look_up(request)
    assert "without a title" in request.faults[0]
    with pytest.raises(LiteratureError, match="without a title"):
        await ask(source, "paper", "1406.00001")


async def test_what_is_no_letter_does_not_cost_the_page(server: ArxivServer) -> None:
    feed = server.body
    server.body = lambda asked: feed(asked).replace("Soft fingers", "Soft\x0b &#xD800;fingers")  # type: ignore[method-assign]
    source = asking(server.url)
    [paper] = await ask(source, "search", "tactile nuts")
    assert paper.abstract == "Soft fingers grasp soft fruit."
