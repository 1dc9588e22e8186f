"""The native AutoGen client behind a model of the config; the provider's SDK is imported when it is chosen.

Retries of the SDKs are off: the governor is the one layer of retries.
"""

import os
from typing import Any

from autogen_core.models import ChatCompletionClient, ModelFamily, ModelInfo

from manyheads.config import ModelConfig
from manyheads.errors import ConfigError
from manyheads.models.governor import key_variable

NO_KEY = "none"
"""Sent to servers of one's own that ask for no key; the SDKs insist on one."""


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
    from manyheads.hosts.autogen.local import LocalClient

    return LocalClient(config)


def model_info(config: ModelConfig) -> ModelInfo:
    """What AutoGen asks of a model.

    Vision is always claimed: AutoGen's agents put the text `<image>` in an image's place otherwise, without a
    word. `ModelClient` refuses images for a model that cannot see them.
    """
    return ModelInfo(
        vision=True,
        function_calling=config.calls_tools,
        json_output=True,
        structured_output=True,
        family=ModelFamily.UNKNOWN,
        multiple_system_messages=True,
    )


def _openai(alias: str, config: ModelConfig) -> ChatCompletionClient:
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    client = OpenAIChatCompletionClient(
        model=config.name,
        base_url=config.base_url,  # pyright: ignore[reportArgumentType] - None keeps it from guessing by name
        api_key=_key(alias, config),
        timeout=config.timeout,
        max_retries=0,
        model_info=model_info(config),
        include_name_in_message=False,
        **_given(temperature=config.temperature, max_tokens=config.max_tokens, seed=config.seed),
    )
    # It warns on every call when a server answers with a longer name than it was asked for, as most do.
    client._resolved_model = None
    return client


def _anthropic(alias: str, config: ModelConfig) -> ChatCompletionClient:
    from autogen_ext.models.anthropic import AnthropicChatCompletionClient

    return AnthropicChatCompletionClient(
        model=config.name,
        api_key=_key(alias, config),
        timeout=config.timeout,
        max_retries=0,
        model_info=model_info(config),
        **_given(base_url=config.base_url, temperature=config.temperature, max_tokens=config.max_tokens),
    )


def _ollama(config: ModelConfig) -> ChatCompletionClient:
    from autogen_ext.models.ollama import OllamaChatCompletionClient

    client = OllamaChatCompletionClient(
        model=config.name,
        model_info=model_info(config),
        options=_ollama_options(config),
        **_given(host=config.base_url),
    )
    client._resolved_model = None
    return client


def _ollama_options(config: ModelConfig) -> dict[str, Any]:
    options = _given(temperature=config.temperature, seed=config.seed, num_predict=config.max_tokens)
    # Ollama cuts longer prompts silently; a window named in the config is one that it shall allocate.
    return options | ({"num_ctx": config.context} if "context" in config.model_fields_set else {})


def _given(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _key(alias: str, config: ModelConfig) -> str:
    variable = key_variable(config) or ""
    if key := os.environ.get(variable):
        return key
    if config.base_url and not config.api_key_env:
        return NO_KEY
    raise ConfigError(
        f"models.{alias}: no key for {config.provider}/{config.name}",
        tried=f"the environment variable {variable}",
        hint=f"export {variable}=…, or name a server of your own in models.{alias}.base_url",
    )
