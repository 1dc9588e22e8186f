"""What the hosts share in requests to a provider: arguments, cost, keys, limits."""

import os
from typing import Any
from urllib.parse import urlsplit

from manyheads.config import ModelConfig
from manyheads.config.environment import NO_KEY, need_allowed, secret
from manyheads.core import Usage
from manyheads.errors import ConfigError
from manyheads.models.answers import count_of


def usage_of(
    config: ModelConfig, read: object, written: object, asked: object = "", said: object = ""
) -> Usage:
    """The usage of one request, from the server's token counts.

    Args:
        asked: the request, and `said` the answer, as texts or token counts. Without valid counts from the server, tokens
            are estimated, one per four bytes, so that a server without counts cannot evade a budget.
    """
    reads, writes = count_of(read, 1), count_of(written)
    estimated = 0
    if reads is None or writes is None:
        estimated = 1
        reads, writes = (
            each if isinstance(each, int) else 1 + len(str(each).encode("utf-8", "replace")) // 4
            for each in (asked, said)
        )
    price = config.price
    cost = (reads * price.input + writes * price.output) / 1_000_000 if price else None
    return Usage(input_tokens=reads, output_tokens=writes, calls=1, cost=cost, estimated=estimated)


ROOM = 2048
"""Tokens reserved for an answer without a length limit."""

# Arguments of requests besides the messages, and requests that every host refuses to send.


def options(**settings: Any) -> dict[str, Any]:
    """The settings with a value; others are not sent."""
    return {name: value for name, value in settings.items() if value is not None}


def ollama_settings(config: ModelConfig, tokens: int) -> dict[str, Any]:
    """Ollama's arguments for a prompt of a given number of tokens.

    Ollama silently cuts longer prompts, and its default window is a few thousand tokens. Requests a power of two, so that
    the server seldom reloads the model, and never more than the model's own window.
    """
    window, need = 8192, tokens + (config.max_tokens or ROOM)
    while window < need:
        window *= 2
    sampling = options(temperature=config.temperature, seed=config.seed, num_predict=config.max_tokens)
    return {"options": {**sampling, "num_ctx": min(window, config.window)}}


def refuse_unfit(who: str, model: str, tokens: int, context: int) -> None:
    """Raises `ConfigError` if a prompt is longer than a model's context window, both in tokens.

    `who` is the model in the config, such as `models.default`, or the agent if there is no config.
    """
    if tokens > context:
        raise ConfigError(
            f"{who}: a prompt of about {tokens:,} tokens does not fit {model} with a context of {context:,}",
            hint="use a larger model, set its `context` if it is larger, or shorten the discussion (turns)",
        )


def refuse_unseen(alias: str, config: ModelConfig, *, images: bool) -> None:
    """Raises `ConfigError` for images to a model without vision."""
    if images and not config.sees:
        raise ConfigError(
            f"models.{alias}: {config.name} cannot see images (vision: false)",
            hint="give this role another model with roles.<role>.model, or set its vision to true",
        )


# Addresses.


_USUAL_ADDRESS = {
    "openai": ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "anthropic": ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    "ollama": ("OLLAMA_HOST", "http://localhost:11434"),
}
"""For each provider: the SDK's variable for the address, and the provider's own address."""


def server_address(config: ModelConfig) -> str:
    """The address of requests to a model: its `base_url`, else the default of the provider's SDK.

    Raises:
        ConfigError: an environment variable is not set, or does not contain an address.
    """
    variable, usual = _USUAL_ADDRESS.get(config.provider, ("", ""))
    if config.base_url is not None or not (named := os.environ.get(variable, "").strip()):
        return config.address or usual
    address = named if config.provider != "ollama" or "://" in named else f"http://{named}"
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        parts = host = port = None
    if parts is None or parts.scheme not in ("http", "https") or not (host or config.provider == "ollama"):
        raise ConfigError(
            f"{variable} does not contain a server's address",
            hint=f"export {variable}=http://… again, or set base_url of the model",
        )
    if config.provider != "ollama":
        return address
    # As in Ollama's client: a bare host gets Ollama's port, an empty one is this machine.
    place = f"[{host}]" if host and ":" in host else host or "127.0.0.1"
    port = port or (11434 if "://" not in named else 443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{place}:{port}/{parts.path.strip('/')}".rstrip("/")


def is_own(config: ModelConfig) -> bool:
    """Whether the model is on another server than the provider's own, which charges for each request."""
    usual = {urlsplit(_USUAL_ADDRESS[name][1]).hostname for name in ("openai", "anthropic")}
    return bool(address := server_address(config)) and urlsplit(address).hostname not in usual


# Keys of model servers, only from the environment.


USUAL = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_OTHERS = {"anthropic": ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"), "ollama": ("OLLAMA_API_KEY",)}
"""What the SDKs send by themselves."""


def key_variable(config: ModelConfig) -> str | None:
    """The environment variable for a model's key, None for providers without keys."""
    return config.api_key_env or USUAL.get(config.provider)


def key_of(config: ModelConfig, alias: str = "default") -> str:
    """The key from the environment; optional for your own servers and for Ollama.

    Raises:
        ConfigError: the variable is not set, or may not go to the model's server.
    """
    variable, address = key_variable(config) or "", config.base_url or server_address(config)
    for name in _OTHERS.get(config.provider, ()):
        need_allowed(name, address, f"models.{alias}")
    if key := secret(variable, address, f"models.{alias}"):
        return key
    if config.provider == "ollama" or (config.base_url and not config.api_key_env):
        return NO_KEY
    raise ConfigError(
        f"models.{alias}: no key for {config.provider}/{config.name}",
        tried=f"the environment variable {variable}",
        hint=f"export {variable}=…, or name a server of your own in models.{alias}.base_url",
    )
