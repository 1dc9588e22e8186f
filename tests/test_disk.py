"""Locks, files and folders that appear whole, and damage that is found."""

from contextlib import suppress
from pathlib import Path

import pytest

from manyheads import disk
from manyheads.disk import FileLock, LockedError, damaged_files, folder_beside, record_checksums, replace_text


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
