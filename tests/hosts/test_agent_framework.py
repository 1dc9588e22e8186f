"""Systems and roles in workflows and sessions of Agent Framework."""

import json
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, AgentSession

from manyheads.base.errors import BudgetError
from manyheads.hosts.agent_framework import agent_of, role_agent
from support.llm import LLM
from support.native import plain_client, small
from support.turns import LOOK_UP, model

pytestmark = pytest.mark.slow
TEXT = "# Owls\n\nWe plan with owls."


def reviewers(out: Path, **more: Any) -> Any:
    return agent_of("conference-review")(small("conference-review"), out=out, **more)


async def test_a_system_as_a_tool_of_an_agent(llm: LLM, tmp_path: Path) -> None:
    llm.tool_calls = [("ConferenceReviewAgent", {"task": TEXT})]
    client = plain_client(llm.base_url)
    agent = Agent(client, tools=[reviewers(tmp_path, emit="final").as_tool()])
    assert (await agent.run("Have it reviewed.")).text
    told = [said.text for said in llm.requests[-1].messages if said.role == "tool"]
    assert "offline model" in told[0]
    await client.client.close()


async def test_updates_say_who_speaks(tmp_path: Path) -> None:
    updates = [update async for update in reviewers(tmp_path).run(TEXT, stream=True)]
    kinds = [update.additional_properties["kind"] for update in updates]
    assert kinds[-1] == "result"
    said = [update for update in updates if update.additional_properties["kind"] == "said"]
    assert all(update.author_name == update.additional_properties["speaker"] for update in said)


async def test_a_saved_session_goes_on_with_its_run(tmp_path: Path) -> None:
    session, stopped = AgentSession(), reviewers(tmp_path, budget={"calls": 1})
    with pytest.raises(BudgetError):
        await stopped.run(TEXT, session=session)
    saved = AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
    with pytest.raises(BudgetError):  # under the config in its folder
        await reviewers(tmp_path).run(session=saved)
    assert len(list(tmp_path.glob("*/config.yaml"))) == 1  # noqa: ASYNC240 - a test may wait


async def test_a_role_goes_on_in_a_session(llm: LLM) -> None:
    agent = role_agent("reviewer", model(llm), tools=[LOOK_UP])
    await agent.run("We plan with owls.", session=agent.chat)
    await agent.run("And with moles?", session=agent.chat)
    assert "We plan with owls." in llm.requests[-1].text
    await agent.run("Alone.")
    assert "We plan with owls." not in llm.requests[-1].text
    assert [chunk.text async for chunk in agent.run("Once more.", stream=True) if chunk.text]
    await agent.close()
