"""A run's folder: the names of its files, and what may go wrong in it."""

import errno
import json
import os
import sqlite3
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from manyheads.base.errors import BugError, JournalError, UserError, scrubbed
from manyheads.base.files import FEWER, FileLock, make_folder, out_of_files, read_text, replace_text
from manyheads.base.sqlite import reading
from manyheads.base.text import shortened

CONFIG, JOURNAL, EVENTS, REPORT = "config.yaml", "journal.sqlite", "events.jsonl", "report.html"
TRACEBACK = "traceback.txt"
ENDED = "ended.txt"
"""Why a run is not finished: a word, such as `failed`, a colon, and the reason."""
LABELS = "labels.yaml"
"""In a run's folder: the words for labels that `manyheads report --labels` was given."""
SUITE = "suite.json"
"""In the folder of a suite, whose runs are its own."""
ABSTRACTS = "abstracts.jsonl"
"""In the folder of a run that writes several: `id`, `title` and `abstract` of each, one a line."""
DOWNLOADS = "downloads.jsonl"
"""In a run's folder: for each paper what was named, and its file."""


def is_held(folder: Path) -> bool:
    """Whether a process is running in the folder: it has the journal."""
    try:
        with reading(folder / JOURNAL, wait=0) as database:
            database.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    except (sqlite3.Error, OSError, ValueError):
        pass
    return False


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """Turns errors of a full or read-only disk into messages."""
    try:
        yield
    except OSError as error:
        full, begun = error.errno in (errno.ENOSPC, errno.EDQUOT), os.path.exists(folder / JOURNAL)
        if out_of_files(error):
            raise JournalError(f"{folder}: {error.strerror}", hint=FEWER) from error
        ways = ["make room on the disk"] if full else ["make the folder writable"] if begun else []
        # A run that has begun stays where it is.
        hint = ", or ".join([*ways, *([] if begun else ["choose another folder: --out FOLDER"])])
        raise JournalError(f"{folder}: cannot be written: {error.strerror or error}", hint=hint) from error


def write(path: Path, text: str) -> None:
    """Write a file atomically; raises `JournalError`."""
    with writing(path.parent):
        replace_text(path, text)


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Make and lock a folder against other processes; raises `JournalError`."""
    while True:
        with writing(folder):
            make_folder(folder)
            lock = FileLock(folder / ".lock", wait=True)
        with lock:
            if lock.stands:
                yield
                return


@contextmanager
def door(folder: Path | None) -> Generator[None]:
    """Turns a bug in a part that others can go on without into a `BugError`; its traceback stays in the run's folder.

    There are three such parts: a run of many, a member of a committee, a report.

    Args:
        folder: of the run; None if nothing is saved.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        line = f"{type(error).__name__}: {shortened(' '.join(str(error).split()), 300)}"
        with suppress(OSError):
            if folder:
                make_folder(folder)
                with (folder / TRACEBACK).open("a", encoding="utf-8", errors="replace") as file:
                    file.write(scrubbed("".join(traceback.format_exception(error))) + "\n")
                line += f" (a bug: see {TRACEBACK} in the run's folder)"
        raise BugError(line) from error


def downloads(folder: Path) -> Iterator[dict[str, str]]:
    """The papers that were downloaded or unpacked into a run's folder."""
    with suppress(OSError, ValueError):
        for line in read_text(folder / DOWNLOADS).splitlines():
            if isinstance(entry := json.loads(line), dict):
                yield {str(key): str(value) for key, value in cast(dict[str, Any], entry).items()}


def source_of(path: Path) -> str:
    """What a user named to get a file of a run's folder: an address, an archive; else the file."""
    for folder in path.parents[:6]:
        for entry in downloads(folder):
            if path.resolve() == (folder / entry.get("file", "")).resolve():
                return entry.get("named", str(path))
    return str(path)
