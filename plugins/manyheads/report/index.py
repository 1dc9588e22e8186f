"""The start page of a folder of runs: `index.html`, newest first, each linked with runs made from it."""

import json
import logging
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import islice
from os.path import normpath, relpath
from pathlib import Path
from typing import Any, Literal, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from manyheads.base.errors import SubjectError
from manyheads.base.files import FileLock, opened, read_text, replace_text
from manyheads.base.folders import CONFIG, ENDED, JOURNAL, REPORT, SUITE, is_held
from manyheads.base.resources import parse_yaml
from manyheads.base.text import plain, shortened
from manyheads.core.results import MEASURE, RESULT, Part
from manyheads.measures import BY_FIELD
from manyheads.models.offline import OFFLINE
from manyheads.report.notes import NOTES, Notes, read_notes
from manyheads.report.page import render
from manyheads.report.top import read_measure

log = logging.getLogger("manyheads")
RUNS = "runs"
"""The default folder of runs."""
INDEX, ROWS, LOCK = "index.html", ".index.json", ".index.lock"
"""The page, its cached data, and a lock; hidden names, so that `runs/*` matches only runs and the page."""
GENERATOR = '<meta name="generator" content="manyheads index">'
"""Marks a page as ours; a user's own page is left alone."""
TIME = re.compile(r"(\d{8}-\d{6})(?:-|$)")
INPUTS = re.compile(r"^inputs:.*?(?=^[^\s-]|\Z)", re.MULTILINE | re.DOTALL)
LONGEST = 300
"""Maximum characters of a title."""

State = Literal["finished", "running", "stopped", "failed", "damaged", ""]
"""Empty for other folders with a report, such as a suite's."""


class RunEntry(BaseModel):
    """A run in a list.

    Attributes:
        title: of its text, else its topic.
        reason: why it stopped or failed, if its process could still say so.
        models: by name.
        calls: None if unknown, as `tokens` and `cost`.
        at: start, in local time.
        sources: reviewed, ranked or continued runs among its inputs, as paths from the folder that it is in: names, for those next to it.
        measured: its novelty by measure, if measured.
        notes: name, tags and note that its owner gave it.
        stamp: sizes and times of its files, to notice changes.
    """

    model_config = ConfigDict(frozen=True)

    folder: str
    system: str = ""
    title: str = ""
    state: State = "damaged"
    reason: str = ""
    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    models: tuple[str, ...] = ()
    at: str = ""
    sources: tuple[str, ...] = ()
    report: bool = False
    measured: Mapping[str, float] = {}
    notes: Notes = Notes()
    stamp: tuple[int, ...] = ()

    @property
    def heading(self) -> str:
        """What a list calls it."""
        return self.notes.name or self.title or self.folder

    @property
    def values(self) -> dict[str, str | float | None]:
        """What a table shows of it, by column."""
        return {
            "tags": ", ".join(self.notes.tags), "system": self.system, "models": ", ".join(self.models), "state": self.state, "reason": self.reason,
            "calls": self.calls, "tokens": self.tokens, "cost": self.cost, **self.measured, "begun": self.when,
        }  # fmt: skip

    @property
    def when(self) -> str:
        return self.at[:16].replace("T", " ")


ENTRIES = TypeAdapter(list[RunEntry])


class _Usage(Part):
    calls: int = Field(default=0, ge=0)
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class _Told(Part):
    """Common keys of every `result.json`."""

    system: str
    finished: bool
    models: dict[str, str] = Field(default_factory=dict[str, str])
    usage: _Usage = _Usage()
    result: dict[str, Any] = Field(default_factory=dict[str, Any])


def entries(base: Path, before: Iterable[RunEntry] = ()) -> list[RunEntry]:
    """The runs in a folder, newest first. Unchanged ones are taken from `before`.

    Raises:
        OSError: the folder cannot be read.
    """
    known = {entry.folder: entry for entry in before}
    found = list[RunEntry]()
    for folder in base.iterdir():
        stamp = _stamp(folder)
        if not any(stamp):
            continue
        entry = known.get(folder.name)
        # no file's time shows whether an unfinished run is running
        if entry is None or entry.stamp != stamp or entry.state != "finished":
            entry = _read(folder, stamp)
        found.append(entry)
    return sorted(found, key=lambda entry: (entry.at, entry.folder), reverse=True)


def read_entry(folder: Path) -> RunEntry:
    """The run in a folder, as it is now; its state is empty if there is none."""
    return _read(folder, _stamp(folder))


def read_entries(base: Path) -> list[RunEntry]:
    """The runs in a folder, newest first, using cached data; none without the folder."""
    try:
        return entries(base, _kept(base))
    except OSError:
        return []


DEPTH, MOST_FOLDERS = 4, 5_000
"""How far below a project's folder its runs are looked for, and in how many folders at most."""
RUN_FILES = (CONFIG, RESULT, JOURNAL)
"""A folder with one of them is a run's."""
NO_PROJECT = {"node_modules", "site-packages", "__pycache__"}


def folders_of_runs(base: Path = Path()) -> list[Path]:
    """The folders that have runs: that of a project, and those below it, wherever `-o` put a run. Those of suites are left out."""
    found, waiting = list[Path](), [(base, 0)]
    for folder, depth in islice(waiting, MOST_FOLDERS):  # grows while it is read
        with suppress(OSError):
            inside = [
                Path(each) for each in sorted(os.scandir(folder), key=lambda each: each.name) if each.is_dir()
            ]
            inside = [each for each in inside if each.name[0] != "." and each.name not in NO_PROJECT]
            runs = {each for each in inside if any((each / name).exists() for name in RUN_FILES)}
            found += [folder] if runs else []
            if depth < DEPTH:
                waiting += [(each, depth + 1) for each in inside if each not in runs and not _is_closed(each)]
    if len(waiting) > MOST_FOLDERS:
        _warn_of_size(base.resolve())
    return found


@cache
def _warn_of_size(base: Path) -> None:
    """Once in a process."""
    log.warning("warning: %s: runs were looked for in %s folders of it only", base, f"{MOST_FOLDERS:,}")


def _is_closed(folder: Path) -> bool:
    """Whether runs in it are not the project's: a suite's, an environment's, those behind a link."""
    return folder.is_symlink() or any((folder / name).exists() for name in (SUITE, "pyvenv.cfg"))


def runs_here(base: Path = Path()) -> list[tuple[Path, RunEntry]]:
    """The runs of a project, newest first; each with its folder."""
    found = [
        (folder / entry.folder, entry)
        for folder in folders_of_runs(base)
        for entry in read_entries(folder)
        if entry.state
    ]
    return sorted(found, key=lambda each: (each[1].at, str(each[0])), reverse=True)


def run_named(name: Path) -> Path:
    """A run's folder: the path itself, else that of the one run of the project with this folder name or name.

    Raises:
        SubjectError: there are several.
    """
    if name.exists() or len(name.parts) != 1:
        return name
    found = [folder for folder, entry in runs_here() if str(name) in (folder.name, entry.notes.name)]
    if len(found) > 1:
        tried = f"runs: {', '.join(map(str, found))}"
        hint = "name the folder of one"
        raise SubjectError(f"{name}: {len(found)} runs have this name", tried=tried, hint=hint)
    return found[0] if found else name


def _kept(base: Path) -> list[RunEntry]:
    with suppress(OSError, ValueError):
        return ENTRIES.validate_json(read_text(base / ROWS))
    return []


def _stamp(folder: Path) -> tuple[int, ...]:
    """Time and size of each file that the list depends on; zeros for missing files."""
    stamp = list[int]()
    for name in (*RUN_FILES, REPORT, MEASURE, NOTES, ENDED):
        try:
            stat = (folder / name).stat()
        except (OSError, ValueError):
            stamp.append(0)
        else:
            # opening a journal changes it
            stamp.append(1 if name == JOURNAL else stat.st_mtime_ns ^ stat.st_size)
    return tuple(stamp)


def _read(folder: Path, stamp: tuple[int, ...]) -> RunEntry:
    system, sources = _of_config(folder)
    about: dict[str, Any] = {
        "folder": folder.name, "system": system, "sources": sources, "at": _began(folder), "report": stamp[3] > 0,
        "stamp": stamp, "notes": read_notes(folder) if stamp[5] else Notes(),
    }  # fmt: skip
    if not any(stamp[: len(RUN_FILES)]):
        return RunEntry(**about, state="")
    try:
        told = _Told.model_validate_json(read_text(folder / RESULT))
    except FileNotFoundError:
        return RunEntry(**about, **_end(folder, stamp[6] > 0))
    except (OSError, ValueError, RecursionError):
        return RunEntry(**about)
    measured = read_measure(folder) if stamp[4] else None
    usage, about["system"] = told.usage, plain(shortened(told.system, LONGEST))
    about |= {"state": "finished"} if told.finished else _end(folder, stamp[6] > 0)
    return RunEntry(
        **about,
        title=_title(told.result),
        calls=usage.calls,
        tokens=usage.input_tokens + usage.output_tokens,
        cost=usage.cost,
        measured=dict(measured.values) if measured else {},
        models=tuple(dict.fromkeys(_model(name) for name in told.models.values())) if usage.calls else (),
    )


def _end(folder: Path, told: bool) -> dict[str, Any]:
    """State and reason of an unfinished run; one whose process was killed has no reason."""
    if is_held(folder):
        return {"state": "running"}
    state, reason = "", ""
    with suppress(OSError, ValueError):
        state, _, reason = read_text(folder / ENDED).partition(":") if told else ("", "", "")
    return {
        "state": "failed" if state == "failed" else "stopped",
        "reason": plain(shortened(reason, LONGEST)),
    }


def _model(name: str) -> str:
    """A model's name without its provider."""
    provider, _, model = plain(shortened(name, LONGEST)).partition("/")
    return "offline model" if provider == OFFLINE else model or provider


def _title(result: Mapping[str, Any]) -> str:
    """The title of the text or subject, else the topic."""
    for path in (("abstract", "title"), ("idea", "title"), ("title",), ("problem",), ("topic", "topic")):
        value: Any = result
        for key in path:
            value = cast(dict[str, Any], value).get(key) if isinstance(value, dict) else None
        if isinstance(value, str) and value.strip():
            return plain(shortened(value, LONGEST))
    return ""


def _of_config(folder: Path) -> tuple[str, tuple[str, ...]]:
    """The system, and neighbouring runs among the inputs. Reads only these lines of the config."""
    try:
        text = read_text(folder / CONFIG)
    except (OSError, ValueError):
        return "", ()
    system = re.search(r"^system: (\S{1,100})$", text, re.MULTILINE)
    sources = list[str]()
    with suppress(yaml.YAMLError, RecursionError):
        waiting = [parse_yaml(inputs[0]) if (inputs := INPUTS.search(text)) else None]
        while waiting:
            match waiting.pop():
                case dict() as data:
                    waiting += cast(dict[str, Any], data).values()
                case list() as values:
                    waiting += cast(list[Any], values)
                case str() as value if value[-LONGEST:].count("/") and "\n" not in value:
                    path = Path(normpath(folder.absolute() / value.partition("#")[0]))
                    base = folder.absolute().parent
                    if (path / CONFIG).is_file() and path != folder.absolute():
                        sources.append(relpath(path, base))
                    elif path.parent.name == base.name and path.name != folder.name and not path.exists():
                        sources.append(path.name)  # of a project that was moved, or a run that is gone
                case _:
                    pass
    return plain(system[1]) if system else "", tuple(dict.fromkeys(reversed(sources)))


def _began(folder: Path) -> str:
    """From the folder's name, else from the config's time."""
    if named := TIME.match(folder.name):
        with suppress(ValueError):
            return datetime.strptime(named[1], "%Y%m%d-%H%M%S").isoformat()
    for path in (folder / CONFIG, folder):
        with suppress(OSError, ValueError, OverflowError):
            return datetime.fromtimestamp(int(path.stat().st_mtime)).isoformat()
    return ""


# The page.


@dataclass(frozen=True)
class RunRow:
    """A run with the runs that it was made from, and those made from it."""

    entry: RunEntry
    sources: tuple[RunEntry, ...]
    uses: tuple[RunEntry, ...]


def rows(runs: Iterable[RunEntry]) -> list[RunRow]:
    """The runs in order, with their links."""
    by_name, uses = {entry.folder: entry for entry in runs}, defaultdict[str, list[RunEntry]](list)
    for entry in by_name.values():
        for name in entry.sources:
            uses[name].append(entry)
    return [
        RunRow(
            entry, tuple(by_name[each] for each in entry.sources if each in by_name), tuple(uses[name][::-1])
        )
        for name, entry in by_name.items()
    ]


def chains(runs: Iterable[RunEntry]) -> list[list[tuple[int, RunEntry]]]:
    """Runs made from each other: each chain begins with its first run, and has each run below its source, with its depth.

    A run of several sources stands below each of them, and what was made from it below the first.
    """
    by_name = {row.entry.folder: row for row in rows(runs)}
    found, seen = list[list[tuple[int, RunEntry]]](), set[str]()
    for first in [row.entry for row in by_name.values() if row.uses and not row.sources]:
        found.append(chain := [])
        waiting = [(0, first)]
        while waiting:
            depth, entry = waiting.pop()
            chain.append((depth, entry))
            if entry.folder not in seen:
                seen.add(entry.folder)
                waiting += [(depth + 1, each) for each in by_name[entry.folder].uses[::-1]]
    return found


def is_ours(base: Path) -> bool:
    """Whether the folder has a start page by manyheads."""
    try:
        with opened(base / INDEX) as page:
            return GENERATOR.encode() in page.read(2000)
    except (OSError, ValueError):
        return False


def write_index(base: Path) -> Path | None:
    """Write the start page of a folder of runs atomically; None if the folder has an `index.html` of the user's own.

    Runs that end at the same time wait for each other, so that the page has all of them. Data of finished runs is cached in
    `.index.json`.

    Raises:
        OSError: the folder cannot be read or written.
    """
    page = base / INDEX
    with FileLock(base / LOCK, wait=True):
        if page.exists() and not is_ours(base):
            return None
        before = _kept(base)
        runs = entries(base, before)
        if runs != before:
            replace_text(base / ROWS, json.dumps(ENTRIES.dump_python(runs), ensure_ascii=False))
        replace_text(page, index_page(base, runs))
    return page


def index_page(base: Path, runs: Iterable[RunEntry], files: Mapping[str, Iterable[str]] = {}) -> str:
    """The start page; `files` are the names of other files to link, by run."""
    values = {"generator": GENERATOR, "name": plain(base.resolve().name), "note": f"{BY_FIELD}."}
    shown = {**values, "rows": rows(runs), "files": files, "chains": chains(runs)}
    html = render("manyheads.report", "index.html.j2", shown)
    return html.encode("utf-8", "replace").decode()


def list_run(folder: Path) -> None:
    """Update the start page with a run: that of `runs`, or of another folder that has one."""
    base = folder.absolute().parent
    if (folder / CONFIG).exists() and (base.name == RUNS or is_ours(base)):
        with suppress(OSError):
            write_index(base)
