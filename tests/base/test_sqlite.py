"""SQLite files that give their handles back and stay ours, and changes that hold all or none."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from manyheads.base import sqlite as databases
from manyheads.base.sqlite import Database

TABLE = "CREATE TABLE IF NOT EXISTS note (text TEXT)"
ADD = "INSERT INTO note VALUES (?)"
NOTES = "SELECT text FROM note ORDER BY rowid"


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[], Database]:
    path = tmp_path / "notes.sqlite"
    return partial(Database, path, TABLE, safety="each write", alone=True, wait=0.1)


def test_a_database_that_is_laid_by_stays_ours(opened: Callable[[], Database], tmp_path: Path) -> None:
    with closing(opened()) as database:
        database.change(ADD, "one")
        assert database.lay_by()
        assert not [name for name in tmp_path.iterdir() if name.name.endswith("-wal")]
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            opened()
        database.change(ADD, "two")
        assert database.rows(NOTES) == [("one",), ("two",)]
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            opened()
        assert database.lay_by()
    with closing(opened()) as again:
        assert again.rows(NOTES) == [("one",), ("two",)]
    assert [path.name for path in tmp_path.iterdir()] == ["notes.sqlite"]


KILLED = f"""
import os, signal, sys
from pathlib import Path
from manyheads.base.sqlite import Database
database = Database(Path(sys.argv[1]), {TABLE!r}, safety="each write", alone=True)
database.change({ADD!r}, "kept")
database.lay_by()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_has_laid_by_is_free(opened: Callable[[], Database], tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "notes.sqlite")], check=False)
    assert (tmp_path / "notes.sqlite.claim").exists()
    with closing(opened()) as database:
        assert database.rows(NOTES) == [("kept",)]


def test_many_databases_hold_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "most_open", lambda: 3)
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    many = [Database(tmp_path / f"{number}.sqlite", TABLE, alone=True) for number in range(20)]
    for text in ("one", "two"):
        for database in many:
            database.change(ADD, text)
    if before:
        assert len(os.listdir("/proc/self/fd")) - before <= 3 * 3 + 2
    assert all(database.rows(NOTES) == [("one",), ("two",)] for database in many)
    for database in many:
        database.close()
    assert len([*tmp_path.iterdir()]) == 20


def test_statements_that_belong_together_hold_all_or_none(tmp_path: Path) -> None:
    with closing(Database(tmp_path / "notes.sqlite", TABLE)) as database:
        with pytest.raises(sqlite3.Error):
            database.change_all(ADD, [("one",), ("two", "too many")])
        assert database.row(NOTES) is None
