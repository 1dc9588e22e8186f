"""The list of the runs in a folder, and their pages."""

import time
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from manyheads.report.index import Entry, entries
from manyheads.web.pages import render
from manyheads.web.security import get

PER_PAGE = 100
FRESH = 1.0
"""Seconds for which a list of runs is reused."""


class Runs:
    """The runs in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._lock, self._at, self._entries = Lock(), 0.0, list[Entry]()

    def entries(self) -> list[Entry]:
        """The runs, newest first, at most a second old."""
        with self._lock:
            if not self._entries or time.monotonic() - self._at > FRESH:
                self._entries = [each for each in entries(self.folder, self._entries) if each.state]
                self._at = time.monotonic()
            return self._entries

    def path(self, name: str) -> Path:
        """The folder of a run by its name; raises `HTTPException` if there is none in this folder."""
        try:
            path = (self.folder / name).resolve()
            if name[:1] not in ("", ".") and path.parent == self.folder and path.is_dir():
                return path
        except (OSError, ValueError):
            pass
        raise HTTPException(404)


def routes() -> Iterable[BaseRoute]:
    """The routes of runs."""
    yield get("/runs", run_list)


def run_list(request: Request) -> Response:
    """The list of runs."""
    return render(request, "runs.html.j2", runs=request.app.state.runs.entries()[:PER_PAGE])
