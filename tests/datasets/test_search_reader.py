"""A search as a dataset: year by year, kept on the way."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from manyheads.base.errors import CorpusError, LiteratureError
from manyheads.base.http import Pace
from manyheads.config import LiteratureConfig
from manyheads.corpus.records import Rejects
from manyheads.datasets.networks import SearchReader
from manyheads.literature.library import connect as connected
from manyheads.literature.lookup import LookupCache
from manyheads.literature.semantic_scholar import SemanticScholar
from support.datasets import read_papers
from support.scholar import Scholar, Trouble, record

PAPERS = tuple(
    record(
        f"{number:040}",
        f"Pears {number}",
        abstract="About pears.",
        year=2010 + number % 3,
        publicationDate=f"{2010 + number % 3}-05-0{1 + number % 9}",
        citationCount=None if number == 4 else number,
        authors=[{"authorId": "1", "name": "Jo Berg"}],
    )
    for number in range(9)
)


@pytest.fixture
def scholar() -> Iterator[Scholar]:
    with Scholar(papers=PAPERS) as server:
        yield server


@pytest.fixture
def search(scholar: Scholar, tmp_path: Path) -> Callable[..., SearchReader]:
    """Makes a reader of this server, whose cache lasts for the test."""

    def connect() -> SemanticScholar:
        return SemanticScholar(pace=Pace(0.001), retries=0, patience=5, address=scholar.url)

    return partial(SearchReader, connect=connect, cache=lambda: LookupCache(tmp_path / "kept.sqlite"))


def test_each_year_is_asked_for_its_own_papers(search: Callable[..., SearchReader], scholar: Scholar) -> None:
    found, rejects = read_papers(search("pears", (2010, 2011)))
    assert [one.year for one in found] == [2010] * 3 + [2011] * 3
    assert found[0].id.startswith("semantic_scholar:0000")
    assert found[0].byline == ("Jo Berg",)
    assert {one.title: one.citations for one in found}["Pears 4"] is None
    assert len(scholar.requests) == 2
    assert not rejects.total


def test_an_interrupted_search_asks_for_the_rest_only(
    search: Callable[..., SearchReader], scholar: Scholar
) -> None:
    reading = search("pears", (2010, 2012)).papers(Rejects())
    assert next(reading)[1].year == 2010
    scholar.troubles.append(Trouble("status", status=503))
    with pytest.raises(LiteratureError) as told:
        list(reading)
    assert str(told.value.tried).endswith("1 of 3 years are finished and kept")
    asked = len(scholar.requests)
    found, _ = read_papers(search("pears", (2010, 2012)))
    assert [one.year for one in found] == [2010] * 3 + [2011] * 3 + [2012] * 3
    assert len(scholar.requests) == asked + 2


def test_the_limit_holds_for_each_year(search: Callable[..., SearchReader]) -> None:
    found, _ = read_papers(search("pears", (2010, 2012), limit=2))
    assert [one.year for one in found] == [2010, 2010, 2011, 2011, 2012, 2012]


def test_nothing_found_is_said(search: Callable[..., SearchReader]) -> None:
    with pytest.raises(CorpusError, match="contains no paper"):
        read_papers(search("pears", (1950, 1951)))


@pytest.mark.parametrize(
    ("query", "years"), [(" ", (2010, 2011)), ("pears", (None, 2011)), ("pears", (2011, 2010))]
)
def test_words_and_years_are_needed(
    search: Callable[..., SearchReader], query: str, years: tuple[int | None, int | None]
) -> None:
    with pytest.raises(CorpusError) as told:
        search(query, years)
    assert told.value.hint


def test_the_config_says_where_the_service_is_and_the_environment_has_its_key(
    scholar: Scholar, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MANYHEADS_PEAR_KEY", "right")
    config = LiteratureConfig(
        endpoints={"semantic_scholar": scholar.url}, semantic_scholar_key_env="MANYHEADS_PEAR_KEY"
    )
    connect = partial(connected, "semantic_scholar", config)
    read_papers(SearchReader("pears", (2010, 2010), connect, lambda: LookupCache(tmp_path / "kept.sqlite")))
    assert scholar.requests[0].headers["x-api-key"] == "right"


def test_namesakes_are_told_apart_by_their_ids(search: Callable[..., SearchReader], scholar: Scholar) -> None:
    people = [{"authorId": "7", "name": "Jo Berg"}, {"authorId": None, "name": "Li Wei"}]
    scholar.papers = [
        *scholar.papers,
        record("f" * 40, "Pears of another Berg", year=2010, publicationDate="2010-01-01", authors=people),
    ]
    found, _ = read_papers(search("pears", (2010, 2010)))
    assert {one.byline[0] for one in found} == {"Jo Berg"}
    assert {one.authors for one in found} == {("1",), ("7", "Li Wei")}
