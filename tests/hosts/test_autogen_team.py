"""The systems as AutoGen teams: in its console, in its group chats, as its tools, from its JSON."""

import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import TextMessage, ToolCallExecutionEvent
from autogen_agentchat.tools import TeamTool
from autogen_agentchat.ui import Console
from autogen_core import ComponentModel
from autogen_core.models import ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient

from manyheads.base.errors import ModelError
from manyheads.hosts.autogen import SingleTeam, VirSciTeam
from support.command import result_of
from support.faults import Fault
from support.llm import LLM
from support.native import own_client, small

TOPIC = "Robust retrieval for robots"
INFO = ModelInfo(
    vision=False, function_calling=True, json_output=True, structured_output=True, family="unknown"
)


class MyTeam(VirSciTeam):
    """A user's own."""


def team(llm: LLM, folder: Path, **more: Any) -> SingleTeam:
    """One speaker, whose run is short."""
    return SingleTeam(small("single", llm), out=folder, **more)


def as_json(component: ComponentModel) -> dict[str, Any]:
    """A component as a file gives it."""
    return json.loads(component.model_dump_json())


def texts(result: TaskResult) -> list[TextMessage]:
    return [message for message in result.messages if isinstance(message, TextMessage)]


async def test_a_console_shows_it_with_its_totals_and_messages_say_who_and_where(
    llm: LLM, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = VirSciTeam(small("virsci", llm), out=tmp_path)
    result = await Console(made.run_stream(task=TOPIC), output_stats=True)
    shown = capsys.readouterr().out
    assert made.folder
    kept = result_of(made.folder)
    assert kept["topic"] == {"topic": TOPIC, "rationale": None, "fixed": True}
    assert f"Total prompt tokens: {kept['usage']['input_tokens']}" in shown
    assert texts(result)[-1].content.startswith(f"# {kept['abstract']['title']}\n\n**Introduction.** ")
    assert result.stop_reason == f"virsci finished: {made.folder}"
    first, *rest = texts(result)
    assert (first.source, first.content) == ("user", TOPIC)
    said = [message for message in rest if message.metadata["kind"] == "said"]
    assert rest[-1].source == "VirSciTeam"
    assert all(message.models_usage and message.source == message.metadata["speaker"] for message in said)
    assert not any(message.models_usage for message in rest if message not in said)
    vote = next(message for message in said if message.metadata["task"] == "vote")
    assert vote.metadata | {"speaker": ""} == {
        "kind": "said", "stage": "novelty", "turn": "1", "speaker": "", "task": "vote", "part": "member", "model": "test"
    }  # fmt: skip


async def test_it_serves_as_a_tool_from_json(llm: LLM, tmp_path: Path) -> None:
    made = TeamTool(team(llm, tmp_path), "research", "Finds an idea.", return_value_as_last_message=True)
    tool = TeamTool.load_component(as_json(made.dump_component()))
    with LLM(tool_calls=[("research", {"task": TOPIC})], answers={}) as caller:
        async with own_client("autogen", caller.base_url) as client:
            agent = AssistantAgent("boss", client, tools=[tool], system_message="Use the tool.")
            result = await agent.run(task="Find an idea.")
    [done] = [message for message in result.messages if isinstance(message, ToolCallExecutionEvent)]
    assert not done.content[0].is_error
    assert done.content[0].content.startswith("# title")


async def test_a_reset_begins_anew(llm: LLM, tmp_path: Path) -> None:
    llm.faults.append(Fault("status", times=1, status=404, when=lambda request: llm.calls > 1))
    made = team(llm, tmp_path)
    with pytest.raises(ModelError):
        await made.run(task=TOPIC)
    failed = made.folder
    await made.reset()
    found = await made.run(task=TOPIC, output_task_messages=False)
    assert "user" not in {message.source for message in texts(found)}
    assert made.folder != failed


async def test_two_runs_at_once_are_refused(llm: LLM, tmp_path: Path) -> None:
    made = team(llm, tmp_path)
    async with aclosing(made.run_stream(task=TOPIC)) as items:
        await anext(items)
        with pytest.raises(ValueError, match="running already"):
            await made.run(task=TOPIC)
    assert (await made.run(task=TOPIC)).stop_reason


async def test_a_client_of_autogens_takes_the_default_models_place(llm: LLM, tmp_path: Path) -> None:
    client = OpenAIChatCompletionClient(
        model="mine", base_url=llm.base_url, api_key="sk-secret", model_info=INFO, temperature=0.4,
        default_headers={"X-Team": "blue", "Authorization": "Bearer sk-other"},
    )  # fmt: skip
    made = SingleTeam(small("single"), model_client=client, out=tmp_path)
    await made.run(task=TOPIC)
    await client.close()
    assert {request.body["model"] for request in llm.requests} == {"mine"}
    assert all(request.has_form for request in llm.requests)
    assert made.folder
    assert json.loads((made.folder / "result.json").read_text())["models"] == {"default": "openai/mine"}
    written = made.dump_component().model_dump_json()
    assert "sk-" not in written
    assert '"temperature":0.4' in written
    assert "blue" in written


async def test_a_loaded_client_is_closed_with_its_team(
    llm: LLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    client = OpenAIChatCompletionClient(model="mine", base_url=llm.base_url, model_info=INFO)
    made = SingleTeam(small("single"), model_client=client, out=tmp_path)
    loaded = SingleTeam.load_component(made.dump_component())
    await loaded.run(task=TOPIC)
    await loaded.close()
    await client.close()
    assert llm.requests[0].headers["authorization"] == "Bearer sk-environment"
    assert loaded._runs.model
    assert vars(loaded._runs.model)["_client"].is_closed()


def test_a_subclass_is_written_as_itself(llm: LLM) -> None:
    config = small("virsci", llm)
    written = MyTeam(config).dump_component()
    assert written.provider.endswith("test_autogen_team.MyTeam")
    assert (written.config.get("name"), MyTeam(config, name="blue team").name) == (None, "blue_team")
