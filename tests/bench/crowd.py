"""Many runs at once in one process, against one run."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from bench.figures import Figure, Size, Watch
from bench.overhead import plain_cost, questions_of
from bench.runs import config_for, timed
from bench.server import model_server


async def bench(size: Size) -> AsyncIterator[Figure]:
    with model_server(size.delay) as base_url, tempfile.TemporaryDirectory() as base:
        for embedding in size.embeddings:
            for host in size.hosts:
                yield await _of(base_url, host, embedding, size, Path(base))


async def _of(base_url: str, host: str, embedding: str, size: Size, base: Path) -> Figure:
    configs = [config_for(base_url, host, size, embedding, seed=seed) for seed in range(size.runs)]
    run = await timed(configs[0], base)
    watch = Watch()
    await timed(configs[-1], base)
    one = watch.read()
    watch = Watch()
    runs = await asyncio.gather(*(timed(config, base) for config in configs))
    many = watch.read()
    calls = sum(said.usage.calls for each in runs for said in each.said)
    plain = await plain_cost(host, base_url, questions_of(run.folder))
    note = (
        f"{calls} calls; CPU {many.cpu:.1f} s is {many.cpu / many.wall:.0%} of the time, "
        f"the host's plain agents alone would take {calls * plain.cpu:.1f} s"
    )
    return Figure(
        f"crowd: {size.runs} runs at once, {host}, {embedding}",
        many.wall,
        "s",
        one.wall,
        "one run",
        "ratio ≤ 2.5",
        note,
    )
