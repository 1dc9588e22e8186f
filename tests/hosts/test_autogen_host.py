"""One turn on AutoGen: what the model is sent, what comes back, what can go wrong."""

import asyncio
import base64
import gc
import json
import warnings
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any

import pytest
from PIL import Image as Pillow
from pydantic import BaseModel

from manyheads.config import ModelConfig
from manyheads.core import Image, Message, Recall, Speaker, Tool, recall_nothing
from manyheads.errors import BudgetError, ConfigError, CorpusError, ModelError, ReplyError
from manyheads.hosts import host_factory
from manyheads.hosts.autogen import AutoGenHost
from support.faults import Fault, refuses_format
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


def picture(kind: str) -> Image:
    out = BytesIO()
    Pillow.effect_noise((64, 64), 80).convert("RGB").save(out, kind)
    return Image(out.getvalue(), f"image/{kind}")


def images(request: Request) -> list[str]:
    contents = [message["content"] for message in request.body["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [block["image_url"]["url"] for block in blocks if block["type"] == "image_url"]


async def test_a_turn_gives_a_typed_reply_with_its_cost(llm: LLM) -> None:
    async with host(model(llm, price={"input": 1000.0, "output": 2000.0})) as on:
        reply = await on.ask(turn())
    assert reply.value.remark
    assert (reply.model, reply.usage.calls, reply.attempts) == ("test-model", 1, 1)
    read, written = reply.usage.input_tokens, reply.usage.output_tokens
    assert reply.usage.cost == pytest.approx((read * 1000 + written * 2000) / 1e6)


async def test_the_model_is_sent_the_thread_and_nothing_else(llm: LLM) -> None:
    thread = (Message("First."), Message("I said.", "assistant"), Message("And now?"))
    async with host(model(llm)) as on:
        await on.ask(turn(*thread))
    said = [(one.role, one.text.splitlines()[0]) for one in llm.requests[0].messages]
    assert said == [
        ("system", "You are Scientist1."), ("user", "First."), ("assistant", "I said."), ("user", "And now?")
    ]  # fmt: skip
    assert "TERMINATE" not in llm.requests[0].text
    assert not any("name" in message for message in llm.requests[0].body["messages"])


async def test_settings_reach_the_model_and_no_others(llm: LLM) -> None:
    async with host(model(llm, temperature=0.3, seed=7, max_tokens=99)) as on:
        await on.ask(turn())
    async with host(model(llm)) as on:
        await on.ask(turn())
    body, plain = llm.requests[0].body, llm.requests[1].body
    assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.3, 7, 99)
    form = body["response_format"]["json_schema"]
    assert (form["name"], form["strict"], form["schema"]["title"]) == ("Remark", False, "Remark")
    assert not {"temperature", "seed", "max_tokens", "tools"} & set(plain)


async def test_turns_share_connections_and_remember_nothing(llm: LLM) -> None:
    async with host(model(llm)) as on:
        for number in range(5):
            await on.ask(turn(Message(f"Question {number}")))
    assert llm.connections == 1
    assert "Question 3" not in llm.requests[4].text


async def test_the_memory_hook_puts_its_passage_behind_the_question(llm: LLM) -> None:
    async def recall(query: str, speaker: str) -> str:
        return f"<bank>{query}, for {speaker}</bank>"

    async with host(model(llm), recall) as on:
        await on.ask(turn(recall="graphs"))
        await on.ask(turn())
    last = llm.requests[0].messages[-1]
    assert (last.role, last.text) == ("user", "<bank>graphs, for Scientist1</bank>")
    assert "<bank>" not in llm.requests[1].text


async def test_a_hook_that_finds_nothing_adds_nothing_and_one_that_fails_ends_the_turn(llm: LLM) -> None:
    async def broken(query: str, speaker: str) -> str:
        raise CorpusError("the bank is gone")

    async with host(model(llm)) as on:
        await on.ask(turn(recall="graphs"))
    assert len(llm.requests[0].messages) == 2
    async with host(model(llm), broken) as on:
        with pytest.raises(CorpusError, match="the bank is gone"):
            await on.ask(turn(recall="graphs"))
    assert llm.calls == 1


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


@pytest.mark.parametrize("wire", ["openai", "ollama", "anthropic"])
async def test_a_slow_server_is_given_up(llm: LLM, wire: Any) -> None:
    llm.faults.append(Fault("slow", times=None, seconds=5))
    address = llm.base_url if wire == "openai" else llm.url
    async with host(model(llm, provider=wire, base_url=address, timeout=0.2)) as on:
        with pytest.raises(ModelError, match="cannot be reached"):
            await on.ask(turn())


@pytest.mark.parametrize("wire", ["openai", "ollama", "anthropic"])
async def test_a_server_that_is_not_there(wire: Any) -> None:
    nowhere = ModelConfig(provider=wire, name="m", base_url="http://127.0.0.1:9/v1", retries=0)
    async with host(nowhere) as on:
        with pytest.raises(ModelError, match=r"127\.0\.0\.1:9.*cannot be reached"):
            await on.ask(turn())


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


async def test_a_prompt_that_cannot_fit_is_refused_and_one_that_fits_is_whole(llm: LLM) -> None:
    paper = "word " * 3500 + "the last word"
    async with host(model(llm, context=5000)) as on:
        await on.ask(turn(Message(paper)))
    async with host(model(llm, context=2000)) as on:
        with pytest.raises(ConfigError, match="does not fit test-model"):
            await on.ask(turn(Message(paper)))
    assert llm.calls == 1
    assert paper in llm.requests[0].text


async def test_all_images_are_sent_as_they_are(llm: LLM) -> None:
    png, jpeg = picture("png"), picture("jpeg")
    thread = (
        Message("Six", images=(png,) * 6),
        Message("Seen", "assistant"),
        Message("More", images=(jpeg,)),
    )
    async with host(model(llm)) as on:
        await on.ask(turn(*thread))
    sent = images(llm.requests[0])
    assert len(sent) == 7
    assert sent[0] == f"data:image/png;base64,{base64.b64encode(png.data).decode()}"
    assert sent[-1] == f"data:image/jpeg;base64,{base64.b64encode(jpeg.data).decode()}"


async def test_images_for_a_model_without_vision_are_refused(llm: LLM) -> None:
    async with host(model(llm, vision=False)) as on:
        with pytest.raises(ConfigError, match="cannot see images"):
            await on.ask(turn(Message("Look", images=(picture("png"),))))
    assert llm.calls == 0


async def test_requests_at_once_are_capped(llm: LLM) -> None:
    llm.delay = 0.05
    async with host(model(llm, concurrency=3)) as on:
        await asyncio.gather(*(on.ask(turn(Message(str(n)))) for n in range(9)))
    assert llm.peak == 3


async def test_roles_may_have_models_of_their_own(llm: LLM) -> None:
    async with host({"default": model(llm), "strong": model(llm, name="strong-model")}) as on:
        reply = await on.ask(turn(speaker=Speaker("Leader", "leader", "Lead.", "strong")))
        with pytest.raises(ConfigError, match=r"models\.weak is missing"):
            await on.ask(turn(speaker=Speaker("Leader", "leader", "Lead.", "weak")))
    assert reply.model == "strong-model"


async def test_keys_come_from_the_environment(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    for config, variable in (
        (ModelConfig(provider="openai", name="gpt-4o-mini"), "OPENAI_API_KEY"),
        (ModelConfig(provider="anthropic", name="claude-sonnet-4-5"), "ANTHROPIC_API_KEY"),
        (model(llm, api_key_env="MY_KEY"), "MY_KEY"),
    ):
        async with host(config) as on:
            with pytest.raises(ConfigError, match=variable):
                await on.ask(turn())
    monkeypatch.setenv("MY_KEY", "s3cret")
    async with host(model(llm, api_key_env="MY_KEY")) as on:
        await on.ask(turn())
    assert llm.requests[0].headers["authorization"] == "Bearer s3cret"


async def test_ollama_is_asked_for_a_window_and_the_schema(llm: LLM) -> None:
    llm.faults.append(Fault("truncated"))
    async with host(model(llm, provider="ollama", base_url=llm.url, temperature=0.1)) as on:
        reply = await on.ask(turn())
    body = llm.requests[0].body
    assert body["options"] == {"temperature": 0.1, "num_ctx": 8192}
    assert body["format"]["title"] == "Remark"
    assert "cut off at the length limit" in reply.warnings[0]
    assert reply.usage.input_tokens > 0


async def test_anthropic_with_a_tool(llm: LLM) -> None:
    llm.tool_calls = [("look_up", {"subject": "rain"})]
    config = model(llm, provider="anthropic", base_url=llm.url, temperature=0.2, max_tokens=500)
    async with host(config) as on:
        reply = await on.ask(turn(tools=(look_up(),)))
    body = llm.requests[1].body
    assert (body["temperature"], body["max_tokens"]) == (0.2, 500)
    assert [call.result for call in reply.tool_calls] == ["3 papers on rain"]
    assert (reply.model, reply.usage.calls) == ("test-model", 2)


async def test_an_answer_that_was_cut_off_is_asked_for_again(llm: LLM) -> None:
    llm.faults.append(Fault("truncated"))
    async with host(model(llm)) as on:
        assert "cut off at the length limit" in (await on.ask(turn())).warnings[0]


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


@pytest.mark.parametrize("wire", ["openai", "ollama", "anthropic"])
async def test_a_closed_host_leaves_no_connection(llm: LLM, wire: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        async with host(
            model(llm, provider=wire, base_url=llm.base_url if wire == "openai" else llm.url)
        ) as on:
            await on.ask(turn())
        del on
        gc.collect()
    assert not [one for one in caught if issubclass(one.category, ResourceWarning)]


async def test_the_factory_makes_the_host() -> None:
    made = host_factory("autogen")({"default": ModelConfig()}, recall_nothing, 1)
    assert json.loads((await made.ask(turn())).text)["remark"]
    await made.close()
