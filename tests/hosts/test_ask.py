"""One task of a role, asked in code, on either framework."""

import logging
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent as AFAgent
from agentscope.agent import Agent
from autogen_agentchat.agents import AssistantAgent

from asking.test_own import SCHEMA, card_in
from manyheads import ask, ask_sync
from manyheads.base.errors import BudgetError, ConfigError, ModelError, ReplyError
from manyheads.config import LiteratureConfig
from manyheads.core import Reply
from manyheads.literature.library import Library
from manyheads.models.offline import LABEL
from manyheads.systems.rebuttal.replies import Review
from support.faults import Fault
from support.llm import LLM
from support.native import own_client
from support.requests import Request
from support.turns import LOOK_UP, model

IDEA = "We plan with owls."


def saying(*texts: str) -> Callable[[Request], str]:
    """Gives one text after the other."""
    waiting = iter(texts)

    def say(request: Request) -> str:
        return next(waiting)

    return say


@pytest.fixture
def role_agent(name: str) -> Callable[..., Any]:
    return import_module(f"manyheads.hosts.{name}").role_agent


async def test_a_role_gives_its_typed_answer(llm: LLM, name: str) -> None:
    review = await ask(
        "reviewer",
        "review",
        idea=IDEA,
        indicator="feasibility",
        model=model(llm),
        host=name,
        name="Reviewer 2",
    )
    assert isinstance(review, Review)
    [request] = llm.requests
    assert request.system.startswith("You are an experienced reviewer in computer science.")
    assert "feasibility" in request.system
    assert IDEA in request.asking
    assert request.has_form


async def test_a_client_of_the_framework_says_which_host(llm: LLM, name: str) -> None:
    async with own_client(name, llm.base_url) as client:
        for _ in range(2):
            reply = await ask("reviewer", "review", idea=IDEA, model=client, full=True)
            assert isinstance(reply, Reply)
            assert isinstance(reply.value, Review)
            assert (reply.usage.calls, reply.attempts) == (1, 1)
    assert llm.calls == 2


async def test_an_answer_that_does_not_fit_is_asked_for_again(
    llm: LLM, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    llm.faults.append(Fault("prose", times=1))
    reply = await ask("reviewer", "review", idea=IDEA, model=model(llm), host=name, full=True)
    assert (reply.attempts, reply.usage.calls, llm.calls) == (2, 2, 2)
    assert "reviewer: review: asked again" in caplog.text
    llm.faults.append(Fault("prose", times=1))
    with pytest.raises(BudgetError, match=r"budget\.calls"):
        await ask("reviewer", "review", idea=IDEA, model=model(llm), host=name, budget={"calls": 1})
    assert llm.calls == 3


async def test_errors_say_what_to_do_in_code(llm: LLM, name: str) -> None:
    llm.faults.append(Fault("prose", times=None))
    with pytest.raises(ReplyError, match="reviewer: review") as caught:
        await ask("reviewer", "review", idea=IDEA, model=model(llm), host=name, attempts=2)
    assert llm.calls == 2
    llm.faults[:] = [Fault("status", status=503, times=None)]
    with pytest.raises(ModelError) as refused:
        await ask("reviewer", "review", idea=IDEA, model=model(llm), host=name)
    for error in (caught.value, refused.value):
        assert error.hint
        assert "resume" not in error.hint
        assert "--set" not in error.hint


@pytest.mark.parametrize(
    ("role", "task", "settings", "problem"),
    [
        ("reviewr", "review", {}, "no such role 'reviewr'"),
        ("reviewer", "revew", {}, "no task 'revew'"),
        ("reviewer", "review", {}, "missing idea"),
        ("reviewer", "review", {"idea": "x", "ida": "y", "odd": 1}, "no such variable ida, odd"),
        ("scientist", "vote", {}, "missing ideas, scientist"),
        ("judge", "rank", {"ideas": 5, "criteria": 3}, "judge"),
        ("reviewer", "review", {"idea": "x", "model": "nobody/gpt"}, "no such provider"),
        ("reviewer", "review", {"idea": "x", "model": 3}, "is not a model of"),
        ("reviewer", "review", {"idea": "x", "host": "crewai"}, "unknown host 'crewai'"),
        ("reviewer", "review", {"idea": "x", "budget": {"cals": 3}}, "budget: cals"),
        ("reviewer", "review", {"idea": "x", "budget": {"money": 3}}, "has no price"),
        ("reviewer", "review", {"idea": "x", "attempts": 0}, "attempts"),
        ("reviewer", "review", {"idea": "x", "images": ["x.gif"]}, "not a PNG or JPEG"),
        ("reviewer", "review", {"idea": "x", "images": ["nowhere.png"]}, "nowhere.png"),
        (5, "review", {"idea": "x"}, "builtins.int cannot be asked"),
    ],
)
async def test_mistakes_are_named(role: Any, task: str, settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        await ask(role, task, **settings)


async def test_what_is_missing_is_said_with_what_the_task_takes() -> None:
    with pytest.raises(ConfigError) as caught:
        await ask("reviewer", "review", asked=[])
    error = caught.value
    assert error.tried
    assert "idea, asked (optional), area ('computer science')" in error.tried
    assert error.hint == "ask('reviewer', 'review', idea=…)"


async def test_an_offline_answer_is_labelled(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "manyheads"):
        reply = await ask("reviewer", "review", idea=IDEA, host=name, full=True)
    assert isinstance(reply.value, Review)
    assert reply.model == "offline"
    assert LABEL in caplog.text


async def test_own_roles_replies_and_plain_text(llm: LLM, name: str, tmp_path: Path) -> None:
    answer = await ask(
        "ethicist", "harm", idea=IDEA, model=model(llm), host=name, paths=[card_in(tmp_path, SCHEMA)]
    )
    assert 1 <= answer.severity <= 5
    llm.reply = saying(" Nobody.\n")
    text = await ask(
        "ethicist", "harm", idea=IDEA, model=model(llm), host=name, paths=[card_in(tmp_path, "text")]
    )
    assert text == "Nobody."
    assert [request.has_form for request in llm.requests] == [True, False]
    assert "```json" not in llm.requests[1].text


async def test_a_role_calls_tools(llm: LLM, name: str) -> None:
    llm.tool_calls = [("look_up", {"subject": "owls"})]
    library = Library(LiteratureConfig(cascade=("arxiv",)))
    reply = await ask(
        "reviewer", "review", idea=IDEA, model=model(llm), host=name, library=library, tools=[LOOK_UP], full=True
    )  # fmt: skip
    await library.close()
    assert {"look_up", "search_papers"} <= set(llm.requests[0].tools)
    assert [call.result for call in reply.tool_calls] == ["3 papers on owls"]


@pytest.mark.slow  # opens the sample corpus
async def test_a_scientist_of_a_corpus_asks_another(llm: LLM, name: str) -> None:
    llm.tool_calls = [("invite_scientist", {"name": "Scientist9", "question": "Do fingers feel enough?"})]
    reply = await ask(
        "scientist", "advise", asker="Scientist1", question="Do they?", context="", remark="", scientist="Scientist3", corpus="sample",
        model=model(llm), host=name, full=True,
    )  # fmt: skip
    assert [call.failed for call in reply.tool_calls] == [False]
    assert any(request.system.startswith("You are Scientist9") for request in llm.requests)


async def test_a_picture_is_shown(llm: LLM, name: str, tmp_path: Path) -> None:
    figure = tmp_path / "figure.png"
    figure.write_bytes(bytes.fromhex("89504e470d0a1a0a"))
    await ask("reviewer", "review", idea=IDEA, images=[figure], model=model(llm), host=name)
    assert llm.requests[0].pictures == [figure.read_bytes()]


async def test_an_agent_of_ones_own_is_asked(llm: LLM, name: str, role_agent: Callable[..., Any]) -> None:
    llm.faults.append(Fault("prose", times=1))
    agent = role_agent("reviewer", model(llm), indicator="feasibility")
    reply = await ask(agent, "review", idea=IDEA, full=True)
    assert isinstance(reply.value, Review)
    assert (reply.attempts, reply.usage.calls, reply.model) == (2, 2, "test-model")
    assert isinstance(await ask(agent, "review", idea="We plan with moles."), Review)
    assert IDEA in llm.requests[-1].text, "it remembers"
    with pytest.raises(ConfigError, match="missing idea"):
        await ask(agent, "review", indicator="novelty")
    with pytest.raises(ConfigError, match="model: an agent"):
        await ask(agent, "review", idea=IDEA, model="offline")
    await agent.close()


async def test_any_agent_takes_a_prompt_of_a_role(llm: LLM, name: str) -> None:
    async with own_client(name, llm.base_url) as client:
        agent = (
            AssistantAgent("mine", client, system_message="Be kind.")
            if name == "autogen"
            else AFAgent(client, "Be kind.", name="mine")
            if name == "agent_framework"
            else Agent("mine", "Be kind.", client)
        )
        with pytest.raises(ConfigError, match="plays no role"):
            await ask(agent, "review", idea=IDEA)
        reply = await ask(agent, "reviewer.review", idea=IDEA, full=True)
    assert isinstance(reply.value, Review)
    assert (reply.usage.calls, reply.usage.tokens > 0) == (1, True)
    assert "Be kind." in llm.requests[0].system


async def test_without_await_also_where_a_loop_is_running(llm: LLM, name: str) -> None:
    for _ in range(2):
        assert isinstance(ask_sync("reviewer", "review", idea=IDEA, model=model(llm), host=name), Review)
    with pytest.raises(ConfigError, match="missing idea"):
        ask_sync("reviewer", "review")
