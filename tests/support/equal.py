"""Suites and piles of runs as they lie on the disk, without times, to be compared."""

import json
import re
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

Rows = dict[tuple[Any, ...], tuple[Any, ...]]
STAMP = re.compile(r"\d{8}-\d{6}-")
TIMES = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:+]+|\b\d+(\.\d+)? (min|s)\b|(?<=<td class=\"num\">)\d+\.\d(?=</td>)|(?<=<dd>)\d+\.\d s"
)


def run_in(path: Path) -> str:
    """The name of the run that a file is of, without its time."""
    return STAMP.sub("", path.parent.name)


def turns(folder: Path) -> Rows:
    """The recorded turns of all runs of a suite, by run and place: number of the row, hash, request, reply, time.

    A running command has the files locked: they are copied.
    """
    rows = Rows()
    for path in folder.rglob("journal.sqlite"):
        with tempfile.TemporaryDirectory() as base, suppress(sqlite3.Error, FileNotFoundError):
            for name in (path.name, f"{path.name}-wal"):
                with suppress(FileNotFoundError):
                    shutil.copy(path.with_name(name), base)
            with closing(sqlite3.connect(f"{base}/{path.name}")) as journal:
                query = (
                    "SELECT stage, turn, speaker, task, ordinal, rowid, hash, request, reply, at FROM turn"
                )
                rows |= {(run_in(path), *row[:5]): row[5:] for row in journal.execute(query)}
    return rows


def outcomes(folder: Path, *, paid: bool = False) -> Any:
    """Configs and results of the runs below a folder without times; with what they `paid` if nothing was paid in vain."""
    found = dict[str, Any]()
    for path in sorted(folder.rglob("result.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        config = path.with_name("config.yaml").read_text(encoding="utf-8").partition("\n")[2]
        left_out = ("made_by",) if paid else ("usage", "made_by")
        found[run_in(path)] = {"config": config, **{k: v for k, v in result.items() if k not in left_out}}
    return found


def without_times(rows: Rows) -> dict[str, Any]:
    """Hash, request and reply of each turn."""
    untimed = dict[str, Any]()
    for place, (_, digest, request, reply, _) in rows.items():
        data = {name: value for name, value in json.loads(reply).items() if name != "seconds"}
        untimed[" ".join(map(str, place))] = [digest, json.loads(request), data]
    return untimed


def pages(folder: Path) -> dict[str, list[str]]:
    """The lines of each report below a folder, without times and the folder's name."""
    return {
        run_in(path) if path.parent != folder else "": TIMES.sub("#", path.read_text(encoding="utf-8"))
        .replace(f"{folder.name}/", "#")
        .replace(path.parent.name, "#")
        .split("\n")
        for path in folder.rglob("report.html")
    }
