"""Models as chat clients of Agent Framework: its own client for a provider, behind a governor, for a turn or any agent."""

import json
from collections.abc import AsyncIterable, Awaitable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar, cast
from uuid import uuid4

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    ResponseStream,
    normalize_tools,
)
from agent_framework import Message as NativeMessage
from agent_framework.exceptions import ChatClientException
from agent_framework.observability import ChatTelemetryLayer

from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import ConfigError, install_command
from manyheads.base.text import scrubbed
from manyheads.config import ModelConfig, Provider
from manyheads.core import Message
from manyheads.engine.replying import TOOL_ROUNDS
from manyheads.hosts.clients import Ledger, ServedModel, tap
from manyheads.models.answers import sound_arguments
from manyheads.models.fitting import IMAGE
from manyheads.models.offline import LocalModel
from manyheads.models.requests import key_of, refuse_unseen

T = TypeVar("T")
Client = BaseChatClient[Any]
PROVIDERS: dict[str, Provider] = {"Ollama": "ollama", "Anthropic": "anthropic"}
"""The provider of an Agent Framework client, by part of its class's name."""


def to_native(message: Message) -> NativeMessage:
    """A message of a thread with its pictures in their original bytes."""
    pictures = (Content.from_data(image.data, image.media_type) for image in message.images)
    return NativeMessage(message.sender, [Content.from_text(message.text), *pictures])


class NativeModel(ServedModel[Client]):
    """A model of the config with Agent Framework's client; the provider's package is imported on use."""

    client_type = BaseChatClient

    def open(self) -> Client:
        config = self.config
        key = key_of(config, self.alias)
        try:
            match config.provider:
                case "openai":
                    from agent_framework_openai import RawOpenAIChatCompletionClient
                    from openai import AsyncOpenAI

                    sdk: Any = AsyncOpenAI(
                        api_key=key, base_url=config.address, timeout=config.timeout, max_retries=0
                    )
                    client: Client = RawOpenAIChatCompletionClient(config.name, async_client=sdk)
                case "anthropic":
                    from agent_framework_anthropic import AnthropicClient  # pyright: ignore[reportMissingImports]
                    from anthropic import AsyncAnthropic

                    sdk = AsyncAnthropic(
                        api_key=key, base_url=config.address, timeout=config.timeout, max_retries=0
                    )
                    client = cast(Any, AnthropicClient)(model=config.name, anthropic_client=sdk)
                    tap(SimpleNamespace(messages=sdk.beta.messages, _client=sdk._client), config)
                    return client
                case _:
                    from agent_framework_ollama import OllamaChatClient
                    from ollama import AsyncClient

                    sdk = AsyncClient(host=config.address, timeout=config.timeout)
                    client = OllamaChatClient(model=config.name, client=sdk)
        except ModuleNotFoundError as error:
            package = (error.name or "").replace("_", "-")
            raise ConfigError(
                f"models.{self.alias}: provider {config.provider!r} needs {package} on host agent_framework, which is "
                "not installed",
                hint=f"{install_command('agent-framework')}, or take the provider's OpenAI-compatible address: provider openai, base_url",
            ) from error
        tap(sdk, config)
        return client

    @staticmethod
    async def shut(client: Client) -> None:
        sdk: Any = getattr(client, "client", None) or vars(client)["anthropic_client"]
        await (sdk.close() if hasattr(sdk, "close") else sdk._client.aclose())

    def borrow(self, ready: Client) -> Client:
        if not isinstance(ready, GovernedClient):
            return ready
        self.local, self.ours = ready.served.local, ready.served.ours
        return ready.served.client

    @staticmethod
    def as_message(message: NativeMessage) -> Message | None:
        first = message.contents[0] if message.contents else None
        calls = any(each.type in ("function_call", "function_result") for each in message.contents)
        if calls or message.role not in ("user", "assistant") or not first or first.type != "text":
            return None
        return Message(first.text or "", "assistant" if message.role == "assistant" else "user")

    @staticmethod
    def with_text(message: NativeMessage, text: str) -> NativeMessage:
        return NativeMessage(message.role, [Content.from_text(text), *message.contents[1:]])

    @staticmethod
    def describe(client: Client, base: ModelConfig) -> ModelConfig:
        """A client of the user's keeps its own retries, so the governor makes none."""
        if isinstance(client, GovernedClient):
            return client.served.config
        kind, sdk = type(client).__name__, getattr(client, "client", None)
        provider = next((name for mark, name in PROVIDERS.items() if mark in kind), "openai")
        address = getattr(sdk, "base_url", None) or vars(client).get("host")
        update = {
            "provider": provider,
            "name": vars(client).get("model") or kind,
            "base_url": scrubbed(str(address)) if address else None,
            # Other clients pass a provider's options to APIs that may not take them.
            "response_format": base.response_format
            if "Completion" in kind or provider == "ollama"
            else False,
            "retries": 0,
        }
        return base.model_copy(update=update)


async def _bare(call: Awaitable[T]) -> T:
    """A call that raises the SDK's own error: Agent Framework wraps it, but the governor knows only the SDKs' errors."""
    try:
        return await call
    except ChatClientException as error:
        failure = error.__cause__ or error
    raise failure  # with its own cause, which `from` would overwrite


class GovernedClient(
    FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], ChatTelemetryLayer[Any], BaseChatClient[Any]
):
    """A client over a shared model, for one turn or the life of a role's agent.

    Args:
        served: the model.
        ledger: records usage, notes and failures of tools.
        reply_type: the reply of its one turn; None if it serves any agent.

    Attributes:
        text: the last answer's text, without the framework's replacements.
    """

    OTEL_PROVIDER_NAME = "manyheads"

    def __init__(
        self, served: ServedModel[Client], ledger: Ledger, reply_type: type[ReplyModel] | None = None
    ) -> None:
        own = served.client if isinstance(served.client, FunctionInvocationLayer) else None
        middleware: list[Any] = (
            [*own.function_middleware, *vars(own).get("chat_middleware", ())] if own else []
        )
        super().__init__(
            middleware=middleware,
            function_invocation_configuration={
                "max_iterations": TOOL_ROUNDS,
                # The model gets each error; the maximum of rounds ends a turn.
                "max_consecutive_errors_per_request": TOOL_ROUNDS,
            },
        )
        self.served, self.ledger, self.model = served, ledger, served.config.name
        self.text, self._reply_type, self._ids = "", reply_type, set[str]()

    def _inner_get_response(
        self,
        *,
        messages: Sequence[NativeMessage],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        """One governed request. A stream gives the answer as one chunk: a retry could not take back streamed text.

        Raises:
            ConfigError: the messages do not fit the model's context, or contain images that it cannot read.
            ModelError: the server cannot be reached, refuses, or sends an invalid answer.
        """
        answer = self._answer(messages, dict(options))
        if not stream:
            return answer

        async def chunks() -> AsyncIterable[ChatResponseUpdate]:
            response = await answer
            for message in response.messages:
                yield ChatResponseUpdate(
                    contents=message.contents, role=cast(Any, message.role), model=response.model,
                    response_id=response.response_id, finish_reason=cast(Any, response.finish_reason),
                )  # fmt: skip

        return self._build_response_stream(chunks())

    async def _answer(self, messages: Sequence[NativeMessage], options: dict[str, Any]) -> ChatResponse[Any]:
        served, config = self.served, self.served.config
        if options.get("tool_choice") == "none" and config.provider != "anthropic":
            options.pop("tools", None)  # Anthropic needs them in every request of a thread with tool calls
        if not (tools := normalize_tools(options.get("tools"))):
            options.pop("tool_choice", None)
        pictures = sum(each.type in ("data", "uri") for message in messages for each in message.contents)
        refuse_unseen(served.alias, config, images=bool(pictures))
        system = str(options.get("instructions") or "")
        more = (
            len(system.encode()) // 4 + sum(len(str(_schema(tool))) // 4 for tool in tools) + IMAGE * pictures
        )
        for result in (each for message in messages for each in message.contents):
            if result.type == "function_result" and result.exception:
                _say(result, result.exception)

        async def count(messages: Sequence[NativeMessage]) -> int:
            return more + size_of(messages)

        async def send(
            fitting: Sequence[NativeMessage], tokens: int, form: Mapping[str, Any]
        ) -> ChatResponse[Any]:
            if served.local:
                return await _answer_here(served.local, system, fitting, self.ledger)
            settings = served.settings(tokens) if served.ours else {}
            # It would be sent under another name.
            if config.provider == "openai" and "max_tokens" in settings:
                settings["extra_body"] = {"max_tokens": settings.pop("max_tokens")}
            if config.provider == "anthropic":  # its client drops a temperature with a warning
                settings = {
                    "extra_body": settings,
                    **({"max_tokens": limit} if (limit := config.max_tokens) else {}),
                }
            call: Any = served.client._inner_get_response(
                messages=fitting, stream=False, options={**options, **settings, **form}
            )
            response = await served.counted(_bare(call), self.ledger, tokens, _spent)
            for each in calls_of(response):
                each.arguments = sound_arguments(each.name or "", _as_text(each.arguments))
            return response

        response = await served.request(
            messages, count, send, self.ledger, self._reply_type, tools=bool(tools)
        )
        self.text = response.text
        # Some servers send calls where none may be made.
        if not tools or options.get("tool_choice") == "none":
            for message in response.messages:
                message.contents = [each for each in message.contents if each.type != "function_call"]
        for call in calls_of(response):
            # Results are matched with calls by id, and some servers reuse ids.
            if not call.call_id or call.call_id in self._ids:
                call.call_id = uuid4().hex[:9]
            self._ids.add(call.call_id)
        return response

    async def close(self) -> None:
        """Release the connections of a model made from a config."""
        await self.served.close()


def size_of(messages: Sequence[NativeMessage]) -> int:
    """An estimate of the tokens of messages: one per four bytes of text."""
    texts = (
        f"{each.text or ''}{each.result or ''}{each.arguments or ''}"
        for message in messages
        for each in message.contents
    )
    return sum(len(text.encode()) for text in texts) // 4


def calls_of(response: ChatResponse[Any]) -> list[Content]:
    return [
        each for message in response.messages for each in message.contents if each.type == "function_call"
    ]


def _spent(response: ChatResponse[Any]) -> tuple[int, int, object, bool]:
    spent = response.usage_details or {}
    read, written = spent.get("input_token_count") or 0, spent.get("output_token_count") or 0
    return read, written, response.text, response.finish_reason == "length"


def _schema(tool: Any) -> object:
    return tool.to_json_schema_spec() if hasattr(tool, "to_json_schema_spec") else tool


def _as_text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {})


def _say(result: Content, text: str) -> None:
    """Give the model the reason for an error; Agent Framework only says that there is one."""
    result.result, result.items = text, [Content.from_text(text)]


async def _answer_here(
    local: LocalModel, system: str, messages: Sequence[NativeMessage], ledger: Ledger
) -> ChatResponse[Any]:
    """The answer of a model in this process, which counts the results of tool calls without reading them."""
    thread, answered = list[Message](), 0
    systems = [system, *(message.text for message in messages if message.role == "system")]
    for message in messages:
        answered += sum(each.type == "function_result" for each in message.contents)
        if message.role in ("user", "assistant") and message.text:
            thread.append(Message(message.text, "assistant" if message.role == "assistant" else "user"))
    raw = await local.complete("\n".join(filter(None, systems)), thread, answered)
    ledger.enter(raw.usage, raw.model, raw.truncated)
    calls = [
        Content.from_function_call(
            f"call_{answered + number}", call.name, arguments=json.dumps(call.arguments)
        )
        for number, call in enumerate(raw.tool_calls if not raw.text else ())
    ]
    return ChatResponse(
        messages=NativeMessage("assistant", calls or [Content.from_text(raw.text)]),
        model=raw.model,
        finish_reason="tool_calls" if calls else "length" if raw.truncated else "stop",
        usage_details={
            "input_token_count": raw.usage.input_tokens,
            "output_token_count": raw.usage.output_tokens,
        },
    )
