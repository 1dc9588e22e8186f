"""Servers as they are: what takes no tools beside a schema, no list of parts, no long prompt, no temperature."""

import ssl
from importlib import import_module
from typing import Any

import pytest

from manyheads.asking.replies import Remark
from manyheads.base.errors import ConfigError, ModelError
from manyheads.config import BudgetConfig, ModelConfig
from manyheads.core import Message, Tool
from manyheads.engine.budget import Budget
from manyheads.hosts.clients import sdk_settings
from manyheads.models.abilities import forms_for, openai_settings, remember, settled
from manyheads.models.governor import ToolsRefusedError
from support.faults import Fault
from support.llm import LLM
from support.native import Hosting, own_client, role_of
from support.requests import Request
from support.turns import LOOK_UP, Look, model, turn
from support.wires import Answer, whole

CALL = [("look_up", {"subject": "owls"})]


async def test_a_schema_is_sent_where_no_tools_are_open(llm: LLM, host: Hosting) -> None:
    """A server that holds a model to a grammar would make every tool call impossible, without a word."""
    llm.tool_calls = CALL
    async with host(model(llm)) as on:
        called = await on.ask(turn(tools=(LOOK_UP,)))
        await on.ask(turn())
    assert [call.result for call in called.tool_calls] == ["3 papers on owls"]
    assert [(bool(one.tools), one.has_form) for one in llm.requests] == [
        (True, False),
        (True, False),
        (False, True),
    ]
    assert all('"remark":' in one.text for one in llm.requests), "the skeleton stands in each"


async def test_a_server_that_is_known_to_take_both_gets_both(llm: LLM, host: Hosting) -> None:
    config = model(llm)
    remember(config, both=True)
    async with host(config) as on:
        await on.ask(turn(tools=(LOOK_UP,)))
    assert (bool(llm.requests[0].tools), llm.requests[0].has_form) == (True, True)


@pytest.mark.parametrize(
    ("settings", "environment", "official"),
    [
        ({}, None, True),
        ({"base_url": "https://api.openai.com/v1"}, None, True),
        ({"base_url": "https://eu.api.openai.com/v1"}, None, True),
        ({"base_url": "https://api.openai.com.example.org/v1"}, None, False),
        ({}, "http://127.0.0.1:8000/v1", False),
        ({"base_url": "https://openrouter.ai/api/v1"}, None, False),
        ({"provider": "ollama"}, None, False),
    ],
)
def test_openai_itself_takes_both_and_the_new_name_of_the_limit(
    settings: dict[str, Any], environment: str | None, official: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if environment:
        monkeypatch.setenv("OPENAI_BASE_URL", environment)
    config = ModelConfig.model_validate({"provider": "openai", "name": "gpt", "max_tokens": 9} | settings)
    assert [*forms_for(config, Remark, with_tools=True)] == (["object", "none"] if official else ["none"])
    assert openai_settings(config) == {"max_completion_tokens" if official else "max_tokens": 9}


def test_openai_gets_no_schema_before_the_prompt_unless_the_config_says_so() -> None:
    config = ModelConfig(provider="openai", name="gpt")
    remember(config, form="schema")  # as found by an earlier version
    forms = forms_for(config, Remark, with_tools=False)
    assert forms == {"object": {"response_format": {"type": "json_object"}}, "none": {}}
    [form] = forms_for(
        config.model_copy(update={"response_format": "schema"}), Remark, with_tools=False
    ).values()
    assert form["response_format"]["json_schema"]["name"] == "Remark"


REFUSALS = [
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (500, "tools param requires --jinja flag"),
    (404, "No endpoints found that support tool use"),
]


def refuses_tools(status: int, message: str) -> Fault:
    return Fault("status", None, lambda request: bool(request.tools), status=status, message=message)


@pytest.mark.parametrize(("status", "message"), REFUSALS)
async def test_a_server_that_refuses_tools_is_asked_once(
    llm: LLM, host: Hosting, status: int, message: str
) -> None:
    llm.faults.append(refuses_tools(status, message))
    config = model(llm, retries=3)
    budget = Budget(BudgetConfig())
    async with host(config) as on:
        for _ in range(2):
            with pytest.raises(ToolsRefusedError) as told:
                await on.ask(turn(tools=(LOOK_UP,), meter=budget.asking))
            assert llm.calls == budget.spent.calls == 1
            assert "models.default.tools=false" in (told.value.hint or "")
        await on.ask(turn())
    assert settled(config).tools is False, "for the runs to come"


async def test_an_agent_of_an_app_that_has_tools_says_what_to_set(llm: LLM, name: str) -> None:
    llm.faults.append(refuses_tools(*REFUSALS[0]))
    async with role_of(name, "reviewer", model(llm), tools=[LOOK_UP]) as ask:
        for _ in range(2):
            with pytest.raises(
                Exception, match=r"--enable-auto-tool-choice[^$]*models\.default\.tools=false"
            ):
                await ask("What do you say?")
    assert llm.calls == 2


async def test_an_old_ollama_that_takes_no_schema_is_remembered(llm: LLM, host: Hosting) -> None:
    def schema(request: Request) -> bool:
        return isinstance(request.body.get("format"), dict)

    says = "json: cannot unmarshal object into Go struct field ChatRequest.format of type string"
    llm.faults.append(Fault("status", None, schema, status=400, message=says))
    async with host(model(llm, provider="ollama", base_url=llm.url)) as on:
        first, second = await on.ask(turn()), await on.ask(turn())
    assert [schema(request) for request in llm.requests] == [True, False, False]
    assert [request.body["format"] for request in llm.requests[1:]] == ["json", "json"]
    assert (len(first.warnings), second.warnings) == (1, ())


async def test_text_alone_is_sent_as_a_text(llm: LLM, host: Hosting) -> None:
    llm.tool_calls = CALL
    thread = (Message("First."), Message("I said.", "assistant"), Message("And now?"))
    async with host(model(llm)) as on:
        await on.ask(turn(*thread, tools=(LOOK_UP,)))
    for request in llm.requests:
        assert all(isinstance(one.get("content") or "", str) for one in request.body["messages"])


async def test_authorities_are_read_only_for_an_encrypted_server(
    llm: LLM, host: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, usual = list[object](), ssl.create_default_context

    def noted(*given: Any, **more: Any) -> ssl.SSLContext:
        read.append(given)
        return usual(*given, **more)

    monkeypatch.setattr(ssl, "create_default_context", noted)
    async with host(model(llm)) as on:
        await on.ask(turn())
    assert not read
    _, close = sdk_settings(model(llm, base_url="https://127.0.0.1:1/v1"))
    await close()
    assert read


async def test_a_client_of_the_users_sends_texts_too(llm: LLM, name: str) -> None:
    make_host: Any = import_module(f"manyheads.hosts.{name}.host").make_host
    async with own_client(name, llm.base_url) as client:
        await make_host({"default": model(llm)}, ready={"default": client}).ask(turn())
    assert all(isinstance(one["content"], str) for one in llm.requests[0].body["messages"])


REPLIES = "".join(f"Bo:\n<reply>\nsaid {number} {'word ' * 400}\n</reply>\n" for number in range(4))
PAPERS = "".join(
    f"[{number}]\n<paper>\nTitle: P{number}\nYear: 2011\nAbstract: {'term ' * 400}\n</paper>\n"
    for number in range(4)
)
LONG = f"# A task\n\nTopic of owls.\n\n{PAPERS}\n{REPLIES}\n## Your task\n\nSay what is to be done."


@pytest.mark.parametrize(
    ("context", "replies", "papers"),
    [(9000, 4, 4), (4200, 3, 4), (2600, 0, 4), (1600, 0, 2), (800, 0, 0)],
)
async def test_the_oldest_replies_go_first_then_papers_never_the_task(
    llm: LLM, host: Hosting, context: int, replies: int, papers: int
) -> None:
    async with host(model(llm, context=context, max_tokens=200)) as on:
        reply = await on.ask(turn(Message(LONG)))
    sent = llm.requests[0].messages[-1].text
    assert [number for number in range(4) if f"said {number}" in sent] == list(range(4 - replies, 4))
    assert [number for number in range(4) if f"P{number}\nYear" in sent] == list(range(papers))
    assert all(f"Title: P{number}" in sent for number in range(4))
    assert all(words in sent for words in ("Topic of owls.", "Say what is to be done.", '"remark":'))
    assert any("left out" in line for line in reply.warnings) == (replies + papers < 8)


async def test_a_task_that_does_not_fit_is_refused(llm: LLM, host: Hosting) -> None:
    alone = f"# Review\n\n<paper>\nTitle: P\n{'word ' * 4000}\n</paper>"
    async with host(model(llm, context=2000)) as on:
        with pytest.raises(ConfigError, match=r"context of 2,000"):
            await on.ask(turn(Message(alone)))
    assert llm.calls == 0


async def test_a_window_that_the_server_tells_of_is_kept_to(llm: LLM, host: Hosting) -> None:
    message = "This model's maximum context length is 3000 tokens. However, you requested 4600 tokens."

    def long(request: Request) -> bool:
        return len(request.text) > 11_000

    llm.faults.append(Fault("status", status=400, message=message, times=None, when=long))
    async with host(model(llm)) as on:
        first = await on.ask(turn(Message(LONG)))
        await on.ask(turn(Message(LONG)))
    assert llm.calls == 3
    assert any("left out" in line for line in first.warnings)


async def test_what_tools_said_is_kept_where_it_makes_a_request_too_long(llm: LLM, host: Hosting) -> None:
    llm.tool_calls = CALL
    message = "This model's maximum context length is 3000 tokens. However, you requested 4600 tokens."

    def long(request: Request) -> bool:
        return bool(request.tools_answered) and len(request.text) > 11_000

    llm.faults.append(Fault("status", status=400, message=message, times=None, when=long))
    async with host(model(llm)) as on:
        reply = await on.ask(turn(Message(LONG), tools=(LOOK_UP,)))
    assert [call.result for call in reply.tool_calls] == ["3 papers on owls"]
    assert [one.tools_answered for one in llm.requests] == [0, 1, 1]
    last = llm.requests[-1].text
    assert "3 papers on owls" in last
    assert "said 0" not in last
    assert "Say what is to be done." in last
    assert sum("left out" in line for line in reply.warnings) == 1


async def test_what_tools_say_is_measured_too_and_never_left_out(llm: LLM, host: Hosting) -> None:
    async def much(arguments: Look) -> str:
        return f"<reply>\nfound {'word ' * 1200}\n</reply>"

    llm.tool_calls = CALL
    tool = Tool("look_up", LOOK_UP.description, Look, much)
    async with host(model(llm, context=4200, max_tokens=200)) as on:
        reply = await on.ask(turn(Message(LONG), tools=(tool,)))
    first, last = llm.requests
    assert "said 1" in first.text
    assert "said 1" not in last.text
    assert f"found {'word ' * 1200}".strip() in last.text
    [told] = [line for line in reply.warnings if "left out" in line]
    assert told.startswith("topic, turn 1, Scientist1: topic: about ")
    assert told.endswith("left out 4 earlier replies or summaries"), "of the last request"


NO_OLD = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
NO_NEW = "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted'}]"


def limits_sent(llm: LLM) -> list[dict[str, int]]:
    names = ("max_tokens", "max_completion_tokens")
    return [{name: one.body[name] for name in names if name in one.body} for one in llm.requests]


OLD, NEW = "max_tokens", "max_completion_tokens"


@pytest.mark.parametrize(("first", "other", "says"), [(OLD, NEW, (400, NO_OLD)), (NEW, OLD, (422, NO_NEW))])
async def test_a_server_that_wants_another_name_of_the_limit_gets_it(
    llm: LLM, host: Hosting, first: Any, other: str, says: tuple[int, str]
) -> None:
    def refused(request: Request) -> bool:
        return first in request.body

    llm.faults.append(Fault("status", None, refused, status=says[0], message=says[1]))
    config = model(llm, max_tokens=90, temperature=0.5, seed=4)
    remember(config, limit=first)
    async with host(config) as on:
        told = await on.ask(turn())
        await on.ask(turn())
    assert limits_sent(llm) == [{first: 90}, {other: 90}, {other: 90}]
    assert not told.warnings
    assert {(one.body["temperature"], one.body["seed"]) for one in llm.requests} == {(0.5, 4)}


@pytest.mark.parametrize(
    ("message", "calls"),
    [(NO_OLD, 2), ("max_tokens is too large: 90000. This model supports at most 4096 completion tokens.", 1)],
)
async def test_a_limit_that_is_refused_under_any_name_has_its_step(
    llm: LLM, host: Hosting, message: str, calls: int
) -> None:
    llm.faults.append(Fault("status", status=400, message=message, times=None))
    config = model(llm, max_tokens=90_000, context=200_000, response_format="none")
    async with host(config) as on:
        with pytest.raises(ModelError) as told:
            await on.ask(turn())
    assert llm.calls == calls
    assert ("models.default.max_tokens" in str(told.value.hint)) == (calls == 2)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "no capacity left", "code": 502}}, "no capacity left"),
        ({"error": "no capacity left"}, "no capacity left"),
        ({"choices": []}, "contains no choice"),
    ],
)
async def test_an_error_sent_as_an_answer_is_tried_again(
    llm: LLM, host: Hosting, body: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [body] * 3

    def answer(proper: Answer) -> dict[str, Any]:
        return answers.pop() if answers else whole(proper)

    monkeypatch.setattr("support.llm.whole", answer)
    async with host(model(llm, retries=1, max_wait=0.1)) as on:
        with pytest.raises(ModelError, match=words) as told:
            await on.ask(turn())
        reply = await on.ask(turn())
    assert llm.calls == 4
    assert words in reply.warnings[0]
    assert ("base_url" in str(told.value.hint)) == ("choices" in body)
