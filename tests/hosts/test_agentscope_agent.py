"""Roles as AgentScope's agents, alone and in a team."""

from agentscope.credential import OpenAICredential
from agentscope.event import ReplyEndEvent, TextBlockDeltaEvent
from agentscope.message import UserMsg
from agentscope.model import OpenAIChatModel
from agentscope.pipeline import TeamMember, TeamPipeline
from pydantic import SecretStr

from manyheads.hosts.agentscope import role_agent
from support.llm import LLM
from support.turns import model


async def test_a_model_of_agentscope_is_used_as_it_is() -> None:
    native = OpenAIChatModel(OpenAICredential(api_key=SecretStr("mine")), "my-model")
    assert role_agent("reviewer", native).model is native


async def test_roles_play_in_a_team_of_agentscope(llm: LLM) -> None:
    plan = {"member": "reviewer", "prompt": "Judge the idea."}
    llm.tool_calls = [("TeamAssign", plan)]
    chair = role_agent("area_chair", model(llm))
    reviewer = role_agent("reviewer", model(llm))
    team = TeamPipeline(chair, [TeamMember(agent=reviewer, description="Reviews.")])
    events = [event async for event in team.reply_stream(UserMsg("user", "An idea"))]
    assert any(isinstance(event, TextBlockDeltaEvent) for event in events)
    assert isinstance(events[-1], ReplyEndEvent)
    assert any("Judge the idea." in request.text for request in llm.requests)
