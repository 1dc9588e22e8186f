"""The tools, resources and prompts of `manyheads mcp`, as the SDK's own client sees them, without a run."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.folders import JOURNAL
from manyheads.config import BudgetConfig
from manyheads.core import Usage
from manyheads.engine.journal import Journal
from manyheads.mcp.bounds import Bounds
from manyheads.mcp.serving import served_by
from mcp import Client

READ = {"search_papers", "estimate", "read_result", "list_runs"}
IDEA = "We plan with owls to find cells in the night."


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client of a server whose runs wait in the queue."""
    monkeypatch.chdir(tmp_path)
    bounds = Bounds(tmp_path.resolve(), ("embedding=lexical", "host=autogen"), cap=BudgetConfig(calls=50))
    return Client(served_by(bounds, at_once=0)[0])


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return " ".join(getattr(each, "text", "") for each in result.content)


async def test_each_tool_says_whether_it_reads_or_spends(client: Client) -> None:
    async with client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        hints = {name: tool.annotations for name, tool in tools.items()}
        assert {name for name, each in hints.items() if each and each.read_only_hint} == READ
        assert {name for name, each in hints.items() if each and each.destructive_hint} == {"stop"}
        for name, tool in tools.items():
            assert ("Reads only" in (tool.description or "")) == (name in READ)
            assert ("Spends" in (tool.description or "")) == (name not in READ | {"stop"})
            assert "wait" not in tool.input_schema["properties"] or name not in (
                "search_papers",
                "estimate",
                "stop",
            )


async def test_the_corpus_is_searched(client: Client) -> None:
    async with client:
        told = list[str]()

        async def note(progress: float, total: float | None, message: str | None) -> None:
            told.append(message or "")

        arguments = {"query": "tactile grasping", "sources": ["local"]}
        found: Any = (
            await client.call_tool("search_papers", arguments, progress_callback=note)
        ).structured_content
        assert "Tactile" in found["papers"][0]["title"]
        assert not found["not_searched"]
        assert told == ["local: found"]


async def test_a_run_is_queued_listed_and_stopped(client: Client, tmp_path: Path) -> None:
    async with client:
        started = await call(client, "assess_novelty", idea=IDEA, wait=0, budget={"calls": 20})
        name = started["run"]
        assert started["state"] == "queued"
        assert "read_result" in started["next"]
        assert (tmp_path / "runs" / ".web" / f"{name}.yaml").is_file()
        [listed] = (await call(client, "list_runs"))["result"]
        assert (listed["run"], listed["system"]) == (name, "idea-novelty")
        runs: Any = (await client.read_resource("manyheads://runs")).contents[0]
        assert json.loads(runs.text)[0]["run"] == name
        again = await call(client, "compare_ideas", ideas=[IDEA, "We plan with cats."], wait=0)
        assert "used all of 50" in await refused(client, "run", config="virsci", wait=0)
        for each in (name, again["run"]):
            stopped = await call(client, "stop", run=each)
            assert "start it again" in stopped["next"]  # there is nothing to resume
        assert "cannot be stopped" in await refused(client, "stop", run=name)
        assert (await call(client, "run", config="virsci", wait=0))["state"] == "queued"


async def test_the_cap_holds_for_calls_at_the_same_time(client: Client) -> None:
    async with client:
        arguments = {"config": "virsci", "wait": 0, "budget": {"calls": 20}}
        answers = await asyncio.gather(*(client.call_tool("run", arguments) for _ in range(6)))
        assert [each.is_error for each in answers].count(False) == 3  # of 20, 20 and 10 calls
        assert "used all of 50" in str(next(each.content for each in answers if each.is_error))


async def test_a_killed_run_counts_what_it_spent(client: Client, tmp_path: Path) -> None:
    async with client:
        started = await call(client, "run", config="virsci", wait=0)
        await call(client, "stop", run=started["run"])
        folder = tmp_path / "runs" / started["run"]
        folder.mkdir()
        journal = Journal(folder / JOURNAL)
        journal.lose(Usage(calls=45))
        assert "used all of 50" in await refused(
            client, "run", config="virsci", wait=0
        )  # somebody has it open
        journal.close()
        limits = await call(client, "run", config="virsci", wait=0)
        assert "calls: 5\n" in (tmp_path / "runs" / ".web" / f"{limits['run']}.yaml").read_text("utf-8")


async def test_a_review_takes_a_file_or_a_text(client: Client, tmp_path: Path) -> None:
    async with client:
        (tmp_path / "paper.md").write_text("# Owls\n\nWe plan with owls.\n", encoding="utf-8")
        kinds = list[str]()
        for paper in ("paper.md", "# Owls\n\nWe plan with owls.\n"):
            started = await call(
                client, "review_paper", paper=paper, form="neurips", wait=0, budget={"calls": 1}
            )
            kinds.append(started["system"])
        assert kinds == ["mamorx", "mamorx"]
        assert len(list((tmp_path / "runs" / "uploads").iterdir())) == 1
        for paper in ("absent.pdf", "/etc/passwd"):
            assert "the server's folder" in await refused(client, "review_paper", paper=paper)


async def test_a_text_does_not_stay_if_its_review_does_not_begin(client: Client, tmp_path: Path) -> None:
    async with client:
        text = "# Owls\n\nWe plan with owls.\n"
        assert "form" in await refused(client, "review_paper", paper=text, form="none")
        await call(client, "run", config="virsci", wait=0)  # takes all that is left
        assert "used all of 50" in await refused(client, "review_paper", paper=text)
        assert not list((tmp_path / "runs" / "uploads").iterdir())


async def test_wrong_calls_are_refused_with_the_reason(client: Client) -> None:
    async with client:
        assert "a background or a topic" in await refused(client, "propose_ideas")
        assert "did you mean virsci" in await refused(client, "run", config="virsic")
        assert "cannot be set by a client" in await refused(
            client, "run", config="virsci", settings={"models.default.name": "x"}
        )
        for tool in ("read_result", "resume", "stop"):
            assert "no such run" in await refused(client, tool, run="../../etc")
        assert "wait" in await refused(client, "run", config="virsci", wait=1e9)
        assert "calls" in await refused(client, "run", config="virsci", budget={"calls": -1})


async def test_an_estimate_asks_no_model(client: Client) -> None:
    async with client:
        made = await call(client, "estimate", config="rebuttal", inputs={"idea": IDEA})
        assert made["total"]["calls"] == sum(each["calls"] for each in made["stages"].values()) > 1
        assert made["basis"] == [], "no model is paid"


async def test_prompts_are_tasks_of_roles(client: Client) -> None:
    async with client:
        prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        needed = {each.name: each.required for each in prompts["reviewer-review"].arguments or ()}
        assert needed == {"idea": True, "area": False, "indicator": False, "traits": False}
        assert "scientist-vote" not in prompts  # it needs a team
        with pytest.raises(Exception, match="novelty"):
            await client.get_prompt("reviewer-review", {"idea": IDEA, "indicator": "../novelty"})
        got = await client.get_prompt("reviewer-review", {"idea": IDEA, "indicator": "feasibility"})
        text = getattr(got.messages[0].content, "text", "")
        assert IDEA in text
        assert "feasibility" in text
        assert '"weaknesses"' in text


async def test_a_missing_run_has_no_resources(client: Client) -> None:
    async with client:
        corpora: Any = (await client.read_resource("manyheads://corpora")).contents[0]
        assert {each["corpus"] for each in json.loads(corpora.text) if each["about"]} >= {"sample", "planted"}
        for part in ("result", "text", "report"):
            with pytest.raises(Exception, match=r"not a run folder|no such run"):
                await client.read_resource(f"manyheads://runs/absent/{part}")
