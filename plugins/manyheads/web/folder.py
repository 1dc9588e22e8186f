"""The runs in a folder: which there are, how each stands, what it waits for, its files."""

import time
from contextlib import suppress
from os.path import normpath
from pathlib import Path
from threading import Lock
from typing import Any

import yaml

from manyheads.base.errors import UserError
from manyheads.base.files import inside
from manyheads.base.folders import writing
from manyheads.config import RunConfig
from manyheads.engine.folder import new_folder
from manyheads.report.index import RunEntry, entries, folders_of_runs, read_entries
from manyheads.web.children import HIDDEN, Children
from manyheads.web.live import Logs

FRESH = 1.0
"""Seconds for which a list of runs is reused."""
STATES = ("queued", "running", "paused", "waiting", "stopping", "finished", "stopped", "failed", "damaged")
LIVE = frozenset(STATES[:5])
"""States that change by themselves."""


class MissingRunError(UserError):
    """The folder has no run, or no file of a run, of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}: no such run in this folder", hint="name a run of the list")


class RunsFolder:
    """The runs in a folder, and those elsewhere in a project.

    Args:
        children: the runs that this server works on.
        project: the folder in which other runs are looked for, if any.
    """

    def __init__(self, folder: Path, children: Children, project: Path | None = None) -> None:
        self.folder, self.children, self.logs = folder.resolve(), children, Logs()
        self._project = project.resolve() if project else None
        self._elsewhere = dict[str, Path]()
        """The folders of the project's other runs, by the name in addresses."""
        self.started = dict[str, str]()
        """The names of runs by the forms that started them."""
        self._lock, self._next, self._read_before = Lock(), 0.0, list[RunEntry]()
        self._entries = list[RunEntry]()

    def entries(self) -> list[RunEntry]:
        """The runs, newest first, about a second old; those that wait for their start come first."""
        with self._lock:
            if (began := time.monotonic()) >= self._next:
                self._entries = self._read()
                now = time.monotonic()
                self._next = now + max(FRESH, 4 * (now - began))  # a large folder is not read all the time
            known = {entry.folder for entry in self._entries}
            waiting = [
                RunEntry(folder=each.name, system=each.system, at=each.at)
                for each in self.children.all()
                if each.name not in known and (each.alive or each.error)
            ]
            return [*reversed(waiting), *self._entries]

    def _read(self) -> list[RunEntry]:
        before = {each.folder: each for each in self._read_before}
        # at the first look, what the index of the folder keeps
        here = entries(self.folder, before.values()) if before else read_entries(self.folder)
        found = [each for each in here if each.state and self._holds(self.folder / each.folder)]
        names, elsewhere = {each.folder for each in found}, dict[str, Path]()
        for base in folders_of_runs(self._project) if self._project else ():
            if base == self.folder:
                continue
            kept = [
                before[name].model_copy(update={"folder": path.name})
                for name, path in self._elsewhere.items()
                if path.parent == base and name in before
            ]
            for each in entries(base, kept) if kept else read_entries(base):
                # a name that is taken is told with its folder
                name = (
                    each.folder
                    if each.folder not in names
                    else "~".join((base / each.folder).relative_to(self._project or base).parts)
                )
                if each.state and self._holds(base / each.folder):
                    names.add(name)
                    elsewhere[name] = base / each.folder
                    found.append(each.model_copy(update={"folder": name}))
        self._elsewhere, self._read_before = elsewhere, found
        places = {each.folder: elsewhere.get(each.folder, self.folder / each.folder) for each in found}
        names_at = {str(path): name for name, path in places.items()}
        linked = [
            each.model_copy(
                update={
                    "sources": tuple(
                        names_at[place]
                        for source in each.sources
                        if (place := normpath(places[each.folder].parent / source)) in names_at
                    )
                }
            )
            for each in found
        ]
        return sorted(linked, key=lambda each: (each.at, each.folder), reverse=True)

    def _holds(self, path: Path) -> bool:
        """Whether a run's folder lies in this folder or the project, also where a link leads to."""
        with suppress(OSError, ValueError, RuntimeError):  # no possible name, a loop of links
            real = path.resolve()
            return not real.is_file() and any(each in real.parents for each in (self.folder, self._project))
        return False

    def entry(self, name: str) -> RunEntry:
        """A run by its folder's name; raises `MissingRunError`."""
        if (entry := next((each for each in self.entries() if each.folder == name), None)) is None:
            raise MissingRunError(name)
        return entry

    def begin(self, config: RunConfig) -> str:
        """Run a config in a new folder, when there is room; returns the folder's name."""
        folder = new_folder(config, self.folder)
        file = self.folder / HIDDEN / f"{folder.name}.yaml"
        data = config.model_dump(mode="json", by_alias=True, exclude_none=True)
        with writing(file.parent):
            file.parent.mkdir(exist_ok=True)
            file.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), encoding="utf-8")
        self.children.start(folder.name, config.system, file)
        return folder.name

    def path(self, name: str) -> Path:
        """The folder of a run by its name, inside this folder or the project; raises `MissingRunError` otherwise."""
        self.entries()  # finds the runs elsewhere
        hidden = name[:1] in ("", ".") or "/" in name
        path = self._elsewhere.get(name, None if hidden else self.folder / name)
        if path is None or not self._holds(path):
            raise MissingRunError(name)
        return path.resolve()

    def file(self, name: str, file: str) -> Path:
        if (path := inside(self.path(name), file)) is None:
            raise MissingRunError(f"{name}/{file}")
        return path

    def state(self, entry: RunEntry) -> str:
        """The state of a run, one of `STATES`."""
        child = self.children.get(entry.folder)
        if child and child.alive:
            return "waiting" if child.state == "running" and self.waiting(entry.folder) else child.state
        if entry.state == "running":
            return "waiting" if self.waiting(entry.folder) else "running"
        return "failed" if child and child.error and entry.state != "finished" else entry.state

    def values(self, entry: RunEntry) -> dict[str, str | float | None]:
        """What a table shows of a run, by column."""
        return {**entry.values, "state": self.state(entry)}

    def waiting(self, name: str) -> list[dict[str, Any]]:
        """The requests to people that a run waits for. A process of this server must have made them itself."""
        child = self.children.get(name)
        every = self.logs.of(self.path(name)).waiting.values()
        return [each for each in [*every] if not (child and child.alive) or each["request"] in child.asked]
