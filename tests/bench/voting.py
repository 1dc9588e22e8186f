"""Fifty raters at once, each in a session of its own, against a bare page of the same framework in the same run."""

import asyncio
import re
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from bench.figures import Figure, Size
from manyheads.web.app import create_app
from manyheads.web.security import Access
from support.arenas import arena
from support.ports import bound_socket

ITEMS = 6
"""Items that each rater answers."""
CSRF = re.compile(r'name="csrf" value="([^"]+)"')


async def bench(size: Size) -> AsyncIterator[Figure]:
    makers, cases = [f"maker {n}" for n in range(8)], [f"case {n}" for n in range(30)]
    with tempfile.TemporaryDirectory() as base, arena(Path(base) / "a", makers, cases) as made:
        tokens = [made.invite(f"Rater {n}").token for n in range(size.visitors)]
        app = create_app(Path(base), Access())
        with served(app) as url, served(Starlette(routes=BARE)) as bare:
            pages, seconds = await crowd(url, _session(tokens), size.visitors)
            bare_pages, bare_seconds = await crowd(bare, _bare_session, size.visitors)
        votes = len(made.votes())
    name = f"{size.visitors} raters at once"
    against = "a bare page and form of the framework"
    note = f"median {1000 * pages[len(pages) // 2]:.0f} ms, bare {1000 * bare_pages[len(bare_pages) // 2]:.0f} ms"
    p95, bare_p95 = (1000 * each[int(0.95 * len(each))] for each in (pages, bare_pages))
    yield Figure(f"voting: page time p95, {name}", p95, "ms", bare_p95, against, "≤ 1000", note)
    rate, bare_rate = votes / seconds, size.visitors * ITEMS / bare_seconds
    note = f"{votes} votes of {size.visitors * ITEMS}; each is on disk before the answer"
    yield Figure(f"  votes a second, {name}", rate, "/s", bare_rate, against, "≥ 10", note)


Step = Callable[[httpx.AsyncClient, int, list[float]], Awaitable[None]]


async def crowd(url: str, session: Step, number: int) -> tuple[list[float], float]:
    """The sorted times of the pages of all sessions, and the time of the whole."""
    times, begun = list[float](), time.perf_counter()

    async def one(number: int) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            await session(client, number, times)

    await asyncio.gather(*map(one, range(number)))
    return sorted(times), time.perf_counter() - begun


def _session(tokens: list[str]) -> Step:
    async def session(client: httpx.AsyncClient, number: int, times: list[float]) -> None:
        await client.get("/arena/enter", params={"token": tokens[number]})
        for _ in range(ITEMS):
            path = (await client.get("/vote/next")).headers["location"]
            csrf = CSRF.search(await _page(client, path, times))
            assert csrf
            await client.post(path, data={"csrf": unescape(csrf[1]), "q-overall": "left"})

    return session


async def _bare_session(client: httpx.AsyncClient, number: int, times: list[float]) -> None:
    await client.get("/")
    for _ in range(ITEMS):
        await client.get("/next")
        await _page(client, "/", times)
        await client.post("/", data={"csrf": "x", "q-overall": "left"})


async def _page(client: httpx.AsyncClient, path: str, times: list[float]) -> str:
    begun = time.perf_counter()
    response = await client.get(path)
    times.append(time.perf_counter() - begun)
    return response.text


def _show(request: Request) -> Response:
    return HTMLResponse("<!doctype html><title>Vote</title><form method=post><button>Send</button></form>")


async def _send(request: Request) -> Response:
    await request.form()
    return RedirectResponse("/", 303)


async def _next(request: Request) -> Response:
    return RedirectResponse("/", 303)


BARE = [Route("/", _show), Route("/", _send, methods=["POST"]), Route("/next", _next)]


@contextmanager
def served(app: Starlette) -> Generator[str]:
    """A real server in a thread of this process; its clients share the processors with it, for both pages alike."""
    listener = bound_socket()
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    listener.listen(256)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
