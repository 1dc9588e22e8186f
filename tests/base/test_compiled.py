"""Compiled templates on disk: used again, by nobody else's hand."""

import os
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from manyheads.base import compiled
from manyheads.base.compiled import Compiled, own_file
from manyheads.base.files import out_of_files

TEXT = "Hello, {{ name }}!"


@pytest.fixture
def folder(own_cache: None) -> Path:
    place = own_file((), "any")
    assert isinstance(place, Path)
    return place.parent


def rendered(text: str = TEXT, code: str = compiled.__file__) -> str:
    """As a new process does it."""
    loader = DictLoader({"hello": text})
    return Environment(loader=loader, bytecode_cache=Compiled(code)).get_template("hello").render(name="Ada")


def swap(file: Path, inside: str) -> None:
    """Put another template's code in a file, as somebody would who can write there."""
    [before] = set(file.parent.iterdir())
    rendered(inside)
    [other] = set(file.parent.iterdir()) - {before}
    file.write_bytes(other.read_bytes())


def test_a_template_is_compiled_once(folder: Path, tmp_path: Path) -> None:
    assert rendered() == "Hello, Ada!"
    [file] = folder.iterdir()
    swap(file, "Taken from the disk: {{ name }}")
    assert rendered() == "Taken from the disk: Ada"
    assert rendered("Another {{ name }}") == "Another Ada"
    (code := tmp_path / "newer.py").write_text("")
    assert rendered(code=str(code)) == "Hello, Ada!"


def test_a_damaged_file_is_compiled_again(folder: Path) -> None:
    rendered()
    [file] = folder.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40] + b"x" + whole[41:]):
        file.write_bytes(damaged)
        assert rendered() == "Hello, Ada!"
        assert file.read_bytes() == whole


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o755])
def test_a_folder_that_is_open_to_others_is_not_used(folder: Path, mode: int) -> None:
    rendered()
    [file] = folder.iterdir()
    swap(file, "Not by us: {{ name }}")
    folder.chmod(mode)
    assert rendered() == "Hello, Ada!"


def test_a_folder_of_another_user_or_behind_a_link_is_not_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700
    with monkeypatch.context() as other:
        other.setattr(os, "getuid", lambda: 12345)
        assert rendered() == "Hello, Ada!"
    assert list(folder.iterdir()) == []
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert rendered() == "Hello, Ada!"
    assert list(folder.iterdir()) == []


def test_a_full_process_is_told_from_a_missing_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with pytest.raises(FileNotFoundError) as missing:
        (tmp_path / "none").read_text()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
        with pytest.raises(OSError, match="Too many") as full:
            os.open(tmp_path, os.O_RDONLY)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert out_of_files(RuntimeError()) is out_of_files(missing.value) is False
    assert out_of_files(full.value)
