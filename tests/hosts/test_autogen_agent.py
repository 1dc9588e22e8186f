"""Roles, papers and models as AutoGen components, in teams that are not ours."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import MemoryQueryEvent, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.memory import Memory, MemoryContent
from autogen_core.models import ChatCompletionClient, CreateResult, UserMessage

from manyheads.base.errors import ConfigError, CorpusError, UserError
from manyheads.base.papers import Paper
from manyheads.config import ModelConfig
from manyheads.corpus.ecosystem import KnowledgeBank
from manyheads.corpus.embedding import load_embedder
from manyheads.hosts.autogen import KnowledgeMemory, ModelClient, RoleAgent, role_agent
from support.faults import Fault
from support.llm import LLM
from support.native import own_client
from support.papers import SUBJECTS
from support.turns import model


@pytest.fixture
def bank_folder(tmp_path: Path) -> Path:
    place = tmp_path / "bank"
    with KnowledgeBank.create(place, load_embedder("lexical")) as bank:
        bank.add(
            Paper(id=f"p{n}", title=f"Study {n}", abstract=f"We study {subject}.", year=2010 + n)
            for n, subject in enumerate(SUBJECTS)
        )
    return place


@pytest.fixture
def bank(bank_folder: Path) -> Iterator[KnowledgeBank]:
    with KnowledgeBank.open(bank_folder, load_embedder("lexical")) as opened:
        yield opened


def as_json(component: Any) -> dict[str, Any]:
    return json.loads(component.dump_component().model_dump_json())


async def test_a_role_speaks_in_a_team_with_others(llm: LLM) -> None:
    client = ModelClient(model(llm))
    reviewer = role_agent("reviewer", client, area="robotics")
    writer = AssistantAgent("writer", client, system_message="You write.")
    result = await RoundRobinGroupChat([reviewer, writer], max_turns=2).run(task="Review: grasping by sound.")
    await client.close()
    assert [message.source for message in result.messages] == ["user", "reviewer", "writer"]
    assert llm.requests[0].system.startswith("You are an experienced reviewer in robotics.")
    assert "TERMINATE" not in llm.requests[0].text


async def test_a_role_is_dumped_and_loaded(llm: LLM) -> None:
    first = role_agent("reviewer", model(llm), name="Dr. Smith")
    assert first.name == "Dr_Smith"
    again = RoleAgent.load_component(as_json(first))
    result = await again.run(task="Review: grasping by sound.")
    assert isinstance(result.messages[-1], TextMessage)
    assert llm.requests[0].system == first._system_messages[0].content
    for agent in (first, again):
        await agent.close()
        client = agent._model_client
        assert isinstance(client, ModelClient)
        assert vars(client.served.client)["_client"].is_closed()


async def test_a_client_that_was_given_stays_open(llm: LLM) -> None:
    async with own_client("autogen", llm.base_url) as client:
        agent = role_agent("proposer", client)
        await agent.close()
        await agent.run(task="Propose.")
    assert llm.calls == 1


async def test_papers_stand_behind_each_question(llm: LLM, bank: KnowledgeBank) -> None:
    agent = role_agent("novelty", model(llm), knowledge=bank)
    first = await agent.run(task="Is grasping of fragile objects new?")
    await agent.run(task="Is grasping of fragile objects new?")
    await agent.close()
    shown = llm.requests[0].messages[-1]
    assert shown.role == "user"
    assert "[1]\n<paper>\nTitle: Study 0" in shown.text
    assert any(isinstance(message, MemoryQueryEvent) for message in first.messages)
    assert sum("Title: Study 0" in said.text for said in llm.requests[1].messages) == 1
    assert bank.count() == 4


async def test_a_memory_alone(bank: KnowledgeBank) -> None:
    memory = KnowledgeMemory(bank, k=2, years=(2011, None))
    best, _ = (await memory.query(MemoryContent(content="dense retrieval", mime_type="text/plain"))).results
    assert best.metadata
    assert (best.metadata["id"], best.metadata["year"]) == ("p1", 2011)
    with pytest.raises(UserError, match="only read"):
        await memory.add(best)


async def test_a_memory_is_dumped_and_loaded(bank_folder: Path) -> None:
    first = KnowledgeMemory(str(bank_folder), k=1, years=(2010, 2012), embedding="lexical")
    again = Memory.load_component(as_json(first))
    assert isinstance(again, KnowledgeMemory)
    assert [part.content for part in (await again.query("retrieval")).results] == [
        "Study 1 (2011)\nWe study dense retrieval for rare languages."
    ]
    await again.close()
    KnowledgeBank.open(bank_folder, load_embedder("lexical")).close()


async def test_a_memory_without_a_bank(bank: KnowledgeBank, tmp_path: Path) -> None:
    with pytest.raises(CorpusError):
        await KnowledgeMemory(str(tmp_path / "nowhere"), embedding="lexical").query("x")
    with pytest.raises(ConfigError, match="no address"):
        KnowledgeMemory(bank).dump_component()


async def test_a_model_client_serves_anywhere(llm: LLM, caplog: pytest.LogCaptureFixture) -> None:
    llm.faults.append(Fault("status", status=503, retry_after=0))
    client = ChatCompletionClient.load_component(as_json(ModelClient(model(llm, retries=2), "mine")))
    with caplog.at_level(logging.WARNING):
        parts = [part async for part in client.create_stream([UserMessage(content="Hi", source="user")])]
    text, result = parts
    assert isinstance(result, CreateResult)
    assert result.content == text
    assert client.total_usage() == result.usage
    assert "models.mine: " in caplog.text
    assert client.remaining_tokens([UserMessage(content="x" * 400, source="user")]) == 128_000 - 100
    await client.close()


def test_a_model_clients_config_is_strict() -> None:
    data = as_json(ModelClient(ModelConfig()))
    data["config"]["model"]["temprature"] = 1
    with pytest.raises(ConfigError, match="temprature"):
        ModelClient.load_component(data)
