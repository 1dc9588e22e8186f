"""The area chair as a judge in somebody else's loop, on each host."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agentscope.message import UserMsg

from manyheads.engine.replying import parse
from manyheads.hosts.agentscope import role_agent as agentscope_agent
from manyheads.hosts.autogen import role_agent as autogen_agent
from manyheads.replies import Verdict, form
from support.llm import LLM
from support.requests import Request
from support.turns import model

PROFILE: dict[str, Any] = {"area": "robotics", "indicator": "feasibility"}
Ask = Callable[[str], Awaitable[str]]


def on_autogen(llm: LLM) -> Ask:
    chair = autogen_agent("area_chair", model(llm), **PROFILE)

    async def ask(question: str) -> str:
        return (await chair.run(task=question)).messages[-1].to_text()

    return ask


def on_agentscope(llm: LLM) -> Ask:
    chair: Any = agentscope_agent("area_chair", model(llm), **PROFILE)

    async def ask(question: str) -> str:
        return str((await chair.reply(UserMsg("user", question))).get_text_content())

    return ask


def not_yet_seven(request: Request) -> bool:
    return "draft 7" not in request.messages[-1].text


@pytest.mark.parametrize("host", [on_autogen, on_agentscope])
async def test_a_loop_ends_when_the_chair_sees_no_improvement(llm: LLM, host: Callable[[LLM], Ask]) -> None:
    llm.answers["improved"] = not_yet_seven
    chair, draft, improved = host(llm), 1, True
    while improved:
        draft += 1
        question = f"Before: draft {draft - 1}\n\nAfter: draft {draft}\n\n{form(Verdict)}"
        improved = parse(await chair(question), Verdict).improved
    assert draft == 7
    assert all("- everything that it takes" in request.system for request in llm.requests)
