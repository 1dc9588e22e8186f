"""A person at a team of an app: the answer comes by a function, or by the app's next message, in the host's own way."""

import json
from pathlib import Path
from typing import Any

import pytest
from agent_framework import AgentSession, Content, WorkflowBuilder
from agent_framework import Message as AFMessage
from agentscope.event import ExternalExecutionResultEvent, ReplyEndEvent, RequireExternalExecutionEvent
from agentscope.message import TextBlock, ToolCallBlock, ToolResultBlock, ToolResultState, UserMsg
from agentscope.tool import AskUserAnswer, AskUserMetadata, AskUserParams
from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import UserInputRequestedEvent
from autogen_core import CancellationToken

from manyheads.base.errors import ConfigError
from manyheads.config import RunConfig
from manyheads.core.events import Waiting
from manyheads.hosts.agent_framework import VirSciAgent
from manyheads.hosts.agentscope import VirSciPipeline
from manyheads.hosts.autogen import VirSciTeam
from manyheads.hosts.person import answer_of, question
from support.command import result_of
from support.fill import fill
from support.llm import LLM
from support.native import Native, small

TEXT = "rationale: I like owls.\ntopic: Owls: how they plan"
MINE = "Owls: how they plan"
LEADER = {"models": {"me": {"provider": "human"}}, "roles": {"leader": {"model": "me"}}}


def led(llm: LLM) -> RunConfig:
    """A run whose leader is a person."""
    return small("virsci", llm, **LEADER)


def steered(llm: LLM) -> RunConfig:
    """A run that a person steers after the topic."""
    return small("virsci", llm, steer=["topic"])


class Me:
    """A `Person`."""

    async def answer(self, request: Waiting) -> Any:
        return fill(request.form, "mine") | ({"topic": MINE} if "topic" in request.form["properties"] else {})


async def test_a_person_plays_a_role(name: str, llm: LLM, tmp_path: Path) -> None:
    team = Native(name, led(llm), tmp_path, person=Me())
    result = result_of(await team.run(None))
    assert result["topic"]["topic"] == MINE
    assert "human/me" in json.dumps(result["people"])


# AutoGen.


async def test_an_input_func_is_asked_as_a_user_proxy_is(llm: LLM, tmp_path: Path) -> None:
    asked: list[tuple[str, str, object]] = []

    async def answers(prompt: str, token: CancellationToken | None) -> str:
        asked.append((UserProxyAgent.InputRequestContext.request_id(), prompt, token))
        return "edit" if len(asked) == 1 else TEXT if "rationale" in prompt else "?"

    team, token = VirSciTeam(steered(llm), out=tmp_path, input_func=answers), CancellationToken()
    items = [item async for item in team.run_stream(task=None, cancellation_token=token)]
    requests = [item.request_id for item in items if isinstance(item, UserInputRequestedEvent)]
    assert requests == [request for request, _, _ in asked]
    assert [given for _, _, given in asked] == [token, token]
    assert team.folder
    assert result_of(team.folder)["topic"]["topic"] == MINE
    last = items[-1]
    assert isinstance(last, TaskResult)
    assert not any(isinstance(each, UserInputRequestedEvent) for each in last.messages)


async def test_without_a_function_nothing_is_begun(llm: LLM, tmp_path: Path) -> None:
    team = VirSciTeam(led(llm), out=tmp_path)
    with pytest.raises(ConfigError, match="nobody can answer"):
        await team.run(task=None)
    assert not llm.requests

    def accepts(prompt: str) -> str:
        return "accept"

    # As AutoGen Studio does, see its TeamManager.
    for agent in team._participants:
        if hasattr(agent, "input_func") and isinstance(agent, UserProxyAgent):
            agent.input_func = accepts
    assert team.input_func is accepts
    with pytest.raises(ConfigError, match="both person and input_func"):
        VirSciTeam(person=Me(), input_func=accepts)
    with pytest.raises(ConfigError, match="a int cannot answer"):
        VirSciTeam(person=3)  # pyright: ignore[reportArgumentType]


# AgentScope.


async def parked(pipeline: VirSciPipeline, inputs: Any) -> ToolCallBlock | None:
    """The request with which a reply stops, None if it comes to its end."""
    events = [event async for event in pipeline.reply_stream(inputs)]
    if isinstance(last := events[-1], RequireExternalExecutionEvent):
        [call] = last.tool_calls
        return call
    assert isinstance(last, ReplyEndEvent)
    return None


def outside(reply: str, call: ToolCallBlock, output: Any, **metadata: Any) -> ExternalExecutionResultEvent:
    result = ToolResultBlock(
        id=call.id, name=call.name, output=output, state=ToolResultState.SUCCESS, metadata=metadata
    )
    return ExternalExecutionResultEvent(reply_id=reply, execution_results=[result])


@pytest.mark.parametrize("restarted", [False, pytest.param(True, marks=pytest.mark.slow)])
async def test_a_pipeline_asks_its_user(llm: LLM, tmp_path: Path, restarted: bool) -> None:
    pipeline = VirSciPipeline(steered(llm), out=tmp_path)
    call = await parked(pipeline, None)
    assert call
    assert call.name == "AskUser"
    [asked] = AskUserParams.model_validate_json(call.input).questions
    assert [option.label for option in asked.options] == ["accept", "edit", "back"]
    asked_before, state = llm.calls, pipeline.save_state()
    if restarted:
        await pipeline.close()
        pipeline = VirSciPipeline(steered(llm), out=tmp_path)
        pipeline.load_state(state)
    else:
        with pytest.raises(ConfigError, match="request nobody is"):
            await parked(pipeline, outside("x", call.model_copy(update={"id": "nobody"}), "accept"))
    answers = AskUserMetadata(answers=[AskUserAnswer(question=asked.question, selected=["edit"])])
    edit = await parked(
        pipeline, outside(pipeline.state.reply_id, call, "", **answers.model_dump(mode="json"))
    )
    assert edit
    assert edit.name == "Answer"
    assert "topic" in json.loads(edit.input)["form"]["properties"]
    assert llm.calls == asked_before, "nothing is asked while it waits"
    bad = await parked(pipeline, outside(pipeline.state.reply_id, edit, "topic:"))
    assert bad
    assert bad.id != edit.id
    assert "not accepted" in json.loads(bad.input)["question"]
    output = [TextBlock(text=TEXT)]
    assert await parked(pipeline, outside(pipeline.state.reply_id, bad, output)) is None
    assert pipeline.folder
    assert result_of(pipeline.folder)["topic"]["topic"] == MINE


async def test_a_parked_pipeline_is_one_reply(llm: LLM, tmp_path: Path) -> None:
    pipeline = VirSciPipeline(steered(llm), out=tmp_path)
    first = await pipeline.reply(UserMsg("user", ""))
    [call] = first.get_content_blocks("tool_call")
    assert first.finished_reason is None
    last = await pipeline.reply(outside(first.id, call, "accept"))
    assert (last.id, last.finished_reason) == (first.id, "completed")
    assert len(list(tmp_path.iterdir())) == 1  # noqa: ASYNC240 - a test may wait


# Agent Framework.


async def test_an_agent_asks_its_user(llm: LLM, tmp_path: Path) -> None:
    agent, session = VirSciAgent(steered(llm), out=tmp_path), AgentSession()
    first = await agent.run(session=session)
    [request] = first.user_input_requests
    assert (request.type, request.name) == ("function_call", "answer")
    assert "accept" in request.arguments["question"]
    other = Content.from_function_result("nobody", result="accept")
    with pytest.raises(ConfigError, match="request nobody is"):
        await agent.run(AFMessage("tool", [other]), session=session)
    answer = Content.from_function_result(request.call_id, result="accept")
    saved = AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
    last = await agent.run(AFMessage("tool", [answer]), session=session)
    assert not last.user_input_requests
    assert agent.folder
    assert result_of(agent.folder)["topic"]["topic"]
    assert saved.state


@pytest.mark.slow
async def test_an_agent_asks_in_a_workflow_and_after_a_restart(llm: LLM, tmp_path: Path) -> None:
    workflow = WorkflowBuilder(start_executor=VirSciAgent(steered(llm), out=tmp_path, emit="final")).build()
    first = await workflow.run(" ")
    [event] = first.get_request_info_events()
    answer = Content.from_function_result(event.data.call_id, result=json.dumps({"action": "accept"}))
    done = await workflow.run(responses={event.request_id: answer})
    assert done.get_outputs()

    agent, session = VirSciAgent(steered(llm), out=tmp_path / "two"), AgentSession()
    [request] = (await agent.run(session=session)).user_input_requests
    calls, saved = llm.calls, AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
    answer = Content.from_function_result(request.call_id, result="accept")
    await agent.close()
    again = VirSciAgent(steered(llm), out=tmp_path / "two")
    assert not (await again.run(AFMessage("tool", [answer]), session=saved)).user_input_requests
    assert llm.calls > calls
    assert len(list((tmp_path / "two").iterdir())) == 1


# Answers in text.

FORM = {
    "properties": {
        "action": {"type": "string", "enum": ["accept", "pick"], "title": "Action"},
        "picks": {"type": "array", "items": {"type": "integer"}, "default": []},
        "remark": {"type": "string", "default": ""},
    },
    "required": ["action"],
}


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("accept", {"action": "accept"}),
        ('{"action": "pick", "picks": [2]}', {"action": "pick", "picks": [2]}),
        ("action: pick\npicks: 1, 3\nremark: Bats: not\nowls", {"action": "pick", "picks": [1, 3], "remark": "Bats: not\nowls"}),
        ({"action": "accept"}, {"action": "accept"}),
        ("Note: this", {"action": "Note: this"}),
        ("", {"action": ""}),
    ],
)  # fmt: skip
def test_an_answer_in_text(text: object, data: dict[str, Any]) -> None:
    assert answer_of(text, FORM) == data


def test_a_question_in_text() -> None:
    request = Waiting(
        request="1", stage="topic", turn=1, speaker="Me", task="steer", title="Decide.", text="The topic.",
        form=FORM, problem="action: no such choice",
    )  # fmt: skip
    text = question(request)
    for part in ("Me: Decide.", "The topic.", "accept, pick", "picks (optional)", "action: no such choice"):
        assert part in text
