"""What a library keeps on disk, and what a resumed run sees."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import LiteratureError
from manyheads.literature.lookup import Findings, SearchLedger
from manyheads.literature.source import ALL, Part
from support.scholar import Scholar, Trouble
from support.services import A, C, Services, down


async def test_an_answer_on_disk_is_not_asked_for_again(services: Services, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    found: list[Findings] = []
    for _ in range(2):
        async with services.library("semantic_scholar", "openalex", cache=cache) as library:
            found.append(await library.search("tactile fruit"))
            await library.references(f"semantic_scholar:{A}")
            await library.paper("openalex:W3")
            await library.paper("Nobody bears this")
    asked = services.asked
    assert found[0].papers == found[1].papers
    assert [{one.cached for one in each.searches} for each in found] == [{False}, {True}]
    async with services.library("semantic_scholar", "openalex", cache=cache, max_age=0) as library:
        assert (await library.search("tactile fruit")).papers == found[0].papers
    assert [now > before for now, before in zip(services.asked, asked, strict=True)] == [True, True, False]


async def test_what_is_kept_of_a_source_that_is_down_is_given(services: Services, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    async with services.library("openalex", cache=cache) as library:
        before = await library.search("tactile fruit washing")
    services.openalex.troubles.append(down())
    async with services.library("openalex", cache=cache) as library:
        with pytest.raises(LiteratureError, match="503"):
            await library.search("fruit peeling")
        after = await library.search("tactile fruit washing")
    assert (after.papers, after.degraded) == (before.papers, ())


async def test_a_failure_is_not_kept_but_an_empty_answer_is(services: Services, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    services.openalex.troubles.append(Trouble("status", 1, status=503))
    async with services.library("openalex", cache=cache) as library:
        with pytest.raises(LiteratureError):
            await library.search("quantum")
    async with services.library("openalex", cache=cache) as library:
        assert (await library.search("quantum")).papers == ()
    before = services.asked
    async with services.library("openalex", cache=cache) as library:
        assert (await library.search("quantum")).papers == ()
    assert services.asked == before


async def test_nothing_is_opened_or_asked_before_it_is_used(services: Services, tmp_path: Path) -> None:
    async with services.library(cache=tmp_path / "a" / "cache.sqlite", record=tmp_path / "kept.sqlite"):
        pass
    assert not any((tmp_path / name).exists() for name in ("a", "kept.sqlite"))
    assert services.asked == [0, 0, 0]


async def test_a_resumed_run_sees_what_it_saw(services: Services, tmp_path: Path) -> None:
    kept, ledgers = tmp_path / "kept.sqlite", [tmp_path / "searches.jsonl", tmp_path / "whole.jsonl"]

    async def run(ledger: SearchLedger, *queries: str) -> list[Findings]:
        async with services.library(record=kept, note=ledger.note) as library:
            found = [await library.search(query) for query in queries]
            return [*found, await library.references("local:p1")]

    services.openalex.troubles.append(down())
    first = await run(SearchLedger(ledgers[0]), "tactile fruit")
    services.openalex.troubles.clear()
    services.scholar.papers, services.openalex.papers = [], []
    before, lines = services.asked, ledgers[0].read_text()
    ledger = SearchLedger(ledgers[0])
    assert await run(ledger, "tactile fruit") == first
    assert first[0].degraded == ("openalex",)
    assert services.asked == before
    assert ledgers[0].read_text() == lines
    assert ledger.as_data()["degraded"] == ["openalex"]
    afresh = SearchLedger(ledgers[1])
    await run(afresh, "tactile fruit")
    assert afresh.as_data() == ledger.as_data()


async def test_what_is_kept_answers_its_own_question_only(services: Services, tmp_path: Path) -> None:
    cache, asked = tmp_path / "cache.sqlite", list[bool]()

    async def ask(limit: int = 5, parts: Collection[Part] = ALL, **changes: Any) -> Findings:
        before = len(services.scholar.requests)
        async with services.library("semantic_scholar", cache=cache, **changes) as library:
            found = await library.search("tactile fruit", limit, parts=parts)
        asked.append(len(services.scholar.requests) > before)
        return found

    assert f"semantic_scholar:{C}" in [paper.id for paper in (await ask()).papers]
    assert f"semantic_scholar:{C}" not in [paper.id for paper in (await ask(before="2015")).papers]
    assert asked[-1]
    assert len((await ask(1)).papers) == 1
    assert asked[-1]
    assert not (await ask(parts=())).papers[0].citations
    assert asked[-1]
    await ask()
    assert not asked[-1]
    with Scholar() as mirror:
        assert not (await ask(endpoints={"semantic_scholar": mirror.url})).papers


async def test_a_run_s_record_answers_its_own_question_only(services: Services, tmp_path: Path) -> None:
    kept = tmp_path / "kept.sqlite"
    async with services.library("semantic_scholar", record=kept) as library:
        everything = (await library.search("tactile fruit", 5)).papers
        assert len((await library.search("tactile fruit", 1)).papers) == 1
        assert (await library.search("tactile fruit", 5)).papers == everything
    async with services.library("semantic_scholar", record=kept, before="2015") as library:
        assert f"semantic_scholar:{C}" not in [
            paper.id for paper in (await library.search("tactile fruit", 5)).papers
        ]
    async with services.library("openalex", record=kept) as library:
        assert {paper.source for paper in (await library.search("tactile fruit", 5)).papers} == {"openalex"}
