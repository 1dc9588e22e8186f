"""What a system is: one object that tells everything about it, so that all else follows from it."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Literal

from pydantic import BaseModel, Field, create_model
from typing_extensions import TypeVar

from manyheads.config import Inputs, RunConfig, Section, Slot
from manyheads.core.results import Idea
from manyheads.discussion.run import Run
from manyheads.engine.folder import writing
from manyheads.errors import ConfigError
from manyheads.replies import ReplyModel
from manyheads.report.page import Page, View, write_page
from manyheads.report.record import Record, read_run
from manyheads.roles import Roles

__all__ = ["Inputs", "Judge", "Needs", "Number", "Revisions", "Section", "Slot", "System", "system_of"]

C = TypeVar("C", bound=Section, default=Any)
N = TypeVar("N", bound=Inputs, default=Any)
R = TypeVar("R", bound=BaseModel, default=Any)
Needs = Mapping[tuple[str, str], type[ReplyModel]]
"""By role and task, the reply that is needed, or a narrower one."""
COMMON = frozenset(RunConfig.model_fields) - {"settings"}
"""The keys of every run; `inputs` is one, whatever stands in it."""


@dataclass(frozen=True)
class Judge:
    """How suites have a system judge what runs came to.

    Attributes:
        input: its input that takes a run's folder; one that takes many has all runs of a cell judged together. Before
            a suite begins, `read` is called with none of these many, to see whether its other inputs can be read.
        measure: an example of what it measures, `NAME.PATH`. NAME is what measures and settings of suites begin with, a
            key of its configs: its own name, or one of `retired`.
        path: where in its result the value of NAME.PATH stands.
    """

    input: str
    measure: str
    path: Callable[[Sequence[str]], tuple[str, ...]] = tuple

    @property
    def name(self) -> str:
        """What measures and settings of suites begin with."""
        return self.measure.partition(".")[0]


@dataclass(frozen=True)
class Number:
    """What suites tell of a measure or a setting.

    Attributes:
        title: what it is, in words.
        ends: beyond which it cannot lie.
        signs: what it means above 0, below 0, and where it cannot be told from 0.
    """

    title: str
    ends: tuple[float, float] | None = None
    signs: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class Revisions:
    """The versions of a run's idea, each with the number of revisions that led to it; and what it was revised for."""

    versions: Sequence[Idea]
    indicator: str


def _no_turns(config: RunConfig) -> Mapping[str, int]:
    return {}


def _nothing_lacks(config: RunConfig, roles: Roles) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class System(Generic[C, N, R]):
    """A system: what runs it, what it is given and needs, and what others read about it.

    Attributes:
        name: the key of its section, and what `manyheads run` takes.
        title: what its report and its classes are called after.
        about: what it is, in a sentence that a model may read where a team is a tool.
        config: the model of its section.
        inputs: the model of what it is given.
        result: the model of what it comes to, which has a value for all of it before it begins.
        run: runs it, and fills `run.result` on the way.
        needs: the replies that it needs, by role and task.
        essence: what a result comes to: names, and what stands under each, in order.
        report: the package with `report.html.j2`, the template of its report, which has the result as `result`; or, where
            a template shows more, what makes its view.
    """

    name: str
    title: str
    about: str
    config: type[C]
    inputs: type[N]
    result: type[R]
    run: Callable[[Run], Awaitable[None]]
    needs: Callable[[RunConfig], Needs]
    essence: Callable[[R], Iterable[tuple[str, str]]]
    report: str | Callable[[Record], View]
    class_name: str = ""
    """How the names of its classes begin: with `Team` at the end on AutoGen, with `Pipeline` on AgentScope."""
    corpus: Callable[[RunConfig], bool] = lambda config: False
    """Whether it opens a corpus: for scientists, or for papers that it shows."""
    searches: Callable[[RunConfig, Roles], bool] = lambda config, roles: False
    """Whether it may look papers up beyond its corpus. Raises `ConfigError` where a card cannot be read."""
    settle: Callable[[RunConfig], RunConfig] = lambda config: config
    """The config with all that has to be looked at before a run begins, and stays as it was then."""
    ready: Callable[[RunConfig], object] = lambda config: None
    """Raises `ConfigError` where the config lacks what it needs."""
    check: Callable[[RunConfig, Roles], Iterable[str]] = _nothing_lacks
    """What else is missing among the user's files, a line each."""
    read: Callable[[RunConfig], Any] = lambda config: None
    """Reads what the inputs name; `run.given` is what it gives. Raises `UserError` where something cannot be read."""
    summary: Callable[[Any], str] = str
    """What was read, in words."""
    turns: Callable[[RunConfig], Mapping[str, int]] = _no_turns
    """The most turns of each stage that is held in turns."""
    details: Callable[[R], Iterable[str]] = lambda result: ()
    """What a reader wants of a result beyond its essence, in Markdown."""
    work: Callable[[R], Iterable[str]] = lambda result: ()
    """What was written, in full, in Markdown: it stands for the essence where others go on with it."""
    source: Callable[[R], str | None] = lambda result: None
    """What a result is about, as the user has named it."""
    revisions: Callable[[R], Revisions | None] = lambda result: None
    """How `result.idea` came about, where it was revised."""
    judge: Judge | None = None
    """How it judges what other runs came to, where it does."""
    numbers: Mapping[str, Number] = field(default_factory=dict[str, Number])
    """What suites tell of its numbers and settings, by the names that they have in suites."""
    retired: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """Keys of former config files, and where their values stand now; None for what another system's key was."""

    def __post_init__(self) -> None:
        settings, inputs = set(_keys(self.config)), set(_keys(self.inputs))
        own = settings | inputs
        taken = (own | {self.name}) & {*COMMON, "settings"} | settings & inputs | own & {self.name}
        if taken:
            raise ConfigError(
                f"system {self.name!r}: {', '.join(sorted(taken))}: a key of every run, or one that it has twice",
                hint="give the key another name",
            )

    @property
    def prefix(self) -> str:
        """How the names of its classes begin."""
        return self.class_name or "".join(part.capitalize() for part in self.name.split("-"))

    @cached_property
    def model(self) -> type[RunConfig]:
        """The model of its run files: the keys of every run, its section, its inputs."""
        fields: dict[str, Any] = {
            "system": (Literal[self.name], self.name),
            "settings": (self.config, Field(default_factory=self.config, alias=self.name)),
            "inputs": (self.inputs, Field(default_factory=self.inputs)),
        }
        model = create_model(f"{self.prefix}RunConfig", __base__=RunConfig, __module__=__name__, **fields)
        model.definition = self
        model.__doc__ = f"A run of {self.title}."
        return model

    def lift(self, data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """A config's data with each key where it belongs, and what belongs to no part of this system's runs.

        A key that is not of every run is looked up in the section, then among the inputs: `size` is
        `NAME.size`, `topic` is `inputs.topic`.
        """
        return _Lift(self).of(data)

    def course(self, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """A course of a config in single keys to compare, of whatever version: `NAME.team`, `inputs.topic`, …"""
        data, _ = self.lift(recorded)
        return {
            f"{key}.{inner}" if key in (self.name, "inputs") else key: told
            for key, value in data.items()
            for inner, told in (value.items() if key in (self.name, "inputs") else [(key, value)])
        }

    def given(self, config: RunConfig, messages: Sequence[str], folder: Path | None = None) -> RunConfig:
        """The config with the messages of a task as its inputs; none of them is read as the name of a file.

        Args:
            folder: of the run, which keeps as files what is read from files.
        """
        found: dict[str, Any] = {}
        for name, slot in self.inputs.slots().items():
            if not (texts := slot.of(messages)):
                continue
            if slot.file and folder:
                names = [
                    f"{name}-{number}.md" if slot.many else f"{name}.md"
                    for number in range(1, len(texts) + 1)
                ]
                texts = [_keep(text, folder / file) for text, file in zip(texts, names, strict=True)]
            found[name] = tuple(texts) if slot.many else texts[0]
        return config.model_copy(update={"inputs": config.inputs.model_copy(update=found)})

    def moved(self, config: RunConfig, folder: Path) -> RunConfig:
        """The config with the texts that the run's folder keeps, wherever it was moved."""
        found: dict[str, Any] = {}
        for name, slot in self.inputs.slots().items():
            value = getattr(config.inputs, name)
            if slot.file and isinstance(value, str):
                found[name] = _beside(value, folder)
            elif slot.file and isinstance(value, tuple):
                found[name] = tuple(_beside(str(each), folder) for each in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return config.model_copy(update={"inputs": config.inputs.model_copy(update=found)})

    def write_report(self, folder: Path) -> Path:
        """Write the report of a run, finished or not, into its folder.

        Raises:
            UserError: the folder is no run folder, or the report cannot be written.
        """
        record = read_run(folder, self.result)
        view = View(self.report, Page(record)) if isinstance(self.report, str) else self.report(record)
        return write_page(folder, view)

    @property
    def slots(self) -> Mapping[str, Slot]:
        """How each input is given."""
        return self.inputs.slots()


def system_of(config: RunConfig) -> System:
    """The system of a run's config."""
    return config.definition


def _keys(model: type[Any]) -> Iterator[str]:
    for name, each in model.model_fields.items():
        yield each.alias or name


@dataclass
class _Lift:
    """Puts each key of a config's data where it belongs."""

    system: System
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    rest: dict[str, Any] = field(default_factory=dict[str, Any])

    def of(self, data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        name, retired = self.system.name, self.system.retired
        settings, inputs = set(_keys(self.system.config)), set(_keys(self.system.inputs))
        for key, value in data.items():
            if key == name and isinstance(value, Mapping):
                self._section(value, settings, inputs)  # pyright: ignore[reportUnknownArgumentType]
            elif key in COMMON or key == name:
                self._put(key, value)
            elif key in retired:
                self._retired(key, value, retired[key])
            elif key in settings:
                self._put(f"{name}.{key}", value)
            elif key in inputs:
                self._put(f"inputs.{key}", value)
            elif isinstance(value, Mapping) and any(old.startswith(f"{key}.") for old in retired):
                self._former(key, value)  # pyright: ignore[reportUnknownArgumentType]
            else:
                self.rest[key] = value
        return self.data, self.rest

    def _section(self, value: Mapping[str, Any], settings: set[str], inputs: set[str]) -> None:
        if not value:
            self._put(self.system.name, {})
        for key, inner in value.items():
            part = "inputs" if key in inputs - settings else self.system.name
            self._put(f"{part}.{key}", inner)

    def _retired(self, key: str, value: Any, place: str | None) -> None:
        if place is None:
            self.rest[key] = value
        elif place == self.system.name and isinstance(value, Mapping):
            self._section(value, set(_keys(self.system.config)), set(_keys(self.system.inputs)))  # pyright: ignore[reportUnknownArgumentType]
        else:
            self._put(place, value)

    def _former(self, key: str, value: Mapping[str, Any]) -> None:
        """A section of which single keys have gone elsewhere."""
        left: dict[str, Any] = {}
        for inner, told in value.items():
            if place := self.system.retired.get(f"{key}.{inner}"):
                self._put(place, told, over=False)
            else:
                left[inner] = told
        if left:
            self.rest[key] = left

    def _put(self, place: str, value: Any, *, over: bool = True) -> None:
        node: dict[str, Any] = self.data
        *above, key = place.split(".")
        for each in above:
            node = node.setdefault(each, {})
        if not over:
            node.setdefault(key, value)
        elif isinstance(value, Mapping) and isinstance(there := node.get(key), dict):
            node[key] = {**there, **value}
        else:
            node[key] = value


def _keep(text: str, path: Path) -> str:
    path = path.resolve()
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        # What no file of text can hold is refused where it is read, with every other text that is none.
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return str(path)


def _beside(named: str, folder: Path) -> str:
    """A text's file; the one that a run's folder keeps by this name, where the folder was moved with it."""
    path = Path(named)
    try:
        if path.is_absolute() and not path.exists() and (kept := (folder / path.name).resolve()).is_file():
            return str(kept)
    except OSError:  # a text has no name that a file could have
        pass
    return named
