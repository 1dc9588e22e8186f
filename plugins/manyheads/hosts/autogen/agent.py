"""A role as an agent of AutoGen, for any team."""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Self

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.agents._assistant_agent import AssistantAgentConfig
from autogen_agentchat.base import Response
from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from autogen_core import CancellationToken, FunctionCall
from autogen_core.memory import Memory
from autogen_core.models import ChatCompletionClient
from autogen_core.tools import BaseTool, ToolSchema
from pydantic import BaseModel, ValidationError

from manyheads.bank.knowledge import KnowledgeBank
from manyheads.config import ModelConfig
from manyheads.core import Tool, ToolCall, safe_name
from manyheads.engine.replying import TOOL_ROUNDS
from manyheads.errors import ConfigError, ModelError, UserError
from manyheads.hosts.autogen.client import ModelClient, NativeModel
from manyheads.hosts.bridge import cast_role
from manyheads.hosts.clients import Ledger
from manyheads.literature.library import Library
from manyheads.models.abilities import settled
from manyheads.models.answers import sound_arguments
from manyheads.papers import Literature, Scientist
from manyheads.resources import Resources
from manyheads.retry import GarbledError
from manyheads.roles import Roles

_schemas: dict[tuple[type[BaseModel], str, str], ToolSchema] = {}
"""Of each kind of tool: AutoGen asks a tool for its schema with every request."""


class CoreTool(BaseTool[BaseModel, Any]):
    """A tool function of the core for AutoGen's agents.

    What the model did wrong, and what a tool refuses, goes back to the model as AutoGen does it. AutoGen would
    do the same with a user's mistake, a spent budget or a full disk: these end the turn.

    Args:
        tool: the tool.
        ledger: told of an error that must end the turn.
    """

    def __init__(self, tool: Tool, ledger: Ledger) -> None:
        super().__init__(tool.arguments, str, tool.name, tool.description)
        self._tool, self._ledger = tool, ledger

    @property
    def schema(self) -> ToolSchema:
        kind = (self._args_type, self._name, self._description)
        if kind not in _schemas:
            _schemas[kind] = super().schema
        return _schemas[kind]

    async def run_json(
        self, args: Mapping[str, Any], cancellation_token: CancellationToken, call_id: str | None = None
    ) -> Any:
        """See `BaseTool.run_json`.

        Raises:
            ValueError: the arguments do not fit, in a line for the model.
        """
        try:
            return await super().run_json(args, cancellation_token, call_id)
        except ValidationError as error:
            raise ValueError(self._tool.explain(error)) from error

    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> str:
        """Run the tool; see `Tool.run`."""
        try:
            return await self._tool.run(args)
        except UserError as error:
            self._ledger.fail(error)
            raise


def calls_made(messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> Iterator[ToolCall]:
    """Every tool call in an agent's messages with its result, in the order they were asked for.

    Calls and results are matched by place, as some servers give all calls the same id.
    """
    calls: list[FunctionCall] = []
    for message in messages:
        if isinstance(message, ToolCallRequestEvent):
            calls = message.content
        elif isinstance(message, ToolCallExecutionEvent):
            for call, result in zip(calls, message.content, strict=True):
                try:
                    arguments = json.loads(call.arguments)
                except json.JSONDecodeError:
                    arguments = None
                yield ToolCall(
                    name=call.name,
                    arguments=arguments if isinstance(arguments, dict) else {"unreadable": call.arguments},
                    result=result.content,
                    failed=bool(result.is_error),
                )


class RoleAgent(AssistantAgent):
    """An `AssistantAgent` whose `close` also closes what was made for it: its model client, its memory.

    A user's mistake in one of its tools, such as a spent budget, ends its turn.
    """

    component_provider_override = None  # pyright: ignore[reportAssignmentType] - dumped under its own name
    owns_client = False
    ledger: Ledger | None = None
    """Of its tools."""
    role = ""
    roles: Roles | None = None
    """The cards that its role is one of."""

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """See `AssistantAgent.on_messages_stream`."""
        if self.ledger:
            self.ledger.guests = 0
        async with aclosing(super().on_messages_stream(messages, cancellation_token)) as items:
            async for item in items:
                if self.ledger:
                    self.ledger.stop_if_failed()
                if isinstance(item, ToolCallRequestEvent):
                    try:  # AutoGen would wait for ever for a tool whose arguments it cannot read
                        for call in item.content:
                            sound_arguments(call.name, call.arguments)
                    except GarbledError as error:
                        raise ModelError(f"{self.name}: the model's server is at fault: {error}") from error
                yield item

    async def close(self) -> None:
        """Release connections; a ready client or bank that was given stays open."""
        if self.owns_client:
            await NativeModel.shut(self._model_client)
        for memory in self._memory or ():
            await memory.close()
        await super().close()

    @classmethod
    def _from_config(cls, config: AssistantAgentConfig) -> Self:
        agent = super()._from_config(config)
        agent.owns_client = True
        return agent


def role_agent(
    role: str,
    model: ChatCompletionClient | ModelConfig | str,
    *,
    name: str | None = None,
    tools: Sequence[Tool] = (),
    library: Library | None = None,
    corpus: Literature | str | None = None,
    knowledge: KnowledgeBank | str | None = None,
    paths: Sequence[str] = (),
    **variables: Any,
) -> RoleAgent:
    """A real `autogen_agentchat.agents.AssistantAgent` that plays a role.

    It answers with text after its tool calls, and no keyword of AutoGen's stands in its prompt.

    Args:
        role: name of a role card, such as `reviewer`.
        model: a client of AutoGen, a config, or `provider/name` such as `openai/gpt-4o-mini`.
        name: the agent's name; the role's when left out.
        tools: what it may call.
        library: gives it those of the literature tools that its card lists; stays open.
        corpus: an open one or its name; gives a `scientist` or `leader`, who may be `scientist="Scientist3"` of it, the
            tools to find other scientists and to ask one of them a turn, who answers as another agent of the same model. Any role
            whose card lists `retrieve_inspirations` asks its literature database by it.
        knowledge: papers that are looked up for each question and shown beside it: an open bank, or its folder
            or URL, with which the agent can be dumped as JSON.
        paths: your own folders of roles and prompts, before ours.
        variables: of the role's system prompt; the card has defaults.

    Raises:
        ConfigError: no such role or variable, no such provider, its key is missing, or it cannot call tools.
    """

    async def guest(scientist: Scientist, question: str) -> str:
        asked = role_agent("scientist", client, name=scientist.name, paths=paths, scientist=scientist)
        return (await asked.run(task=question)).messages[-1].to_text()

    ledger, roles = Ledger(), Roles(Resources.of(paths))
    card, system, tools = cast_role(role, tools, library, corpus, guest, ledger, roles, variables)
    if isinstance(model, str):
        model = ModelConfig.parse(model)
    client = ModelClient(settled(model)) if isinstance(model, ModelConfig) else model
    if tools and not client.model_info["function_calling"]:
        raise ConfigError(
            f"role {role!r}: its model cannot call tools", hint="set its `tools: true` if it can"
        )
    memory: list[Memory] = []
    if knowledge is not None:
        from manyheads.hosts.autogen.memory import KnowledgeMemory

        memory.append(KnowledgeMemory(knowledge))
    agent = RoleAgent(
        safe_name(name or role),
        client,
        description=card.description,
        system_message=system,
        tools=[CoreTool(tool, ledger) for tool in tools] or None,
        memory=memory or None,
        max_tool_iterations=TOOL_ROUNDS,
        reflect_on_tool_use=True,
    )
    agent.ledger, agent.owns_client = ledger, client is not model
    agent.role, agent.roles = role, roles
    return agent
