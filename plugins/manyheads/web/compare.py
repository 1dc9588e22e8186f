"""Two to four runs beside each other: how they ended, cost, settings, measures and texts, with what differs marked."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from manyheads.base.errors import UserError
from manyheads.base.folders import CONFIG
from manyheads.base.text import printable
from manyheads.config.files import read_yaml
from manyheads.report.index import RunEntry
from manyheads.report.page import numbers
from manyheads.report.talk import Piece, word_diff
from manyheads.suites.spec import leaves
from manyheads.systems.exports import work
from manyheads.systems.results import load
from manyheads.web.folder import RunsFolder
from manyheads.web.pages import LONGEST, render, words
from manyheads.web.security import get

MOST = 4
"""Runs beside each other."""
HEADING = re.compile(r"^(?:#{1,6} +|\*\*(?=[^*\n]+\.\*\* ))(.+?)(?:\.\*\* |$)", re.MULTILINE)
"""`## Method`, or a paragraph that begins with `**Method.**`."""
ALIKE = 0.5
"""Share of the longer of two texts that they must have in common for their other words to be marked."""


def routes() -> Iterator[BaseRoute]:
    yield get("/compare", compare)


@dataclass(frozen=True)
class ComparedRow:
    """A value or a text of each run, empty where a run has none, which is a difference among runs of `one_system`."""

    name: str
    values: Sequence[str]
    one_system: bool

    @property
    def differs(self) -> bool:
        return len({each for each in self.values if each or self.one_system}) > 1

    @property
    def pieces(self) -> list[list[Piece]]:
        """Each text with its words marked against the first one, and the first against the other if there is one other.

        Empty where there is nothing to mark, as the texts are the same or not alike.
        """
        first, *others = self.values
        found = [_marked(first, each) for each in others]
        own = [each for each in found[0] if each.kind != "ins"] if len(found) == 1 else []
        return [own, *([each for each in pieces if each.kind != "del"] for pieces in found)]


def compared(data: Sequence[Mapping[str, str]], one_system: bool) -> list[ComparedRow]:
    """The named values of some runs by their names, in the order of the first run that has them."""
    names = dict.fromkeys(name for each in data for name in each)
    return [ComparedRow(name, [each.get(name, "") for each in data], one_system) for name in names]


def compare(request: Request) -> Response:
    runs: RunsFolder = request.app.state.runs
    every = runs.entries()
    names = dict.fromkeys(request.query_params.getlist("run"))
    chosen = [each for name in names for each in every if each.folder == name][:MOST]
    parts = [_parts(runs, each) for each in chosen] if len(chosen) > 1 else []
    one_system = len({each.system for each in chosen}) == 1
    groups = (
        {name: compared([each[name] for each in parts], one_system) for name in parts[0]} if parts else {}
    )
    return render(
        request, "compare.html.j2", runs=every[:500], chosen=chosen, fields=max(2, min(len(chosen) + 1, MOST)),
        texts=groups.pop("Texts", []), groups=groups,
    )  # fmt: skip


def _parts(runs: RunsFolder, entry: RunEntry) -> dict[str, dict[str, str]]:
    """What is known of a run, by the parts of the page; a file that cannot be read gives nothing."""
    folder = runs.path(entry.folder)
    about = {name: words(value) for name, value in runs.values(entry).items()}
    parts: dict[str, dict[str, str]] = {"Run": about, "Scores": {}, "Settings": {}, "Texts": {}}
    with suppress(UserError, OSError, ValueError):
        parts["Settings"] = {key: str(value) for key, value in leaves(read_yaml(folder / CONFIG))}
    with suppress(UserError, OSError, ValueError):
        run = load(folder)
        parts["Scores"] = {name: words(value) for name, value in numbers(run.result.model_dump(mode="json"))}
        parts["Texts"] = sections(printable("\n\n".join(work(run))))
    return parts


def sections(text: str) -> dict[str, str]:
    """The parts of a Markdown text by their headings; its own title is the part `Title`."""
    title, _, rest = text.partition("\n") if text.startswith("# ") else ("", "", text)
    before, *parts = HEADING.split(rest)
    named = [("Title", title[2:]), ("Text", before), *zip(parts[::2], parts[1::2], strict=True)]
    return {name: body.strip()[:LONGEST] for name, body in named if body.strip()}


def _marked(first: str, other: str) -> list[Piece]:
    if not first or not other or first == other:
        return []
    pieces = word_diff(first, other)
    kept = sum(len(each.text.split()) for each in pieces if each.kind == "same")
    return pieces if kept >= ALIKE * max(len(first.split()), len(other.split())) else []
