"""The web room with many visitors: the time of its pages, beside a bare page of the same framework; a long live page; raters."""

import asyncio
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import httpx

from bench.figures import Figure, Size
from manyheads.core.events import Stage
from support.arenas import arena
from support.events import a_run, said
from support.served import Served, served

BARE = """
import asyncio, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.routing import Route
async def page(request):
    if request.method == "POST":
        await request.form()
        return RedirectResponse("/", 303)
    return HTMLResponse("x" * int(sys.argv[1]))
async def main():
    app = Starlette(routes=[Route("/", page, methods=["GET", "POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", access_log=False))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)
    await task
asyncio.run(main())
"""
PAGES = 10
"""Requests of each visitor."""
ITEMS = 6
"""Items that each rater answers."""
CSRF = re.compile(r'name="csrf" value="([^"]+)"')


async def bench(size: Size) -> AsyncIterator[Figure]:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        for number in range(size.runs * 5):
            _run(folder / f"20260101-{number:06}-virsci", 3)
        long = _run(folder / "20260102-000000-long", size.live_turns)
        makers, cases = [f"maker {n}" for n in range(8)], [f"case {n}" for n in range(30)]
        with arena(folder / "a", makers, cases) as made:
            tokens = [made.invite(f"Rater {n}").token for n in range(size.visitors)]
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
            with _bare(1000) as bare:
                for figure in await _voting(room.url, tokens, bare):
                    yield figure


async def _voting(url: str, tokens: list[str], bare: str) -> list[Figure]:
    """Raters at once, each in a session of its own; each vote is on disk before the answer."""
    pages, seconds = await _sessions(url, tokens)
    bare_pages, bare_seconds = await _sessions(bare, [""] * len(tokens))
    name, against = f"{len(tokens)} raters at once", "a bare page and form of the framework"
    votes = ITEMS * len(tokens)
    return [
        Figure(f"voting: page time p95, {name}", _p95(pages), "ms", _p95(bare_pages), against, "≤ 1000"),
        Figure(f"  votes a second, {name}", votes / seconds, "/s", votes / bare_seconds, against, "≥ 10"),
    ]


async def _sessions(url: str, tokens: list[str]) -> tuple[list[float], float]:
    """Milliseconds of each page, and seconds of the whole; without a token, of the bare page."""
    times, begun = list[float](), time.perf_counter()

    async def session(token: str) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            if token:
                await client.get("/arena/enter", params={"token": token})
            for _ in range(ITEMS):
                path = (await client.get("/vote/next")).headers["location"] if token else "/"
                began = time.perf_counter()
                page = (await client.get(path)).text
                times.append((time.perf_counter() - began) * 1000)
                csrf = CSRF.search(page)
                data = {"csrf": unescape(csrf[1]) if csrf else "", "q-overall": "left"}
                assert (await client.post(path, data=data)).status_code == 303

    await asyncio.gather(*map(session, tokens))
    return times, time.perf_counter() - begun


def _run(folder: Path, turns: int) -> Path:
    text = "A **sentence** about touch. " * 40
    stage = Stage(stage="topic", title="Topic discussion", number=1, total=5)
    talk = (said(f"Scientist{n % 8}", text, n) for n in range(turns))
    return a_run(folder, stage, *talk, finished=True, title=f"Title of {folder.name}")


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
