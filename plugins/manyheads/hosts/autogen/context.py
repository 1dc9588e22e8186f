"""The memory of a role's chat, as long as its model's context."""

import logging
from typing import Any, Self

from autogen_core import Component
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import ChatCompletionClient, LLMMessage, SystemMessage, UserMessage
from autogen_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict

from manyheads.hosts.autogen.client import GovernedClient, size_of
from manyheads.hosts.autogen.memory import SOURCE
from manyheads.models.requests import ROOM

log = logging.getLogger("manyheads")


class RecentContextConfig(BaseModel):
    """Config of a `RecentContext` component."""

    model_config = ConfigDict(extra="forbid")

    tokens: int
    initial_messages: list[LLMMessage] | None = None


class RecentContext(ChatCompletionContext, Component[RecentContextConfig]):
    """A model context of at most so many tokens, one per four bytes, that leaves out the oldest messages.

    It leaves out whole rounds, a question with its answer and tool calls, but never the last question. AutoGen's
    `TokenLimitedChatCompletionContext` leaves out messages from the middle, and finally the question itself.
    """

    component_config_schema = RecentContextConfig

    def __init__(self, tokens: int, initial_messages: list[LLMMessage] | None = None) -> None:
        super().__init__(initial_messages)
        self._tokens, self._first = tokens, initial_messages

    async def get_messages(self) -> list[LLMMessage]:
        """The last rounds that fit."""
        messages = self._messages
        users = [(at, each) for at, each in enumerate(messages) if isinstance(each, UserMessage)]
        asked = [at for at, each in users if each.source != SOURCE]
        for start in (0, *asked):
            if start == max(asked, default=0) or size_of(messages[start:]) <= self._tokens:
                if start:
                    log.info("left out the first %d of %d messages of a chat", start, len(messages))
                return messages[start:]
        return messages

    def _to_config(self) -> RecentContextConfig:
        return RecentContextConfig(tokens=self._tokens, initial_messages=self._first)

    @classmethod
    def _from_config(cls, config: RecentContextConfig) -> Self:
        return cls(config.tokens, config.initial_messages)


def context_for(
    client: ChatCompletionClient, system: str, tools: list[BaseTool[Any, Any]]
) -> RecentContext | None:
    """A context for one of our models, with room for its system prompt, its tools and an answer.

    None for AutoGen's own clients, which do not report the length of the model's context.
    """
    if not isinstance(client, GovernedClient):
        return None
    window = client.config.window
    used = client.count_tokens([SystemMessage(content=system)], tools=tools)
    return RecentContext(max(window - min(client.config.max_tokens or ROOM, window // 4) - used, 1))
