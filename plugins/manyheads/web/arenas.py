"""The arenas of a folder, the raters that their invitations let in, and the owner's pages: texts, raters, votes, ratings."""

import json
import logging
import os
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from threading import Lock
from typing import Any, cast, get_args
from urllib.parse import quote

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from manyheads.arena.items import AnsweredItem, Rater
from manyheads.arena.report import DATA, TABLE, questions_of, rate, status_of, write_result
from manyheads.arena.sheets import Format, export
from manyheads.arena.store import DAYS, FILE, Arena
from manyheads.base.errors import ArenaError, need_extra
from manyheads.base.files import inside, read_text
from manyheads.base.folders import REPORT
from manyheads.base.text import plain
from manyheads.measures.standings import Rules
from manyheads.web.pages import render
from manyheads.web.security import REPORT_HEADERS, get, post

LOGGER = logging.getLogger(__name__)
RATINGS = "ratings"
"""Folder of an arena with its last ratings."""
MOST_INVITED = 100
"""Maximum number of raters that one form invites."""
UNREADABLE = (
    "The arena cannot be read or written at the moment. Go back, wait a moment, and send the page again."
)


@dataclass(frozen=True)
class Voter:
    arena: Arena
    rater: Rater


class Arenas:
    """The arenas of some folders: those in them, and a folder that is one itself. Of two with one name, the first."""

    def __init__(self, *folders: Path) -> None:
        self.folders = tuple(dict.fromkeys(folder.resolve() for folder in folders))
        self._lock, self._open = Lock(), dict[Path, tuple[tuple[int, int], Arena]]()
        self._home = dict[str, Path]()
        self.rating = Lock()

    def places(self) -> Iterator[Path]:
        """Where the arenas are, by name."""
        names = set[str]()
        for home in self.folders:
            inside = sorted(path for path in home.iterdir() if not path.name.startswith("."))
            for path in (home, *inside):
                if (path == home or not path.is_symlink()) and (path / FILE).is_file():
                    if path.name not in names:
                        yield path
                    names.add(path.name)

    def arena(self, name: str) -> Arena:
        """An arena by its folder's name. Raises `HTTPException` if there is none, `ArenaError` if it cannot be read."""
        for folder in self.places():
            if folder.name == name:
                return self._opened(folder)
        raise HTTPException(404)

    def rater(self, token: str) -> Voter | None:
        """Who has the invitation with this token; None if it is wrong, revoked or expired."""
        home = self._home.get(token)
        if home and (home / FILE).is_file():
            with unharmed():
                arena = self._opened(home)
                return Voter(arena, rater) if (rater := arena.rater(token)) else None
        for folder in self.places():
            with suppress(ArenaError):  # a broken arena does not close the others
                arena = self._opened(folder)
                if rater := arena.rater(token):
                    self._home[token] = folder
                    return Voter(arena, rater)
        return None

    def close(self) -> None:
        with self._lock:
            for _, arena in self._open.values():
                arena.close()
            self._open.clear()

    def _opened(self, folder: Path) -> Arena:
        with self._lock:
            try:
                status = os.stat(folder / FILE)
            except OSError as error:
                raise HTTPException(404) from error
            known = self._open.get(folder)
            if known and known[0] == (status.st_dev, status.st_ino):
                return known[1]
            if known:  # the folder was replaced
                known[1].close()
            arena = Arena.open(folder)
            self._open[folder] = (status.st_dev, status.st_ino), arena
            return arena


@contextmanager
def unharmed() -> Generator[None]:
    """A store that fails becomes an error page without paths of this machine, which raters must not see."""
    try:
        yield
    except ArenaError as error:
        if error.__cause__ is None:  # a mistake of the rater
            raise
        LOGGER.error("%s", error.message)
        raise HTTPException(503, UNREADABLE) from error


def routes() -> Iterator[BaseRoute]:
    yield get("/arena", home, right=None)
    yield get("/arenas", arena_list)
    yield get("/arenas/{name}", arena_page)
    yield get("/arenas/{name}/cases/{number:number}", case_page)
    yield post("/arenas/{name}/invite", invite)
    yield post("/arenas/{name}/revoke", revoke)
    yield post("/arenas/{name}/ratings", rate_makers)
    yield get("/arenas/{name}/ratings/{file}", ratings_file)
    yield get("/arenas/{name}/export/{form}", export_file)


def home(request: Request) -> Response:
    """The arenas for their owner, the guide for a rater."""
    if request.state.visitor is None:
        raise HTTPException(401)
    return RedirectResponse("/arenas" if request.state.visitor.right == "owner" else "/vote", 303)


def arena_list(request: Request) -> Response:
    arenas = cast(Arenas, request.app.state.arenas)
    rows, broken = list[dict[str, Any]](), list[str]()
    for folder in arenas.places():
        try:
            rows.append({"name": folder.name, **status_of(arenas.arena(folder.name))})
        except ArenaError as error:
            broken.append(error.message)
    return render(request, "arenas.html.j2", rows=rows, broken=broken, folder=arenas.folders[-1])


def case_page(request: Request) -> Response:
    arena, number = _arena(request), request.path_params["number"]
    cases = arena.cases()
    if not 1 <= number <= len(cases):
        raise HTTPException(404)
    case = cases[number - 1]
    texts = [each for each in arena.texts() if each.case == case.id]
    return render(
        request, "case.html.j2", name=arena.folder.name, form=arena.form, case=case, texts=texts, plain=plain
    )


def invite(request: Request, form: FormData) -> Response:
    """Invite raters; their links are shown on this page only."""
    arena = _arena(request)
    names = list(dict.fromkeys(filter(None, map(plain, str(form.get("names") or "").splitlines()))))
    days = str(form.get("days") or DAYS)
    if not names or len(names) > MOST_INVITED:
        return arena_page(request, problem=f"Give 1 to {MOST_INVITED} names, each on a line of its own.")
    if not (days.isascii() and days.isdecimal() and len(days) < 9 and 1 <= int(days) <= 3650):
        return arena_page(request, problem="An invitation lasts 1 to 3650 days.")
    try:
        invitations = [arena.invite(each, days=int(days)) for each in names]
    except ArenaError as error:
        return arena_page(request, problem=f"{error.message}: {error.hint}.")
    join = request.url_for("join")
    links = [(each.rater.name, str(join.include_query_params(token=each.token))) for each in invitations]
    until = _day(invitations[0].expires)
    return render(request, "invited.html.j2", name=arena.folder.name, links=links, until=until)


def revoke(request: Request, form: FormData) -> Response:
    arena = _arena(request)
    arena.revoke(str(form.get("rater") or ""))
    return _back(arena, "raters")


def rate_makers(request: Request, form: FormData) -> Response:
    """Rate the makers, as `manyheads arena rate` does, and keep the result in the arena's folder."""
    need_extra("statistics", "rating makers")
    arena = _arena(request)
    if (arena.folder / RATINGS).is_symlink():
        raise HTTPException(409, f"The folder {RATINGS} of this arena is a link. Remove it.")
    poor = "tie" if form.get("poor") == "tie" else "out"
    votes = arena.votes()
    with cast(Arenas, request.app.state.arenas).rating:  # one at a time: it takes all processors
        result = rate(votes, questions_of(votes, arena.form.first), Rules(poor=poor))
        write_result(result, arena.folder / RATINGS, arena.form.title)
    return _back(arena, "ratings")


def ratings_file(request: Request) -> Response:
    arena, file = _arena(request), request.path_params["file"]
    path = inside(arena.folder, f"{RATINGS}/{file}")
    if file not in (REPORT, DATA, TABLE) or path is None:
        raise HTTPException(404)
    if file == REPORT:
        return FileResponse(path, media_type="text/html", headers=REPORT_HEADERS)
    return FileResponse(path, filename=f"{arena.folder.name}-{file}")


def export_file(request: Request) -> Response:
    arena, form = _arena(request), request.path_params["form"]
    if form not in get_args(Format):
        raise HTTPException(404)
    stem = "votes" if arena.kind == "pairs" else arena.kind
    with tempfile.TemporaryDirectory() as folder:
        file = export(arena, form, Path(folder) / f"{stem}.{form}")
        content = file.read_bytes()
    disposition = f"attachment; filename*=UTF-8''{quote(f'{arena.folder.name}-{file.name}', safe='')}"
    headers = {"content-disposition": disposition}
    return Response(content, media_type="application/octet-stream", headers=headers)


def _arena(request: Request) -> Arena:
    return cast(Arenas, request.app.state.arenas).arena(request.path_params["name"])


def arena_page(request: Request, problem: str = "") -> Response:
    arena = _arena(request)
    rows, texts, known = arena.rows(), arena.texts(), status_of(arena)
    by_case, hints = Counter(each.case for each in texts), Counter[str]()
    for each in texts:
        hints[each.maker] += each.hints
    return render(
        request, "arena.html.j2", 422 if problem else 200, name=arena.folder.name, form=arena.form, known=known,
        cases=[(each, by_case[each.id]) for each in arena.cases()], hints=hints, raters=_raters(arena, rows),
        rated=_rated(arena), problem=problem, lasting=DAYS, most=MOST_INVITED, plain=plain,
    )  # fmt: skip


def _raters(arena: Arena, rows: list[AnsweredItem]) -> list[dict[str, Any]]:
    """Each rater with progress, median seconds, last day, and the numbers of valid and of ended invitations."""
    seconds, last, valid, ended = dict[str, list[float]](), dict[str, float](), Counter[str](), Counter[str]()
    for row in rows:
        last[row.rater.name] = max(row.time, last.get(row.rater.name, 0))
        if row.seconds is not None:
            seconds.setdefault(row.rater.name, []).append(row.seconds)
    for name, expires, revoked in arena.invitations():
        (ended if revoked or expires < time.time() else valid)[name] += 1
    return [
        {
            "name": each.name, "kind": each.kind, "progress": arena.progress(each),
            "seconds": median(seconds[each.name]) if each.name in seconds else None,
            "last": _day(last[each.name]) if each.name in last else "", "valid": valid[each.name], "ended": ended[each.name],
        }
        for each in arena.raters()
    ]  # fmt: skip


def _rated(arena: Arena) -> dict[str, Any] | None:
    path = arena.folder / RATINGS / DATA
    try:
        sentences = [str(each) for each in json.loads(read_text(path))["sentences"]]
        return {"sentences": sentences, "when": _day(path.stat().st_mtime, "minutes")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _day(seconds: float, parts: str = "") -> str:
    when = datetime.fromtimestamp(seconds, UTC)
    return when.strftime("%Y-%m-%d %H:%M UTC") if parts else when.date().isoformat()


def _back(arena: Arena, part: str) -> Response:
    return RedirectResponse(f"/arenas/{quote(arena.folder.name, safe='')}#{part}", 303)
