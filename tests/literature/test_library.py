"""The library over several sources: who is asked in which words, what is merged, and what silence means."""

import asyncio
import datetime as dt
from typing import Any

import pytest
from pydantic import ValidationError

from manyheads.base.errors import ConfigError, LiteratureError
from manyheads.base.http import Pace
from manyheads.base.papers import Paper, Window
from manyheads.config import LiteratureConfig, SourceName
from manyheads.core.events import Searched
from manyheads.literature import lookup
from manyheads.literature.library import Library, window
from support.scholar import Trouble
from support.services import AT_ONCE, A, B, C, Services, down, ids, open_work, scholarly, steps


async def test_sources_are_asked_in_turn_until_there_are_enough(services: Services) -> None:
    async with services.library() as library:
        assert ids(await library.search("tactile fruit", 1)) == ["local:p1"]
        assert services.asked == [0, 0, 0]
        await library.search("tactile fruit", 3)
        assert services.asked[0] > 0
        assert services.asked[1] == 0
        await library.search("tactile fruit", 10)
        assert services.asked[1] > 0


async def test_one_paper_of_several_sources_comes_once_with_what_each_knows(services: Services) -> None:
    async with services.library() as library:
        found = await library.search("tactile fruit", 10)
    assert ids(found)[:4] == ["local:p1", "s2:B", "s2:C", "openalex:W2"]
    grasping, sorting = found.papers[:2]
    assert (grasping.doi, grasping.citations, grasping.abstract) == ("10.1000/A", 3, "Fingers grasp fruit.")
    assert (sorting.title, sorting.abstract) == ("Tactile fruit sorting", "We sort fruit.")
    assert found.degraded == ()


async def test_what_was_found_in_wider_words_comes_last(services: Services) -> None:
    services.scholar.papers = [scholarly(A, "Tactile grasping of fruit by robots in orchards at night")]
    services.openalex.papers = []
    async with services.library() as library:
        found = await library.search("tactile grasping of fruit by robots in orchards at night", 10)
    assert ids(found) == ["s2:A", "local:p1"]


async def test_a_query_that_is_too_narrow_is_widened_step_by_step(services: Services) -> None:
    query = "Tactile sorting of fruit in darkness. By touch alone."
    async with services.library("openalex") as library:
        found = await library.search(query)
    assert ids(found) == ["openalex:W1"]
    assert steps(found.searches) == [
        ("openalex", query, "empty", 0),
        ("openalex", "Tactile sorting of fruit in darkness.", "empty", 0),
        ("openalex", "Tactile sorting darkness", "empty", 0),
        ("openalex", "Tactile darkness", "empty", 0),
        ("openalex", "sorting darkness", "empty", 0),
        ("openalex", "Tactile sorting", "found", 1),
    ]
    assert {one.query for one in found.searches} == {query}


async def test_a_source_that_failed_for_good_is_not_asked_again_and_said_so_each_time(
    services: Services,
) -> None:
    services.scholar.troubles.append(down())
    async with services.library() as library:
        found = await library.search("tactile fruit washing")
        assert "openalex:W2" in ids(found)
        [failed] = [one for one in found.searches if one.source == "semantic_scholar"]
        assert (failed.outcome, failed.hits, found.degraded) == ("failed", 0, ("semantic_scholar",))
        again = await library.search("weighing fruit")
        assert services.asked[0] == 1
        assert again.degraded == ("semantic_scholar",)
        [skipped] = [one for one in again.searches if one.source == "semantic_scholar"]
        assert skipped.outcome == "skipped"
        assert "503" in skipped.reason


async def test_a_source_that_fails_is_given_up_though_another_try_would_come_too_late(
    services: Services,
) -> None:
    services.scholar.troubles.append(down())
    config = services.config("semantic_scholar", patience=0.3, retries=3)
    paces: dict[SourceName, Pace] = {"semantic_scholar": Pace(0.4)}
    async with Library(config, paces=paces) as library:
        for _ in range(2):
            with pytest.raises(LiteratureError, match="503"):
                await library.search("tactile fruit washing")
    assert services.asked[0] == 1


async def test_a_request_at_fault_does_not_condemn_its_source(services: Services) -> None:
    services.openalex.troubles.append(Trouble("status", 1, status=400))
    async with services.library("local", "openalex") as library:
        assert (await library.search("tactile fruit")).degraded == ("openalex",)
        assert (await library.search("fruit washing")).degraded == ()


async def test_a_source_that_answers_nonsense_twice_in_a_row_is_given_up(services: Services) -> None:
    services.openalex.troubles.append(Trouble("malformed"))
    async with services.library("local", "openalex") as library:
        assert (await library.search("tactile fruit")).degraded == ("openalex",)
        assert (await library.search("fruit washing")).degraded == ()
        services.openalex.troubles.append(Trouble("malformed", None))
        found = [await library.search(query) for query in ("fruit drying", "fruit sorting", "fruit weighing")]
    searches = [one for each in found for one in each.searches if one.source == "openalex"]
    assert [one.outcome for one in searches] == ["failed", "failed", "skipped"]


async def test_a_source_that_withholds_one_papers_references_is_not_given_up(services: Services) -> None:
    services.scholar.cites = {B: None, A: [C]}
    async with services.library("semantic_scholar") as library:
        withheld = await library.references(f"semantic_scholar:{B}")
        assert (withheld.papers, withheld.degraded) == ((), ("semantic_scholar",))
        assert ids(await library.references(f"semantic_scholar:{A}")) == ["s2:C"]


async def test_all_down_is_an_error_and_never_nothing_found(services: Services) -> None:
    services.scholar.troubles.append(down())
    services.openalex.troubles.append(Trouble("drop", None))
    seen: list[Searched] = []
    async with services.library("semantic_scholar", "openalex", note=seen.append) as library:
        for _ in range(2):
            with pytest.raises(LiteratureError, match="no literature source could be asked") as failed:
                await library.search("tactile fruit")
            assert "503" in failed.value.message
            assert "openalex" in failed.value.message
            assert failed.value.hint
    assert [one.outcome for one in seen] == ["failed", "failed", "skipped", "skipped"]


async def test_a_source_has_no_more_than_its_patience(services: Services) -> None:
    services.scholar.troubles.append(Trouble("slow", None, seconds=3))
    async with services.library(patience=0.3) as library:
        started = asyncio.get_running_loop().time()
        found = await library.search("tactile fruit")
        assert asyncio.get_running_loop().time() - started < 2
    assert found.degraded == ("semantic_scholar",)
    assert "openalex:W2" in ids(found)


async def test_a_query_without_words_is_refused(services: Services) -> None:
    async with services.library() as library:
        with pytest.raises(LiteratureError, match="no words"):
            await library.search("?! *")
    assert services.asked == [0, 0, 0]


async def test_the_same_thing_asked_at_once_is_sent_once(services: Services) -> None:
    seen: list[Searched] = []
    async with services.library("openalex", note=seen.append) as library:
        found = await asyncio.gather(*(library.search("tactile fruit washing", 1) for _ in range(20)))
    assert services.asked[1] == len(seen) == 1
    assert {tuple(ids(one)) for one in found} == {("openalex:W2",)}


async def test_one_who_is_cancelled_leaves_the_others_their_answer(services: Services) -> None:
    services.openalex.troubles.append(Trouble("slow", 1, seconds=0.3))
    async with services.library("openalex") as library:
        first, second = (asyncio.create_task(library.search("tactile fruit washing", 1)) for _ in range(2))
        await asyncio.sleep(0.1)
        first.cancel()
        assert ids(await second) == ["openalex:W2"]
        alone = asyncio.create_task(library.search("weighing fruit", 1))
        await asyncio.sleep(0)
        alone.cancel()
        assert ids(await library.search("weighing fruit", 1)) == ["openalex:W3"]


@pytest.mark.parametrize(
    ("before", "bound", "expected"),
    [
        ("bound", 2015, Window(before=dt.date(2015, 1, 1))),
        ("bound", None, Window()),
        ("any", 2015, Window()),
        ("2012", 2015, Window(before=dt.date(2012, 1, 1))),
        ("2012-06-30", None, Window(before=dt.date(2012, 6, 30))),
    ],
)
def test_what_before_means(before: str, bound: int | None, expected: Window) -> None:
    assert window(LiteratureConfig(before=before), bound) == expected


@pytest.mark.parametrize(("written", "text"), [(2012, "2012"), (dt.date(2012, 6, 30), "2012-06-30")])
def test_a_date_need_not_be_quoted(written: Any, text: str) -> None:
    assert LiteratureConfig.model_validate({"before": written}).before == text


@pytest.mark.parametrize("before", ["soon", "2012-13-01", "12", "", "99999"])
def test_what_is_no_date_is_refused_with_words(before: str) -> None:
    with pytest.raises(ConfigError, match=r"literature\.before"):
        window(LiteratureConfig(before=before))


async def test_nothing_newer_than_the_bound_leaks_by_any_way(services: Services) -> None:
    async with services.library("semantic_scholar", before="bound", bound=2015) as library:
        assert "s2:C" not in ids(await library.search("tactile fruit"))
        assert ids(await library.references(f"semantic_scholar:{A}")) == ["s2:D"]
        assert await library.paper(f"semantic_scholar:{C}") is None
        assert await library.paper("Tactile fruit of next year") is None
    async with services.library("semantic_scholar") as library:
        assert ids(await library.references(f"semantic_scholar:{A}")) == ["s2:D", "s2:C"]


def test_a_library_needs_a_source(services: Services) -> None:
    with pytest.raises(ConfigError, match=r"literature\.cascade: there is no corpus"):
        Library(services.config("local")).open()


@pytest.mark.parametrize("key", ["max_age", "patience"])
@pytest.mark.parametrize("value", [1e12, float("inf"), float("nan"), -1])
def test_no_time_is_without_end(key: str, value: float) -> None:
    with pytest.raises(ValidationError, match=key):
        LiteratureConfig.model_validate({key: value})


def test_a_corpus_has_no_address() -> None:
    with pytest.raises(ValidationError, match="the corpus has no address"):
        LiteratureConfig.model_validate({"endpoints": {"local": "http://127.0.0.1:1"}})


async def test_a_query_that_is_no_whole_text_is_asked_without_its_broken_letters(services: Services) -> None:
    seen: list[Searched] = []
    async with services.library(note=seen.append) as library:
        assert "local:p1" in ids(await library.search("tactile fruit \udcff"))
        assert await library.paper("Nobody bears \ud800 this") is None
    assert all(entry.model_dump_json() for entry in seen)


async def test_a_paper_that_is_known_to_be_cited_by_none_stays_so(services: Services) -> None:
    services.bank.add(
        [Paper(id="p3", title="Weighing fruit", abstract="Fruit is weighed.", year=2011, citations=0)],
        period="past",
    )
    services.scholar.papers = [scholarly(A, "Weighing fruit", citationCount=9, venue="ICRA")]
    async with services.library("local", "semantic_scholar") as library:
        [found] = (await library.search("weighing fruit")).papers
    assert (found.id, found.citations, found.venue) == ("local:p3", 0, "ICRA")


async def test_a_source_for_which_too_many_stand_in_line_is_not_given_up(services: Services) -> None:
    config = services.config("semantic_scholar", patience=0.2)
    paces: dict[SourceName, Pace] = {"semantic_scholar": Pace(0.3)}
    hasty = Library(config, paces=paces)
    await hasty.search("tactile fruit", 1)
    with pytest.raises(LiteratureError, match="too many requests are waiting"):
        await hasty.search("weighing fruit", 1)
    await asyncio.sleep(0.3)
    assert ids(await hasty.search("weighing fruit", 1)) == ["s2:D"]
    await hasty.close()


async def test_a_query_is_not_widened_once_there_are_enough_of_all(services: Services) -> None:
    async with services.library("local", "semantic_scholar") as library:
        services.scholar.papers = [scholarly(B, "Grasping tactile fruit anew")]
        found = await library.search("grasping tactile fruit", 2)
    assert ids(found) == ["local:p1", "s2:B"]
    assert len(services.scholar.requests) == 1


async def test_a_paper_found_in_wider_words_first_takes_its_place_by_the_narrower(services: Services) -> None:
    query = "Tactile sorting of fruit by weight"
    services.scholar.papers = [
        scholarly(A, "Tactile sorting"),
        scholarly(B, "Tactile fruit sorting of weight"),
    ]
    services.openalex.papers = [open_work(1, "Tactile sorting", abstract=query)]
    async with services.library("semantic_scholar", "openalex") as library:
        found = await library.search(query)
    assert ids(found)[0] == "s2:A"


async def test_a_source_that_was_given_up_is_asked_again_after_a_rest(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.scholar.troubles.append(down())
    config = services.config("semantic_scholar")
    monkeypatch.setattr(lookup, "REST", 0.3)
    library = Library(config, paces=AT_ONCE)
    with pytest.raises(LiteratureError, match="503"):
        await library.search("tactile fruit")
    services.scholar.troubles.clear()
    with pytest.raises(LiteratureError, match="503"):
        await library.search("tactile fruit")
    assert services.asked[0] == 1
    await asyncio.sleep(0.3)
    assert "s2:A" in ids(await library.search("tactile fruit"))
    await library.close()


async def test_keys_come_from_the_environment(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANYHEADS_KEY", f" {services.scholar.key}\n")
    monkeypatch.setenv("OPENALEX_API_KEY", services.openalex.key)
    monkeypatch.setenv("OPENALEX_MAILTO", "me@example.org")
    async with services.library(
        "semantic_scholar", "openalex", semantic_scholar_key_env="MANYHEADS_KEY"
    ) as library:
        await library.search("tactile fruit", 10)
    assert {asked.headers["x-api-key"] for asked in services.scholar.requests} == {services.scholar.key}
    sent = services.openalex.requests[0].headers
    assert (sent["authorization"], sent["from"]) == (f"Bearer {services.openalex.key}", "me@example.org")


async def test_a_look_up_that_nobody_waits_for_any_more_ends(services: Services) -> None:
    services.openalex.troubles.append(Trouble("slow", 1, seconds=0.2))
    seen: list[Searched] = []
    async with services.library("openalex", note=seen.append) as library:
        alone = asyncio.create_task(library.search("tactile fruit washing", 1))
        await asyncio.sleep(0.1)
        alone.cancel()
        await asyncio.sleep(0.3)
    assert seen == []
