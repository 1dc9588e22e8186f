"""One turn on AgentScope: what the model is sent, what comes back, what can go wrong."""

import asyncio
import base64
import logging
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from manyheads.config import ModelConfig
from manyheads.core import Image, Message, Recall, Speaker, recall_nothing
from manyheads.errors import ConfigError, CorpusError, ModelError, ReplyError
from manyheads.hosts import host_factory
from manyheads.hosts.agentscope import AgentScopeHost
from support.faults import Fault, refuses_format
from support.llm import LLM
from support.requests import Request
from support.turns import SPEAKER, model, turn

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@asynccontextmanager
async def host(
    models: ModelConfig | Mapping[str, ModelConfig], recall: Recall = recall_nothing, attempts: int = 3
) -> AsyncGenerator[AgentScopeHost]:
    made = AgentScopeHost(
        {"default": models} if isinstance(models, ModelConfig) else models, recall, attempts
    )
    try:
        yield made
    finally:
        await made.close()


def images(request: Request) -> list[str]:
    blocks: list[dict[str, Any]] = [
        block
        for message in request.body["messages"]
        for block in message["content"]
        if block["type"] == "image_url"
    ]
    return [block["image_url"]["url"] for block in blocks]


async def test_a_turn_gives_a_typed_reply_with_its_cost(llm: LLM) -> None:
    price = {"input": 1000.0, "output": 2000.0}
    async with host(model(llm, price=price)) as on:
        reply = await on.ask(turn())
    assert reply.value.remark
    assert reply.model == "test-model"
    assert (reply.usage.calls, reply.attempts) == (1, 1)
    read, written = reply.usage.input_tokens, reply.usage.output_tokens
    assert reply.usage.cost == pytest.approx((read * 1000 + written * 2000) / 1e6)


async def test_the_model_is_sent_the_thread_and_nothing_else(llm: LLM) -> None:
    thread = (Message("First."), Message("I said.", "assistant"), Message("And now?"))
    async with host(model(llm)) as on:
        await on.ask(turn(*thread))
    said = llm.requests[0].messages
    assert [(one.role, one.text.splitlines()[0]) for one in said] == [
        ("system", "You are Scientist1."),
        ("user", "First."),
        ("assistant", "I said."),
        ("user", "And now?"),
    ]
    assert "current-time" not in llm.requests[0].text


async def test_settings_reach_the_model(llm: LLM) -> None:
    async with host(model(llm, temperature=0.3, seed=7, max_tokens=99)) as on:
        await on.ask(turn())
    body = llm.requests[0].body
    assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.3, 7, 99)
    form = body["response_format"]["json_schema"]
    assert (form["name"], form["strict"]) == ("Remark", False)


async def test_settings_that_are_left_out_are_not_sent(llm: LLM) -> None:
    async with host(model(llm)) as on:
        await on.ask(turn())
    assert not {"temperature", "seed", "max_tokens", "tools"} & set(llm.requests[0].body)


async def test_a_turn_remembers_nothing_of_the_one_before(llm: LLM) -> None:
    async with host(model(llm)) as on:
        await on.ask(turn(Message("Question 1")))
        await on.ask(turn(Message("Question 2")))
    assert "Question 1" not in llm.requests[1].text


async def test_the_hook_puts_its_passage_behind_the_question(llm: LLM) -> None:
    async def recall(query: str, speaker: str) -> str:
        return f"<bank>{query}, for {speaker}</bank>"

    async with host(model(llm), recall) as on:
        await on.ask(turn(recall="graphs"))
        await on.ask(turn())
    last = llm.requests[0].messages[-1]
    assert (last.role, last.text) == ("user", "<bank>graphs, for Scientist1</bank>")
    assert "<bank>" not in llm.requests[1].text


async def test_a_hook_that_fails_ends_the_turn(llm: LLM) -> None:
    async def recall(query: str, speaker: str) -> str:
        raise CorpusError("the bank is gone")

    async with host(model(llm), recall) as on:
        with pytest.raises(CorpusError, match="the bank is gone"):
            await on.ask(turn(recall="graphs"))
    assert llm.calls == 0


async def test_an_invalid_reply_is_asked_for_again(llm: LLM) -> None:
    llm.faults.append(Fault("missing"))
    async with host(model(llm)) as on:
        reply = await on.ask(turn())
    assert (reply.attempts, reply.usage.calls, llm.calls) == (2, 2, 2)
    assert "remark: field required" in llm.requests[1].messages[-1].text


@pytest.mark.parametrize("kind", ["empty", "prose"])
async def test_a_model_that_never_answers_ends_in_a_clear_error(llm: LLM, kind: Any) -> None:
    llm.faults.append(Fault(kind, times=None))
    async with host(model(llm), attempts=2) as on:
        with pytest.raises(ReplyError, match="no valid reply from test-model in 2 attempts"):
            await on.ask(turn())
    assert llm.calls == 2


async def test_an_answer_that_was_cut_off_is_asked_for_again(llm: LLM) -> None:
    llm.faults.append(Fault("truncated"))
    async with host(model(llm)) as on:
        reply = await on.ask(turn())
    assert "cut off at the length limit" in reply.warnings[0]


@pytest.mark.parametrize("status", [400, 500])
async def test_a_server_that_refuses_response_format_is_remembered(llm: LLM, status: int) -> None:
    llm.faults.append(refuses_format(status))
    async with host(model(llm)) as on:
        first, second = await on.ask(turn()), await on.ask(turn())
    assert [request.has_form for request in llm.requests] == [True, False, False]
    assert "refused response_format" in first.warnings[0]
    assert not second.warnings


async def test_retries_do_not_multiply(llm: LLM) -> None:
    llm.faults.append(Fault("status", times=None, status=429, retry_after=0.01))
    async with host(model(llm, retries=2)) as on:
        with pytest.raises(ModelError, match="429"):
            await on.ask(turn())
    assert llm.calls == 3


async def test_the_pause_that_a_server_asks_for_is_kept(llm: LLM) -> None:
    llm.faults.append(Fault("status", status=429, retry_after=0.3))
    async with host(model(llm, retries=2)) as on:
        reply = await on.ask(turn())
    first, second = llm.requests
    assert second.at - first.at >= 0.3
    assert reply.usage.calls == 1


async def test_a_slow_server_is_given_up(llm: LLM) -> None:
    llm.faults.append(Fault("slow", times=None, seconds=5))
    async with host(model(llm, timeout=0.2)) as on:
        with pytest.raises(ModelError, match=r"cannot be reached: no answer within 0\.2 s"):
            await on.ask(turn())


async def test_a_server_that_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    nowhere = ModelConfig(provider="openai", name="m", base_url="http://127.0.0.1:9/v1", retries=0)
    async with host(nowhere) as on:
        with (
            caplog.at_level(logging.DEBUG),
            pytest.raises(ModelError, match=r"127\.0\.0\.1:9.*cannot be reached"),
        ):
            await on.ask(turn())
    assert "exhausted" not in caplog.text


@pytest.mark.parametrize("kind", ["drop", "drop_body"])
async def test_a_dropped_connection_is_tried_again(llm: LLM, kind: Any) -> None:
    llm.faults.append(Fault(kind))
    async with host(model(llm, retries=1)) as on:
        assert (await on.ask(turn())).value.remark
    assert llm.calls == 2


async def test_a_server_that_answers_nonsense(llm: LLM) -> None:
    llm.faults.append(Fault("malformed", times=None))
    async with host(model(llm)) as on:
        with pytest.raises(ModelError, match="no chat completion"):
            await on.ask(turn())


async def test_a_time_limit_surfaces(llm: LLM) -> None:
    llm.delay = 5
    async with host(model(llm)) as on:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await on.ask(turn())


async def test_cancellation_surfaces(llm: LLM) -> None:
    llm.delay = 5
    async with host(model(llm)) as on:
        asking = asyncio.create_task(on.ask(turn()))
        await asyncio.sleep(0.3)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_a_long_prompt_is_sent_whole(llm: LLM) -> None:
    paper = "word " * 3500 + "the last word"
    async with host(model(llm, context=5000)) as on:
        await on.ask(turn(Message(paper)))
    assert llm.calls == 1
    assert paper in llm.requests[0].text


async def test_a_prompt_that_cannot_fit_is_refused(llm: LLM) -> None:
    async with host(model(llm, context=2000)) as on:
        with pytest.raises(ConfigError, match=r"does not fit the context of test-model \(2,000 tokens\)"):
            await on.ask(turn(Message("word " * 3500)))
    assert llm.calls == 0


async def test_all_images_are_sent(llm: LLM) -> None:
    pictures = tuple(Image(PIXEL) for _ in range(4))
    thread = (
        Message("Four", images=pictures),
        Message("Seen", "assistant"),
        Message("More", images=pictures),
    )
    async with host(model(llm)) as on:
        await on.ask(turn(*thread))
    sent = images(llm.requests[0])
    assert len(sent) == 8
    assert sent[0] == f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"


async def test_images_for_a_model_without_vision_are_refused(llm: LLM) -> None:
    async with host(model(llm, vision=False)) as on:
        with pytest.raises(ConfigError, match="cannot see images"):
            await on.ask(turn(Message("Look", images=(Image(PIXEL),))))


async def test_requests_at_once_are_capped(llm: LLM) -> None:
    llm.delay = 0.05
    async with host(model(llm, concurrency=3)) as on:
        await asyncio.gather(*(on.ask(turn(Message(str(n)))) for n in range(9)))
    assert llm.peak == 3


async def test_roles_may_have_models_of_their_own(llm: LLM) -> None:
    models = {"default": model(llm), "strong": model(llm, name="strong-model")}
    async with host(models) as on:
        reply = await on.ask(turn(speaker=Speaker("Leader", "leader", "Lead.", "strong")))
        with pytest.raises(ConfigError, match=r"models\.weak is missing"):
            await on.ask(turn(speaker=Speaker("Leader", "leader", "Lead.", "weak")))
    assert reply.model == "strong-model"


async def test_a_missing_key_is_named() -> None:
    async with host(ModelConfig(provider="openai", name="gpt-4o-mini")) as on:
        with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
            await on.ask(turn())


async def test_a_key_that_the_config_names_is_needed_and_sent(
    llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = model(llm, api_key_env="MY_KEY")
    async with host(config) as on:
        with pytest.raises(ConfigError, match="MY_KEY"):
            await on.ask(turn())
    monkeypatch.setenv("MY_KEY", "s3cret")
    async with host(config) as on:
        await on.ask(turn())
    assert llm.requests[0].headers["authorization"] == "Bearer s3cret"


async def test_ollama_is_asked_for_a_window_and_the_schema(llm: LLM) -> None:
    async with host(model(llm, provider="ollama", base_url=llm.url, temperature=0.1)) as on:
        reply = await on.ask(turn())
    body = llm.requests[0].body
    assert reply.usage.input_tokens > 0
    assert body["options"] == {"temperature": 0.1, "num_ctx": 8192}
    assert body["format"]["title"] == "Remark"


async def test_ollama_truncation_is_seen(llm: LLM) -> None:
    llm.faults.append(Fault("truncated"))
    async with host(model(llm, provider="ollama", base_url=llm.url)) as on:
        assert "cut off at the length limit" in (await on.ask(turn())).warnings[0]


async def test_anthropic(llm: LLM) -> None:
    llm.faults.append(Fault("truncated"))
    async with host(
        model(llm, provider="anthropic", base_url=llm.url, temperature=0.2, max_tokens=500)
    ) as on:
        reply = await on.ask(turn())
    body = llm.requests[0].body
    assert (body["temperature"], body["max_tokens"]) == (0.2, 500)
    assert (reply.attempts, reply.usage.calls) == (2, 2)


async def test_the_offline_model_needs_nothing() -> None:
    async with host(ModelConfig()) as on:
        first, second = await on.ask(turn()), await on.ask(turn())
    assert first.text == second.text
    assert (first.model, first.usage.calls) == ("offline", 1)


async def test_a_paused_host_waits() -> None:
    async with host(ModelConfig()) as on:
        on.pause()
        waiting = asyncio.create_task(on.gate())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        on.resume()
        await asyncio.wait_for(waiting, 1)


def test_an_unknown_host_is_named() -> None:
    with pytest.raises(ConfigError, match="unknown host 'crewai'"):
        host_factory("crewai")


def test_a_missing_framework_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> None:
        return None

    monkeypatch.setattr("manyheads.hosts.find_spec", nowhere)
    with pytest.raises(ConfigError) as caught:
        host_factory("agentscope")
    assert caught.value.hint == "pip install 'manyheads[agentscope]'"


def test_naming_the_host_does_not_import_its_framework() -> None:
    code = (
        "import sys, manyheads.hosts.agentscope; print('agentscope' in sys.modules, 'openai' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]


async def test_the_factory_makes_the_host() -> None:
    made = host_factory("agentscope")({"default": ModelConfig()}, recall_nothing, 1)
    assert (await made.ask(turn(speaker=SPEAKER))).value.remark
    await made.close()
