"""Agent Framework as a host: each turn is a run of a fresh `Agent` with its tool loop and its context provider."""

import logging
from collections.abc import Sequence
from functools import cache
from typing import Any

from agent_framework import (
    Agent,
    AgentResponse,
    AgentSession,
    ContextProvider,
    FunctionTool,
    SessionContext,
    SupportsAgentRun,
)
from agent_framework import Message as NativeMessage
from pydantic import BaseModel, ValidationError

from manyheads.base.errors import UserError
from manyheads.config import ModelConfig
from manyheads.core import Message, Raw, Recall, Tool, ToolCall, Turn, safe_name
from manyheads.engine.replying import StructuredHost, with_passage
from manyheads.hosts.agent_framework.client import Client, GovernedClient, NativeModel, to_native
from manyheads.hosts.clients import ClientHost, Ledger, tool_call, usage_of_agent
from manyheads.hosts.services import service_tool as tool_of_service
from manyheads.systems.loading import AnyConfig


class CoreTool(FunctionTool):
    """A tool function of the core for Agent Framework's agents; a user's mistake in it ends the turn.

    Args:
        tool: the tool.
        ledger: records an error that must end the turn.
    """

    def __init__(self, tool: Tool, ledger: Ledger) -> None:
        async def run(**arguments: Any) -> str:
            try:
                return await tool.run(tool.arguments.model_validate(arguments))
            except ValidationError as error:
                raise ValueError(tool.explain(error)) from error
            except UserError as error:
                ledger.fail(error)
                raise

        super().__init__(
            name=tool.name, description=tool.description, func=run, input_model=_schema_of(tool.arguments)
        )

    def _prepare_arguments(self, arguments: Any) -> dict[str, Any]:
        """Validates nothing: the tool reports the error itself; Agent Framework only says that there is one."""
        return dict(arguments or {})


@cache
def _schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    return arguments.model_json_schema()


def calls_in(messages: Sequence[NativeMessage]) -> tuple[ToolCall, ...]:
    """The tool calls in an agent's messages with their results, in the order of the calls."""
    contents = [each for message in messages for each in message.contents]
    results = {each.call_id: each for each in contents if each.type == "function_result"}
    calls: list[ToolCall] = []
    for call in contents:
        if call.type != "function_call":
            continue
        result = results.get(call.call_id)
        failed = result is None or result.exception is not None
        text = "" if result is None else str(result.exception or result.result or "")
        calls.append(tool_call(call.name or "", call.arguments or {}, text, failed=failed))
    return tuple(calls)


class Recollection(ContextProvider):
    """Adds the retrieved passage to the question's message, before the form of the reply."""

    def __init__(self, recall: Recall, turn: Turn[Any]) -> None:
        super().__init__("manyheads")
        self._recall, self._turn = recall, turn

    async def before_run(self, *, context: SessionContext, **more: Any) -> None:
        """See `ContextProvider.before_run`."""
        if passage := await self._recall(self._turn):
            asked = context.input_messages[-1]
            text = with_passage(self._turn, asked.contents[0].text or "", passage)
            context.input_messages[-1] = NativeModel.with_text(asked, text)


class AgentFrameworkHost(ClientHost[Client]):
    """A `core.Host` on Agent Framework; see `ClientHost`."""

    framework, serves = "agent_framework", NativeModel

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One run of an `Agent`."""
        speaker, model = turn.speaker, self.model(turn.speaker.model)
        ledger = Ledger(model=model.config.name, warn=warn)
        client = GovernedClient(model, ledger, turn.reply_type)
        agent = Agent(
            client,
            speaker.system or None,
            name=speaker.name,
            description=speaker.role,
            tools=[CoreTool(tool, ledger) for tool in turn.tools if model.config.calls_tools] or None,
            context_providers=[Recollection(self._recall, turn)] if turn.recall is not None else None,
        )
        response = await agent.run([to_native(message) for message in thread])
        return Raw(client.text, ledger.model, ledger.usage, calls_in(response.messages), ledger.truncated)


class AgentHost(StructuredHost):
    """Asks one agent of Agent Framework in one session: it gets only the last message of a thread.

    Args:
        agent: any agent; usage is counted if its model is one of ours, or reports usage.
    """

    def __init__(self, agent: SupportsAgentRun, attempts: int = 3) -> None:
        super().__init__(attempts)
        client: Any = getattr(agent, "client", None)
        self._agent, self._session = agent, getattr(agent, "chat", None) or AgentSession()
        self._client = client if isinstance(client, GovernedClient) else None
        self.metered = self._client is not None
        readable = isinstance(client, NativeModel.client_type)
        name = agent.name or type(agent).__name__
        self.config = (
            NativeModel.describe(client, ModelConfig()) if readable else ModelConfig(name=safe_name(name))
        )

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        ledger = self._client.ledger if self._client else Ledger(model=self.config.name)
        before = ledger.usage
        response: AgentResponse[Any] = await self._agent.run(to_native(thread[-1]), session=self._session)
        answer = response.messages[-1].text if response.messages else ""
        usage = ledger.usage - before
        if not self._client:
            counts = response.usage_details or {}
            read, written = (counts.get(f"{name}_token_count") or 0 for name in ("input", "output"))
            usage = usage_of_agent(self.config, read, written, 1, thread[-1:], answer)
        return Raw(answer, ledger.model, usage, calls_in(response.messages), ledger.truncated)


make_host = AgentFrameworkHost


def service_tool(
    name: str, model: Client | ModelConfig | str | None = None, config: AnyConfig = None
) -> CoreTool:
    """Part of a system as a tool of Agent Framework, for any agent: `service_tool("critique_figure", client)`.

    See `manyheads.hosts.services.service_tool` for the tool's arguments. A client that you pass stays open.
    """
    return CoreTool(tool_of_service(name, AgentFrameworkHost, model, config), Ledger())


# Agent Framework logs each tool error twice; the model and the record of the turn have it already.
logging.getLogger("agent_framework").addFilter(
    lambda record: (
        not str(record.msg).startswith(("Function '%s' raised", "Function %s failed", "Function failed"))
    )
)
