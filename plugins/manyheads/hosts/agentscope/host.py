"""AgentScope as a host: each turn is a reply of the speaker's `Agent`, with empty memory, over a shared model client."""

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from copy import copy
from functools import cache, partial
from typing import Any

from agentscope.agent import Agent, ContextConfig, InjectionConfig, ReActConfig
from agentscope.message import Msg, TextBlock, ToolCallBlock, ToolResultBlock, ToolResultState
from agentscope.middleware import MiddlewareBase
from agentscope.model import ChatModelBase
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, ToolBase, ToolChunk, Toolkit
from agentscope.types import ReplyFinishedReason
from pydantic import BaseModel

from manyheads.base.errors import ModelError
from manyheads.config import ModelConfig
from manyheads.core import Message, Raw, Tool, ToolCall, Turn
from manyheads.engine.replying import TOOL_ROUNDS, asked_at, with_passage
from manyheads.hosts.agentscope.client import GovernedModel, NativeModel, to_msg
from manyheads.hosts.clients import Answer, ClientHost, Ledger, OneAgent, run_tool, tool_call
from manyheads.hosts.teams import service_tool as tool_of_service
from manyheads.models.requests import refuse_images, refuse_unfit
from manyheads.systems.loading import AnyConfig

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

    Args:
        ledger: of the agent's tools; a failure in it ends the reply before the next request. The model's by default.
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

    Args:
        recall: adds the passage of the turn to a text; None without a look-up.
    """

    def __init__(self, recall: Callable[[str], Awaitable[str]] | None) -> None:
        self._recall = recall

    async def on_reasoning(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., AsyncGenerator[Any]]
    ) -> AsyncGenerator[Any]:
        if self._recall and agent.state.cur_iter == 0:
            question = next(message for message in agent.state.context if message.role == "user")
            first = next(block for block in question.content if isinstance(block, TextBlock))
            first.text = await self._recall(first.text)
        async for event in next_handler(**input_kwargs):
            yield event


class AgentScopeHost(ClientHost[ChatModelBase]):
    """A `core.Host` on AgentScope; see `ClientHost`.

    Args:
        middlewares: of the speakers' agents, shared by all.
    """

    framework, serves = "agentscope", NativeModel

    def __init__(self, *given: Any, middlewares: Sequence[MiddlewareBase] = (), **more: Any) -> None:
        super().__init__(*given, **more)
        self._middlewares = middlewares

    async def _with_passage(self, turn: Turn[Any], text: str) -> str:
        passage = await self._recall(turn)
        return with_passage(turn, text, passage) if passage else text

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One reply of a fresh `Agent`, which knows only the thread.

        Raises:
            ModelError: AgentScope has not finished the reply, such as by a middleware of the user's.
        """
        speaker, served, ledger = turn.speaker, self.model(turn.speaker.model), Ledger(warn=warn)
        refuse_images(served.alias, served.config, images=any(message.images for message in thread))
        tools = turn.tools if served.config.calls_tools else ()
        recall = None if turn.recall is None else partial(self._with_passage, turn)
        agent = Agent(
            name=speaker.name,
            system_prompt=speaker.system,
            model=GovernedModel(served, ledger, turn.reply_type),
            toolkit=OwnWords(tools=[function_tool(tool, ledger) for tool in tools]),
            middlewares=[*self._middlewares, Whole(), Recollection(recall)],
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

    async def say(self, message: Message) -> Answer:
        reply = await self.agent.reply(to_msg(message, self.agent.name))
        if reply.finished_reason == ReplyFinishedReason.INTERRUPTED:
            raise asyncio.CancelledError
        state, spent = self.agent.state, reply.usage
        read, written = (spent.input_tokens, spent.output_tokens) if spent else (0, 0)
        return Answer(reply.get_text_content() or "", calls_in(state.context, state.reply_id), read, written)


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
