"""A model of AgentScope whose every request goes through the one layer of retries, and is counted."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast
from uuid import uuid4

from agentscope.message import Msg, ThinkingBlock, ToolCallBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.tool import ToolChoice

from manyheads.config import ModelConfig
from manyheads.core import NOTHING, Usage
from manyheads.errors import UserError
from manyheads.hosts.agentscope import clients
from manyheads.models.answer import answered, spent
from manyheads.models.governor import Form, Governor
from manyheads.models.request import form_of
from manyheads.replies import ReplyModel

log = logging.getLogger("manyheads")


@dataclass
class Ledger:
    """What the requests of one turn have cost, and how the last one ended."""

    usage: Usage = NOTHING
    model: str = ""
    truncated: bool = False
    wants_tools: bool = False
    """Whether the last answer asked for tools."""
    failure: UserError | None = None
    """What ends the turn although it happened in a tool: the toolkit tells it to the model and goes on."""
    warn: list[str] | None = None
    """Where notes for the user go; to the log when None."""
    _ids: set[str] = field(default_factory=set[str])

    def stop_if_failed(self) -> None:
        """Raise a tool's failure, once."""
        if failure := self.failure:
            self.failure = None
            raise failure

    def enter(self, response: ChatResponse, config: ModelConfig) -> None:
        """Count one answer."""
        self.usage += _cost(response, config)
        self.model = str(response.metadata.get(clients.ANSWERED_BY) or config.name)
        self.truncated = bool(response.metadata.get(clients.TRUNCATED))
        calls = [block for block in response.content if isinstance(block, ToolCallBlock)]
        self.wants_tools = bool(calls)
        for call in calls:
            self._name(call)

    def _name(self, call: ToolCallBlock) -> None:
        """Some servers use an id again: AgentScope would take the call for one that is done, and not make it."""
        if not call.id or call.id in self._ids:
            call.id = uuid4().hex[:9]  # Mistral's servers take ids of nine letters and digits only
        self._ids.add(call.id)


def _cost(response: ChatResponse, config: ModelConfig) -> Usage:
    if known := response.metadata.get(clients.USAGE):
        return Usage.model_validate(known)
    told = response.usage
    read, written = (told.input_tokens, told.output_tokens) if told else (0, 0)
    return spent(config, read, written)


@dataclass
class Alias:
    """A model of the config: its native client, shared by all turns, and its governor.

    Args:
        name: its name in the config.
        config: its settings.
        given: a ready model to use instead of one made from the settings; never closed here.
    """

    name: str
    config: ModelConfig
    given: ChatModelBase | None = None

    @cached_property
    def client(self) -> ChatModelBase:
        """Built when first asked for: it takes some 50 ms of TLS set-up."""
        return clients.borrow(self.given) if self.given else clients.build(self.config, self.name)

    @cached_property
    def governor(self) -> Governor:
        return Governor(self.name, self.config)

    def model(self, ledger: Ledger, reply_type: type[ReplyModel] | None = None) -> "GovernedModel":
        """A model for one turn; cheap."""
        return GovernedModel(self, ledger, reply_type)

    async def close(self) -> None:
        """Release the connections, if any were made."""
        if "client" in self.__dict__ and not self.given:
            await clients.close(self.client)


class GovernedModel(ChatModelBase):
    """A thin model around a shared native client; for one turn, or for the life of a role's agent.

    Args:
        alias: the model of the config.
        ledger: where usage, notes and failures of tools are kept.
        reply_type: sent as the provider's response format where it takes one.
    """

    def __init__(self, alias: Alias, ledger: Ledger, reply_type: type[ReplyModel] | None = None) -> None:
        inner = alias.client
        super().__init__(
            inner.credential, inner.model, inner.parameters, stream=False, max_retries=0,
            context_size=alias.config.context,
        )  # fmt: skip
        self.formatter: Any = vars(inner)["formatter"]
        self.ledger = ledger
        self.in_config = f"models.{alias.name}"
        self._alias, self._inner, self._reply_type = alias, inner, reply_type

    async def __call__(
        self,
        messages: list[Msg],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: ToolChoice | None = None,
        **kwargs: Any,
    ) -> ChatResponse:
        """One governed request.

        The base class turns a cancelled call into an ordinary response; here cancellation surfaces.

        Raises:
            ModelError: the server cannot be reached, refuses, or fails for good.
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
        config = self._alias.config
        tokens = await self.count_tokens(messages, tools) if config.provider == "ollama" else 0
        settings = {**clients.settings(config, tokens), **kwargs}

        async def once(form: Form) -> ChatResponse:
            call = self._inner._call_api(model_name, messages, tools, tool_choice, **settings, **form)
            return cast(ChatResponse, await answered(call, self._alias.name, config))  # never a stream

        form = form_of(config, self._reply_type, with_tools=bool(tools))
        response = await self._governed(once, form)
        self.ledger.enter(response, config)
        return _spoken(response)

    async def close(self) -> None:
        """Release the connections of a model that was made from a config; for roles' agents, when done."""
        await self._alias.close()

    async def _governed(self, once: Callable[[Form], Awaitable[ChatResponse]], form: Form) -> ChatResponse:
        notes = list[str]() if self.ledger.warn is None else self.ledger.warn
        try:
            return await self._alias.governor.call(once, form, notes)
        finally:
            for note in notes if self.ledger.warn is None else ():
                log.warning(note)


def _spoken(response: ChatResponse) -> ChatResponse:
    """The response without thoughts: an answer of nothing but thoughts would be asked for over and over."""
    if not any(isinstance(block, ToolCallBlock) for block in response.content):
        response.content = [block for block in response.content if not isinstance(block, ThinkingBlock)]
    return response
