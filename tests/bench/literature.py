"""What pace, retries, cache and ledger add to a search, against the same search without them."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

from bench.figures import Figure, Size, Watch
from manyheads.base.http import Limiter, Pace
from manyheads.config import LiteratureConfig
from manyheads.literature.library import Library
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
    bare, kept = _library(scholar, None), _library(scholar, base / "cache.sqlite")
    async with AsyncExitStack() as stack:
        for one in (bare, kept):
            stack.push_async_callback(one.close)
        plain = await _typical(_package(scholar.url), words)
        ours = await _typical(lambda query: ask(source, "search", query, PAPERS), words)
        ledger = await _typical(lambda query: bare.search(query, PAPERS), words)
        missed = await _typical(lambda query: kept.search(query, PAPERS), words)
        asked = len(scholar.requests)
        hit = await _typical(lambda query: kept.search(query, PAPERS), words)
        if len(scholar.requests) > asked:
            raise RuntimeError("what was kept was asked for again")
    yield _figure("one search, ours", ours, plain, "the semanticscholar package by itself")
    yield _figure("with cascade and ledger", ledger, ours, "one search, ours")
    yield _figure("with cache, nothing kept yet", missed, ledger, "with cascade and ledger")
    yield _figure("with cache, kept", hit, ledger, "with cascade and ledger")


def _library(scholar: Scholar, cache: Path | None) -> "Library":
    config = LiteratureConfig(
        cascade=("semantic_scholar",), endpoints={"semantic_scholar": scholar.url}, before="any"
    )
    return Library(config, cache=cache, paces={"semantic_scholar": AT_ONCE})


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
