"""Runs in code: one by `await run("virsci", …)`; those of a team, begun by messages, paused, resumed, saved, each in its folder."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, SerializeAsAny, ValidationError

from manyheads.base.errors import ConfigError, JournalError, describe
from manyheads.base.folders import CONFIG, JOURNAL
from manyheads.base.resources import Resources
from manyheads.config import ModelConfig, RunConfig
from manyheads.core import ManagedHost, Recall, recall_nothing
from manyheads.core.events import AnyEvent, Judged, Person, Result, Warned, words
from manyheads.core.notebook import line_below
from manyheads.core.results import RunResult
from manyheads.engine.readiness import prepare
from manyheads.engine.session import Session, new_folder
from manyheads.hosts import host_factory
from manyheads.hosts.asking import in_thread
from manyheads.hosts.clients import ClientHost, ServedModel, model_of
from manyheads.models.abilities import settled
from manyheads.models.prices import with_prices
from manyheads.systems import results
from manyheads.systems.loading import AnyConfig, load, load_for, reopen, validate
from manyheads.team.system import System, system_of

log = logging.getLogger("manyheads")


async def run(
    config: RunConfig | str | Path,
    *sets: str,
    out: str | Path = "runs",
    listener: Callable[[AnyEvent], object] | None = None,
    person: Person | None = None,
) -> RunResult[Any]:
    """Run a config to its end.

    Example:
        result = await run("virsci", "topic=Robots that feel", "team.size=3")
        print(result.result.idea.title)

    Args:
        config: the name of a system or a shipped config, a config file, a config, or the folder of a run to resume.
        sets: settings that override it, each `a.b=c` as on the command line.
        out: parent of the run's folder.
        listener: receives each event as it happens; without one, a notebook shows the last event below the cell.
        person: plays the roles of models with the provider `human`, and steers after the stages of `steer`.

    Returns:
        The result, as `load` returns it from the run's folder.

    Raises:
        UserError: a mistake that the user can correct; finished turns stay in the folder.
    """
    folder, listener = Path(config) if not isinstance(config, RunConfig) else None, listener or _progress()
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


def _progress() -> Callable[[AnyEvent], None] | None:
    """A listener that shows a run's last event in a notebook."""
    if (show := line_below()) is None:
        return None

    def listener(event: AnyEvent) -> None:
        if said := words(event):
            show(" ".join(filter(None, said)))

    return listener


def run_sync(config: RunConfig | str | Path, *sets: str, **settings: Any) -> RunResult[Any]:
    """`run` without `await`, for scripts and notebooks; it takes the same arguments.

    Example:
        result = run_sync("virsci", "topic=Robots that feel", "team.size=3")
        print(result.result.idea.title)
    """
    return in_thread(run(config, *sets, **settings))


PLACES = {
    "all": "the task or last message", "last": "the task or last message", "each": "a message each",
    "first": "the first message", "rest": "each further message",
}  # fmt: skip
"""How messages fill an input, in text for the user."""
AnyRunConfig = Annotated[
    SerializeAsAny[RunConfig],
    BeforeValidator(lambda value: value if isinstance(value, RunConfig) else validate(value)),
]
"""A config of any system, in a model of a host's."""


class TeamMessage(NamedTuple):
    """A message to a team: its speaker and its text."""

    speaker: str
    text: str


STATE_VERSION = 1


class RunState(BaseModel):
    """What a team remembers of its last run; the run itself is kept in its folder."""

    model_config = ConfigDict(extra="forbid")

    version: int = STATE_VERSION
    system: str = ""
    folder: str | None = None
    """Folder of the last run, from the root on."""
    asked: tuple[str, ...] = ()
    """What it was given: a topic, a text to review, abstracts of a background, or a target and ideas."""
    finished: bool = False


S = TypeVar("S", bound=RunState)


class TeamRuns(Generic[S]):
    """The runs of one team or pipeline: each has its own folder; all are paused and resumed together.

    Args:
        team: an instance of a class made by `native_class`; for its other arguments see `SystemTeam`.
        models: one, or none, in place of the config's default model, see `model_of`.

    Attributes:
        settings: further arguments of the host.
    """

    def __init__(
        self,
        team: Any,
        config: AnyConfig,
        sets: Iterable[str],
        changes: Mapping[str, Any],
        models: Sequence[Any],
        out: str | Path,
        state: S,
        listens_to: str | None = None,
        person: Person | None = None,
    ) -> None:
        self._name, self._system = type(team).__name__, str(team.system)
        host: type[ClientHost[Any]] = team.serves
        config = load_for(f"{self._name} runs {team.system}", team.system, config, sets, changes)
        if len(own := [model for model in models if model is not None]) > 1:
            raise ConfigError(f"{self._name}: both model and model_client are given", hint="give one of them")
        settings_of_model, self.model = model_of(self._name, host, own[0] if own else None)
        aliases = {**config.models, "default": settings_of_model} if settings_of_model else config.models
        self.config = config.model_copy(update={"host": host.framework, "models": aliases})
        self.out, self.listens_to, self.person = Path(out), listens_to, person
        self.state = state.model_copy(update={"system": team.system})
        self._kind, self._paused = host, False
        self.settings: Mapping[str, Any] = {}
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
        """Take over the run of a saved state; for the errors see `SyncTeam.load_state`."""
        data = {"version": None, **saved} if isinstance(saved, Mapping) else saved
        version = data.get("version") if isinstance(data, dict) else None
        if isinstance(version, int) and version != STATE_VERSION:
            what = f"{self._name}: the state is of version {version}; version {STATE_VERSION} is needed"
            hint = "load it with the version that saved it, or resume its run: manyheads resume FOLDER"
            raise ConfigError(what, hint=hint)
        try:
            state = type(self.state).model_validate(data)
        except ValidationError as error:
            raise ConfigError(
                f"{self._name}: not a state that it has saved: {describe(error)}",
                hint=f"load the result of save_state of a {self._name}",
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
                f"{folder}: contains a run of {config.system}, not of {self._system}",
                hint=f"begin again with a new {self._name}",
            )
        return config

    def begin(self, messages: Iterable[TeamMessage]) -> AsyncGenerator[AnyEvent, None]:
        """The events of the run that messages start or resume, if any; the state is then that of this run.

        The system assigns messages to inputs; a message is never a file name. Of several messages only the last one
        counts, with a note, unless the system takes each. An unfinished run is resumed, with the config in its folder,
        by the same input or none. Any other input starts a new run in its own folder.
        """
        models, state = self.config.models, self.state
        if self.model:
            models = {**models, "default": self._kind.serves.describe(self.model, models["default"])}
        config = self.config.model_copy(update={"models": models})
        system = system_of(config)
        given = [TeamMessage(speaker, bare) for speaker, text in messages if (bare := text.strip())]
        if self.listens_to is not None and given:
            given = self._heard(given, self.listens_to)
        fills = {slot.filled_by for slot in system.slots.values()}
        note = None
        if not fills & {"each", "first", "rest"}:
            if len(given) > 1 and fills - {None}:
                outcome = f"the last of {len(given)} messages, by {given[-1].speaker}"
                note = Judged(subject="the task", outcome=outcome)
            given = given[-1:]
        asked = tuple(each.text for each in given)
        if state.folder in (None, self._refused) or state.finished or asked not in ((), state.asked):
            _need(system, config, asked)
            folder = new_folder(config, self.out).absolute()
            state.folder, state.asked, state.finished = str(folder), asked, False
        folder = Path(state.folder or "")
        begun = self._reopen(folder)
        run = begun or system.with_inputs(config, state.asked, folder)
        clients = ("default",) if self.model else ()
        session = Session(run, folder, clients=clients, person=self.person)
        return self._events(session, state, None if begun else note)

    def _heard(self, given: list[TeamMessage], who: str) -> list[TeamMessage]:
        heard = [each for each in given if each.speaker == who]
        if not heard:
            raise ConfigError(
                f"{self._name} listens to {who!r}, who has said nothing",
                tried=f"messages by: {', '.join(dict.fromkeys(each.speaker for each in given))}",
                hint="give listens_to the name of one of them, or leave it out",
            )
        return heard

    async def _events(self, session: Session, state: S, note: Judged | None) -> AsyncGenerator[AnyEvent]:
        try:
            async with aclosing(session.events(self._make_host)) as events:
                async for event in events:
                    log_warning(self._name, event)
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
        self._host = self._kind(models, recall, attempts, ready, **self.settings)
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


def log_warning(name: str, event: AnyEvent) -> None:
    if isinstance(event, Warned):
        log.warning("%s: %s", name, event.message)


async def next_event(
    events: AsyncIterator[AnyEvent], link: Callable[[asyncio.Future[Any]], object] | None = None
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
