"""A role as an agent of Agent Framework, for any workflow."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, Literal

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
from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from manyheads.asking.prompts import Prompts
from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError, describe
from manyheads.base.papers import Literature, Scientist
from manyheads.base.resources import Resources
from manyheads.config import LiteratureConfig, ModelConfig
from manyheads.core import Tool, safe_name
from manyheads.corpus.ecosystem import KnowledgeBank
from manyheads.hosts.agent_framework.client import Client, GovernedClient, NativeModel
from manyheads.hosts.agent_framework.host import CoreTool
from manyheads.hosts.clients import Ledger
from manyheads.hosts.roles import cast_role, guest_of, need_tools
from manyheads.literature.library import Library
from manyheads.models.abilities import settled
from manyheads.models.requests import ROOM


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


class RoleFile(BaseModel):
    """A role's agent as JSON data: the arguments of `role_agent`, without keys."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["role_agent"] = "role_agent"
    role: str
    name: str | None = None
    model: ModelConfig | None = None
    library: LiteratureConfig | None = None
    corpus: str | None = None
    paths: tuple[str, ...] = ()
    variables: dict[str, JsonValue] = {}
    needs: tuple[str, ...] = ()
    """Arguments that no file can hold: `from_dict` takes them as dependencies."""


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
    file: RoleFile
    """What `to_dict` gives."""
    _library: Library | None = None

    def to_dict(self, *, exclude: set[str] | None = None, exclude_none: bool = True) -> dict[str, Any]:
        """The arguments that it was made with, as JSON data without keys; also behind `to_json`.

        What a file cannot hold (a client, functions, middleware, an open bank) is named in `needs`.
        """
        return self.file.model_dump(mode="json", exclude=exclude, exclude_none=exclude_none)

    @classmethod
    def from_dict(
        cls, value: MutableMapping[str, Any], /, *, dependencies: MutableMapping[str, Any] | None = None
    ) -> "RoleAgent":
        """The agent of a file that `to_dict` gave; also behind `from_json`.

        Args:
            dependencies: of the framework's form, with what the file needs: `{"role_agent": {"tools": [weigh]}}`.

        Raises:
            ConfigError: it is no such file, or something that it needs is missing.
        """
        try:
            file = RoleFile.model_validate(value)
        except ValidationError as error:
            raise ConfigError(
                f"not a file of a role agent: {describe(error)}",
                hint="write it again: to_dict() of the agent",
            ) from None
        own: Mapping[str, Any] = (dependencies or {}).get("role_agent", {})
        if missing := [name for name in file.needs if name not in own]:
            given = ", ".join(f"{name!r}: …" for name in missing)
            raise ConfigError(
                f"role agent {file.name or file.role!r}: its file cannot hold {', '.join(missing)}",
                hint=f"RoleAgent.from_dict(data, dependencies={{'role_agent': {{{given}}}}})",
            )
        library = Library(file.library) if file.library else None
        settings: dict[str, Any] = {
            "model": file.model, "name": file.name, "library": library, "corpus": file.corpus,
            "paths": file.paths, **file.variables, **own,
        }  # fmt: skip
        agent = role_agent(file.role, **settings)
        agent._library = library
        return agent

    def run(self, messages: Any = None, **more: Any) -> Any:
        """See `Agent.run`."""
        self.ledger.guests = 0
        return super().run(messages, **more)

    async def close(self) -> None:
        """Release the connections of a model made for it; a client that you passed stays open."""
        await super().close()
        client: Any = self.client
        await client.close()
        if self._library:
            await self._library.close()


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
    guest = guest_of(role_agent, client, paths, _answer)
    card, system, own = cast_role(role, library, corpus, guest, ledger, roles, variables)
    given = [CoreTool(tool, ledger) if isinstance(tool, Tool) else tool for tool in (*tools, *own)]
    need_tools(role, given, calls_tools=config.calls_tools)
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
    me = variables.get("scientist")
    if isinstance(me, Scientist) and isinstance(corpus, str):
        variables = {**variables, "scientist": me.name}
    values = {name: value for name, value in variables.items() if _as_json(value)}
    others: dict[str, Any] = {
        "model": ready, "tools": tools, "corpus": None if isinstance(corpus, str) else corpus,
        "knowledge": knowledge, "context_providers": context_providers, "middleware": middleware,
        "compaction_strategy": compaction_strategy,
        **{name: value for name, value in variables.items() if name not in values},
    }  # fmt: skip
    agent.file = RoleFile(
        role=role,
        name=name,
        model=None if ready else config,
        library=library.config if library else None,
        corpus=corpus if isinstance(corpus, str) else None,
        paths=tuple(map(str, paths)),
        variables=values,
        needs=tuple(name for name, value in others.items() if value is not None and value != ()),
    )
    return agent


async def _answer(agent: Agent[Any], question: str) -> str:
    return (await agent.run(question)).text


def _as_json(value: object) -> bool:
    try:
        TypeAdapter(JsonValue).validate_python(value)
    except ValidationError:
        return False
    return True
