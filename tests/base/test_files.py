"""Locks, files and folders that appear whole, and damage that is found."""

import os
import socket
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from manyheads.base import files as disk
from manyheads.base.files import (
    FileLock,
    LockedError,
    damaged_files,
    folder_beside,
    inside,
    opened,
    read_text,
    record_checksums,
    replace_text,
)
from manyheads.base.sqlite import connect


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


def test_a_checked_folder_takes_the_place_of_a_damaged_one_alone(tmp_path: Path) -> None:
    target = tmp_path / "cache"

    def make(text: str) -> str:
        with folder_beside(target, checked=True) as made:
            (made / "data").write_text(text)
        assert not damaged_files(target, whole=True)
        return (target / "data").read_text()

    assert [make("first"), make("second")] == ["first", "first"], "a sound one stays"
    (target / "data").write_text("spoilt")
    assert make("third") == "third"
    assert (tmp_path / "cache.broken" / "data").read_text() == "spoilt"


@pytest.mark.parametrize("kind", ["pipe", "link", "socket", "folder", "device"])
def test_only_regular_files_are_opened(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's address is short
    (tmp_path / "other").write_text("other")
    for name in ("a", "b.part"):
        match kind:
            case "pipe":
                os.mkfifo(name)
            case "link":
                os.symlink("other", name)
            case "socket":
                socket.socket(socket.AF_UNIX).bind(name)
            case "folder":
                os.mkdir(name)
            case _:
                os.symlink("/dev/zero", name)
    if kind == "link":
        assert read_text(Path("a")) == "other"
    else:
        with pytest.raises(OSError, match=r"."):
            read_text(Path("a"))
    with pytest.raises(OSError, match=r"."):
        replace_text(Path("b"), "text")
    with pytest.raises(OSError, match=r"."):
        opened(Path("a"), "ab")
    assert (tmp_path / "other").read_text() == "other"
    with pytest.raises(sqlite3.OperationalError):
        connect(Path("a"))


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "link", "loop", "folder", "a\0b", "out/secret", ""]
)
def test_a_file_that_others_name_is_inside_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("secret")
    home = tmp_path / "home"
    (home / "folder").mkdir(parents=True)
    (home / "folder" / "file").touch()
    (home / "link").symlink_to(tmp_path / "secret")
    (home / "loop").symlink_to(home / "loop")
    (home / "out").symlink_to(tmp_path)
    (home / "own").symlink_to(home / "folder" / "file")
    assert inside(home, name) is None
    assert inside(home, "own") == inside(home, "folder/file") == home / "folder" / "file"


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


def test_holes_are_zeros(tmp_path: Path) -> None:
    bank = tmp_path / "bank"
    with bank.open("wb") as file:
        for place in (300_000, 5_000_000):
            file.seek(place)
            file.write(b"data")
        file.truncate(9_000_000)
    record_checksums(tmp_path)
    whole = bank.read_bytes()
    bank.unlink()
    bank.write_bytes(whole)  # without holes
    assert damaged_files(tmp_path) == []
    for place in (0, 300_001, 4_000_000, 5_000_003, 8_999_999):
        bank.write_bytes(whole[:place] + b"x" + whole[place + 1 :])
        assert damaged_files(tmp_path) == ["bank"]
        os.truncate(bank, 0)
        with bank.open("r+b") as file:  # with holes again
            file.truncate(9_000_000)
            file.seek(place)
            file.write(b"x")
        assert damaged_files(tmp_path) == ["bank"]
