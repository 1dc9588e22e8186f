"""The table of runs: filtered, sorted, in pages, with the columns that its reader chooses; the ideas of some runs."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from manyheads.base.errors import UserError
from manyheads.report.index import RunEntry
from manyheads.systems.exports import ideas
from manyheads.systems.results import load
from manyheads.web.folder import LIVE, STATES, RunsFolder
from manyheads.web.pages import Value, render, words
from manyheads.web.security import get

PER_PAGE = 100
USUAL = ("system", "state", "tokens", "cost", "begun")
"""Columns where none are chosen."""
KEYS = ("system", "state", "tag", "q", "column", "sort")
"""What an address of the table may hold, beside its page."""
IDEA_RUNS = 20
"""Runs whose ideas are shown at once."""


def routes() -> Iterator[BaseRoute]:
    yield get("/runs", run_list)
    yield get("/ideas", idea_list)


def run_list(request: Request) -> Response:
    runs: RunsFolder = request.app.state.runs
    asked = {key: request.query_params.getlist(key) for key in KEYS}
    system, state, tag, text, sort = (
        "".join(asked[key][:1]).strip() for key in ("system", "state", "tag", "q", "sort")
    )
    every = [(entry, runs.values(entry)) for entry in runs.entries()]
    names = [*dict.fromkeys(name for _, values in every for name in values)]
    rows = [
        (entry, values)
        for entry, values in every
        if (not tag or tag in entry.notes.tags)
        and system in ("", entry.system)
        and state in ("", values["state"])
        and _matches(entry, text.casefold())
    ]
    if sort.removeprefix("-") in names:
        _order(rows, sort)
    pages = max(1, -(-len(rows) // PER_PAGE))
    page = request.query_params.get("page", "1")[:9]
    number = max(1, min(int(page) if page.isdecimal() else 1, pages))

    def link(**changes: str) -> str:
        """The address of the table with some keys changed; it begins at its first page."""
        kept = [(key, value) for key in KEYS if key not in changes for value in asked[key] if value]
        return "/runs?" + urlencode([*kept, *changes.items()])

    return render(
        request, "runs.html.j2", rows=[(entry, {**values, **_figures(runs, entry, values)}) for entry, values in rows[(number - 1) * PER_PAGE : number * PER_PAGE]],
        total=len(rows), every=len(every), systems=sorted({entry.system for entry, _ in every if entry.system}), states=STATES,
        tags=sorted({each for entry, _ in every for each in entry.notes.tags}), tag=tag, system=system, state=state, q=text, number=number, pages=pages, link=link, sort=sort, names=names,
        words=words, texts=("tags", "system", "models", "state", "reason", "begun"), columns=[each for each in names if each in (asked["column"] or (*USUAL, *["tags"] * any(entry.notes.tags for entry, _ in every)))],
    )  # fmt: skip


def idea_list(request: Request) -> Response:
    """The ideas of the marked runs, else of the newest ones, with the numbers that each has."""
    runs: RunsFolder = request.app.state.runs
    marked, sort = request.query_params.getlist("run"), request.query_params.get("sort", "")
    every = [each for each in runs.entries() if each.folder in marked or not marked]
    chosen = every[:IDEA_RUNS]
    rows = [(entry, row) for entry in chosen for row in _ideas(runs, entry)]
    cells = (cell for _, row in rows for cell in row.items())
    names = [*dict.fromkeys(name for name, value in cells if not isinstance(value, str))]
    _order(rows, sort)
    address = "/ideas?" + urlencode([("run", each) for each in marked])
    left = len(every) - len(chosen)
    return render(
        request, "ideas.html.j2", rows=rows, names=names, words=words, sort=sort, address=address, left=left
    )


def _ideas(runs: RunsFolder, entry: RunEntry) -> list[dict[str, Value]]:
    with suppress(UserError, OSError, ValueError):
        rows = [*ideas(load(runs.path(entry.folder)))]
        return [
            {key: value for key, value in row.items() if isinstance(value, str | int | float)} for row in rows
        ]
    return []


def _order(rows: list[tuple[RunEntry, dict[str, Value]]], sort: str) -> None:
    """Sort by a column, highest first after a `-`; those without a value come last."""
    column = sort.removeprefix("-")

    def place(row: tuple[RunEntry, dict[str, Value]]) -> tuple[bool, float, str]:
        value = row[1].get(column)
        return (True, 0.0, value.casefold()) if isinstance(value, str) else (False, value or 0.0, "")

    rows.sort(key=place, reverse=sort != column)
    rows.sort(key=lambda row: row[1].get(column) in (None, ""))


def _matches(entry: RunEntry, text: str) -> bool:
    notes = entry.notes
    texts = (entry.title, entry.folder, notes.name, notes.text, *notes.tags, *entry.models)
    return not text or any(text in each.casefold() for each in texts)


def _figures(runs: RunsFolder, entry: RunEntry, values: Mapping[str, Value]) -> dict[str, Value]:
    """The figures of a run that is under way, from its events."""
    if values["state"] not in LIVE:
        return {}
    usage = runs.logs.of(runs.path(entry.folder)).standing.usage
    return {"calls": usage.calls, "tokens": usage.tokens, "cost": usage.cost}
