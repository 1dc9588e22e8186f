"""The fake model server speaks the protocols that the providers' own clients expect."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from anthropic import AsyncAnthropic
from ollama import AsyncClient as Ollama
from openai import APIConnectionError, AsyncOpenAI, BadRequestError, RateLimitError

from manyheads.asking.forms import form, schema_of
from manyheads.asking.replies import REPLIES, ReplyModel
from manyheads.engine.replying import parse
from manyheads.systems.virsci.replies import Decision, Vote
from support.faults import Fault, Kind, refuses_format
from support.fill import fill
from support.llm import LLM

TOOL = {
    "type": "function",
    "function": {"name": "search", "parameters": {"type": "object", "properties": {}}},
}


def openai(llm: LLM) -> AsyncOpenAI:
    return AsyncOpenAI(api_key="none", base_url=llm.base_url, max_retries=0)


async def ask(client: AsyncOpenAI, question: str, **more: Any) -> Any:
    return await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": question}], **more
    )


async def read_stream(client: AsyncOpenAI) -> list[Any]:
    return [chunk async for chunk in await ask(client, form(Vote), stream=True)]


@pytest.mark.parametrize("kind", [kind for kind in REPLIES.values() if kind.model_fields])
def test_fills_every_reply_type(kind: type[ReplyModel]) -> None:
    filled = json.dumps(fill(schema_of(kind), "seed"))
    assert filled == json.dumps(fill(schema_of(kind), "seed"))
    assert parse(filled, kind)


async def test_answers_by_the_schema_in_the_prompt(llm: LLM) -> None:
    llm.answers |= {"reasoning": lambda request: f"asked as {request.title}"}
    async with openai(llm) as client:
        answer = await ask(client, f"Join?\n\n{form(Decision)}")
        again = await ask(client, f"Join?\n\n{form(Decision)}")
    assert parse(answer.choices[0].message.content, Decision) == Decision(
        reasoning="asked as Decision", accept=True
    )
    assert answer == again
    assert answer.usage.completion_tokens > 0
    assert llm.requests[0].asking.startswith("Join?")


async def test_streams_what_it_says_whole(llm: LLM) -> None:
    async with openai(llm) as client:
        whole = await ask(client, form(Vote))
        stream = await ask(client, form(Vote), stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in stream]
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(pieces) == whole.choices[0].message.content
    assert chunks[-1].usage == whole.usage


async def test_speaks_ollama(llm: LLM) -> None:
    llm.tool_calls = [("search", {"query": "graphs"})]
    client = Ollama(host=llm.url)
    messages = [{"role": "user", "content": form(Vote)}]
    called = await client.chat("m", messages, tools=[TOOL])
    answer = await client.chat("m", messages)
    pieces = [part.message.content or "" async for part in await client.chat("m", messages, stream=True)]
    assert called.message.tool_calls is not None
    assert called.message.tool_calls[0].function.name == "search"
    assert "".join(pieces) == answer.message.content
    assert answer.eval_count


async def test_speaks_anthropic(llm: LLM) -> None:
    llm.tool_calls = [("search", {"query": "graphs"})]
    tool: Any = {"name": "search", "input_schema": {"type": "object", "properties": {}}}
    ask: Any = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": form(Vote)}]}
    async with AsyncAnthropic(api_key="none", base_url=llm.url, max_retries=0) as client:
        called = await client.messages.create(**ask, tools=[tool])
        answer = await client.messages.create(**ask, system="You are Ada.")
        async with client.messages.stream(**ask, system="You are Ada.") as stream:
            streamed = await stream.get_final_message()
    assert called.content[0].type == "tool_use"
    assert streamed.content[0].to_dict()["text"] == answer.content[0].to_dict()["text"]
    assert streamed.usage.output_tokens == answer.usage.output_tokens
    assert llm.requests[-1].system == "You are Ada."


async def test_statuses_and_refusals(llm: LLM) -> None:
    llm.faults += [Fault("status", status=429, retry_after=2), refuses_format()]
    async with openai(llm) as client:
        with pytest.raises(RateLimitError) as limited:
            await ask(client, "hello")
        for _ in range(2):
            with pytest.raises(BadRequestError):
                await ask(client, "hello", response_format={"type": "json_object"})
        await ask(client, "hello")
    assert limited.value.response.headers["retry-after"] == "2"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", ["drop", "drop_body"])
async def test_dropped_connections(llm: LLM, kind: Kind, stream: bool) -> None:
    llm.faults.append(Fault(kind))
    async with openai(llm) as client:
        with pytest.raises((APIConnectionError, httpx.RemoteProtocolError)):
            await (read_stream(client) if stream else ask(client, form(Vote)))
        assert await ask(client, form(Vote))


async def test_serves_many_at_once_and_keeps_connections() -> None:
    with LLM(delay=0.2) as llm:
        async with openai(llm) as client:
            began = time.monotonic()
            await asyncio.gather(*(ask(client, f"question {i}") for i in range(20)))
            took = time.monotonic() - began
            made = llm.connections
            await asyncio.gather(*(ask(client, f"question {i}") for i in range(20)))
    assert llm.peak == 20
    assert llm.connections == made
    assert took < 3, "one after the other they would take four seconds"


def test_slow_answers_end_with_the_server() -> None:
    with LLM(faults=[Fault("slow", seconds=60)]) as llm:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{llm.base_url}/chat/completions", json={"messages": []}, timeout=0.2)
        began = time.monotonic()
    assert time.monotonic() - began < 1


@pytest.mark.slow
def test_runs_as_a_process_of_its_own(tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    command = [sys.executable, "-m", "support.llm", "--answers", '{"choice": 7}', "--calls-file", str(calls)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        asked = {"messages": [{"role": "user", "content": form(Vote)}]}
        answer = httpx.post(f"{url}/chat/completions", json=asked).json()
        process.kill()
    assert json.loads(answer["choices"][0]["message"]["content"])["choice"] == 7
    assert len(calls.read_text().splitlines()) == 1


def test_the_outside_cannot_be_reached() -> None:
    with pytest.raises(AssertionError, match="tried to reach"):
        httpx.get("http://192.0.2.1/", timeout=1)
