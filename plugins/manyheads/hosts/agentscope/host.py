"""AgentScope as a host: each turn is a reply of a fresh `Agent`, over AgentScope's own model behind a governor."""

import asyncio
import base64
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from copy import copy
from functools import cache
from typing import Any

from agentscope.agent import Agent, ContextConfig, InjectionConfig, ReActConfig
from agentscope.credential import AnthropicCredential, CredentialBase, OllamaCredential, OpenAICredential
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import (
    AssistantMsg,
    Base64Source,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolResultState,
    UserMsg,
)
from agentscope.middleware import MiddlewareBase, TracingMiddleware
from agentscope.model import (
    AnthropicChatModel,
    ChatModelBase,
    ChatResponse,
    ChatUsage,
    OllamaChatModel,
    OpenAIChatModel,
)
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, ToolBase, ToolChoice, ToolChunk, Toolkit
from agentscope.types import ReplyFinishedReason
from pydantic import BaseModel, SecretStr

from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import ModelError
from manyheads.config import ModelConfig, Provider
from manyheads.core import Message, Raw, Recall, Tool, ToolCall, Turn
from manyheads.engine.replying import TOOL_ROUNDS, asked_at, with_passage
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
from manyheads.models.abilities import refuse_images
from manyheads.models.answers import Cache, sound_arguments
from manyheads.models.requests import refuse_unfit
from manyheads.systems.loading import AnyConfig

Known = OpenAIChatModel | OllamaChatModel | AnthropicChatModel


def to_msg(message: Message, speaker: str) -> Msg:
    """A message of a thread; the speaker's own messages have its name."""
    if message.sender == "assistant":
        return AssistantMsg(name=speaker, content=message.text)
    images = (
        Base64Source(data=base64.b64encode(image.data).decode("ascii"), media_type=image.media_type)
        for image in message.images
    )
    return UserMsg(
        name="user", content=[TextBlock(text=message.text), *(DataBlock(source=i) for i in images)]
    )


class PlainFormatter(OpenAIChatFormatter):
    """Sends a message without pictures as a string; llama.cpp's Python server, among others, takes no list of parts."""

    async def format(self, msgs: list[Msg]) -> list[dict[str, Any]]:
        messages = await super().format(msgs)
        for message in messages:
            parts = message.get("content")
            if isinstance(parts, list) and parts and all(part.get("type") == "text" for part in parts):
                message["content"] = "\n".join(part["text"] for part in parts)
        return messages


class NativeModel(ServedModel[ChatModelBase]):
    """A model of the config with AgentScope's model of its provider."""

    client_type = ChatModelBase

    def open(self, key: str, sdk: dict[str, Any]) -> Known:
        config, secret = self.config, SecretStr(key)
        shared: dict[str, Any] = {
            "model": config.name, "stream": False, "max_retries": 0, "context_size": config.window,
            "client_kwargs": sdk,
        }  # fmt: skip
        match config.provider:
            case "openai":
                credential = OpenAICredential(api_key=secret, base_url=config.address)
                return OpenAIChatModel(credential, formatter=PlainFormatter(), **shared)
            case "anthropic":
                credential = AnthropicCredential(api_key=secret, base_url=config.address)
                limit = AnthropicChatModel.Parameters(max_tokens=config.max_tokens)
                return AnthropicChatModel(credential, parameters=limit, **shared)
            case _:
                return OllamaChatModel(OllamaCredential(host=config.address), **shared)

    def borrow(self, ready: ChatModelBase) -> ChatModelBase:
        """A copy without streaming and retries; it shares the user's connections."""
        ours = copy(ready)
        ours.stream, ours.max_retries = False, 0
        if isinstance(ready, OpenAIChatModel) and type(ready.formatter) is OpenAIChatFormatter:
            vars(ours)["formatter"] = PlainFormatter()
        if isinstance(ready, OpenAIChatModel | AnthropicChatModel):
            vars(ours)["client"] = ready.client.with_options(max_retries=0)
        return ours

    @staticmethod
    def as_message(message: Msg) -> Message | None:
        block = _text_of(message)
        return Message(block.text, "assistant" if message.role == "assistant" else "user") if block else None

    @staticmethod
    def with_text(message: Msg, text: str) -> Msg:
        block = _text_of(message)
        content = [TextBlock(text=text) if part is block else part for part in message.content]
        return message.model_copy(update={"content": content})

    @staticmethod
    def describe(client: ChatModelBase, base: ModelConfig) -> ModelConfig:
        kinds: dict[Provider, type[ChatModelBase]] = {
            "anthropic": AnthropicChatModel,
            "ollama": OllamaChatModel,
        }
        credential = getattr(client.credential, "__dict__", {})  # a model of the user's own may have none
        address = credential.get("base_url") or credential.get("host")
        provider = next((name for name, kind in kinds.items() if isinstance(client, kind)), "openai")
        # Other classes than these two pass a provider's options to APIs that may not take them.
        form = base.response_format if isinstance(client, OpenAIChatModel | OllamaChatModel) else False
        return ServedModel.described(
            base, client.model, address, provider=provider, context=client.context_size, response_format=form
        )


class GovernedModel(ChatModelBase):
    """A thin wrapper of a shared model, for one turn or the life of a role's agent; see AutoGen's `GovernedClient`."""

    def __init__(
        self, served: ServedModel[ChatModelBase], ledger: Ledger, reply_type: type[ReplyModel] | None = None
    ) -> None:
        inner, config = None if served.local else served.client, served.config
        super().__init__(
            inner.credential if inner else CredentialBase(), inner.model if inner else config.name,
            inner.parameters if inner else self.Parameters(), stream=False, max_retries=0,
            context_size=config.window,
        )  # fmt: skip
        self.formatter: Any = vars(inner)["formatter"] if inner else OpenAIChatFormatter()
        self.served, self.ledger = served, ledger
        self._reply_type = reply_type

    async def __call__(
        self,
        messages: list[Msg],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: ToolChoice | None = None,
        **kwargs: Any,
    ) -> ChatResponse:
        """One governed request; a cancellation is raised, which the base class turns into an ordinary response.

        Raises:
            ModelError: the server cannot be reached, refuses, or still fails after retries.
        """
        return await self._call_api(self.model, messages, tools, tool_choice, **kwargs)

    async def _call_api(
        self,
        model_name: str,
        messages: list[Msg],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: ToolChoice | None = None,
        **kwargs: Any,
    ) -> ChatResponse:
        served = self.served
        if tools and not self.ledger.may_call:
            tool_choice = ToolChoice(mode="none")

        async def count(messages: Sequence[Msg]) -> int:
            return await self.count_tokens(list(messages), tools)

        async def send(fitting: Sequence[Msg], tokens: int, form: Mapping[str, Any]) -> ChatResponse:
            if served.local:
                return await _answer_here(served, fitting, self.ledger)
            call: Any = served.client._call_api(
                model_name, list(fitting), tools, tool_choice, **{**served.settings(tokens), **kwargs}, **form
            )
            before = self.ledger.usage
            response: ChatResponse = await served.counted(call, self.ledger, tokens, _spent)  # never a stream
            cost, spent = self.ledger.usage - before, response.usage
            response.usage = ChatUsage(
                cost.input_tokens, cost.output_tokens, time=spent.time if spent else 0.0,
                cache_input_tokens=cost.cached_tokens,
            )  # fmt: skip
            for call in calls_of(response):
                call.input = sound_arguments(call.name, call.input)
            return response

        response = await served.request(
            messages, count, send, self.ledger, self._reply_type, tools=bool(tools)
        )
        may_call = tools and not (tool_choice and tool_choice.mode == "none")
        calls = calls_of(response) if may_call else []  # some servers send calls where none may be made
        for call in calls:  # AgentScope would skip one whose id is that of a finished one
            call.id = self.ledger.own_id(call.id)
        if not calls:  # AgentScope would repeat the request without end after an answer with only thoughts
            dropped = ThinkingBlock, ToolCallBlock
            response.content = [part for part in response.content if not isinstance(part, dropped)]
        return response

    async def close(self) -> None:
        """Release the connections of a model made from a config."""
        await self.served.close()


def _text_of(msg: Msg) -> TextBlock | None:
    """The text of a question or an answer, which may be shortened; None for system messages and tool results."""
    kept = msg.role == "system" or any(
        isinstance(part, ToolCallBlock | ToolResultBlock) for part in msg.content
    )
    return None if kept else next((part for part in msg.content if isinstance(part, TextBlock)), None)


def _spent(response: ChatResponse) -> tuple[int, int, object, bool, Cache]:
    usage = response.usage or ChatUsage(0, 0, 0.0)
    cache = usage.cache_input_tokens, usage.cache_creation_input_tokens
    return usage.input_tokens, usage.output_tokens, response.content, False, cache


def calls_of(response: ChatResponse) -> list[ToolCallBlock]:
    return [block for block in response.content if isinstance(block, ToolCallBlock)]


async def _answer_here(
    served: ServedModel[ChatModelBase], messages: Sequence[Msg], ledger: Ledger
) -> ChatResponse:
    """The answer of a model in this process; hints, which hooks put into a message, become separate messages."""
    system, thread, answered = list[str](), list[Message](), 0
    for msg in messages:
        text = msg.get_text_content() or ""
        if msg.role == "system":
            system.append(text)
            continue
        if text:
            thread.append(Message(text, "assistant" if msg.role == "assistant" else "user"))
        for block in msg.content:
            answered += isinstance(block, ToolResultBlock)
            if isinstance(block, HintBlock):
                parts = [TextBlock(text=block.hint)] if isinstance(block.hint, str) else block.hint
                thread.append(Message("\n".join(part.text for part in parts if isinstance(part, TextBlock))))
    raw, made = await served.answer_here("\n".join(system), thread, answered, ledger)
    calls = [ToolCallBlock(id=mark, name=name, input=arguments) for mark, name, arguments in made]
    usage = ChatUsage(raw.usage.input_tokens, raw.usage.output_tokens, time=0.0)
    return ChatResponse(
        content=[*calls, *([TextBlock(text=raw.text)] if raw.text else [])], is_last=True, usage=usage
    )


REACT = ReActConfig(max_iters=TOOL_ROUNDS, interruption_raise_cancelled_error=True)
NO_CLOCK = InjectionConfig(inject_runtime_state=False)
# The limits on images and tool results are lifted, as `Whole` lifts the one on the context.
UNCUT = ContextConfig(trigger_ratio=0.9, max_image_num=10_000, tool_result_limit=sys.maxsize)
# Without it a tool waits for a person's permission, and the notice about it looks like the reply.
ALLOWED = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="a tool of manyheads")


def function_tool(tool: Tool, ledger: Ledger) -> FunctionTool:
    """A tool function of the core for AgentScope's agents; see `run_tool`."""

    async def run(**arguments: Any) -> ToolChunk:
        return ToolChunk(content=[TextBlock(text=await run_tool(tool, ledger, arguments))])

    return FunctionTool(run, tool.name, tool.description, _schema_of(tool.arguments), permission=ALLOWED)


@cache
def _schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """AgentScope's schema of a tool's arguments, cached: AgentScope would make it again for each agent."""
    return FunctionTool(lambda: ToolChunk(content=[]), "tool", "-", arguments).input_schema


class OwnWords(Toolkit):
    """A toolkit whose tools report wrong arguments themselves, in place of AgentScope's own message."""

    async def check_tool_available(self, tool_name: str, activated_groups: list[str]) -> ToolBase:
        """See `Toolkit.check_tool_available`; the agent checks a call against the schema of the returned tool."""
        tool = copy(await super().check_tool_available(tool_name, activated_groups))
        tool.input_schema = {}
        return tool


@cache
def _no_tools() -> Toolkit:
    """The empty toolkit: slow to make, as AgentScope makes four classes for it, and never changed."""
    return OwnWords()


def with_tools(toolkit: Toolkit, tools: Sequence[ToolBase]) -> Toolkit:
    """A copy of a toolkit with further tools; the toolkit itself if there are none."""
    if not tools:
        return toolkit
    both, basic = copy(toolkit), next(group for group in toolkit.tool_groups if group.name == "basic")
    more = copy(basic)
    more.tools = [*basic.tools, *tools]
    both.tool_groups = [more if group is basic else group for group in toolkit.tool_groups]
    return both


def order_results(context: Sequence[Msg]) -> None:
    """Sort tool results into the order of their calls: tools run in parallel, and results arrive as each finishes."""
    for msg in context:
        calls = [block.id for block in msg.content if isinstance(block, ToolCallBlock)]
        order = {call: calls.index(call) for call in calls}
        places = [i for i, block in enumerate(msg.content) if isinstance(block, ToolResultBlock)]
        results = sorted((msg.content[i] for i in places), key=lambda block: order.get(block.id, len(calls)))
        for place, result in zip(places, results, strict=True):
            msg.content[place] = result


def calls_in(context: Sequence[Msg], reply_id: str) -> tuple[ToolCall, ...]:
    """The tool calls of a reply, in the model's order, including those that never reached a tool."""
    blocks = [block for msg in context if msg.id == reply_id for block in msg.content]
    results = {block.id: block for block in blocks if isinstance(block, ToolResultBlock)}
    calls: list[ToolCall] = []
    for block in blocks:
        if isinstance(block, ToolCallBlock):
            result = results.get(block.id)
            output = result.output if result else ""
            if not isinstance(output, str):
                output = "\n".join(part.text for part in output if isinstance(part, TextBlock))
            failed = result is None or result.state != ToolResultState.SUCCESS
            calls.append(tool_call(block.name, block.input, output, failed=failed))
    return tuple(calls)


class Whole(MiddlewareBase):
    """Sends a prompt whole or refuses it.

    AgentScope would have the model summarise a long context, including the new question, or drop it; and it would remove
    all but the newest five images. This hook skips the step that does both.
    """

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger

    async def on_compress_context(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., Awaitable[None]]
    ) -> None:
        return

    async def on_model_call(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., Awaitable[Any]]
    ) -> Any:
        """Raises `ConfigError` if the prompt does not fit a user's model; our models shorten and check it themselves."""
        model: ChatModelBase = input_kwargs["current_model"]
        ours = model if isinstance(model, GovernedModel) else None
        if ledger := self._ledger or (ours and ours.ledger):
            ledger.stop_if_failed()
        order_results(agent.state.context)
        if not ours:
            tokens = await model.count_tokens(input_kwargs["messages"], input_kwargs["tools"])
            refuse_unfit(agent.name, model.model, tokens, model.context_size)
        return await next_handler(**input_kwargs)


class Recollection(MiddlewareBase):
    """Adds a passage from the author knowledge bank to the question's message, for the whole reply.

    AgentScope's RAG middleware would number and label the passage itself, remove it after the first tool call, and
    continue without it if the search fails. A failure here ends the turn.
    """

    def __init__(self, recall: Recall, turn: Turn[Any]) -> None:
        self._recall, self._turn = recall, turn

    async def on_reasoning(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., AsyncGenerator[Any]]
    ) -> AsyncGenerator[Any]:
        if agent.state.cur_iter == 0 and (passage := await self._recall(self._turn)):
            question = next(message for message in agent.state.context if message.role == "user")
            first = next(block for block in question.content if isinstance(block, TextBlock))
            first.text = with_passage(self._turn, first.text, passage)
        async for event in next_handler(**input_kwargs):
            yield event


def ledger_of(middlewares: Sequence[MiddlewareBase], warn: list[str] | None = None) -> Ledger:
    """The ledger of an agent whose middlewares may make spans of its requests."""
    return Ledger(warn=warn, spans=not any(isinstance(each, TracingMiddleware) for each in middlewares))


class AgentScopeHost(ClientHost[ChatModelBase]):
    """A `core.Host` on AgentScope; see `ClientHost`.

    Args:
        middlewares: of the speakers' agents, shared by all.
    """

    framework, serves = "agentscope", NativeModel

    def __init__(self, *given: Any, middlewares: Sequence[MiddlewareBase] = (), **more: Any) -> None:
        super().__init__(*given, **more)
        self._middlewares = middlewares

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One reply of a fresh `Agent`, which knows only the thread."""
        speaker, served, ledger = (
            turn.speaker,
            self.model(turn.speaker.model),
            ledger_of(self._middlewares, warn),
        )
        ledger.may_call = turn.may_call
        refuse_images(served.alias, served.config, images=any(message.images for message in thread))
        tools = turn.tools if served.config.calls_tools else ()
        recall = [] if turn.recall is None else [Recollection(self._recall, turn)]
        agent = Agent(
            name=speaker.name,
            system_prompt=speaker.system,
            model=GovernedModel(served, ledger, turn.reply_type),
            toolkit=with_tools(_no_tools(), [function_tool(tool, ledger) for tool in tools]),
            middlewares=[*self._middlewares, Whole(), *recall],
            context_config=UNCUT,
            react_config=REACT,
            injection_config=NO_CLOCK,
        )
        agent.state.context = [to_msg(message, speaker.name) for message in thread[:-1]]
        reply = await agent.reply(to_msg(thread[-1], speaker.name))
        ledger.stop_if_failed()
        # If the model does not finish a reply, AgentScope ends it with its own text.
        if reply.finished_reason == ReplyFinishedReason.INTERRUPTED:
            raise asyncio.CancelledError
        finished = (ReplyFinishedReason.COMPLETED, ReplyFinishedReason.EXCEED_MAX_ITERS)
        if reply.finished_reason not in finished:
            raise ModelError(f"{turn.place}: AgentScope did not finish the reply", hint="resume the run")
        calls = calls_in(agent.state.context, agent.state.reply_id)
        return Raw(reply.get_text_content() or "", ledger.model, ledger.usage, calls, ledger.truncated)


class AgentHost(OneAgent):
    """Asks one agent of AgentScope."""

    def __init__(self, agent: Agent, attempts: int = 3) -> None:
        model = agent.model
        ours = model if isinstance(model, GovernedModel) else None
        config = ours.served.config if ours else NativeModel.describe(model, ModelConfig())
        super().__init__(agent, attempts, config, ours and ours.ledger)

    async def say(self, message: Message) -> AgentAnswer:
        reply = await self.agent.reply(to_msg(message, self.agent.name))
        if reply.finished_reason == ReplyFinishedReason.INTERRUPTED:
            raise asyncio.CancelledError
        state, spent = self.agent.state, reply.usage
        read, written = (spent.input_tokens, spent.output_tokens) if spent else (0, 0)
        return AgentAnswer(
            reply.get_text_content() or "", calls_in(state.context, state.reply_id), read, written
        )


make_host = AgentScopeHost


def service_tool(
    name: str, model: ChatModelBase | ModelConfig | str | None = None, config: AnyConfig = None
) -> FunctionTool:
    """Part of a system as a tool of AgentScope, for any agent: `service_tool("critique_figure", model)`.

    See `manyheads.hosts.teams.service_tool` for the tool's arguments. A model that you pass stays open.
    """
    return function_tool(tool_of_service(name, AgentScopeHost, model, config), Ledger())


# AgentScope logs for each failed call that its one attempt is exhausted; our message has more details, once.
logging.getLogger("as").addFilter(lambda record: asked_at.get() is None)
