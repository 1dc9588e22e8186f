"""What the developer of another app does with our roles and systems, in each framework's own idioms."""

import json
import logging
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, ChatContext, ChatMiddleware
from agent_framework_orchestrations import HandoffBuilder
from agentscope.agent import Agent as ScopeAgent
from agentscope.agent import ReActConfig
from agentscope.message import UserMsg
from agentscope.middleware import RAGMiddleware
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken
from autogen_core.tools import BaseTool

from manyheads.base.errors import ConfigError, CorpusError, EmbeddingError
from manyheads.base.papers import Paper
from manyheads.corpus.ecosystem import KnowledgeBank
from manyheads.corpus.embedding import load_embedder
from manyheads.hosts import agentscope, autogen
from manyheads.hosts.agent_framework import KnowledgeProvider, RoleAgent, agent_of, role_agent
from support.llm import LLM
from support.native import ANSWERS, PAPER, TOPIC, Native, own_client, role_of, small
from support.turns import LOOK_UP, model

NATIVE: dict[str, dict[str, Any]] = {
    "autogen": {"max_tool_iterations": 1, "description": "Reads."},
    "agentscope": {"react_config": ReActConfig(max_iters=1)},
    "agent_framework": {"default_options": {"temperature": 0.25}, "description": "Reads."},
}
"""An argument of each framework's agent that no role has."""


@pytest.fixture
def make(name: str) -> Callable[..., Any]:
    return import_module(f"manyheads.hosts.{name}").role_agent


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("bank"))
    with KnowledgeBank.create(folder, load_embedder("lexical")) as bank:
        bank.add(
            [Paper(id="p1", title="Robust grasping", abstract="Robots grasp fragile things.", year=2014)]
        )
    return folder


# Settings of the framework.


def test_an_argument_of_the_framework_is_told_from_a_variable(make: Callable[..., Any], name: str) -> None:
    argument, value = next(iter(NATIVE[name].items()))
    with pytest.raises(ConfigError, match=f"no variable {argument}.*argument of") as refused:
        make("reviewer", "offline", **{argument: value})
    assert f"native={{'{argument}': …}}" in (refused.value.hint or "")
    with pytest.raises(ConfigError, match="no variable nonsense"):
        make("reviewer", "offline", nonsense=1)
    with pytest.raises(ConfigError, match="takes no nonsense"):
        make("reviewer", "offline", native={"nonsense": 1})
    with pytest.raises(ConfigError, match="name is not free"):
        make("reviewer", "offline", native={"name": "critic"})


async def test_settings_of_the_framework_reach_its_agent(llm: LLM) -> None:
    first = autogen.role_agent("reviewer", model(llm), native=NATIVE["autogen"], tools=[LOOK_UP])
    assert (first.description, first._max_tool_iterations) == ("Reads.", 1)
    second = agentscope.role_agent("reviewer", model(llm), native=NATIVE["agentscope"])
    assert second.react_config.max_iters == 1
    third = role_agent("reviewer", model(llm), native=NATIVE["agent_framework"])
    await third.run("An idea")
    assert llm.requests[-1].body["temperature"] == 0.25
    again = RoleAgent.from_dict({**third.to_dict(), "model": model(llm).model_dump(mode="json")})
    assert again.description == "Reads."
    assert again.default_options["temperature"] == 0.25
    for agent in (first, second, third, again):
        await agent.close()


async def test_a_role_hands_over_to_another(llm: LLM) -> None:
    native = {"require_per_service_call_history_persistence": True}
    roles = [role_agent(role, model(llm), name=role, native=native) for role in ("reviewer", "proposer")]
    llm.tool_calls = [("handoff_to_proposer", {})]
    workflow = HandoffBuilder(participants=roles).with_start_agent(roles[0]).build()
    await workflow.run("We plan with owls.")
    first, second = llm.requests[0], llm.requests[-1]
    assert "handoff_to_proposer" in first.tools
    assert "handoff_to_reviewer" in second.tools
    assert "We plan with owls." in second.text
    for agent in roles:
        await agent.close()


# A knowledge bank of one's own.


@pytest.mark.slow  # loads an embedding model
async def test_a_role_opens_a_bank_by_its_place(llm: LLM, name: str, place: str, tmp_path: Path) -> None:
    async with role_of(name, "reviewer", model(llm), knowledge=Path(place)) as ask:
        with pytest.raises(EmbeddingError, match="built with lexical") as refused:
            await ask("Robots")
    assert "load_embedder" in (refused.value.hint or "")
    async with role_of(name, "reviewer", model(llm), knowledge=str(tmp_path / "nowhere")) as ask:
        with pytest.raises(CorpusError, match="nowhere"):
            await ask("Robots")


async def test_an_agent_of_the_apps_own_reads_a_bank(llm: LLM, place: str) -> None:
    async with own_client("agentscope", llm.base_url) as client:
        papers = agentscope.BankKnowledge(place, years=(2010, 2015), embedding="lexical")
        static = RAGMiddleware.Parameters(mode="static", top_k=1)
        agent = ScopeAgent("critic", "You judge.", client, middlewares=[RAGMiddleware([papers], static)])
        await agent.reply(UserMsg("user", "Robots that grasp"))
        papers.close()
    async with own_client("agent_framework", llm.base_url) as client:
        provider = KnowledgeProvider(place, k=1, embedding="lexical")
        await Agent(client, context_providers=[provider]).run("Robots that grasp")
        provider.close()
    assert all("Robust grasping" in request.text for request in llm.requests)


# A system among an app's own agents.


async def test_only_the_result_reaches_the_next_agent(llm: LLM, name: str, tmp_path: Path) -> None:
    team = Native(name, small("rebuttal", llm), tmp_path, emit="final")
    folder = await team.run(TOPIC)
    result = json.loads((folder / "result.json").read_text())
    assert result["result"]["idea"]["title"] in team.said
    assert len(team.said.splitlines()) < 40
    assert not any(turn in team.said for turn in ("Round 1", "rebuttal, turn"))
    assert team.tokens[0] == result["usage"]["input_tokens"]


async def test_a_warning_goes_to_the_log_not_to_the_next_agent(
    llm: LLM, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    llm.answers.update(ANSWERS)
    team = Native(name, small("ranking", llm, ranking={"orders": 1}), tmp_path)
    with caplog.at_level(logging.WARNING, "manyheads"):
        await team.run(PAPER)
    assert "a single order" in caplog.text
    assert "a single order" not in team.said


class Hot(ChatMiddleware):
    async def process(self, context: ChatContext, call_next: Callable[[], Any]) -> None:
        context.options = {**(context.options or {}), "temperature": 0.75}
        await call_next()


async def test_the_frameworks_middleware_in_a_system(llm: LLM, tmp_path: Path) -> None:
    agent = agent_of("single")(small("single", llm), out=tmp_path, middleware=[Hot()])
    await agent.run(TOPIC)
    assert {request.body["temperature"] for request in llm.requests} == {0.75}


def test_teams_are_tools_and_servers_where_the_framework_has_them(tmp_path: Path) -> None:
    pytest.importorskip("mcp.server.mcpserver", reason="Agent Framework needs mcp 2")
    for agent in (agent_of("single")(out=tmp_path), role_agent("reviewer", "offline")):
        assert agent.as_tool().name == agent.name
        assert agent.as_mcp_server(server_name="heads").name == "heads"


# Tools.


async def test_a_service_tool_is_dumped_and_loaded(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    async with own_client("autogen", llm.base_url) as client:
        config = {"system": "mamorx", "budget": {"calls": 1}}
        tool = autogen.service_tool("critique_figure", client, config)
        agent = AssistantAgent("editor", client, tools=[tool])
        data = json.loads(tool.dump_component().model_dump_json())
        assert "critique_figure" in agent.dump_component().model_dump_json()
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        again: Any = BaseTool.load_component(data)
        told = await again.run_json({"image": "none.png", "caption": "Figure 1: Owls."}, CancellationToken())
        assert "critique:" in told
        role = autogen.role_agent("reviewer", client, tools=[tool])
        assert "critique_figure" in role.dump_component().model_dump_json()
        await again._client.close()
