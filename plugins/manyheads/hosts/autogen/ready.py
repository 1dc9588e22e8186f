"""Clients of AutoGen's that come ready made: what they are, and how they are written down."""

from collections.abc import Mapping
from typing import Any

from autogen_core import ComponentModel
from autogen_core.models import ChatCompletionClient
from pydantic import SecretStr

from manyheads.config import ModelConfig
from manyheads.hosts.autogen.models import ModelClient

PROVIDERS = {"OpenAI": "openai", "Ollama": "ollama", "Anthropic": "anthropic"}
"""Which provider a client of AutoGen's speaks to, by a part of its class's name."""

SECRETS = frozenset({
    "api_key", "x_api_key", "authorization", "azure_ad_token", "auth_token", "access_token", "password",
    "aws_access_key", "aws_secret_key", "aws_session_token",
})  # fmt: skip


def described(client: ChatCompletionClient, base: ModelConfig) -> ModelConfig:
    """The settings under which a ready client is governed and recorded: `base` with what the client is.

    A ready client keeps its own retries, so the governor makes none.
    """
    if isinstance(client, ModelClient):
        return client.config
    kind, info = type(client).__name__, client.model_info
    known = next((provider for mark, provider in PROVIDERS.items() if mark in kind), None)
    settings = {
        "provider": known or "openai",
        "name": vars(client).get("_create_args", {}).get("model", kind),
        "base_url": _address(client),
        "tools": info["function_calling"],
        "vision": info["vision"],
        "response_format": base.response_format and known is not None,
        "retries": 0,
    }
    return base.model_copy(update=settings)


def _address(client: ChatCompletionClient) -> str | None:
    address = getattr(vars(client).get("_client"), "base_url", None)
    return str(address) if address else None


def without_keys(data: Any) -> Any:
    """A component's config without its secrets, however deep: AutoGen would write them as asterisks or as they are."""
    if isinstance(data, ComponentModel):
        return data.model_copy(update={"config": without_keys(data.config)})
    if isinstance(data, Mapping):
        return {k: without_keys(v) for k, v in data.items() if not _is_secret(str(k), v)}
    return [without_keys(item) for item in data] if isinstance(data, list | tuple) else data


def _is_secret(name: str, value: object) -> bool:
    return isinstance(value, SecretStr) or name.lower().replace("-", "_") in SECRETS
