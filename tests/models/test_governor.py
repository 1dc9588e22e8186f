"""Retries, back-off and refusals, with the OpenAI client against a server that misbehaves."""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI

from manyheads.asking.replies import Remark
from manyheads.base.errors import ModelError
from manyheads.config import ModelConfig
from manyheads.models.abilities import forms_for
from manyheads.models.answers import plain
from manyheads.models.governor import Governor, TooLongError
from manyheads.systems.virsci.replies import Vote, vote_among
from support.faults import Fault, Kind, refuses_format
from support.llm import LLM

Ask = Callable[..., Coroutine[Any, Any, str]]
BARE: dict[str, Any] = {"none": {}}


@pytest.fixture
async def client(llm: LLM) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(api_key="none", base_url=llm.base_url, max_retries=0, timeout=5) as client:
        yield client


def governor(llm: LLM, **settings: Any) -> Governor:
    given: dict[str, Any] = {"retries": 2, "max_wait": 0.01, "concurrency": 4} | settings
    server = {"provider": "openai", "name": "m", "base_url": llm.base_url}
    return Governor("writer", ModelConfig.model_validate(server | given))


async def send(client: AsyncOpenAI, form: Mapping[str, Any]) -> str:
    messages: Any = [{"role": "user", "content": "hello"}]
    try:
        answer = await client.chat.completions.create(model="m", messages=messages, **form)
    except Exception as error:
        if failure := plain(error):  # as the hosts do
            raise failure from None
        raise
    return answer.choices[0].message.content or ""


@pytest.fixture
def ask(client: AsyncOpenAI) -> Ask:
    """One request through a governor, notes into `warn`."""

    async def ask(
        through: Governor, warn: list[str] | None = None, forms: Mapping[str, Any] | None = None
    ) -> str:
        forms = forms or forms_for(through.config, Remark, with_tools=False)
        return await through.call(lambda sent: send(client, sent), forms, [] if warn is None else warn)

    return ask


@pytest.mark.parametrize("status", [408, 429, 500, 529])
async def test_passing_failures_are_tried_again(llm: LLM, ask: Ask, status: int) -> None:
    llm.faults.append(Fault("status", status=status, times=2))
    warn: list[str] = []
    assert await ask(governor(llm), warn, BARE)
    assert llm.calls == 3
    assert len(warn) == 2
    assert warn[0].startswith("models.writer: ")


@pytest.mark.parametrize(
    ("status", "message", "step"),
    [
        (429, "slow down", "models.writer.concurrency"),
        (429, "You exceeded your current quota, please check your plan", "add credit"),
        (402, "This request requires more credits", "add credit"),
        (400, "no", "server reports"),
        (400, "This model's maximum context length is 2048 tokens", "models.writer.context"),
        (400, "context limit: 190000 + 20000 > 200000", "models.writer.context"),
        (400, "Please reduce the length of the messages", "models.writer.context"),
        (400, "m does not support tools", "models.writer.tools=false"),
        (404, "No endpoints found that support tool use", "models.writer.tools=false"),
        (404, "No endpoints found that support image input", "models.writer.vision=false"),
        (400, "Invalid schema for function 'add': no type", "models.writer.tools=false"),
        (400, "Invalid schema for response_format 'Remark'", "models.writer.response_format=none"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice', "models.writer.tools=false"),
        (400, "this model does not support image input", "models.writer.vision=false"),
        (422, "unknown field response_format", "models.writer.response_format=none"),
        (502, "bad gateway", "gateway"),
        (529, "Overloaded", "some minutes"),
    ],
)
async def test_a_refusal_has_the_step_that_mends_it(
    llm: LLM, ask: Ask, status: int, message: str, step: str
) -> None:
    llm.faults.append(Fault("status", status=status, message=message, times=None))
    with pytest.raises(ModelError) as told:
        await ask(governor(llm, retries=0), forms=BARE)
    assert step in str(told.value.hint)
    assert message in told.value.message
    assert "start the server" not in str(told.value.hint).partition(", or start")[0]
    assert "manyheads resume" in str(told.value.hint)


async def test_the_window_that_anthropic_names_is_read(llm: LLM, ask: Ask) -> None:
    said = (
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length"
    )
    llm.faults.append(Fault("status", status=400, message=said))
    with pytest.raises(TooLongError) as told:
        await ask(governor(llm), forms=BARE)
    assert (told.value.window, told.value.asked) == (200_000, 210_000)


@pytest.mark.parametrize(
    ("settings", "message", "step"),
    [
        ({"provider": "ollama", "name": "llama3.1"}, 'model "llama3.1" not found', "ollama pull llama3.1"),
        ({}, "The model `m` does not exist", "models.writer.name"),
        ({}, "Not Found", "/v1"),
    ],
)
async def test_what_is_not_there_is_told(
    llm: LLM, ask: Ask, settings: dict[str, Any], message: str, step: str
) -> None:
    llm.faults.append(Fault("status", status=404, message=message, times=None))
    with pytest.raises(ModelError) as told:
        await ask(governor(llm, **settings), forms=BARE)
    assert step in str(told.value.hint)


@pytest.mark.parametrize(
    ("cause", "step"),
    [
        (socket.gaierror(-2, "Name or service not known"), "DNS"),
        (ssl.SSLCertVerificationError("certificate verify failed: self-signed"), "SSL_CERT_FILE"),
        (ssl.SSLError("[SSL: WRONG_VERSION_NUMBER] wrong version number"), "http://"),
        (ConnectionRefusedError(111, "Connection refused"), "start the server"),
        (httpx.ReadTimeout("timed out"), "models.writer.timeout"),
    ],
)
async def test_a_way_that_is_closed_has_its_step(llm: LLM, cause: Exception, step: str) -> None:
    async def broken(form: Mapping[str, Any]) -> str:
        raise httpx.ConnectError("Connection error.") from cause

    with pytest.raises(ModelError) as told:
        await governor(llm, retries=0).call(broken, BARE, [])
    assert step in str(told.value.hint)
    assert str(cause) in told.value.message


@pytest.mark.parametrize("response_format", [True, False])
async def test_a_server_that_stays_down_is_given_up_after_the_retries(
    llm: LLM, ask: Ask, response_format: bool
) -> None:
    llm.faults.append(Fault("status", status=503, times=None))
    with pytest.raises(ModelError) as caught:
        await ask(governor(llm, response_format=response_format))
    assert llm.calls == 3
    assert f"models.writer (openai/m at {llm.base_url}): failed" in str(caught.value)
    assert caught.value.tried == "3 times"
    assert "manyheads resume" in str(caught.value)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "export OPENAI_API_KEY"),
        (403, "key is refused (403)"),
        (404, "no such model or address"),
        (400, "tried: once"),
        (422, "fault 422"),
        (429, "insufficient_quota"),
    ],
)
async def test_our_own_mistakes_are_not_tried_again(llm: LLM, ask: Ask, status: int, words: str) -> None:
    message = words if status == 429 else f"fault {status}"
    llm.faults.append(Fault("status", status=status, message=message, times=None))
    with pytest.raises(ModelError) as caught:
        await ask(governor(llm), forms=BARE)
    assert llm.calls == 1
    assert words in str(caught.value)


async def test_the_wait_that_a_server_asks_for_is_kept(llm: LLM, ask: Ask) -> None:
    llm.faults.append(Fault("status", status=429, retry_after=0.3))
    await ask(governor(llm, max_wait=10))
    first, second = llm.requests
    assert 0.3 <= second.at - first.at < 1


async def test_a_server_that_asks_for_too_long_a_wait_is_given_up(llm: LLM, ask: Ask) -> None:
    llm.faults.append(Fault("status", status=429, retry_after=3600, times=None))
    began = time.monotonic()
    with pytest.raises(ModelError, match="fault 429"):
        await ask(governor(llm, max_wait=60))
    assert llm.calls == 1
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("kind", ["drop", "drop_body", "malformed", "slow"])
async def test_broken_answers_are_tried_again(llm: LLM, client: AsyncOpenAI, ask: Ask, kind: Kind) -> None:
    client.timeout = 0.2
    llm.faults.append(Fault(kind, seconds=5))
    warn: list[str] = []
    assert await ask(governor(llm), warn)
    assert (llm.calls, len(warn)) == (2, 1)


def sent_forms(llm: LLM) -> list[str | None]:
    return [(request.body.get("response_format") or {}).get("type") for request in llm.requests]


@pytest.mark.parametrize("status", [400, 422, 500])
async def test_a_refused_response_format_is_left_out_and_remembered(llm: LLM, ask: Ask, status: int) -> None:
    llm.faults.append(refuses_format(status))
    warn: list[str] = []
    through = governor(llm, retries=0)
    assert await ask(through, warn)
    assert await ask(through, warn)
    assert await ask(governor(llm), warn)  # another alias of the same server and model
    assert sent_forms(llm) == ["json_schema", "json_object", None, None, None]
    assert warn == ["models.writer: the server refused response_format; the schema stays in the prompt"]


@pytest.mark.parametrize("status", [400, 500])
async def test_a_refused_schema_is_sent_as_an_object(llm: LLM, ask: Ask, status: int) -> None:
    llm.faults.append(Fault("refuse_schema", times=None, status=status))
    warn: list[str] = []
    through = governor(llm, retries=0)
    assert await ask(through, warn)
    assert await ask(through, warn)
    assert sent_forms(llm) == ["json_schema", "json_object", "json_object"]
    assert llm.requests[-1].body["response_format"]["schema"]["title"] == "Remark"
    ranged = forms_for(through.config, vote_among(Vote, 3), with_tools=False)["object"]["response_format"]
    assert ranged["schema"]["properties"]["choice"] == {"enum": [1, 2, 3]}, "grammars that know no limits"
    assert warn == ["models.writer: the server refused response_format; the schema is sent as json_object"]


@pytest.mark.parametrize(("value", "first"), [("schema", "json_schema"), ("object", "json_object")])
@pytest.mark.parametrize("status", [400, 500])
async def test_a_form_that_the_config_names_is_sent_or_is_an_error(
    llm: LLM, ask: Ask, value: str, first: str, status: int
) -> None:
    llm.faults.append(refuses_format(status))
    with pytest.raises(ModelError) as told:
        await ask(governor(llm, response_format=value, retries=0))
    assert sent_forms(llm) == [first]
    assert "models.writer.response_format=true" in str(told.value.hint)
    assert await ask(governor(llm))


async def test_a_failure_that_is_gone_without_a_form_changes_its_request_alone(llm: LLM, ask: Ask) -> None:
    llm.faults.append(Fault("status", status=500, times=None, when=lambda request: request.has_form))
    through, warn = governor(llm), list[str]()
    for _ in range(2):
        assert await ask(through, warn)
    assert sent_forms(llm) == ["json_schema", "json_schema", "json_object", None] * 2
    assert "response_format=none" in warn[-1]


async def test_one_outage_blames_no_response_format(llm: LLM, ask: Ask) -> None:
    llm.faults.append(Fault("status", status=500, times=12))
    through, warn = governor(llm, retries=9), list[str]()
    await asyncio.gather(*(ask(through, warn) for _ in range(4)))
    assert list(forms_for(through.config, Remark, with_tools=False)) == ["schema", "object", "none"]
    assert any("for this request" in note for note in warn)
    assert not any("refused" in note for note in warn)
    await ask(through)
    assert sent_forms(llm)[-1] == "json_schema"


async def test_a_form_is_not_changed_for_an_unexplained_failure_before_a_wait(llm: LLM, ask: Ask) -> None:
    llm.faults.append(Fault("status", status=500, times=3, retry_after=0.1))
    warn: list[str] = []
    assert await ask(governor(llm, max_wait=5), warn)
    assert sent_forms(llm) == ["json_schema", "json_schema", "json_object", None]
    times = [request.at for request in llm.requests]
    assert all(later - earlier >= 0.1 for earlier, later in pairwise(times))
    assert len(warn) == 4


async def test_a_request_that_is_wrong_anyway_blames_no_response_format(llm: LLM, ask: Ask) -> None:
    llm.faults.append(Fault("status", status=400, times=3))
    with pytest.raises(ModelError):
        await ask(governor(llm))
    await ask(governor(llm))
    assert llm.requests[-1].has_form


@pytest.mark.parametrize(
    "message",
    [
        "maximum context length is 2048 tokens",
        "m does not support tools",
        "Invalid schema for function 'add_numbers': In context=('properties', 'a')",
    ],
)
async def test_a_refusal_of_something_else_blames_no_response_format(
    llm: LLM, ask: Ask, message: str
) -> None:
    llm.faults.append(Fault("status", status=400, message=message, times=None))
    with pytest.raises(ModelError):
        await ask(governor(llm))
    assert llm.calls == 1


@pytest.mark.parametrize(("status", "calls"), [(400, 1), (500, 2)])
async def test_a_request_without_a_form_has_none_to_refuse(
    llm: LLM, ask: Ask, status: int, calls: int
) -> None:
    llm.faults.append(Fault("status", status=status))
    warn: list[str] = []
    with suppress(ModelError):
        await ask(governor(llm), warn, BARE)
    assert llm.calls == calls
    assert not any("response_format" in note for note in warn)
    await ask(governor(llm))
    assert llm.requests[-1].has_form


async def test_a_waiting_retry_holds_no_place(llm: LLM, ask: Ask) -> None:
    llm.faults.append(Fault("status", status=429, retry_after=1))
    through = governor(llm, concurrency=1, max_wait=5)
    slow = asyncio.create_task(ask(through))
    await asyncio.sleep(0.1)
    began = time.monotonic()
    await ask(through)
    assert time.monotonic() - began < 0.8
    await slow


@pytest.mark.parametrize("fault", [Fault("slow", seconds=60), Fault("status", status=429, retry_after=30)])
async def test_cancelling_stops_at_once(llm: LLM, ask: Ask, fault: Fault) -> None:
    llm.faults.append(fault)
    through = governor(llm, concurrency=1, max_wait=60)
    task = asyncio.create_task(ask(through))
    while not llm.calls:  # noqa: ASYNC110 - the server counts in a thread of its own
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1)
    assert llm.calls == 1
    assert await asyncio.wait_for(ask(through), 1)


async def test_our_own_bugs_keep_their_name(llm: LLM) -> None:
    async def broken(form: Mapping[str, Any]) -> str:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await governor(llm).call(broken, BARE, [])


async def test_no_more_requests_than_allowed_at_once(llm: LLM, ask: Ask) -> None:
    llm.delay = 0.05
    through = governor(llm, concurrency=3)
    await asyncio.gather(*(ask(through) for _ in range(12)))
    assert llm.peak == 3
