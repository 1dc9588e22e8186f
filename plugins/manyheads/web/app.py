"""The web application: its routes, its errors, its state; its connections, bounded in number and in time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http.h11_impl import H11Protocol

from manyheads import report
from manyheads.base.errors import UserError
from manyheads.base.files import allowed_files
from manyheads.web import arenas, compare, runs, start, table, vote
from manyheads.web.children import Children
from manyheads.web.folder import MissingRunError, RunsFolder
from manyheads.web.pages import for_browser, render
from manyheads.web.security import HEADERS, Access, Guard, get, keep, post

SECONDS = 10.0
"""Maximum time from a connection, or from the first byte of a further request, to the end of the request's headers."""


def most_connections() -> int:
    """A quarter of the files that the system allows, at most 256: runs and arenas need the others."""
    return min(allowed_files() // 4, 256)


def server_of(app: Starlette) -> uvicorn.Server:
    """The server of an application. Its log, its name and what proxies claim are left out."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, proxy_headers=False,
        timeout_graceful_shutdown=5, http=Connection, backlog=most_connections() // 2,
    )  # fmt: skip
    return uvicorn.Server(config)


class Connection(H11Protocol):
    """A connection that is closed if its request does not come; of too many, the oldest without a whole request goes."""

    _born = 0.0
    _late: asyncio.TimerHandle | None = None

    @property
    def _waits(self) -> bool:
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._born = self.loop.time()
        super().connection_made(transport)
        every = (each for each in self.connections if isinstance(each, Connection))
        still: list[Connection] = [each for each in every if not each.transport.is_closing()]
        if len(still) > most_connections():
            waiting = [each for each in still if each._waits]
            # those of a visitor that was answered before go last
            min(waiting, key=lambda each: (bool(each.cycle), each._born)).transport.abort()
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._late:
            self._late.cancel()

    def _watch(self) -> None:
        if not self._waits and self._late:
            self._late.cancel()
            self._late = None
        elif self._waits and not self._late:
            self._late = self.loop.call_later(SECONDS, self.transport.abort)


HERE = Path(__file__).parent
FAILED = "This did not work"
PROBLEMS = {
    400: ("The server cannot read this request", ""),
    401: (
        "You are not logged in",
        "Open the address that manyheads serve printed in the terminal. It works once. For a new one, restart the "
        "server. If you were invited to rate, open your invitation link.",
    ),
    403: ("You may not do this", "Raters see only the pairs that they rate."),
    404: (
        "There is no such page",
        "The run or the page does not exist. It may have been renamed or deleted.",
    ),
    405: ("There is no such page", "Use the buttons and links of the pages."),
    413: ("This is too large", "Choose a smaller file, or a shorter text."),
    500: ("Something broke in manyheads", "The server's terminal shows the details. Other pages still work."),
}
"""What a page says about each error: title and next step."""


def create_app(folder: Path, access: Access, at_once: int = 2, project: Path | None = None) -> Starlette:
    """The web application of a folder of runs and arenas.

    Args:
        at_once: maximum number of runs that it works on at once.
        project: another folder with arenas, and with runs in it and below it.
    """
    children, opened = Children(folder.resolve(), at_once), arenas.Arenas(folder, project or folder)
    access.raters = opened.rater

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        yield
        await children.close()
        opened.close()

    app = Starlette(
        lifespan=lifespan,
        routes=[
            get("/", home),
            get("/enter", enter, right=None),
            post("/address", address),
            *runs.routes(),
            *table.routes(),
            *compare.routes(),
            *start.routes(),
            *arenas.routes(),
            *vote.routes(),
            Route("/static/report.css", FileResponse(Path(report.__file__).with_name("style.css"))),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        middleware=[Middleware(Guard, access=access)],
        exception_handlers={
            HTTPException: problem,
            MissingRunError: missing,
            UserError: mistake,
            Exception: crash,
        },
    )
    app.state.access, app.state.runs, app.state.arenas = access, RunsFolder(folder, children, project), opened
    return app


def home(request: Request) -> Response:
    return RedirectResponse("/runs", 303)


def enter(request: Request) -> Response:
    """Spend a one-time token, and open the owner's session."""
    visitor = request.app.state.access.enter(request.query_params.get("token", ""))
    return keep(render(request, "entered.html.j2", target="/runs"), request, visitor)


def address(request: Request, form: object) -> Response:
    """A one-time address for another browser."""
    url = request.url_for("enter").include_query_params(token=request.app.state.access.token())
    return render(request, "address.html.j2", address=str(url))


def problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    usual = HTTPException(error.status_code).detail
    response = _problem(request, error.status_code, hint="" if error.detail == usual else error.detail)
    response.headers.update(error.headers or {})
    return response


def mistake(request: Request, error: Exception) -> Response:
    assert isinstance(error, UserError)
    told = {"title": FAILED, "message": for_browser(error.message), "hint": for_browser(error.hint or "")}
    return render(request, "problem.html.j2", 400, **told)


def missing(request: Request, error: Exception) -> Response:
    return _problem(request, 404)


def crash(request: Request, error: Exception) -> Response:
    """The page of a bug; the server's terminal shows the traceback."""
    response = _problem(request, 500)
    response.headers.update(HEADERS)  # no middleware runs after this
    return response


def _problem(request: Request, code: int, hint: str = "") -> Response:
    title, usual = PROBLEMS.get(code, (FAILED, ""))
    return render(request, "problem.html.j2", code, title=title, message="", hint=hint or usual)
