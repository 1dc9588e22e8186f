"""The model client that everything of ours runs on: a native client behind its governor."""

import logging
from collections.abc import Sequence

from autogen_core import Component, FunctionCall, Image
from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage, UserMessage
from pydantic import BaseModel, ConfigDict

from manyheads.config import ModelConfig
from manyheads.hosts.autogen.base import Answered, BaseClient, Options
from manyheads.hosts.autogen.clients import NOTE, Note, native_client
from manyheads.models.answer import answered, spent
from manyheads.models.governor import Form, Governor
from manyheads.models.request import ollama_settings, refuse_unfit, refuse_unseen

log = logging.getLogger("manyheads")
NO_FORM: Form = {}


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
    ) -> None:
        super().__init__(config)
        self.alias = alias
        self.inner = inner or native_client(alias, config)
        self._owns_inner = inner is None
        self._governor = Governor(alias, config)

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
        form: Form = NO_FORM,
    ) -> Answered:
        """Send one request through the governor.

        Args:
            messages: the system prompt and the thread.
            options: the other arguments of `create`.
            notes: where notes for the user go.
            form: more arguments, which ask for a reply's schema.

        Raises:
            ConfigError: the messages do not fit the model's window, or hold images that it cannot see.
            ModelError: the server cannot be reached, refuses, or answers nonsense.
        """
        tokens = self.count_tokens(messages, tools=options.get("tools", ()))
        refuse_unfit(f"models.{self.alias}", self.config.name, tokens, self.config.context)
        refuse_unseen(self.alias, self.config, images=any(_has_image(message) for message in messages))
        sized = self._owns_inner and self.config.provider == "ollama"
        settings = ollama_settings(self.config, tokens) if sized else {}

        async def request(sent: Form) -> Answered:
            args = {**settings, **options.get("extra_create_args", {}), **sent}
            return await self._request(messages, options | {"extra_create_args": args})

        return tidy(await self._governor.call(request, form, notes))

    async def _request(self, messages: Sequence[LLMMessage], options: Options) -> Answered:
        note = Note()
        token = NOTE.set(note)
        try:
            result = await answered(self.inner.create(messages, **options), self.alias, self.config)
        finally:
            NOTE.reset(token)
        return result if isinstance(result, Answered) else self._noted(result, note)

    def _noted(self, result: CreateResult, note: Note) -> Answered:
        tokens = result.usage
        return Answered.model_construct(
            **vars(result),
            model=note.model or self.config.name,
            cut="length" in (result.finish_reason, note.stopped),
            spent=spent(self.config, tokens.prompt_tokens, tokens.completion_tokens),
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
