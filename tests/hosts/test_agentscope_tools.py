"""Tools on AgentScope: allowed, recorded, and unable to hide what must end a turn."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest
from pydantic import BaseModel, Field

from manyheads.core import Tool, ToolCall
from manyheads.engine.replying import TOOL_ROUNDS
from manyheads.errors import BudgetError, ModelError
from manyheads.hosts.agentscope import AgentScopeHost
from support.llm import LLM
from support.turns import model, turn


class Invitation(BaseModel):
    name: str
    count: int = Field(default=1, ge=1, le=3)


async def invite(asked: Invitation) -> str:
    return f"{asked.name} says hello {asked.count} times"


def tool(run: Callable[[Invitation], Awaitable[str]] = invite, name: str = "invite") -> Tool:
    return Tool(name, "Invite a scientist.", Invitation, run)


async def ask(llm: LLM, *tools: Tool, **settings: object) -> tuple[ToolCall, ...]:
    host = AgentScopeHost({"default": model(llm, **settings)})
    try:
        return (await host.ask(turn(tools=tools))).tool_calls
    finally:
        await host.close()


async def test_a_tool_is_called_without_asking_anyone(llm: LLM) -> None:
    llm.tool_calls = [("invite", {"name": "Bo", "count": 2})]
    [call] = await ask(llm, tool())
    assert call == ToolCall(
        name="invite", arguments={"name": "Bo", "count": 2}, result="Bo says hello 2 times"
    )
    assert llm.calls == 2
    assert [said.text for said in llm.requests[1].messages if said.role == "tool"] == [call.result]


async def test_the_model_reads_what_a_tool_takes(llm: LLM) -> None:
    await ask(llm, tool())
    [offered] = llm.requests[0].body["tools"]
    assert offered["function"]["description"] == "Invite a scientist."
    assert set(offered["function"]["parameters"]["properties"]) == {"name", "count"}


async def test_a_model_that_cannot_call_tools_is_offered_none(llm: LLM) -> None:
    llm.tool_calls = [("invite", {"name": "Bo"})]
    assert await ask(llm, tool(), tools=False) == ()
    assert "tools" not in llm.requests[0].body


async def test_results_keep_the_models_order(llm: LLM) -> None:
    async def slow_first(asked: Invitation) -> str:
        await asyncio.sleep(0.1 if asked.name == "A" else 0)
        return asked.name

    llm.tool_calls = [("invite", {"name": "A"}), ("invite", {"name": "B"}), ("invite", {"name": "C"})]
    assert [call.result for call in await ask(llm, tool(slow_first))] == ["A", "B", "C"]
    assert [said.text for said in llm.requests[1].messages if said.role == "tool"] == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("arguments", "told"), [({"name": "Bo", "count": 9}, "9"), ({"count": 1}, "name"), ({}, "name")]
)
async def test_wrong_arguments_are_told_to_the_model(
    llm: LLM, arguments: dict[str, object], told: str
) -> None:
    llm.tool_calls = [("invite", arguments)]
    [call] = await ask(llm, tool())
    assert call.failed
    assert told in call.result
    assert call.arguments == arguments


async def test_a_tool_that_fails_is_told_to_the_model(llm: LLM) -> None:
    async def broken(asked: Invitation) -> str:
        raise ConnectionError("the archive is closed")

    llm.tool_calls = [("invite", {"name": "Bo"})]
    [call] = await ask(llm, tool(broken))
    assert (call.failed, call.result) == (True, "the archive is closed")


async def test_a_spent_budget_inside_a_tool_ends_the_turn(llm: LLM) -> None:
    async def spend(asked: Invitation) -> str:
        raise BudgetError("the budget is spent")

    llm.tool_calls = [("invite", {"name": "Bo"})]
    with pytest.raises(BudgetError, match="the budget is spent"):
        await ask(llm, tool(spend))
    assert llm.calls == 1


async def test_cancellation_inside_a_tool_surfaces(llm: LLM) -> None:
    async def forever(asked: Invitation) -> str:
        await asyncio.sleep(60)
        return ""

    llm.tool_calls = [("invite", {"name": "Bo"})]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await ask(llm, tool(forever))


async def test_a_model_that_only_calls_tools_is_given_up(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []

    async def listen(asked: Invitation) -> str:
        heard.append(asked.name)
        return "yes?"

    monkeypatch.setattr("support.requests.Request.tools_answered", 0)
    monkeypatch.setattr("support.requests.Request.tools", ["invite"])
    llm.tool_calls = [("invite", {"name": "Bo"})]  # under the same id each time
    with pytest.raises(ModelError, match="gave no answer"):
        await ask(llm, tool(listen))
    assert llm.calls == TOOL_ROUNDS + 1
    assert len(heard) == TOOL_ROUNDS + 1


async def test_agents_with_tools_do_not_meet(llm: LLM) -> None:
    seen: list[int] = []

    def named(name: str) -> Tool:
        async def run(asked: Invitation) -> str:
            seen.append(threading.get_ident())
            await asyncio.sleep(0.05)
            return name

        return tool(run, name)

    llm.tool_calls = [(f"tool_{n}", {"name": "Bo"}) for n in range(6)]
    host = AgentScopeHost({"default": model(llm)})
    replies = await asyncio.gather(*(host.ask(turn(tools=(named(f"tool_{n}"),))) for n in range(6)))
    await host.close()
    assert [reply.tool_calls[0].result for reply in replies] == [f"tool_{n}" for n in range(6)]
    assert all(len(reply.tool_calls) == 1 for reply in replies)
    assert len(set(seen)) == 1


async def test_what_the_hook_recalls_stays_beside_tool_results(llm: LLM) -> None:
    async def recall(query: str, speaker: str) -> str:
        return "<bank>who is near</bank>"

    llm.tool_calls = [("invite", {"name": "Bo"})]
    host = AgentScopeHost({"default": model(llm)}, recall)
    await host.ask(turn(tools=(tool(),), recall="graphs"))
    await host.close()
    assert all(request.text.count("<bank>who is near</bank>") == 1 for request in llm.requests)
    assert llm.calls == 2
