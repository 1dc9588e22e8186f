"""Agent Framework as a host: each turn is a run of a fresh `Agent`, over the framework's own client behind a governor."""

import json
import logging
from collections.abc import AsyncIterable, Awaitable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

from agent_framework import (
    Agent,
    AgentResponse,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    ContextProvider,
    FunctionInvocationLayer,
    FunctionTool,
    ResponseStream,
    SessionContext,
    SupportsAgentRun,
    normalize_tools,
)
from agent_framework import Message as NativeMessage
from agent_framework.exceptions import ChatClientException
from agent_framework.observability import ChatTelemetryLayer
from pydantic import BaseModel

from manyheads.asking.replies import ReplyModel
from manyheads.config import ModelConfig, Provider
from manyheads.core import Message, Raw, Recall, Tool, ToolCall, Turn, safe_name
from manyheads.engine.replying import TOOL_ROUNDS, with_passage
from manyheads.hosts.clients import (
    AgentAnswer,
    ClientHost,
    Ledger,
    OneAgent,
    ServedModel,
    run_tool,
    tool_call,
)
from manyheads.hosts.teams import service_tool as tool_of_service
from manyheads.models.abilities import keeps_tools, refuse_images
from manyheads.models.answers import Cache, sound_arguments
from manyheads.models.requests import IMAGE
from manyheads.systems.loading import AnyConfig

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

    def open(self, key: str, sdk: dict[str, Any]) -> Client:
        config = self.config
        match config.provider:
            case "openai":
                from agent_framework_openai import RawOpenAIChatCompletionClient
                from openai import AsyncOpenAI

                client: Any = AsyncOpenAI(api_key=key, base_url=config.address, **sdk)
                return RawOpenAIChatCompletionClient(config.name, async_client=client)
            case "anthropic":
                from agent_framework_anthropic import AnthropicClient  # pyright: ignore[reportMissingImports]
                from anthropic import AsyncAnthropic

                client = AsyncAnthropic(api_key=key, base_url=config.address, **sdk)
                return cast(Any, AnthropicClient)(model=config.name, anthropic_client=client)
            case _:
                from agent_framework_ollama import OllamaChatClient
                from ollama import AsyncClient

                client = AsyncClient(host=config.address, **sdk)
                return OllamaChatClient(model=config.name, client=client)

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
        # Other clients pass a provider's options to APIs that may not take them.
        form = base.response_format if "Completion" in kind or provider == "ollama" else False
        return ServedModel.described(
            base,
            vars(client).get("model") or kind,
            address,
            provider=provider,
            response_format=form,
            retries=0,
        )


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
    """A client over a shared model, for one turn or the life of a role's agent; see AutoGen's `GovernedClient`.

    Attributes:
        text: the last answer's text, without the framework's replacements.
    """

    OTEL_PROVIDER_NAME = "manyheads"

    def __init__(
        self, served: ServedModel[Client], ledger: Ledger, reply_type: type[ReplyModel] | None = None
    ) -> None:
        own = served.client if isinstance(served.client, FunctionInvocationLayer) else None
        middleware = [*own.function_middleware, *vars(own).get("chat_middleware", ())] if own else []
        super().__init__(
            middleware=middleware,
            function_invocation_configuration={
                "max_iterations": TOOL_ROUNDS,
                # The model gets each error; the maximum of rounds ends a turn.
                "max_consecutive_errors_per_request": TOOL_ROUNDS,
            },
        )
        self.served, self.ledger, self.model = served, ledger, served.config.name
        self.text, self._reply_type = "", reply_type

    def _inner_get_response(
        self, *, messages: Sequence[NativeMessage], stream: bool, options: Mapping[str, Any], **kwargs: Any
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
        if not self.ledger.may_call:
            options["tool_choice"] = "none"
        if options.get("tool_choice") == "none" and not (
            config.provider == "anthropic" or keeps_tools(config)
        ):
            options.pop("tools", None)  # Anthropic needs them in every request of a thread with tool calls
        if not (tools := normalize_tools(options.get("tools"))):
            options.pop("tool_choice", None)
        pictures = sum(each.type in ("data", "uri") for message in messages for each in message.contents)
        refuse_images(served.alias, config, images=bool(pictures))
        system = str(options.get("instructions") or "")
        schemas = sum(len(str(_schema(tool))) for tool in tools)
        more = (len(system.encode()) + schemas) // 4 + IMAGE * pictures
        for result in (each for message in messages for each in message.contents):
            if result.type == "function_result" and (reason := result.exception):
                # Agent Framework only tells the model that there is an error.
                result.result, result.items = reason, [Content.from_text(reason)]

        async def count(messages: Sequence[NativeMessage]) -> int:
            return more + size_of(messages)

        async def send(fitting: Sequence[Any], tokens: int, form: Mapping[str, Any]) -> ChatResponse[Any]:
            if served.local:
                return await _answer_here(served, system, fitting, self.ledger)
            settings = served.settings(tokens) if served.ours else {}
            # It would be sent under another name.
            if config.provider == "openai" and "max_tokens" in settings:
                settings["extra_body"] = {"max_tokens": settings.pop("max_tokens")}
            if config.provider == "anthropic":
                settings |= {"max_tokens": limit} if (limit := config.max_tokens) else {}
            call: Any = served.client._inner_get_response(
                messages=fitting, stream=False, options={**options, **settings, **form}
            )
            response = await served.counted(_bare(call), self.ledger, tokens, _spent)
            for each in calls_of(response):
                each.arguments = sound_arguments(each.name or "", _as_text(each.arguments))
            return response

        kind = self._reply_type
        response = await served.request(messages, count, send, self.ledger, kind, tools=bool(tools))
        self.text = response.text
        # Some servers send calls where none may be made.
        if not tools or options.get("tool_choice") == "none":
            for message in response.messages:
                message.contents = [each for each in message.contents if each.type != "function_call"]
        for call in calls_of(response):
            call.call_id = self.ledger.own_id(call.call_id)
        return response

    async def close(self) -> None:
        """Release the connections of a model made from a config."""
        await self.served.close()


def size_of(messages: Sequence[NativeMessage]) -> int:
    """An estimate of the tokens of messages: one per four bytes of text."""
    contents = (each for message in messages for each in message.contents)
    return sum(len(f"{c.text or ''}{c.result or ''}{c.arguments or ''}".encode()) for c in contents) // 4


def calls_of(response: ChatResponse[Any]) -> list[Content]:
    return [
        each for message in response.messages for each in message.contents if each.type == "function_call"
    ]


def _spent(response: ChatResponse[Any]) -> tuple[int, int, object, bool, Cache]:
    names, usage = ("input", "output", "cache_read_input", "cache_creation_input"), response.usage_details
    read, written, *cache = (cast(Any, usage or {}).get(f"{name}_token_count") or 0 for name in names)
    return read, written, response.text, response.finish_reason == "length", (cache[0], cache[1])


def _schema(tool: Any) -> object:
    return tool.to_json_schema_spec() if hasattr(tool, "to_json_schema_spec") else tool


def _as_text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {})


async def _answer_here(
    served: ServedModel[Client], system: str, messages: Sequence[NativeMessage], ledger: Ledger
) -> ChatResponse[Any]:
    systems = [system, *(message.text for message in messages if message.role == "system")]
    thread = [each for each in map(served.as_message, messages) if each]
    answered = sum(each.type == "function_result" for message in messages for each in message.contents)
    raw, made = await served.answer_here("\n".join(filter(None, systems)), thread, answered, ledger)
    calls = [Content.from_function_call(mark, name, arguments=arguments) for mark, name, arguments in made]
    return ChatResponse(
        messages=NativeMessage("assistant", calls or [Content.from_text(raw.text)]),
        model=raw.model,
        finish_reason="tool_calls" if calls else "length" if raw.truncated else "stop",
        usage_details={
            "input_token_count": raw.usage.input_tokens,
            "output_token_count": raw.usage.output_tokens,
        },
    )


class CoreTool(FunctionTool):
    """A tool function of the core for Agent Framework's agents; see `run_tool`."""

    def __init__(self, tool: Tool, ledger: Ledger) -> None:
        async def run(**arguments: Any) -> str:
            return await run_tool(tool, ledger, arguments)

        schema = _schema_of(tool.arguments)
        super().__init__(name=tool.name, description=tool.description, func=run, input_model=schema)

    def _prepare_arguments(self, arguments: Any) -> dict[str, Any]:
        """Validates nothing: the tool reports the error itself; Agent Framework only says that there is one."""
        return dict(arguments or {})


@cache
def _schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    return arguments.model_json_schema()


def calls_in(messages: Sequence[NativeMessage]) -> tuple[ToolCall, ...]:
    """The tool calls in an agent's messages with their results, in the order of the calls."""
    contents = [each for message in messages for each in message.contents]
    results = {each.call_id: each for each in contents if each.type == "function_result"}
    calls: list[ToolCall] = []
    for call in contents:
        if call.type != "function_call":
            continue
        result = results.get(call.call_id)
        failed = result is None or result.exception is not None
        text = "" if result is None else str(result.exception or result.result or "")
        calls.append(tool_call(call.name or "", call.arguments or {}, text, failed=failed))
    return tuple(calls)


class Recollection(ContextProvider):
    """Adds the retrieved passage to the question's message, before the form of the reply."""

    def __init__(self, recall: Recall, turn: Turn[Any]) -> None:
        super().__init__("manyheads")
        self._recall, self._turn = recall, turn

    async def before_run(self, *, context: SessionContext, **more: Any) -> None:
        """See `ContextProvider.before_run`."""
        if passage := await self._recall(self._turn):
            messages = context.input_messages
            at = next(at for at, each in enumerate(messages) if each.role == "user")
            text = with_passage(self._turn, messages[at].contents[0].text or "", passage)
            messages[at] = NativeModel.with_text(messages[at], text)


class AgentFrameworkHost(ClientHost[Client]):
    """A `core.Host` on Agent Framework; see `ClientHost`.

    Args:
        middleware: of the speakers' agents, shared by all.
    """

    framework, serves = "agent_framework", NativeModel

    def __init__(self, *given: Any, middleware: Sequence[Any] = (), **more: Any) -> None:
        super().__init__(*given, **more)
        self._middleware = middleware

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One run of an `Agent`."""
        speaker, model = turn.speaker, self.model(turn.speaker.model)
        ledger = Ledger(model=model.config.name, warn=warn, spans=False, may_call=turn.may_call)
        client = GovernedClient(model, ledger, turn.reply_type)
        agent = Agent(
            client,
            speaker.system or None,
            name=speaker.name,
            description=speaker.role,
            tools=[CoreTool(tool, ledger) for tool in turn.tools if model.config.calls_tools] or None,
            context_providers=[Recollection(self._recall, turn)] if turn.recall is not None else None,
            middleware=self._middleware,
        )
        response = await agent.run([to_native(message) for message in thread])
        return Raw(client.text, ledger.model, ledger.usage, calls_in(response.messages), ledger.truncated)


class AgentHost(OneAgent):
    """Asks one agent of Agent Framework in one session."""

    def __init__(self, agent: SupportsAgentRun, attempts: int = 3) -> None:
        client: Any = getattr(agent, "client", None)
        self._session = getattr(agent, "chat", None) or AgentSession()
        config = ModelConfig(name=safe_name(agent.name or type(agent).__name__))
        if isinstance(client, NativeModel.client_type):
            config = NativeModel.describe(client, ModelConfig())
        super().__init__(agent, attempts, config, getattr(client, "ledger", None))

    async def say(self, message: Message) -> AgentAnswer:
        response: AgentResponse[Any] = await self.agent.run(to_native(message), session=self._session)
        counts = response.usage_details or {}
        read, written = (counts.get(f"{name}_token_count") or 0 for name in ("input", "output"))
        text = response.messages[-1].text if response.messages else ""
        return AgentAnswer(text, calls_in(response.messages), read, written)


make_host = AgentFrameworkHost


def service_tool(
    name: str, model: Client | ModelConfig | str | None = None, config: AnyConfig = None
) -> CoreTool:
    """Part of a system as a tool of Agent Framework, for any agent: `service_tool("critique_figure", client)`.

    See `manyheads.hosts.teams.service_tool` for the tool's arguments. A client that you pass stays open.
    """
    return CoreTool(tool_of_service(name, AgentFrameworkHost, model, config), Ledger())


# Agent Framework logs each tool error twice; the model and the record of the turn have it already.
TWICE = ("Function '%s' raised", "Function %s failed", "Function failed")
logging.getLogger("agent_framework").addFilter(lambda record: not str(record.msg).startswith(TWICE))
