"""A role as an agent of Agent Framework, for any workflow."""

from collections.abc import Callable, Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    CharacterEstimatorTokenizer,
    CompactionStrategy,
    ContextProvider,
    FunctionTool,
    SessionContext,
    TruncationStrategy,
)
from agent_framework import Message as NativeMessage

from manyheads.bank.knowledge import KnowledgeBank
from manyheads.config import ModelConfig
from manyheads.core import Tool, safe_name
from manyheads.errors import ConfigError
from manyheads.hosts.agent_framework.client import Client, GovernedClient, NativeModel
from manyheads.hosts.agent_framework.host import CoreTool
from manyheads.hosts.clients import Ledger
from manyheads.hosts.roles import cast_role
from manyheads.literature.library import Library
from manyheads.models.abilities import settled
from manyheads.models.requests import ROOM
from manyheads.papers import Literature, Scientist
from manyheads.prompts import Prompts
from manyheads.resources import Resources
from manyheads.roles import Roles


class KnowledgeProvider(ContextProvider):
    """Looks up papers of a knowledge bank for each question and shows them before it, fenced as data.

    Args:
        bank: an open bank; stays open.
        k: number of papers.
    """

    def __init__(self, bank: KnowledgeBank, k: int = 5) -> None:
        super().__init__("knowledge_bank")
        self._bank, self._k, self._prompts = bank, k, Prompts(Resources.of())

    async def before_run(self, *, context: SessionContext, **more: Any) -> None:
        """See `ContextProvider.before_run`."""
        question = "\n".join(message.text for message in context.input_messages[-1:]).strip()
        if not question:
            return
        [hits] = await self._bank.search([question], self._k)
        if hits:
            passage = self._prompts.render("partials/knowledge.md.j2", {"hits": hits})
            context.extend_messages(self.source_id, [NativeMessage("user", [passage])])


class RoleAgent(Agent[Any]):
    """An agent that plays a role. A user's mistake in one of its tools, such as a spent budget, ends its turn.

    Attributes:
        chat: a session to continue; without one it remembers nothing from run to run, as any agent of the framework.
    """

    role = ""
    roles: Roles | None = None
    """The cards that its role is one of."""
    chat: AgentSession
    ledger: Ledger

    def run(self, messages: Any = None, **more: Any) -> Any:
        """See `Agent.run`."""
        self.ledger.guests = 0
        return super().run(messages, **more)

    async def close(self) -> None:
        """Release the connections of a model made for it; a client that you passed stays open."""
        await super().close()
        client: Any = self.client
        await client.close()


def role_agent(
    role: str,
    model: Client | ModelConfig | str,
    *,
    name: str | None = None,
    tools: Sequence[Tool | FunctionTool | Callable[..., Any]] = (),
    library: Library | None = None,
    corpus: Literature | str | None = None,
    knowledge: KnowledgeBank | None = None,
    paths: Sequence[str] = (),
    context_providers: Sequence[ContextProvider] = (),
    middleware: Sequence[Any] = (),
    compaction_strategy: CompactionStrategy | None = None,
    **variables: Any,
) -> RoleAgent:
    """A real `agent_framework.Agent` that plays a role, for workflows, or as a tool by `as_tool`.

    Args:
        role: name of a role card, such as `reviewer`.
        model: a client of Agent Framework, a config, or `provider/name` such as `openai/gpt-4o-mini`.
        name: the agent's name; the role's when left out.
        tools: of manyheads, Agent Framework's, or functions.
        library: for the literature tools that its card lists; stays open.
        corpus: an open corpus or its name; gives a `scientist` or `leader` the tools to find other scientists and to ask
            one of them per turn, who answers as another agent of the same model. `scientist="Scientist3"` names the one
            who plays. Roles whose card lists `retrieve_inspirations` can search its literature database.
        knowledge: a bank whose papers are looked up for each question and shown with it.
        paths: your own folders of roles and prompts, searched first.
        context_providers, middleware: as `Agent` takes them; `compaction_strategy` too: by default it leaves out the
            oldest messages of a session that do not fit the model's context.
        variables: of the role's system prompt; the card has defaults.

    Raises:
        ConfigError: no such role or variable, no such provider, its key is missing, or it cannot call tools.
    """
    ledger, roles = Ledger(), Roles(Resources.of(paths))
    if isinstance(model, str):
        model = ModelConfig.parse(model)
    ready = None if isinstance(model, ModelConfig) else model
    config = settled(model) if isinstance(model, ModelConfig) else NativeModel.describe(model, ModelConfig())
    client = GovernedClient(NativeModel(config, ready=ready), ledger)

    async def guest(scientist: Scientist, question: str) -> str:
        asked = role_agent("scientist", client, name=scientist.name, paths=paths, scientist=scientist)
        return (await asked.run(question)).text

    card, system, own = cast_role(role, (), library, corpus, guest, ledger, roles, variables)
    given = [CoreTool(tool, ledger) if isinstance(tool, Tool) else tool for tool in (*tools, *own)]
    if given and not config.calls_tools:
        raise ConfigError(
            f"role {role!r}: its model cannot call tools", hint="set its `tools: true` if it can"
        )
    room = max(config.window - min(config.max_tokens or ROOM, config.window // 4) - len(system) // 4, 2)
    agent = RoleAgent(
        client,
        system,
        name=safe_name(name or role),
        description=card.description,
        tools=given or None,
        context_providers=[*([KnowledgeProvider(knowledge)] if knowledge else ()), *context_providers],
        middleware=middleware,
        compaction_strategy=compaction_strategy
        or TruncationStrategy(max_n=room, compact_to=room, tokenizer=CharacterEstimatorTokenizer()),
    )
    agent.role, agent.roles, agent.chat, agent.ledger = role, roles, AgentSession(), ledger
    return agent
