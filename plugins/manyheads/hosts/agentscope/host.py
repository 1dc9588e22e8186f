"""AgentScope as a host: each turn is a reply of a fresh, stateless `Agent` over a shared model client."""

import asyncio
import logging
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from agentscope.agent import Agent, ContextConfig, InjectionConfig, ReActConfig
from agentscope.message import Msg
from agentscope.middleware import MiddlewareBase
from agentscope.model import ChatModelBase
from agentscope.state import AgentState
from agentscope.tool import Toolkit
from agentscope.types import ReplyFinishedReason

from manyheads.config import ModelConfig
from manyheads.core import ManagedHost, Message, Raw, Recall, Tool, Turn, recall_nothing
from manyheads.errors import ConfigError, ModelError
from manyheads.hosts.agentscope.hooks import Recollection, Whole
from manyheads.hosts.agentscope.messages import to_msg
from manyheads.hosts.agentscope.models import Alias, Ledger
from manyheads.hosts.agentscope.tools import calls_in, toolkit
from manyheads.models.request import refuse_unseen
from manyheads.structured import TOOL_ROUNDS, StructuredHost

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
