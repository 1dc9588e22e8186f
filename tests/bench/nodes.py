"""Jobs on Ray beside the same jobs in this process: speed, what a job and a turn cost more, and what a finished job leaves in memory."""

import asyncio
import gc
import itertools
import math
import os
import tempfile
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench.embedding import abstracts
from bench.figures import Figure, Size, Watch
from manyheads.config import BudgetConfig, RunConfig
from manyheads.core import Place
from manyheads.core.results import RESULT
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.vectors import Embedder, RemoteEmbedder, embedded
from manyheads.engine import cluster, worker
from manyheads.engine.budget import Budget
from manyheads.engine.cluster import Cluster, connected
from manyheads.engine.jobs import Job, JobNews, Scheduler
from manyheads.engine.journal import Journal
from manyheads.engine.local import Engine, Process
from manyheads.hosts import host_factory
from manyheads.systems.loading import validate

WORKERS, LANES = 2, 4
OFFLINE = {"embedding": "lexical", "models": {"default": {"provider": "offline", "name": "offline"}}}
REVIEW: dict[str, Any] = {**OFFLINE, "system": "conference-review", "conference-review": {"repeats": 1}}
"""A job of one turn."""
_number = itertools.count()


MOMENTS = dict[tuple[str, Place], float]()
"""Of a process: when each turn began its journey to the driver's disk, and ended it; the clock is the machine's."""


def note(journal: Path, place: Place) -> None:
    MOMENTS[journal.parent.name, place] = time.monotonic()


class EndJournal(Journal):
    """Of the driver."""

    def keep(
        self, place: Place, digest: str, request: dict[str, Any], reply: dict[str, Any]
    ) -> asyncio.Future[None]:
        """See `Journal.keep`."""
        kept = super().keep(place, digest, request, reply)
        kept.add_done_callback(lambda _: note(self.path, place))
        return kept


class BeginJournal(worker.MirroredJournal):
    """Of a worker."""

    def keep(
        self, place: Place, digest: str, request: dict[str, Any], reply: dict[str, Any]
    ) -> asyncio.Future[None]:
        """See `Journal.keep`."""
        note(self.path, place)
        return super().keep(place, digest, request, reply)


class TimedWorker(worker.JobWorker):
    """A worker with such journals."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        worker.MirroredJournal = BeginJournal

    async def begun(self) -> dict[tuple[str, Place], float]:
        """The turns since the last look."""
        noted = MOMENTS.copy()
        MOMENTS.clear()
        return noted


def team(size: Size) -> dict[str, Any]:
    """A job of many turns, some of them at once."""
    return {**OFFLINE, "system": "virsci", "team": {"size": size.members}, "turns": size.turns}


async def bench(size: Size) -> AsyncIterator[Figure]:
    Cluster.worker, cluster.Journal = TimedWorker, EndJournal
    try:
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder)
            with connected(None, 1, LANES) as one:
                async for figure in _of_one(one, size, base):
                    yield figure
            with connected(None, WORKERS, LANES // WORKERS) as two:
                await _seconds(two, team(size), WORKERS * LANES, base)  # all is imported
                ours = [await _seconds(two, team(size), size.runs, base) for _ in range(size.rounds)]
            here = [await _seconds(Process(LANES), team(size), size.runs, base) for _ in range(size.rounds)]
            aim = f"ratio ≤ {1 / 1.6:.2f}"
            yield Figure(
                f"{WORKERS} workers, {size.runs} offline teams",
                median(ours),
                "s",
                median(here),
                "one process",
                aim,
            )
    finally:
        Cluster.worker, cluster.Journal = worker.JobWorker, Journal
    yield await asyncio.to_thread(_embedding, size)


def _embedding(size: Size) -> Figure:
    """One process embeds on all processors already: workers are held against a worker, which has one."""
    texts, _ = abstracts(size.texts)
    batches = [(number, [f"{number}. {text}" for text in texts]) for number in range(10)]
    model, took = load_embedder(size.embeddings[-1]), list[float]()

    def seconds(embedder: Embedder) -> float:
        for some in (batches[:WORKERS], batches):  # the first load the model
            watch = Watch()
            for _ in embedded(embedder, some):
                pass
        return watch.read().wall

    for workers in (1, WORKERS):
        with connected(None, workers, 1) as many:
            send = partial(many.embed, size.embeddings[-1], model.name)
            took.append(seconds(RemoteEmbedder(model, send, 2 * workers)))
    name, note = (
        f"{WORKERS} workers, {10 * len(texts)} texts embedded",
        f"this process {seconds(model):.2f} s",
    )
    return Figure(name, took[1], "s", took[0], "one worker", f"ratio ≤ {1 / 1.6:.2f}", note)


async def _of_one(one: Cluster, size: Size, base: Path) -> AsyncIterator[Figure]:
    """One worker with as many jobs at once as this process."""
    for engine in (one, Process(LANES)):
        await _seconds(engine, team(size), LANES, base)  # all is imported
    await _journeys(one)
    alone = await _turns(one, size, base, 1)
    driver = Watch()
    together = await _turns(one, size, base, LANES)
    spent = driver.read().cpu / len(together) * 1000
    for name, took, aim in (("alone", alone, 2), (f"{LANES} jobs at once", together, 15)):
        late = f"p95 {quantiles(took, n=20)[-1] * 1000:.1f}; {len(took)} turns"
        yield Figure(
            f"a turn to the driver's disk, {name}",
            median(took) * 1000,
            "ms",
            aim,
            "the aim",
            f"≤ {aim} ms",
            late,
        )
    yield Figure("driver's CPU, a turn with its requests and files", spent, "ms", 10, "100 turns a second")
    whole, held = list[float](), list[float]()
    count = 0
    for count in size.jobs:
        whole.append(await _seconds(one, REVIEW, count, base, held=held))
        here = await _seconds(Process(LANES), REVIEW, count, base)
        more = f"{(whole[-1] - here) / count * 1000:+.1f} ms a job"
        yield Figure(
            f"{count} jobs of one turn, a job",
            whole[-1] / count * 1000,
            "ms",
            here / count * 1000,
            "one process",
            "≤ 20 ms more",
            more,
        )
    few = size.jobs[1]
    ours, here = [await _seconds(each, REVIEW, few, base, again=True) for each in (one, Process(LANES))]
    yield Figure(
        f"{few} jobs whose turns are recorded, a job",
        ours / few * 1000,
        "ms",
        here / few * 1000,
        "one process",
        "≤ 20 ms more",
        f"{(ours - here) / few * 1000:+.1f} ms a job",
    )
    steps = math.log(size.jobs[-1] / size.jobs[0])
    yield Figure(
        "exponent of the cost of jobs",
        max(math.log(whole[-1] / whole[0]) / steps, 0.01),
        "power",
        1,
        "linear",
        "0.97 to 1.03",
    )
    grown = (held[-1] - held[-2]) / (count - count // 2)
    yield Figure("driver's memory, a finished job", max(grown, 0.001), "kB", 2, "the aim", "≤ 2 kB")


async def _turns(one: Cluster, size: Size, base: Path, at_once: int) -> list[float]:
    await _seconds(one, team(size), at_once, base)
    return await _journeys(one)


async def _journeys(one: Cluster) -> list[float]:
    """Seconds of each turn since the last look."""
    async with one.seat() as seat:
        begun = await seat.actor.begun.remote()
    took = [MOMENTS[turn] - at for turn, at in begun.items()]
    MOMENTS.clear()
    return took


async def _seconds(
    engine: Engine,
    config: dict[str, Any],
    count: int,
    base: Path,
    *,
    again: bool = False,
    held: list[float] | None = None,
) -> float:
    """What so many jobs take in a new folder; or in one that has all their turns, but no results.

    Args:
        held: gets this process's memory in kB when half of them have finished, and when all have.
    """
    finished = itertools.count(1)

    def note(news: JobNews) -> None:
        if held is not None and news.state == "finished" and next(finished) in (count // 2, count):
            held.append(_resident())

    out = base / f"jobs-{next(_number)}"
    out.mkdir()
    (text := out / "owls.md").write_text("# Owls\n\nWe plan with owls, and compare them with crows.\n")
    more = {"inputs": {"subject": str(text)}} if config is REVIEW else {}
    jobs = [_job(validate({**config, **more, "seed": seed}, "bench"), out) for seed in range(count)]
    budget, seconds = Budget(BudgetConfig()), 0.0
    try:
        executor = engine.executor(host_factory, budget.open(out), False, None)
        for _ in range(1 + again):
            for job in jobs:
                (job.folder / RESULT).unlink(missing_ok=True)
            watch = Watch()
            scheduler = Scheduler(executor, budget, note, at_once=engine.at_once)
            failures = await scheduler.run({job.key: job for job in jobs})
            seconds = watch.read().wall
            assert not failures, next(iter(failures.values()))
    finally:
        budget.close()
    return seconds


def _job(config: RunConfig, out: Path) -> Job:
    key = f"{config.system}-{config.seed}"
    return Job(key, out / key, config, key)


def _resident() -> float:
    """kB of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1024
