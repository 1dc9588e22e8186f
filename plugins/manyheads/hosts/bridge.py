"""What the hosts' teams share: classes, runs, and which run is resumed."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, SerializeAsAny, ValidationError

from manyheads.bank.corpora import resolve_corpus
from manyheads.bank.ecosystem import Ecosystem
from manyheads.config import ModelConfig, RunConfig
from manyheads.core import ManagedHost, Recall, Tool, recall_nothing
from manyheads.core.events import (
    AnyEvent,
    Asked,
    Invited,
    Judged,
    Person,
    Recruited,
    Result,
    Retrieved,
    Said,
    Stage,
    Voted,
    Waiting,
    Warned,
    words,
)
from manyheads.core.results import RunResult
from manyheads.discussion.run import InvitationConfig
from manyheads.engine.folder import CONFIG, JOURNAL
from manyheads.engine.readiness import prepare, roles_of
from manyheads.engine.session import Session, new_folder, offhand
from manyheads.engine.system import Service, System, system_of
from manyheads.errors import ConfigError, JournalError, describe
from manyheads.hosts import host_factory
from manyheads.hosts.clients import ClientHost, Ledger, ServedModel
from manyheads.literature.library import Library
from manyheads.models.abilities import settled
from manyheads.models.offline import LABEL, OFFLINE, with_label
from manyheads.models.prices import with_prices
from manyheads.papers import Literature, Scientist
from manyheads.resources import Resources
from manyheads.roles import RoleCard, Roles
from manyheads.systems import results, systems
from manyheads.systems import system_of as system_by
from manyheads.systems.loading import load, load_for, reopen, validate
from manyheads.systems.results import in_full, typed
from manyheads.tools import (
    find_scientists_tool,
    inspirations_tools,
    invite_scientist_tool,
    literature_tools,
    refused,
    scientist_named,
    tool,
)

log = logging.getLogger("manyheads")
PLACES = {
    "all": "the task or last message", "last": "the task or last message", "each": "a message each",
    "first": "the first message", "rest": "each further message",
}  # fmt: skip
"""How messages fill an input, in text for the user."""
AnyConfig: TypeAlias = RunConfig | Mapping[str, Any] | str | Path | None
"""A config, its data, its file, or the name of a shipped one; a system's own when None."""

# A system's class on a host: a team or a pipeline, made from the registry.

N = TypeVar("N")


def system_called(name: str, ending: str) -> str:
    """The system whose class has this name.

    Raises:
        AttributeError: there is none.
    """
    for system in systems().values():
        if system.prefix + ending == name:
            return system.name
    raise AttributeError(f"no system has a class {name!r}")


def native_class(base: type[N], system: str, ending: str) -> type[N]:
    """A subclass of a host's base that runs a system; its module is that of the base.

    Raises:
        ConfigError: there is no such system.
    """
    about = system_by(system).about
    body = {"system": system, "about": about, "__doc__": about, "__module__": base.__module__}
    return cast(type[N], type(system_by(system).prefix + ending, (base,), body))


class Given(NamedTuple):
    """A message to a team: its speaker and its text."""

    speaker: str
    text: str


STATE_VERSION = 1


class RunState(BaseModel):
    """What a team remembers of its last run; the run itself is kept in its folder."""

    model_config = ConfigDict(extra="forbid")

    version: int = STATE_VERSION
    """Of this form."""
    system: str = ""
    """What is run."""
    folder: str | None = None
    """Folder of the last run, from the root on."""
    asked: tuple[str, ...] = ()
    """What it was given: a topic, a text to review, abstracts of a background, or a target and ideas."""
    finished: bool = False
    """Whether it has come to its end."""


S = TypeVar("S", bound=RunState)


class Runs(Generic[S]):
    """The runs of one team or pipeline: each has its own folder; all are paused and resumed together.

    Args:
        team: an instance of a class made by `native_class`.
        config: of each run: a config, its data, its file, or the name of a shipped one; the system's own when None.
        sets: `a.b=c` settings that override it.
        changes: keys applied after that.
        host: the class of host for the runs' turns.
        model: in place of the config's default model, see `model_of`; the owner of a client closes it.
        out: parent of the run folders.
        state: of the last run.
        listens_to: the speaker whose messages count; all speakers when None.
        settings: further arguments of the host.

    Raises:
        ConfigError: the config is not valid, or of another system.
    """

    def __init__(
        self,
        team: Any,
        config: AnyConfig,
        sets: Iterable[str],
        changes: Mapping[str, Any],
        host: type[ClientHost[Any]],
        model: Any,
        out: str | Path,
        state: S,
        listens_to: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._name, self._system = type(team).__name__, str(team.system)
        config = _config_for(f"{self._name} runs {team.system}", team.system, config, sets, changes)
        chosen, self.model = model_of(self._name, host, model)
        models = {**config.models, "default": chosen} if chosen else config.models
        self.config = config.model_copy(update={"host": host.framework, "models": models})
        self.out, self.listens_to = Path(out), listens_to
        self.state = state.model_copy(update={"system": team.system})
        self._kind, self._settings, self._paused = host, settings or {}, False
        self._host: ClientHost[Any] | None = None
        self._refused: str | None = None

    @property
    def folder(self) -> Path | None:
        """Folder of the last run."""
        return Path(self.state.folder) if self.state.folder else None

    def forget(self) -> None:
        """Start a new run next, even if the last one is unfinished."""
        self.state = self.state.model_copy(update={"folder": None, "asked": (), "finished": False})

    def load(self, saved: Any) -> None:
        """Take over the run of a saved state.

        Raises:
            ConfigError: it is not a state of such a team, or of another version.
            JournalError: the run is unfinished, and its folder is missing or holds another run.
        """
        version = (
            cast(Mapping[str, Any], saved).get("version") if isinstance(saved, Mapping) else STATE_VERSION
        )
        if isinstance(version, int) and version != STATE_VERSION:
            raise ConfigError(
                f"{self._name}: the state is of version {version}; version {STATE_VERSION} is needed",
                hint="load it with the version that saved it, or resume its run: manyheads resume FOLDER",
            )
        try:
            if version is None:
                raise ConfigError(f"{self._name}: not a state of a run: version: missing")
            state = type(self.state).model_validate(saved)
        except (ValidationError, ConfigError) as error:
            problem = describe(error) if isinstance(error, ValidationError) else "version: missing"
            raise ConfigError(
                f"{self._name}: not a state that it has saved: {problem}",
                hint=f"load what save_state of a {self._name} gave",
            ) from None
        if state.system != self._system:
            raise ConfigError(
                f"{self._name} runs {self._system}, the state is of system {state.system!r}",
                hint=f"load it into a team of {state.system}",
            )
        if state.folder and not state.finished:
            self._reopen(Path(state.folder))
        self.state = state

    def _reopen(self, folder: Path) -> RunConfig | None:
        """The config of an unfinished run, None if it has not begun; raises `JournalError` if the run is missing."""
        if not folder.is_dir():
            raise JournalError(
                f"{folder}: the folder of the unfinished run is gone",
                hint=f"put it back, or begin again with a new {self._name}",
            )
        if not any((folder / name).is_file() for name in (CONFIG, JOURNAL)):
            return None
        config = reopen(folder)
        if config.system != self._system:
            raise JournalError(
                f"{folder}: holds a run of {config.system}, not of {self._system}",
                hint=f"begin again with a new {self._name}",
            )
        return config

    def begin(self, messages: Iterable[Given]) -> AsyncGenerator[AnyEvent, None]:
        """The events of the run that messages start or resume, if any; the state is then that of this run.

        The system assigns messages to inputs; a message is never a file name. Of several messages only the last one
        counts, with a note, unless the system takes each. An unfinished run is resumed, with the config in its folder,
        by the same input or none. Any other input starts a new run in its own folder.

        Raises:
            UserError: the run has no input, there is no message by the speaker, the unfinished run's folder is missing,
                or no folder can be made.
        """
        models, state = self.config.models, self.state
        if self.model:
            models = {**models, "default": self._kind.serves.describe(self.model, models["default"])}
        config = self.config.model_copy(update={"models": models})
        system = system_of(config)
        given = self._heard([Given(speaker, said) for speaker, text in messages if (said := text.strip())])
        fills = {slot.filled_by for slot in system.slots.values()}
        note = None
        if not fills & {"each", "first", "rest"}:
            if len(given) > 1 and fills - {None}:
                told = f"the last of {len(given)} messages, by {given[-1].speaker}"
                note = Judged(subject="the task", outcome=told)
            given = given[-1:]
        asked = tuple(each.text for each in given)
        if state.folder in (None, self._refused) or state.finished or asked not in ((), state.asked):
            _need(system, config, asked)
            folder = new_folder(config, self.out).absolute()
            state.folder, state.asked, state.finished = str(folder), asked, False
        folder = Path(state.folder or "")
        begun = self._reopen(folder)
        run = begun or system.with_inputs(config, state.asked, folder)
        return self._events(Session(run, folder), state, None if begun else note)

    def _heard(self, given: list[Given]) -> list[Given]:
        if self.listens_to is None or not given:
            return given
        heard = [each for each in given if each.speaker == self.listens_to]
        if not heard:
            raise ConfigError(
                f"{self._name} listens to {self.listens_to!r}, who has said nothing",
                tried=f"messages by: {', '.join(dict.fromkeys(each.speaker for each in given))}",
                hint="give listens_to the name of one of them, or leave it out",
            )
        return heard

    async def _events(
        self, session: Session, state: S, note: Judged | None
    ) -> AsyncGenerator[AnyEvent, None]:
        try:
            async with aclosing(session.events(self._make_host)) as events:
                async for event in events:
                    if isinstance(event, Result):
                        state.finished = True
                    yield event
                    if note:  # behind the first
                        yield note
                        note = None
        finally:
            if not session.folder.is_dir():  # a run that fails at the start leaves no folder
                self._refused = state.folder

    @asynccontextmanager
    async def served(self) -> AsyncGenerator[ServedModel[Any]]:
        """The default model of the runs, for a further question."""
        config = settled(with_prices(self.config.models, Resources.of().folders)["default"])
        host = self._make_host({"default": config}, recall_nothing, self.config.attempts)
        try:
            yield cast(ClientHost[Any], host).model("default")
        finally:
            await host.close()

    def _make_host(self, models: Mapping[str, ModelConfig], recall: Recall, attempts: int) -> ManagedHost:
        ready = {"default": self.model} if self.model else None
        self._host = self._kind(models, recall, attempts, ready, **self._settings)
        if self._paused:
            self._host.pause()
        return self._host

    def pause(self) -> None:
        """Finish running turns and begin no others until `resume`."""
        self._paused = True
        if self._host:
            self._host.pause()

    def resume(self) -> None:
        """Continue after `pause`."""
        self._paused = False
        if self._host:
            self._host.resume()


def _config_for(
    what: str,
    system: str,
    config: AnyConfig,
    sets: Iterable[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> RunConfig:
    """A config of a system; raises `ConfigError` if it is of another system, or not valid."""
    config = load_for(system, config, sets, changes)
    if config.system != system:
        raise ConfigError(f"{what}, the config is of system {config.system!r}")
    return config


def model_of(what: str, host: type[ClientHost[Any]], model: Any) -> tuple[ModelConfig | None, Any]:
    """Settings of a model, or a client of the host; one of them is None, both if `model` is.

    Args:
        what: the name of what takes the model, for messages.
        model: `provider/name`, a `ModelConfig`, or a client.

    Raises:
        ConfigError: it is none of these.
    """
    match model:
        case None | ModelConfig():
            return model, None
        case str():
            return ModelConfig.parse(model), None
        case _ if isinstance(model, host.serves.client_type):
            return None, model
        case _:
            raise ConfigError(
                f"{what}: {type(model).__module__}.{type(model).__name__} is not a model of {host.framework}",
                hint=f"give 'openai/gpt-4o-mini', a ModelConfig, or a client of {host.framework} ({host.serves.client_type.__name__})",
            )


def one_model(what: str, model: Any, model_client: Any) -> Any:
    """The model from `model` or `model_client`; raises `ConfigError` if both are set."""
    if model is not None and model_client is not None:
        raise ConfigError(f"{what}: both model and model_client are given", hint="give one of them")
    return model_client if model is None else model


async def next_event(
    events: AsyncGenerator[AnyEvent, None], link: Callable[[asyncio.Future[Any]], object] | None
) -> AnyEvent | None:
    """The next event of a run, None after the last; `link` receives the waiting task, so that it can be cancelled."""
    step = asyncio.ensure_future(anext(events, None))
    if link:
        link(step)
    return await step


def _need(system: System, config: RunConfig, asked: Sequence[str]) -> None:
    """Raises `ConfigError` if a run has no input, before its folder is made."""
    try:
        prepare(system.with_inputs(config, asked))
    except ConfigError as error:
        filled = {name: slot for name, slot in system.slots.items() if slot.filled_by}
        if any(slot.file for slot in filled.values()):
            places = "; ".join(f"{name}: {PLACES[slot.filled_by or 'all']}" for name, slot in filled.items())
            error.hint = f"give it as text ({places}), or as a file in the config's inputs"
        raise


AnyRunConfig = Annotated[
    SerializeAsAny[RunConfig],
    BeforeValidator(lambda value: value if isinstance(value, RunConfig) else validate(value)),
]
"""A config of any system, in a model of a host's."""


# The events of a run as text: the consoles of all hosts show the same.


def sentence(event: AnyEvent) -> str:
    """An event as a sentence; empty for events that only report progress.

    Reasons for joining or voting are left out: an earlier event has them.
    """
    match event, words(event):
        case _, None:
            return ""
        case Said(), _:
            return with_label(event.text, event.model)
        case Stage() | Recruited() | Voted(), told:
            return f"{told.who} {told.does}".strip()
        case Retrieved(), told:
            query = " ".join(told.text.split())
            papers = "".join(f"\n- {hit['title']} ({hit['year']})" for hit in event.hits)
            return f"{told.does}: {query[:100]}{' …' * (len(query) > 100)}{papers}"
        case Judged(), told:
            return f"{told.who}: {told.does}" + (f" ({told.text})" if told.text else "")
        case _, told:
            return f"{told.who} {told.does}: {told.text}".strip()


def outcome(event: Result) -> str:
    """The result of a run in Markdown, labelled if the offline model wrote it; JSON if its system has no text form."""
    run = typed(event.data)
    if not (told := in_full(run)):
        return f"```json\n{json.dumps(event.data, ensure_ascii=False, indent=1)}\n```"
    return "\n\n".join([f"> {LABEL}", *told] if run.offline else told)


def about(event: AnyEvent) -> dict[str, str]:
    """An event for programs: kind, stage, turn and speaker, empty if there is none; for a reply also task, part and model."""
    match event:
        case Said():
            more = {"speaker": event.speaker, "task": event.task, "part": event.part, "model": event.model}
        case Asked() | Waiting():
            more = {"speaker": event.speaker, "task": event.task}
        case Recruited():
            more = {"speaker": event.candidate}
        case Invited():
            more = {"speaker": event.by}
        case Voted():
            more = {"speaker": event.voter}
        case _:
            more = {"speaker": ""}
    return {"kind": event.kind, "stage": event.stage, "turn": str(event.turn), **more}


# A role, for each host's own agents.

Guest: TypeAlias = Callable[[Scientist, str], Awaitable[str]]
"""Asks a scientist as another agent of the host; returns the answer as text."""


def cast_role(
    role: str,
    tools: Sequence[Tool],
    library: Library | None,
    corpus: Literature | str | None,
    guest: Guest,
    ledger: Ledger,
    roles: Roles,
    variables: Mapping[str, Any],
) -> tuple[RoleCard, str, tuple[Tool, ...]]:
    """A role's card, its system prompt, and all its tools, including the literature and corpus tools on its card.

    Args:
        tools: further ones, which come first.
        variables: of the system prompt; `scientist` may name one of the corpus.
        library, corpus, guest, ledger: see `role_tools`.

    Raises:
        ConfigError: no such role or variable.
        CorpusError: no such corpus or scientist.
    """
    card = roles.card(role)
    if isinstance(corpus, str):
        corpus = _open_corpus(corpus)
    if isinstance(me := variables.get("scientist"), str):
        if corpus is None:
            raise ConfigError(f"role {role!r}: scientist {me!r} is of no corpus", hint='add corpus="sample"')
        variables = {**variables, "scientist": (me := corpus.scientist(me))}
    own = me.name if isinstance(me, Scientist) else ""
    system = roles.system(role, variables)
    return card, system, (*tools, *role_tools(card, own, library, corpus, guest, ledger, roles))


def role_tools(
    card: RoleCard,
    me: str,
    library: Library | None,
    corpus: Literature | str | None,
    guest: Guest,
    ledger: Ledger,
    roles: Roles,
) -> tuple[Tool, ...]:
    """The tools of literature and corpus that a role's card lists.

    Args:
        me: the scientist who plays the role, empty for none.
        corpus: of scientists; if named, it stays open until the process ends.
        guest: asks an invited scientist.
        ledger: counts guests; the start of a turn resets the count.
    """
    if isinstance(corpus, str):
        corpus = _open_corpus(corpus)
    guests = _guest_tools(corpus, me or card.name, guest, ledger, roles) if corpus else ()
    return (
        *(tool for tool in guests if tool.name in card.tools),
        *literature_tools(library, card.tools, roles.prompts),
        *inspirations_tools(corpus, card.tools, roles.prompts),
    )


@cache
def _open_corpus(name: str) -> Literature:
    return Ecosystem.open(resolve_corpus(name))


def _guest_tools(corpus: Literature, me: str, guest: Guest, ledger: Ledger, roles: Roles) -> tuple[Tool, ...]:
    most = InvitationConfig().per_turn

    async def invite(name: str, question: str) -> str:
        name = scientist_named(name, corpus.scientists)
        if name == me or name not in {scientist.name for scientist in corpus.scientists}:
            raise refused("member" if name == me else "unknown", roles.prompts)
        if ledger.guests >= most:
            raise refused("enough", roles.prompts)
        ledger.guests += 1
        nothing = dict.fromkeys(("context", "remark", *roles.task("scientist", "advise").variables), "")
        variables = {**nothing, "asker": me, "question": question}
        return await guest(corpus.scientist(name), roles.prompt("scientist", "advise", variables))

    return find_scientists_tool(corpus, {me}, roles.prompts), invite_scientist_tool(invite, roles.prompts)


# Part of a system as one tool of an app.


def service_tool(name: str, host: type[ClientHost[Any]], model: Any, config: AnyConfig) -> Tool:
    """Part of a system as one tool, see `Service`; each host wraps it as its own kind of tool.

    Each call is a separate run without a folder, with the config's look-ups and budget.

    Args:
        name: of the tool: `critique_figure`, `assess_novelty`, or one of another package's system.
        host: the class of host for the run's turns.
        model: a client of the framework, a config of a model, or `provider/name`, in place of the config's default
            model; the config's own when None.
        config: of the system: a config, its data, its file, or the name of a shipped one; the system's own when None.

    Raises:
        ConfigError: no such tool, or the config is not valid.
    """
    system, service = _service_named(name)
    chosen = _config_for(f"{name} is done by {system.name}", system.name, config)
    settings, client = model_of(name, host, model)
    models = {**chosen.models, "default": settings or chosen.models["default"]}
    if client is not None:
        models["default"] = host.serves.describe(client, models["default"])
    ready = None if client is None else {"default": client}
    models = {alias: settled(each) for alias, each in models.items()}
    chosen = chosen.model_copy(update={"host": host.framework, "models": models})

    def make_host(models: Mapping[str, ModelConfig], recall: Recall, attempts: int) -> ManagedHost:
        return host(models, recall, attempts, ready)

    def tell(event: AnyEvent) -> None:
        if isinstance(event, Warned):
            log.warning("%s: %s", name, event.message)

    async def answer(arguments: Any) -> str:
        async with offhand(chosen, make_host, tell) as run:
            told = await service.run(run, arguments)
            return with_label(told, OFFLINE if OFFLINE in run.writers else "")

    return tool(name, roles_of(chosen).prompts, answer, service.arguments)


def _service_named(name: str) -> tuple[System, Service]:
    services = {
        service.name: (system, service) for system in systems().values() for service in system.services
    }
    if name not in services:
        raise ConfigError(
            f"no system brings a tool {name!r}", tried=f"tools: {', '.join(services) or 'none'}"
        )
    return services[name]


# A run in code, on the host that its config names.


async def run(
    config: RunConfig | str | Path,
    *sets: str,
    out: str | Path = "runs",
    listener: Callable[[AnyEvent], object] | None = None,
    person: Person | None = None,
) -> RunResult[Any]:
    """Run a config to its end: `await run("virsci", "topic=Robots that feel", "team.size=3")`.

    Args:
        config: the name of a system or a shipped config, a config file, a config, or the folder of a run to resume.
        sets: settings that override it, each `a.b=c` as on the command line.
        out: parent of the run's folder.
        listener: receives each event as it happens.
        person: plays the roles of models with the provider `human`, and steers after the stages of `steer`.

    Returns:
        The result, as `load` returns it from the run's folder.

    Raises:
        UserError: a mistake that the user can correct; finished turns stay in the folder.
    """
    folder = Path(config) if not isinstance(config, RunConfig) else None
    if folder and (folder / "config.yaml").is_file():
        session = Session(reopen(folder, sets), folder, person=person)
    else:
        chosen = config if isinstance(config, RunConfig) else load([str(config)], sets)
        session = Session(chosen, new_folder(chosen, Path(out)), person=person)
    async with aclosing(session.events(host_factory(session.config.host))) as events:
        async for event in events:
            if listener:
                listener(event)
    return results.load(session.folder)
