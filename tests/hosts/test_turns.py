"""One turn on any host: what the model is sent, what comes back, what can go wrong. All must do the same."""

import base64
import gc
import logging
import subprocess
import sys
import warnings
from io import BytesIO
from typing import Any

import pytest
from PIL import Image as Pillow

from manyheads.base.errors import ConfigError, ModelError, install_command
from manyheads.config import ModelConfig, RunConfig
from manyheads.config.environment import BUILT_IN, GROUP, hosts
from manyheads.core import Image, Message, Speaker, recall_nothing
from manyheads.hosts import host_factory
from manyheads.systems.loading import load
from support.entry_points import brought
from support.faults import Fault
from support.llm import LLM
from support.native import Hosting
from support.requests import Request
from support.turns import model, turn

WIRES = ("openai", "ollama", "anthropic")
EACH: list[Any] = [*WIRES[:2], pytest.param(WIRES[2], marks=pytest.mark.slow)]


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


@pytest.mark.parametrize("wire", EACH)
async def test_an_answer_that_was_cut_off_is_asked_for_again(llm: LLM, host: Hosting, wire: str) -> None:
    llm.faults.append(Fault("truncated"))
    async with host(on_wire(llm, wire)) as on:
        reply = await on.ask(turn())
    assert "length limit" in reply.warnings[0]
    assert (reply.attempts, reply.usage.calls) == (2, 2)
    assert reply.usage.input_tokens > 0


@pytest.mark.parametrize("wire", EACH)
async def test_a_server_that_is_not_there(host: Hosting, wire: Any, caplog: pytest.LogCaptureFixture) -> None:
    nowhere = ModelConfig(provider=wire, name="m", base_url="http://127.0.0.1:9/v1", retries=0)
    async with host(nowhere) as on:
        with (
            caplog.at_level(logging.DEBUG),
            pytest.raises(ModelError, match=r"127\.0\.0\.1:9.*cannot be reached"),
        ):
            await on.ask(turn())
    assert "exhausted" not in caplog.text, "AgentScope's own"


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
        pytest.param({"provider": "anthropic"}, "ANTHROPIC_API_KEY", marks=pytest.mark.slow),
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


@pytest.mark.slow  # imports its SDK
async def test_anthropic_is_sent_its_settings_and_no_others(llm: LLM, host: Hosting, name: str) -> None:
    for settings in ({"temperature": 0.2, "max_tokens": 500}, {}):
        async with host(on_wire(llm, "anthropic", **settings)) as on:
            await on.ask(turn())
    given, bare = (request.body for request in llm.requests)
    assert (given["temperature"], given["max_tokens"]) == (0.2, 500)
    assert "temperature" not in bare
    own = {"autogen": 4096, "agentscope": 8192, "agent_framework": 1024}
    assert bare["max_tokens"] == own[name], "the client's own: the API wants one"


@pytest.mark.slow
async def test_a_closed_host_leaves_no_connection(llm: LLM, host: Hosting, name: str) -> None:
    gc.collect()  # what other tests have left must not be laid at this one's door
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for wire in WIRES:
            async with host(on_wire(llm, wire)) as on:
                await on.ask(turn())
            del on
        gc.collect()
    assert not [one for one in caught if issubclass(one.category, ResourceWarning)]


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


def test_the_only_framework_that_is_installed_is_the_default(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def alone(package: str) -> str | None:
        return "here" if package == BUILT_IN[name].framework else None

    monkeypatch.setattr("manyheads.config.environment.find_spec", alone)
    assert RunConfig().host == load(["virsci"]).host == name


def test_a_host_of_another_package_is_registered() -> None:
    """By an entry point; configs take its name, and runs its factory."""
    with brought(GROUP, {"theirs": "support.theirs"}):
        config = load(["virsci"], ["host=theirs"])
        made = host_factory(config.host)(config.models, recall_nothing, 3)
    assert type(made).__name__ == "FilledHost"


def test_two_hosts_of_a_name_are_refused_when_named() -> None:
    with brought(GROUP, {"theirs": "support.theirs"}, "theirs"):
        assert load(["virsci"], ["host=autogen"]).host == "autogen"
        with pytest.raises(ConfigError, match="both have a host 'theirs'"):
            load(["virsci"], ["host=theirs"])


@pytest.mark.parametrize(("typed", "meant"), [("autogenn", "autogen"), ("agent-scope", "agentscope")])
def test_a_host_that_is_misspelt_is_guessed(typed: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean {meant}"):
        load(["virsci"], [f"host={typed}"])


@pytest.mark.slow
def test_naming_the_host_does_not_import_its_framework(name: str) -> None:
    code = (
        f"import sys, manyheads.hosts.{name};"
        f" print({BUILT_IN[name].framework!r} in sys.modules, 'openai' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]
