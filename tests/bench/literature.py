"""What pace, retries, cache, ledger and record add to a search, against the same search without them."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any

from bench.figures import Figure, Size, Watch
from manyheads.base.http import Limiter, Pace
from manyheads.config import LiteratureConfig
from manyheads.literature.library import Library
from manyheads.literature.lookup import SearchLedger
from manyheads.literature.semantic_scholar import SemanticScholar
from support.scholar import Scholar, record
from support.services import ask

PAPERS, TURNS = 10, 2_000
AT_ONCE = Pace(0)
Ask = Callable[[str], Awaitable[object]]


async def bench(size: Size) -> AsyncIterator[Figure]:
    words = [f"fruit {number}" for number in range(size.queries)]
    text = " ".join(words)
    papers = [record(f"{one:040x}", f"Paper {one}", abstract=text, year=2014) for one in range(PAPERS)]
    with Scholar(papers=papers) as scholar, tempfile.TemporaryDirectory() as base:
        async for figure in _searches(scholar, words, Path(base)):
            yield figure
    yield await _turns(size)


async def _searches(scholar: Scholar, words: Sequence[str], base: Path) -> AsyncIterator[Figure]:
    source = SemanticScholar(pace=AT_ONCE, retries=4, patience=60, address=scholar.url)
    bare = _library(scholar)
    noted = _library(scholar, note=SearchLedger(base / "searches.jsonl").note)
    kept = _library(scholar, cache=base / "cache.sqlite")
    recorded = _library(scholar, record=base / "record.sqlite")
    libraries = (bare, noted, kept, recorded)
    async with AsyncExitStack() as stack:
        for one in libraries:
            stack.push_async_callback(one.close)
        plain = await _typical(_package(scholar.url), words)
        ours = await _typical(lambda query: ask(source, "search", query, PAPERS), words)
        cascade, ledger, missed, first = [
            await _typical(lambda query, one=one: one.search(query, PAPERS), words) for one in libraries
        ]
        asked = len(scholar.requests)
        hit, again = [
            await _typical(lambda query, one=one: one.search(query, PAPERS), words)
            for one in (kept, recorded)
        ]
        if len(scholar.requests) > asked:
            raise RuntimeError("what was kept was asked for again")
    yield _figure("one search, ours", ours, plain, "the semanticscholar package by itself")
    yield _figure("with cascade", cascade, ours, "one search, ours")
    for name, value in (
        ("a ledger on disk", ledger),
        ("cache, nothing kept yet", missed),
        ("cache, kept", hit),
        ("the run's record", first),
        ("the run's record, kept", again),
    ):
        yield _figure(f"with {name}", value, cascade, "with cascade")


def _library(scholar: Scholar, **more: Any) -> Library:
    config = LiteratureConfig(
        cascade=("semantic_scholar",), endpoints={"semantic_scholar": scholar.url}, before="any"
    )
    return Library(config, paces={"semantic_scholar": AT_ONCE}, **more)


def _package(url: str) -> Ask:
    from semanticscholar import AsyncSemanticScholar

    client = AsyncSemanticScholar(api_url=url, retry=False)
    fields = ["title", "year", "abstract", "authors", "venue", "citationCount", "publicationDate"]
    return lambda query: client.search_paper(query, fields=fields, limit=PAPERS)


async def _typical(ask: Ask, words: Sequence[str]) -> float:
    """Milliseconds of the median query."""
    taken: list[float] = []
    for query in words:
        watch = Watch()
        await ask(query)
        taken.append(watch.read().wall)
    return median(taken) * 1000


def _figure(name: str, value: float, baseline: float, against: str) -> Figure:
    note = f"on top: {value - baseline:+.2f} ms"
    return Figure(
        f"literature: {name}", value, "ms", baseline, f"{against}, over HTTP on this machine", note=note
    )


async def _turns(size: Size) -> Figure:
    """Passing the limiter where nobody waits, against yielding to the event loop."""
    turns, number = Limiter(AT_ONCE), max(1, TURNS * size.queries // 50)

    async def pass_limiter() -> None:
        async with turns.turn(time.monotonic() + 60):
            await asyncio.sleep(0)

    mine, bare = [await _each(work, number) for work in (pass_limiter, lambda: asyncio.sleep(0))]
    return Figure("literature: a turn at the limiter", mine * 1e6, "µs", bare * 1e6, "asyncio.sleep(0)")


async def _each(work: Callable[[], Awaitable[object]], number: int) -> float:
    watch = Watch()
    for _ in range(number):
        await work()
    return watch.read().wall / number
