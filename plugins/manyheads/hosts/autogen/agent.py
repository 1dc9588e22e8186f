"""A role as an agent of AutoGen, for any team."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Self

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.agents._assistant_agent import AssistantAgentConfig
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage
from autogen_core import CancellationToken
from autogen_core.memory import Memory
from autogen_core.models import ChatCompletionClient

from manyheads.bank.knowledge import KnowledgeBank
from manyheads.config import ModelConfig
from manyheads.core import Tool, safe_name
from manyheads.errors import ConfigError, UserError
from manyheads.hosts.autogen.models import ModelClient, close_native
from manyheads.hosts.autogen.tools import CoreTool
from manyheads.literature.library import Library
from manyheads.resources import Resources
from manyheads.roles import Roles
from manyheads.structured import TOOL_ROUNDS
from manyheads.tools import literature_tools


class RoleAgent(AssistantAgent):
    """An `AssistantAgent` whose `close` also closes what was made for it: its model client, its memory.

    A user's mistake in one of its tools, such as a spent budget, ends its turn.
    """

    component_provider_override = None  # pyright: ignore[reportAssignmentType] - dumped under its own name
    owns_client = False
    failure: UserError | None = None

    def fail(self, error: UserError) -> None:
        """End the turn with an error that AutoGen would show to the model."""
        self.failure = error

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """See `AssistantAgent.on_messages_stream`; raises what `fail` was told."""
        self.failure = None
        async with aclosing(super().on_messages_stream(messages, cancellation_token)) as items:
            async for item in items:
                if self.failure:
                    raise self.failure
                yield item

    async def close(self) -> None:
        """Release connections; a ready client or bank that was given stays open."""
        if self.owns_client:
            await close_native(self._model_client)
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
        knowledge: papers that are looked up for each question and shown beside it: an open bank, or its folder
            or URL, with which the agent can be dumped as JSON.
        paths: your own folders of roles and prompts, before ours.
        variables: of the role's system prompt; the card has defaults.

    Raises:
        ConfigError: no such role or variable, no such provider, its key is missing, or it cannot call tools.
    """
    roles = Roles(Resources.of(paths))
    system = roles.system(role, variables)
    client = _client(model)
    tools = (*tools, *literature_tools(library, roles.card(role).tools))
    if tools and not client.model_info["function_calling"]:
        raise ConfigError(
            f"role {role!r}: its model cannot call tools", hint="set its `tools: true` if it can"
        )
    agent = RoleAgent(
        safe_name(name or role),
        client,
        description=roles.card(role).description,
        system_message=system,
        tools=[CoreTool(tool, lambda error: agent.fail(error)) for tool in tools] or None,
        memory=_memory(knowledge),
        max_tool_iterations=TOOL_ROUNDS,
        reflect_on_tool_use=True,
    )
    agent.owns_client = client is not model
    return agent


def _client(model: ChatCompletionClient | ModelConfig | str) -> ChatCompletionClient:
    if isinstance(model, ChatCompletionClient):
        return model
    return ModelClient(model if isinstance(model, ModelConfig) else ModelConfig.parse(model))


def _memory(knowledge: KnowledgeBank | str | None) -> list[Memory] | None:
    if knowledge is None:
        return None
    from manyheads.hosts.autogen.knowledge import KnowledgeMemory

    return [KnowledgeMemory(knowledge)]
