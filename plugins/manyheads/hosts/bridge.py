"""What the hosts' teams share: their classes, their runs, and which run goes on."""

from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, SerializeAsAny

from manyheads.config import ModelConfig, RunConfig
from manyheads.core.events import AnyEvent, Judged, Recruited, Retrieved, Said, Stage, Voted, words
from manyheads.engine.journal import ReplayModel
from manyheads.engine.readiness import prepare
from manyheads.engine.replying import StructuredHost
from manyheads.engine.session import Session, new_folder
from manyheads.engine.system import System, system_of
from manyheads.errors import ConfigError
from manyheads.models.offline import LocalModel, OfflineModel, with_label
from manyheads.systems import system_of as system_by
from manyheads.systems import systems
from manyheads.systems.loading import reopen, validate

Takes = Literal["each", "last", "all"]
"""Which messages a system is asked by: each is a text of its own, the last alone counts, or all make one text."""
PLACES = {
    "all": "the task or message", "last": "the task or last message", "each": "a message each",
    "first": "the first message", "rest": "each further message",
}  # fmt: skip


def takes(system: System) -> Takes:
    """Which of several messages a system takes, on hosts where all of them are said to it."""
    fills = {slot.filled_by for slot in system.slots.values()}
    return "each" if fills & {"each", "first", "rest"} else "last" if "last" in fills else "all"


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
    """A subclass of a host's base that runs a system; it stands in the module of its base.

    Raises:
        ConfigError: there is no such system.
    """
    found = system_by(system)
    body = {"system": system, "about": found.about, "__doc__": found.about, "__module__": base.__module__}
    return cast(type[N], type(found.prefix + ending, (base,), body))


class RunState(BaseModel):
    """What a team remembers of its last run; the run itself is kept in its folder."""

    folder: str | None = None
    """Folder of the last run."""
    asked: tuple[str, ...] = ()
    """What it was given: a topic, a text to review, abstracts of a background, or a target and ideas."""
    finished: bool = False
    """Whether it has come to its end."""

    def session(self, asked: tuple[str, ...], config: RunConfig, out: Path) -> Session:
        """The run that is asked for by texts, or by none; this is its state from now on.

        Which text is which input, the system says; none is ever the name of a file. An unfinished run goes on, under the config in its folder, when nothing is asked or the same again. Anything else begins a
        run of `config` in a folder of its own under `out`.

        Raises:
            UserError: the run lacks what it is about, its folder's config is not valid any more, or no folder can
                be made.
        """
        system = system_of(config)
        if self.folder is None or self.finished or asked not in ((), self.asked):
            try:
                prepare(system.with_inputs(config, asked))
            except ConfigError as error:
                slots = {name: slot for name, slot in system.slots.items() if slot.filled_by}
                if any(slot.file for slot in slots.values()):
                    places = "; ".join(
                        f"{name}: {PLACES[slot.filled_by or 'all']}" for name, slot in slots.items()
                    )
                    error.hint = f"give it as text ({places}), or as a file in the config's inputs"
                raise
            self.folder, self.asked, self.finished = str(new_folder(config, out)), asked, False
        folder = Path(self.folder)
        if (folder / "config.yaml").is_file():
            return Session(reopen(folder), folder)
        return Session(system.with_inputs(config, self.asked, folder), folder)


S = TypeVar("S", bound=RunState)
H = TypeVar("H", bound=StructuredHost)


class Runs(Generic[S]):
    """The runs of one team or pipeline: each in a folder of its own, all paused and resumed as one.

    Args:
        config: of each run.
        out: where run folders are made.
        state: of the last run.
    """

    def __init__(self, config: RunConfig, out: str | Path, state: S) -> None:
        self.config, self.out, self.state = config, Path(out), state
        self._host: StructuredHost | None = None
        self._paused = False

    @property
    def folder(self) -> Path | None:
        """Folder of the last run."""
        return Path(self.state.folder) if self.state.folder else None

    def session(self, asked: tuple[str, ...], default: ModelConfig | None = None) -> Session:
        """The run that is asked for, see `RunState.session`; `default` takes the place of the config's model."""
        models = {**self.config.models, "default": default} if default else self.config.models
        return self.state.session(asked, self.config.model_copy(update={"models": models}), self.out)

    def hold(self, host: H) -> H:
        """Take the host of the run that begins; it waits where the team is paused."""
        self._host = host
        if self._paused:
            host.pause()
        return host

    def pause(self) -> None:
        """Let turns under way finish and begin no other, until `resume`."""
        self._paused = True
        if self._host:
            self._host.pause()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._paused = False
        if self._host:
            self._host.resume()


def _read(value: Any) -> Any:
    return value if isinstance(value, RunConfig) else validate(value)


AnyRunConfig = Annotated[SerializeAsAny[RunConfig], BeforeValidator(_read)]
"""A config of any system, in a model of a host's."""


# What happens in a run, in words: consoles of both hosts show the same.


def sentence(event: AnyEvent) -> str:
    """An event in a sentence, empty for those that only show that something is under way.

    Why somebody joins or votes is left out: that was said before.
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


# Models that need no server.


def local_model(config: ModelConfig) -> LocalModel:
    """The local model of a config whose provider is `offline` or `replay`."""
    if config.provider == "offline":
        return OfflineModel(config)
    if config.provider == "replay":
        return ReplayModel.from_run(config.name)
    raise ConfigError(f"provider {config.provider!r} is not local")
