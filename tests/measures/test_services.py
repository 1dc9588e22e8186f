"""CD and CI by what services find: worked by hand over a local Semantic Scholar, and whatever may be lacking."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from manyheads.base.errors import LiteratureError
from manyheads.config import LiteratureConfig, SourceName
from manyheads.core.texts import Subject
from manyheads.literature.library import Library
from manyheads.literature.lookup import Note
from manyheads.measures.papers import Floats
from manyheads.measures.scores import Score, query_of, service_scores
from support.openalex import OpenAlexServer, work
from support.results import idea, write
from support.scholar import Record, Scholar, record
from support.services import AT_ONCE, down

Measuring = Callable[..., Awaitable[list[Score]]]


class Placed:
    """Texts that say where they lie: `3 4`."""

    name, dim = "placed", 2

    def embed(self, texts: Sequence[str]) -> Floats:
        return np.array([[float(one) for one in text.split()] for text in texts], dtype=np.float32)


def found(number: int, place: str | None, year: int | None = 2015, cited: int | None = 0) -> Record:
    title = f"Tactile fruit {number}"
    return record(f"{number}" * 40, title, abstract=place, year=year, citationCount=cited)


def own_id(number: int) -> str:
    return f"semantic_scholar:{number}" + f"{number}" * 39


TEXT = Subject("idea.md", "Tactile fruit", "0 0")
# At distance 1, 6 (2015, cited 4 and 2) and 2, 8 (2016, cited 9 and 1).
FOUR = (
    found(1, "1 0", 2015, 4),
    found(2, "0 6", 2015, 2),
    found(3, "2 0", 2016, 9),
    found(4, "0 8", 2016, 1),
)


@pytest.fixture
def scholar() -> Iterator[Scholar]:
    with Scholar(FOUR) as server:
        yield server


@asynccontextmanager
async def services(
    scholar: Scholar,
    *more: SourceName,
    openalex: str = "",
    cache: Path | None = None,
    note: Note = lambda entry: None,
    **changes: Any,
) -> AsyncGenerator[Measuring]:
    endpoints = {"semantic_scholar": scholar.url, **({"openalex": openalex} if openalex else {})}
    given: dict[str, Any] = {"before": "any", "retries": 0, "endpoints": endpoints, **changes}
    config = LiteratureConfig(cascade=("semantic_scholar", *more), **given)
    library = Library(config, cache=cache, note=note, paces=AT_ONCE)
    yield partial(service_scores, library, config, Placed())
    await library.close()


async def measured(scholar: Scholar, text: Subject = TEXT, **how: Any) -> Score:
    given: dict[str, Any] = {"neighbours": 2, "wanted": 4, **how}
    async with services(scholar) as measuring:
        [score] = await measuring([text], **given)
    return score


async def test_the_measures_worked_by_hand(scholar: Scholar) -> None:
    """The two nearest: at 1 and 2, cited 4 and 9; of all retrieved the mean distance is 17/4, the mean count 16/4."""
    score = await measured(scholar)
    assert (score.cd, score.ci) == pytest.approx((1.5 / (17 / 4), 6.5 / (16 / 4)))
    assert [(one.id, one.distance) for one in score.contemporary] == [(own_id(1), 1), (own_id(3), 2)]
    assert (score.against, score.corpus, score.embedding, score.itself) == ("services", None, "placed", ())


async def test_the_idea_is_the_query_and_papers_of_all_times_are_asked_for(scholar: Scholar) -> None:
    score = await measured(scholar)
    [asked] = scholar.requests
    assert asked.params["query"] == "Tactile fruit"
    assert {"abstract", "citationCount"} <= set(asked.params["fields"].split(","))
    assert "publicationDateOrYear" not in asked.params
    how = score.retrieval
    assert how is not None
    assert (how.query, how.queries, how.dates) == ("Tactile fruit", ("Tactile fruit",), "any")
    assert (how.wanted, how.found, how.incomplete, how.compared) == (4, 4, 0, 4)
    assert (how.sources, how.degraded) == (("semantic_scholar",), ())


async def test_a_bound_on_dates_is_kept_and_told(scholar: Scholar) -> None:
    async with services(scholar, before="2016") as measuring:
        [score] = await measuring([TEXT], neighbours=2, wanted=2)
    assert [one.year for one in score.contemporary] == [2015, 2015]
    assert score.retrieval
    assert score.retrieval.dates == "before 2016-01-01"


async def test_papers_that_nothing_can_be_held_against_are_counted() -> None:
    papers = (*FOUR[:1], found(5, None), found(6, " "), found(7, "1 1", year=None))
    with Scholar(papers) as scholar:
        score = await measured(scholar)
    why = "1 papers with abstract and year were found, fewer than 2 neighbours"
    assert (score.cd, score.ci, score.contemporary) == (None, None, ())
    assert (score.missing["cd"], score.missing["ci"]) == (why, why)
    assert score.retrieval
    assert (score.retrieval.found, score.retrieval.incomplete, score.retrieval.compared) == (4, 3, 1)


async def test_wider_forms_are_asked_until_there_are_enough_and_none_twice() -> None:
    text = Subject("idea.md", "Tactile fruit for robots in orchards", "0 0")
    titles = (*[text.title] * 3, *["Tactile orchards"] * 3)
    papers = [{**found(n, f"0 {n}"), "title": f"{title} {n}"} for n, title in enumerate(titles, 1)]
    with Scholar(papers) as scholar:
        few = await measured(scholar, text, wanted=2)
        asked = len(scholar.requests)
        many = await measured(scholar, text, wanted=4)
    assert few.retrieval
    assert many.retrieval
    assert asked == len(few.retrieval.queries) == 1
    assert (many.retrieval.found, many.retrieval.compared) == (6, 4)
    assert many.retrieval.queries[0] == text.title
    assert len(many.retrieval.queries) == len(scholar.requests) - asked > 1


async def test_what_the_library_itself_has_widened_is_not_asked_again() -> None:
    text = Subject("idea.md", "Tactile fruit for robots in orchards", "0 0")
    with Scholar([{**found(1, "0 1"), "title": text.title}]) as scholar:
        score = await measured(scholar, text)
    assert score.retrieval
    asked = [one.params["query"] for one in scholar.requests]
    assert len(asked) > 4
    assert score.retrieval.queries == tuple(asked)


async def test_a_source_that_is_down_is_told_beside_what_the_next_one_knows() -> None:
    works = [work(n, f"Tactile fruit {n}", abstract=f"0 {n}", publication_year=2015) for n in (1, 2, 3)]
    with Scholar(FOUR, troubles=[down()]) as scholar, OpenAlexServer(papers=works) as openalex:
        async with services(scholar, "openalex", openalex=openalex.url) as measuring:
            [score] = await measuring([TEXT], neighbours=2, normalise="none", wanted=3)
    assert score.cd == 1.5
    assert score.retrieval
    assert score.retrieval.degraded == ("semantic_scholar",)
    assert score.retrieval.sources == ("semantic_scholar", "openalex")


async def test_no_source_at_all_is_a_failure_and_no_empty_result(scholar: Scholar, tmp_path: Path) -> None:
    other = Subject("other.md", "Weighing apples", "0 0")
    async with services(scholar, cache=tmp_path / "kept.sqlite") as measuring:
        await measuring([TEXT], neighbours=2, wanted=4)
    scholar.troubles.append(down())
    async with services(scholar, cache=tmp_path / "kept.sqlite") as measuring:
        kept, lost = await measuring([TEXT, other], neighbours=2, wanted=4)
        with pytest.raises(LiteratureError, match=r"no literature source could be asked: .*503"):
            await measuring([other], neighbours=2, wanted=4)
    assert kept.cd is not None
    assert lost.cd is None
    assert "503" in lost.missing["cd"]
    assert lost.retrieval
    assert lost.retrieval.degraded == ("semantic_scholar",)


async def test_a_published_text_is_told_from_its_neighbours_and_left_out_on_demand() -> None:
    twin, preprint = found(5, "0 0"), {**found(6, "0 0.5"), "title": "TACTILE Fruit!"}
    with Scholar((*FOUR, twin, preprint)) as scholar:
        plain = await measured(scholar, wanted=6)
        by_id = await measured(scholar, wanted=6, exclude=[own_id(5)])
        neither = await measured(scholar, wanted=6, exclude=[own_id(5)], exclude_same_title=True)
    assert plain.itself == (own_id(5), own_id(6))
    assert (by_id.itself, by_id.excluded) == ((own_id(6),), (own_id(5),))
    assert (neither.itself, neither.excluded) == ((), (own_id(5), own_id(6)))
    assert (neither.cd, neither.ci) == pytest.approx((1.5 / (17 / 4), 6.5 / 4))
    assert neither.retrieval
    assert (neither.retrieval.found, neither.retrieval.incomplete, neither.retrieval.compared) == (6, 0, 4)


def test_what_is_looked_for(tmp_path: Path) -> None:
    known = {**idea("Gentle hands"), "idea": "Let them feel."}
    for name, parts in (("run", {"idea": known}), ("other", {})):
        write(tmp_path / name, {"system": "virsci", "abstract": {"title": "T", "text": "We."}, **parts})
    assert query_of(Subject(str(tmp_path / "run"), "T", "We.")) == "Gentle hands\nLet them feel."
    assert query_of(Subject(str(tmp_path / "other"), "T", "We.")) == "T"
    text = "Abstract. We study tactile grasping. It is hard."
    assert query_of(Subject("a.txt", "", text)) == "We study tactile grasping."
