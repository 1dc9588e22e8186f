"""AgentScope's own model classes, one a provider, with their retries off and two notes kept that they drop.

AgentScope's responses do not say why a model stopped nor which model answered. Each class below adds both to
the response's metadata, where `GovernedModel` reads them.
"""

import base64
import json
from asyncio import AbstractEventLoop
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any, cast
from uuid import uuid4

from agentscope.credential import AnthropicCredential, CredentialBase, OllamaCredential, OpenAICredential
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import (
    AssistantMsg,
    Base64Source,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    UserMsg,
)
from agentscope.model import (
    AnthropicChatModel,
    ChatModelBase,
    ChatResponse,
    ChatUsage,
    OllamaChatModel,
    OpenAIChatModel,
)
from agentscope.tool import ToolChoice
from pydantic import SecretStr

from manyheads.config import ModelConfig, Provider
from manyheads.core import Image, Message, Raw, Usage
from manyheads.errors import ConfigError
from manyheads.hosts.bridge import local_model
from manyheads.hosts.clients import Connection, Ledger, governed, unwalked
from manyheads.models.offline import LocalModel
from manyheads.models.requests import (
    Governor,
    key_of,
    ollama_settings,
    openai_settings,
    options,
    usage_of,
)
from manyheads.pool import Pool
from manyheads.replies import ReplyModel

# Threads as AgentScope's messages, and back for the models that run in this process.


def to_msg(message: Message, speaker: str) -> Msg:
    """A message of a thread; what the speaker said itself bears its name."""
    if message.sender == "assistant":
        return AssistantMsg(name=speaker, content=message.text)
    content = [TextBlock(text=message.text), *map(_data, message.images)]
    return UserMsg(name="user", content=content)


def _data(image: Image) -> DataBlock:
    data = base64.b64encode(image.data).decode("ascii")
    return DataBlock(source=Base64Source(data=data, media_type=image.media_type))


def to_thread(messages: Sequence[Msg]) -> tuple[str, list[Message], int]:
    """System prompt, thread, and the number of tool results that stand in it."""
    system = "\n".join(msg.get_text_content() or "" for msg in messages if msg.role == "system")
    talk = [msg for msg in messages if msg.role != "system"]
    answered = sum(isinstance(block, ToolResultBlock) for msg in talk for block in msg.content)
    return system, [message for msg in talk for message in _messages(msg)], answered


def _messages(msg: Msg) -> Iterator[Message]:
    """A message's text, and the hints that hooks put into it as what the speaker is told."""
    if text := msg.get_text_content():
        images = tuple(_images(msg)) if msg.role == "user" else ()
        yield Message(text, "assistant" if msg.role == "assistant" else "user", images)
    for block in msg.content:
        if isinstance(block, HintBlock):
            yield Message(hint_text(block))


def hint_text(block: HintBlock) -> str:
    if isinstance(block.hint, str):
        return block.hint
    return "\n".join(part.text for part in block.hint if isinstance(part, TextBlock))


def _images(msg: Msg) -> Iterator[Image]:
    for block in msg.content:
        if isinstance(block, DataBlock) and isinstance(block.source, Base64Source):
            yield Image(base64.b64decode(block.source.data), block.source.media_type)


TRUNCATED, ANSWERED_BY, USAGE = "truncated", "answered_by", "usage"


class OpenAIClient(OpenAIChatModel):
    """Any OpenAI-compatible server."""

    def _parse_completion_response(
        self, start_datetime: datetime, response: Any, audio_format: str = "wav"
    ) -> ChatResponse:
        parsed = super()._parse_completion_response(start_datetime, response, audio_format)
        # Without choices, as in an error sent with status 200, AgentScope would see an empty answer.
        return _noted(parsed, response.model, response.choices[0].finish_reason == "length")


class OllamaClient(OllamaChatModel):
    """An Ollama server."""

    async def _parse_completion_response(self, start_datetime: datetime, response: Any) -> ChatResponse:
        parsed = await super()._parse_completion_response(start_datetime, response)
        return _noted(parsed, response.model, response.done_reason == "length")


class AnthropicClient(AnthropicChatModel):
    """Anthropic's service."""

    async def _parse_anthropic_completion_response(
        self, start_datetime: datetime, response: Any
    ) -> ChatResponse:
        parsed = await super()._parse_anthropic_completion_response(start_datetime, response)
        return _noted(parsed, response.model, response.stop_reason == "max_tokens")


class LocalClient(ChatModelBase):
    """The offline model or the replay model as a model of AgentScope."""

    def __init__(self, local: LocalModel, config: ModelConfig) -> None:
        super().__init__(
            CredentialBase(), config.name, self.Parameters(), stream=False, max_retries=0,
            context_size=config.context,
        )  # fmt: skip
        self.formatter = OpenAIChatFormatter()
        self._local = local

    async def _call_api(
        self,
        model_name: str,
        messages: list[Msg],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: ToolChoice | None = None,
        **kwargs: Any,
    ) -> ChatResponse:
        return _response(await self._local.complete(*to_thread(messages)))


def _response(raw: Raw) -> ChatResponse:
    calls = [
        ToolCallBlock(id=f"call_{number}", name=call.name, input=json.dumps(call.arguments))
        for number, call in enumerate(raw.tool_calls, start=1)
    ]
    text = [TextBlock(text=raw.text)] if raw.text else []
    usage = ChatUsage(raw.usage.input_tokens, raw.usage.output_tokens, time=0.0)
    response = ChatResponse(content=[*text, *calls], is_last=True, usage=usage)
    response.metadata[USAGE] = raw.usage.model_dump()
    return _noted(response, raw.model, raw.truncated)


def _noted(response: ChatResponse, model: str | None, truncated: bool) -> ChatResponse:
    response.metadata |= {ANSWERED_BY: model, TRUNCATED: truncated}
    return response


def build(alias: str, config: ModelConfig) -> ChatModelBase:
    """The native model of a config; `alias` is its name there.

    Raises:
        ConfigError: a key is missing from the environment, or the provider's package is not installed.
    """
    shared: dict[str, Any] = {
        "model": config.name,
        "stream": False,
        "max_retries": 0,
        "context_size": config.context,
    }
    client: dict[str, Any] = {"timeout": config.timeout, "max_retries": 0}
    try:
        match config.provider:
            case "openai":
                key = SecretStr(key_of(config, alias))
                openai = OpenAICredential(api_key=key, base_url=config.base_url)
                model = OpenAIClient(openai, client_kwargs=client, **shared)
                unwalked(model.client.chat.completions)
            case "anthropic":
                key = SecretStr(key_of(config, alias))
                anthropic = AnthropicCredential(api_key=key, base_url=config.base_url)
                limit = AnthropicChatModel.Parameters(max_tokens=config.max_tokens)
                model = AnthropicClient(anthropic, parameters=limit, client_kwargs=client, **shared)
            case "ollama":
                ollama = OllamaCredential(host=config.base_url)
                model = OllamaClient(ollama, client_kwargs={"timeout": config.timeout}, **shared)
            case _:
                model = LocalClient(local_model(config), config)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"provider {config.provider!r} needs the package {error.name!r}, which is not installed",
            hint="pip install 'manyheads[agentscope]'",
        ) from error
    return model


def settings(config: ModelConfig, tokens: int) -> dict[str, Any]:
    """Arguments of each request to a provider, for a prompt of about so many tokens."""
    match config.provider:
        case "openai":
            return openai_settings(config)
        case "ollama":
            return ollama_settings(config, tokens)
        case "anthropic":
            return options(temperature=config.temperature)
        case _:
            return {}


def borrow(model: ChatModelBase) -> ChatModelBase:
    """A user's model, answering in one piece and with its retries off; it shares the user's connections."""
    ours = copy(model)
    ours.stream, ours.max_retries = False, 0
    if isinstance(model, OpenAIChatModel | AnthropicChatModel):
        vars(ours)["client"] = model.client.with_options(max_retries=0)
    return ours


def describe(model: ChatModelBase, settings: ModelConfig) -> ModelConfig:
    """The config of a user's model: what it says of itself, the settings for the rest."""
    kinds: dict[Provider, type[ChatModelBase]] = {"anthropic": AnthropicChatModel, "ollama": OllamaChatModel}
    known = (name for name, kind in kinds.items() if isinstance(model, kind))
    credential = vars(model.credential)
    update = {
        "base_url": credential.get("base_url") or credential.get("host"),
        "provider": next(known, "openai"),
        "name": model.model,
        "context": model.context_size,
        # Other classes than these two hand a provider's options to APIs that may not take them.
        "response_format": settings.response_format and isinstance(model, OpenAIChatModel | OllamaChatModel),
    }
    return settings.model_copy(update=update)


async def close(client: ChatModelBase) -> None:
    """Release a native model's connections."""
    if isinstance(client, OpenAIChatModel | OllamaChatModel | AnthropicChatModel):
        await client.client.close()


CLIENTS = Pool(close)
"""Native models that the runs of this process share."""


# A model of AgentScope whose every request goes through the one layer of retries, and is counted.


class TurnLedger(Ledger):
    """What the requests of one turn have cost, and which calls of tools they asked for."""

    def __init__(self, warn: list[str] | None = None) -> None:
        super().__init__(warn=warn)
        self.wants_tools = False
        """Whether the last answer asked for tools."""
        self._ids = set[str]()

    def read(self, response: ChatResponse, config: ModelConfig) -> None:
        """Count one answer."""
        model = str(response.metadata.get(ANSWERED_BY) or config.name)
        self.enter(_cost(response, config), model, truncated=bool(response.metadata.get(TRUNCATED)))
        calls = [block for block in response.content if isinstance(block, ToolCallBlock)]
        self.wants_tools = bool(calls)
        for call in calls:
            self._name(call)

    def _name(self, call: ToolCallBlock) -> None:
        """Some servers use an id again: AgentScope would take the call for one that is done, and not make it."""
        if not call.id or call.id in self._ids:
            call.id = uuid4().hex[:9]  # Mistral's servers take ids of nine letters and digits only
        self._ids.add(call.id)


def _cost(response: ChatResponse, config: ModelConfig) -> Usage:
    if known := response.metadata.get(USAGE):
        return Usage.model_validate(known)
    told = response.usage
    read, written = (told.input_tokens, told.output_tokens) if told else (0, 0)
    return usage_of(config, read, written)


class Alias:
    """A model of the config: its native client, shared by all turns, and its governor.

    Args:
        name: its name in the config.
        config: its settings.
        ready: a user's model to use instead of one made from the settings; never closed here.
        loop: shares the connections with all runs on it.
    """

    def __init__(
        self,
        name: str,
        config: ModelConfig,
        ready: ChatModelBase | None = None,
        loop: AbstractEventLoop | None = None,
    ) -> None:
        self.name, self.config = name, config
        self.governor = Governor(name, config)
        self._own = None
        if ready:
            self.client = borrow(ready)
        else:
            self._own = Connection(config, name, build, CLIENTS if loop else Pool(close), loop)
            self.client = self._own.client

    async def close(self) -> None:
        """Release the connections, if they were made here."""
        if self._own:
            await self._own.close()


class GovernedModel(ChatModelBase):
    """A thin model around a shared native client; for one turn, or for the life of a role's agent.

    Args:
        alias: the model of the config.
        ledger: where usage, notes and failures of tools are kept.
        reply_type: sent as the provider's response format where it takes one.
    """

    def __init__(self, alias: Alias, ledger: TurnLedger, reply_type: type[ReplyModel] | None = None) -> None:
        inner = alias.client
        super().__init__(
            inner.credential, inner.model, inner.parameters, stream=False, max_retries=0,
            context_size=alias.config.context,
        )  # fmt: skip
        self.formatter: Any = vars(inner)["formatter"]
        self.ledger = ledger
        self.in_config = f"models.{alias.name}"
        self.calls_tools = alias.config.calls_tools
        self._alias, self._inner, self._reply_type = alias, inner, reply_type

    async def __call__(
        self,
        messages: list[Msg],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: ToolChoice | None = None,
        **kwargs: Any,
    ) -> ChatResponse:
        """One governed request.

        The base class turns a cancelled call into an ordinary response; here cancellation surfaces.

        Raises:
            ModelError: the server cannot be reached, refuses, or fails for good.
        """
        return await self._call_api(self.model, messages, tools, tool_choice, **kwargs)

    async def _call_api(
        self,
        model_name: str,
        messages: list[Msg],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: ToolChoice | None = None,
        **kwargs: Any,
    ) -> ChatResponse:
        config = self._alias.config
        tokens = await self.count_tokens(messages, tools) if config.provider == "ollama" else 0
        options = {**settings(config, tokens), **kwargs}

        async def request(form: Mapping[str, Any]) -> ChatResponse:
            call = self._inner._call_api(model_name, messages, tools, tool_choice, **options, **form)
            return cast(ChatResponse, await call)  # never a stream

        response = await governed(
            self._alias.governor, request, self.ledger, self._reply_type, tools=bool(tools)
        )
        self.ledger.read(response, config)
        return _spoken(response)

    async def close(self) -> None:
        """Release the connections of a model that was made from a config; for roles' agents, when done."""
        await self._alias.close()


def _spoken(response: ChatResponse) -> ChatResponse:
    """The response without thoughts: an answer of nothing but thoughts would be asked for over and over."""
    if not any(isinstance(block, ToolCallBlock) for block in response.content):
        response.content = [block for block in response.content if not isinstance(block, ThinkingBlock)]
    return response
