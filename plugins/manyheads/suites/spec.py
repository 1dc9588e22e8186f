"""A suite: the pydantic model of `suite.yaml`, in which the text below each field is its documentation; its cases; people's ratings."""

import csv
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from posixpath import normpath
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from manyheads.base.entry_points import points
from manyheads.base.errors import ConfigError, describe, did_you_mean
from manyheads.base.files import expanded, read_text
from manyheads.base.resources import Resources, data_file, parse_json
from manyheads.config import Slot, Strict
from manyheads.config.files import read_yaml
from manyheads.judges.blinding import ArenaConfig
from manyheads.measures.packages import BARE_ON, GROUP, MEASURES, measure_named
from manyheads.measures.published import recognised
from manyheads.measures.ratings import SCORE, RatingTable, read_ratings
from manyheads.suites.replies import ALL, FIGURES
from manyheads.systems import systems
from manyheads.team.system import System

# Measures, read from their names: `hd`, `usage.calls`, `review.overall`, `iterations < 10`.


REPLIES, TEXT = "replies", "text"
STEP = r"[^\s.<>=]+"
NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
MEASURE = re.compile(rf"(?P<path>{STEP}(?:\.{STEP})*)(?:\s*<\s*(?P<below>{NUMBER}))?")


def judges() -> dict[str, System]:
    """The systems that judge results, by the name that measures and settings begin with."""
    return {system.judge.name: system for system in systems().values() if system.judge}


@dataclass(frozen=True)
class MeasurePath:
    """One measure.

    Attributes:
        name: in tables.
        of: `novelty` of the abstract, a package's measure of its `text`, the `run` itself, its `replies`, or the name of a judge.
        path: of the value in that result; for the abstract, the name of the measure; for replies, `role.task` or `all`, then the
        name of the figure.
        below: the bound of a share.
    """

    name: str
    of: str
    path: tuple[str, ...]
    below: float | None = None

    @classmethod
    def parse(cls, text: str) -> "MeasurePath":
        """Raises `ValueError` if the text is neither a path nor `path < number`."""
        match = MEASURE.fullmatch(text.strip())
        if match is None:
            raise ValueError(
                f"{text!r}: not a measure; write a path such as usage.calls, or a share such as usage.calls < 10"
            )
        path, below = match["path"], match["below"]
        path = path.lower() if path.lower() in MEASURES else path  # tables write HD
        name = path if below is None else f"{path} < {below}"
        first, *rest = path.split(".")
        bound = None if below is None else float(below)
        if path in MEASURES:
            return cls(name, "novelty", (path,), bound)
        if path in points(GROUP):
            measure_named(path)
            return cls(name, TEXT, (path,), bound)
        if first == REPLIES and rest:
            *task, figure = rest
            if figure not in FIGURES or len(task) not in (0, 2):
                raise ValueError(
                    f"{text!r}: measures of replies are {', '.join(f'replies.{each}' for each in FIGURES)}, "
                    "and of one task such as replies.scientist.topic.first"
                )
            return cls(name, REPLIES, (".".join(task) or ALL, figure), bound)
        if rest and (system := judges().get(first)) and system.judge:
            return cls(name, first, system.judge.path(rest), bound)
        return cls(name, "run", (first, *rest), bound)

    def value(self, number: float | bool) -> float | bool:
        """The number itself, or whether it is below the bound."""
        return number if self.below is None else number < self.below


VARIANT = "variant"
MOST_VALUES, MOST_RUNS = 1000, 10_000
"""Maximum values of an axis, and runs of a suite."""

Preset: TypeAlias = Literal["quick", "paper"]
"""The size of a suite: minutes, or as a publication has it."""
Condition: TypeAlias = Mapping[str, Any]
"""The value of each axis; cells of a condition are averaged."""
MeasureName: TypeAlias = Annotated[str, BARE_ON, AfterValidator(lambda text: MeasurePath.parse(text).name)]


class MeasuringConfig(Strict):
    """How `hd`, `cd`, `ci`, `on` and `rnd` are measured (VirSci 2025, §4.1; arXiv 2503.01508)."""

    neighbours: int = Field(default=5, ge=1)
    """Number of nearest papers per period."""
    normalise: Literal["year", "database", "none"] = "year"
    """Divide distances by the mean of the neighbour's year (2025), by the mean of all papers (2024), or not at all."""
    around: int = Field(default=100, ge=1)
    """P of RND: papers around the text."""
    own: int = Field(default=50, ge=1)
    """Q of RND: papers around each of these."""
    density: Literal["paper", "abstract"] = "paper"
    """How RND is measured: as in its paper, by cosine distances of title and abstract, or by Euclidean distances of abstracts."""


class PlotConfig(Strict):
    """One panel for each of `value` and each combination of the axes that are neither `x` nor `y`."""

    kind: Literal["heatmap", "lines", "bars", "scatter"]
    """A table of colours, means with standard errors, or a point for each cell with Pearson's r."""
    x: Annotated[str, BARE_ON]
    """The horizontal axis; of a scatter plot, a measure."""
    y: str | None = None
    """The vertical axis of a heat map; the colours of lines or bars."""
    value: tuple[MeasureName, ...] = Field(min_length=1)
    """Measures."""

    @field_validator("value", mode="before")
    @classmethod
    def _one(cls, value: object) -> object:
        return (value,) if isinstance(value, str | bool) else value


class CalibrationConfig(Strict):
    """A measure to compare with people's ratings of the cases."""

    measure: MeasureName
    """One of the suite's measures; averaged over the repeats of a case."""
    people: str
    """A CSV file next to the cases, one rating per row: `paper` (the case's id), the column `on`, and, if known, `rater` and
    `accepted`."""
    on: str = "score"
    """The column of the ratings; `[0-9]` or `ann+ben` for a column a rater."""
    columns: dict[str, str] = Field(default_factory=dict[str, str])
    """What the file calls `id`, `rater` and `accepted`, if otherwise."""
    threshold: float | None = None
    """Minimum mean rating of a good case, if there is no column `accepted`."""
    score_threshold: float | None = None
    """Minimum value of the measure for a good case; default: `threshold`."""


class PaperSize(Strict):
    """What changes in a suite for a publication's own size."""

    repeats: int | None = Field(default=None, ge=1, le=MOST_RUNS)
    """Of each condition and case; the suite's if omitted."""
    cases: int | None = Field(default=None, ge=1)
    """The publication's number of cases, for the estimate and the report; the cases themselves are given by `--cases`."""
    set: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Laid over the suite's."""
    grid: dict[str, Annotated[tuple[Any, ...], Field(max_length=MOST_VALUES)]] = Field(default={})
    """In place of the suite's values of an axis."""
    variants: dict[str, dict[str, Any]] = Field(default={}, max_length=MOST_VALUES)
    """Laid over the suite's, each under its name; or added."""


class SuiteSpec(Strict):
    """An evaluation suite."""

    title: str
    """The question that it answers."""
    description: str = ""
    """Background for readers."""
    version: int = Field(ge=1)
    """Increased when its numbers are no longer comparable with earlier ones."""
    sources: tuple[str, ...] = Field(min_length=1)
    """Publications that describe its measures."""
    table: str = ""
    """The table or figure that it repeats, such as `VirSci 2025, Table 7`. The publication's own numbers are in `published.csv`, next to
    the suite."""
    paper: PaperSize | None = None
    """The publication's own size, for `--preset paper`. Without it, a suite ends within minutes."""
    configs: tuple[str, ...] = Field(min_length=1, max_length=20)
    """Config files or shipped names, merged in order; the base of every cell."""
    set: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Further config keys, such as `team.size`."""
    grid: dict[str, Annotated[tuple[Any, ...], Field(max_length=MOST_VALUES)]] = Field(default={})
    """Config keys, each with its values; every combination is a condition. Keys of a judge, such as `ranking.*` and `review.*`, steer
    how runs are judged: conditions that differ only in these share their runs."""
    variants: dict[str, dict[str, Any]] = Field(default={}, max_length=MOST_VALUES)
    """Sets of config keys by name; one more axis, called `variant`."""
    cases: str | None = None
    """A JSON Lines file next to the suite, one case per line: its `id`, its config keys, and, optionally, `about`, and `of`: cases of one
    paper are alike, and count as one in intervals. Paths are relative to the file."""
    files: str | None = None
    """The config key for a file, if `--cases` names a folder: each file is a case, named after it."""
    repeats: int = Field(default=3, ge=1, le=MOST_RUNS)
    """Cells per condition and case, each with its own seed."""
    ideas: int = Field(default=1, ge=1, le=MOST_RUNS)
    """Runs per cell, for a ranking of all their ideas; those of seed s have the seeds s * ideas, s * ideas + 1, …"""
    begin_with: dict[str, Any] = Field(default_factory=dict[str, Any])
    """A condition by its values of axes. Runs of all other conditions begin with the idea of its run, passed by `inputs.idea`, for the
    same case and seed."""
    like: dict[str, str] = Field(default={})
    """Variants of a baseline, each with the variant whose run of the same case and seed it gets as many tokens as (`single.like`,
    `mamorx.like`)."""
    rivals: dict[str, str] = Field(default={})
    """Variants whose texts a judge that takes rivals, such as `idea-comparison` and `review-comparison`, compares with those of another
    variant."""
    needs: dict[str, str] = Field(default={})
    """Judges, each with the config key that it needs of every case; without it, nothing of this judge is measured."""
    seeds: tuple[Annotated[int, Field(ge=-(2**31), lt=2**31)], ...] = Field(default=(), max_length=MOST_RUNS)
    """Seeds of the repeats, in order; default: 0, 1, 2, … Further repeats count on from the largest."""
    measures: tuple[MeasureName, ...] = Field(min_length=1, max_length=MOST_VALUES)
    """`hd`, `cd`, `ci`, `on`, `rnd`; the name of another package's measure (entry points `manyheads.measures`); `review.overall`, or another mean of a conference review of the abstract; `ranking.s`, or another
    number of a ranking of the cell's ideas against `ranking.target`; numbers of other judges; `replies.first`, or another figure of
    the validity of replies, over all tasks or one, as `replies.scientist.topic.first`; or the path of a number or truth value in
    `result.json`, such as `usage.calls`, or `ideas.length` for the number of ideas. `rebuttal.iterations < 10` is the share of runs
    for which that is true."""
    measuring: MeasuringConfig = MeasuringConfig()
    against: dict[str, Any] = Field(default_factory=dict[str, Any])
    """The reference condition by its values of axes; default: the first condition."""
    level: float = Field(default=0.95, gt=0, lt=1)
    """Confidence level of the intervals."""
    plot: PlotConfig | None = None
    """The plot."""
    calibration: CalibrationConfig | None = None
    """Comparison with people's ratings of the cases, for each condition."""
    arena: ArenaConfig | None = None
    """Put the texts of runs into an arena, `arena/`, for a blind comparison."""

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The keys that conditions differ in, with their values."""
        return {**({VARIANT: tuple(self.variants)} if self.variants else {}), **self.grid}

    def conditions(self) -> Iterator[dict[str, Any]]:
        """Every combination of the axes' values, the last axis changing fastest; one empty condition without axes."""
        for values in product(*self.axes.values()):
            yield dict(zip(self.axes, values, strict=True))

    def counterpart(self, condition: Condition) -> dict[str, Any]:
        """The reference condition of another one; a reference is its own."""
        return {**condition, **(self.against or {axis: values[0] for axis, values in self.axes.items()})}

    def settings(self, condition: Condition) -> dict[str, Any]:
        """The config keys of a condition."""
        varied = self.variants.get(str(condition.get(VARIANT)), {})
        return {**varied, **{key: value for key, value in condition.items() if key in self.grid}}

    @property
    def measure_paths(self) -> tuple[MeasurePath, ...]:
        return tuple(map(MeasurePath.parse, self.measures))

    def without(self, judges: Collection[str]) -> "SuiteSpec":
        """The suite without the measures of these judges."""

        def others(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name for name in names if root(name) not in judges)

        plot = self.plot and self.plot.model_copy(update={"value": others(self.plot.value)})
        return self.model_copy(update={"measures": others(self.measures), "plot": plot})

    def as_published(self) -> "SuiteSpec":
        """The suite at the publication's size. Raises `ValidationError` if that does not fit together."""
        own, larger = self.model_dump(exclude_unset=True), self.paper or PaperSize()
        for name, changes in (("set", larger.set), ("grid", larger.grid), ("variants", larger.variants)):
            own[name] = {**own.get(name, {}), **changes} if changes else own.get(name, {})
        return SuiteSpec.model_validate({**own, "repeats": larger.repeats or self.repeats})

    def seeds_of(self, repeats: int) -> tuple[int, ...]:
        """The seeds of this number of repeats."""
        following = max(self.seeds, default=-1) + 1
        return (*self.seeds, *range(following, following + repeats))[:repeats]

    @model_validator(mode="after")
    def _fits_together(self) -> "SuiteSpec":
        for key, values in self.grid.items():
            if key == "seed" or (key == VARIANT and self.variants):
                raise ValueError(f"grid.{key}: is set by {'seeds' if key == 'seed' else 'variants'}")
            if not values or any(value in values[:place] for place, value in enumerate(values)):
                raise ValueError(f"grid.{key}: needs values without repetitions")
            if len(set(map(str, values))) < len(values):
                raise ValueError(f"grid.{key}: two values look the same in tables and pictures")
            if within := next((other for other in self.grid if key.startswith(f"{other}.")), None):
                raise ValueError(f"grid.{key}: grid.{within} sets it too")
        for name, names in (("seeds", self.seeds), ("measures", self.measures)):
            if len(set(names)) < len(names):
                raise ValueError(f"{name}: contains a duplicate")
        for name, values in (("against", self.against), ("begin_with", self.begin_with)):
            for axis, value in values.items():
                if value not in self.axes.get(axis, ()):
                    raise ValueError(f"{name}.{axis}: {value!r} is not among its values in grid or variants")
                if name == "begin_with" and root(axis) in judges():
                    raise ValueError(f"begin_with.{axis}: steers only how runs are judged")
        return self

    @model_validator(mode="after")
    def _has_its_variants(self) -> "SuiteSpec":
        for name, pairs in (("like", self.like), ("rivals", self.rivals)):
            for variant, other in pairs.items():
                if variant == other or {variant, other} - self.variants.keys():
                    raise ValueError(f"{name}.{variant}: {other!r}: needs two variants")
        if self.like and (self.begin_with or self.like.keys() & set(self.like.values())):
            raise ValueError(
                "like: takes neither begin_with nor a variant that is itself given another's tokens"
            )
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
        scatter = plot.kind == "scatter"
        if scatter and (plot.x not in self.measures or plot.y is not None):
            raise ValueError("plot: a scatter plot has a measure of the suite as x, and no y")
        for name, axis in () if scatter else (("x", plot.x), ("y", plot.y)):
            if axis not in self.axes and (axis is not None or plot.kind == "heatmap"):
                raise ValueError(f"plot.{name}: {axis} is not an axis of grid or variants")
        if plot.x == plot.y:
            raise ValueError("plot.y: is the same axis as plot.x")
        for measure in plot.value:
            if measure not in self.measures:
                raise ValueError(f"plot.value: {measure} is not among the measures")
        return self


def root(key: str) -> str:
    """The section of a config key."""
    return key.partition(".")[0]


def leaves(data: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of nested mappings, with its path of keys."""
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from leaves(cast(dict[str, Any], value), f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def mapped(value: Any, of: Callable[[str], str]) -> Any:
    """A value with every nested text mapped."""
    if isinstance(value, Mapping):
        return {key: mapped(inner, of) for key, inner in cast(Mapping[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [mapped(inner, of) for inner in cast(Sequence[Any], value)]
    return of(value) if isinstance(value, str) else value


def label_of(condition: Condition) -> str:
    """A condition in words: `team.size=4, turns=2`."""
    return ", ".join(f"{axis}={value}" for axis, value in condition.items()) or "all"


# A suite's cases: a JSON Lines file, one case per line.


ID, ABOUT, OF = "id", "about", "of"
LARGEST = 20_000_000
"""Maximum bytes of the file."""


def read_cases(
    path: Path, key: str | None = None, groups: dict[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """The config keys of each case by its id. Relative paths are resolved against this file.

    Args:
        key: for a folder: the key that is set to each file.
        groups: receives what cases are `of`.

    Raises:
        ConfigError: the file cannot be read, is empty, or has a duplicate.
    """
    cases: dict[str, dict[str, Any]] = {}
    for where, case, keys in _files_of(path, key) if path.is_dir() else _lines_of(path):
        if case in cases:
            raise ConfigError(f"{where}: duplicate case {case!r}")
        if not isinstance(group := keys.pop(OF, ""), str):
            raise ConfigError(f"{where}: {OF} must be a text")
        if group and groups is not None:
            groups[case] = group
        cases[case] = keys
    if not cases:
        raise ConfigError(f"{path}: no cases in it")
    return cases


def _lines_of(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The place, the id and the keys of each case of a file."""
    try:
        lines = read_text(path, LARGEST).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        hint = "put the cases next to the suite, or name a file with --cases"
        raise ConfigError(f"{path}: cannot be read: {why}", hint=hint) from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            data: object = parse_json(line)
        except ValueError as error:
            raise ConfigError(f"{where}: not valid JSON: {error}") from error
        keys = cast(dict[str, Any], data) if isinstance(data, dict) else {}
        if keys and ID not in keys and (known := recognised(keys)):
            keys = {own: keys[column] for own, column in known.columns.items() if column in keys}
        case = keys.pop(ID, None)
        case = str(case) if type(case) is int else case
        if not isinstance(case, str) or not case.strip():
            why = "missing" if case is None else "not a text or a whole number"
            hint = 'such as {"id": "robots", "topic": "Robots that learn"}'
            raise ConfigError(f"{where}: not a case: {ID} is {why}", hint=hint)
        if not isinstance(keys.pop(ABOUT, ""), str):
            raise ConfigError(f"{where}: {ABOUT} must be a text for readers")
        yield where, case, {key: _beside(path.parent, key, value) for key, value in keys.items()}


def _files_of(folder: Path, key: str | None) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The same of a folder, in which each file is a case."""
    if key is None:
        hint = "JSON Lines, one case per line"
        raise ConfigError(f"{folder}: is a folder; this suite takes a file of cases", hint=hint)
    for file in sorted(folder.iterdir()):
        # people's ratings may be there too
        if file.is_file() and not file.name.startswith(".") and file.suffix != ".csv":
            yield str(file), file.name.partition(".")[0] or file.name, {key: str(file.absolute())}


def _beside(base: Path, key: str, value: Any) -> Any:
    """A value with the paths of its files made absolute."""
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
    """The slot of a key, in the inputs or the section of any system."""
    if key in ("paths", "corpus"):
        return Slot(file=True, metavar="FOLDER" if key == "paths" else "FOLDER|TEXT")
    above, _, name = key.rpartition(".")
    slots = (
        slots.get(name, Slot())
        for system in systems().values()
        if above in ("", "inputs", system.name, *system.aliases)
        for slots in (system.slots, system.config.slots())
    )
    return next((slot for slot in slots if slot != Slot()), Slot())


def _exists(base: Path, key: str, value: object) -> bool:
    """Whether a text is the name of a file, here or there.

    A file in the working folder counts as missing next to the cases, not as found.
    """
    if not isinstance(value, str) or (key == "corpus" and "/" not in value):
        return False
    try:
        path = expanded(value)
        return (base / path).exists() or path.exists()
    except (OSError, RuntimeError):  # no name that a file could have
        return False


# What publications print, beside a suite's own numbers.


PUBLISHED = "published.csv"
COLUMNS = ("condition", "measure", "value", "where", "model")


@dataclass(frozen=True)
class Published:
    """A number as a publication prints it.

    Attributes:
        condition: the values of the suite's axes, as texts.
        where: the table or figure.
        model: that wrote what was measured.
    """

    condition: Mapping[str, str]
    measure: str
    value: float
    where: str
    model: str


def as_texts(condition: Condition) -> dict[str, str]:
    """A condition's values as YAML writes them."""
    words = {True: "true", False: "false", None: "null"}
    return {
        axis: words[value] if value is None or isinstance(value, bool) else str(value)
        for axis, value in condition.items()
    }


def read_published(path: Path, *specs: SuiteSpec) -> tuple[Published, ...]:
    """The rows of a `published.csv`: `condition` names each axis, as in `team.size=8; turns=5`.

    Args:
        specs: the suite at each of its sizes, of which one must have the condition and the measure.

    Raises:
        ConfigError: a column is missing, or a row is of no condition or measure of the suite, or has no number.
    """
    known = [as_texts(each) for spec in specs for each in spec.conditions()]
    rows = list[Published]()
    with open(path, encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        if missing := [name for name in COLUMNS if name not in (table.fieldnames or ())]:
            hint = f"columns: {', '.join(COLUMNS)}"
            raise ConfigError(f"{path}: has no column {', '.join(missing)}", hint=hint)
        for row in table:
            where = f"{path}:{table.line_num}"
            pairs = [part.partition("=") for part in row["condition"].split(";") if part.strip()]
            condition = {axis.strip(): value.strip() for axis, _, value in pairs}
            if condition not in known:
                likely = "; ".join(f"{axis}={value}" for axis, value in known[0].items())
                hint = f"such as {likely or 'nothing'}"
                raise ConfigError(f"{where}: {row['condition']!r} is no condition", hint=hint)
            if row["measure"] not in specs[0].measures:
                raise ConfigError(f"{where}: {row['measure']} is not among the suite's measures")
            try:
                value = float(row["value"])
            except ValueError as error:
                raise ConfigError(f"{where}: {row['value']!r} is no number") from error
            rows.append(Published(condition, row["measure"], value, row["where"], row["model"]))
    return tuple(rows)


# Reading a suite: from `evals/<name>/` of a user's folder, a pack or the package, or from a named folder.

FILE = "suite.yaml"
LARGEST_SUITE = 500_000
"""Maximum bytes of that file."""
KIND = "evals"


@dataclass(frozen=True)
class Suite:
    """A suite, with the config keys of each case by its id; without cases there is one, `""`.

    Attributes:
        people: their ratings of the cases, for `calibration`.
        published: what publications print for its conditions.
        groups: what cases are of, such as a paper; those of one group are alike.
        preset: of which size it is.
        lacking: judges that measure nothing, each with the key that not every case has.
    """

    name: str
    spec: SuiteSpec
    cases: dict[str, dict[str, Any]] = field(default_factory=lambda: {"": dict[str, Any]()})
    people: RatingTable | None = None
    published: tuple[Published, ...] = ()
    preset: Preset = "quick"
    lacking: Mapping[str, str] = field(default_factory=dict[str, str])
    groups: Mapping[str, str] = field(default_factory=dict[str, str])


def read_suite(name: str, resources: Resources, cases: Path | None = None, preset: Preset = "quick") -> Suite:
    """The suite of that name, in that folder, or of that `suite.yaml`.

    Args:
        cases: a file of cases to use instead, or a folder with one file per case.
        preset: its size.

    Raises:
        ConfigError: there is no such suite, a file cannot be read, or a key or value is invalid.
        RatingError: people's ratings of its cases cannot be read.
    """

    def find(file: str) -> Path:
        return folder / file if own else resources.need(KIND, normpath(f"{name}/{file}"))

    folder = Path(name).parent if Path(name).name == FILE else Path(name)
    own = (folder / FILE).is_file()
    if not own and (folder.name != name or not resources.find(KIND, f"{name}/{FILE}")):
        names = suite_names(resources)
        otherwise = f"name a folder with a {FILE}, or one of {', '.join(names) or 'none'}"
        tried = f"{folder.absolute()}, {resources.tried(KIND)}"
        raise ConfigError(f"{name}: no such suite", tried=tried, hint=did_you_mean(name, names, otherwise))
    path = find(FILE)
    if path.stat().st_size > LARGEST_SUITE:
        hint = "put the cases in a file of their own"
        raise ConfigError(f"{path}: more than {LARGEST_SUITE // 1000} kB", hint=hint)
    try:
        spec = SuiteSpec.model_validate(read_yaml(path))
        larger = spec.as_published()
    except ValidationError as error:
        hint = f"all keys are described in {data_file('evals/suite.schema.json')}"
        raise ConfigError(f"{path}: {describe(error)}", hint=hint) from error
    name = folder.resolve().name if own else name
    table = folder / PUBLISHED if own else resources.find(KIND, normpath(f"{name}/{PUBLISHED}"))
    published = read_published(table, spec, larger) if table and table.is_file() else ()
    if preset == "paper":
        if spec.paper is None:
            raise ConfigError(f"{path}: has no size of a paper", hint="leave out --preset paper")
        spec = larger
    suite = Suite(name, spec, published=published, preset=preset)
    file = cases or (find(spec.cases) if spec.cases else None)
    if not file:
        return suite
    calibration, beside = spec.calibration, file if file.is_dir() else file.parent
    groups = dict[str, str]()
    suite = replace(suite, cases=(read := read_cases(file, spec.files, groups)), groups=groups)
    lacking = {
        judge: key
        for judge, key in spec.needs.items()
        if any(key not in dict(leaves(keys)) for keys in read.values())
    }
    if lacking:
        suite = replace(suite, spec=spec.without(lacking), lacking=lacking)
    if calibration is None:
        return suite
    columns = {SCORE: calibration.on, **calibration.columns}
    return replace(suite, people=read_ratings([beside / calibration.people], columns))


def suite_names(resources: Resources) -> list[str]:
    return sorted(name.removesuffix(f"/{FILE}") for name in resources.names(KIND, f"/{FILE}"))
