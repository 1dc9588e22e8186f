"""Roles and systems of Agent Framework as JSON data, without keys, and made again from it."""

import json
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import ConfigError
from manyheads.hosts.agent_framework import VirSciAgent, agent_of
from support.llm import LLM
from support.native import TOPIC, plain_client, small

SECRET = "sk-do-not-show-me-0123456789"


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
