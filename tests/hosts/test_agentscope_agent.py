"""Roles as AgentScope's agents, alone and in a team."""

import asyncio
from pathlib import Path

import pytest
from agentscope.agent import Agent
from agentscope.credential import OpenAICredential
from agentscope.event import ReplyEndEvent, TextBlockDeltaEvent
from agentscope.message import UserMsg
from agentscope.model import OpenAIChatModel
from agentscope.pipeline import TeamMember, TeamPipeline
from pydantic import SecretStr

from manyheads.bank.embedding import load_embedder
from manyheads.bank.knowledge import KnowledgeBank
from manyheads.errors import ConfigError, CorpusError
from manyheads.hosts.agentscope import role_agent
from manyheads.papers import Paper
from support.llm import LLM
from support.turns import model

ROLE = "name: critic\ndescription: Finds faults.\nvariables: {field: physics, tone: null}\n"


@pytest.fixture
def mine(folder: Path) -> str:
    (folder / "roles" / "critic.yaml").write_text(ROLE)
    (folder / "prompts" / "critic").mkdir()
    (folder / "prompts" / "critic" / "system.md.j2").write_text(
        "You judge {{ field }} in a {{ tone }} voice."
    )
    return str(folder)


async def text_of(agent: Agent, question: str) -> str:
    return (await agent.reply(UserMsg("user", question))).get_text_content() or ""


async def test_a_role_answers_alone(llm: LLM, mine: str) -> None:
    agent = role_agent("critic", model(llm), paths=[mine], tone="mild")
    assert await text_of(agent, "Well?")
    assert llm.requests[0].system == "You judge physics in a mild voice.\n"
    assert agent.name == "critic"


async def test_a_role_that_ships_takes_three_lines(llm: LLM) -> None:
    agent = role_agent("reviewer", model(llm), indicator="clarity", traits="- it can be followed")
    assert await text_of(agent, "An idea")
    assert "clarity" in llm.requests[0].system


async def test_a_model_may_be_named() -> None:
    agent = role_agent("reviewer", "offline")
    assert await text_of(agent, "An idea")


async def test_a_model_of_agentscope_is_used_as_it_is(mine: str) -> None:
    native = OpenAIChatModel(OpenAICredential(api_key=SecretStr("mine")), "my-model")
    assert role_agent("critic", native, paths=[mine], tone="mild").model is native


@pytest.mark.parametrize(
    ("role", "named", "problem"),
    [
        ("critic", "nobody/gpt", "unknown provider 'nobody'"),
        ("critic", "openai/gpt-4o-mini", "OPENAI_API_KEY"),
        ("stranger", "offline", "unknown role 'stranger'"),
    ],
)
def test_mistakes_are_named(mine: str, role: str, named: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        role_agent(role, named, paths=[mine], tone="mild")


def test_a_variable_without_default_must_be_given(mine: str) -> None:
    with pytest.raises(ConfigError, match="needs tone"):
        role_agent("critic", "offline", paths=[mine])


def test_names_are_made_safe(mine: str) -> None:
    assert role_agent("critic", "offline", name="Area Chair", paths=[mine], tone="x").name == "Area_Chair"


async def test_a_time_limit_surfaces(llm: LLM) -> None:
    llm.delay = 5
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await text_of(role_agent("reviewer", model(llm)), "An idea")


async def test_a_prompt_that_cannot_fit_is_refused(llm: LLM) -> None:
    with pytest.raises(ConfigError, match="does not fit"):
        await text_of(role_agent("reviewer", model(llm, context=1000)), "word " * 2000)
    assert llm.calls == 0


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


@pytest.fixture
def bank() -> KnowledgeBank:
    made = KnowledgeBank.create(":memory:", load_embedder("lexical"))
    made.add(
        [
            Paper(id="p1", title="Robust grasping", abstract="Robots grasp fragile things.", year=2014),
            Paper(id="p2", title="Dense retrieval", abstract="Retrieval for rare languages.", year=2012),
        ]
    )
    return made


async def test_papers_are_shown_beside_the_question(llm: LLM, bank: KnowledgeBank) -> None:
    agent = role_agent("reviewer", model(llm), knowledge=bank)
    await text_of(agent, "Robots that grasp fragile things")
    shown = llm.requests[0].messages[-1]
    assert shown.role == "user"
    assert "[1] (source: p1)\nRobust grasping (2014)\nRobots grasp fragile things." in shown.text
    bank.close()


async def test_a_failed_search_ends_the_reply(llm: LLM, bank: KnowledgeBank) -> None:
    agent = role_agent("reviewer", model(llm), knowledge=bank)

    async def broken(*args: object, **kwargs: object) -> None:
        raise CorpusError("the bank is gone")

    bank.search = broken  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(CorpusError, match="the bank is gone"):
        await text_of(agent, "Robots")
    assert llm.calls == 0
    bank.close()
