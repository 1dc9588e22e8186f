"""The model client that everything of ours runs on: a native client behind its governor."""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from autogen_core import Component, FunctionCall, Image
from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage, UserMessage
from pydantic import BaseModel, ConfigDict, ValidationError

from manyheads.config import ModelConfig
from manyheads.core import Usage
from manyheads.errors import ConfigError, ModelError
from manyheads.hosts.autogen.base import Answered, BaseClient, Options
from manyheads.hosts.autogen.clients import NOTE, Note, native_client, request_options
from manyheads.models.governor import Governor

log = logging.getLogger("manyheads")

NO_COMPLETION = (AttributeError, IndexError, KeyError, TypeError, json.JSONDecodeError, ValidationError)
"""What AutoGen's clients trip over when a server's answer is no chat completion."""


class ModelClientConfig(BaseModel):
    """Config of a `ModelClient` component; keys come from the environment."""

    model_config = ConfigDict(extra="forbid")

    model: ModelConfig
    alias: str = "default"
    """The model's name in messages to the user."""


class ModelClient(BaseClient, Component[ModelClientConfig]):
    """A model of a config as an AutoGen client: back-off, Retry-After, time-out and a cap on requests at once.

    Usable wherever AutoGen takes a `ChatCompletionClient`. Whoever makes it closes it.

    Args:
        config: the model's settings.
        alias: its name in messages to the user.
        inner: a ready native client to guard instead of one made from `config`.
        sends_form: whether requests ask for a reply's schema (`send`).

    Raises:
        ConfigError: the provider needs a key that the environment does not hold.
    """

    component_type = "model"
    component_config_schema = ModelClientConfig

    def __init__(
        self,
        config: ModelConfig,
        alias: str = "default",
        inner: ChatCompletionClient | None = None,
        *,
        sends_form: bool = False,
    ) -> None:
        super().__init__(config)
        self.alias = alias
        self.inner = inner or native_client(alias, config)
        self._owns_inner = inner is None
        takes_form = sends_form and config.response_format and config.provider in ("openai", "ollama")
        self._governor = Governor(alias, config.model_copy(update={"response_format": takes_form}))

    async def answer(self, messages: Sequence[LLMMessage], options: Options) -> Answered:
        notes: list[str] = []
        try:
            return await self.send(messages, options, notes)
        finally:
            for note in notes:
                log.warning(note)

    async def send(
        self,
        messages: Sequence[LLMMessage],
        options: Options,
        notes: list[str],
        form: Mapping[str, Any] | None = None,
    ) -> Answered:
        """Send one request through the governor.

        Args:
            messages: the system prompt and the thread.
            options: the other arguments of `create`.
            notes: where notes for the user go.
            form: more arguments, which ask for a schema; left out once the server refuses them.

        Raises:
            ConfigError: the messages do not fit the model's window, or hold images that it cannot see.
            ModelError: the server cannot be reached, refuses, or answers nonsense.
        """
        tokens = self.count_tokens(messages, tools=options.get("tools", ()))
        self._check(messages, tokens)
        sized = request_options(self.config, tokens) if self._owns_inner else {}
        extra = {**sized, **options.get("extra_create_args", {})}

        async def request(with_form: bool) -> Answered:
            args = {**extra, **(form or {})} if with_form else extra
            return await self._request(messages, options | {"extra_create_args": args})

        return tidy(await self._governor.call(request, notes))

    async def _request(self, messages: Sequence[LLMMessage], options: Options) -> Answered:
        note = Note()
        token = NOTE.set(note)
        try:
            async with asyncio.timeout(self.config.timeout):
                return self._answered(await self.inner.create(messages, **options), note)
        except TimeoutError as error:
            raise TimeoutError(f"no answer within {self.config.timeout:g} s") from error
        except NO_COMPLETION as error:
            raise ModelError(
                f"models.{self.alias}: what the server answered is no chat completion ({error})",
                tried=self.config.base_url or f"the {self.config.provider} service",
                hint=f"check models.{self.alias}.base_url (most end in /v1)",
            ) from error
        finally:
            NOTE.reset(token)

    def _answered(self, result: CreateResult, note: Note) -> Answered:
        if isinstance(result, Answered):
            return result
        return Answered.model_construct(
            **vars(result),
            model=note.model or self.config.name,
            cut="length" in (result.finish_reason, note.stopped),
            spent=self._price(result),
        )

    def _check(self, messages: Sequence[LLMMessage], tokens: int) -> None:
        if tokens > self.config.context:
            raise ConfigError(
                f"models.{self.alias}: a prompt of about {tokens:,} tokens does not fit {self.config.name}, "
                f"whose context is {self.config.context:,}",
                hint=f"set models.{self.alias}.context if the model takes more, or shorten the discussion (turns)",
            )
        if not self.config.vision and any(_has_image(message) for message in messages):
            raise ConfigError(
                f"models.{self.alias}: {self.config.name} cannot see images (vision: false)",
                hint="give this role a model that can: roles.<role>.model",
            )

    def _price(self, result: CreateResult) -> Usage:
        """What one request cost."""
        tokens, price = result.usage, self.config.price
        cost = price and (tokens.prompt_tokens * price.input + tokens.completion_tokens * price.output) / 1e6
        return Usage(
            input_tokens=tokens.prompt_tokens, output_tokens=tokens.completion_tokens, calls=1, cost=cost
        )

    async def close(self) -> None:
        """Close the connections of a client that was made here; a ready one is its owner's."""
        if self._owns_inner:
            await close_native(self.inner)

    def _to_config(self) -> ModelClientConfig:
        return ModelClientConfig(model=self.config, alias=self.alias)

    @classmethod
    def _from_config(cls, config: ModelClientConfig) -> "ModelClient":
        return cls(config.model, config.alias)


async def close_native(client: ChatCompletionClient) -> None:
    """Close a client's connections; AutoGen's Ollama client leaves its own open."""
    await client.close()
    if type(client).__name__ == "OllamaChatCompletionClient":
        await client.__dict__["_client"].close()


def tidy(result: Answered) -> Answered:
    """A result without the quirks of some servers: no empty list of tool calls, no call without arguments."""
    if isinstance(result.content, str):
        return result
    if not result.content:
        return as_text(result)
    calls = [
        call if call.arguments.strip() else FunctionCall(id=call.id, name=call.name, arguments="{}")
        for call in result.content
    ]
    return result.model_copy(update={"content": calls})


def as_text(result: Answered) -> Answered:
    """A result as text: what the model wrote beside its tool calls, if it made any."""
    if isinstance(result.content, str):
        return result
    return result.model_copy(update={"content": result.thought or "", "thought": None})


def _has_image(message: LLMMessage) -> bool:
    return isinstance(message, UserMessage) and any(isinstance(part, Image) for part in message.content)
