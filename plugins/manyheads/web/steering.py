"""Control of a run from its page: pause, resume, stop, and the answers of people."""

from collections.abc import Iterator
from typing import Any, cast

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from manyheads.config.files import merge
from manyheads.web.children import Child
from manyheads.web.forms import Field, at, fields, nested, typed
from manyheads.web.live import Place
from manyheads.web.pages import render
from manyheads.web.runs import Runs
from manyheads.web.security import get, post

ELSEWHERE = "This run was started elsewhere, such as on the command line. Steer it there."
EARLY = "The run was just resumed and had not asked for it yet. Send it again when the run waits for it."


def routes() -> Iterator[BaseRoute]:
    """The routes of control."""
    yield post("/runs/{name}/pause", pause)
    yield post("/runs/{name}/go", go)
    yield post("/runs/{name}/stop", stop)
    yield post("/runs/{name}/resume", resume)
    yield get("/runs/{name}/requests/{request}", request_page)
    yield post("/runs/{name}/requests/{request}", answer)


def _child(request: Request) -> Child:
    """The process of a run; raises `HTTPException` if this server does not work on it."""
    runs: Runs = request.app.state.runs
    child = runs.children.get(request.path_params["name"])
    if child is None or not child.alive:
        entry = runs.entry(request.path_params["name"])
        ended = "This run is no longer running."
        raise HTTPException(409, ELSEWHERE if entry.state == "running" else ended)
    return child


def _back(request: Request) -> Response:
    return RedirectResponse(str(request.url_for("run_page", name=request.path_params["name"]).path), 303)


async def pause(request: Request, form: FormData) -> Response:
    """Start no further turns until `go`."""
    request.app.state.runs.children.control(_child(request), "pause")
    return _back(request)


async def go(request: Request, form: FormData) -> Response:
    """Continue after `pause`."""
    request.app.state.runs.children.control(_child(request), "resume")
    return _back(request)


async def stop(request: Request, form: FormData) -> Response:
    """Stop after the running turns."""
    request.app.state.runs.children.control(_child(request), "stop")
    return _back(request)


async def resume(request: Request, form: FormData) -> Response:
    """Continue an interrupted run, of this server or of another."""
    runs: Runs = request.app.state.runs
    entry = runs.entry(request.path_params["name"])
    runs.path(entry.folder)
    if (state := runs.state(entry)) not in ("stopped", "failed"):
        raise HTTPException(409, f"This run is {state}; only an interrupted run can be resumed.")
    runs.children.resume(entry.folder, entry.system)
    return _back(request)


def _waiting(request: Request) -> dict[str, Any]:
    """The request to a person that a URL names; raises `HTTPException` if it does not wait."""
    runs: Runs = request.app.state.runs
    log = runs.logs.of(runs.path(request.path_params["name"]))
    for each in log.waiting.values():
        if each["request"] == request.path_params["request"]:
            return each
    raise HTTPException(409, "This request was answered already, or the run has moved on.")


def request_page(request: Request) -> Response:
    """A request to a person, with its form."""
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
        answered=waiting["request"] in child.answered,
    )  # fmt: skip


def _place(waiting: dict[str, Any]) -> Place:
    return waiting["stage"], waiting["turn"], waiting["speaker"], waiting["task"]


def _fields(waiting: dict[str, Any]) -> list[Field]:
    return list(fields(waiting["form"], cast(dict[str, Any], waiting["form"].get("$defs", {}))))


def _default(form: dict[str, Any], path: tuple[str, ...]) -> Any:
    """The current value of a field: its `default`, or that of the section around it."""
    node: Any = form
    for number, key in enumerate(path):
        if (
            isinstance(node, dict)
            and "default" in node
            and (value := at(node["default"], path[number:])) is not None
        ):
            return value
        node = at(node, ("properties", key))
    return at(node, ("default",))


async def answer(request: Request, form: FormData) -> Response:
    """A person's answer; refused answers come back as a new request, with the reason."""
    runs: Runs = request.app.state.runs
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
    if problems:
        return _request_page(request, child, waiting, texts, problems, 422)
    if waiting["request"] not in child.asked:
        child.refused[waiting["request"]], child.texts[_place(waiting)] = EARLY, texts
        return _request_page(request, child, waiting, texts, {}, 409)
    if not runs.children.answer(child, waiting["request"], value):
        raise HTTPException(409, "This request was answered already, or the run has ended.")
    child.texts[_place(waiting)] = texts
    return _back(request)
