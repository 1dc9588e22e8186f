"""Papers of several sources, put together."""

from typing import Any

import pytest

from manyheads.base.papers import Paper
from manyheads.config import SourceName
from manyheads.literature.matching import Merged

LONG = "Tactile fingers for soft fruit"


def found(source: SourceName, title: str = "Editorial", number: int = 1, **known: Any) -> Paper:
    return Paper(id=f"{source}:{number}", source=source, title=title, **known)


def merged(*papers: Paper) -> list[str]:
    all_of_them = Merged()
    for paper in papers:
        all_of_them.add([paper])
    return [paper.id for paper in all_of_them.best(10)]


BY_LOVELACE: dict[str, Any] = {"authors": ("Ada Lovelace", "Grace Hopper")}
SAME: dict[str, tuple[Paper, Paper]] = {
    "a long title": (found("arxiv", LONG), found("openalex", LONG.upper(), year=2011)),
    "the DOI": (found("arxiv", doi="10.1/A"), found("openalex", "A word from the editors", doi="10.1/a")),
    "the year": (found("arxiv", year=2011), found("openalex", year=2011)),
    "an author": (found("arxiv", **BY_LOVELACE), found("openalex", authors=("Lovelace, A.",))),
    "an author, a year later": (found("arxiv", year=2011, **BY_LOVELACE), found("openalex", year=2012, **BY_LOVELACE)),
    "the year of a masked paper": (found("local", year=2011, authors=("Scientist1",)), found("openalex", year=2011, **BY_LOVELACE)),
}  # fmt: skip
OTHER: dict[str, tuple[Paper, Paper]] = {
    "nothing but a short title": (found("arxiv"), found("openalex")),
    "another year": (found("arxiv", year=2011), found("openalex", year=2012)),
    "other authors": (found("arxiv", year=2011, authors=("Alan Turing",)), found("openalex", year=2011, **BY_LOVELACE)),
    "the author's next editorial": (found("arxiv", year=2011, **BY_LOVELACE), found("openalex", year=2013, **BY_LOVELACE)),
    "another paper of the same source": (found("arxiv", year=2011), found("arxiv", number=2, year=2011)),
    "another DOI": (found("arxiv", year=2011, doi="10.1/a"), found("openalex", year=2011, doi="10.1/b")),
    "another title": (found("arxiv", year=2011), found("openalex", "Preface", year=2011)),
}  # fmt: skip


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_one_paper_of_two_sources_is_listed_once(pair: tuple[Paper, Paper]) -> None:
    assert merged(*pair) == [pair[0].id]
    assert merged(*reversed(pair)) == [pair[1].id]


@pytest.mark.parametrize("pair", OTHER.values(), ids=OTHER)
def test_papers_that_share_a_short_title_stay_apart(pair: tuple[Paper, Paper]) -> None:
    assert merged(*pair) == [paper.id for paper in pair]


def test_a_third_source_finds_its_own_among_namesakes() -> None:
    first, second = found("arxiv", year=2011), found("openalex", year=2012)
    third = found("semantic_scholar", year=2012, abstract="We say hello.")
    papers = Merged()
    papers.add([first, second, third])
    assert [(paper.id, paper.abstract) for paper in papers.best(9)] == [
        (first.id, ""),
        (second.id, "We say hello."),
    ]
