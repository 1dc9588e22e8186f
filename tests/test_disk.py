"""What is kept on disk: databases that give their files back and stay ours, locks, files replaced as a whole."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from manyheads import disk
from manyheads.disk import (
    Database,
    FileLock,
    LockedError,
    damaged_files,
    folder_beside,
    record_checksums,
    replace_text,
)

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
from manyheads.disk import Database
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
    monkeypatch.setattr(disk, "most_open", lambda: 3)
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


def test_a_lock_is_one_processes_or_shared_by_readers(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with FileLock(path):
        with pytest.raises(LockedError):
            FileLock(path)
        with pytest.raises(LockedError):
            FileLock(path, shared=True)
    with FileLock(path, shared=True), FileLock(path, shared=True), pytest.raises(LockedError):
        FileLock(path)


def test_files_and_folders_appear_whole(tmp_path: Path) -> None:
    replace_text(tmp_path / "a.txt", "one")
    replace_text(tmp_path / "a.txt", "two")
    assert (tmp_path / "a.txt").read_text() == "two"
    with suppress(ZeroDivisionError), folder_beside(tmp_path / "made") as made:
        (made / "half").touch()
        raise ZeroDivisionError
    assert not (tmp_path / "made").exists()
    for name in ("first", "second"):
        with folder_beside(tmp_path / "made") as made:
            (made / name).touch()
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "a.txt",
        "made",
        "made/first",
    ]


def test_damaged_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "use.lock").touch()
    with (tmp_path / "inner" / "holes.dat").open("wb") as file:
        file.truncate(5_000_000)
        file.seek(3_000_000)
        file.write(b"some")
    (tmp_path / "log.txt").write_text("a")
    (tmp_path / "small.txt").write_text("b")
    record_checksums(tmp_path, "log.txt")
    assert not damaged_files(tmp_path)
    copy = (tmp_path / "inner" / "holes.dat").read_bytes()
    (tmp_path / "inner" / "holes.dat").write_bytes(copy)  # without holes
    (tmp_path / "log.txt").write_text("c")
    (tmp_path / "use.lock").unlink()
    assert not damaged_files(tmp_path, whole=True)
    (tmp_path / "small.txt").unlink()
    for place in (5, 3_000_001, 4_999_999):
        (tmp_path / "inner" / "holes.dat").write_bytes(copy[:place] + b"x" + copy[place + 1 :])
        assert sorted(damaged_files(tmp_path)) == ["inner/holes.dat", "small.txt"]
    (tmp_path / "inner" / "holes.dat").write_bytes(bytes(5_000_000))
    assert "inner/holes.dat" in damaged_files(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}', '{"a": ["x", 2]}', '{"": [0, 0]}'])
def test_damaged_checksums_are_no_checksums(tmp_path: Path, content: str) -> None:
    assert not damaged_files(tmp_path)
    (tmp_path / "checksums.json").write_text(content)
    assert damaged_files(tmp_path)


def test_large_files_are_read_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("large", 200_000), ("small", 1_000)):
        (tmp_path / name).write_bytes(b"a" * size)
    record_checksums(tmp_path)
    monkeypatch.setattr(disk, "QUICK", 1_000)
    (tmp_path / "large").write_bytes(b"b" * 200_000)
    assert not damaged_files(tmp_path)
    assert damaged_files(tmp_path, whole=True) == ["large"]
