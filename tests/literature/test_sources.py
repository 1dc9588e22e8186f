"""What the services have in common, against local servers of their shapes: pages, bounds, and every way to fail."""

import datetime as dt
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from manyheads.base.errors import LiteratureError
from manyheads.base.http import Pace
from manyheads.base.papers import Window
from manyheads.literature.arxiv import Arxiv
from manyheads.literature.crossref import Crossref
from manyheads.literature.openalex import OpenAlex
from manyheads.literature.pubmed import PubMed
from manyheads.literature.semantic_scholar import SemanticScholar
from manyheads.literature.source import HttpService, Operation
from support.arxiv import ArxivServer, entry
from support.crossref import CrossrefServer, crossref_work
from support.openalex import OpenAlexServer, work
from support.pubmed import PubMedServer, article
from support.scholar import Record, Scholar, Trouble, record
from support.services import ask


class Kind(NamedTuple):
    """A service, its server, and a record of it: number, title, day."""

    source: Callable[..., HttpService]
    server: Callable[..., Scholar]
    record: Callable[[int, str, str], Record]
    first: str
    """How its first paper is asked for."""
    operations: tuple[Operation, ...] = ("search", "paper", "references")
    requests: int = 1
    """How many a page takes."""


def _record(number: int, title: str, day: str) -> Record:
    return record(f"{number:040x}", title, year=int(day[:4]), publicationDate=day)


def _scholar(papers: list[Record]) -> Scholar:
    return Scholar(papers=papers, cites={papers[0]["paperId"]: [one["paperId"] for one in papers[1:3]]})


def _work(number: int, title: str, day: str) -> Record:
    cites = [2, 3] if number == 1 else []
    return work(number, title, publication_year=int(day[:4]), publication_date=day, cites=cites)


def _entry(number: int, title: str, day: str) -> Record:
    return entry(f"1101.{number:05}", title, day)


def _deposited(number: int, title: str, day: str) -> Record:
    cites = ["10.1000/2", "10.1000/3"] if number == 1 else []
    return crossref_work(f"10.1000/{number}", title, *map(int, day.split("-")), cites=cites)


def _article(number: int, title: str, day: str) -> Record:
    return article(number, title, day, cites=[2, 3] if number == 1 else [])


KINDS = {
    "semantic_scholar": Kind(SemanticScholar, _scholar, _record, f"{1:040x}"),
    "openalex": Kind(OpenAlex, OpenAlexServer, _work, "W1"),
    "arxiv": Kind(Arxiv, ArxivServer, _entry, "1101.00001", ("search", "paper")),
    "crossref": Kind(Crossref, CrossrefServer, _deposited, "DOI:10.1000/1"),
    "pubmed": Kind(PubMed, PubMedServer, _article, "1", requests=2),
}
OFTEN = [(name, "search") for name in KINDS] + [("semantic_scholar", "references")]
WAYS = [
    pytest.param(name, operation, marks=[pytest.mark.slow] * ((name, operation) not in OFTEN))
    for name, kind in KINDS.items()
    for operation in kind.operations
]


@pytest.fixture
def servers() -> Iterator[Callable[[str], tuple[Scholar, HttpService]]]:
    """The server of a service, with 230 papers on grain, and the service."""
    running: list[Scholar] = []

    def start(name: str, **settings: Any) -> tuple[Scholar, HttpService]:
        kind = KINDS[name]
        papers = [kind.record(n, f"Grain {n}", f"{2010 + n % 10}-03-04") for n in range(1, 231)]
        running.append(server := kind.server(papers).__enter__())
        given: dict[str, Any] = {"retries": 1, "patience": 5.0, "backoff": 0.002, "pace": Pace(0)} | settings
        return server, kind.source(address=server.url, **given)

    yield start
    for server in running:
        server.__exit__(None, None, None)


Start = Callable[..., tuple[Scholar, HttpService]]


async def look_up(source: HttpService, name: str, operation: Operation) -> list[str]:
    found = await ask(source, operation, "grain" if operation == "search" else KINDS[name].first)
    return [paper.id for paper in found]


LASTING = [
    Trouble("status", status=429, headers={"Retry-After": "60"}),
    *(Trouble("status", status=status, body='{"message": "No"}') for status in (400, 401, 403)),
]
PASSING = [
    Trouble("status", status=503, body=""),
    *(Trouble(kind) for kind in ("malformed", "truncated", "drop")),  # type: ignore[arg-type]
    *(Trouble("body", body=body) for body in ("<html>Sign in to this network</html>", "[]", "{}")),
]


@pytest.mark.parametrize(("name", "operation"), WAYS)
async def test_a_failure_is_never_an_empty_answer(servers: Start, name: str, operation: Operation) -> None:
    server, source = servers(name)
    for trouble in (*PASSING, *LASTING[1:], LASTING[0]):  # the last one makes others wait
        server.requests.clear()
        server.troubles[:] = [Trouble(trouble.kind, None, "", trouble.status, trouble.headers, trouble.body)]
        with pytest.raises(LiteratureError) as failed:
            await look_up(source, name, operation)
        assert failed.value.source == name
        assert failed.value.hint
        assert "Value error" not in failed.value.message, trouble
        assert str(trouble.status) in failed.value.message or trouble.kind != "status"
        assert len(server.requests) == (2 if trouble in PASSING else 1), trouble


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "pubmed")) for name in KINDS]
)
async def test_a_failure_that_passes_is_outlived(servers: Start, name: str) -> None:
    server, source = servers(name)
    expected = await look_up(source, name, "search")
    assert expected
    for trouble in PASSING:
        server.requests.clear()
        server.troubles[:] = [Trouble(trouble.kind, 1, "", trouble.status, trouble.headers, trouble.body)]
        assert await look_up(source, name, "search") == expected, trouble
        assert len(server.requests) >= 2


@pytest.mark.parametrize(
    ("name", "key_env"),
    [("semantic_scholar", "S2_KEY"), ("openalex", "OPENALEX_API_KEY"), ("pubmed", "NCBI_API_KEY")],
)
async def test_a_refused_key_is_named_and_neither_shown_nor_sent_again(
    servers: Start, name: str, key_env: str
) -> None:
    server, source = servers(name, key="wrong-secret", key_env=key_env)
    with pytest.raises(LiteratureError, match=f"the key in {key_env} is refused") as caught:
        await ask(source, "search", "grain")
    assert f"fix the key in {key_env}" in str(caught.value)
    assert "wrong-secret" not in str(caught.value)
    assert len(server.requests) == 1


A = f"{1:040x}"
NAMELESS = {
    "id": "https://openalex.org/W1",
    "title": None,
    "publication_year": None,
    "publication_date": None,
}
BODIES: list[tuple[str, Operation, Record]] = [
    ("semantic_scholar", "search", {"total": 1200, "offset": 0, "data": []}),
    ("semantic_scholar", "search", {"total": 1200, "data": [{"paperId": None, "title": "x"}, {"paperId": A, "title": None}]}),
    ("semantic_scholar", "search", {"data": [{"paperId": A, "title": ""}]}),
    ("semantic_scholar", "search", {"total": 0, "data": [], "error": "backend timeout"}),
    ("semantic_scholar", "search", {"total": 0, "error": {"code": 504}}),
    ("openalex", "search", {"meta": {"count": 1200}, "results": []}),
    ("openalex", "search", {"meta": {"count": 1200, "next_cursor": "x"}, "results": [NAMELESS, NAMELESS]}),
    ("openalex", "search", {"meta": {}, "results": [NAMELESS]}),
    ("openalex", "search", {"meta": {"count": 0}, "results": [], "error": "backend timeout"}),
    ("openalex", "search", {"results": [{"title": 5}], "meta": {}}),
    ("crossref", "search", {"message": {"total-results": 3, "items": []}}),
    ("crossref", "search", {"message": {"total-results": 3, "items": [{"DOI": "10.1000/a"}, {"DOI": "10.1000/b"}]}}),
    ("crossref", "search", {"message": {"total-results": 3, "items": [{"DOI": 5, "title": ["x"]}]}}),
    ("crossref", "paper", {"message": {"title": ["Owls"]}}),
    ("pubmed", "search", {"esearchresult": {"count": "3"}}),
    ("pubmed", "search", {"esearchresult": {"count": "many", "idlist": []}}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operation", "body"), BODIES)
async def test_an_answer_of_another_shape_is_not_nothing_found(
    servers: Start, name: str, operation: Operation, body: Record
) -> None:
    server, source = servers(name)
    server.troubles.append(Trouble("body", None, body=json.dumps(body)))
    with pytest.raises(LiteratureError, match="cannot be read"):
        await look_up(source, name, operation)
    assert len(server.requests) == 2


@pytest.mark.parametrize("name", KINDS)
async def test_pages_are_followed_until_there_are_enough(servers: Start, name: str) -> None:
    server, source = servers(name)
    found = await ask(source, "search", "grain", 150)
    assert [paper.title for paper in found] == [f"Grain {number}" for number in range(1, 151)]
    assert len(server.requests) == 2 * KINDS[name].requests
    assert len({paper.id for paper in await ask(source, "search", "grain", 500)}) == 230


@pytest.mark.parametrize("name", KINDS)
async def test_pages_that_do_not_move_end_at_once(servers: Start, name: str) -> None:
    server, source = servers(name)
    body, first = server.body, dict[str, str]()
    server.body = lambda asked: first.setdefault(asked.path, body(asked))  # type: ignore[method-assign]
    assert len(await ask(source, "search", "grain", 230)) == 100
    assert len(server.requests) == 2 * KINDS[name].requests


@pytest.mark.parametrize("name", KINDS)
async def test_nothing_outside_the_window_comes_and_nothing_found_is_a_list(
    servers: Start, name: str
) -> None:
    server, source = servers(name)
    window = Window(dt.date(2012, 3, 4), dt.date(2014, 3, 4))
    found = await ask(source, "search", "grain", 500, window=window)
    assert {paper.year for paper in found} == {2012, 2013}
    server.requests.clear()
    assert await ask(source, "search", "vegetables") == []
    assert len(server.requests) == 1
    assert await ask(source, "search", " \n") == []
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", KINDS)
async def test_a_slow_service_is_given_up_when_its_patience_ends(servers: Start, name: str) -> None:
    server, source = servers(name, patience=0.3)
    server.troubles.append(Trouble("slow", None, seconds=1.0))
    start = time.monotonic()
    with pytest.raises(LiteratureError, match="patience"):
        await ask(source, "search", "grain", 230)
    assert time.monotonic() - start < 0.8


@pytest.mark.parametrize(
    ("url", "tried"), [("http://127.0.0.1:9", "3 times"), ("nonsense", "once"), ("ftp://127.0.0.1", "once")]
)
async def test_nobody_at_the_address(url: str, tried: str) -> None:
    source = SemanticScholar(address=url, pace=Pace(0), retries=2, patience=5.0, backoff=0.002)
    with pytest.raises(LiteratureError, match="cannot be reached") as caught:
        await ask(source, "search", "grain")
    assert caught.value.tried == tried
    assert "literature.endpoints.semantic_scholar" in str(caught.value.hint)
