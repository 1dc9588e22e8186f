"""A role as an agent of AutoGen, for any team."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Self

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
from autogen_core import CancellationToken, FunctionCall
from autogen_core.memory import Memory
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import ChatCompletionClient
from autogen_core.tools import BaseTool, StaticStreamWorkbench, ToolSchema, Workbench
from pydantic import BaseModel, ConfigDict, ValidationError

from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError, ModelError, UserError
from manyheads.base.http import GarbledError
from manyheads.base.papers import Literature, Scientist
from manyheads.base.resources import Resources
from manyheads.config import LiteratureConfig, ModelConfig
from manyheads.core import Tool, ToolCall, safe_name
from manyheads.corpus.ecosystem import KnowledgeBank
from manyheads.engine.replying import TOOL_ROUNDS
from manyheads.hosts.autogen.client import ModelClient, NativeModel
from manyheads.hosts.autogen.component import Versioned, without_keys
from manyheads.hosts.autogen.context import context_for
from manyheads.hosts.autogen.memory import KnowledgeMemory
from manyheads.hosts.clients import Ledger, tool_call
from manyheads.hosts.roles import cast_role, guest_of, need_tools, role_tools
from manyheads.literature.library import Library
from manyheads.models.abilities import settled
from manyheads.models.answers import sound_arguments
from manyheads.team.tools import literature_tools

_schemas: dict[tuple[type[BaseModel], str, str], ToolSchema] = {}
"""Schemas by kind of tool: AutoGen asks for a tool's schema with every request."""


class CoreTool(BaseTool[BaseModel, Any]):
    """A tool function of the core for AutoGen's agents.

    As usual in AutoGen, the model's mistakes and a tool's refusals go back to the model. A user's mistake, a spent budget
    or a full disk end the turn instead.

    Args:
        tool: the tool.
        ledger: records an error that must end the turn.
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
            ValueError: the arguments are not valid; the message is a line for the model.
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


class RoleAgent(Versioned, AssistantAgent):
    """An `AssistantAgent` whose `close` also closes the model client, memory and library made for it.

    A user's mistake in one of its tools, such as a spent budget, ends its turn. It takes tools and workbenches together.
    """

    component_config_schema = RoleAgentConfig  # pyright: ignore[reportAssignmentType] - it has a field more
    component_provider_override = None  # pyright: ignore[reportAssignmentType] - dumped under its own name
    owns_client = False
    ledger: Ledger | None = None
    """Of its tools."""
    role = ""
    roles: Roles | None = None
    """The cards that its role is one of."""
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
            self.ledger.guests = 0
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
            await NativeModel.shut(self._model_client)
        for memory in self._memory or ():
            await memory.close()
        if self._library:
            await self._library.close()
        await super().close()

    def _to_config(self) -> RoleAgentConfig:
        """The agent's config for JSON, without keys."""
        own = [tool for tool in self._tools if isinstance(tool, CoreTool)]
        if lost := [tool.name for tool in own if tool.name not in self.cast_tools or self.casting is None]:
            raise ConfigError(
                f"agent {self.name!r}: a file cannot hold its tools {', '.join(lost)}",
                tried="tools of the card are kept where corpus= is a name, and those of a library by its config",
                hint="give functions of your own as AutoGen's FunctionTool",
            )
        benches, self._workbench = self._workbench, self._workbench[1:]
        try:  # the first one holds the tools
            config = super()._to_config()
        finally:
            self._workbench = benches
        native = [
            without_keys(tool.dump_component()) for tool in self._tools if not isinstance(tool, CoreTool)
        ]
        data: dict[str, Any] = {
            name: without_keys(getattr(config, name)) for name in AssistantAgentConfig.model_fields
        }
        data |= {"tools": native or None, "casting": self.casting}
        return RoleAgentConfig(**data)

    @classmethod
    def _from_config(cls, config: AssistantAgentConfig) -> Self:
        agent = super()._from_config(config)
        agent.owns_client = True
        if casting := config.casting if isinstance(config, RoleAgentConfig) else None:
            roles, ledger = Roles(Resources.of(casting.paths)), Ledger()
            agent._library = Library(casting.library) if casting.library else None
            guest = guest_of(role_agent, agent._model_client, casting.paths, _answer)
            card = roles.card(casting.role)
            tools = role_tools(card, casting.scientist, agent._library, casting.corpus, guest, ledger, roles)
            agent.play(casting, roles, ledger, tools)
        return agent

    def play(self, casting: Casting, roles: Roles, ledger: Ledger, tools: Sequence[Tool]) -> None:
        """Play a role with the tools that its card lists."""
        self.role, self.roles, self.ledger, self.casting = casting.role, roles, ledger, casting
        self.cast_tools = frozenset(tool.name for tool in tools)
        if tools:
            self._tools = [*self._tools, *(CoreTool(tool, ledger) for tool in tools)]
            self._workbench[0] = StaticStreamWorkbench(self._tools)


async def _answer(agent: AssistantAgent, question: str) -> str:
    return (await agent.run(task=question)).messages[-1].to_text()


NativeTool = BaseTool[Any, Any] | Callable[..., Any]


def role_agent(
    role: str,
    model: ChatCompletionClient | ModelConfig | str,
    *,
    name: str | None = None,
    tools: Sequence[Tool | NativeTool] = (),
    library: Library | None = None,
    corpus: Literature | str | None = None,
    knowledge: KnowledgeBank | str | None = None,
    paths: Sequence[str] = (),
    handoffs: Sequence[HandoffBase | str] = (),
    memory: Sequence[Memory] = (),
    workbench: Workbench | Sequence[Workbench] | None = None,
    model_context: ChatCompletionContext | None = None,
    model_client_stream: bool = False,
    **variables: Any,
) -> RoleAgent:
    """A real `autogen_agentchat.agents.AssistantAgent` that plays a role.

    It answers with text after its tool calls; its prompt contains no keyword of AutoGen.

    Args:
        role: name of a role card, such as `reviewer`.
        model: a client of AutoGen, a config, or `provider/name` such as `openai/gpt-4o-mini`.
        name: the agent's name; the role's when left out.
        tools: of manyheads, AutoGen's, or functions.
        library: for the literature tools that its card lists; stays open.
        corpus: an open corpus or its name; gives a `scientist` or `leader` the tools to find other scientists and to ask
            one of them per turn, who answers as another agent of the same model. `scientist="Scientist3"` names the one
            who plays. Roles whose card lists `retrieve_inspirations` can search its literature database.
        knowledge: a bank whose papers are looked up for each question and shown with it: an open bank, or its folder
            or URL; with a folder or URL the agent can be dumped as JSON.
        paths: your own folders of roles and prompts, searched first.
        handoffs, workbench, model_client_stream: as `AssistantAgent` takes them. A named model answers in one
            chunk; for streaming, pass a client of AutoGen.
        memory: in addition to `knowledge`.
        model_context: limits the chat; by default to the latest whole rounds that fit the context of a named model.
        variables: of the role's system prompt; the card has defaults.

    Raises:
        ConfigError: no such role or variable, no such provider, its key is missing, or it cannot call tools.
    """
    if isinstance(model, str):
        model = ModelConfig.parse(model)
    client = ModelClient(settled(model)) if isinstance(model, ModelConfig) else model
    ledger, roles, guest = Ledger(), Roles(Resources.of(paths)), guest_of(role_agent, client, paths, _answer)
    card, system, own = cast_role(role, library, corpus, guest, ledger, roles, variables)
    given = [CoreTool(tool, ledger) if isinstance(tool, Tool) else tool for tool in tools]
    need_tools(role, (*given, *own, *handoffs), calls_tools=client.model_info["function_calling"])
    memories = list(memory)
    if knowledge is not None:
        memories.insert(0, KnowledgeMemory(knowledge))
    agent = RoleAgent(
        safe_name(name or role),
        client,
        description=card.description,
        system_message=system,
        tools=given or None,
        handoffs=list(handoffs) or None,
        workbench=workbench,
        memory=memories or None,
        model_client_stream=model_client_stream,
        max_tool_iterations=TOOL_ROUNDS,
        reflect_on_tool_use=True,
    )
    me = variables.get("scientist")
    casting = Casting(
        role=role,
        paths=tuple(map(str, paths)),
        library=library.config if library else None,
        corpus=corpus if isinstance(corpus, str) else None,
        scientist=me.name if isinstance(me, Scientist) else me or "",
    )
    agent.play(casting, roles, ledger, own)
    if corpus is not None and casting.corpus is None:  # an open bank has no name that a file could store
        agent.cast_tools = frozenset(tool.name for tool in literature_tools(library, card.tools))
    agent.owns_client = client is not model
    if context := model_context or context_for(client, system, agent._tools):
        agent._model_context = context
    return agent
