"""Middlewares of our agents: nothing that is told to a model is cut, and what the bank recalls reaches it."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from agentscope.agent import Agent
from agentscope.message import TextBlock
from agentscope.middleware import MiddlewareBase
from agentscope.model import ChatModelBase

from manyheads.hosts.agentscope.models import GovernedModel, Ledger
from manyheads.hosts.agentscope.tools import order_results
from manyheads.models.request import refuse_unfit


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
