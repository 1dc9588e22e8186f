"""The knowledge bank as a source: past papers only, none that lacks the words, none newer than the bound."""

import datetime as dt
from collections.abc import Iterator

import pytest

from manyheads.base.papers import Paper, Window
from manyheads.corpus.ecosystem import KnowledgeBank
from manyheads.corpus.embedding import load_embedder
from manyheads.literature.local import LocalSource
from manyheads.literature.source import LackingError
from support.services import ask, paper_of

PAST = (
    Paper(id="p1", title="Grasping soft fruit", abstract="Tactile fingers grasp soft fruit.", year=2011),
    Paper(id="p2", title="Tactile sensing", abstract="We sense slip with tactile fingers.", year=2013),
    Paper(
        id="a:/b 3",
        title="Dense retrieval",
        abstract="Retrieval of rare languages.",
        year=2014,
        citations=7,
        authors=("Scientist4",),
        venue="ICML",
    ),
)
NOW = Paper(id="n1", title="Tactile fruit picking", abstract="Robots pick fruit by touch.", year=2016)


@pytest.fixture
def source() -> Iterator[LocalSource]:
    with KnowledgeBank.create(":memory:", load_embedder("lexical")) as bank:
        bank.add(PAST, period="past")
        bank.add([NOW], period="contemporary")
        yield LocalSource(bank)


async def ids(source: LocalSource, query: str, window: Window = Window()) -> list[str]:
    return [paper.id for paper in await ask(source, "search", query, window=window)]


async def test_papers_that_hold_the_words_are_found(source: LocalSource) -> None:
    assert await ids(source, "tactile fingers") == ["local:p2", "local:p1"]
    assert await ids(source, "soft fruits") == ["local:p1"]


async def test_the_nearest_paper_of_another_subject_is_no_match(source: LocalSource) -> None:
    assert await ids(source, "quantum gravity") == []
    assert await ids(source, "?!") == []


async def test_contemporary_papers_stay_unseen(source: LocalSource) -> None:
    assert await ids(source, "robots pick fruit") == []
    assert await paper_of(source, "n1") is None


async def test_nothing_outside_the_window_is_found(source: LocalSource) -> None:
    assert await ids(source, "tactile", Window(before=dt.date(2013, 1, 1))) == ["local:p1"]
    assert await ids(source, "tactile", Window(before=dt.date(2013, 12, 31))) == ["local:p1"]
    assert await ids(source, "tactile", Window(after=dt.date(2012, 1, 1))) == ["local:p2"]
    assert await ids(source, "tactile", Window(after=dt.date(2013, 2, 1))) == []


async def test_a_paper_is_given_as_it_is_stored(source: LocalSource) -> None:
    paper = await paper_of(source, "a:/b 3")
    assert paper is not None
    assert paper.model_dump(exclude_defaults=True) == {
        "id": "local:a:/b 3",
        "title": "Dense retrieval",
        "abstract": "Retrieval of rare languages.",
        "year": 2014,
        "citations": 7,
        "authors": ("Scientist4",),
        "venue": "ICML",
    }
    assert await paper_of(source, "p9") is None


async def test_what_a_corpus_does_not_keep_is_said_to_be_lacking(source: LocalSource) -> None:
    with pytest.raises(LackingError, match="a corpus source has"):
        await ask(source, "references", "p1")
