"""A system in an app, on any host: its class, a person who answers, its events in words, and a part of it as a tool."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, cast

from manyheads.base.errors import ConfigError
from manyheads.config import ModelConfig, RunConfig
from manyheads.core import ManagedHost, Recall, Tool, Usage, safe_name
from manyheads.core.events import (
    AnyEvent,
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
from manyheads.engine.readiness import roles_of
from manyheads.engine.session import offhand
from manyheads.hosts.clients import ClientHost, described
from manyheads.hosts.person import InputFunction, Mailbox, person_of
from manyheads.hosts.runs import RunState, TeamMessage, TeamRuns, log_warning
from manyheads.models.abilities import settled
from manyheads.models.offline import LABEL, OFFLINE, with_label
from manyheads.systems import system_of as system_by
from manyheads.systems import systems
from manyheads.systems.loading import AnyConfig, load_for
from manyheads.systems.results import in_full, typed
from manyheads.team.system import Service, System
from manyheads.team.tools import tool

Client = TypeVar("Client")
SPEAKERS = ("speaker", "candidate", "by", "voter")
"""Where events name who speaks."""
Emit = Literal["all", "final"]
"""What a team says: everything, or only its result, so that a surrounding chat stays short."""
T = TypeVar("T", bound="SystemTeam[Any]")


@cache
def native_class(base: type[T], system: str) -> type[T]:
    """The subclass of a host's base that runs a system; raises `ConfigError` if there is no such system."""
    about = system_by(system).about
    body = {"system": system, "about": about, "__doc__": about, "__module__": base.__module__}
    return cast(type[T], type(system_by(system).prefix + base.ending, (base,), body))


def native_classes(base: type[T]) -> Callable[[str], type[T]]:
    """The `__getattr__` of a host's module: the class of each system by its name, such as `VirSciTeam`."""

    def by_name(name: str) -> type[T]:
        for system in systems().values():
            if system.prefix + base.ending == name:
                return native_class(base, system.name)
        raise AttributeError(f"no system has a class {name!r}")

    return by_name


class SystemTeam(Generic[Client]):
    """Base of the classes that run a system on a host, before the framework's own base class.

    Args:
        config: a config, its data, its file, or the name of a shipped one; the system's own when left out.
        sets: settings that override it, each `a.b=c` as on the command line.
        model: in place of `models.default`: `provider/name`, a `ModelConfig`, or a client of the framework, which you
            close and which keeps its own retries.
        model_client: the same, under AutoGen's name.
        out: parent of the run folders.
        emit: `all` messages, or only the `final` one.
        name: of the team in other teams; the class's when left out.
        listens_to: the name of the speaker whose messages count; those of all when left out.
        person: plays the roles of models with the provider `human`, and steers; a `Person`, or a function of a text.
        input_func: the same, under AutoGen's name.
        changes: keys of the config, applied last.

    Raises:
        ConfigError: the config is not valid or of another system, or the model is not one.
    """

    system: ClassVar[str]
    about: ClassVar[str]
    """The description of the team for others, such as a model that calls it as a tool."""
    ending: ClassVar[str]
    """How the names of its subclasses end."""
    serves: ClassVar[type[ClientHost[Any]]]
    """The host for the turns of its runs."""
    _runs: TeamRuns[Any]

    def __init__(
        self,
        config: AnyConfig = None,
        *sets: str,
        model: Client | ModelConfig | str | None = None,
        model_client: Client | ModelConfig | str | None = None,
        out: str | Path = "runs",
        emit: Emit = "all",
        name: str | None = None,
        listens_to: str | None = None,
        person: Person | InputFunction | None = None,
        input_func: InputFunction | None = None,
        **changes: Any,
    ) -> None:
        models, state = (model, model_client), self._new_state()
        someone = person_of(type(self).__name__, person, input_func)
        self._runs = TeamRuns(
            self, config, sets, changes, models, out, state, listens_to, self._person(someone)
        )
        self._emit: Emit = emit
        self._join(safe_name(name or self._default_name()))

    def _new_state(self) -> RunState:
        return RunState()

    def _person(self, person: Person | None) -> Person | None:
        """Who answers, in the framework's way if nobody is given."""
        return person

    def _default_name(self) -> str:
        return type(self).__name__

    def _join(self, name: str) -> None:
        """Initialise the framework's base class."""
        raise NotImplementedError

    @property
    def config(self) -> RunConfig:
        """Of its runs."""
        return self._runs.config

    @property
    def folder(self) -> Path | None:
        """Folder of the last run."""
        return self._runs.folder


class LiveRun:
    """A run in a task of its own: it goes on while nobody reads its events, and ends cleanly with the event loop."""

    def __init__(self, events: AsyncGenerator[AnyEvent, None]) -> None:
        self._queue = asyncio.Queue[AnyEvent | None]()
        self._task = asyncio.ensure_future(self._pass_on(events))
        self._task.add_done_callback(lambda done: self._queue.put_nowait(None))

    async def _pass_on(self, events: AsyncGenerator[AnyEvent, None]) -> None:
        async with aclosing(events):
            async for event in events:
                self._queue.put_nowait(event)

    def __aiter__(self) -> "LiveRun":
        return self

    async def __anext__(self) -> AnyEvent:
        """The next event; raises what has ended the run."""
        if (event := await self._queue.get()) is None:
            await self._task
            raise StopAsyncIteration
        return event

    async def close(self) -> None:
        """Stop the run; its answered turns are kept."""
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # seen: nobody waits for it


class SyncTeam(SystemTeam[Client]):
    """A `SystemTeam` of a framework whose own methods for this are not coroutines.

    Where nobody is given who answers, a run that needs a person is parked: the app gets the request in the framework's
    way, and its next message has the answer.
    """

    _parked: LiveRun | None = None
    _request = ""
    """What the parked run waits for."""

    def _person(self, person: Person | None) -> Person | None:
        return person or Mailbox()

    async def _run_of(self, messages: Iterable[TeamMessage], answers: Mapping[str, object]) -> LiveRun:
        """The run that messages begin or resume, or that waits for one of the answers, by request."""
        state, mailbox = self._runs.state, self._runs.person
        resumes = state.folder is not None and not state.finished
        if answers and (
            not isinstance(mailbox, Mailbox) or not resumes or (self._parked and self._request not in answers)
        ):
            raise ConfigError(
                f"{type(self).__name__}: no request {', '.join(answers)} is waiting",
                tried=f"waiting: {self._request}" if self._parked else None,
                hint="answer with the id of the request",
            )
        if isinstance(mailbox, Mailbox):
            for request, answer in answers.items():
                mailbox.send(request, answer)
        if self._parked and answers:
            parked, self._parked = self._parked, None
            return parked
        await self.close()
        return LiveRun(self._runs.begin(() if answers else messages))

    async def close(self) -> None:
        """Stop a run that waits for a person; its answered turns are kept, and it can be resumed."""
        parked, self._parked = self._parked, None
        if parked:
            await parked.close()

    def _park(self, run: LiveRun, event: Waiting) -> bool:
        """Whether a run waits now for the app's next message."""
        mailbox = self._runs.person
        if not isinstance(mailbox, Mailbox) or mailbox.ready(event.request):
            return False
        self._parked, self._request = run, event.request
        return True

    async def _leave(self, run: LiveRun) -> None:
        """Stop a run unless it is parked."""
        if run is not self._parked:
            await run.close()

    def pause(self) -> None:
        """Finish running turns and begin no others until `resume`."""
        self._runs.pause()

    def resume(self) -> None:
        """Continue after `pause`."""
        self._runs.resume()

    def save_state(self) -> dict[str, Any]:
        """What a new instance needs to resume this one's run, as JSON data."""
        return self._runs.state.model_dump(mode="json")

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Load another instance's run; the next run resumes it if it is unfinished.

        Raises:
            ConfigError: it is not a state of this system, or of another version.
            JournalError: the folder of the unfinished run is missing, or holds another system's run.
        """
        self._runs.load(state)


def sentence(event: AnyEvent) -> str:
    """An event as a sentence; empty for events that only report progress, and for warnings, which other agents would
    read as a part of the talk: the log, the report and the result have them.

    Reasons for joining or voting are left out: an earlier event has them.
    """
    match event, words(event):
        case (_, None) | (Warned(), _):
            return ""
        case Said(), _:
            return with_label(event.text, event.model)
        case Stage() | Recruited() | Voted(), line:
            return f"{line.who} {line.does}".strip()
        case Retrieved(), line:
            query = " ".join(line.text.split())
            papers = "".join(f"\n- {hit['title']} ({hit['year']})" for hit in event.hits)
            return f"{line.does}: {query[:100]}{' …' * (len(query) > 100)}{papers}"
        case Judged(), line:
            return f"{line.who}: {line.does}" + (f" ({line.text})" if line.text else "")
        case _, line:
            return f"{line.who} {line.does}: {line.text}".strip()


def outcome(event: Result) -> str:
    """The result of a run in Markdown, labelled if the offline model wrote it; JSON if its system has no text form."""
    run = typed(event.data)
    if not (paragraphs := in_full(run)):
        return f"```json\n{json.dumps(event.data, ensure_ascii=False, indent=1)}\n```"
    return "\n\n".join([f"> {LABEL}", *paragraphs] if run.offline else paragraphs)


class EventView(NamedTuple):
    """An event as an app shows it."""

    text: str
    speaker: str
    """The team, where nobody else speaks."""
    usage: Usage | None
    about: dict[str, str]


def event_view(event: AnyEvent, team: str, emit: Emit) -> EventView | None:
    """An event for an app; None if there is nothing to show. Usage is only on the reply that caused it, or on the one result."""
    last = isinstance(event, Result)
    if emit == "final" and not last:
        return None
    text, usage, data = outcome(event) if last else sentence(event), None, about(event)
    if isinstance(event, Said):
        usage = event.usage
    elif last and emit == "final":
        usage = Usage.model_validate(event.data.get("usage", {}))
    if not text and not (usage and usage.tokens):
        return None
    return EventView(text, safe_name(data["speaker"]) if data["speaker"] else team, usage, data)


def about(event: AnyEvent) -> dict[str, str]:
    """An event for programs: kind, stage, turn and speaker, empty if there is none; for a reply also task, part and model."""
    about = {"kind": event.kind, "stage": event.stage, "turn": str(event.turn)}
    about["speaker"] = next((getattr(event, name) for name in SPEAKERS if hasattr(event, name)), "")
    return about | {name: getattr(event, name) for name in ("task", "part", "model") if hasattr(event, name)}


def service_of(name: str) -> tuple[System, Service]:
    """The service that becomes a tool of this name, and its system; raises `ConfigError` if there is none."""
    services = {
        service.name: (system, service) for system in systems().values() for service in system.services
    }
    if name not in services:
        raise ConfigError(
            f"no system brings a tool {name!r}", tried=f"tools: {', '.join(services) or 'none'}"
        )
    return services[name]


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
    system, service = service_of(name)
    chosen = load_for(f"{name} is done by {system.name}", system.name, config)
    default, ready = described(name, host, model, chosen.models["default"])
    models = {alias: settled(each) for alias, each in {**chosen.models, "default": default}.items()}
    chosen = chosen.model_copy(update={"host": host.framework, "models": models})

    def make_host(models: Mapping[str, ModelConfig], recall: Recall, attempts: int) -> ManagedHost:
        return host(models, recall, attempts, ready)

    async def answer(arguments: Any) -> str:
        async with offhand(chosen, make_host, partial(log_warning, name)) as run:
            text = await service.run(run, arguments)
            return with_label(text, OFFLINE if OFFLINE in run.writers else "")

    return tool(name, roles_of(chosen).prompts, answer, service.arguments)
