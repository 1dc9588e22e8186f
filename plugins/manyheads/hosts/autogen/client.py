"""AutoGen's own client for a provider, behind a governor, for a turn or for any agent; what our component files share."""

import warnings
from collections.abc import AsyncGenerator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal, NoReturn, Self

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
from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    SecretStr,
    ValidationError,
    model_validator,
)

from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import ConfigError, describe
from manyheads.config import ModelConfig
from manyheads.core import Message, Usage
from manyheads.hosts.clients import Ledger, ServedModel
from manyheads.models.abilities import keeps_tools, refuse_images
from manyheads.models.answers import Cache, sound_arguments
from manyheads.models.requests import IMAGE, options

SECRETS = frozenset({
    "api_key", "x_api_key", "authorization", "azure_ad_token", "auth_token", "access_token", "password",
    "aws_access_key", "aws_secret_key", "aws_session_token",
})  # fmt: skip


class ComponentConfig(BaseModel):
    """Base of the configs of our components; raises `ConfigError` for an unknown key or a wrong value."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _for_people(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            raise ConfigError(
                f"component file: config: {describe(error)}",
                tried=f"keys: {', '.join(cls.model_fields)}",
                hint="write the file again: manyheads export, or dump_component() of the component",
            ) from None


class ComponentVersion(int):
    """The version of a component's files. AutoGen would read a newer file as if it were of this version."""

    def __gt__(self, other: int) -> bool:
        return self != other


class Versioned:
    """Refuses component files of other versions."""

    component_version = ComponentVersion(1)

    @classmethod
    def _from_config_past_version(cls, config: Mapping[str, Any], version: int) -> NoReturn:
        raise ConfigError(
            f"{cls.__name__}: the component file is of version {version}; version {cls.component_version:d} is needed",
            hint="write it again with this version of manyheads: manyheads export, or dump_component()",
        )


def without_keys(data: Any) -> Any:
    """A component's config without its secrets at any depth: AutoGen would write them as asterisks or in clear text."""
    if isinstance(data, ComponentModel):
        return data.model_copy(update={"config": without_keys(data.config)})
    if isinstance(data, Mapping):
        return {
            key: without_keys(value)
            for key, value in data.items()
            if not isinstance(value, SecretStr) and str(key).lower().replace("-", "_") not in SECRETS
        }
    return [without_keys(item) for item in data] if isinstance(data, list | tuple) else data


PROVIDERS = {"OpenAI": "openai", "Ollama": "ollama", "Anthropic": "anthropic"}
"""The provider of an AutoGen client, by part of its class's name."""

# It would warn on every call if the server's answer has a longer model name than the request, as with most servers.
warnings.filterwarnings("ignore", "Resolved model mismatch")


def model_info(config: ModelConfig) -> ModelInfo:
    """A model's abilities, in AutoGen's terms.

    Vision is always claimed: otherwise AutoGen's agents silently replace an image with the text `<image>`.
    `GovernedClient` refuses images for a model that cannot read them.
    """
    return ModelInfo(
        vision=True, function_calling=config.calls_tools, json_output=True, structured_output=True,
        family=ModelFamily.UNKNOWN, multiple_system_messages=True,
    )  # fmt: skip


class NativeModel(ServedModel[ChatCompletionClient]):
    """A model of the config with AutoGen's client; the provider's SDK is imported on use."""

    client_type = ChatCompletionClient

    def open(self, key: str, sdk: dict[str, Any]) -> ChatCompletionClient:
        config, info = self.config, model_info(self.config)
        match config.provider:
            case "openai":
                from autogen_ext.models.openai import OpenAIChatCompletionClient

                # A base URL, even none, keeps it from guessing one by the model's name.
                return OpenAIChatCompletionClient(
                    model=config.name, model_info=info, api_key=key, include_name_in_message=False,
                    base_url=config.address, **sdk,  # pyright: ignore[reportArgumentType]
                )  # fmt: skip
            case "anthropic":
                from anthropic import AsyncAnthropic
                from autogen_ext.models.anthropic import BaseAnthropicChatCompletionClient

                create = AsyncAnthropic(api_key=key, base_url=config.address, **sdk).messages.create

                async def without_temperature(*, temperature: object, **arguments: Any) -> Any:
                    """AutoGen sends a temperature that nobody set; newer SDKs take none."""
                    return await create(**arguments, **self.settings(0))

                messages = SimpleNamespace(create=without_temperature)
                arguments: dict[str, Any] = options(model=config.name, max_tokens=config.max_tokens)
                return BaseAnthropicChatCompletionClient(
                    SimpleNamespace(messages=messages), create_args=arguments, model_info=info
                )
            case _:
                # The class that is exported takes no transport.
                from autogen_ext.models.ollama._ollama_client import BaseOllamaChatCompletionClient
                from ollama import AsyncClient

                client = AsyncClient(host=config.address, **sdk)
                return BaseOllamaChatCompletionClient(
                    client, create_args={"model": config.name}, model_info=info
                )

    @staticmethod
    def as_message(message: LLMMessage) -> Message | None:
        content = message.content
        first = content if isinstance(content, str) else content[0] if content else None
        if not isinstance(message, UserMessage | AssistantMessage) or not isinstance(first, str):
            return None
        return Message(first, "assistant" if isinstance(message, AssistantMessage) else "user")

    @staticmethod
    def with_text(message: LLMMessage, text: str) -> LLMMessage:
        content = text if isinstance(message.content, str) else [text, *message.content[1:]]
        return message.model_copy(update={"content": content})

    @staticmethod
    def describe(client: ChatCompletionClient, base: ModelConfig) -> ModelConfig:
        """A client of AutoGen keeps its own retries, so the governor makes none."""
        if isinstance(client, GovernedClient):
            return client.config
        kind, info = type(client).__name__, client.model_info
        provider = next((provider for mark, provider in PROVIDERS.items() if mark in kind), None)
        address = getattr(vars(client).get("_client"), "base_url", None)
        name = vars(client).get("_create_args", {}).get("model", kind)
        return ServedModel.described(
            base, name, address, provider=provider or "openai", tools=info["function_calling"], vision=info["vision"],
            response_format=base.response_format if provider else False, retries=0,
        )  # fmt: skip


Tools = Sequence[Tool | ToolSchema]


class GovernedClient(ChatCompletionClient):
    """A client over a shared model: back-off, Retry-After, time-out, a maximum of parallel requests.

    Args:
        served: the model.
        ledger: records usage, notes and failures of tools.
        reply_type: the reply of its one turn; None if it serves any agent.
    """

    def __init__(
        self, served: ServedModel[ChatCompletionClient], ledger: Ledger, reply_type: type[ReplyModel] | None
    ) -> None:
        self.served, self.config, self.ledger = served, served.config, ledger
        self._reply_type = reply_type
        self._tools: Tools = ()

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Tools = (),
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """See `ChatCompletionClient.create`.

        Raises:
            ConfigError: the messages do not fit the model's context, or contain images that it cannot read.
            ModelError: the server cannot be reached, refuses, or sends an invalid answer.
        """
        served, config = self.served, self.config
        if self._reply_type and (config.provider == "anthropic" or keeps_tools(config)):
            # Anthropic needs the tools in every request of a thread with tool calls, also in the last one.
            tools = self._tools = tools or self._tools
        if not self.ledger.may_call:
            tool_choice = "none"
        contents = (message.content for message in messages if isinstance(message.content, list))
        pictures = sum(isinstance(part, Image) for content in contents for part in content)
        refuse_images(served.alias, config, images=bool(pictures))

        async def count(messages: Sequence[LLMMessage]) -> int:
            return self.count_tokens(messages, tools=tools) + IMAGE * pictures

        async def send(fitting: Sequence[LLMMessage], tokens: int, form: Mapping[str, Any]) -> CreateResult:
            if served.local:
                return await _answer_here(served, fitting, self.ledger)
            # Anthropic's client is made with its settings.
            settings = served.settings(tokens) if served.ours and config.provider != "anthropic" else {}
            call = served.client.create(
                fitting, tools=tools, tool_choice=tool_choice, json_output=json_output,
                extra_create_args={**settings, **(extra_create_args or {}), **form}, cancellation_token=cancellation_token,
            )  # fmt: skip
            result = await served.counted(call, self.ledger, tokens, _spent)
            if isinstance(result.content, str):
                return result
            calls = [
                FunctionCall(
                    call.id or f"call_{number}", sound_arguments(call.name, call.arguments), call.name
                )
                for number, call in enumerate(result.content, start=1)
            ]
            return result.model_copy(update={"content": calls})

        result = await served.request(messages, count, send, self.ledger, self._reply_type, tools=bool(tools))
        # Some servers send an empty list of tool calls, or calls where none may be made.
        may_call = tools and not (self._reply_type and tool_choice == "none")
        if isinstance(result.content, str) or (result.content and may_call):
            return result
        return result.model_copy(update={"content": result.thought or "", "thought": None})

    async def create_stream(
        self, messages: Sequence[LLMMessage], **options: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        """The answer as one chunk, then the result: a retry could not take back streamed text."""
        result = await self.create(messages, **options)
        if isinstance(result.content, str) and result.content:
            yield result.content
        yield result

    def actual_usage(self) -> RequestUsage:
        return as_usage(self.ledger.usage)

    total_usage = actual_usage

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Tools = ()) -> int:
        """An estimate, one token per four bytes of text: exact counts would need a download of the tokenizer."""
        # Whether it is a `Tool` takes long to see: that is a protocol.
        schemas = [tool if isinstance(tool, dict) else tool.schema for tool in tools]
        return size_of(messages) + len(str(schemas)) // 4

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Tools = ()) -> int:
        return self.config.window - self.count_tokens(messages, tools=tools)

    @property
    def model_info(self) -> ModelInfo:
        return model_info(self.config)

    @property
    def capabilities(self) -> ModelInfo:  # pyright: ignore[reportIncompatibleVariableOverride] - deprecated twin
        return self.model_info

    async def close(self) -> None:
        """Does nothing: the owner closes the model."""


def as_usage(usage: Usage) -> RequestUsage:
    return RequestUsage(prompt_tokens=usage.input_tokens, completion_tokens=usage.output_tokens)


def size_of(messages: Sequence[LLMMessage]) -> int:
    """An estimate of the tokens of messages: one per four bytes of text."""
    return sum(len(_text(message).encode()) for message in messages) // 4


def _text(message: LLMMessage) -> str:
    """The text of a message, without pictures."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(str(part) for part in message.content if not isinstance(part, Image))


def _spent(result: CreateResult) -> tuple[int, int, object, bool, Cache]:
    usage, cut = result.usage, result.finish_reason == "length"
    return usage.prompt_tokens, usage.completion_tokens, result.content, cut, (0, 0)


async def _answer_here(
    served: ServedModel[ChatCompletionClient], messages: Sequence[LLMMessage], ledger: Ledger
) -> CreateResult:
    system = "\n".join(each.content for each in messages if isinstance(each, SystemMessage))
    thread = [each for each in map(served.as_message, messages) if each]
    results = (each.content for each in messages if isinstance(each, FunctionExecutionResultMessage))
    raw, made = await served.answer_here(system, thread, sum(map(len, results)), ledger)
    calls = [FunctionCall(mark, arguments, name) for mark, name, arguments in made]
    return CreateResult(
        finish_reason="function_calls" if calls else "length" if raw.truncated else "stop",
        content=calls or raw.text,
        usage=as_usage(raw.usage),
        cached=False,
    )


class ModelClientConfig(ComponentConfig):
    """Config of a `ModelClient` component; keys come from the environment."""

    model: ModelConfig
    alias: str = "default"
    """The model's name in messages to the user."""


class ModelClient(Versioned, GovernedClient, Component[ModelClientConfig]):
    """A model of a config as an AutoGen client, wherever AutoGen takes a `ChatCompletionClient`. Its owner closes it.

    Args:
        config: the model's settings.
        alias: its name in messages to the user.

    Raises:
        ConfigError: the provider needs a key that is not in the environment.
    """

    component_type = "model"
    component_config_schema = ModelClientConfig

    def __init__(self, config: ModelConfig, alias: str = "default") -> None:
        super().__init__(NativeModel(config, alias), Ledger(), None)

    async def close(self) -> None:
        """Close the connections."""
        await self.served.close()

    def _to_config(self) -> ModelClientConfig:
        return ModelClientConfig(model=self.config, alias=self.served.alias)

    @classmethod
    def _from_config(cls, config: ModelClientConfig) -> "ModelClient":
        return cls(config.model, config.alias)
