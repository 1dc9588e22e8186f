"""The pydantic model of a suite. The text below each field is its documentation."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from manyheads.arena.blinding import ArenaConfig
from manyheads.config import Strict
from manyheads.suites.replies import ALL, FIGURES
from manyheads.systems import systems
from manyheads.team.system import System

# Measures, read from their names: `hd`, `usage.calls`, `review.overall`, `iterations < 10`.


NOVELTY = ("hd", "cd", "ci", "on", "rnd")
REPLIES = "replies"
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
        of: `novelty` of the abstract, the `run` itself, its `replies`, or the name of a judge.
        path: of the value in that result; for novelty, the name of the measure; for replies, `role.task` or `all`, then the
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

Condition: TypeAlias = Mapping[str, Any]
"""The value of each axis; cells of a condition are averaged."""
MeasureName: TypeAlias = Annotated[
    str,
    BeforeValidator(lambda value: "on" if value is True else value),
    AfterValidator(lambda text: MeasurePath.parse(text).name),
]
"""YAML reads a bare `on` as true."""


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

    kind: Literal["heatmap", "lines", "bars"]
    """A table of colours, or means with standard errors."""
    x: str
    """The horizontal axis."""
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
    """The column of the ratings."""
    threshold: float | None = None
    """Minimum mean rating of a good case, if there is no column `accepted`."""
    score_threshold: float | None = None
    """Minimum value of the measure for a good case; default: `threshold`."""


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
    """A JSON Lines file next to the suite, one case per line: its `id`, its config keys, and, optionally, `about`. Paths are relative to
    the file."""
    files: str | None = None
    """The config key for a file, if `--cases` names a folder: each file is a case, named after it."""
    repeats: int = Field(default=3, ge=1, le=MOST_RUNS)
    """Cells per condition and case, each with its own seed."""
    ideas: int = Field(default=1, ge=1, le=MOST_RUNS)
    """Runs per cell, for a ranking of all their ideas; those of seed s have the seeds s * ideas, s * ideas + 1, …"""
    begin_with: dict[str, Any] = Field(default_factory=dict[str, Any])
    """A condition by its values of axes. Runs of all other conditions begin with the idea of its run, passed by `inputs.idea`, for the
    same case and seed."""
    seeds: tuple[Annotated[int, Field(ge=-(2**31), lt=2**31)], ...] = Field(default=(), max_length=MOST_RUNS)
    """Seeds of the repeats, in order; default: 0, 1, 2, … Further repeats count on from the largest."""
    measures: tuple[MeasureName, ...] = Field(min_length=1, max_length=MOST_VALUES)
    """`hd`, `cd`, `ci`, `on`, `rnd`; `review.overall`, or another mean of a conference review of the abstract; `ranking.s`, or another
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
        """The parsed measures."""
        return tuple(map(MeasurePath.parse, self.measures))

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
