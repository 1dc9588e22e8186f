"""SQLite files that one process locks, and changes that hold all or none."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from manyheads.base.sqlite import Database

TABLE = "CREATE TABLE IF NOT EXISTS note (text TEXT)"
ADD = "INSERT INTO note VALUES (?)"
NOTES = "SELECT text FROM note ORDER BY rowid"


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[], Database]:
    path = tmp_path / "notes.sqlite"
    return partial(Database, path, TABLE, safety="each write", alone=True, wait=0.1)


def test_a_database_is_locked_until_it_is_closed(opened: Callable[[], Database], tmp_path: Path) -> None:
    with closing(opened()) as database:
        database.change(ADD, "one")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            opened()
    with closing(opened()) as again:
        assert again.rows(NOTES) == [("one",)]
    assert [path.name for path in tmp_path.iterdir()] == ["notes.sqlite"]


KILLED = f"""
import os, signal, sys
from pathlib import Path
from manyheads.base.sqlite import Database
database = Database(Path(sys.argv[1]), {TABLE!r}, safety="each write", alone=True)
database.change({ADD!r}, "kept")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_locks_nothing(opened: Callable[[], Database], tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "notes.sqlite")], check=False)
    with closing(opened()) as database:
        assert database.rows(NOTES) == [("kept",)]


def test_statements_that_belong_together_hold_all_or_none(tmp_path: Path) -> None:
    with closing(Database(tmp_path / "notes.sqlite", TABLE)) as database:
        with pytest.raises(sqlite3.Error):
            database.change_all(ADD, [("one",), ("two", "too many")])
        assert database.row(NOTES) is None
