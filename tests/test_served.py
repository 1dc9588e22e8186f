"""A team behind the protocols of others, as the page says it; each test needs a package that is in no extra."""

import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from support.pages import ROOT, blocks, environment
from support.ports import bound_socket

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PAGE = ROOT / "docs/how-to/a2a.md"


@contextmanager
def serving(program: str, path: str, tmp_path: Path) -> Generator[tuple[int, dict[str, str]]]:
    """A program of the page on a free port, once it answers."""
    for block in blocks(PAGE):
        if block.title:
            (tmp_path / block.title).write_text(block.text, "utf-8")
    with bound_socket() as free:
        port = free.getsockname()[1]
    env = environment(tmp_path, "http://127.0.0.1:9", tmp_path / "cache")
    server = subprocess.Popen([sys.executable, program, str(port)], cwd=tmp_path, env=env)
    try:
        for _ in range(600):
            assert server.poll() is None
            try:
                httpx.get(f"http://127.0.0.1:{port}{path}").raise_for_status()
                break
            except httpx.ConnectError:
                time.sleep(0.1)
        yield port, env
    finally:
        server.terminate()
        server.wait()


def test_a_team_behind_a2a_requires_input_of_a_person(tmp_path: Path) -> None:
    pytest.importorskip("agent_framework_a2a")
    with serving("server.py", "/.well-known/agent-card.json", tmp_path) as (port, env):
        client = [sys.executable, "client.py", str(port)]
        done = subprocess.run(client, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    asked, label, *_ = done.stdout.splitlines()
    assert asked.endswith("?")
    assert "offline model" in label
    assert "Robust retrieval for robots" in done.stdout
    assert len(list(tmp_path.glob("runs/*/result.json"))) == 1


def test_a_team_streams_to_a_page_by_ag_ui(tmp_path: Path) -> None:
    pytest.importorskip("agent_framework_ag_ui")
    said = {"id": "1", "role": "user", "content": "Robust retrieval for robots"}
    request = {"threadId": "t", "runId": "r", "messages": [said], "state": {}, "tools": [], "context": []}
    with serving("page.py", "/docs", tmp_path) as (port, _):
        url = f"http://127.0.0.1:{port}/"
        events = httpx.post(url, json=request | {"forwardedProps": {}}, timeout=200).text
    assert "RUN_FINISHED" in events
    assert "offline model" in events
