"""Many runs at once in one process, against one run: time, threads and open files; and a thousand of them in little room."""

import asyncio
import gc
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.figures import Figure, Size, Watch
from bench.overhead import plain_cost, questions_of
from bench.runs import Timed, config_for, timed
from bench.server import TESTS, model_server
from manyheads.cli.options import collect_garbage
from manyheads.systems.loading import validate

THREADS = 64
"""However many runs there are: those of the numeric libraries, the event loop, the journals and the embeddings."""
OPEN_FILES = 4096
"""What a system usually lets a process open."""
MEMORY = 4096
"""MB that a thousand small teams may take."""


async def bench(size: Size) -> AsyncIterator[Figure]:
    with model_server(size.delay) as base_url, tempfile.TemporaryDirectory() as base:
        for embedding in size.embeddings:
            for host in size.hosts:
                async for figure in _of(base_url, host, embedding, size, Path(base)):
                    yield figure
        for host in size.hosts:
            async for figure in _growth(base_url, host, size, Path(base)):
                yield figure
    for host in size.hosts:
        yield _in_little_room(host, size)


async def _of(base_url: str, host: str, embedding: str, size: Size, base: Path) -> AsyncIterator[Figure]:
    configs = [config_for(base_url, host, size, embedding, seed=seed) for seed in range(size.runs)]
    run = await timed(configs[0], base)
    watch = Watch()
    lone = await timed(configs[-1], base)
    one = watch.read()
    watch = Watch()
    runs = await asyncio.gather(*(timed(config, base) for config in configs))
    many = watch.read()
    calls = sum(said.usage.calls for each in runs for said in each.said)
    plain = await plain_cost(host, base_url, questions_of(run.folder))
    alone = calls * plain.cpu
    note = (
        f"{calls} calls; CPU {many.cpu:.1f} s is {many.cpu / many.wall:.0%} of the time, "
        f"the host's plain agents alone would take {alone:.1f} s"
    )
    name = f"{size.runs} runs at once, {host}, {embedding}"
    limit = max(1.5, alone / one.wall)
    yield Figure(f"crowd: {name}", many.wall, "s", one.wall, "one run", f"ratio ≤ {limit:.1f}", note)
    begun = max(each.set_up.wall for each in runs)
    cpu = f"CPU {max(each.set_up.cpu for each in runs):.2f} s, of one run {lone.set_up.cpu:.2f} s"
    start = "until each has asked its first question"
    yield Figure(
        f"  start: {name}", begun, "s", lone.set_up.wall, "one run", "ratio ≤ 1.5", f"{start}; {cpu}"
    )


async def _growth(base_url: str, host: str, size: Size, base: Path) -> AsyncIterator[Figure]:
    """Threads and open files of a process with one small team, and with more; a journal has two files."""
    small, one = replace(size, members=2, turns=1), (0, 0)
    for count in (1, size.runs // 2, 2 * size.runs):
        configs = (config_for(base_url, host, small, size.embeddings[-1], seed=seed) for seed in range(count))
        _, (threads, files) = await held_by(*(timed(config, base) for config in configs))
        one = one if count > 1 else (threads, files)
        name = f"{count} small teams at once, {host}"
        yield Figure(f"  threads: {name}", threads, "threads", one[0], "one team", f"≤ {THREADS}")
        yield Figure(f"  open files: {name}", files, "files", one[1], "one team", f"≤ {OPEN_FILES}")


async def held_by(*runs: Coroutine[Any, Any, Timed]) -> tuple[list[Timed], tuple[int, ...]]:
    """Runs at once, and the most threads and open files that the process held meanwhile."""
    most = [0, 0]

    async def watch() -> None:
        while True:
            most[:] = (max(pair) for pair in zip(most, _held(), strict=True))
            await asyncio.sleep(0.05)

    watching = asyncio.create_task(watch())
    try:
        return list(await asyncio.gather(*runs)), (*most,)
    finally:
        watching.cancel()


def _held() -> tuple[int, ...]:
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))


# A thousand teams: the offline model, so that what is measured is the teams and not a server's connections.


def _in_little_room(host: str, size: Size) -> Figure:
    command = [sys.executable, "-m", "bench.crowd", host, str(size.teams)]
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    said = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.split()
    memory, seconds, files = map(float, said[-3:])
    name = f"{size.teams} small teams at once, {host}"
    note = f"offline model; {seconds:.0f} s, at most {files:.0f} open files of {OPEN_FILES}"
    return Figure(f"crowd: {name}", memory, "MB", MEMORY, "4 GB", "ratio ≤ 1", note)


async def _teams(host: str, count: int) -> None:
    """As many teams at once, with as many files as a process may usually hold; all of them must end."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    small = {"team": {"size": 2}, "turns": 1, "embedding": "lexical", "host": host}
    watch = Watch()
    with tempfile.TemporaryDirectory() as base:
        configs = [validate({**small, "seed": seed}, "bench") for seed in range(count)]
        _, (_, files) = await held_by(*(timed(config, Path(base)) for config in configs))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(memory, watch.read().wall, files)


if __name__ == "__main__":
    gc.disable()
    collect_garbage()
    asyncio.run(_teams(sys.argv[1], int(sys.argv[2])))
