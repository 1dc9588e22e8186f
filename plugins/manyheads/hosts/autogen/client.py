"""What our AutoGen model clients share: everything of the interface that follows from `create`."""

import json
from abc import abstractmethod
from asyncio import AbstractEventLoop
from base64 import b64decode
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal, TypedDict, Unpack, cast

from autogen_core import CancellationToken, Component, ComponentModel, FunctionCall, Image
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel, ConfigDict, SecretStr

from manyheads.config import ModelConfig
from manyheads.core import Image as Picture
from manyheads.core import Message, Raw, Usage
from manyheads.hosts.bridge import local_model
from manyheads.hosts.clients import Connection, Ledger, governed, unwalked
from manyheads.models.requests import (
    Governor,
    key_of,
    ollama_settings,
    openai_settings,
    options,
    refuse_unfit,
    refuse_unseen,
    usage_of,
)
from manyheads.pool import Pool
from manyheads.replies import ReplyModel

# What AutoGen asks of a model before it is used.


def model_info(config: ModelConfig) -> ModelInfo:
    """A model's abilities, in AutoGen's words.

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


class Answered(CreateResult):
    """An answer with what AutoGen's result has no place for."""

    model: str
    """Which model answered, in the server's words."""
    cut: bool = False
    """Whether the model stopped at its length limit."""
    spent: Usage


Tools = Sequence[Tool | ToolSchema]
ToolChoice = Tool | Literal["auto", "required", "none"]


class Options(TypedDict, total=False):
    """The keyword arguments of `ChatCompletionClient.create`."""

    tools: Tools
    tool_choice: ToolChoice
    json_output: bool | type[BaseModel] | None
    extra_create_args: Mapping[str, Any]
    cancellation_token: CancellationToken | None


class BaseClient(ChatCompletionClient):
    """A model client of ours.

    Args:
        config: the model's settings.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self._total = RequestUsage(prompt_tokens=0, completion_tokens=0)

    @abstractmethod
    async def answer(self, messages: Sequence[LLMMessage], options: Options) -> Answered:
        """One answer to the messages."""

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Tools = (),
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """See `ChatCompletionClient.create`."""
        options = Options(
            tools=tools,
            tool_choice=tool_choice,
            json_output=json_output,
            extra_create_args=extra_create_args or {},
            cancellation_token=cancellation_token,
        )
        result = await self.answer(messages, options)
        self._total.prompt_tokens += result.usage.prompt_tokens
        self._total.completion_tokens += result.usage.completion_tokens
        return result

    async def create_stream(
        self, messages: Sequence[LLMMessage], **options: Unpack[Options]
    ) -> AsyncGenerator[str | CreateResult, None]:
        """The answer as one chunk, then the result: words already shown could not be taken back by a retry."""
        result = await self.create(messages, **options)
        if isinstance(result.content, str) and result.content:
            yield result.content
        yield result

    def actual_usage(self) -> RequestUsage:
        return self._total

    def total_usage(self) -> RequestUsage:
        return self._total

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Tools = ()) -> int:
        """An estimate, a token for four bytes of text: exact counts would need a download of the tokenizer."""
        return (sum(len(_words(message).encode()) for message in messages) + len(str(tools))) // 4

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Tools = ()) -> int:
        return self.config.context - self.count_tokens(messages, tools=tools)

    @property
    def model_info(self) -> ModelInfo:
        return model_info(self.config)

    @property
    def capabilities(self) -> ModelInfo:  # pyright: ignore[reportIncompatibleVariableOverride] - deprecated twin
        return self.model_info


def _words(message: LLMMessage) -> str:
    content = message.content
    if isinstance(content, str):
        return content
    if isinstance(message, UserMessage):
        return " ".join(part for part in content if isinstance(part, str))
    return " ".join(str(part) for part in content)


# The offline and the replay model as an AutoGen client.


class LocalClient(BaseClient):
    """A model that answers in this process.

    Args:
        config: its settings; provider `offline` or `replay`.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self._model = local_model(config)

    async def answer(self, messages: Sequence[LLMMessage], options: Options) -> Answered:
        system = "\n".join(message.content for message in messages if isinstance(message, SystemMessage))
        answered = sum(
            len(message.content)
            for message in messages
            if isinstance(message, FunctionExecutionResultMessage)
        )
        return _result(await self._model.complete(system, tuple(_thread(messages)), answered), answered)

    async def close(self) -> None:
        """Nothing to close."""


def _thread(messages: Sequence[LLMMessage]) -> Iterator[Message]:
    """What was said, without tool calls and their results: those are only counted."""
    for message in messages:
        if isinstance(message, UserMessage):
            yield _user(message)
        elif isinstance(message, AssistantMessage) and isinstance(message.content, str):
            yield Message(message.content, sender="assistant")


def _user(message: UserMessage) -> Message:
    if isinstance(message.content, str):
        return Message(message.content)
    text = "\n".join(part for part in message.content if isinstance(part, str))
    pictures = (part for part in message.content if isinstance(part, Image))
    return Message(text, images=tuple(_picture(part) for part in pictures))


def _picture(image: Image) -> Picture:
    head, _, data = image.data_uri.partition(",")
    return Picture(b64decode(data), head.removeprefix("data:").removesuffix(";base64"))


def _result(raw: Raw, answered: int) -> Answered:
    asks = raw.tool_calls and not raw.text
    return Answered(
        finish_reason="function_calls" if asks else "length" if raw.truncated else "stop",
        content=_calls(raw, answered) if asks else raw.text,
        usage=RequestUsage(prompt_tokens=raw.usage.input_tokens, completion_tokens=raw.usage.output_tokens),
        cached=False,
        model=raw.model,
        cut=raw.truncated,
        spent=raw.usage,
    )


def _calls(raw: Raw, answered: int) -> list[FunctionCall]:
    return [
        FunctionCall(id=f"call_{answered + number}", name=call.name, arguments=json.dumps(call.arguments))
        for number, call in enumerate(raw.tool_calls)
    ]


# The native AutoGen client behind a model of the config; the provider's SDK is imported when it is chosen.
#
# Retries of the SDKs are off: the governor is the one layer of retries.


RESPONSE: ContextVar[list[Any]] = ContextVar("response")
"""The SDK's response to the request that is under way: AutoGen's clients leave out which model answered."""


def _note_responses(api: Any, method: str) -> None:
    """Make a method of an SDK's client also leave its response in `RESPONSE`."""
    call = getattr(api, method)

    async def noted(*args: Any, **kwargs: Any) -> Any:
        response = await call(*args, **kwargs)
        RESPONSE.get([]).append(response)
        return response

    setattr(api, method, noted)


def native_client(alias: str, config: ModelConfig) -> ChatCompletionClient:
    """The AutoGen client of a model.

    Raises:
        ConfigError: the provider's public service needs a key that the environment does not hold.
    """
    shared: dict[str, Any] = {"model": config.name, "model_info": model_info(config)}
    match config.provider:
        case "openai":
            from autogen_ext.models.openai import OpenAIChatCompletionClient

            client = OpenAIChatCompletionClient(
                **shared,
                base_url=config.base_url,  # pyright: ignore[reportArgumentType] - None keeps it from guessing by name
                api_key=key_of(config, alias), timeout=config.timeout, max_retries=0,
                include_name_in_message=False, **openai_settings(config),
            )  # fmt: skip
            # It warns on every call when a server answers with a longer name than it was asked for, as most do.
            client._resolved_model = None
            unwalked(client._client.chat.completions)
            _note_responses(client._client.chat.completions, "create")
        case "anthropic":
            from autogen_ext.models.anthropic import AnthropicChatCompletionClient

            settings = options(
                base_url=config.base_url, temperature=config.temperature, max_tokens=config.max_tokens
            )
            client = AnthropicChatCompletionClient(
                **shared, api_key=key_of(config, alias), timeout=config.timeout, max_retries=0, **settings
            )
            _note_responses(client._client.messages, "create")
        case "ollama":
            from autogen_ext.models.ollama import OllamaChatCompletionClient

            client = OllamaChatCompletionClient(**shared, **options(host=config.base_url))
            client._resolved_model = None
            _note_responses(client._client, "chat")
        case _:
            client = LocalClient(config)
    return client


# The model client that everything of ours runs on: a native client behind its governor.


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
        loop: shares the connections with all runs on it.

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
        loop: AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config)
        self.alias = alias
        pool = CLIENTS if loop else Pool(close_native)
        self._own = None if inner else Connection(config, alias, native_client, pool, loop)
        self.inner = self._own.client if self._own else cast(ChatCompletionClient, inner)
        self._governor = Governor(alias, config)

    async def answer(self, messages: Sequence[LLMMessage], options: Options) -> Answered:
        return await self.send(messages, options, Ledger())

    async def send(
        self,
        messages: Sequence[LLMMessage],
        options: Options,
        ledger: Ledger,
        reply_type: type[ReplyModel] | None = None,
    ) -> Answered:
        """Send one request through the governor.

        Args:
            messages: the system prompt and the thread.
            options: the other arguments of `create`.
            ledger: where notes for the user go.
            reply_type: the reply that is asked for; None for free text.

        Raises:
            ConfigError: the messages do not fit the model's window, or hold images that it cannot see.
            ModelError: the server cannot be reached, refuses, or answers nonsense.
        """
        tools = options.get("tools", ())
        tokens = self.count_tokens(messages, tools=tools)
        refuse_unfit(f"models.{self.alias}", self.config.name, tokens, self.config.context)
        refuse_unseen(self.alias, self.config, images=any(_has_image(message) for message in messages))
        sized = self._own and self.config.provider == "ollama"
        settings = ollama_settings(self.config, tokens) if sized else {}

        async def request(form: Mapping[str, Any]) -> Answered:
            args = {**settings, **options.get("extra_create_args", {}), **form}
            return await self._request(messages, options | {"extra_create_args": args})

        return tidy(await governed(self._governor, request, ledger, reply_type, tools=bool(tools)))

    async def _request(self, messages: Sequence[LLMMessage], options: Options) -> Answered:
        responses: list[Any] = []
        token = RESPONSE.set(responses)
        try:
            result = await self.inner.create(messages, **options)
        finally:
            RESPONSE.reset(token)
        if isinstance(result, Answered):
            return result
        response, tokens = responses[-1] if responses else None, result.usage
        return Answered.model_construct(
            **vars(result),
            model=getattr(response, "model", None) or self.config.name,
            cut="length" in (result.finish_reason, getattr(response, "done_reason", None)),
            spent=usage_of(self.config, tokens.prompt_tokens, tokens.completion_tokens),
        )

    async def close(self) -> None:
        """Close the connections of a client that was made here; a ready one is its owner's."""
        if self._own:
            await self._own.close()

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


CLIENTS = Pool(close_native)
"""Native clients that the runs of this process share."""


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
    content = message.content
    # A text is not looked through letter by letter.
    return not isinstance(content, str) and any(isinstance(part, Image) for part in content)


# One turn's view of a model: sends the reply's schema, counts what the turn costs.


class TurnClient(BaseClient):
    """The model client of one turn's agent.

    Args:
        client: the shared client of the model.
        reply_type: the reply that is asked for.
        warn: where notes for the user go.
    """

    def __init__(self, client: ModelClient, reply_type: type[ReplyModel], warn: list[str]) -> None:
        super().__init__(client.config)
        self._client, self._reply_type = client, reply_type
        self._tools: Tools = ()
        self.ledger = Ledger(model=client.config.name, warn=warn)

    async def answer(self, messages: Sequence[LLMMessage], options: Options) -> Answered:
        self.ledger.stop_if_failed()
        if self.config.provider == "anthropic":
            # It wants the tools in every request of a thread that holds calls, the last one too.
            self._tools = options.get("tools") or self._tools
            options = options | {"tools": self._tools}
        result = await self._client.send(messages, options, self.ledger, self._reply_type)
        self.ledger.enter(result.spent, result.model, truncated=result.cut)
        return as_text(result) if options.get("tool_choice") == "none" else result

    async def close(self) -> None:
        """The shared client is closed by the host."""


# Clients of AutoGen's that come ready made: what they are, and how they are written down.

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
