"""A role, and a whole system, as an agent of Agent Framework, for any workflow."""

from collections.abc import AsyncGenerator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, cast
from uuid import uuid4

from agent_framework import (
    Agent,
    AgentResponse,
    AgentResponseUpdate,
    AgentSession,
    BaseAgent,
    CharacterEstimatorTokenizer,
    CompactionStrategy,
    Content,
    ContextProvider,
    RawAgent,
    ResponseStream,
    SessionContext,
    TruncationStrategy,
    normalize_messages,
)
from agent_framework import Message as NativeMessage
from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from manyheads.base.errors import ConfigError, describe
from manyheads.config import LiteratureConfig, ModelConfig
from manyheads.core import safe_name
from manyheads.core.events import AnyEvent, Waiting
from manyheads.corpus.ecosystem import KnowledgeBank, Years
from manyheads.hosts.agent_framework.host import (
    AgentFrameworkHost,
    Client,
    CoreTool,
    GovernedClient,
    NativeModel,
)
from manyheads.hosts.clients import Ledger
from manyheads.hosts.knowledge import BankReader
from manyheads.hosts.person import question
from manyheads.hosts.roles import Plays, RoleSpec, model_for
from manyheads.hosts.runs import TeamMessage, next_event
from manyheads.hosts.teams import SyncTeam, about, event_view, native_class, native_classes
from manyheads.literature.library import Library
from manyheads.models.requests import ROOM
from manyheads.systems.loading import AnyConfig


class KnowledgeProvider(ContextProvider):
    """Looks up papers of a knowledge bank for each question and shows them before it, fenced as data.

    Example:
        agent = Agent(client, context_providers=[KnowledgeProvider("my-bank", k=3)])

    Args:
        bank: an open bank, which stays open; or the folder or URL of one, opened with the first question.
        k: number of papers.
        years: of the papers, half open: `(2010, 2015)` is 2010 to 2014.
        embedding: with a place, the model that the bank was built with.
    """

    def __init__(
        self,
        bank: KnowledgeBank | str | Path,
        k: int = 5,
        years: Years | None = None,
        embedding: str = "auto",
    ) -> None:
        super().__init__("knowledge_bank")
        self._k, self._reader = k, BankReader(bank, years, embedding)

    async def before_run(self, *, context: SessionContext, **more: Any) -> None:
        """See `ContextProvider.before_run`; raises `CorpusError` if there is no bank at the place."""
        question = "\n".join(message.text for message in context.input_messages[-1:]).strip()
        [hits] = await self._reader.search([question], self._k) if question else [[]]
        if passage := self._reader.passage(hits):
            context.extend_messages(self.source_id, [NativeMessage("user", [passage])])

    def close(self) -> None:
        """Close a bank opened here."""
        self._reader.close()


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
    native: dict[str, JsonValue] = {}
    variables: dict[str, JsonValue] = {}
    needs: tuple[str, ...] = ()
    """Arguments that no file can hold: `from_dict` takes them as dependencies."""


class RoleAgent(Plays, Agent[Any]):
    """An agent that plays a role. A user's mistake in one of its tools, such as a spent budget, ends its turn.

    Attributes:
        chat: a session to continue; without one it remembers nothing from run to run, as any agent of the framework.
    """

    chat: AgentSession
    file: RoleFile
    """What `to_dict` gives."""
    _library: Library | None = None
    _papers: KnowledgeProvider | None = None

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
                f"role agent {file.name or file.role!r}: its file cannot contain {', '.join(missing)}",
                hint=f"RoleAgent.from_dict(data, dependencies={{'role_agent': {{{given}}}}})",
            )
        library = Library(file.library) if file.library else None
        settings: dict[str, Any] = {
            "model": file.model, "name": file.name, "library": library, "corpus": file.corpus,
            "paths": file.paths, **file.variables, **own, "native": {**file.native, **own.get("native", {})},
        }  # fmt: skip
        agent = role_agent(file.role, **settings)
        agent._library = library
        return agent

    def run(self, messages: Any = None, **more: Any) -> Any:
        """See `Agent.run`."""
        if self.ledger:
            self.ledger.begin()
        return super().run(messages, **more)

    async def close(self) -> None:
        """Release the connections of a model made for it, and a bank opened for it; what you passed stays open."""
        await super().close()
        client: Any = self.client
        await client.close()
        if self._papers:
            self._papers.close()
        if self._library:
            await self._library.close()


FILLED = frozenset((
    "client", "instructions", "name", "tools", "context_providers", "middleware", "compaction_strategy",
))  # fmt: skip
"""The arguments of `Agent` that a role fills in."""


def role_agent(
    role: str,
    model: Client | ModelConfig | str,
    *,
    context_providers: Sequence[ContextProvider] = (),
    middleware: Sequence[Any] = (),
    compaction_strategy: CompactionStrategy | None = None,
    **settings: Any,
) -> RoleAgent:
    """A real `agent_framework.Agent` that plays a role, for workflows, or as a tool by `as_tool`.

    Args:
        role: name of a role card, such as `reviewer`.
        model: a client of Agent Framework, a config, or `provider/name` such as `openai/gpt-4o-mini`.
        context_providers, middleware: as `Agent` takes them; `compaction_strategy` too: by default it leaves out the
            oldest messages of a session that do not fit the model's context.
        settings: `name`, `tools`, `library`, `corpus`, `knowledge`, `paths`, and variables of the role's system prompt; see
            `manyheads.hosts.roles.RoleSpec`. `native` has further arguments of `Agent`:
            `native={"default_options": {"temperature": 0.2}, "require_per_service_call_history_persistence": True}`, the second
            of which a handoff needs.

    Raises:
        ConfigError: no such role or variable, no such provider, its key is missing, or it cannot call tools.
    """
    chosen = model_for(model)
    ready = None if isinstance(chosen, ModelConfig) else chosen
    config = chosen if isinstance(chosen, ModelConfig) else NativeModel.describe(chosen, ModelConfig())
    spec, ledger = RoleSpec.of(role, settings, Agent, FILLED), Ledger(spans=False)
    client = GovernedClient(NativeModel(config, ready=ready), ledger)
    part = spec.cast(spec.guest_of(role_agent, client, _answer), ledger)
    room = config.window - min(config.max_tokens or ROOM, config.window // 4) - len(part.system) // 4
    papers = None if spec.knowledge is None else KnowledgeProvider(spec.knowledge)
    native: dict[str, Any] = {"description": part.card.description, **spec.native}
    agent = RoleAgent(
        client,
        part.system,
        name=spec.agent_name,
        tools=part.native(CoreTool, calls_tools=config.calls_tools) or None,
        context_providers=[*([papers] if papers else []), *context_providers],
        middleware=middleware,
        compaction_strategy=compaction_strategy
        or TruncationStrategy(
            max_n=max(room, 2), compact_to=max(room, 2), tokenizer=CharacterEstimatorTokenizer()
        ),
        **native,
    )
    agent.play(part)
    agent._papers = papers
    agent.chat = AgentSession()
    others = {
        "model": ready, "context_providers": context_providers, "middleware": middleware,
        "compaction_strategy": compaction_strategy,
    }  # fmt: skip
    agent.file = _file_of(role, spec, None if ready else config, others)
    return agent


def _file_of(role: str, spec: RoleSpec, model: ModelConfig | None, others: Mapping[str, Any]) -> RoleFile:
    """What a file says of an agent, and the names of what it lacks: what no JSON can hold, of the role's settings and of `others`."""
    variables = dict(spec.variables)
    if spec.scientist and spec.corpus_name:
        variables["scientist"] = spec.scientist
    values = {name: value for name, value in variables.items() if _as_json(value)}
    native = {name: value for name, value in spec.native.items() if _as_json(value)}
    lacking = {
        **others, "native": {name: value for name, value in spec.native.items() if name not in native} or None, "tools": spec.tools, "corpus": None if spec.corpus_name else spec.corpus, "knowledge": spec.knowledge,
        **{name: value for name, value in variables.items() if name not in values},
    }  # fmt: skip
    return RoleFile(
        role=role,
        name=spec.name,
        model=model,
        library=spec.library.config if spec.library else None,
        corpus=spec.corpus_name,
        paths=tuple(map(str, spec.paths)),
        native=native,
        variables=values,
        needs=tuple(name for name, value in lacking.items() if value is not None and value != ()),
    )


async def _answer(agent: Agent[Any], question: str) -> str:
    return (await agent.run(question)).text


def _as_json(value: object) -> bool:
    try:
        TypeAdapter(JsonValue).validate_python(value)
    except ValidationError:
        return False
    return True


class SystemAgent(SyncTeam[Client], BaseAgent):
    """A system of manyheads as an agent of Agent Framework; `agent_of` makes the subclass of a system.

    It works wherever the framework takes an agent: `WorkflowBuilder`, sequential and group-chat workflows, `as_tool`.
    Each run has its own folder under `out`. A run that was cancelled or failed is resumed by the same messages, or by
    none, also in a saved session: `session.to_dict()` contains its state.

        VirSciAgent("virsci", "turns=2", team={"size": 3}, model="openai/gpt-4o-mini")

    Args:
        middleware: of Agent Framework, for agents, functions or chats: of the speakers' agents, shared by all.
        settings: see `manyheads.hosts.teams.SystemTeam`; without `person` and `input_func` the app answers, see `run`.

    Raises:
        ConfigError: the config is not valid or of another system, or the model is not one.
    """

    ending, serves = "Agent", AgentFrameworkHost
    INJECTABLE: ClassVar[set[str]] = {"model_client", "middleware"}
    _running = False

    def __init__(
        self, config: AnyConfig = None, *sets: str, middleware: Sequence[Any] = (), **settings: Any
    ) -> None:
        super().__init__(config, *sets, **settings)
        self._runs.settings = {"middleware": tuple(middleware)}

    def _join(self, name: str) -> None:
        BaseAgent.__init__(self, name=name, description=self.about)

    def run(
        self, messages: Any = None, *, stream: bool = False, session: AgentSession | None = None, **more: Any
    ) -> Any:
        """Run the system; an `AgentResponse`, or with `stream` the updates as they come.

        Args:
            messages: the last one, of any speaker, is the topic or the text to review; an event notes it. Some systems
                take several: abstracts of a background, or the target of a ranking and its ideas. Never a file name.
            session: stores the state of the run, so that a later session can resume it.

        Where a person plays a role or steers, and no `person` was given, the response has a function call `answer` in its
        `user_input_requests`, with the question and the form (JSON Schema); the run continues with a message that has
        `Content.from_function_result(call_id, result=…)`: data of the form as JSON, or text.

        Raises:
            UserError: a mistake that the user can correct; a subclass for each kind.
        """
        updates: ResponseStream[AgentResponseUpdate, AgentResponse[Any]] = ResponseStream(
            self._updates(messages, session), finalizer=AgentResponse.from_updates
        )
        return updates if stream else updates.get_final_response()

    async def _updates(
        self, messages: Any, session: AgentSession | None
    ) -> AsyncGenerator[AgentResponseUpdate, None]:
        if self._running:
            raise ConfigError(f"{self.name} is running", hint="make another agent for another run")
        state = session.state.get(self._key) if session else None
        if state and (not self._parked or state.get("folder") != self._runs.state.folder):
            self.load_state(state)
        native = normalize_messages(messages)
        results = [each for message in native for each in message.contents if each.type == "function_result"]
        answers = {each.call_id: each.result for each in results if each.call_id}
        given = [TeamMessage(each.author_name or each.role, each.text) for each in native]
        run, self._running = await self._run_of(given, answers), True
        try:
            while event := await next_event(run):
                if isinstance(event, Waiting) and self._park(run, event):
                    yield self._request_of(event)
                    return
                if update := self._update(event):
                    yield update
        finally:
            self._running = False
            await self._leave(run)
            if session:
                session.state[self._key] = self.save_state()

    def to_dict(self, *, exclude: set[str] | None = None, exclude_none: bool = True) -> dict[str, Any]:
        """The arguments that it was made with, as JSON data without keys; `from_dict` and `from_json` make it again.

        A client that you passed is a dependency: `from_dict(data, dependencies={"vir_sci_agent": {"model_client": …}})`.
        """
        data = {
            "type": self._get_type_identifier(),
            "config": self.config.model_dump(mode="json", exclude_unset=True),
            "out": str(self._runs.out),
            "emit": self._emit,
            "name": self.name,
            "listens_to": self._runs.listens_to,
        }
        return {
            name: value
            for name, value in data.items()
            if name not in (exclude or ()) and not (exclude_none and value is None)
        }

    as_mcp_server: Any = RawAgent.as_mcp_server
    """The system as an MCP server with one tool; see `Agent.as_mcp_server`."""

    def _get_agent_name(self) -> str:
        """The tool's name of `as_mcp_server`."""
        return self.name or type(self).__name__

    @property
    def _key(self) -> str:
        return f"manyheads.{self.name}"

    def _request_of(self, event: Waiting) -> AgentResponseUpdate:
        """A request to a person as a call of the app's own function `answer`, as the framework asks its user."""
        arguments = {"question": question(event), "form": event.form}
        call = Content.from_function_call(event.request, "answer", id=event.request, arguments=arguments)
        call.user_input_request = True
        return _message([call], safe_name(event.speaker), about(event))

    def _update(self, event: AnyEvent) -> AgentResponseUpdate | None:
        """An event as a separate message, see `event_view`; its properties are for programs."""
        if (part := event_view(event, self.name or "", self._emit)) is None:
            return None
        contents = [Content.from_text(part.text)] if part.text else []
        if (usage := part.usage) and usage.tokens:
            counts = {
                "input_token_count": usage.input_tokens, "output_token_count": usage.output_tokens,
                "total_token_count": usage.tokens, "cache_read_input_token_count": usage.cached_tokens,
            }  # fmt: skip
            contents.append(Content.from_usage(cast(Any, counts)))
        return _message(contents, part.speaker, part.about)


def _message(contents: list[Content], speaker: str, about: Mapping[str, str]) -> AgentResponseUpdate:
    return AgentResponseUpdate(
        contents=contents, role="assistant", author_name=speaker, message_id=uuid4().hex, additional_properties=dict(about),
    )  # fmt: skip


def agent_of(system: str) -> type[SystemAgent]:
    """The agent class of a system: `VirSciAgent` of `virsci`; raises `ConfigError` for no system."""
    return native_class(SystemAgent, system)


__getattr__ = native_classes(SystemAgent)
