"""The server of `manyheads mcp`: over standard input and output for one client, or over HTTP for those that have the token."""

import hmac
import os
import select
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from manyheads.base.resources import Resources
from manyheads.mcp.bounds import Bounds
from manyheads.mcp.resources import add_prompts, add_resources
from manyheads.mcp.runs import ServedRuns
from manyheads.mcp.sdk import MCPServer, http_app, make_server
from manyheads.mcp.tools import add_tools
from manyheads.web.app import server_of
from manyheads.web.security import Access

ABOUT = (
    "Research teams and review committees of language-model agents. Tools that spend start a run: they return its name, and its "
    "result if it ends in time; otherwise the run continues, and read_result follows it. Files are named from the server's folder."
)


def served_by(bounds: Bounds, host: str = "", at_once: int = 2) -> tuple[MCPServer[Any], ServedRuns]:
    """A server with all its tools, resources and prompts."""
    server, served = make_server("manyheads", ABOUT, host or "127.0.0.1"), ServedRuns(bounds, at_once)
    add_tools(server, served)
    add_resources(server, served)
    add_prompts(server, Resources.of(bounds.paths))
    return server, served


def serve_stdio(bounds: Bounds, at_once: int = 2) -> None:
    """Serve one client, until it closes our standard input. Its runs go on."""
    server, served = served_by(bounds, at_once=at_once)
    with suppress(OSError):  # no standard input
        served.leaving = _hung_up(os.dup(0))  # the SDK takes the descriptor itself
    server.run("stdio")


def _hung_up(file: int) -> Callable[[], bool]:
    """Whether the other end of a pipe is closed, or of a pair of sockets at least for writing: Node's clients have these."""
    if not hasattr(select, "poll"):  # Windows
        return lambda: False
    poll, ends = select.poll(), select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)
    poll.register(file, ends)
    return lambda: any(happened & ends for _, happened in poll.poll(0))


class Entrance:
    """Middleware: refuses requests without the token, and under a foreign host name."""

    def __init__(self, app: ASGIApp, token: str, access: Access) -> None:
        self._app, self._token, self._access = app, token, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(Request(scope))):
            await refusal(scope, receive, send)
        elif scope["type"] in ("http", "lifespan"):
            await self._app(scope, receive, send)

    def _refusal(self, request: Request) -> PlainTextResponse | None:
        if not self._access.names_us(request.headers.get("host", "")):
            return PlainTextResponse("This server does not know this host name.\n", 400)
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode()):
            return None
        text = "The token is missing or wrong. Send the one of manyheads mcp --http: Authorization: Bearer TOKEN\n"
        return PlainTextResponse(text, 401, {"www-authenticate": "Bearer"})


def http_server(
    bounds: Bounds, token: str, host: str = "127.0.0.1", names: frozenset[str] = frozenset(), at_once: int = 2
) -> uvicorn.Server:
    """The server of the address `/mcp`, for clients with the token. Their runs go on when it ends.

    Args:
        names: host names of the server, besides `localhost` and plain addresses.
    """
    server, served = served_by(bounds, host, at_once)
    app: Starlette = http_app(server, host)
    app.user_middleware.insert(0, Middleware(Entrance, token=token, access=Access(names)))
    running = server_of(app)
    served.leaving = lambda: running.should_exit
    return running
