"""Odd answers of model servers on any host: on each wire, and through a client that the user brings."""

import asyncio
from importlib import import_module
from io import BytesIO
from typing import Any

import pytest
from agentscope.message import UserMsg
from PIL import Image as Picture

from attack import server as attack
from attack.server import Misbehaving
from manyheads.base.errors import ModelError
from manyheads.core import Image, Message, Reply
from support.native import Hosting, own_client
from support.turns import LOOK_UP, model, turn

ANTHROPIC = pytest.param("anthropic", marks=pytest.mark.slow)  # imports its SDK
FOREIGN = ("Error code", "validation error", "NoneType", "Traceback", "Errno", "{'", "line 1 column", "502")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")


async def asked_through(on: str, server: Misbehaving, behaviour: str, **settings: Any) -> Reply[Any]:
    """A turn over a client of the framework's own."""
    async with own_client(on, server.base_url, behaviour) as client, asyncio.timeout(20):
        host: Any = import_module(f"manyheads.hosts.{on}.host").make_host(
            {"default": model(server, provider="openai", **settings)}, ready={"default": client}
        )
        return await host.ask(turn(tools=(LOOK_UP,)))


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("tool_bigint", "it calls the tool search_papers with arguments with a number"),
        ("tool_deep", "it calls the tool search_papers with arguments of"),
        ("hugeint", "its answer is no"),
        ("deepbody", "its answer is no"),
        ("badutf", "its answer is no"),
        ("html", "its answer is no"),
        ("s500", "failed: 500 Internal Server Error (no)"),
    ],
)
async def test_a_client_of_the_users(name: str, server: Misbehaving, behaviour: str, words: str) -> None:
    with pytest.raises(ModelError) as told:
        await asked_through(name, server, behaviour, name=behaviour, response_format=False)
    assert words in told.value.message
    said = str(told.value).replace(server.url, "")  # whose port may be anything
    assert not any(foreign in said for foreign in FOREIGN)


@pytest.mark.parametrize("behaviour", ["usagenull", "usagestr", "usagefloat", "tool_null", "idnum"])
async def test_what_is_only_untidy_is_read_through_a_client_of_the_users(
    name: str, server: Misbehaving, behaviour: str
) -> None:
    reply = await asked_through(name, server, f"once:{behaviour}", name="m", retries=1)
    assert reply.usage.tokens > 0


async def test_half_a_character_in_a_tool_call_is_kept_as_a_mark(host: Hosting, server: Misbehaving) -> None:
    async with host(model(server, name="once:tool_surrogate")) as on:
        reply = await on.ask(turn(tools=(LOOK_UP,)))
    assert [call.arguments for call in reply.tool_calls] == [{"query": "?"}]


@pytest.mark.parametrize("wire", ["ollama", ANTHROPIC])
@pytest.mark.parametrize(
    "usage", [None, *(pytest.param(odd, marks=pytest.mark.slow) for odd in ({}, -5, 1.5, 10**18)), "many"]
)
async def test_tokens_that_a_server_does_not_count_are_estimated(
    host: Hosting, server: Misbehaving, wire: str, usage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def uncounted(body: dict[str, Any]) -> dict[str, Any]:
        if wire == "ollama":
            return {**body, "prompt_eval_count": usage, "eval_count": usage}
        odd = usage if usage in (None, {}) else {"input_tokens": usage, "output_tokens": usage}
        return {**body, "usage": odd}

    monkeypatch.setitem(attack.JSON, "uncounted", uncounted)
    noise = BytesIO()
    Picture.effect_noise((300, 300), 80).save(noise, "PNG")
    shown = Message("Look.", images=(Image(noise.getvalue()),))
    async with host(model(server, provider=wire, base_url=server.url, name="uncounted")) as on:
        reply, seen = await on.ask(turn()), await on.ask(turn(shown))
    assert reply.usage.estimated == reply.usage.calls == 1
    assert reply.usage.input_tokens > 100
    assert 2000 < seen.usage.input_tokens < 4000, (
        "a picture counts as one, not as the letters that it is sent in"
    )


@pytest.mark.parametrize("wire", ["openai", "ollama", ANTHROPIC])
@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("badutf", "its answer is not UTF-8 text"),
        ("deepbody", "its answer is not JSON"),
        ("nothing", "its answer is not a chat completion"),
        ("errortext", "it says: no capacity"),
        ("s500", "failed: 500 Internal Server Error (no)"),
    ],
)
async def test_a_server_that_fails_is_told_in_plain_words(
    host: Hosting, server: Misbehaving, wire: str, behaviour: str, words: str
) -> None:
    url = server.base_url if wire == "openai" else server.url
    async with host(model(server, provider=wire, base_url=url, name=behaviour)) as on:
        with pytest.raises(ModelError) as told:
            await on.ask(turn())
    assert words in told.value.message
    said = str(told.value).replace(server.url, "")  # whose port may be anything
    assert not any(foreign in said for foreign in FOREIGN)


@pytest.mark.parametrize("wire", ["openai", "ollama", ANTHROPIC])
@pytest.mark.parametrize(("behaviour", "calls"), [("s307away", 1), ("s308away", 1), ("s301", 1), ("s307", 4)])
async def test_a_redirection_leaves_the_server_never_and_has_an_end(
    host: Hosting, server: Misbehaving, wire: str, behaviour: str, calls: int
) -> None:
    url = server.base_url if wire == "openai" else server.url
    async with host(model(server, provider=wire, base_url=url, name=behaviour, retries=1)) as on:
        with pytest.raises(ModelError, match=rf"{behaviour[1:4]}.*use that as base_url"):
            await on.ask(turn())
    assert (server.counts[behaviour], server.strangers[behaviour]) == (calls, 0)


async def test_an_answer_that_repeats_the_key_is_read_without_it(
    host: Hosting, server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdefghij")
    async with host(model(server, provider="openai", name="saykey")) as on:
        reply = await on.ask(turn())
    assert "…" in repr(reply)
    assert "sk-0123" not in repr(reply)


async def test_a_redirection_within_the_server_is_followed(
    host: Hosting, server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = attack.Answer(b"", 307, {"Location": "/v1/chat/completions"})
    monkeypatch.setitem(attack.RAW, "moved", lambda request, good: moved)
    async with host(model(server, provider="openai", name="once:moved", retries=0)) as on:
        await on.ask(turn())
    assert server.counts["once:moved"] == 2


@pytest.mark.parametrize("behaviour", ["tool_bigint", "tool_deep"])
async def test_an_agent_over_a_client_of_the_users_does_not_wait_for_ever(
    name: str, server: Misbehaving, behaviour: str
) -> None:
    async with own_client(name, server.base_url, behaviour, stream=True) as client, asyncio.timeout(20):
        agent = import_module(f"manyheads.hosts.{name}").role_agent("reviewer", client, tools=[LOOK_UP])
        if name == "agentscope":
            await agent.reply(UserMsg("user", "Review owls."))
            return
        with pytest.raises(ModelError, match="the tool search_papers"):
            await (agent.run(task="Review owls.") if name == "autogen" else agent.run("Review owls."))
