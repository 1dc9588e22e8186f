"""A role as an agent of AutoGen, for any team."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Self, TypeGuard

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.agents._assistant_agent import AssistantAgentConfig
from autogen_agentchat.base import Handoff as HandoffBase
from autogen_agentchat.base import Response
from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from autogen_core import CancellationToken, Component, ComponentModel, FunctionCall
from autogen_core.memory import Memory
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import ChatCompletionClient
from autogen_core.tools import BaseTool, StaticStreamWorkbench, ToolSchema, Workbench
from pydantic import BaseModel, ConfigDict

from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError, ModelError
from manyheads.base.http import GarbledError
from manyheads.base.resources import Resources
from manyheads.config import LiteratureConfig, ModelConfig
from manyheads.core import Tool, ToolCall
from manyheads.engine.replying import TOOL_ROUNDS
from manyheads.hosts.autogen.client import ModelClient, Versioned, without_keys
from manyheads.hosts.autogen.context import context_for
from manyheads.hosts.autogen.memory import KnowledgeMemory
from manyheads.hosts.clients import Ledger, run_tool, tool_call
from manyheads.hosts.roles import CastRole, Plays, RoleSpec, model_for
from manyheads.literature.library import Library
from manyheads.models.answers import sound_arguments
from manyheads.team.tools import literature_tools

_schemas: dict[tuple[type[BaseModel], str, str], ToolSchema] = {}
"""Schemas by kind of tool: AutoGen asks for a tool's schema with every request."""


class CoreTool(BaseTool[BaseModel, Any]):
    """A tool function of the core for AutoGen's agents; see `run_tool`."""

    def __init__(self, tool: Tool, ledger: Ledger) -> None:
        super().__init__(tool.arguments, str, tool.name, tool.description)
        self._tool, self._ledger = tool, ledger

    @property
    def schema(self) -> ToolSchema:
        kind = (self.args_type(), self.name, self.description)
        if kind not in _schemas:
            _schemas[kind] = super().schema
        return _schemas[kind]

    async def run_json(
        self, args: Mapping[str, Any], cancellation_token: CancellationToken, call_id: str | None = None
    ) -> Any:
        """See `BaseTool.run_json`, which would report wrong arguments in Pydantic's words."""
        return await run_tool(self._tool, self._ledger, args)

    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> str:
        """Run the tool; see `Tool.run`."""
        return await run_tool(self._tool, self._ledger, args)


def _is_bare(tool: object) -> TypeGuard[CoreTool]:
    """Whether it is a tool of ours that no file can hold by itself."""
    return isinstance(tool, CoreTool) and not isinstance(tool, Component)


def calls_made(messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> Iterator[ToolCall]:
    """The tool calls in an agent's messages with their results, in the order of the calls.

    Calls and results are matched by position: some servers give all calls the same id.
    """
    calls: list[FunctionCall] = []
    for message in messages:
        if isinstance(message, ToolCallRequestEvent):
            calls = message.content
        elif isinstance(message, ToolCallExecutionEvent):
            for call, result in zip(calls, message.content, strict=True):
                yield tool_call(call.name, call.arguments, result.content, failed=bool(result.is_error))


class Casting(BaseModel):
    """Where a role's agent has its tools from, as JSON keeps it."""

    model_config = ConfigDict(extra="forbid")

    role: str
    paths: tuple[str, ...] = ()
    library: LiteratureConfig | None = None
    corpus: str | None = None
    scientist: str = ""
    """Who plays the role, for the tools of a corpus."""


class RoleAgentConfig(AssistantAgentConfig):
    """Config of a role's agent: that of an `AssistantAgent`, and where the role's own tools come from."""

    casting: Casting | None = None


class RoleAgent(Versioned, Plays, AssistantAgent):
    """An `AssistantAgent` whose `close` also closes the model client, memory and library made for it.

    A user's mistake in one of its tools, such as a spent budget, ends its turn. It takes tools and workbenches together.
    """

    component_config_schema = RoleAgentConfig  # pyright: ignore[reportAssignmentType] - it has a field more
    component_provider_override = None  # pyright: ignore[reportAssignmentType] - dumped under its own name
    owns_client = False
    casting: Casting | None = None
    cast_tools: frozenset[str] = frozenset()
    """Names of the tools that its casting gives it."""
    _library: Library | None = None

    def __init__(
        self,
        name: str,
        model_client: ChatCompletionClient,
        *,
        workbench: Workbench | Sequence[Workbench] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(name, model_client, **settings)
        benches = workbench if isinstance(workbench, Sequence) else [workbench] if workbench else []
        self._workbench: list[Workbench] = [*self._workbench, *benches]

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """See `AssistantAgent.on_messages_stream`."""
        if self.ledger:
            self.ledger.begin()
        async with aclosing(super().on_messages_stream(messages, cancellation_token)) as items:
            async for item in items:
                if self.ledger:
                    self.ledger.stop_if_failed()
                if isinstance(item, ToolCallRequestEvent):
                    try:  # AutoGen would wait forever for a tool whose arguments it cannot read
                        for call in item.content:
                            sound_arguments(call.name, call.arguments)
                    except GarbledError as error:
                        raise ModelError(f"{self.name}: the model's server is at fault: {error}") from error
                yield item

    async def close(self) -> None:
        """Release connections; a client, bank or library that you passed stays open."""
        if self.owns_client:
            await self._model_client.close()
        for memory in self._memory or ():
            await memory.close()
        if self._library:
            await self._library.close()
        await super().close()

    def dump_component(self) -> ComponentModel:
        """The agent for JSON, described as its role is: AutoGen Studio shows it."""
        return super().dump_component().model_copy(update={"description": self.description})

    def _to_config(self) -> RoleAgentConfig:
        """The agent's config for JSON, without keys."""
        own = [tool for tool in self._tools if _is_bare(tool)]
        if lost := [tool.name for tool in own if tool.name not in self.cast_tools or self.casting is None]:
            raise ConfigError(
                f"agent {self.name!r}: a file cannot contain its tools {', '.join(lost)}",
                tried="tools of the card are kept where corpus= is a name, and those of a library by its config",
                hint="give functions of your own as AutoGen's FunctionTool",
            )
        benches, self._workbench = self._workbench, self._workbench[1:]
        try:  # the first one holds the tools
            config = super()._to_config()
        finally:
            self._workbench = benches
        theirs = (tool for tool in self._tools if not _is_bare(tool))
        native = [without_keys(tool.dump_component()) for tool in theirs]
        names = AssistantAgentConfig.model_fields
        data: dict[str, Any] = {name: without_keys(getattr(config, name)) for name in names}
        data |= {"tools": native or None, "casting": self.casting}
        return RoleAgentConfig(**data)

    @classmethod
    def _from_config(cls, config: AssistantAgentConfig) -> Self:
        agent = super()._from_config(config)
        agent.owns_client = True
        if casting := config.casting if isinstance(config, RoleAgentConfig) else None:
            agent._library = Library(casting.library) if casting.library else None
            spec = RoleSpec(
                casting.role, library=agent._library, corpus=casting.corpus, paths=casting.paths,
                variables={"scientist": casting.scientist},
            )  # fmt: skip
            roles, ledger = Roles(Resources.of(casting.paths)), Ledger()
            guest = spec.guest_of(role_agent, agent._model_client, _answer)
            card = roles.card(casting.role)
            part = CastRole(card, "", spec.tools_of(card, guest, ledger, roles), ledger, roles)
            agent.take(casting, part)
            agent._tools = [*agent._tools, *part.native(CoreTool)]
            agent._workbench[0] = StaticStreamWorkbench(agent._tools)
        return agent

    def take(self, casting: Casting, part: CastRole) -> None:
        """Play a part."""
        self.play(part)
        self.casting, self.cast_tools = casting, frozenset(tool.name for tool in part.tools)


async def _answer(agent: AssistantAgent, question: str) -> str:
    return (await agent.run(task=question)).messages[-1].to_text()


FILLED = frozenset((
    "name", "model_client", "system_message", "tools", "handoffs", "memory", "workbench", "model_context",
    "model_client_stream",
))  # fmt: skip
"""The arguments of `AssistantAgent` that a role fills in."""


def role_agent(
    role: str,
    model: ChatCompletionClient | ModelConfig | str,
    *,
    handoffs: Sequence[HandoffBase | str] = (),
    memory: Sequence[Memory] = (),
    workbench: Workbench | Sequence[Workbench] | None = None,
    model_context: ChatCompletionContext | None = None,
    model_client_stream: bool = False,
    **settings: Any,
) -> RoleAgent:
    """A real `autogen_agentchat.agents.AssistantAgent` that plays a role.

    It answers with text after its tool calls; its prompt contains no keyword of AutoGen.

    Args:
        role: name of a role card, such as `reviewer`.
        model: a client of AutoGen, a config, or `provider/name` such as `openai/gpt-4o-mini`.
        handoffs, workbench, model_client_stream: as `AssistantAgent` takes them. A named model answers in one
            chunk; for streaming, pass a client of AutoGen.
        memory: in addition to `knowledge`.
        model_context: limits the chat; by default to the latest whole rounds that fit the context of a named model.
        settings: `name`, `tools`, `library`, `corpus`, `knowledge`, `paths`, and variables of the role's system prompt; see
            `manyheads.hosts.roles.RoleSpec`. With a bank's folder or URL as `knowledge` the agent can be dumped as JSON.
            `native` has further arguments of `AssistantAgent`: `native={"max_tool_iterations": 2}`.

    Raises:
        ConfigError: no such role or variable, no such provider, its key is missing, or it cannot call tools.
    """
    chosen = model_for(model)
    client = ModelClient(chosen) if isinstance(chosen, ModelConfig) else chosen
    spec, ledger = RoleSpec.of(role, settings, AssistantAgent, FILLED), Ledger()
    part = spec.cast(spec.guest_of(role_agent, client, _answer), ledger)
    tools = part.native(CoreTool, *handoffs, calls_tools=client.model_info["function_calling"])
    memories = [] if spec.knowledge is None else [KnowledgeMemory(spec.knowledge)]
    native: dict[str, Any] = {
        "description": part.card.description, "max_tool_iterations": TOOL_ROUNDS, "reflect_on_tool_use": True,
        **spec.native,
    }  # fmt: skip
    agent = RoleAgent(
        spec.agent_name, client, system_message=part.system, tools=tools or None,
        handoffs=list(handoffs) or None, workbench=workbench, memory=[*memories, *memory] or None,
        model_client_stream=model_client_stream, **native,
    )  # fmt: skip
    library, paths = spec.library.config if spec.library else None, tuple(map(str, spec.paths))
    casting = Casting(
        role=role, paths=paths, library=library, corpus=spec.corpus_name, scientist=spec.scientist
    )
    agent.take(casting, part)
    if spec.corpus is not None and casting.corpus is None:  # no file can hold the tools of an open bank
        tools = literature_tools(spec.library, part.card.tools)
        agent.cast_tools = frozenset(tool.name for tool in tools)
    agent.owns_client = client is not chosen
    if context := model_context or context_for(client, part.system, agent._tools):
        agent._model_context = context
    return agent
