"""The native AutoGen client behind a model of the config; the provider's SDK is imported when it is chosen.

Retries of the SDKs are off: the governor is the one layer of retries.
"""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from autogen_core.models import ChatCompletionClient

from manyheads.config import ModelConfig
from manyheads.hosts.autogen.info import model_info
from manyheads.hosts.autogen.local import LocalClient
from manyheads.models.keys import key_of
from manyheads.models.request import given, openai_settings


@dataclass
class Note:
    """What AutoGen's clients leave out of an SDK's answer."""

    model: str = ""
    stopped: str = ""

    def take(self, response: Any) -> None:
        """Read OpenAI's, Anthropic's or Ollama's response."""
        self.model = getattr(response, "model", None) or ""
        self.stopped = getattr(response, "done_reason", None) or ""


NOTE: ContextVar[Note] = ContextVar("note")
"""Of the request that is under way."""


def _note_answers(api: Any, method: str) -> None:
    """Make a method of an SDK's client also fill in the note."""
    call = getattr(api, method)

    async def noted(*args: Any, **kwargs: Any) -> Any:
        response = await call(*args, **kwargs)
        if note := NOTE.get(None):
            note.take(response)
        return response

    setattr(api, method, noted)


def native_client(alias: str, config: ModelConfig) -> ChatCompletionClient:
    """The AutoGen client of a model.

    Raises:
        ConfigError: the provider's public service needs a key that the environment does not hold.
    """
    if config.provider == "openai":
        return _openai(alias, config)
    if config.provider == "anthropic":
        return _anthropic(alias, config)
    if config.provider == "ollama":
        return _ollama(config)
    return LocalClient(config)


def _openai(alias: str, config: ModelConfig) -> ChatCompletionClient:
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    client = OpenAIChatCompletionClient(
        model=config.name,
        base_url=config.base_url,  # pyright: ignore[reportArgumentType] - None keeps it from guessing by name
        api_key=key_of(config, alias),
        timeout=config.timeout,
        max_retries=0,
        model_info=model_info(config),
        include_name_in_message=False,
        **openai_settings(config),
    )
    # It warns on every call when a server answers with a longer name than it was asked for, as most do.
    client._resolved_model = None
    _note_answers(client._client.chat.completions, "create")
    return client


def _anthropic(alias: str, config: ModelConfig) -> ChatCompletionClient:
    from autogen_ext.models.anthropic import AnthropicChatCompletionClient

    client = AnthropicChatCompletionClient(
        model=config.name,
        api_key=key_of(config, alias),
        timeout=config.timeout,
        max_retries=0,
        model_info=model_info(config),
        **given(base_url=config.base_url, temperature=config.temperature, max_tokens=config.max_tokens),
    )
    _note_answers(client._client.messages, "create")
    return client


def _ollama(config: ModelConfig) -> ChatCompletionClient:
    from autogen_ext.models.ollama import OllamaChatCompletionClient

    client = OllamaChatCompletionClient(
        model=config.name,
        model_info=model_info(config),
        **given(host=config.base_url),
    )
    client._resolved_model = None
    _note_answers(client._client, "chat")
    return client
