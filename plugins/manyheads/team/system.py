"""A system as one object with everything about it, from which all else follows."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

from pydantic import BaseModel, Field, create_model
from typing_extensions import TypeVar

from manyheads.asking.replies import ReplyModel
from manyheads.asking.roles import Roles
from manyheads.base.errors import BugError, ConfigError
from manyheads.base.files import make_folder
from manyheads.base.folders import door, writing
from manyheads.base.papers import web_address
from manyheads.base.resources import Resources
from manyheads.config import Inputs, RunConfig, Section, Slot, Strict
from manyheads.config.files import merge
from manyheads.core.results import Figure, Idea
from manyheads.core.texts import is_there
from manyheads.team.run import DiscussionSettings, Run

if TYPE_CHECKING:
    from manyheads.report.page import View
    from manyheads.report.record import Record
    from manyheads.report.top import RelatedRun

__all__ = [
    "Inputs", "Judge", "Needs", "Number", "Reviews", "Revisions", "Section", "Service", "Slot", "System", "system_of",
]  # fmt: skip

C = TypeVar("C", bound=Section, default=Any)
N = TypeVar("N", bound=Inputs, default=Any)
R = TypeVar("R", bound=BaseModel, default=Any)
Needs = Mapping[tuple[str, str], type[ReplyModel]]
"""The required reply, or a base of it, by role and task."""
COMMON = frozenset(RunConfig.model_fields) - {"settings"}
"""The keys of every run, with any `inputs`."""


@dataclass(frozen=True)
class Judge:
    """How a system judges the results of other runs, in suites.

    Example:
        >>> Judge("claim", "panel.ruling.confidence").name
        'panel'

    Attributes:
        input: its input for a run's folder; one that takes many gets all runs of a cell. Before a suite begins, `read` is
            called with none of these many, to check its other inputs.
        measure: an example of a measure, `NAME.PATH`. NAME is the prefix of its measures and settings in suites, a key of its
            configs: its own name, or one of `aliases`.
        path: where its result has the value of NAME.PATH.
    """

    input: str
    measure: str
    path: Callable[[Sequence[str]], tuple[str, ...]] = tuple

    @property
    def name(self) -> str:
        """Prefix of its measures and settings in suites."""
        return self.measure.partition(".")[0]


@dataclass(frozen=True)
class Reviews:
    """How a system reviews texts for `manyheads review`.

    Attributes:
        input: its input for a text file or a run's folder.
        of: its default subject: whole papers, or abstracts.
        forms: its settings for each review form, by the form's name.
        scores: the scores of a result, by name.
    """

    input: str
    of: Literal["papers", "abstracts"]
    forms: Callable[[Resources], Mapping[str, Mapping[str, object]]]
    scores: Callable[[Any], Mapping[str, Figure]]


@dataclass(frozen=True)
class Number:
    """Labels of a measure or a setting in suites.

    Attributes:
        title: its name in words.
        ends: its minimum and maximum.
        signs: the meaning of values above 0, below 0, and not significantly different from 0.
    """

    title: str
    ends: tuple[float, float] | None = None
    signs: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class Revisions:
    """The versions of a run's idea, each with its number of revisions, and the goal of the revisions."""

    versions: Sequence[Idea]
    indicator: str = ""
    area: str = ""
    """The field of research of the idea."""


@dataclass(frozen=True)
class Service:
    """A part of a system's work that an agent of another app can do with one tool call.

    Example:
        COUNT = Service("count_words", CountArguments, count)

    Attributes:
        name: name of the tool, described in `prompts/tools/NAME.yaml`.
        arguments: the tool's arguments.
        run: does the work and returns the tool's answer. The run has the system's config and roles, but no inputs, folder
            or journal.
    """

    name: str
    arguments: type[Strict]
    run: Callable[[Run, Any], Awaitable[str]]


@dataclass(frozen=True)
class System(Generic[C, N, R]):
    """A system: its code, config, inputs, result, and the texts about it.

    Example:
        COUNT = System(
            name="count",
            title="Count",
            about="Counts the words of a text.",
            config=Section,
            inputs=CountInputs,
            result=Count,
            run=count,
            needs=lambda config: {},
            essence=lambda result: [("Words", str(result.words))],
        )

    Attributes:
        name: the key of its section, and the argument of `manyheads run`.
        title: its name in reports, and for its classes.
        about: one sentence for a model that can use the team as a tool.
        config: model of its section.
        inputs: model of its inputs; a `Slot` says which are required.
        result: model of its result, with defaults for every field.
        run: the run itself; fills `run.result` on the way.
        needs: the required replies, by role and task.
        essence: the main parts of a result: headings and their texts, in order.
        report: the package with `report.html.j2`, the template of its report; or a function that makes the view of a template
            that shows more. By default a plain page: the essence, the numbers, all that was said, the warnings.
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
    report: "str | Callable[[Record], View] | None" = None
    class_name: str = ""
    """Prefix of its classes: `…Team` on AutoGen, `…Pipeline` on AgentScope."""
    corpus: Callable[[RunConfig], bool] = lambda config: False
    """Whether it opens a corpus: for scientists, or for papers."""
    team: Callable[[RunConfig], DiscussionSettings | None] = lambda config: None
    """The settings of its team's discussion, for a system with members from the corpus."""
    nests: bool = False
    """Whether it runs others below its folder, see `engine/children.py`."""
    searches: Callable[[RunConfig, Roles], bool] = lambda config, roles: False
    """Whether it may look up papers outside its corpus. Raises `ConfigError` if a card cannot be read."""
    prepare: Callable[[RunConfig], RunConfig] = lambda config: config
    """The config with everything that must be determined before a run, as it was then. Raises `ConfigError` for missing
    keys that no `Slot` requires."""
    check: Callable[[RunConfig, Roles], Iterable[str]] = lambda config, roles: ()
    """Other problems with the user's files, a line each."""
    read: Callable[[RunConfig], Any] = lambda config: None
    """Reads the inputs into `run.material`, whose `str` describes them. Raises `UserError` if an input cannot be read."""
    details: Callable[[R], Iterable[str]] = lambda result: ()
    """Details of a result beyond its essence, in Markdown."""
    work: Callable[[R], Iterable[str]] = lambda result: ()
    """The full text of the result, in Markdown; replaces the essence for later use."""
    table: Callable[[R], Iterable[BaseModel | Mapping[str, object]]] = lambda result: ()
    """Rows for spreadsheets: the result's ideas with their scores, if any."""
    annotated: Callable[[R], bytes | None] = lambda result: None
    """The PDF that it reviewed, with the points of the review as annotations; None for other results. Raises `UserError` if the
    file is missing or has changed."""
    revisions: Callable[[R], Revisions | None] = lambda result: None
    """How `result.idea` was revised, if it was."""
    reviews: Reviews | None = None
    """How it reviews a user's texts, if it does."""
    judge: Judge | None = None
    """How it judges the results of other runs, if it does."""
    tools: Mapping[str, type[Strict]] = field(default_factory=dict[str, type[Strict]])
    """Tools of its own that its role cards may list, with their arguments; described in `prompts/tools/NAME.yaml`."""
    pictures: frozenset[str] = frozenset()
    """Roles that are shown pictures."""
    services: tuple[Service, ...] = ()
    """The parts of it that hosts offer as single tools."""
    files: Mapping[str, type[BaseModel]] = field(default_factory=dict[str, type[BaseModel]])
    """Models of users' own files, by path of their JSON Schema, see `schemas`."""
    numbers: Mapping[str, Number] = field(default_factory=dict[str, Number])
    """Labels of its measures and settings, by their names in suites."""
    steers: Mapping[str, str] = field(default_factory=dict[str, str])
    """The stages after which a person may steer, each with what they may do, in words."""
    extras: tuple[str, ...] = ()
    """Optional extras of the package that it needs; `corpus` follows from `corpus`."""
    component: tuple[str, ...] = ()
    """`a.b=c` settings of its shipped component JSON, which must run unchanged."""
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other names of its keys, such as those of old config files; the values are full paths of keys."""

    def __post_init__(self) -> None:
        settings, inputs = self.config.key_names(), self.inputs.key_names()
        own = settings | inputs
        if taken := (own | {self.name}) & {*COMMON, "settings"} | settings & inputs | own & {self.name}:
            raise ConfigError(
                f"system {self.name!r}: {', '.join(sorted(taken))}: already a key of every run, or defined twice",
                hint="rename the key",
            )

    @property
    def prefix(self) -> str:
        """Prefix of its classes."""
        return self.class_name or "".join(part.capitalize() for part in self.name.split("-"))

    @property
    def slots(self) -> Mapping[str, Slot]:
        """How each input is provided."""
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
        """A config's data with each key in its place, and the keys that belong to no part of this system's runs.

        A key that is not of every run is looked up in the section, then among the inputs: `size` becomes `NAME.size`, `topic`
        becomes `inputs.topic`.
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
        """The data without aliases; a value under the key's own name has priority."""
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
        """The config with a task's messages as its inputs; none is taken for the name of a file.

        Args:
            folder: the run folder, where inputs read from files are saved.
        """
        inputs: dict[str, Any] = {}
        for name, slot in self.slots.items():
            if not (texts := slot.of(messages)):
                continue
            if slot.file and folder:
                numbers = [f"-{number}" for number in range(1, len(texts) + 1)] if slot.many else [""]
                files = [(folder / f"{name}{number}.md").resolve() for number in numbers]
                with writing(folder):
                    make_folder(folder)
                    for text, file in zip(texts, files, strict=True):
                        # Text that no file can hold is refused later, together with all other invalid text.
                        file.write_bytes(text.encode("utf-8", "surrogatepass"))
                texts = [*map(str, files)]
            inputs[name] = tuple(texts) if slot.many else texts[0]
        return config.model_copy(update={"inputs": config.inputs.model_copy(update=inputs)})

    def papers_elsewhere(self, config: RunConfig) -> dict[str, str]:
        """The inputs whose paper is not a file yet: at an address, or in an archive."""
        named = {name: getattr(config.inputs, name) for name, slot in self.slots.items() if slot.file}
        return {
            name: value for name, value in named.items() if isinstance(value, str) and _is_elsewhere(value)
        }

    def write_report(self, folder: Path, related: "Sequence[RelatedRun]" = ()) -> Path:
        """Write the report of a run, finished or not, into its folder.

        Args:
            related: runs that review or judge it.

        Raises:
            BugError: its template or view is broken; there is the plain page instead.
            UserError: the folder is not a run folder, or the report cannot be written.
        """
        from manyheads.report.page import PLAIN, Page, View, place_of, write_page
        from manyheads.report.record import read_run

        record = read_run(folder, self.result)
        plain, own = View(PLAIN, Page(record)), self.report
        try:
            with door(folder):
                if own is None or isinstance(own, str):
                    essence = [*self.essence(record.result.result)]
                    view = View(own or PLAIN, plain.page, {"title": self.title, "essence": essence})
                else:
                    view = own(record)
                return write_page(folder, view, related)
        except BugError as error:
            write_page(folder, plain, related)
            error.message = f"the report is only the plain page: {place_of(error.__cause__)}{error.message}"
            error.hint = f"fix it, then: manyheads report {folder}"
            raise


def _is_elsewhere(name: str) -> bool:
    from manyheads.documents.folders import ARCHIVES

    archive = name.lower().endswith(ARCHIVES) and "\n" not in name
    address = web_address(name) is not None
    if not (archive or address):
        return False
    return archive if is_there(Path(name)) else address


def system_of(config: RunConfig) -> System:
    """The system of a run's config."""
    return config.definition
