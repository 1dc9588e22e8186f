"""What the machine around a run can do to it: one clear message, no traceback, nothing lost; mistakes: `tests/golden/mistakes.yaml`."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command import SMALL, manyheads_command, manyheads_process, result_of, start


@pytest.mark.slow
def test_a_host_that_is_not_installed(tmp_path: Path) -> None:
    without = {"PYTHONPATH": str(hiding(tmp_path / "hiding", "autogen_agentchat"))}
    given = ("virsci", "--host", "autogen", "--set", "embedding=lexical")
    said = manyheads_process("run", *given, cwd=tmp_path, env=without).message
    assert "host 'autogen' needs autogen_agentchat, which is not installed" in said
    assert "pip install" in said.split("next: ")[1]
    assert "[autogen]'" in said
    checked = manyheads_process("check", *given, cwd=tmp_path, env=without)
    assert checked.code == 2
    assert "WRONG  host: autogen is not installed: pip install" in checked.out


def hiding(folder: Path, package: str) -> Path:
    """A folder that, first on PYTHONPATH, makes an installed package look absent."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(f"""\
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == {package!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
""")
    return folder


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    sets = ("--set", f"models.default.base_url={url}", "--set", "models.default.retries=0")
    flags = (*SMALL, "--host", "agentscope", "--model", "openai/test", *sets)
    said = manyheads_command("run", "virsci", *flags, "--out", "run", cwd=tmp_path).message
    assert f"models.default (openai/test at {url}): cannot be reached" in said
    assert "then start again" in said
    assert not (tmp_path / "run").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 120 kB, less than a run takes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=120k", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a disk can only be mounted by root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.slow
def test_a_disk_that_is_full(tmp_path: Path, small_disk: Path) -> None:
    run = ("run", "virsci", "--host", "agentscope", *SMALL, "--out", "disk/run")
    said = manyheads_command(*run, cwd=tmp_path).message
    assert "disk is full" in said or "No space left" in said
    assert "manyheads resume disk/run" in said
    config = (small_disk / "run" / "config.yaml").read_text()
    again = manyheads_command("resume", "disk/run", "--set", "budget.calls=999", cwd=tmp_path).message
    assert "full" in again or "No space left" in again
    assert (small_disk / "run" / "config.yaml").read_text().startswith(config.split("budget")[0])
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    assert manyheads_command("resume", "disk/run", cwd=tmp_path).code == 0
    assert len(result_of(small_disk / "run")["team"]) == 3


@pytest.mark.slow
def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    with start(
        "run", "virsci", *SMALL, "--host", "agentscope", "--json", "--out", "run", cwd=tmp_path
    ) as process:
        assert process.stdout
        assert process.stderr
        assert json.loads(process.stdout.readline())["kind"] == "began"
        process.stdout.close()
        err = process.stderr.read()
    assert "Traceback" not in err
    assert manyheads_command("resume", "run", cwd=tmp_path).code == 0
