"""What a system is: one object that tells everything about it, so that all else follows from it."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Literal, cast

from pydantic import BaseModel, Field, create_model
from typing_extensions import TypeVar

from manyheads.config import Inputs, RunConfig, Section, Slot, Strict
from manyheads.config.files import merge
from manyheads.core.results import Figure, Idea
from manyheads.discussion.run import DiscussionSettings, Run
from manyheads.engine.folder import writing
from manyheads.errors import ConfigError
from manyheads.replies import ReplyModel
from manyheads.report.page import Page, View, write_page
from manyheads.report.record import Record, read_run
from manyheads.report.top import Related
from manyheads.resources import Resources
from manyheads.roles import Roles

__all__ = [
    "Inputs", "Judge", "Needs", "Number", "Reviews", "Revisions", "Section", "Service", "Slot", "System", "system_of",
]  # fmt: skip

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
            key of its configs: its own name, or one of `aliases`.
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
class Reviews:
    """How `manyheads review` has a system review texts.

    Attributes:
        input: its input that takes the file of a text, or a run's folder.
        of: what it reviews where no form is named: whole papers, or abstracts.
        forms: its settings for each form of review that it offers, by the form's name.
        scores: by name, the scores that a result of it gives.
    """

    input: str
    of: Literal["papers", "abstracts"]
    forms: Callable[[Resources], Mapping[str, Mapping[str, object]]]
    scores: Callable[[Any], Mapping[str, Figure]]


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
    indicator: str = ""
    area: str = ""
    """The field of research in which it was revised."""


@dataclass(frozen=True)
class Service:
    """A part of a system's work that an agent of another app has done by one tool call.

    Attributes:
        name: of the tool, whose words stand in `prompts/tools/NAME.yaml`.
        arguments: of the tool.
        run: does the work; what it returns is the tool's answer. The run has the system's config and roles, but no
            inputs, no folder and no journal.
    """

    name: str
    arguments: type[Strict]
    run: Callable[[Run, Any], Awaitable[str]]


@dataclass(frozen=True)
class System(Generic[C, N, R]):
    """A system: what runs it, what it is given and needs, and what others read about it.

    Attributes:
        name: the key of its section, and what `manyheads run` takes.
        title: what its report and its classes are called after.
        about: what it is, in a sentence that a model may read where a team is a tool.
        config: the model of its section.
        inputs: the model of what it is given; a `Slot` says which of them it cannot run without.
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
    team: Callable[[RunConfig], DiscussionSettings | None] = lambda config: None
    """What the discussion of its team goes by, for a system whose members come from the corpus."""
    searches: Callable[[RunConfig, Roles], bool] = lambda config, roles: False
    """Whether it may look papers up beyond its corpus. Raises `ConfigError` where a card cannot be read."""
    prepare: Callable[[RunConfig], RunConfig] = lambda config: config
    """The config with all that has to be looked at before a run begins, and stays as it was then. Raises `ConfigError`
    where it lacks what no `Slot` asks for."""
    check: Callable[[RunConfig, Roles], Iterable[str]] = lambda config, roles: ()
    """What else is missing among the user's files, a line each."""
    read: Callable[[RunConfig], Any] = lambda config: None
    """Reads what the inputs name: `run.material`, whose `str` says it in words. Raises `UserError` where something cannot
    be read."""
    details: Callable[[R], Iterable[str]] = lambda result: ()
    """What a reader wants of a result beyond its essence, in Markdown."""
    work: Callable[[R], Iterable[str]] = lambda result: ()
    """What was written, in full, in Markdown: it stands for the essence where others go on with it."""
    table: Callable[[R], Iterable[BaseModel | Mapping[str, object]]] = lambda result: ()
    """A row each of what spreadsheets are given of a result; its ideas with their scores, where it has some."""
    revisions: Callable[[R], Revisions | None] = lambda result: None
    """How `result.idea` came about, where it was revised."""
    reviews: Reviews | None = None
    """How it reviews texts that a user names, where it does."""
    judge: Judge | None = None
    """How it judges what other runs came to, where it does."""
    services: tuple[Service, ...] = ()
    """What of it hosts make single tools of."""
    files: Mapping[str, type[BaseModel]] = field(default_factory=dict[str, type[BaseModel]])
    """What users write for it in files of their own; by where the JSON Schema of such files stands, see `schemas`."""
    numbers: Mapping[str, Number] = field(default_factory=dict[str, Number])
    """What suites tell of its numbers and settings, by the names that they have in suites."""
    component: tuple[str, ...] = ()
    """`a.b=c` settings with which its component JSON ships, so that it runs as it stands where its config would not."""
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other names of its keys, such as those of former config files; what they stand for is a key from the top on."""

    def __post_init__(self) -> None:
        settings, inputs = self.config.key_names(), self.inputs.key_names()
        own = settings | inputs
        if taken := (own | {self.name}) & {*COMMON, "settings"} | settings & inputs | own & {self.name}:
            raise ConfigError(
                f"system {self.name!r}: {', '.join(sorted(taken))}: a key of every run, or one that it has twice",
                hint="give the key another name",
            )

    @property
    def prefix(self) -> str:
        """How the names of its classes begin."""
        return self.class_name or "".join(part.capitalize() for part in self.name.split("-"))

    @property
    def slots(self) -> Mapping[str, Slot]:
        """How each input is given."""
        return self.inputs.slots()

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
        own: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        homes = {
            **dict.fromkeys(self.inputs.key_names(), "inputs"),
            **dict.fromkeys(self.config.key_names(), self.name),
        }
        for key, value in self._by_own_names(data).items():
            if key == self.name and isinstance(value, Mapping):
                own = merge(own, {self.name: {}})
                for inner, each in cast(Mapping[str, Any], value).items():
                    own = merge(own, {homes.get(inner, self.name): {inner: each}})
            elif key in COMMON or key == self.name:
                own = merge(own, {key: value})
            elif key in homes and key not in self.config.in_full | self.inputs.in_full:
                own = merge(own, {homes[key]: {key: value}})
            else:
                rest[key] = value
        return own, rest

    def _by_own_names(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The data without aliases; what stands under the key's own name counts more."""
        left, renamed = dict(data), dict[str, Any]()
        for alias, place in self.aliases.items():
            above, _, key = alias.rpartition(".")
            part: Any = left.get(above) if above else left
            if not isinstance(part, Mapping) or key not in part:
                continue
            value = part[key]
            others = {name: each for name, each in cast(Mapping[str, Any], part).items() if name != key}
            left = {**left, above: others} if above else others
            if not others:
                left.pop(above, None)
            for name in reversed(place.split(".")):
                value = {name: value}
            renamed = merge(renamed, value)
        return merge(renamed, left)

    def with_inputs(
        self, config: RunConfig, messages: Sequence[str], folder: Path | None = None
    ) -> RunConfig:
        """The config with the messages of a task as its inputs; none of them is read as the name of a file.

        Args:
            folder: of the run, which keeps as files what is read from files.
        """
        inputs: dict[str, Any] = {}
        for name, slot in self.slots.items():
            if not (texts := slot.of(messages)):
                continue
            if slot.file and folder:
                numbers = [f"-{number}" for number in range(1, len(texts) + 1)] if slot.many else [""]
                files = [(folder / f"{name}{number}.md").resolve() for number in numbers]
                with writing(folder):
                    folder.mkdir(parents=True, exist_ok=True)
                    for text, file in zip(texts, files, strict=True):
                        # What no file of text can hold is refused where it is read, with every other text that is none.
                        file.write_bytes(text.encode("utf-8", "surrogatepass"))
                texts = [*map(str, files)]
            inputs[name] = tuple(texts) if slot.many else texts[0]
        return config.model_copy(update={"inputs": config.inputs.model_copy(update=inputs)})

    def write_report(self, folder: Path, related: Sequence[Related] = ()) -> Path:
        """Write the report of a run, finished or not, into its folder.

        Args:
            related: runs that review or judge it.

        Raises:
            UserError: the folder is no run folder, or the report cannot be written.
        """
        record = read_run(folder, self.result)
        view = View(self.report, Page(record)) if isinstance(self.report, str) else self.report(record)
        return write_page(folder, view, related)


def system_of(config: RunConfig) -> System:
    """The system of a run's config."""
    return config.definition
