"""Component files that AutoGen cannot use: of another system, of another version, with a key or an unknown key."""

import json
from typing import Any

import pytest
from autogen_agentchat.teams import BaseGroupChat

from manyheads.base.errors import ConfigError
from manyheads.hosts import component
from manyheads.hosts.autogen import ModelClient, RoleAgent, role_agent
from support.native import small

SECRET = "sk-do-not-show-me-0123456789"
TEAM = "manyheads.hosts.autogen.team"
CLIENT = {
    "provider": "autogen_ext.models.openai.OpenAIChatCompletionClient",
    "component_type": "model",
    "version": 1,
    "component_version": 1,
    "config": {"model": "gpt-4o-mini", "api_key": SECRET},
}


@pytest.fixture
def file() -> dict[str, Any]:
    """Of a VirSci team."""
    return json.loads(component(small("virsci", host="autogen")))


def problem_of(data: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as refused:
        BaseGroupChat.load_component(data)
    assert SECRET not in str(refused.value)
    assert refused.value.hint or "of system" in refused.value.message
    return refused.value.message


def test_a_file_of_another_system(file: dict[str, Any]) -> None:
    assert "of system 'virsci'" in problem_of({**file, "provider": f"{TEAM}.RebuttalTeam"})


@pytest.mark.parametrize("version", [2, 7])
def test_a_file_of_another_version(file: dict[str, Any], version: int) -> None:
    told = problem_of({**file, "component_version": version})
    assert f"of version {version}; version 1" in told


async def test_a_role_of_another_version() -> None:
    agent = role_agent("reviewer", "offline/offline")
    data = {**agent.dump_component().model_dump(mode="json"), "component_version": 2}
    await agent.close()
    with pytest.raises(ConfigError, match="of version 2; version 1"):
        RoleAgent.load_component(data)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"nonsense": 1}, "nonsense: no such key"),
        ({"emit": "some"}, "emit"),
        ({"participants": [CLIENT]}, "participants"),
    ],
)
def test_a_file_with_a_wrong_key(file: dict[str, Any], change: dict[str, Any], problem: str) -> None:
    file["config"] |= change
    assert problem in problem_of(file)


def test_a_key_of_a_model_is_refused_by_name(file: dict[str, Any]) -> None:
    file["config"]["config"]["models"] = {"default": {"provider": "openai", "name": "m", "api_key": SECRET}}
    assert "models.default.api_key: no such key" in problem_of(file)
    client = {**CLIENT, "provider": "manyheads.hosts.autogen.client.ModelClient"}
    with pytest.raises(ConfigError, match="api_key: no such key") as refused:
        ModelClient.load_component(client)
    assert SECRET not in str(refused.value)


async def test_a_key_of_autogens_client_is_used_and_not_written_again(file: dict[str, Any]) -> None:
    file["config"]["model_client"] = CLIENT
    team: Any = BaseGroupChat.load_component(file)
    assert SECRET not in team.dump_component().model_dump_json()
    await team.close()
