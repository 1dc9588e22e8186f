"""Runs of clients: real servers, real clients, real runs of the offline model."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import agent_framework
import anyio
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

from manyheads.mcp.bounds import Bounds
from manyheads.mcp.runs import ServedRuns
from mcp import Client, StdioServerParameters
from support.command import served_by
from support.left import stopped_at_the_end
from support.llm import LLM

pytestmark = pytest.mark.slow
SERVER = [
    "-P",
    "-m",
    "manyheads",
    "mcp",
    "-s",
    "embedding=lexical",
    "-s",
    "host=autogen",
    "--cap",
    "calls=400",
]
SMALL = {"team.size": 2, "turns": 1}
PAPER = "# Owls\n\nWe plan with owls.\n\n## Method\n\n" + "Owls find cells at night. " * 40
TOKEN = "a token of some length"


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("COV_")}


@pytest.fixture(autouse=True)
def none_left(tmp_path: Path) -> Iterator[None]:
    """Runs go on when their server ends; none does after its test."""
    with stopped_at_the_end(tmp_path / "runs"):
        yield


@asynccontextmanager
async def client(folder: Path, *options: str, **more: Any) -> AsyncGenerator[Client]:
    """The SDK's client, with a server of its own on standard input and output."""
    started = StdioServerParameters(
        command=sys.executable, args=[*SERVER, *options, "--folder", str(folder)], env=environment()
    )
    async with Client(started, **more) as one:
        yield one


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_cancelled_review_stops_and_is_resumed(tmp_path: Path, mode: Any) -> None:
    (tmp_path / "paper.md").write_text(PAPER, encoding="utf-8")
    stages = list[str]()
    # The offline model may be done before the cancel is heard; a slow one is not.
    with LLM(delay=1.0) as llm:
        async with client(tmp_path, *served_by(llm), mode=mode) as one:
            with anyio.CancelScope() as scope:

                async def note(progress: float, total: float | None, message: str | None) -> None:
                    stages.append(message or "")
                    if progress > 0:
                        scope.cancel()

                await one.call_tool(
                    "review_paper", {"paper": "paper.md", "form": "mamorx"}, progress_callback=note
                )
            assert scope.cancelled_caught
            [run] = (await call(one, "list_runs"))["result"]
            stopped = await call(one, "read_result", run=run["run"], wait=60)
            assert (stopped["state"], stopped["system"]) == ("stopped", "mamorx")
            assert "resume" in stopped["next"]
            llm.delay = 0
            ended = await call(one, "resume", run=run["run"], wait=100)
            assert ended["state"] == "finished"
            assert "Overall assessment" in ended["text"]
            report: Any = (await one.read_resource(f"manyheads://runs/{run['run']}/report")).contents[0]
            assert report.mime_type == "text/html"
    assert any("paper" in stage for stage in stages)
    assert all(" call" in stage for stage in stages)


async def test_a_run_goes_on_when_its_client_leaves_and_the_next_server_stops_another(tmp_path: Path) -> None:
    async with client(tmp_path) as one:
        first = await call(one, "run", config="virsci", settings=SMALL, budget={"calls": 100}, wait=0)
        second = await call(one, "run", config="virsci", settings=SMALL, steer=["topic"], wait=30)
        assert second["state"] == "waiting"
    async with client(tmp_path) as one:
        assert (await call(one, "read_result", run=first["run"], wait=100))["state"] == "finished"
        question = await call(one, "read_result", run=second["run"])
        assert (question["state"], question["request"]) == ("waiting", second["request"])
        assert set(question["form"]["properties"]) == {"action", "remark"}
        await call(one, "stop", run=second["run"])
        assert (await call(one, "read_result", run=second["run"], wait=60))["state"] == "stopped"
        ended = await call(one, "resume", run=second["run"], wait=60)
        assert ended["state"] == "waiting"
        wrong = await one.call_tool(
            "steer", {"run": second["run"], "request": ended["request"], "answer": {"x": 1}}
        )
        assert wrong.is_error
        answer = {"action": "accept", "remark": "Think of owls."}
        ended = await call(one, "steer", run=second["run"], request=ended["request"], answer=answer, wait=100)
        assert ended["state"] == "finished"
    ServedRuns(Bounds(tmp_path))
    assert {each.suffix for each in (tmp_path / "runs" / ".web").iterdir()} == {".yaml"}


def test_a_run_goes_on_when_its_client_dies_during_the_call(tmp_path: Path) -> None:
    command = [sys.executable, *SERVER, "--folder", str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as server:
        assert server.stdin
        assert server.stdout
        for line in (
            {"id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {
                "name": "run", "arguments": {"config": "virsci", "settings": SMALL, "wait": 100},
                "_meta": {"progressToken": 1}}},
        ):  # fmt: skip
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
            server.stdin.flush()
        while b"notifications/progress" not in server.stdout.readline():
            pass
        server.stdin.close()
        assert server.wait(30) == 0
    [folder] = (
        each
        for each in (tmp_path / "runs").iterdir()
        if (each / "config.yaml").exists() or "virsci" in each.name
    )
    deadline = time.monotonic() + 60
    while not (folder / "report.html").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert json.loads((folder / "result.json").read_text("utf-8"))["finished"] is True


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_person_steers_through_the_clients_form(tmp_path: Path, mode: Any) -> None:
    asked = list[Any]()

    async def answer(context: Any, params: Any) -> ElicitResult:
        asked.append(params)
        if len(asked) == 1:
            return ElicitResult(action="accept", content={"action": "back", "remark": "Nearer to owls."})
        return ElicitResult(action="accept", content={"action": "accept"})

    async with client(tmp_path, mode=mode, elicitation_callback=answer) as one:
        ended = await call(one, "run", config="virsci", settings=SMALL, steer=["topic"], wait=100)
    assert ended["state"] == "finished"
    assert len(asked) == 2
    assert asked[0].requested_schema["properties"]["action"]["enum"] == ["accept", "edit", "back"]
    events = (tmp_path / "runs" / ended["run"] / "events.jsonl").read_text("utf-8")
    assert "Nearer to owls." in events


@pytest.mark.parametrize("tool", ["resume", "steer"])
async def test_a_person_steers_through_the_form_of_a_later_call(tmp_path: Path, tool: str) -> None:
    asked = list[Any]()

    async def answer(context: Any, params: Any) -> ElicitResult:
        asked.append(params)
        return ElicitResult(action="accept", content={"action": "accept", "remark": "Nearer to owls."})

    async with client(tmp_path) as one:
        begun = await call(one, "run", config="virsci", settings=SMALL, steer=["topic"], wait=30)
        assert begun["state"] == "waiting"
        if tool == "resume":
            await call(one, "stop", run=begun["run"])
            await call(one, "read_result", run=begun["run"], wait=60)
    more = {"request": begun["request"], "answer": {"action": "back"}} if tool == "steer" else {}
    async with client(tmp_path, elicitation_callback=answer) as one:
        ended = await call(one, tool, run=begun["run"], wait=100, **more)
    assert (ended["state"], len(asked)) == ("finished", 1)
    assert "Nearer to owls." in (tmp_path / "runs" / ended["run"] / "events.jsonl").read_text("utf-8")


async def test_the_cap_holds_over_all_runs(tmp_path: Path) -> None:
    async with client(tmp_path) as one:
        short = await call(one, "run", config="virsci", settings=SMALL, budget={"calls": 3}, wait=60)
        assert short["state"] == "failed"
        assert "budget.calls is 3" in short["text"]
        ended = await call(one, "resume", run=short["run"], budget={"calls": 390}, wait=100)
        assert ended["state"] == "finished"
        used = ended["calls"]
        third = await call(one, "run", config="virsci", settings=SMALL, steer=["topic"], wait=30)
        limits = (tmp_path / "runs" / ".web" / f"{third['run']}.yaml").read_text("utf-8")
        assert f"calls: {400 - used}" in limits
        refused = await one.call_tool("run", {"config": "virsci"})
        assert refused.is_error
        assert "used all of 400" in str(refused.content)
        await call(one, "stop", run=third["run"])
        await call(one, "read_result", run=third["run"], wait=60)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The address of a server over HTTP."""
    command = [sys.executable, *SERVER, "--folder", str(tmp_path), "--http", "--port", "0"]
    more = {"MANYHEADS_MCP_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command[:-2], stdout=subprocess.PIPE, text=True, env={**environment(), **more}
    ) as server:
        assert server.stdout
        lines = iter(server.stdout.readline, "")
        shown = next(line for line in lines if line.startswith("Address"))
        rest = next(line for line in lines if line.startswith("Header"))
        assert TOKEN not in shown + rest
        match = re.search(r"http\S+", shown)
        assert match
        yield match[0]
        server.terminate()


async def test_clients_come_and_go_over_http(address: str, tmp_path: Path) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as web:
        async with Client(streamable_http_client(address, http_client=web)) as one:
            started = await call(one, "run", config="virsci", settings=SMALL, wait=1)
        async with Client(streamable_http_client(address, http_client=web), mode="legacy") as one:
            ended = await call(one, "read_result", run=started["run"], wait=100)
    assert ended["state"] == "finished"
    async with httpx2.AsyncClient(headers={"authorization": "Bearer wrong"}) as web:
        with pytest.raises(Exception):  # noqa: B017, PT011
            async with Client(streamable_http_client(address, http_client=web)) as one:
                await one.list_tools()


async def test_an_agent_of_another_framework_calls_the_tools(tmp_path: Path) -> None:
    tool = agent_framework.MCPStdioTool(
        "manyheads", sys.executable, args=[*SERVER, "--folder", str(tmp_path)], env=environment()
    )
    async with tool:
        names = {each.name for each in tool.functions}
        assert {"review_paper", "propose_ideas", "read_result"} <= names
        idea = "We plan with owls to find cells in the night."
        answer: Any = await tool.call_tool("refine_idea", idea=idea, wait=100)
    assert json.loads(answer[0].text)["state"] == "finished"
