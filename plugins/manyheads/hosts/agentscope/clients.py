"""AgentScope's own model classes, one a provider, with their retries off and two notes kept that they drop.

AgentScope's responses do not say why a model stopped nor which model answered. Each class below adds both to
the response's metadata, where `GovernedModel` reads them.
"""

import json
from collections.abc import Callable
from copy import copy
from datetime import datetime
from typing import Any

from agentscope.credential import AnthropicCredential, CredentialBase, OllamaCredential, OpenAICredential
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg, TextBlock, ToolCallBlock
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
from manyheads.core import Raw
from manyheads.errors import ConfigError
from manyheads.hosts.agentscope.messages import to_thread
from manyheads.models.keys import key_of
from manyheads.models.local import LocalModel, local_model
from manyheads.models.request import given, ollama_settings, openai_settings

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


def build(config: ModelConfig, alias: str = "default") -> ChatModelBase:
    """The native model of a config; `alias` is its name there.

    Raises:
        ConfigError: a key is missing from the environment, or the provider's package is not installed.
    """
    try:
        return _BUILDERS[config.provider](config, alias)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"provider {config.provider!r} needs the package {error.name!r}, which is not installed",
            hint="pip install 'manyheads[agentscope]'",
        ) from error


def _shared(config: ModelConfig) -> dict[str, Any]:
    return {"model": config.name, "stream": False, "max_retries": 0, "context_size": config.context}


def _openai(config: ModelConfig, alias: str) -> ChatModelBase:
    credential = OpenAICredential(api_key=SecretStr(key_of(config, alias)), base_url=config.base_url)
    client = {"timeout": config.timeout, "max_retries": 0}
    return OpenAIClient(credential, client_kwargs=client, **_shared(config))


def _anthropic(config: ModelConfig, alias: str) -> ChatModelBase:
    credential = AnthropicCredential(api_key=SecretStr(key_of(config, alias)), base_url=config.base_url)
    client = {"timeout": config.timeout, "max_retries": 0}
    parameters = AnthropicChatModel.Parameters(max_tokens=config.max_tokens)
    return AnthropicClient(credential, parameters=parameters, client_kwargs=client, **_shared(config))


def _ollama(config: ModelConfig, alias: str) -> ChatModelBase:
    credential = OllamaCredential(host=config.base_url)
    return OllamaClient(credential, client_kwargs={"timeout": config.timeout}, **_shared(config))


def _local(config: ModelConfig, alias: str) -> ChatModelBase:
    return LocalClient(local_model(config), config)


_BUILDERS: dict[str, Callable[[ModelConfig, str], ChatModelBase]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "ollama": _ollama,
    "offline": _local,
    "replay": _local,
}


def settings(config: ModelConfig, tokens: int) -> dict[str, Any]:
    """Arguments of each request to a provider, for a prompt of about so many tokens."""
    match config.provider:
        case "openai":
            return openai_settings(config)
        case "ollama":
            return ollama_settings(config, tokens)
        case "anthropic":
            return given(temperature=config.temperature)
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
