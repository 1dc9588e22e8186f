"""A host without a framework and without a wire: half of a run's time is theirs, and the rules of a system are the same on each
host (`hosts/test_congruence.py`). Requests are governed, paid and answered as on the others.

    played = await play(config_for(llm, "topic=T"), folder, llm)
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pydantic import BaseModel

from manyheads.base.errors import UserError
from manyheads.config import ModelConfig, RunConfig
from manyheads.config.environment import BUILT_IN, HostEntry
from manyheads.core import Image, Message, Raw, Recall, Tool, ToolCall, Turn
from manyheads.engine.replying import TOOL_ROUNDS, with_passage
from manyheads.hosts.clients import ClientHost, Ledger, ServedModel, run_tool, tool_call
from manyheads.models.abilities import refuse_images
from support import play as real
from support.hosts import HOSTS
from support.llm import LLM
from support.play import Played, play

__all__ = ["EVERY", "NAME", "Play", "Played", "config_for", "known", "make_host", "play", "play_now"]

Sent = dict[str, Any]
Play = Callable[..., Any]
"""What runs a config to its end; see the fixture `run`."""
NAME = "direct"
EVERY: list[Any] = [NAME, *(pytest.param(host, marks=pytest.mark.slow) for host in HOSTS)]
"""For a rule that an agent framework could break: this host, and in the slow suite each of manyheads."""


@contextmanager
def known() -> Generator[None]:
    """While this lasts, configs may name the host as they name one of manyheads."""
    entry = HostEntry(NAME, __name__, "support", "manyheads")
    with patch.dict(BUILT_IN, {NAME: entry}):
        yield


def config_for(llm: LLM, *sets: str) -> RunConfig:
    """As in `support.play`, on this host unless the sets name another."""
    return real.config_for(llm, f"host={NAME}", *sets)


def play_now(folder: Path, llm: LLM, *sets: str) -> Played:
    """As in `support.play`, on this host."""
    return asyncio.run(play(config_for(llm, *sets), folder, llm))


class DirectModel(ServedModel[LLM]):
    """A test's model server, called."""

    client_type = LLM

    def open(self, key: str, sdk: dict[str, Any]) -> LLM:
        raise AssertionError(f"no model server of this process runs at {self.config.base_url}")

    @staticmethod
    def describe(client: LLM, base: ModelConfig) -> ModelConfig:
        return ServedModel.described(base, "test", client.base_url)

    @staticmethod
    def as_message(message: Sent) -> Message | None:
        asked = message["role"] in ("user", "assistant") and not message.get("tool_calls")
        return Message(_text(message), message["role"]) if asked else None

    @staticmethod
    def with_text(message: Sent, text: str) -> Sent:
        if isinstance(message["content"], str):
            return {**message, "content": text}
        return {**message, "content": [{"type": "text", "text": text}, *message["content"][1:]]}


class DirectHost(ClientHost[LLM]):
    """A `core.Host` on `DirectModel`; see `ClientHost`."""

    framework, serves = NAME, DirectModel

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        served = self.model(turn.speaker.model)
        ledger = Ledger(model=served.config.name, warn=warn)
        if turn.recall is not None and (passage := await self._recall(turn)):
            first, *rest = thread
            thread = (Message(with_passage(turn, first.text, passage), images=first.images), *rest)
        refuse_images(turn.speaker.model, served.config, images=any(each.images for each in thread))
        messages = [{"role": "system", "content": turn.speaker.system}, *map(_sent, thread)]
        tools = {tool.name: tool for tool in turn.tools if served.config.calls_tools}
        made = list[ToolCall]()
        for number in range(TOOL_ROUNDS + 1):
            offered = tools if number < TOOL_ROUNDS else {}
            answer = await self._request(served, turn, messages, [*offered.values()], ledger)
            if not (calls := answer.get("tool_calls")):
                return Raw(answer["content"], ledger.model, ledger.usage, (*made,), ledger.truncated)
            results = await asyncio.gather(*(_called(tools, each, ledger) for each in calls))
            made += results
            messages.append({"role": "assistant", **answer})
            messages += ({"role": "tool", "tool_call_id": call["id"], "content": result.result}
                         for call, result in zip(calls, results, strict=True))  # fmt: skip
        raise AssertionError("a model called tools that it was not offered")

    async def _request(
        self,
        served: ServedModel[LLM],
        turn: Turn[Any],
        messages: list[Sent],
        tools: list[Tool],
        ledger: Ledger,
    ) -> Sent:
        offered = [_function(tool) for tool in tools]

        async def count(messages: Sequence[Sent]) -> int:
            return sum(len(_text(each).encode()) for each in messages) // 4

        async def send(fitting: Sequence[Sent], tokens: int, form: Mapping[str, Any]) -> Sent:
            body = {"model": served.config.name, "messages": fitting, **form}
            if offered:
                body |= {"tools": offered, "tool_choice": "auto" if turn.may_call else "none"}
            call = served.client.asked(body)
            return await served.counted(call, ledger, tokens, _spent)

        answer = await served.request(messages, count, send, ledger, turn.reply_type, tools=bool(tools))
        return answer["choices"][0]["message"]


def make_host(models: Mapping[str, ModelConfig], recall: Recall, attempts: int) -> DirectHost:
    """See `manyheads.hosts`."""
    ready = {
        alias: LLM.running[url] for alias, model in models.items() if (url := model.base_url) in LLM.running
    }
    return DirectHost(models, recall, attempts, ready)


def _sent(message: Message) -> Sent:
    parts: Any = [{"type": "text", "text": message.text}, *map(_picture, message.images)]
    return {"role": message.sender, "content": parts if message.images else message.text}


def _picture(image: Image) -> Sent:
    url = f"data:{image.media_type};base64,{b64encode(image.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def _text(message: Sent) -> str:
    content = message["content"] or ""
    return content if isinstance(content, str) else content[0]["text"]


@cache
def _schema(arguments: type[BaseModel]) -> dict[str, Any]:
    return arguments.model_json_schema()


def _function(tool: Tool) -> Sent:
    about = {"name": tool.name, "description": tool.description, "parameters": _schema(tool.arguments)}
    return {"type": "function", "function": about}


async def _called(tools: Mapping[str, Tool], call: Sent, ledger: Ledger) -> ToolCall:
    """A tool's answer, or its refusal; what is no refusal ends the turn at the next request (`Ledger.failure`)."""
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    try:
        result, failed = await run_tool(tools[name], ledger, json.loads(arguments)), False
    except (ValueError, UserError) as error:
        result, failed = str(error), True
    return tool_call(name, arguments, result, failed=failed)


def _spent(answer: Sent) -> tuple[int, int, object, bool, tuple[int, int]]:
    usage, choice = answer["usage"], answer["choices"][0]
    cut = choice["finish_reason"] == "length"
    return usage["prompt_tokens"], usage["completion_tokens"], choice["message"], cut, (0, 0)
