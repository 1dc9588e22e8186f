"""A run's folder: its files, complete at every moment.

    runs/<time>-<name>/
        config.yaml      the resolved config, without secrets
        <input>.md       a text given to a team; of several, <input>-1.md, <input>-2.md, …
        journal.sqlite   every finished turn
        events.jsonl     the events, a line each
        notes.yaml       name, tags and note of its owner, if there are any
        searches.jsonl   every literature look-up, a line each, if there are any
        searches.sqlite  the results of these look-ups, so that a resumed run sees the same
        result.json      the result: written after every stage, `finished` at the end
        report.html      the result as a page
        traceback.txt    where code failed, if a part of the run went on without it
        ended.txt        why it is not finished, if its process could still say so

A resumed run changes none of these before its first new turn: until then it only replays the journal, and must not
lose earlier files if it fails.
"""

import json
import os
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml
from pydantic_core import to_json

from manyheads.base.errors import BudgetError, BugError, JournalError, StoppedError, UserError, scrubbed
from manyheads.base.files import make_folder, opened, replace_text
from manyheads.base.folders import CONFIG, ENDED, EVENTS, JOURNAL, REPORT, TRACEBACK, writing
from manyheads.config import RunConfig
from manyheads.config.files import portable
from manyheads.core.events import AnyEvent, MadeBy, Result, Stage
from manyheads.core.results import MEASURE, RESULT, RunResult


def new_folder(config: RunConfig, base: Path) -> Path:
    """Create a new run folder, `base/<time>-<name>`.

    Raises:
        JournalError: it cannot be created.
    """
    name = re.sub(r"[^\w.-]+", "-", config.name or config.system).strip(".-") or config.system
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{name}"
    for number in range(1, 1000):
        folder = base / (stem if number == 1 else f"{stem}-{number}")
        with writing(folder), suppress(FileExistsError):
            make_folder(base)
            folder.mkdir()
            return folder
    raise JournalError(f"{base}: has a thousand runs of this second")


def fresh(folder: Path) -> Path:
    """A run folder named by the user, if it is free.

    Raises:
        JournalError: it contains a run, or is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise JournalError(f"{folder}: a file, not a folder", hint="name another --out")
    if (folder / JOURNAL).exists():
        hint = f"manyheads resume {folder}, or another --out"
        raise JournalError(f"{folder}: already contains a run", hint=hint)
    return folder


def replies_told(folder: Path) -> int:
    """Number of replies in a run's events, each recorded before its event; at least one for a finished run."""
    with suppress(OSError), opened(folder / EVENTS) as log:
        if told := sum(b'"kind": "said"' in line[:200] for line in log):
            return told
    with suppress(OSError), opened(folder / RESULT) as result:
        return int(b'"finished": true' in result.read(5000))
    return 0


def keep_config(config: RunConfig, folder: Path, header: str) -> None:
    """Write a run's config, below a comment."""
    with writing(folder):
        text = yaml.safe_dump(portable(config, folder), sort_keys=False, allow_unicode=True)
        replace_text(folder / CONFIG, f"{header}\n{text}")


class RunFolder:
    """An open run folder. Use as a context manager; the report of an unfinished run is written at exit.

    Args:
        path: the folder, created if missing.
        config: the run's config, saved at its first new turn.
        made_by: header of the config.

    Attributes:
        so_far: the result so far; None before the run begins, and once it has finished.
        ranks: of the events to come, see `Branch`.

    Raises:
        JournalError: the folder cannot be written.
    """

    def __init__(
        self, path: Path, config: RunConfig, write_report: Callable[[Path], object], made_by: MadeBy
    ) -> None:
        self.path, self._config, self._write_report, self._made_by = path, config, write_report, made_by
        self.so_far: Callable[[], RunResult[Any]] | None = None
        self.ranks = deque[tuple[int, ...]]()
        self._place = path.absolute()
        self._began = time.monotonic()
        with writing(path):
            make_folder(path)
            self._resumed = (path / CONFIG).exists()
            if not self._resumed:
                self._keep_config()
            opened(self._events_file, "wb").close()

    @property
    def _events_file(self) -> Path:
        return self._place / (f"{EVENTS}.part" if self._resumed else EVENTS)

    def go_live(self) -> None:
        """The replay ends here: from now on the folder describes this start, with its config."""
        if not self._resumed:
            return
        with writing(self.path):
            os.replace(self._events_file, self.path / EVENTS)
            self._resumed = False
            self._keep_config()
            for stale in (RESULT, REPORT, MEASURE, TRACEBACK, ENDED):
                (self.path / stale).unlink(missing_ok=True)

    def note(self, *events: AnyEvent) -> None:
        """Save events; a `Result` also to its own file, as well as the partial result when a stage begins."""
        text = "".join(map(self._line, events)).encode()
        # Opened each time: a thousand runs of one process would have a thousand open files.
        with writing(self.path), opened(self._events_file, "ab") as log:
            log.write(text)
        for event in events:
            if isinstance(event, Result):
                self.go_live()
                self._keep_result(event.data)
                self.so_far = None
            elif isinstance(event, Stage) and self.so_far and not self._resumed:
                self._keep_result(self.so_far())

    def _line(self, event: AnyEvent) -> str:
        line = {"at": round(time.monotonic() - self._began, 3), **event.model_dump(mode="json")}
        if self.ranks:
            line["rank"] = self.ranks.popleft()
        return f"{json.dumps(line, ensure_ascii=False)}\n"

    def _keep_result(self, data: Mapping[str, Any] | RunResult[Any]) -> None:
        with writing(self.path):
            replace_text(self.path / RESULT, to_json(data, indent=2).decode() + "\n")

    def _keep_config(self) -> None:
        keep_config(self._config, self.path, f"# {self._made_by}, begun {self._made_by.at}")

    def report(self) -> str:
        """Write the report; returns what is wrong with its template, which ends no run."""
        try:
            self._write_report(self.path)
        except BugError as error:
            return str(error)
        return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            with suppress(OSError):
                replace_text(self.path / ENDED, f"{scrubbed(_reason(error))}\n")
        if self._resumed:
            self._events_file.unlink(missing_ok=True)
        elif error is not None:
            # The error that stopped the run is more important than a report that cannot be written.
            with suppress(JournalError):
                if self.so_far:
                    self._keep_result(self.so_far())
                if fault := self.report():
                    error.add_note(fault)


def _reason(error: BaseException) -> str:
    """Why a run ended early, in a line."""
    if isinstance(error, StoppedError) or not isinstance(error, Exception):  # Ctrl-C, no more events wanted
        return "stopped: by its user"
    state = "stopped" if isinstance(error, BudgetError) else "failed"
    return f"{state}: {' '.join((error.message if isinstance(error, UserError) else repr(error)).split())}"
