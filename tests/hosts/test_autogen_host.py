"""One turn on AutoGen: its tools, and what only this host has to get right."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import BaseModel

from manyheads.config import ModelConfig
from manyheads.core import Message, Recall, Tool, recall_nothing
from manyheads.errors import BudgetError
from manyheads.hosts.autogen import AutoGenHost
from support.llm import LLM
from support.requests import Request
from support.turns import model, turn
from support.wires import Call


@asynccontextmanager
async def host(
    models: ModelConfig | Mapping[str, ModelConfig], recall: Recall = recall_nothing, attempts: int = 3
) -> AsyncGenerator[AutoGenHost]:
    made = AutoGenHost({"default": models} if isinstance(models, ModelConfig) else models, recall, attempts)
    try:
        yield made
    finally:
        await made.close()


class Look(BaseModel):
    subject: str
    limit: int = 3


def look_up(run: Any = None, name: str = "look_up") -> Tool:
    async def found(arguments: Look) -> str:
        return f"{arguments.limit} papers on {arguments.subject}"

    return Tool(name, "Look something up.", Look, run or found)


async def test_tools_are_run_and_recorded(llm: LLM) -> None:
    llm.tool_calls = [("look_up", {"subject": "grasping"}), ("ask", {"subject": "rain", "limit": 1})]
    async with host(model(llm)) as on:
        reply = await on.ask(turn(tools=(look_up(), look_up(name="ask"))))
    assert [(call.name, call.arguments, call.result, call.failed) for call in reply.tool_calls] == [
        ("look_up", {"subject": "grasping"}, "3 papers on grasping", False),
        ("ask", {"subject": "rain", "limit": 1}, "1 papers on rain", False),
    ]
    assert (llm.calls, reply.usage.calls, reply.attempts) == (2, 2, 1)
    assert [said.text for said in llm.requests[1].messages if said.role == "tool"] == [
        "3 papers on grasping", "1 papers on rain"
    ]  # fmt: skip
    assert reply.value.remark


async def test_a_call_that_cannot_be_met_goes_back_to_the_model(llm: LLM) -> None:
    async def refuse(arguments: Look) -> str:
        raise ValueError("nobody of that name")

    llm.tool_calls = [("look_up", {"limit": "many"}), ("ask", {"subject": "x"})]
    async with host(model(llm)) as on:
        reply = await on.ask(turn(tools=(look_up(), look_up(refuse, "ask"))))
    wrong, refused = reply.tool_calls
    assert "subject: field required" in wrong.result
    assert refused.result == "nobody of that name"
    assert (wrong.failed, refused.failed) == (True, True)


async def test_a_users_mistake_in_a_tool_ends_the_turn(llm: LLM) -> None:
    async def spend(arguments: Look) -> str:
        raise BudgetError("the budget is spent")

    llm.tool_calls = [("look_up", {"subject": "x"})]
    async with host(model(llm)) as on:
        with pytest.raises(BudgetError, match="the budget is spent"):
            await on.ask(turn(tools=(look_up(spend),)))
    assert llm.calls == 1


async def test_a_model_that_only_calls_tools_must_answer_at_last(
    llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stubborn(request: Request) -> tuple[Call, ...]:
        return (Call("look_up", {"subject": "x"}, "same"),) if request.tools else ()

    monkeypatch.setattr(llm, "_calls", stubborn)
    async with host(model(llm)) as on:
        reply = await on.ask(turn(tools=(look_up(),)))
    assert (len(reply.tool_calls), reply.usage.calls) == (6, 7)


async def test_tools_are_offered_only_to_models_that_call_them(llm: LLM) -> None:
    async with host(model(llm, tools=False)) as on:
        await on.ask(turn(tools=(look_up(),)))
    assert not llm.requests[0].tools


async def test_a_cancelled_turn_ends_its_tools(llm: LLM) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def linger(arguments: Look) -> str:
        began.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return ""

    llm.tool_calls = [("look_up", {"subject": "x"})]
    async with host(model(llm)) as on:
        asking = asyncio.create_task(on.ask(turn(tools=(look_up(linger),))))
        await began.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(ended.wait(), 1)


async def test_anthropic_with_a_tool(llm: LLM) -> None:
    llm.tool_calls = [("look_up", {"subject": "rain"})]
    config = model(llm, provider="anthropic", base_url=llm.url, temperature=0.2, max_tokens=500)
    async with host(config) as on:
        reply = await on.ask(turn(tools=(look_up(),)))
    body = llm.requests[1].body
    assert (body["temperature"], body["max_tokens"]) == (0.2, 500)
    assert [call.result for call in reply.tool_calls] == ["3 papers on rain"]
    assert (reply.model, reply.usage.calls) == ("test-model", 2)


async def test_messages_bear_no_names(llm: LLM) -> None:
    async with host(model(llm)) as on:
        await on.ask(turn(Message("First."), Message("I said.", "assistant"), Message("And now?")))
    assert not any("name" in message for message in llm.requests[0].body["messages"])
