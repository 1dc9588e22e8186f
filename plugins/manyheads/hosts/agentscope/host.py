"""AgentScope as a host: each turn is a reply of the speaker's own `Agent`, emptied, over a shared model client."""

import asyncio
import logging
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import cache, partial
from typing import Any

import json_repair
from agentscope.agent import Agent, ContextConfig, InjectionConfig, ReActConfig
from agentscope.message import Msg, TextBlock, ToolCallBlock, ToolResultBlock, ToolResultState
from agentscope.middleware import MiddlewareBase
from agentscope.model import ChatModelBase
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.state import AgentState
from agentscope.tool import FunctionTool, ToolChunk, ToolGroup, Toolkit
from agentscope.types import ReplyFinishedReason
from pydantic import BaseModel, ValidationError

from manyheads.config import ModelConfig
from manyheads.core import ManagedHost, Message, Raw, Recall, Speaker, Tool, ToolCall, Turn, recall_nothing
from manyheads.engine.replying import TOOL_ROUNDS
from manyheads.errors import ModelError, UserError, describe
from manyheads.hosts.agentscope.client import Alias, GovernedModel, TurnLedger, to_msg
from manyheads.hosts.clients import ClientHost, Ledger
from manyheads.models.requests import refuse_unfit, refuse_unseen

# Our tools as AgentScope's, and the record of what was called.


# Without it a tool waits for a person's permission, and the sentence that says so looks like the reply.
ALLOWED = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="a tool of manyheads")


def toolkit(tools: Sequence[Tool], ledger: Ledger) -> Toolkit:
    """A toolkit of its own for each agent: agents that share one write into each other's."""
    return Toolkit(tools=[_function_tool(tool, ledger) for tool in tools])


@cache
def _no_tools() -> Toolkit:
    """The empty toolkit, costly to make; it is never written to."""
    return Toolkit()


def _tools_of_a_turn(tools: Sequence[Tool], ledger: Ledger) -> Toolkit:
    """The toolkit of one turn, made from the empty one: a new one takes most of a turn's time."""
    if not tools:
        return _no_tools()
    own = copy(_no_tools())
    own.tool_groups = [ToolGroup(name="basic", tools=[_function_tool(tool, ledger) for tool in tools])]
    return own


def _function_tool(tool: Tool, ledger: Ledger) -> FunctionTool:
    async def run(**arguments: Any) -> ToolChunk:
        try:
            text = await tool.run(tool.arguments.model_validate(arguments))
        except ValidationError as error:
            raise ValueError(describe(error)) from error
        except UserError as error:
            ledger.fail(error)
            raise
        return ToolChunk(content=[TextBlock(text=text)])

    return FunctionTool(
        run,
        name=tool.name,
        description=tool.description,
        input_schema=_schema_of(tool.arguments),
        permission=ALLOWED,
    )


@cache
def _schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """The schema of a tool's arguments as AgentScope makes it, which it would do anew for each agent."""
    return FunctionTool(lambda: ToolChunk(content=[]), "tool", "-", arguments).input_schema


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
        ledger: of the agent's tools; a failure in it ends the reply before the next request. The model's when left out.
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
        """Raises `ConfigError` when the prompt cannot fit the model's context window."""
        model: ChatModelBase = input_kwargs["current_model"]
        ours = model if isinstance(model, GovernedModel) else None
        if ledger := self._ledger or (ours and ours.ledger):
            ledger.stop_if_failed()
        order_results(agent.state.context)
        tokens = await model.count_tokens(input_kwargs["messages"], input_kwargs["tools"])
        who = ours.in_config if ours else agent.name
        refuse_unfit(who, model.model, tokens, model.context_size)
        return await next_handler(**input_kwargs)


Lookup = Callable[[], Awaitable[str]]
"""What is to be recalled for a turn; gives the passage."""


class Recollection(MiddlewareBase):
    """Puts a passage from the author knowledge bank before the question, in its own message, for the whole reply.

    AgentScope's RAG middleware would number and label the passage in its own words, take it away after the
    first tool call, and go on without it when the search fails. A failure here ends the turn.

    Attributes:
        recall: gives the passage of the turn, empty for nothing; None where nothing is to be looked up.
    """

    recall: Lookup | None = None

    async def on_reasoning(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., AsyncGenerator[Any]]
    ) -> AsyncGenerator[Any]:
        if self.recall and agent.state.cur_iter == 0 and (passage := await self.recall()):
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


class SpeakerAgent(Agent):
    """The agent of one speaker: asked for one turn at a time, and nothing is left of a turn when the next begins.

    Making one takes AgentScope longer than asking it.

    Args:
        speaker: whose name and system prompt it has.
        model: of its first turn.
    """

    def __init__(self, speaker: Speaker, model: GovernedModel) -> None:
        self.recollection = Recollection()
        super().__init__(
            name=speaker.name,
            system_prompt=speaker.system,
            model=model,
            toolkit=_no_tools(),
            middlewares=[Whole(), self.recollection],
            context_config=UNCUT,
            react_config=REACT,
            injection_config=NO_CLOCK,
        )

    def begin(self, model: GovernedModel, tools: Sequence[Tool], recall: Lookup | None) -> None:
        """Forget the last turn and take up another: its model, its tools, what it recalls."""
        self.model, self.recollection.recall = model, recall
        self.toolkit = _tools_of_a_turn(tools, model.ledger)
        self.state = AgentState()


class AgentScopeHost(ClientHost[Alias]):
    """Asks speakers through AgentScope's agents.

    Args:
        models: settings of the models by alias.
        recall: the author knowledge bank behind the retrieval hook.
        attempts: how often a turn may be asked in all.
        ready: models of AgentScope that stand in for those of `models`; who made them closes them.
    """

    def __init__(
        self,
        models: Mapping[str, ModelConfig],
        recall: Recall = recall_nothing,
        attempts: int = 3,
        ready: Mapping[str, ChatModelBase] = NO_MODELS,
    ) -> None:
        super().__init__(models, recall, attempts)
        self._ready = ready
        self._idle = defaultdict[Speaker, list[SpeakerAgent]](list)
        """Agents whose turn is over; one is lent to one turn at a time."""

    def make_client(self, alias: str, config: ModelConfig) -> Alias:
        return Alias(alias, config, self._ready.get(alias), asyncio.get_running_loop())

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One reply of the speaker's agent, which knows nothing but the thread.

        Raises:
            ModelError: the model fails for good, the prompt does not fit, or it does nothing but call tools.
            ConfigError: no such model, no key, or images for a model without vision.
        """
        speaker, alias = turn.speaker, self.client(turn.speaker.model)
        refuse_unseen(alias.name, alias.config, images=any(message.images for message in thread))
        ledger = TurnLedger(warn)
        agent = self._agent(turn, GovernedModel(alias, ledger, turn.reply_type))
        agent.state.context = [to_msg(message, speaker.name) for message in thread[:-1]]
        with _quiet():
            reply = await agent.reply(to_msg(thread[-1], speaker.name))
        raw = Raw(
            text=_answer(turn, reply, ledger),
            model=ledger.model,
            usage=ledger.usage,
            tool_calls=calls_in(agent.state.context, agent.state.reply_id),
            truncated=ledger.truncated,
        )
        self._idle[speaker].append(agent)
        return raw

    def _agent(self, turn: Turn[Any], model: GovernedModel) -> SpeakerAgent:
        idle = self._idle[turn.speaker]
        agent = idle.pop() if idle else SpeakerAgent(turn.speaker, model)
        recall = None if turn.recall is None else partial(self._recall, turn.recall, turn.speaker.name)
        agent.begin(model, turn.tools if model.calls_tools else (), recall)
        return agent


def make_host(models: Mapping[str, ModelConfig], recall: Recall, attempts: int) -> ManagedHost:
    """A run's host."""
    return AgentScopeHost(models, recall, attempts)


def _answer(turn: Turn[Any], reply: Msg, ledger: TurnLedger) -> str:
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
