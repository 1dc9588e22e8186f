"""Pipelines where AgentScope takes an agent: in teams, goals and procedures, in a service, with middlewares."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from agentscope.agent import Agent, ContextConfig, ModelConfig, ReActConfig
from agentscope.event import ReplyEndEvent, TextBlockEndEvent
from agentscope.message import AssistantMsg, Msg, UserMsg
from agentscope.middleware import MiddlewareBase
from agentscope.pipeline import GoalPipeline, TeamMember, TeamPipeline
from agentscope.sop import SOP, SOPEngine, SOPStep
from agentscope.state import AgentState
from agentscope.tool import Toolkit
from pydantic import BaseModel

from manyheads.base.errors import UserError
from manyheads.hosts.agentscope import (
    RebuttalPipeline,
    SinglePipeline,
    SystemPipeline,
    VirSciPipeline,
    role_agent,
)
from support.command import result_of
from support.faults import Fault
from support.llm import LLM
from support.native import TOPIC, small
from support.turns import model


@pytest.fixture
def pipeline(llm: LLM, tmp_path: Path) -> SystemPipeline:
    return SinglePipeline(small("single", llm), out=tmp_path)


def folders(out: Path) -> list[Path]:
    return [*out.iterdir()]


def work(pipeline: SystemPipeline) -> str:
    """Words of what the last run has come to, which stand in none of AgentScope's."""
    return result(pipeline)["abstract"]["text"].removeprefix("introduction: ").split(":")[0][:40]


def result(pipeline: SystemPipeline) -> dict[str, Any]:
    assert pipeline.folder
    return result_of(pipeline.folder)


class Seen(MiddlewareBase):
    def __init__(self) -> None:
        self.speakers: set[str] = set()

    async def on_model_call(self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Any) -> Any:
        self.speakers.add(agent.name)
        return await next_handler(**input_kwargs)


async def test_what_was_observed_counts_middlewares_see_each_speaker_and_events_say_where_they_stand(
    llm: LLM, tmp_path: Path
) -> None:
    pipeline = VirSciPipeline(small("virsci", llm), out=tmp_path, middlewares=[seen := Seen()])
    await pipeline.observe(AssistantMsg("planner", TOPIC))
    told = [e.metadata async for e in pipeline.reply_stream() if isinstance(e, TextBlockEndEvent)]
    found = result(pipeline)
    assert found["topic"]["topic"] == TOPIC
    assert pipeline.state.context == []
    assert seen.speakers == {member["name"] for member in found["team"]}
    leader = found["team"][0]["name"]
    first = next(each for each in told if each["kind"] == "said" and each["stage"] == "abstract")
    assert first == {
        "kind": "said", "stage": "abstract", "turn": "1", "speaker": leader, "task": "draft", "part": "leader", "model": "test",
    }  # fmt: skip
    assert {"stage", "result"} <= {each["kind"] for each in told}


class Report(BaseModel):
    report: str


class Cost(BaseModel):
    system: str
    usage: dict[str, Any]


class Verdict(BaseModel):
    passed: Literal[True]
    reason: str


async def test_a_form_is_filled_from_the_result(pipeline: SystemPipeline, llm: LLM) -> None:
    report = await pipeline.reply(UserMsg("user", TOPIC), Report)
    assert report.structured_output
    assert work(pipeline) in report.structured_output["report"]
    cost = await pipeline.reply(UserMsg("user", TOPIC), Cost)
    assert cost.structured_output == {"system": "single", "usage": result(pipeline)["usage"]}


@pytest.mark.slow
async def test_another_form_is_filled_in_by_the_model(pipeline: SystemPipeline, llm: LLM) -> None:
    filled = {"passed": True, "reason": "It is new."}
    llm.tool_calls = [("GenerateStructuredOutput", filled)]
    reply = await pipeline.reply(UserMsg("user", TOPIC), Verdict)
    assert reply.structured_output == filled
    assert reply.usage
    assert reply.usage.input_tokens > result(pipeline)["usage"]["input_tokens"]
    assert work(pipeline) in llm.requests[-1].text


async def test_it_is_a_member_of_a_team(pipeline: SystemPipeline, llm: LLM) -> None:
    chair = role_agent("area_chair", model(llm))
    llm.tool_calls = [("TeamAssign", {"member": "single", "prompt": TOPIC})]
    team = TeamPipeline(chair, [TeamMember(agent=pipeline, description=pipeline.about)])
    events = [event async for event in team.reply_stream(UserMsg("user", "Find an idea"))]
    assert isinstance(events[-1], ReplyEndEvent)
    found = result(pipeline)
    assert found["topic"]["topic"] == TOPIC
    assert found["abstract"]["text"] in llm.requests[-1].text


@pytest.mark.slow
async def test_it_works_towards_a_goal(pipeline: SystemPipeline, llm: LLM) -> None:
    verifier = Agent("verifier", "Verify.", role_agent("reviewer", model(llm)).model)
    goal = GoalPipeline(pipeline, verifier)

    def verify(*_: object) -> None:
        llm.tool_calls = [("GenerateStructuredOutput", {"result": "pass", "message": "Fine."})]

    async for event in goal.reply_stream(UserMsg("user", TOPIC)):
        if isinstance(event, Msg) and event.name == "single":
            verify()
    assert result(pipeline)["topic"]["topic"] == TOPIC  # without what the pipeline reminds an executor of
    assert work(pipeline) in llm.requests[-1].text


@pytest.mark.slow
async def test_it_does_a_step_of_a_procedure(pipeline: SystemPipeline) -> None:
    engine = SOPEngine(SOP(name="sop", steps=[SOPStep("Ideas", "Find an idea.", executor=pipeline)]))
    async for _ in engine.reply_stream(UserMsg("user", TOPIC)):
        pass
    assert result(pipeline)["topic"]["topic"] == TOPIC


def as_a_service_makes_it(kind: Callable[..., SystemPipeline], state: AgentState) -> SystemPipeline:
    nothing: Any = None
    return kind(
        name="Ideas", system_prompt="You find ideas.", model=nothing, toolkit=Toolkit(), model_config=ModelConfig(),
        context_config=ContextConfig(), react_config=ReActConfig(), state=state, middlewares=[], offloader=nothing,
    )  # fmt: skip


async def test_a_service_makes_and_restores_it(llm: LLM, tmp_path: Path) -> None:
    class Ideas(VirSciPipeline):
        def __init__(self, **made: Any) -> None:
            super().__init__(small("virsci", llm), out=tmp_path, **made)

    state = AgentState(session_id="session")
    first = as_a_service_makes_it(Ideas, state)
    assert (first.name, first.state) == ("Ideas", state)
    llm.faults.extend([Fault("fenced", times=3), Fault("status", times=None, status=401)])
    with pytest.raises(UserError):
        await first.reply(UserMsg("user", TOPIC))
    llm.faults.clear()
    kept = AgentState.model_validate_json(state.model_dump_json())
    events = [event async for event in as_a_service_makes_it(Ideas, kept).reply_stream(None)]
    assert isinstance(events[-1], ReplyEndEvent)
    assert events[-1].session_id == "session"
    assert [result_of(folder)["topic"]["topic"] for folder in folders(tmp_path)] == [TOPIC]

    class Others(RebuttalPipeline):
        def __init__(self, **made: Any) -> None:
            super().__init__(small("rebuttal", llm), out=tmp_path, **made)

    with pytest.raises(UserError, match="of system 'virsci'"):
        as_a_service_makes_it(Others, kept)
