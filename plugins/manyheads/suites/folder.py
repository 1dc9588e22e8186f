"""A suite's folder: what a suite leaves, so that it can go on at any moment.

<folder>/
    suite.json       what its cells are made from
    cells/<name>/    a run folder each; in it `review/`, where a review was asked for
    results.jsonl    a line for each cell, with all that was measured
    summary.jsonl    a line for each condition and measure; summary.csv the same as a table
    plot.png, .svg   what the suite draws
    report.md        the same to read
"""

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import portalocker

from manyheads.config import RunConfig
from manyheads.errors import ChangedError, JournalError
from manyheads.folder import RESULT, writing
from manyheads.resources import Resources
from manyheads.roles import Roles
from manyheads.suites.cells import Cell
from manyheads.suites.suite import Suite
from manyheads.systems import SYSTEMS

CELLS, RECORD, RESULTS, REPORT = "cells", "suite.json", "results.jsonl", "report.md"
MADE_FROM = {"version", "configs", "set", "grid", "variants", "seeds"}
"""What of a suite its cells are made from."""
SHARED = "partials/"
"""Prompts that others include."""
NAMED = 5
"""Changes that a message names."""
_LOCK, _REVIEW = ".lock", "review"


class SuiteFolder:
    """The folder of a suite; see `opened`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    @contextmanager
    def opened(
        cls, path: Path, suite: Suite, cells: Sequence[Cell], *, accept_changes: bool = False
    ) -> "Generator[SuiteFolder]":
        """The folder for these cells, new or begun, and nobody else's until the end of the block.

        Other repeats are no change: finished cells stand beside new ones. Nor are other measures, plots or words:
        all cells are measured anew each time.

        Raises:
            ChangedError: it was begun by another suite, config or prompts, and changes are not accepted.
            JournalError: it cannot be written, is in use, or holds something else.
        """
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            folder = cls(path)
            folder._begin(_record(suite, cells), accept_changes)
            yield folder

    def of(self, cell: Cell) -> Path:
        """The run folder of a cell."""
        return self.path / CELLS / cell.name

    def review_of(self, cell: Cell) -> Path:
        """The folder of the review of what a cell's run wrote."""
        return self.of(cell) / _REVIEW

    def write(self, name: str, text: str) -> Path:
        """Write a file as a whole, or not at all."""
        beside = self.path / f"{name}.part"
        with writing(self.path):
            beside.write_text(text, encoding="utf-8", newline="")
            beside.replace(self.path / name)
        return self.path / name

    def _begin(self, record: dict[str, Any], accept_changes: bool) -> None:
        if (self.path / RECORD).exists():
            changes = list(_changes(self._recorded(), record))
            if changes and not accept_changes:
                more = f"; and {len(changes) - NAMED} more" if changes[NAMED:] else ""
                raise ChangedError(
                    f"{self.path}: was begun otherwise: {'; '.join(changes[:NAMED])}{more}",
                    hint="--out FOLDER begins anew; --accept-changes goes on, and keeps the cells that are finished",
                )
        elif (self.path / CELLS).exists() or (self.path / RESULT).exists():
            raise JournalError(f"{self.path}: holds something else", hint="name another --out")
        self.write(RECORD, json.dumps(record, ensure_ascii=False, indent=2) + "\n")

    def _recorded(self) -> dict[str, Any]:
        try:
            record: object = json.loads((self.path / RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise JournalError(
                f"{self.path / RECORD}: damaged: {error}", hint="name another --out"
            ) from error
        return cast(dict[str, Any], record) if isinstance(record, dict) else {}


def finished(run: Path) -> bool:
    """Whether a run has come to its end."""
    return (run / RESULT).is_file()


@contextmanager
def _alone(path: Path) -> Generator[None]:
    with writing(path):
        file = (path / _LOCK).open("a")
    with file:
        try:
            portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.LockException as error:
            raise JournalError(
                f"{path}: another process is running this suite", hint="wait for it, or name another --out"
            ) from error
        yield


def _record(suite: Suite, cells: Sequence[Cell]) -> dict[str, Any]:
    """What must stay the same for cells to be comparable: not budgets, prices or addresses.

    What is varied stands in the suite. One config tells the rest, and of others what that one sets itself.
    """
    first = _course(cells[0].config)
    spec = suite.spec.model_dump(mode="json", include=MADE_FROM)
    record = {
        "name": suite.name, "suite": spec, "cases": suite.cases, "config": first, "prompts": _wording(cells)
    }  # fmt: skip
    for cell in cells[1:]:
        if apart := _apart(suite, cell, dict(_leaves(first))):
            record[f"config of {cell.kind}"] = apart
    return json.loads(json.dumps(record))


def _wording(cells: Sequence[Cell]) -> dict[str, str]:
    """A hash of each role card and prompt that the cells' runs are asked with; those of reviews are not among them."""
    resources = Resources.of(cells[0].config.paths)
    roles = Roles(resources)
    needed = {role for cell in cells for role, _ in SYSTEMS[cell.config.system].needs(cell.config)}
    cards = [roles.card(role) for role in sorted(needed)]
    named = {card.prompt_of(task) for card in cards for task in card.tasks}
    named |= {card.system_prompt() for card in cards}
    files = resources.names("prompts")
    contents = {
        name: files[name].read_bytes() for name in sorted(files) if name in named or name.startswith(SHARED)
    }
    contents |= {f"{card.name}.yaml": card.model_dump_json().encode() for card in cards}
    return {name: hashlib.sha256(content).hexdigest()[:8] for name, content in contents.items()}


def _course(config: RunConfig) -> dict[str, Any]:
    models = {alias: model.identity() for alias, model in config.models.items()}
    course = {**config.course(), "host": config.host, "models": models}
    course |= config.model_dump(mode="json", include={"roles", "paths"})
    del course["seed"]
    return course


def _apart(suite: Suite, cell: Cell, first: Mapping[str, Any]) -> dict[str, Any]:
    """What a cell's config has otherwise than the first one, and not because the suite sets it for this cell."""
    varied = {**suite.spec.settings(cell.condition), **suite.cases[cell.case]}
    own = tuple(f"{key}." for key, _ in _leaves(varied))
    return {
        key: value
        for key, value in _leaves(_course(cell.config))
        if (key not in first or first[key] != value) and not f"{key}.".startswith(own)
    }


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Generator[str]:
    old, new = dict(_leaves(before)), dict(_leaves(now))
    for key in dict.fromkeys([*old, *new]):
        if key not in new or key not in old or old[key] != new[key]:
            yield f"{key} was {_shown(old, key)}, is {_shown(new, key)}"


def _leaves(data: Mapping[str, Any], above: str = "") -> Generator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from _leaves(cast(dict[str, Any], value), f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _shown(leaves: Mapping[str, Any], key: str) -> str:
    if key not in leaves:
        return "not there"
    text = json.dumps(leaves[key], ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"
