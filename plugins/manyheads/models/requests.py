"""What the hosts share in requests to a provider: arguments, cost, keys, limits, and how a request is cut to a context."""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from manyheads.base.errors import ConfigError
from manyheads.base.http import is_failure, is_unsent, status_of
from manyheads.config import ModelConfig
from manyheads.config.environment import NO_KEY, need_allowed, secret
from manyheads.core import NOTHING, Charge, Message, Usage
from manyheads.models.answers import Cache, count_of

FAR = 20
"""A server's token count below our estimate by this factor is false."""
FRAME = 512
"""Tokens that servers may add to a prompt: of its template, of tools."""


def usage_of(
    config: ModelConfig, read: object, written: object, asked: object = "", said: object = "", cache: Cache = (0, 0)
) -> Usage:  # fmt: skip
    """The usage of one request, from the server's token counts.

    Args:
        cache: both part of `read`.
        asked: the request, and `said` the answer, as texts or token counts. Without valid counts from the server, tokens
            are estimated, one per four bytes, so that a server without counts cannot evade a budget. Counts far below the
            estimate are not valid either.
    """
    reads, writes = count_of(read, 1), count_of(written)
    own = [
        each if isinstance(each, int) else 1 + len(str(each).encode("utf-8", "replace")) // 4
        for each in (asked, said)
    ]
    sound = reads is not None and writes is not None and reads >= own[0] / FAR and writes >= own[1] // FAR
    if reads is None or writes is None or not sound:
        reads, writes = own
    cache = cache if sound and sum(cache) <= reads else (0, 0)
    return Usage(
        input_tokens=reads, output_tokens=writes, cached_tokens=cache[0], calls=1,
        cost=_cost(config, reads, writes, *cache), estimated=int(not sound),
    )  # fmt: skip


def charge_of(config: ModelConfig, tokens: int, form: Mapping[str, Any]) -> Charge:
    """The most that a request of about `tokens` tokens comes to, if `max_tokens` is set; else with an answer of `ROOM` tokens.

    A token counts as two bytes, where an estimated one has four; the form of the reply is sent beside the messages. The whole
    prompt may be written to the provider's cache, unless requests do not ask for it.
    """
    reads, writes = 2 * tokens + len(str(form).encode()) // 2 + FRAME, config.max_tokens or ROOM
    stored = 0 if config.batch or config.prompt_cache is False else reads
    cost = _cost(config, reads, writes, stored=stored)
    return Charge(Usage(input_tokens=reads, output_tokens=writes, calls=1, cost=cost))


def failed_usage(config: ModelConfig, tokens: int, error: BaseException) -> Usage:
    """The usage of a request of about `tokens` tokens without an answer that counts.

    Nothing if it was not sent; a call without tokens if the server refused it. Else the server may have answered and charge for
    it, as after a time-out: the prompt and the longest answer.
    """
    if status_of(error):
        return Usage(calls=1, cost=_cost(config, 0, 0))
    if config.batch and isinstance(error, asyncio.CancelledError):  # fetched and paid at the next start
        return NOTHING
    if is_unsent(error) or not (is_failure(error) or isinstance(error, asyncio.CancelledError)):
        return NOTHING
    return usage_of(config, None, None, tokens, config.max_tokens or ROOM)


def _cost(config: ModelConfig, reads: int, writes: int, cached: int = 0, stored: int = 0) -> float | None:
    if (price := config.rate) is None:
        return None
    parts = ((cached, price.cached), (stored, price.cache_write))
    more = sum(tokens * (own - price.input) for tokens, own in parts if own is not None)
    return (reads * price.input + more + writes * price.output) / 1_000_000


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


# Addresses.


_USUAL_ADDRESS = {
    "openai": ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "anthropic": ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    "ollama": ("OLLAMA_HOST", "http://localhost:11434"),
}
"""For each provider: the SDK's variable for the address, and the provider's own address."""


def served_at(config: ModelConfig, *hosts: str) -> bool:
    """Whether a model's server is one of these hosts, also with a region before the name. Raises as `server_address`."""
    host = urlsplit(server_address(config)).hostname or ""
    return any(f".{host}".endswith(f".{name}") for name in hosts)


def server_address(config: ModelConfig) -> str:
    """The address of requests to a model: its `base_url`, else the default of the provider's SDK.

    Raises `ConfigError` if an environment variable is not set, or does not contain an address.
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
        hint = f"export {variable}=http://… again, or set base_url of the model"
        raise ConfigError(f"{variable} does not contain a server's address", hint=hint)
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

    Raises `ConfigError` if the variable is not set, or may not go to the model's server.
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
        tried=f"the environment variable {variable}, and your stored keys",
        hint=f"manyheads keys set {variable}, export {variable}=…, or name a server of your own in models.{alias}.base_url",
    )


IMAGE = 2000
"""Assumed tokens of an image, as in AgentScope."""
SAID = ("reply", "summary", "thought", "earlier_review", "reflection")
"""Labels of fences with earlier messages, as opposed to the task's subject."""
REPLY = re.compile(rf"^<({'|'.join(SAID)})>\n(?!…\n)(.*?)(?=\n</\1>$)", re.DOTALL | re.MULTILINE)
PAPER = re.compile(r"^(\[\d+\]\n+<paper>\n[^\n]*\n)(?!…\n)(.*?)(?=\n</paper>$)", re.DOTALL | re.MULTILINE)
"""A paper in a list, below the line of its title; a paper without a number is the task's subject."""

LOOKUP = re.compile(r"^(<lookup>\n[^\n]*\n)(?!…\n)(.*?)(?=\n</lookup>$)", re.DOTALL | re.MULTILINE)
"""What a tool answered before the question was repeated, below the line of its call."""


def fitted(thread: Sequence[Message], over: int) -> tuple[tuple[Message, ...], str]:
    """A thread shortened by a number of tokens, as far as possible, and a description of what was dropped.

    Drops replies and summaries first, oldest first; then abstracts of papers, from the end of each list, as the best match
    comes first; then what tools answered, oldest first.
    """
    messages, much = list(thread), 4 * over
    replies = papers = lookups = 0
    for place, message in enumerate(messages):
        text = message.text
        while much > 0 and (reply := REPLY.search(text)):
            text, much, replies = _without(text, reply.start(2), reply.end(2), much, replies)
        if much > 0 and message.sender == "assistant" and len(text) > 1:
            text, much, replies = _without(text, 0, len(text), much, replies)
        messages[place] = replace(message, text=text)
    for place, message in enumerate(messages):
        text = message.text
        for paper in reversed(list(PAPER.finditer(text))):
            if much > 0:
                text, much, papers = _without(text, paper.start(2), paper.end(2), much, papers)
        while much > 0 and (lookup := LOOKUP.search(text)):
            text, much, lookups = _without(text, lookup.start(2), lookup.end(2), much, lookups)
        messages[place] = replace(message, text=text)
    left_out = (
        f"{replies} earlier {'reply' if replies == 1 else 'replies or summaries'}" * (replies > 0),
        f"the abstract{'s' * (papers > 1)} of {papers} paper{'s' * (papers > 1)}" * (papers > 0),
        f"the answers of {lookups} tool call{'s' * (lookups > 1)}" * (lookups > 0),
    )
    return tuple(messages), " and ".join(filter(None, left_out))


def _without(text: str, start: int, end: int, much: int, count: int) -> tuple[str, int, int]:
    return f"{text[:start]}…{text[end:]}", much - _size(text[start:end]) + 3, count + 1


def size_of(thread: Sequence[Message]) -> int:
    """Estimated tokens of a thread's texts: one per four bytes."""
    return sum(_size(message.text) for message in thread) // 4


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
