"""Roles and systems of Agent Framework as JSON data, without keys, and made again from it."""

import json
from pathlib import Path
from typing import Any

import pytest
from agent_framework import FunctionTool

from manyheads.base.errors import ConfigError
from manyheads.config import LiteratureConfig, ModelConfig
from manyheads.hosts.agent_framework import RoleAgent, VirSciAgent, agent_of, role_agent
from manyheads.literature.library import Library
from support.llm import LLM
from support.native import TOPIC, plain_client, small
from support.turns import LOOK_UP

SECRET = "sk-do-not-show-me-0123456789"


def weigh(subject: str) -> str:
    """Weigh something."""
    return f"{subject} weighs 3 kg"


async def test_a_role_is_written_and_made_again(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    config = LiteratureConfig(cascade=("arxiv",), retries=0)
    settings = ModelConfig(provider="openai", name="test", base_url=llm.base_url, retries=0)
    first = role_agent("novelty", settings, name="critic", library=Library(config))
    text = first.to_json()
    assert SECRET not in text
    again = RoleAgent.from_json(text)
    assert (again.name, again.role, again.to_json()) == ("critic", "novelty", text)
    await again.run("Is it new?")
    assert {"search_papers", "get_paper", "get_references"} == set(llm.requests[0].tools)
    assert llm.requests[0].system == first.default_options["instructions"]
    for agent in (first, again):
        await agent.close()


async def test_what_no_file_can_hold_is_given_again(llm: LLM) -> None:
    tools = [LOOK_UP, FunctionTool(func=weigh, name="weigh", description="Weigh something.")]
    client = plain_client(llm.base_url)
    data = role_agent("reviewer", client, tools=tools).to_dict()
    assert data["needs"] == ["model", "tools"]
    with pytest.raises(ConfigError, match="model, tools") as refused:
        RoleAgent.from_dict(data)
    assert "'role_agent': {'model': …, 'tools': …}" in (refused.value.hint or "")
    again = RoleAgent.from_dict(data, dependencies={"role_agent": {"model": client, "tools": tools}})
    await again.run("Well?")
    assert llm.requests[0].tools == ["look_up", "weigh"]
    await client.client.close()


@pytest.mark.parametrize(
    ("change", "problem"),
    [({"type": "agent"}, "type"), ({"nonsense": 1}, "nonsense: no such key"), ({"role": "nobody"}, "nobody")],
)
def test_what_is_no_file_of_a_role_is_refused(change: dict[str, Any], problem: str) -> None:
    data = role_agent("reviewer", "offline/offline").to_dict()
    with pytest.raises(ConfigError, match=problem):
        RoleAgent.from_dict({**data, **change})


async def test_a_system_is_written_and_made_again(
    llm: LLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    first = VirSciAgent(small("virsci", llm), out=tmp_path, emit="final", name="the team", listens_to="user")
    text = first.to_json()
    assert SECRET not in text
    again: Any = agent_of("virsci").from_json(text)
    assert (again.config, again.to_dict()) == (first.config, json.loads(text))
    response = await again.run(TOPIC)
    assert len(response.messages) == 1
    with pytest.raises(ConfigError, match="system 'virsci'"):
        agent_of("rebuttal").from_dict({**json.loads(text), "type": "rebuttal_agent"})


def test_a_client_is_a_dependency_of_a_system(llm: LLM, tmp_path: Path) -> None:
    client = plain_client(llm.base_url)
    data = VirSciAgent(small("virsci"), out=tmp_path, model=client).to_dict()
    again: Any = VirSciAgent.from_dict(data, dependencies={"vir_sci_agent": {"model_client": client}})
    assert again._runs.model is client
