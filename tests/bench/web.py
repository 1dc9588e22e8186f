"""The web room with many visitors: the time of its pages, beside a bare page of the same framework; a long live page."""

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.figures import Figure, Size
from manyheads.core import Usage
from manyheads.core.events import Said, Stage
from manyheads.core.results import FORMAT
from support.served import Served, served

BARE = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route
app = Starlette(routes=[Route("/", lambda request: HTMLResponse("x" * int(sys.argv[1])))])
config = uvicorn.Config(app, port=0, log_level="warning", access_log=False)
server = uvicorn.Server(config)
import asyncio
async def main():
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)
    await task
asyncio.run(main())
"""
PAGES = 10
"""Requests of each visitor."""


async def bench(size: Size) -> AsyncIterator[Figure]:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        for number in range(size.runs * 5):
            _run(folder / f"20260101-{number:06}-virsci", 3)
        long = _run(folder / "20260102-000000-long", size.live_turns)
        with served(folder) as room:
            begun = _megabytes(room.process.pid)
            async with httpx.AsyncClient(base_url=room.url, timeout=60) as owner:
                await owner.get(room.entrance)
                cookies = dict(owner.cookies)
                length = len((await owner.get("/runs")).content)
                with _bare(length) as bare:
                    # in turns, so that others on the machine disturb both alike
                    ours, theirs = list[float](), list[float]()
                    for _ in range(size.rounds):
                        theirs += await _visits(bare, {}, size.visitors)
                        ours += await _visits(f"{room.url}/runs", cookies, size.visitors)
                what = f"a bare page of {length:,} bytes"
                yield Figure(
                    f"web: list, {size.visitors} at once, p95", _p95(ours), "ms", _p95(theirs), what,
                    note=f"{size.runs * 5} runs in the folder",
                )  # fmt: skip
                seconds, bytes_ = await _open(owner, f"/runs/{long.name}")
                few, few_bytes = await _open(owner, "/runs/20260101-000000-virsci")
            name = f"web: page of {size.live_turns:,} turns"
            yield Figure(f"{name}, opened again", seconds, "ms", few, "a page of 3 turns", "≤ 200 ms")
            yield Figure(
                f"{name}, size", bytes_ / 1000, "kB", few_bytes / 1000, "a page of 3 turns", "≤ 500 kB"
            )
            held = await _live(room, long, cookies, size.visitors)
            note = f"after {size.visitors} live pages of it"
            yield Figure("web: memory of the server", held, "MB", begun, "the idle server", "≤ +100 MB", note)


def _run(folder: Path, turns: int) -> Path:
    folder.mkdir()
    usage, text = Usage(input_tokens=900, output_tokens=200, calls=1), "A **sentence** about touch. " * 40
    events = [Stage(stage="topic", title="Topic discussion", number=1, total=5)] + [
        Said(
            stage="topic",
            turn=n,
            speaker=f"Scientist{n % 8}",
            task="discuss",
            text=text,
            data={},
            model="m",
            usage=usage,
        )
        for n in range(turns)
    ]
    lines = (json.dumps({"at": 0.0, **event.model_dump(mode="json")}) for event in events)
    (folder / "config.yaml").write_text("system: virsci\n", encoding="utf-8")
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = {
        "format": FORMAT,
        "system": "virsci",
        "finished": True,
        "result": {"title": f"Title of {folder.name}"},
    }
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    return folder


@contextmanager
def _bare(length: int) -> Generator[str]:
    """A server with one page of this length."""
    command = [sys.executable, "-c", BARE, str(length)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
        process.terminate()


async def _visits(url: str, cookies: dict[str, str], visitors: int) -> list[float]:
    """Milliseconds of each page that so many visitors open one after the other."""
    limits = httpx.Limits(max_connections=visitors, max_keepalive_connections=visitors)
    async with httpx.AsyncClient(cookies=cookies, limits=limits, timeout=60) as client:

        async def visit() -> list[float]:
            times = list[float]()
            for _ in range(PAGES):
                began = time.perf_counter()
                (await client.get(url)).raise_for_status()
                times.append((time.perf_counter() - began) * 1000)
            return times

        return [each for times in await asyncio.gather(*(visit() for _ in range(visitors))) for each in times]


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


async def _open(client: httpx.AsyncClient, path: str) -> tuple[float, int]:
    """Milliseconds and bytes of a page that the server has shown before."""
    await client.get(path)
    began = time.perf_counter()
    page = (await client.get(path)).raise_for_status()
    return (time.perf_counter() - began) * 1000, len(page.content)


async def _live(room: Served, run: Path, cookies: dict[str, str], visitors: int) -> float:
    """Megabytes of the server after so many visitors read the stream of a run."""
    life = (run / "events.jsonl").stat().st_ino

    async with httpx.AsyncClient(base_url=room.url, cookies=cookies, timeout=60) as client:

        async def follow() -> int:
            text = (await client.get(f"/runs/{run.name}/live?from=0&life={life}")).text
            return len(re.findall("event: turn", text))

        assert all(await asyncio.gather(*(follow() for _ in range(visitors))))
    return _megabytes(room.process.pid)


def _megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text("ascii")
    resident = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert resident
    return int(resident[1]) / 1000
