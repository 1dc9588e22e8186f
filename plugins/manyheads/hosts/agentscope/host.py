"""AgentScope as a host: each turn is a reply of a fresh, stateless `Agent` over a shared model client."""

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import json_repair
from agentscope.agent import Agent, ContextConfig, InjectionConfig, ReActConfig
from agentscope.message import Msg, TextBlock, ToolCallBlock, ToolResultBlock, ToolResultState
from agentscope.middleware import MiddlewareBase
from agentscope.model import ChatModelBase
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.state import AgentState
from agentscope.tool import FunctionTool, ToolChunk, Toolkit
from agentscope.types import ReplyFinishedReason
from pydantic import ValidationError

from manyheads.config import ModelConfig
from manyheads.core import ManagedHost, Message, Raw, Recall, Tool, ToolCall, Turn, recall_nothing
from manyheads.engine.replying import TOOL_ROUNDS, StructuredHost
from manyheads.errors import ConfigError, ModelError, UserError, describe
from manyheads.hosts.agentscope.client import Alias, GovernedModel, Ledger, to_msg
from manyheads.models.requests import refuse_unfit, refuse_unseen

# Our tools as AgentScope's, and the record of what was called.


# Without it a tool waits for a person's permission, and the sentence that says so looks like the reply.
ALLOWED = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="a tool of manyheads")


def toolkit(tools: Sequence[Tool], ledger: Ledger) -> Toolkit:
    """A toolkit of its own for each agent: agents that share one write into each other's."""
    return Toolkit(tools=[_function_tool(tool, ledger) for tool in tools])


def _function_tool(tool: Tool, ledger: Ledger) -> FunctionTool:
    async def run(**arguments: Any) -> ToolChunk:
        try:
            text = await tool.run(tool.arguments.model_validate(arguments))
        except ValidationError as error:
            raise ValueError(describe(error)) from error
        except UserError as error:
            ledger.failure = error
            raise
        return ToolChunk(content=[TextBlock(text=text)])

    return FunctionTool(
        run, name=tool.name, description=tool.description, input_schema=tool.arguments, permission=ALLOWED
    )


def order_results(context: Sequence[Msg]) -> None:
    """Put tool results into the order of their calls; tools run at once, and results come as each is done."""
    for msg in context:
        calls = [block.id for block in msg.content if isinstance(block, ToolCallBlock)]
        order = {call: calls.index(call) for call in calls}
        places = [i for i, block in enumerate(msg.content) if isinstance(block, ToolResultBlock)]
        results = sorted((msg.content[i] for i in places), key=lambda block: order.get(block.id, len(calls)))
        for place, result in zip(places, results, strict=True):
            msg.content[place] = result


def calls_in(context: Sequence[Msg], reply_id: str) -> tuple[ToolCall, ...]:
    """The tool calls of a reply, in the model's order, also those that never reached a tool."""
    blocks = [block for msg in context if msg.id == reply_id for block in msg.content]
    results = {block.id: block for block in blocks if isinstance(block, ToolResultBlock)}
    return tuple(_calls(blocks, results))


def _calls(blocks: Sequence[Any], results: dict[str, ToolResultBlock]) -> Iterator[ToolCall]:
    for block in blocks:
        if isinstance(block, ToolCallBlock):
            result = results.get(block.id)
            yield ToolCall(
                name=block.name,
                arguments=_arguments(block.input),
                result=_text(result) if result else "",
                failed=result is None or result.state != ToolResultState.SUCCESS,
            )


def _arguments(written: str) -> dict[str, Any]:
    value = json_repair.loads(written)
    return value if isinstance(value, dict) else {"unreadable": written}


def _text(result: ToolResultBlock) -> str:
    if isinstance(result.output, str):
        return result.output
    return "\n".join(block.text for block in result.output if isinstance(block, TextBlock))


# Middlewares of our agents: nothing that is told to a model is cut, and what the bank recalls reaches it.


class Whole(MiddlewareBase):
    """Sends a prompt whole or refuses it.

    AgentScope would have the model summarise a long context, the fresh question included, or drop it; and it
    takes out all but the newest five images. Both happen in the step that this hook replaces with nothing.

    Args:
        ledger: of the agent's tools; a failure in it ends the reply before the next request.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def on_compress_context(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., Awaitable[None]]
    ) -> None:
        return

    async def on_model_call(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., Awaitable[Any]]
    ) -> Any:
        """Raises `ConfigError` when the prompt cannot fit the model's context window."""
        self._ledger.stop_if_failed()
        order_results(agent.state.context)
        model: ChatModelBase = input_kwargs["current_model"]
        tokens = await model.count_tokens(input_kwargs["messages"], input_kwargs["tools"])
        who = model.in_config if isinstance(model, GovernedModel) else agent.name
        refuse_unfit(who, model.model, tokens, model.context_size)
        return await next_handler(**input_kwargs)


class Recollection(MiddlewareBase):
    """Puts a passage from the author knowledge bank before the question, in its own message, for the whole reply.

    AgentScope's RAG middleware would number and label the passage in its own words, take it away after the
    first tool call, and go on without it when the search fails. A failure here ends the turn.

    Args:
        recall: gives the passage, empty for nothing.
    """

    def __init__(self, recall: Callable[[], Awaitable[str]]) -> None:
        self._recall = recall

    async def on_reasoning(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., AsyncGenerator[Any]]
    ) -> AsyncGenerator[Any]:
        if agent.state.cur_iter == 0 and (passage := await self._recall()):
            question = next(message for message in agent.state.context if message.role == "user")
            first = next(block for block in question.content if isinstance(block, TextBlock))
            first.text = f"{passage}\n{first.text}"
        async for event in next_handler(**input_kwargs):
            yield event


REACT = ReActConfig(max_iters=TOOL_ROUNDS, interruption_raise_cancelled_error=True)
NO_CLOCK = InjectionConfig(inject_runtime_state=False)
# The limits on images and tool results are lifted, as `Whole` lifts the one on the context.
UNCUT = ContextConfig(trigger_ratio=0.9, max_image_num=10_000, tool_result_limit=sys.maxsize)
NO_MODELS: Mapping[str, ChatModelBase] = {}

_in_turn: ContextVar[bool] = ContextVar("in_turn", default=False)


class AgentScopeHost(StructuredHost):
    """Asks speakers through AgentScope's agents.

    Args:
        models: settings of the models by alias.
        recall: the author knowledge bank behind the retrieval hook.
        attempts: how often a turn may be asked in all.
        given: models of AgentScope that stand in for those of `models`; who made them closes them.
    """

    def __init__(
        self,
        models: Mapping[str, ModelConfig],
        recall: Recall = recall_nothing,
        attempts: int = 3,
        given: Mapping[str, ChatModelBase] = NO_MODELS,
    ) -> None:
        super().__init__(attempts)
        self._aliases = {name: Alias(name, config, given.get(name)) for name, config in models.items()}
        self._recall = recall
        self._no_tools = Toolkit()

    async def close(self) -> None:
        """Release the connections of all models."""
        for alias in self._aliases.values():
            await alias.close()

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One reply of a fresh agent.

        Raises:
            ModelError: the model fails for good, the prompt does not fit, or it does nothing but call tools.
            ConfigError: no such model, no key, or images for a model without vision.
        """
        alias = self._alias(turn.speaker.model)
        refuse_unseen(alias.name, alias.config, images=any(message.images for message in thread))
        ledger = Ledger(warn=warn)
        agent = self._agent(turn, thread[:-1], alias, ledger)
        with _quiet():
            reply = await agent.reply(to_msg(thread[-1], turn.speaker.name))
        return Raw(
            text=_answer(turn, reply, ledger),
            model=ledger.model,
            usage=ledger.usage,
            tool_calls=calls_in(agent.state.context, agent.state.reply_id),
            truncated=ledger.truncated,
        )

    def _agent(self, turn: Turn[Any], before: Sequence[Message], alias: Alias, ledger: Ledger) -> Agent:
        speaker = turn.speaker
        hooks: list[MiddlewareBase] = [Whole(ledger)]
        if turn.recall is not None:
            hooks.append(Recollection(partial(self._recall, turn.recall, speaker.name)))
        return Agent(
            name=speaker.name,
            system_prompt=speaker.system,
            model=alias.model(ledger, turn.reply_type),
            toolkit=self._toolkit(turn.tools if alias.config.calls_tools else (), ledger),
            middlewares=hooks,
            state=AgentState(context=[to_msg(message, speaker.name) for message in before]),
            context_config=UNCUT,
            react_config=REACT,
            injection_config=NO_CLOCK,
        )

    def _toolkit(self, tools: Sequence[Tool], ledger: Ledger) -> Toolkit:
        """An agent with tools has a toolkit of its own; the empty one, costly to make, is never written to."""
        return toolkit(tools, ledger) if tools else self._no_tools

    def _alias(self, name: str) -> Alias:
        if name not in self._aliases:
            raise ConfigError(f"models.{name} is missing", tried=f"models: {', '.join(self._aliases)}")
        return self._aliases[name]


def make_host(models: Mapping[str, ModelConfig], recall: Recall, attempts: int) -> ManagedHost:
    """A run's host."""
    return AgentScopeHost(models, recall, attempts)


def _answer(turn: Turn[Any], reply: Msg, ledger: Ledger) -> str:
    """The text of a reply that is the model's own; AgentScope ends other replies with words of its own."""
    ledger.stop_if_failed()
    if reply.finished_reason == ReplyFinishedReason.INTERRUPTED:
        raise asyncio.CancelledError
    done = {ReplyFinishedReason.COMPLETED, ReplyFinishedReason.EXCEED_MAX_ITERS}
    if reply.finished_reason not in done or ledger.wants_tools:
        raise ModelError(
            f"{turn.place}: {ledger.model} called tools {TOOL_ROUNDS} times and gave no answer",
            hint="try another model, or resume the run",
        )
    return reply.get_text_content() or ""


@contextmanager
def _quiet() -> Generator[None]:
    """AgentScope's log says of each failed call that its one attempt is exhausted; we say more, once."""
    logger = logging.getLogger("as")
    logger.addFilter(_outside_turns)
    token = _in_turn.set(True)
    try:
        yield
    finally:
        _in_turn.reset(token)


def _outside_turns(record: logging.LogRecord) -> bool:
    return not _in_turn.get()
