"""One turn on any host: what the model is sent, what comes back, what can go wrong. All must do the same."""

import asyncio
import base64
import gc
import logging
import subprocess
import sys
import warnings
from importlib.metadata import EntryPoint
from io import BytesIO
from typing import Any

import pytest
from PIL import Image as Pillow

from manyheads.base.errors import ConfigError, CorpusError, ModelError, ReplyError, install_command
from manyheads.config import ModelConfig, RunConfig
from manyheads.config.environment import BUILT_IN, GROUP, hosts
from manyheads.core import Image, Message, Speaker, Tool, Turn, recall_nothing
from manyheads.hosts import host_factory
from manyheads.systems.loading import load
from support.faults import Fault, refuses_format
from support.llm import LLM
from support.native import Hosting, can_ask, quick_on
from support.requests import Request
from support.turns import LOOK_UP, model, turn

WIRES = ("openai", "ollama", "anthropic")


def on_wire(llm: LLM, wire: str, **settings: Any) -> ModelConfig:
    """The server as a model of a provider."""
    return model(llm, provider=wire, base_url=llm.base_url if wire == "openai" else llm.url, **settings)


def picture(kind: str) -> Image:
    out = BytesIO()
    Pillow.effect_noise((64, 64), 80).convert("RGB").save(out, kind)
    return Image(out.getvalue(), f"image/{kind}")


def images(request: Request) -> list[str]:
    contents = [message["content"] for message in request.body["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [block["image_url"]["url"] for block in blocks if block["type"] == "image_url"]


async def test_a_turn_gives_a_typed_reply_with_its_cost(llm: LLM, host: Hosting) -> None:
    async with host(model(llm, price={"input": 1000.0, "output": 2000.0})) as on:
        reply = await on.ask(turn())
    assert reply.value.remark
    assert (reply.model, reply.usage.calls, reply.attempts) == ("test-model", 1, 1)
    read, written = reply.usage.input_tokens, reply.usage.output_tokens
    assert reply.usage.cost == pytest.approx((read * 1000 + written * 2000) / 1e6)


async def test_the_model_is_sent_the_thread_and_nothing_else(llm: LLM, host: Hosting, name: str) -> None:
    thread = (Message("First."), Message("I said.", "assistant"), Message("And now?"))
    async with host(model(llm)) as on:
        await on.ask(turn(*thread))
    said = [(one.role, one.text.splitlines()[0]) for one in llm.requests[0].messages]
    assert said == [
        ("system", "You are Scientist1."), ("user", "First."), ("assistant", "I said."), ("user", "And now?")
    ]  # fmt: skip
    assert "TERMINATE" not in llm.requests[0].text, "AutoGen's own"
    assert "current-time" not in llm.requests[0].text, "AgentScope's own"
    named = any("name" in message for message in llm.requests[0].body["messages"])
    assert named == (name == "agentscope"), "AutoGen leaves out the names"


async def test_settings_reach_the_model_and_no_others(llm: LLM, host: Hosting) -> None:
    async with host(model(llm, temperature=0.3, seed=7, max_tokens=99)) as on:
        await on.ask(turn())
    async with host(model(llm)) as on:
        await on.ask(turn())
    body, plain = llm.requests[0].body, llm.requests[1].body
    assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.3, 7, 99)
    form = body["response_format"]["json_schema"]
    assert (form["name"], form["strict"], form["schema"]["title"]) == ("Remark", False, "Remark")
    assert not {"temperature", "seed", "max_tokens", "tools"} & set(plain)


async def test_nothing_of_a_turn_is_left_in_the_next(llm: LLM, host: Hosting) -> None:
    """Whatever the first held: earlier words, tools, a passage, another reply; and whichever are asked at once."""

    async def recall(asked: Turn[Any]) -> str:
        return "A PASSAGE"

    first = turn(
        Message("Before."), Message("I said.", "assistant"), Message("One?"), tools=(LOOK_UP,), recall="x"
    )
    async with host(model(llm), recall=recall) as on:
        await on.ask(first)
        await on.ask(turn(Message("Two?")))
        at_once = [turn(Message(f"Number {number}?")) for number in range(3)]
        await asyncio.gather(*map(on.ask, [*at_once, first]))
    alone = [one for one in llm.requests if "One?" not in one.text]
    assert len(alone) == 4
    for request in alone:
        assert [one.role for one in request.messages] == ["system", "user"]
        assert "PASSAGE" not in request.text
        assert "tools" not in request.body
    assert all("PASSAGE" in one.text for one in llm.requests if one not in alone)


async def test_turns_share_connections_and_remember_nothing(llm: LLM, host: Hosting) -> None:
    async with host(model(llm)) as on:
        for number in range(5):
            await on.ask(turn(Message(f"Question {number}")))
    assert llm.connections == 1
    assert "Question 3" not in llm.requests[4].text


async def test_the_hook_puts_its_passage_between_the_question_and_the_form_in_its_own_message(
    llm: LLM, host: Hosting
) -> None:
    async def recall(asked: Turn[Any]) -> str:
        return f"<bank>{asked.recall}, for {asked.speaker.name}</bank>"

    async with host(model(llm), recall) as on:
        await on.ask(turn(recall="graphs"))
        await on.ask(turn())
    [system, asked] = llm.requests[0].messages
    assert (system.role, asked.role) == ("system", "user")
    question, form = llm.requests[1].messages[-1].text.split("\n\n## The form")
    assert asked.text == f"{question}\n\n<bank>graphs, for Scientist1</bank>\n\n## The form{form}"
    assert "<bank>" not in llm.requests[1].text


async def test_a_hook_that_finds_nothing_adds_nothing(llm: LLM, host: Hosting) -> None:
    async with host(model(llm)) as on:
        await on.ask(turn(recall="graphs"))
    assert len(llm.requests[0].messages) == 2


async def test_a_hook_that_fails_ends_the_turn(llm: LLM, host: Hosting) -> None:
    async def broken(asked: Turn[Any]) -> str:
        raise CorpusError("the bank is gone")

    async with host(model(llm), broken) as on:
        with pytest.raises(CorpusError, match="the bank is gone"):
            await on.ask(turn(recall="graphs"))
    assert llm.calls == 0


async def test_an_invalid_reply_is_asked_for_again(llm: LLM, host: Hosting) -> None:
    llm.faults.append(Fault("missing"))
    async with host(model(llm)) as on:
        reply = await on.ask(turn())
    assert (reply.attempts, reply.usage.calls, llm.calls) == (2, 2, 2)
    assert "`remark` is missing" in llm.requests[1].messages[-1].text


@pytest.mark.parametrize("kind", ["empty", "prose"])
async def test_a_model_that_never_answers_ends_in_a_clear_error(llm: LLM, host: Hosting, kind: Any) -> None:
    llm.faults.append(Fault(kind, times=None))
    async with host(model(llm), attempts=2) as on:
        with pytest.raises(ReplyError, match="in 2 attempts"):
            await on.ask(turn())
    assert llm.calls == 2


@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_that_was_cut_off_is_asked_for_again(llm: LLM, host: Hosting, wire: str) -> None:
    llm.faults.append(Fault("truncated"))
    async with host(on_wire(llm, wire)) as on:
        reply = await on.ask(turn())
    assert "length limit" in reply.warnings[0]
    assert (reply.attempts, reply.usage.calls) == (2, 2)
    assert reply.usage.input_tokens > 0


@pytest.mark.parametrize("status", [400, 500])
async def test_a_server_that_refuses_response_format_is_remembered(
    llm: LLM, host: Hosting, status: int
) -> None:
    llm.faults.append(refuses_format(status))
    async with host(model(llm)) as on:
        first, second = await on.ask(turn()), await on.ask(turn())
    assert [request.has_form for request in llm.requests] == [True, True, False, False]
    assert "refused response_format" in first.warnings[0]
    assert not second.warnings


@pytest.mark.parametrize(("wire", "tools"), [("anthropic", ()), ("ollama", (LOOK_UP,))])
async def test_a_request_without_a_form_is_not_sent_again_without_it(
    llm: LLM, host: Hosting, wire: str, tools: tuple[Tool, ...]
) -> None:
    llm.faults.append(Fault("status", times=2, status=400))
    async with host(on_wire(llm, wire, tools=True)) as on:
        with pytest.raises(ModelError):
            await on.ask(turn(tools=tools))
    assert llm.calls == 1


async def test_retries_do_not_multiply(llm: LLM, host: Hosting) -> None:
    llm.faults.append(Fault("status", times=None, status=429, retry_after=0.01))
    async with host(model(llm, retries=2)) as on:
        with pytest.raises(ModelError, match="429"):
            await on.ask(turn())
    assert llm.calls == 3


@quick_on("autogen")
async def test_the_pause_that_a_server_asks_for_is_kept(llm: LLM, host: Hosting) -> None:
    llm.faults.append(Fault("status", status=429, retry_after=0.3))
    async with host(model(llm, retries=2)) as on:
        reply = await on.ask(turn())
    first, second = llm.requests
    assert second.at - first.at >= 0.3
    assert reply.usage.calls == 2, "the refused one was sent, too"


@quick_on("autogen")
@pytest.mark.parametrize("wire", WIRES)
async def test_a_slow_server_is_given_up(llm: LLM, host: Hosting, wire: str) -> None:
    llm.faults.append(Fault("slow", times=None, seconds=5))
    async with host(on_wire(llm, wire, timeout=0.2)) as on:
        with pytest.raises(ModelError, match="cannot be reached"):
            await on.ask(turn())


@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_that_is_not_there(host: Hosting, wire: Any, caplog: pytest.LogCaptureFixture) -> None:
    nowhere = ModelConfig(provider=wire, name="m", base_url="http://127.0.0.1:9/v1", retries=0)
    async with host(nowhere) as on:
        with (
            caplog.at_level(logging.DEBUG),
            pytest.raises(ModelError, match=r"127\.0\.0\.1:9.*cannot be reached"),
        ):
            await on.ask(turn())
    assert "exhausted" not in caplog.text, "AgentScope's own"


@quick_on("agentscope")
@pytest.mark.parametrize("kind", ["drop", "drop_body", "malformed"])
async def test_a_broken_answer_is_tried_again(llm: LLM, host: Hosting, kind: Any) -> None:
    llm.faults.append(Fault(kind))
    async with host(model(llm, retries=1)) as on:
        assert (await on.ask(turn())).value.remark
    assert llm.calls == 2


async def test_a_server_that_answers_nonsense(llm: LLM, host: Hosting) -> None:
    llm.faults.append(Fault("malformed", times=None))
    async with host(model(llm)) as on:
        with pytest.raises(ModelError, match=r"models\.default .* its answer is not JSON"):
            await on.ask(turn())


@quick_on("agentscope")
async def test_a_time_limit_surfaces(llm: LLM, host: Hosting) -> None:
    llm.delay = 5
    async with host(model(llm)) as on:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await on.ask(turn())


@quick_on("autogen")
async def test_cancellation_surfaces(llm: LLM, host: Hosting) -> None:
    llm.delay = 5
    async with host(model(llm)) as on:
        asking = asyncio.create_task(on.ask(turn()))
        await asyncio.sleep(0.3)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_a_prompt_is_sent_whole_or_refused(llm: LLM, host: Hosting) -> None:
    paper = "word " * 3500 + "the last word"
    async with host(model(llm, context=5000)) as on:
        await on.ask(turn(Message(paper)))
    async with host(model(llm, context=2000)) as on:
        with pytest.raises(ConfigError, match=r"models\.default: .* does not fit test-model.* 2,000"):
            await on.ask(turn(Message(paper)))
    assert llm.calls == 1
    assert paper in llm.requests[0].text


async def test_all_images_are_sent_as_they_are(llm: LLM, host: Hosting) -> None:
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


async def test_images_for_a_model_without_vision_are_refused(llm: LLM, host: Hosting) -> None:
    async with host(model(llm, vision=False)) as on:
        with pytest.raises(ConfigError, match=r"models\.default: test-model cannot see images"):
            await on.ask(turn(Message("Look", images=(picture("png"),))))
    assert llm.calls == 0


@quick_on("agentscope")
async def test_requests_at_once_are_capped(llm: LLM, host: Hosting) -> None:
    llm.delay = 0.05
    async with host(model(llm, concurrency=3)) as on:
        await asyncio.gather(*(on.ask(turn(Message(str(n)))) for n in range(9)))
    assert llm.peak == 3


async def test_roles_may_have_models_of_their_own(llm: LLM, host: Hosting) -> None:
    async with host({"default": model(llm), "strong": model(llm, name="strong-model")}) as on:
        reply = await on.ask(turn(speaker=Speaker("Leader", "leader", "Lead.", "strong")))
        with pytest.raises(ConfigError, match=r"models\.weak is missing"):
            await on.ask(turn(speaker=Speaker("Leader", "leader", "Lead.", "weak")))
    assert reply.model == "strong-model"


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        ({"provider": "openai"}, "OPENAI_API_KEY"),
        ({"provider": "anthropic"}, "ANTHROPIC_API_KEY"),
        (
            {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key_env": "MANYHEADS_KEY"},
            "MANYHEADS_KEY",
        ),
    ],
)
async def test_a_missing_key_is_named_with_its_model(
    host: Hosting, settings: dict[str, Any], variable: str
) -> None:
    strong = ModelConfig(name="m", **settings)
    async with host({"default": ModelConfig(), "strong": strong}) as on:
        with pytest.raises(ConfigError, match=rf"models\.strong: no key[^$]*{variable}"):
            await on.ask(turn(speaker=Speaker("Leader", "leader", "Lead.", "strong")))


async def test_a_key_comes_from_the_environment(
    llm: LLM, host: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANYHEADS_KEY", "s3cret")
    async with host(model(llm, api_key_env="MANYHEADS_KEY")) as on:
        await on.ask(turn())
    assert llm.requests[0].headers["authorization"] == "Bearer s3cret"


async def test_ollama_is_asked_for_a_window_and_the_schema(llm: LLM, host: Hosting) -> None:
    async with host(on_wire(llm, "ollama", temperature=0.1)) as on:
        await on.ask(turn())
    body = llm.requests[0].body
    assert body["options"] == {"temperature": 0.1, "num_ctx": 8192}
    assert body["format"]["title"] == "Remark"


async def test_anthropic_is_sent_its_settings(llm: LLM, host: Hosting) -> None:
    async with host(on_wire(llm, "anthropic", temperature=0.2, max_tokens=500)) as on:
        await on.ask(turn())
    body = llm.requests[0].body
    assert (body["temperature"], body["max_tokens"]) == (0.2, 500)


async def test_the_offline_model_needs_nothing(host: Hosting) -> None:
    async with host(ModelConfig()) as on:
        first, second = await on.ask(turn()), await on.ask(turn())
    assert first.text == second.text
    assert (first.model, first.usage.calls) == ("offline", 1)


async def test_a_paused_host_waits(host: Hosting) -> None:
    async with host(ModelConfig()) as on:
        on.pause()
        waiting = asyncio.create_task(on.gate())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        on.resume()
        await asyncio.wait_for(waiting, 1)


@pytest.mark.slow
@quick_on("autogen")
async def test_a_closed_host_leaves_no_connection(llm: LLM, host: Hosting, name: str) -> None:
    gc.collect()  # what other tests have left must not be laid at this one's door
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for wire in WIRES if can_ask(name, "anthropic") else WIRES[:2]:
            async with host(on_wire(llm, wire)) as on:
                await on.ask(turn())
            del on
        gc.collect()
    assert not [one for one in caught if issubclass(one.category, ResourceWarning)]


def test_an_unknown_host_is_named() -> None:
    with pytest.raises(ConfigError, match="unknown host 'crewai'"):
        host_factory("crewai")


def test_a_missing_framework_says_how_to_get_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(package: str) -> str | None:
        return None if package == BUILT_IN[name].framework else "here"

    monkeypatch.setattr("manyheads.config.environment.find_spec", nowhere)
    with pytest.raises(ConfigError) as caught:
        host_factory(name)
    others = [other for other in hosts() if other != name]
    assert caught.value.tried == f"installed hosts: {', '.join(others)}"
    command = install_command(name.replace("_", "-"))
    assert caught.value.hint == f"{command}, or take --host {others[0]}"


def test_without_any_framework_each_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(package: str) -> None: ...

    monkeypatch.setattr("manyheads.config.environment.find_spec", nowhere)
    with pytest.raises(ConfigError) as caught:
        host_factory(RunConfig().host)
    assert caught.value.tried == "installed hosts: none"
    assert all(
        install_command(extra) in (caught.value.hint or "")
        for extra in ("autogen", "agentscope", "agent-framework")
    )


def test_the_only_framework_that_is_installed_is_the_default(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def alone(package: str) -> str | None:
        return "here" if package == BUILT_IN[name].framework else None

    monkeypatch.setattr("manyheads.config.environment.find_spec", alone)
    assert RunConfig().host == load(["virsci"]).host == name


def test_a_host_of_another_package_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """By an entry point; configs take its name, and runs its factory."""
    brought = EntryPoint("theirs", "support.theirs", GROUP)

    def installed(*, group: str) -> list[EntryPoint]:
        return [brought]

    monkeypatch.setattr("manyheads.config.environment.entry_points", installed)
    hosts.cache_clear()
    try:
        config = load(["virsci"], ["host=theirs"])
        made = host_factory(config.host)(config.models, recall_nothing, 3)
        assert type(made).__name__ == "FilledHost"
    finally:
        hosts.cache_clear()


@pytest.mark.parametrize(("typed", "meant"), [("autogenn", "autogen"), ("agent-scope", "agentscope")])
def test_a_host_that_is_misspelt_is_guessed(typed: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean {meant}"):
        load(["virsci"], [f"host={typed}"])


@pytest.mark.slow
@quick_on("autogen")
def test_naming_the_host_does_not_import_its_framework(name: str) -> None:
    code = (
        f"import sys, manyheads.hosts.{name};"
        f" print({BUILT_IN[name].framework!r} in sys.modules, 'openai' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]
