"""Tokens that a provider reads from its cache of prompts, on any host: steered, counted, priced, shown."""

from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from manyheads.config import BudgetConfig, ModelConfig
from manyheads.core import Message, Price, Usage
from manyheads.engine.budget import Budget
from manyheads.systems.results import closing_lines
from support.caches import PromptCache
from support.command import result_of
from support.faults import Fault
from support.hosts import HOSTS
from support.llm import LLM
from support.native import TOPIC, Hosting, Native, own_client, small
from support.requests import Request
from support.turns import LOOK_UP, model, turn

WIRES = ["openai", pytest.param("anthropic", marks=pytest.mark.slow)]  # whose SDK is slow to import
FIELD = {"openai": "prompt_cache_key", "anthropic": "cache_control"}
PRICE = Price(input=10, output=0, cached=1, cache_write=12.5)
PAPER = "<paper>\n" + "".join(f"Line {number} of a paper on owls.\n" for number in range(400)) + "</paper>\n"
QUESTIONS = ("How new is it?", "How sound is it?", "How clear is it?", "Is it for a journal?")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")


def config_of(llm: LLM, wire: str, **settings: Any) -> ModelConfig:
    url = llm.base_url if wire == "openai" else llm.url
    return model(llm, provider=wire, base_url=url, price=PRICE, **settings)


async def asked(host: Hosting, config: ModelConfig, **more: Any) -> list[Usage]:
    async with host(config) as on:
        return [(await on.ask(turn(Message(f"{PAPER}{question}"), **more))).usage for question in QUESTIONS]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_cache_is_steered_counted_and_priced(llm: LLM, host: Hosting, wire: str) -> None:
    llm.cache = PromptCache()
    budget = Budget(BudgetConfig())
    spent = await asked(host, config_of(llm, wire, prompt_cache=True), meter=budget.asking)
    read = [1 + len(request.text) // 4 for request in llm.requests]
    assert [usage.input_tokens for usage in spent] == pytest.approx(read, abs=1), "all, on either wire"
    assert all(0.8 * usage.input_tokens < usage.cached_tokens < usage.input_tokens for usage in spent[2:])
    assert not any(usage.estimated for usage in spent)
    assert budget.spent.cached_tokens == sum(usage.cached_tokens for usage in spent)
    last = spent[-1]
    assert last.cost == pytest.approx((last.input_tokens * 10 - last.cached_tokens * 9) / 1e6)
    whole = sum(usage.input_tokens for usage in spent) * 10 / 1e6
    assert sum(usage.cost or 0 for usage in spent) < 0.7 * whole
    keys = {request.body.get("prompt_cache_key") for request in llm.requests}
    assert (len(keys), None in keys) == (1, wire == "anthropic")


@pytest.mark.parametrize("wire", WIRES)
async def test_each_round_of_tools_reads_the_rounds_before_it(llm: LLM, host: Hosting, wire: str) -> None:
    llm.cache, llm.tool_calls = PromptCache(), [("look_up", {"subject": "owls"})]
    async with host(config_of(llm, wire, prompt_cache=True)) as on:
        usage = (await on.ask(turn(Message(f"{PAPER}{QUESTIONS[0]}"), tools=(LOOK_UP,)))).usage
    assert usage.calls == 2
    assert 0.4 < usage.cached_tokens / usage.input_tokens < 0.5, "the second reads what the first sent"


@pytest.mark.parametrize("wire", WIRES)
async def test_other_servers_get_no_unknown_field(llm: LLM, host: Hosting, wire: str) -> None:
    await asked(host, config_of(llm, wire))
    assert not any(FIELD[wire] in str(request.body) for request in llm.requests)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_that_refuses_the_field_is_asked_without(llm: LLM, host: Hosting, wire: str) -> None:
    name = FIELD[wire]
    says = f"Unrecognized request argument supplied: {name}"
    llm.faults = [Fault("status", None, lambda request: name in str(request.body), status=400, message=says)]
    spent = await asked(host, config_of(llm, wire, prompt_cache=True))
    refused = [name in str(request.body) for request in llm.requests]
    assert (len(spent), refused.count(True), refused.count(False)) == (4, 1, 4)
    assert all(usage.input_tokens for usage in spent)


class Half(PromptCache):
    """A server that has seen half of every prompt."""

    def take(self, request: Request) -> tuple[int, int]:
        return len(request.text) // 8, 0


def anthropic_client(name: str, url: str) -> Any:
    """A client of a framework's own."""
    if name == "agentscope":
        from agentscope.credential import AnthropicCredential
        from agentscope.model import AnthropicChatModel

        credential = AnthropicCredential(api_key=SecretStr("none"), base_url=url)
        return AnthropicChatModel(credential, "m", stream=False)
    from agent_framework_anthropic import AnthropicClient
    from anthropic import AsyncAnthropic

    client: Any = AnthropicClient
    return client(model="m", anthropic_client=AsyncAnthropic(api_key="none", base_url=url))


@pytest.mark.parametrize(
    ("name", "wire"),
    [(name, "openai") for name in HOSTS]
    + [pytest.param(name, "anthropic", marks=pytest.mark.slow) for name in ("agentscope", "agent_framework")],
)
async def test_a_client_of_the_users_tells_of_its_cache(llm: LLM, name: str, wire: str) -> None:
    """As far as its framework does: AutoGen's says nothing of it. Its requests are not changed."""
    llm.cache = Half()
    make_host: Any = import_module(f"manyheads.hosts.{name}.host").make_host
    async with AsyncExitStack() as stack:
        own = own_client(name, llm.base_url) if wire == "openai" else None
        client = await stack.enter_async_context(own) if own else anthropic_client(name, llm.url)
        on = make_host({"default": config_of(llm, wire, prompt_cache=True)}, ready={"default": client})
        usage = (await on.ask(turn(Message(f"{PAPER}{QUESTIONS[0]}")))).usage
    [request] = llm.requests
    assert usage.input_tokens == pytest.approx(len(request.text) / 4, abs=1)
    assert usage.cached_tokens == (0 if name == "autogen" else len(request.text) // 8)
    assert FIELD[wire] not in str(request.body)


async def test_a_run_shows_them(llm: LLM, tmp_path: Path, name: str) -> None:
    llm.cache = Half()
    folder = await Native(name, small("rebuttal", llm), tmp_path).run(TOPIC)
    usage = result_of(folder)["usage"]
    assert usage["cached_tokens"] == sum(each["cached_tokens"] for each in usage["by_stage"].values())
    assert usage["cached_tokens"] == pytest.approx(usage["input_tokens"] / 2, abs=usage["calls"])
    assert f"{usage['cached_tokens']:,} from a cache" in closing_lines(folder)
    page = (folder / "report.html").read_text("utf-8")
    assert "from the provider's cache" in page.replace("&#39;", "'")
    assert '<th scope="col" class="num">from cache</th>' in page
