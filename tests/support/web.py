"""The web room, as a browser without scripts uses it."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path

import httpx
from starlette.applications import Starlette

from manyheads.web.app import create_app
from manyheads.web.security import Access

ADDRESS = "http://127.0.0.1:8765"
CSRF = re.compile(r'name="csrf" value="([^"]+)"')


def browser(app: Starlette, **more: str) -> httpx.AsyncClient:
    """A browser that has not logged in."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=ADDRESS, headers=more)


@asynccontextmanager
async def owner(
    folder: Path, at_once: int = 0, project: Path | None = None
) -> AsyncGenerator[httpx.AsyncClient]:
    """The browser of a folder's owner; runs wait in the queue unless `at_once` is more."""
    access = Access()
    app = create_app(folder, access, at_once, project)
    async with app.router.lifespan_context(app), browser(app) as client:
        response = await client.get("/enter", params={"token": access.token()})
        assert response.status_code == 200
        yield client


def app_of(client: httpx.AsyncClient) -> Starlette:
    """The application behind a browser."""
    transport = client._transport
    assert isinstance(transport, httpx.ASGITransport)
    assert isinstance(transport.app, Starlette)
    return transport.app


async def send(client: httpx.AsyncClient, page: str, path: str, **fields: object) -> httpx.Response:
    """Send a form with the token that a page has."""
    token = CSRF.search((await client.get(page)).text)
    assert token
    data = {"csrf": unescape(token[1]), **fields}
    return await client.post(path, data=data, headers={"origin": ADDRESS})
