"""What a suite is: one pydantic model. Each field's text below is its documentation."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from posixpath import normpath
from re import Pattern
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, field_validator, model_validator

from manyheads.config import Slot, Strict
from manyheads.config.files import read_yaml
from manyheads.disk import expanded, read_text
from manyheads.engine.system import System
from manyheads.errors import ConfigError, describe, did_you_mean
from manyheads.measures.calibration import Ratings, read_people
from manyheads.resources import Resources, data_file, parse_json
from manyheads.suites.replies import ALL, FIGURES
from manyheads.systems import systems

# What a suite measures, read from its names: `hd`, `usage.calls`, `review.overall`, `iterations < 10`.


NOVELTY = ("hd", "cd", "ci", "on", "rnd")
REPLIES = "replies"
STEP = r"[^\s.<>=]+"
NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
MEASURE = re.compile(rf"(?P<path>{STEP}(?:\.{STEP})*)(?:\s*<\s*(?P<below>{NUMBER}))?")


def judges() -> dict[str, System]:
    """The systems that judge what runs came to, by the name that measures and settings begin with."""
    return {system.judge.name: system for system in systems().values() if system.judge}


@dataclass(frozen=True)
class MeasurePath:
    """One measure.

    Attributes:
        name: as tables call it.
        of: `novelty` of the abstract, the `run` itself, its `replies`, or the name of a judge.
        path: where in the result of that the value stands; for novelty, the name of the measure; for replies,
            `role.task` or `all`, then the name of the figure.
        below: what the value is held against, where it is a share that counts.
    """

    name: str
    of: str
    path: tuple[str, ...]
    below: float | None = None

    @classmethod
    def parse(cls, text: str) -> "MeasurePath":
        """Raises `ValueError` where the text is neither a path nor `path < number`."""
        match = MEASURE.fullmatch(text.strip())
        if match is None:
            raise ValueError(
                f"{text!r}: a measure is a path such as usage.calls, or a share such as usage.calls < 10"
            )
        path, below = match["path"], match["below"]
        path = path.lower() if path.lower() in NOVELTY else path  # tables write HD
        name = path if below is None else f"{path} < {below}"
        first, *rest = path.split(".")
        bound = None if below is None else float(below)
        if path in NOVELTY:
            return cls(name, "novelty", (path,), bound)
        if first == REPLIES and rest:
            *task, figure = rest
            if figure not in FIGURES or len(task) not in (0, 2):
                raise ValueError(
                    f"{text!r}: of replies there are {', '.join(f'replies.{each}' for each in FIGURES)}, "
                    "and of one task such as replies.scientist.topic.first"
                )
            return cls(name, REPLIES, (".".join(task) or ALL, figure), bound)
        if rest and (system := judges().get(first)) and system.judge:
            return cls(name, first, system.judge.path(rest), bound)
        return cls(name, "run", (first, *rest), bound)

    def value(self, number: float | bool) -> float | bool:
        """What counts of a number in a result: itself, or whether it is below the bound."""
        return number if self.below is None else number < self.below


VARIANT = "variant"
MOST_VALUES, MOST_RUNS = 1000, 10_000
"""Of an axis, and of a suite."""

Condition: TypeAlias = Mapping[str, Any]
"""What all cells have in common that are averaged: the value of each axis."""
MeasureName: TypeAlias = Annotated[
    str,
    BeforeValidator(lambda value: "on" if value is True else value),
    AfterValidator(lambda text: MeasurePath.parse(text).name),
]
"""YAML reads a bare `on` as true."""


class MeasuringConfig(Strict):
    """How `hd`, `cd`, `ci`, `on` and `rnd` are measured (VirSci 2025, §4.1; arXiv 2503.01508)."""

    neighbours: int = Field(default=5, ge=1)
    """Nearest papers of each period."""
    normalise: Literal["year", "database", "none"] = "year"
    """By the mean of the neighbour's year (2025), of all papers (2024), or not at all."""
    around: int = Field(default=100, ge=1)
    """P of RND: papers around the text."""
    own: int = Field(default=50, ge=1)
    """Q of RND: papers around each of these."""


class PlotConfig(Strict):
    """A panel for each of `value`, and for each combination of the axes that are neither `x` nor `y`."""

    kind: Literal["heatmap", "lines", "bars"]
    """Colours in a table, or means with their standard errors."""
    x: str
    """The axis to the right."""
    y: str | None = None
    """The axis upwards of a heat map; what the lines or the colours of the bars are."""
    value: tuple[MeasureName, ...] = Field(min_length=1)
    """Measures."""

    @field_validator("value", mode="before")
    @classmethod
    def _one(cls, value: object) -> object:
        return (value,) if isinstance(value, str | bool) else value


class CalibrationConfig(Strict):
    """Which measure is held against people's ratings of the cases."""

    measure: MeasureName
    """One of the suite's; of a case, its mean over repeats."""
    people: str
    """A CSV file beside the cases, a row a rating: `paper`, which is the case's id, the column `on`, and, where they are known,
    `rater` and `accepted`."""
    on: str = "score"
    """The column with the ratings."""
    threshold: float | None = None
    """Mean rating from which on a case is good, where no column `accepted` tells."""
    score_threshold: float | None = None
    """Value of the measure from which on a case is called good; `threshold` when left out."""


class ArenaConfig(Strict):
    """How the texts that runs have written are made anonymous."""

    names: tuple[str, ...] = ()
    """Words by which a text would tell who wrote it, such as a role's name: `the reviewer` stands in their place."""
    cut: tuple[str, ...] = ()
    """Headings of sections that are left out: they tell how a text was made."""
    marks: tuple[Pattern[str], ...] = ()
    """Regular expressions of names that readers of the text alone cannot look up, such as `N\\d+`: they are left out of brackets, and
    `an earlier paper` stands in their place elsewhere."""


class SuiteSpec(Strict):
    """An evaluation suite."""

    title: str
    """What it asks."""
    description: str = ""
    """What a reader must know of it."""
    version: int = Field(ge=1)
    """Counted up when its numbers can no longer be compared with those before."""
    sources: tuple[str, ...] = Field(min_length=1)
    """Where what it measures is described."""
    configs: tuple[str, ...] = Field(min_length=1, max_length=20)
    """Config files or shipped names, merged in order: what every cell begins with."""
    set: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Config keys such as `team.size`, laid on these."""
    grid: dict[str, Annotated[tuple[Any, ...], Field(max_length=MOST_VALUES)]] = Field(default={})
    """Config keys, each with the values that it takes: every combination is a condition. A judge's keys, such
    as `ranking.*` and `review.*`, steer how runs are judged: conditions that differ in these alone share their runs."""
    variants: dict[str, dict[str, Any]] = Field(default={}, max_length=MOST_VALUES)
    """By name, config keys that change together: one more axis, called `variant`."""
    cases: str | None = None
    """A JSON Lines file beside the suite, a case a line: its `id`, the config keys that it sets, and, where there is
    something to say of it, `about`. Files that it names are found beside it."""
    files: str | None = None
    """The config key that a file sets, where `--cases` names a folder: each file in it is a case, called by its name."""
    repeats: int = Field(default=3, ge=1, le=MOST_RUNS)
    """Cells of each condition and case, each with a seed of its own."""
    ideas: int = Field(default=1, ge=1, le=MOST_RUNS)
    """Runs of each cell, which a ranking judges together; those of seed s have the seeds s * ideas, s * ideas + 1, …"""
    begin_with: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Values of axes: runs of all other conditions begin, through `inputs.idea`, with the idea to which the run of
    this one came, case by case, seed by seed."""
    seeds: tuple[Annotated[int, Field(ge=-(2**31), lt=2**31)], ...] = Field(default=(), max_length=MOST_RUNS)
    """Of the repeats, in their order; 0, 1, 2, … when left out. Further repeats count on from the largest."""
    measures: tuple[MeasureName, ...] = Field(min_length=1, max_length=MOST_VALUES)
    """`hd`, `cd`, `ci`, `on`, `rnd`; `review.overall`, or another mean of a conference review of the abstract;
    `ranking.s`, or another number of the relative quality ranking, in which the cell's ideas stand beside
    `ranking.target`; what another judge makes of runs; `replies.first`, or another figure of what the models made of
    the forms, of all tasks or, as `replies.scientist.topic.first`, of one; or the path of a number or truth value in
    `result.json`, such as `usage.calls` or, for how many ideas there are, `ideas.length`. `rebuttal.iterations < 10` is the share of runs of which that is true."""
    measuring: MeasuringConfig = MeasuringConfig()
    against: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Values of axes: what the other conditions are compared with; the first condition when left out."""
    level: float = Field(default=0.95, gt=0, lt=1)
    """Of the intervals."""
    plot: PlotConfig | None = None
    """What is drawn."""
    calibration: CalibrationConfig | None = None
    """What is held against people's ratings of the cases, condition by condition."""
    arena: ArenaConfig | None = None
    """Whether the texts that runs have written are laid out for a blind comparison, in `arena/`: under ids that tell nothing, with
    a key."""

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """What conditions differ in, with its values."""
        return {**({VARIANT: tuple(self.variants)} if self.variants else {}), **self.grid}

    def conditions(self) -> Iterator[dict[str, Any]]:
        """Every combination of the axes' values, the last axis changing fastest; one without any if there is none."""
        for values in product(*self.axes.values()):
            yield dict(zip(self.axes, values, strict=True))

    def counterpart(self, condition: Condition) -> dict[str, Any]:
        """The condition that another one is compared with; for those themselves, themselves."""
        return {**condition, **(self.against or {axis: values[0] for axis, values in self.axes.items()})}

    def settings(self, condition: Condition) -> dict[str, Any]:
        """The config keys that a condition sets."""
        varied = self.variants.get(str(condition.get(VARIANT)), {})
        return {**varied, **{key: value for key, value in condition.items() if key in self.grid}}

    @property
    def measure_paths(self) -> tuple[MeasurePath, ...]:
        """The measures, taken apart."""
        return tuple(map(MeasurePath.parse, self.measures))

    def seeds_of(self, repeats: int) -> tuple[int, ...]:
        """The seeds of so many repeats."""
        following = max(self.seeds, default=-1) + 1
        return (*self.seeds, *range(following, following + repeats))[:repeats]

    @model_validator(mode="after")
    def _fits_together(self) -> "SuiteSpec":
        for key, values in self.grid.items():
            if key == "seed" or (key == VARIANT and self.variants):
                raise ValueError(f"grid.{key}: is set by {'seeds' if key == 'seed' else 'variants'}")
            if not values or any(value in values[:place] for place, value in enumerate(values)):
                raise ValueError(f"grid.{key}: needs values, each of them once")
            if len(set(map(str, values))) < len(values):
                raise ValueError(f"grid.{key}: two values look the same in tables and pictures")
            if within := next((other for other in self.grid if key.startswith(f"{other}.")), None):
                raise ValueError(f"grid.{key}: grid.{within} sets it too")
        for name, names in (("seeds", self.seeds), ("measures", self.measures)):
            if len(set(names)) < len(names):
                raise ValueError(f"{name}: one is named twice")
        for name, values in (("against", self.against), ("begin_with", self.begin_with)):
            for axis, value in values.items():
                if value not in self.axes.get(axis, ()):
                    raise ValueError(f"{name}.{axis}: {value!r} is not among its values in grid or variants")
                if name == "begin_with" and root(axis) in judges():
                    raise ValueError(f"begin_with.{axis}: steers how runs are judged, not what they come to")
        return self

    @model_validator(mode="after")
    def _can_be_calibrated(self) -> "SuiteSpec":
        if self.calibration and self.calibration.measure not in self.measures:
            raise ValueError(f"calibration.measure: {self.calibration.measure} is not among the measures")
        return self

    @model_validator(mode="after")
    def _can_be_drawn(self) -> "SuiteSpec":
        if (plot := self.plot) is None:
            return self
        for name, axis in (("x", plot.x), ("y", plot.y)):
            if axis not in self.axes and (axis is not None or plot.kind == "heatmap"):
                raise ValueError(f"plot.{name}: {axis} is no axis of grid or variants")
        if plot.x == plot.y:
            raise ValueError("plot.y: is the same axis as plot.x")
        for measure in plot.value:
            if measure not in self.measures:
                raise ValueError(f"plot.value: {measure} is not among the measures")
        return self


def root(key: str) -> str:
    """The section of the config that a key belongs to."""
    return key.partition(".")[0]


def leaves(data: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of nested mappings, by its path of keys."""
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from leaves(cast(dict[str, Any], value), f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def mapped(value: Any, of: Callable[[str], str]) -> Any:
    """A value with each text in it, however deep, as something else."""
    if isinstance(value, Mapping):
        return {key: mapped(inner, of) for key, inner in cast(Mapping[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [mapped(inner, of) for inner in cast(Sequence[Any], value)]
    return of(value) if isinstance(value, str) else value


def label_of(condition: Condition) -> str:
    """A condition in words: `team.size=4, turns=2`."""
    return ", ".join(f"{axis}={value}" for axis, value in condition.items()) or "all"


# A suite's cases: a JSON Lines file, a case a line.


ID, ABOUT = "id", "about"
LARGEST = 20_000_000
"""Bytes of the file."""


def read_cases(path: Path, key: str | None = None) -> dict[str, dict[str, Any]]:
    """The config keys of each case, by its id. Files that they name are found beside this one, wherever it lies.

    Args:
        key: of a folder, what each of its files sets.

    Raises:
        ConfigError: the file cannot be read, holds no cases, or one twice.
    """
    if path.is_dir():
        return _cases_of_folder(path, key)
    try:
        lines = read_text(path, LARGEST).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(
            f"{path}: cannot be read: {why}",
            hint="cases are in a file beside the suite, or --cases names one",
        ) from error
    cases: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            data: object = parse_json(line)
        except ValueError as error:
            raise ConfigError(f"{where}: not valid JSON: {error}") from error
        keys = cast(dict[str, Any], data) if isinstance(data, dict) else {}
        case = keys.pop(ID, None)
        if not isinstance(case, str) or not case.strip():
            raise ConfigError(
                f"{where}: no case", hint='such as {"id": "robots", "topic": "Robots that learn"}'
            )
        if not isinstance(keys.pop(ABOUT, ""), str):
            raise ConfigError(f"{where}: {ABOUT} is a text that tells readers of the case")
        if case in cases:
            raise ConfigError(f"{where}: there is a case {case!r} already")
        cases[case] = {key: _beside(path.parent, key, value) for key, value in keys.items()}
    if not cases:
        raise ConfigError(f"{path}: no cases in it")
    return cases


def _cases_of_folder(folder: Path, key: str | None) -> dict[str, dict[str, Any]]:
    if key is None:
        raise ConfigError(
            f"{folder}: a folder: this suite takes a file of cases", hint="JSON Lines, a case a line"
        )
    cases: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.iterdir()):
        if (
            not file.is_file() or file.name.startswith(".") or file.suffix == ".csv"
        ):  # people's ratings may lie beside
            continue
        case = file.name.partition(".")[0] or file.name
        if case in cases:
            raise ConfigError(
                f"{file}: there is a case {case!r} already", hint="call one of the files otherwise"
            )
        cases[case] = {key: str(file.absolute())}
    if not cases:
        raise ConfigError(f"{folder}: no files in it")
    return cases


def _beside(base: Path, key: str, value: Any) -> Any:
    """A value with the files that it names in full: what must be a file, or is one and may be."""
    if isinstance(value, Mapping):
        inner = cast(Mapping[str, Any], value)
        return {each: _beside(base, f"{key}.{each}", below) for each, below in inner.items()}
    slot = _slot(key)
    if isinstance(value, list) and slot.file:
        return [_beside(base, key, each) for each in cast(list[Any], value)]
    kinds = slot.metavar.split("|")
    is_file = (slot.file or "FILE" in kinds) and ("TEXT" not in kinds or _exists(base, key, value))
    return str((base / expanded(value)).absolute()) if is_file and isinstance(value, str) else value


def _slot(key: str) -> Slot:
    """How the value of a key is given, in the inputs or the section of whatever system has it."""
    if key in ("paths", "corpus"):
        return Slot(file=True, metavar="FOLDER" if key == "paths" else "FOLDER|TEXT")
    above, _, name = key.rpartition(".")
    slots = (
        slot
        for system in systems().values()
        if above in ("", "inputs", system.name, *system.aliases)
        for fields in (system.inputs.model_fields, system.config.model_fields)
        if name in fields
        for slot in fields[name].metadata
        if isinstance(slot, Slot)
    )
    return next(slots, Slot())


def _exists(base: Path, key: str, value: object) -> bool:
    """Whether a text is the name of a file, here or there.

    One that lies in the present folder alone counts: it is not taken from there, but missed beside the cases.
    """
    if not isinstance(value, str) or (key == "corpus" and "/" not in value):
        return False
    try:
        path = expanded(value)
        return (base / path).exists() or path.exists()
    except (OSError, RuntimeError):  # no name that a file could have
        return False


# A suite, read: from `evals/<name>/` of a user's folder, a pack or ours, or from a folder that is named.

FILE = "suite.yaml"
LARGEST_SUITE = 500_000
"""Bytes of that file."""
KIND = "evals"


@dataclass(frozen=True)
class Suite:
    """A suite, and the config keys of each of its cases, by the case's id; a suite without cases has one, `""`.

    Attributes:
        people: their ratings of the cases, where something is held against them.
    """

    name: str
    spec: SuiteSpec
    cases: dict[str, dict[str, Any]] = field(default_factory=lambda: {"": dict[str, Any]()})
    people: Ratings | None = None


def read_suite(name: str, resources: Resources, cases: Path | None = None) -> Suite:
    """The suite of that name, or in that folder.

    Args:
        cases: a file of cases that take the place of its own, or a folder of files that are a case each.

    Raises:
        ConfigError: there is none, a file of it cannot be read, or a key or value does not fit.
        RatingError: people's ratings of its cases cannot be read.
    """

    def find(file: str) -> Path:
        return folder / file if own else resources.need(KIND, normpath(f"{name}/{file}"))

    folder, own = Path(name), (Path(name) / FILE).is_file()
    if not own and not resources.find(KIND, f"{name}/{FILE}"):
        raise ConfigError(
            f"{name}: no such suite",
            tried=", ".join([str(folder.absolute()), *(str(root / KIND) for root in resources.search_path)]),
            hint=did_you_mean(
                name,
                suite_names(resources),
                f"name a folder with a {FILE}, or one of {', '.join(suite_names(resources)) or 'none'}",
            ),
        )
    path = find(FILE)
    if path.stat().st_size > LARGEST_SUITE:
        raise ConfigError(
            f"{path}: more than {LARGEST_SUITE // 1000} kB", hint="cases stand in a file of their own"
        )
    try:
        spec = SuiteSpec.model_validate(read_yaml(path))
    except ValidationError as error:
        hint = f"all keys, with what they mean, are in {data_file('evals/suite.schema.json')}"
        raise ConfigError(f"{path}: {describe(error)}", hint=hint) from error
    name = folder.resolve().name if own else name
    file = cases or (find(spec.cases) if spec.cases else None)
    if not file:
        return Suite(name, spec)
    calibration, beside = spec.calibration, file if file.is_dir() else file.parent
    keys = read_cases(file, spec.files)
    people = read_people(beside / calibration.people, calibration.on) if calibration else None
    return Suite(name, spec, keys, people)


def suite_names(resources: Resources) -> list[str]:
    """The suites that there are."""
    return sorted(name.removesuffix(f"/{FILE}") for name in resources.names(KIND, f"/{FILE}"))


# What stands where a measure's path leads in a result: a value, null, or nothing.


LENGTH = "length"
SHOWN = 60
"""Letters of what stands in place of a number."""


@dataclass(frozen=True)
class Absent:
    """There is nothing.

    Attributes:
        why: in words.
        there: what is there instead, where the path ends at a mapping that lacks its next key.
        never: whether no result of the same form can have it: a list may be longer, a mapping has the keys it has.
    """

    why: str
    there: tuple[str, ...] = ()
    never: bool = True


Value: TypeAlias = float | bool | Absent | None
"""A number or truth value; None for null, there or on the way: it is unknown, such as a cost without prices."""


def at(result: Mapping[str, Any], path: Sequence[str]) -> Value:
    """What a run's result, or else its system's own, holds at the end of a path.

    The path is of keys, places in lists and, for how long a list is, `length`.
    """
    name = ".".join(path)
    value: Any = result if path[0] in result else result.get("result") or {}
    for key in path:
        match value:
            case None:
                return None
            case list() if key == LENGTH:
                value = len(cast(list[Any], value))
            case list() if key.isdecimal():
                if int(key) >= len(cast(list[Any], value)):
                    return Absent(f"the result has no {name}", never=False)
                value = value[int(key)]
            case dict() if key in value:
                value = value[key]
            case _:
                keys = cast(dict[str, Any], value) if isinstance(value, dict) else {}
                return Absent(f"the result has no {name}", tuple(keys))
    match value:
        case None | bool():
            return value
        case dict():
            return Absent(f"{name} holds several values", tuple(cast(dict[str, Any], value)))
        case list():
            return Absent(f"{name} is a list: {name}.{LENGTH} is how long it is")
        case int() | float() if math.isfinite(value):
            return float(value)
        case _:
            return Absent(f"{name} is {str(value)[:SHOWN]!r}, which is no number")
