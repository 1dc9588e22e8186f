"""A role takes what an agent of its framework takes, is dumped with its tools, and forgets what no longer fits."""

import json
from collections.abc import AsyncGenerator, Callable
from importlib import import_module
from typing import Any

import agent_framework
import pytest
from agentscope.agent import Agent
from agentscope.message import TextBlock, UserMsg
from agentscope.middleware import MiddlewareBase
from agentscope.state import AgentState
from agentscope.tool import FunctionTool as ScopeTool
from agentscope.tool import ToolChunk, Toolkit
from autogen_agentchat.base import Handoff
from autogen_agentchat.messages import HandoffMessage, ModelClientStreamingChunkEvent
from autogen_core import ComponentModel
from autogen_core.memory import ListMemory, MemoryContent
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.tools import FunctionTool, StaticWorkbench
from autogen_ext.models.openai import OpenAIChatCompletionClient

from manyheads.base.errors import ConfigError
from manyheads.config import LiteratureConfig
from manyheads.hosts import agentscope, autogen
from manyheads.hosts.autogen import ModelClient, RoleAgent
from manyheads.literature.library import Library
from support.llm import LLM
from support.native import own_client, role_of
from support.turns import LOOK_UP, model


def weigh(subject: str) -> str:
    """Weigh something."""
    return f"{subject} weighs 3 kg"


def weigh_here(subject: str) -> ToolChunk:
    """Weigh something."""
    return ToolChunk(content=[TextBlock(text=f"{subject} weighs 3 kg")])


def dumped(agent: RoleAgent) -> dict[str, Any]:
    return json.loads(agent.dump_component().model_dump_json())


def native_tool(name: str) -> Any:
    if name == "autogen":
        return FunctionTool(weigh, description="Weigh something.")
    if name == "agent_framework":
        return agent_framework.tool(weigh)
    return ScopeTool(weigh_here, is_read_only=True)


async def test_tools_of_the_framework_beside_ours(llm: LLM, name: str) -> None:
    tool = native_tool(name)
    llm.tool_calls = [(tool.name, {"subject": "An owl"}), ("look_up", {"subject": "owls"})]
    async with role_of(name, "reviewer", model(llm), tools=[tool, LOOK_UP]) as ask:
        assert await ask("An idea")
    results = [said.text for said in llm.requests[1].messages if said.role == "tool"]
    assert len(results) == 2
    assert "An owl weighs 3 kg" in results[0]
    assert "3 papers on owls" in results[1]


def test_tools_need_a_model_that_calls_them(name: str) -> None:
    make = import_module(f"manyheads.hosts.{name}").role_agent
    with pytest.raises(ConfigError, match="cannot call tools") as refused:
        make("reviewer", "offline/offline", tools=[LOOK_UP])
    assert "tools: true" in (refused.value.hint or "")


async def test_a_chat_beyond_the_context_goes_on(llm: LLM, name: str) -> None:
    async with role_of(name, "reviewer", model(llm, context=2500), traits="- it is new") as ask:
        for number in range(1, 6):
            assert await ask(f"Question {number}: " + "word " * 500)
        last = llm.requests[-1].text
        assert "Question 5: " in last
        assert "Question 1: " not in last
        with pytest.raises(ConfigError, match="does not fit"):
            await ask("word " * 4000)
        assert await ask("A short one"), "it is not refused for ever"
    assert "A short one" in llm.requests[-1].text


# AutoGen.


async def test_handoffs(llm: LLM) -> None:
    llm.tool_calls = [("transfer_to_writer", {})]
    handoff = Handoff(target="writer", description="To the writer.", message="Over to you.")
    agent = autogen.role_agent("reviewer", model(llm), handoffs=[handoff, "chair"])
    said = (await agent.run(task="An idea")).messages[-1]
    assert isinstance(said, HandoffMessage)
    assert said.target == "writer"
    assert llm.requests[0].tools == ["transfer_to_writer", "transfer_to_chair"]
    again = RoleAgent.load_component(dumped(agent))
    assert isinstance((await again.run(task="An idea")).messages[-1], HandoffMessage)
    for each in (agent, again):
        await each.close()


async def test_memory_context_and_workbench(llm: LLM) -> None:
    memory = ListMemory()
    await memory.add(MemoryContent(content="Be kind.", mime_type="text/plain"))
    llm.tool_calls = [("weigh", {"subject": "An owl"})]
    agent = autogen.role_agent(
        "reviewer",
        model(llm),
        tools=[LOOK_UP],
        memory=[memory],
        model_context=BufferedChatCompletionContext(2),
        workbench=StaticWorkbench([FunctionTool(weigh, description="Weigh something.")]),
    )
    await agent.run(task="An idea")
    assert llm.requests[0].tools == ["look_up", "weigh"]
    assert "Be kind." in llm.requests[0].text
    llm.tool_calls = []
    for number in range(3):
        await agent.run(task=f"Question {number}")
    assert "An idea" not in llm.requests[-1].text
    await agent.close()


async def test_words_as_they_come(llm: LLM) -> None:
    async with own_client("autogen", llm.base_url) as client:
        for given in (client, model(llm)):
            agent = autogen.role_agent("reviewer", given, model_client_stream=True)
            items = [item async for item in agent.run_stream(task="An idea")]
            chunks = [item for item in items if isinstance(item, ModelClientStreamingChunkEvent)]
            assert chunks
            assert (len(chunks) > 1) == (given is client)
            await agent.close()


@pytest.mark.slow  # opens the sample corpus
async def test_a_role_with_tools_is_dumped_and_loaded(llm: LLM) -> None:
    library = Library(LiteratureConfig(cascade=("semantic_scholar",), retries=0))
    first = autogen.role_agent(
        "scientist", model(llm), corpus="sample", scientist="Scientist3", library=library,
        tools=[FunctionTool(weigh, description="Weigh something.")],
    )  # fmt: skip
    data = dumped(first)
    again = RoleAgent.load_component(data)
    assert (again.role, again.name) == ("scientist", "scientist")
    llm.tool_calls = [
        ("weigh", {"subject": "An owl"}),
        ("invite_scientist", {"name": "Scientist3", "question": "Well?"}),
    ]
    await again.run(task="Well?")
    assert llm.requests[0].tools == ["weigh", "find_scientists", "invite_scientist"]
    assert llm.requests[0].system == first._system_messages[0].content
    assert "An owl weighs 3 kg" in llm.requests[1].text
    assert "in the team already" in llm.requests[1].text
    assert again.casting == first.casting
    for agent in (first, again):
        await agent.close()


async def test_a_library_is_dumped_by_its_config(llm: LLM) -> None:
    config = LiteratureConfig(cascade=("arxiv",), retries=0)
    first = autogen.role_agent("novelty", model(llm), library=Library(config))
    data = dumped(first)
    assert data["config"]["casting"]["library"]["cascade"] == ["arxiv"]
    again = RoleAgent.load_component(data)
    await again.run(task="Is it new?")
    assert {"search_papers", "get_paper", "get_references"} == set(llm.requests[0].tools)
    for agent in (first, again):
        await agent.close()


def test_no_key_stands_in_a_dump(llm: LLM) -> None:
    client = OpenAIChatCompletionClient(
        model="m", base_url=llm.base_url, api_key="sk-secret", default_headers={"X-API-Key": "sk-secret"},
        model_info=ModelClient(model(llm)).model_info,
    )  # fmt: skip
    buffered: Callable[[], ComponentModel] = BufferedChatCompletionContext(2).dump_component
    agent = autogen.role_agent("reviewer", client, model_context=BufferedChatCompletionContext(2))
    assert agent.dump_component().description == agent.description
    text = agent.dump_component().model_dump_json()
    assert "sk-secret" not in text
    assert "*****" not in text
    assert json.loads(text)["config"]["model_context"]["provider"] == buffered().provider


def test_what_no_file_can_hold_is_named(llm: LLM) -> None:
    agent = autogen.role_agent("reviewer", model(llm), tools=[LOOK_UP])
    with pytest.raises(ConfigError, match="tools look_up"):
        agent.dump_component()


# AgentScope.


class Polite(MiddlewareBase):
    async def on_system_prompt(self, agent: Agent, current_prompt: str) -> str:
        return f"{current_prompt}\n\nBe polite."


class Counting(MiddlewareBase):
    replies = 0

    async def on_reply(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., AsyncGenerator[Any]]
    ) -> AsyncGenerator[Any]:
        self.replies += 1
        async for event in next_handler(**input_kwargs):
            yield event


async def test_middlewares_and_toolkit(llm: LLM) -> None:
    counting, theirs = Counting(), Toolkit(tools=[ScopeTool(weigh_here, is_read_only=True)])
    async with role_of(
        "agentscope",
        "reviewer",
        model(llm),
        middlewares=[Polite(), counting],
        toolkit=theirs,
        tools=[LOOK_UP],
    ) as ask:
        llm.tool_calls = [("weigh_here", {"subject": "An owl"})]
        await ask("An idea")
    assert counting.replies == 1
    assert llm.requests[0].system.endswith("Be polite.")
    assert llm.requests[0].tools == ["weigh_here", "look_up"]
    assert "An owl weighs 3 kg" in llm.requests[1].text
    assert [tool.name for tool in theirs.tool_groups[0].tools] == ["weigh_here"], "it stays the user's"
    assert agentscope.role_agent("reviewer", "offline", toolkit=theirs).toolkit is theirs


async def test_a_state_goes_on(llm: LLM) -> None:
    first = agentscope.role_agent("reviewer", model(llm))
    await first.reply(UserMsg("user", "My name is Ada."))
    state = AgentState.model_validate_json(first.state.model_dump_json())
    second = agentscope.role_agent("reviewer", first.model, state=state)
    await second.reply(UserMsg("user", "Who am I?"))
    assert "My name is Ada." in llm.requests[-1].text


async def test_agentscope_sums_up_what_was_said_before(llm: LLM) -> None:
    summed = "Ada asked about owls."
    fields = ("task_overview", "current_state", "important_discoveries", "next_steps", "context_to_preserve")
    summary: dict[str, Any] = dict.fromkeys(fields, summed)
    llm.tool_calls = [("generate_structured_output", summary)]
    async with role_of("agentscope", "reviewer", model(llm, context=3000), traits="- it is new") as ask:
        for number in range(1, 7):
            await ask(f"Question {number}: " + "word " * 400)
    assert summed in llm.requests[-1].text
    assert "Question 6: " in llm.requests[-1].text
