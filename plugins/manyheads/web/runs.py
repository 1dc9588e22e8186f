"""A run: its page, its files and report, a run paused, resumed, stopped, and answered by people."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import anyio
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from manyheads.base.errors import UserError
from manyheads.base.files import opened
from manyheads.base.folders import CONFIG, EVENTS, REPORT
from manyheads.config.files import merge
from manyheads.core.results import RESULT
from manyheads.report.index import RunEntry, chains
from manyheads.report.notes import notes_of, read_notes, write_notes
from manyheads.systems import systems
from manyheads.systems.exports import SHARED, exported
from manyheads.systems.ideas import ideas_by_number
from manyheads.systems.results import load, write_report
from manyheads.web.children import Action, Child
from manyheads.web.folder import LIVE, RunsFolder
from manyheads.web.live import PART, WINDOW, Log, Look, Place, follow
from manyheads.web.pages import Field, at, fields, for_browser, html, nested, render, stages_of, typed
from manyheads.web.security import REPORT_HEADERS, get, post

MOMENT, MOMENTS, SOON = 0.05, 60, 10
"""Seconds between two looks for a person's next question, and how many there are, at most and once the last was taken."""
FILES = {
    RESULT: "application/json", EVENTS: "application/jsonl", CONFIG: "application/yaml",
    "searches.jsonl": "application/jsonl", "measure.json": "application/json",
}  # fmt: skip


def routes() -> Iterator[BaseRoute]:
    yield get("/runs/{name}", run_page)
    yield get("/runs/{name}/live", live)
    yield get("/runs/{name}/report.html", report)
    yield get("/runs/{name}/files/{file}", download)
    yield post("/runs/{name}/resume", resume)
    yield post("/runs/{name}/notes", notes)
    yield get("/runs/{name}/steer", steer_page)
    yield post("/runs/{name}/steer", steer)
    for action in ACTIONS:
        yield post(f"/runs/{{name}}/{action}", control)
    yield get("/runs/{name}/requests/{request}", request_page)
    yield post("/runs/{name}/requests/{request}", answer)


def _runs(request: Request) -> RunsFolder:
    return request.app.state.runs


def run_page(request: Request) -> Response:
    runs, name = _runs(request), request.path_params["name"]
    folder, entry = runs.path(name), runs.entry(name)
    log, state = runs.logs.of(folder), runs.state(entry)
    end = len(log)  # it may grow from here on: a page of the latest events stays one
    last = min(_number(request.query_params.get("before")) if "before" in request.query_params else end, end)
    first = max(0, last - WINDOW)
    return render(
        request, "run.html.j2", entry=entry, notes=read_notes(folder), log=log, shown=list(log.events(first, last)), first=first, last=last,
        latest=last == end, live=state in LIVE and last == end, files=[each for each in FILES if (folder / each).is_file()] + [*SHARED] * (folder / RESULT).is_file(),
        **_state_values(runs, entry, log, state), **(_onward(runs, name, {_number(each, -1) for each in request.query_params.getlist("idea")}) if state == "finished" else {}),
    )  # fmt: skip


def _onward(runs: RunsFolder, name: str, ticked: set[int]) -> dict[str, Any]:
    """What `onward.html.j2` shows of a run: ideas that others can begin with, those ticked, and the chains that it stands in."""
    lists = [each for each in chains(runs.entries()) if any(run.folder == name for _, run in each)]
    with suppress(UserError):  # damaged
        result = load(runs.path(name), unfinished=False).result
        ideas = ideas_by_number(result)
        return {"chains": lists, "ideas": ideas, "result": result, "ticked": ideas.keys() & ticked}
    return {"chains": lists, "ideas": {}}


def _state_values(runs: RunsFolder, entry: RunEntry, log: Log, state: str) -> dict[str, Any]:
    child = runs.children.get(entry.folder)
    folder = runs.path(entry.folder)
    return {
        "name": entry.folder, "state": state, "reason": entry.reason, "at": log.standing, "seconds": log.seconds, "warned": log.warned,
        "warnings": log.warnings,
        "steers": entry.system in systems() and bool(systems()[entry.system].steers),
        "waiting": runs.waiting(entry.folder) if state in LIVE else [],
        "answered": child.answered if child else (), "refused": child.refused if child else {},
        "ours": child is not None and child.alive, "error": for_browser(child.error) if child else "",
        "resumable": state in ("stopped", "failed") and (folder / CONFIG).is_file(),
        "has_report": (folder / REPORT).is_file() or (state not in LIVE and len(log) > 0),
    }  # fmt: skip


async def live(request: Request) -> Response:
    runs, name, query = _runs(request), request.path_params["name"], request.query_params
    folder = runs.path(name)
    runs.entry(name)

    def look(first: int) -> Look:
        state, log = runs.state(entry := runs.entry(name)), runs.logs.of(folder)
        first = max(first, len(log) - WINDOW)  # a page that was away for long shows only the last ones
        shown = log.events(first, first + PART)
        turns = [(each.number, html(request, "turn.html.j2", turn=each)) for each in shown]
        where = html(request, "state.html.j2", **_state_values(runs, entry, log, state))
        return Look(turns, where, log.life, state in LIVE)

    first = request.headers.get("last-event-id") or query.get("from", "0")
    end = anyio.Event()
    events = follow(look, _number(query.get("life"), 0), _number(first, 0), end.is_set)
    return EventSourceResponse(events, ping=15, shutdown_event=end, shutdown_grace_period=2)


def _number(text: str | None, otherwise: int = 1) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,20}", text) else otherwise


def report(request: Request) -> Response:
    """A run's report, under a policy of its own: it has inline styles, and no scripts."""
    runs, name = _runs(request), request.path_params["name"]
    folder = runs.path(name)
    if not (folder / REPORT).is_file():
        try:
            write_report(folder)
        except UserError as error:
            raise HTTPException(404, f"This run has no report yet: {error.message}.") from error
    return _file(runs.file(name, REPORT), "text/html; charset=utf-8", REPORT_HEADERS)


def download(request: Request) -> Response:
    name, file = request.path_params["name"], request.path_params["file"]
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(f'{name}-{file}')}"}
    if file in SHARED:
        try:
            text = exported(_runs(request).path(name), SHARED[file])
        except UserError as error:
            raise HTTPException(404, f"There is no such file: {error.message}.") from error
        return Response(text, media_type="text/plain; charset=utf-8", headers=headers)
    if file not in FILES:
        raise HTTPException(404)
    return _file(_runs(request).file(name, file), FILES[file], headers)


def _file(path: Path, kind: str, headers: dict[str, str]) -> Response:
    with opened(path) as file:
        return Response(file.read(), media_type=kind, headers=headers)


ELSEWHERE = "This run was started elsewhere, such as on the command line. Steer it there."
LATER = "The run will wait for you after each stage that you tick, from its next one on. A stage that is over is not repeated."
NO_REQUEST = dict.fromkeys(("request", "stage", "turn", "speaker"), "")
ACTIONS: dict[str, Action] = {"pause": "pause", "go": "resume", "stop": "stop"}
EARLY = "The run was just resumed and had not asked for it yet. Send it again when the run waits for it."


def _child(request: Request) -> Child:
    """The process of a run; raises `HTTPException` if this server does not work on it."""
    runs = _runs(request)
    child = runs.children.get(request.path_params["name"])
    if child is None or not child.alive:
        entry = runs.entry(request.path_params["name"])
        ended = "This run is no longer running."
        raise HTTPException(409, ELSEWHERE if entry.state == "running" else ended)
    return child


def _back(request: Request) -> Response:
    return RedirectResponse(str(request.url_for("run_page", name=request.path_params["name"]).path), 303)


async def control(request: Request, form: FormData) -> Response:
    action = ACTIONS[request.url.path.rpartition("/")[2]]
    _runs(request).children.control(_child(request), action)
    return _back(request)


def steer_page(request: Request) -> Response:
    child = _child(request)
    stages = stages_of(systems()[child.system].steers)
    return render(
        request, "request.html.j2", waiting={**NO_REQUEST, "title": "Steer this run"}, text=LATER, fields=[stages],
        texts={"steer": ""}, problems={}, name=child.name, refused="", answered=False,
    )  # fmt: skip


async def steer(request: Request, form: FormData) -> Response:
    stages = [each for each in form.getlist("steer") if isinstance(each, str)]
    if stages and not _child(request).send({"do": "steer", "stages": stages}):
        raise HTTPException(409, "This run does not take it now. Try again when it runs.")
    return _back(request)


async def resume(request: Request, form: FormData) -> Response:
    runs = _runs(request)
    entry = runs.entry(request.path_params["name"])
    folder = runs.path(entry.folder)
    if (state := runs.state(entry)) not in ("stopped", "failed"):
        raise HTTPException(409, f"This run is {state}; only an interrupted run can be resumed.")
    runs.children.resume(entry.folder, entry.system, folder=folder)
    return _back(request)


async def notes(request: Request, form: FormData) -> Response:
    """Name, tags and note of a run, from the form of its page."""
    name, tags, text = (typed(form, each) or "" for each in ("name", "tags", "text"))
    entry = _runs(request).entry(request.path_params["name"])
    write_notes(_runs(request).path(entry.folder), notes_of(name, tags.split(","), text))
    return _back(request)


def _waiting(request: Request) -> dict[str, Any]:
    """The request to a person that a URL names; raises `HTTPException` if it does not wait."""
    runs = _runs(request)
    log = runs.logs.of(runs.path(request.path_params["name"]))
    for each in log.waiting.values():
        if each["request"] == request.path_params["request"]:
            return each
    raise HTTPException(409, "This request was answered already, or the run has moved on.")


def request_page(request: Request) -> Response:
    child, waiting = _child(request), _waiting(request)
    if waiting["request"] not in child.asked:
        raise HTTPException(409, "The run was just resumed. Answer from its page when it waits for you.")
    return _request_page(request, child, waiting, {}, {})


def _request_page(
    request: Request,
    child: Child,
    waiting: dict[str, Any],
    texts: dict[str, str],
    problems: dict[str, str],
    status: int = 200,
) -> Response:
    form, refused = _fields(waiting), child.refused.get(waiting["request"], "")
    defaults = {each.name: each.text(_default(waiting["form"], each.path)) for each in form}
    if waiting["problem"] or refused:  # a refused answer is put right, not written again
        defaults |= child.texts.get(_place(waiting), {})
    return render(
        request, "request.html.j2", status, waiting=waiting, fields=form, name=child.name,
        texts={**defaults, **texts}, problems=problems, refused=refused or waiting["problem"],
        text=_text(waiting["text"], form),
        answered=waiting["request"] in child.answered,
    )  # fmt: skip


def _text(text: str, form: list[Field]) -> str:
    """What the page shows above the form: not the items that can be ticked there, and no heading without a text."""
    if not any(each.kind == "ticks" for each in form):
        return text
    text = text.partition("Number 1:\n")[0].strip()
    return text if "\n" in text else ""


def _place(waiting: dict[str, Any]) -> Place:
    return waiting["stage"], waiting["turn"], waiting["speaker"], waiting["task"]


def _fields(waiting: dict[str, Any]) -> list[Field]:
    return list(fields(waiting["form"], cast(dict[str, Any], waiting["form"].get("$defs", {}))))


def _default(form: dict[str, Any], path: tuple[str, ...]) -> Any:
    """The current value of a field: its `default`, or that of the section around it."""
    node: Any = form
    for number, key in enumerate(path):
        if (value := at(at(node, ("default",)), path[number:])) is not None:
            return value
        node = at(node, ("properties", key))
    return at(node, ("default",))


async def answer(request: Request, form: FormData) -> Response:
    """A person's answer; refused answers come back as a new request, with the reason."""
    runs = _runs(request)
    child, waiting = _child(request), _waiting(request)
    value, texts, problems = dict[str, Any](), dict[str, str](), dict[str, str]()
    for each in _fields(waiting):
        texts[each.name] = typed(form, each.name) or ""
        try:
            data = each.value(texts[each.name])
        except ValueError as error:
            problems[each.name] = str(error)
            continue
        if data is not None:
            value = merge(value, nested(each.path, data))
        for other, [meant, *_] in each.when.items() if data else ():  # what is ticked says what is meant
            if value.setdefault(other, meant) != meant:
                problems[other] = f"{each.title}: choose {meant}, or leave them out"
    if problems:
        return _request_page(request, child, waiting, texts, problems, 422)
    if waiting["request"] not in child.asked:
        child.refused[waiting["request"]], child.texts[_place(waiting)] = EARLY, texts
        return _request_page(request, child, waiting, texts, {}, 409)
    if not runs.children.answer(child, waiting["request"], value):
        raise HTTPException(409, "This request was answered already, or the run has ended.")
    child.texts[_place(waiting)] = texts
    return await _next_request(request, child, waiting) or _back(request)


async def _next_request(request: Request, child: Child, waiting: dict[str, Any]) -> Response | None:
    """To the form of the same person that follows at once: of a refused answer, or what an action asks for; None without one."""
    runs = _runs(request)
    looks = MOMENTS
    while looks:
        looks -= 1
        await asyncio.sleep(MOMENT)
        log = await run_in_threadpool(runs.logs.of, runs.path(child.name))
        if _place(waiting) not in log.waiting:  # taken: what it asks for follows at once, or not at all
            looks = min(looks, SOON)
        for each in [*log.waiting.values()]:
            mine = each["request"] in child.asked - child.answered and each["speaker"] == waiting["speaker"]
            if mine:
                path = request.url_for("request_page", name=child.name, request=each["request"]).path
                return RedirectResponse(str(path), 303)
    return None
