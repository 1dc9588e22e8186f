"""The pages of a rater: the guide, one item after the other, a break, the end.

A rater sees the texts of the open item and of those seen before, and nothing that names a maker. The store gives the
same open item until it is answered or skipped, so each page can be reloaded, left and opened again.
"""

import math
import time
from collections.abc import Iterator, Mapping
from string import ascii_uppercase
from urllib.parse import quote

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from manyheads.arena.items import ArenaForm, Item
from manyheads.base.errors import ArenaError
from manyheads.base.text import plain
from manyheads.web.arenas import Voter, unharmed
from manyheads.web.pages import render
from manyheads.web.security import HEADERS, Access, Visitor, get, keep, post

BREAK = 10
"""Answers between two breaks."""
LONGEST = 60_000
"""Characters of a text that the page shows; the rest is a download."""
SHORT = 1_500
"""Characters of a background that is not folded."""
LONGEST_VISIT = 30 * 86_400
"""Seconds; a longer time on an item is no time that somebody read."""
PDF_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; frame-ancestors 'self'",
    "x-frame-options": "SAMEORIGIN",
    "cache-control": "private, max-age=3600",
}
"""The browser's own viewer shows the paper in a frame of our page."""


def routes() -> Iterator[BaseRoute]:
    yield get("/arena/enter", join, right=None)
    yield get("/vote", guide, "rater")
    yield get("/vote/next", next_item, "rater")
    yield get("/vote/break", pause, "rater")
    yield get("/vote/items/{item}", item_page, "rater")
    yield post("/vote/items/{item}", vote, "rater")
    yield get("/vote/items/{item}/paper", paper, "rater")
    yield get("/vote/items/{item}/texts/{number:number}", whole_text, "rater")


def join(request: Request) -> Response:
    """Let a rater in; the token moves from the address to a cookie."""
    access: Access = request.app.state.access
    token = request.query_params.get("token", "")
    if (voter := access.raters(token)) is None:
        raise HTTPException(401, "This invitation is wrong, revoked or expired. Ask for a new link.")
    visitor = Visitor("rater", token, voter)
    request.state.visitor = visitor
    return keep(render(request, "entered.html.j2", target="/vote"), request, visitor)


def guide(request: Request) -> Response:
    return _page(request, "guide.html.j2")


def pause(request: Request) -> Response:
    return _page(request, "break.html.j2")


def next_item(request: Request) -> Response:
    voter = _voter(request)
    with unharmed():
        item = voter.arena.next_item(voter.rater)
    return RedirectResponse(_path(item.id), 303) if item else _page(request, "end.html.j2")


def item_page(request: Request) -> Response:
    item = _item(request)
    return _show(request, item, item.answers, item.comment)


def vote(request: Request, form: FormData) -> Response:
    """Keep the answers to an item, and go on. The same form again changes nothing."""
    voter, item = _voter(request), _item(request)
    if form.get("do") == "skip":
        with unharmed():
            voter.arena.skip(voter.rater, item.id)
        return RedirectResponse("/vote/next", 303)
    fields = {key: _text(form, f"q-{key}") for key in _keys(voter.arena.form, item)}
    comment = _text(form, "comment")
    try:
        with unharmed():
            voter.arena.vote(voter.rater, item.id, fields, _seconds(form), comment)
            done = voter.arena.progress(voter.rater)
    except ArenaError as error:
        return _show(request, item, fields, comment, error)
    rest = not item.answers and done.left and done.answered % BREAK == 0
    return RedirectResponse("/vote/break" if rest else "/vote/next", 303)


def paper(request: Request) -> Response:
    """The paper of an item: a PDF in the browser's viewer, other files as downloads."""
    path = _voter(request).arena.paper(_item(request).case)
    if path is None:
        raise HTTPException(404)
    if path.suffix == ".pdf":
        return FileResponse(path, media_type="application/pdf", headers=PDF_HEADERS)
    return FileResponse(path, media_type="application/octet-stream", filename=f"paper{path.suffix}")


def whole_text(request: Request) -> Response:
    texts, number = _item(request).texts, request.path_params["number"]
    if number >= len(texts):
        raise HTTPException(404)
    headers = {"content-disposition": f'attachment; filename="text-{number + 1}.md"', **HEADERS}
    return PlainTextResponse(texts[number].body.encode("utf-8", "replace"), headers=headers)


def _voter(request: Request) -> Voter:
    return request.state.visitor.rater


def _item(request: Request) -> Item:
    """The item of the address; raises `HTTPException` if it is not this rater's."""
    voter = _voter(request)
    with unharmed():
        item = voter.arena.item(voter.rater, request.path_params["item"])
    if item is None:
        raise HTTPException(404)
    return item


def _page(request: Request, template: str, status: int = 200, **variables: object) -> Response:
    voter = _voter(request)
    with unharmed():
        progress, past = voter.arena.progress(voter.rater), voter.arena.past(voter.rater)
    done = progress.answered + progress.skipped
    shown = {
        "form": voter.arena.form, "rater": voter.rater, "progress": progress, "done": done, "total": done + progress.left,
        "previous": _path(past[-1]) if past else None, "plain": plain, **variables,
    }  # fmt: skip
    return render(request, template, status, **shown)


def _show(
    request: Request, item: Item, answers: Mapping[str, str], comment: str, problem: ArenaError | None = None
) -> Response:
    voter = _voter(request)
    form, file = voter.arena.form, voter.arena.paper(item.case)
    with unharmed():
        past = voter.arena.past(voter.rater)
    at = past.index(item.id) if item.id in past else len(past)
    return _page(
        request, "item.html.j2", 422 if problem else 200, item=item, answers=answers, comment=comment, problem=problem, letters=ascii_uppercase,
        choices=_choices(form), paper=_path(item.id, "paper") if file else None, framed=bool(file and file.suffix == ".pdf"),
        sent=bool(item.answers), longest=LONGEST, short=SHORT, now=int(time.time()), here=_path(item.id),
        previous=_path(past[at - 1]) if at else None, following=_path(past[at + 1]) if at + 1 < len(past) else "/vote/next",
        past=at < len(past),
    )  # fmt: skip


def _keys(form: ArenaForm, item: Item) -> list[str]:
    """What an item's answers are about: the questions, or the texts to rank."""
    return [each.id for each in item.texts] if form.kind == "ranking" else [*form.names]


def _choices(form: ArenaForm) -> list[tuple[str, str]]:
    if form.kind == "pairs":
        labels = {"left": "A", "right": "B", "tie": "Tie", "poor": "Both poor"}
        return [(each, labels[each]) for each in form.answers]
    return [(str(each), str(each)) for each in form.ratings]


def _path(item: str, part: str = "") -> str:
    return f"/vote/items/{quote(item, safe='')}" + (f"/{part}" if part else "")


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return value if isinstance(value, str) else ""


def _seconds(form: FormData) -> float | None:
    """The time that the item was in sight, by the page's script; without one, since the page was made."""
    for name, start in (("seconds", 0.0), ("made", time.time())):
        try:
            seconds = abs(float(_text(form, name)) - start)
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds <= LONGEST_VISIT:
            return round(seconds, 1)
    return None
