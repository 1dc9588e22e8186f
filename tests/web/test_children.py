"""Runs that the server works on: real processes."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import yaml

from manyheads.web.children import Child, Children

pytestmark = pytest.mark.slow
STEERED = {
    "system": "virsci", "host": "autogen", "embedding": "lexical", "steer": ["topic"],
    "virsci": {"team": {"size": 2}, "turns": {"default": 1}},
}  # fmt: skip


def config(folder: Path, **changes: object) -> Path:
    file = folder / f"{len(list(folder.iterdir()))}.yaml"
    file.write_text(yaml.safe_dump({**STEERED, **changes}), encoding="utf-8")
    return file


async def until(what: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something to happen."""
    async with asyncio.timeout(seconds):
        while not what():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.fixture
async def children(tmp_path: Path) -> AsyncIterator[Children]:
    children = Children(tmp_path, at_once=1)
    yield children
    await children.close()


def waits(child: Child, folder: Path) -> Callable[[], bool]:
    events = folder / child.name / "events.jsonl"
    return lambda: not child.alive or (events.exists() and '"kind": "waiting"' in events.read_text("utf-8"))


def request_of(child: Child, folder: Path) -> str:
    lines = (folder / child.name / "events.jsonl").read_text("utf-8").splitlines()
    return [yaml.safe_load(line)["request"] for line in lines if '"kind": "waiting"' in line][-1]


async def test_a_run_waits_for_an_answer_once(children: Children, tmp_path: Path) -> None:
    child = children.start("one", "virsci", config(tmp_path))
    await until(waits(child, tmp_path))
    request = request_of(child, tmp_path)
    assert children.answer(child, request, {"action": "accept", "remark": ""})
    assert not children.answer(child, request, {"action": "accept", "remark": ""})
    await until(lambda: not child.alive)
    assert child.error == ""
    assert (tmp_path / "one" / "report.html").is_file()


async def test_no_module_of_the_working_folder_is_imported(
    children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("open('imported', 'w')")
    child = children.start("one", "virsci", tmp_path / "absent.yaml")
    await until(lambda: not child.alive)
    assert "absent.yaml" in child.error
    assert not (tmp_path / "imported").exists()


async def test_a_stopped_run_is_resumed_and_a_queued_one_leaves(children: Children, tmp_path: Path) -> None:
    child = children.start("one", "virsci", config(tmp_path))
    second = children.start("two", "virsci", config(tmp_path))
    await until(waits(child, tmp_path))
    assert second.state == "queued"
    children.control(second, "stop")
    assert not second.alive
    children.control(child, "stop")
    assert child.state == "stopping"
    await until(lambda: not child.alive)
    assert child.error == ""
    again = children.resume("one", "virsci")
    assert again is not child
    await until(lambda: not again.alive or bool(again.asked))
    assert again.alive


async def test_a_killed_run_has_an_error_and_the_next_one_begins(children: Children, tmp_path: Path) -> None:
    child = children.start("one", "virsci", config(tmp_path))
    second = children.start("two", "virsci", config(tmp_path, system="nosystem"))
    await until(waits(child, tmp_path))
    assert child.process
    os.kill(child.process.pid, signal.SIGKILL)
    await until(lambda: not second.alive)
    assert "signal 9" in child.error
    assert "nosystem" in second.error  # its own words
    assert "Traceback" not in second.error


async def test_the_end_of_the_server_ends_its_runs(tmp_path: Path) -> None:
    children = Children(tmp_path, at_once=2)
    child = children.start("one", "virsci", config(tmp_path))
    await until(waits(child, tmp_path))
    await children.close()
    assert not child.alive
    assert child.process
    assert child.process.returncode == 130
