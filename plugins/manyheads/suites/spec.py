"""What a suite is: one pydantic model. Each field's text below is its documentation."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from manyheads.config.strict import Strict
from manyheads.suites.wanted import JUDGING, Wanted

VARIANT = "variant"

Condition: TypeAlias = Mapping[str, Any]
"""What all cells have in common that are averaged: the value of each axis."""
MeasureName: TypeAlias = Annotated[
    str,
    BeforeValidator(lambda value: "on" if value is True else value),
    AfterValidator(lambda text: Wanted.parse(text).name),
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
    configs: tuple[str, ...] = Field(min_length=1)
    """Config files or shipped names, merged in order: what every cell begins with."""
    set: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Config keys such as `team.size`, laid on these."""
    grid: dict[str, tuple[Any, ...]] = Field(default_factory=dict[str, tuple[Any, ...]])
    """Config keys, each with the values that it takes: every combination is a condition. `ranking.*` and `review.*`
    steer how runs are judged: conditions that differ in these alone share their runs."""
    variants: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    """By name, config keys that change together: one more axis, called `variant`."""
    cases: str | None = None
    """A JSON Lines file beside the suite, a case a line: its `id`, the config keys that it sets, and, where there is
    something to say of it, `about`. Files that it names are found beside it."""
    repeats: int = Field(default=3, ge=1)
    """Cells of each condition and case, each with a seed of its own."""
    ideas: int = Field(default=1, ge=1)
    """Runs of each cell, which are ranked together; those of seed s have the seeds s * ideas, s * ideas + 1, …"""
    begin_with: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Values of axes: runs of all other conditions begin, through `rebuttal.idea`, with the idea to which the run of
    this one came, case by case, seed by seed."""
    seeds: tuple[int, ...] = ()
    """Of the repeats, in their order; 0, 1, 2, … when left out. Further repeats count on from the largest."""
    measures: tuple[MeasureName, ...] = Field(min_length=1)
    """`hd`, `cd`, `ci`, `on`, `rnd`; `review.overall`, or another mean of a conference review of the abstract;
    `ranking.s`, or another number of the relative quality ranking, in which the cell's ideas stand beside
    `ranking.target`; or the path of a number or truth value in `result.json`, such as `usage.calls` or, for how many
    ideas there are, `ideas.length`. `rebuttal.iterations < 10` is the share of runs of which that is true."""
    measuring: MeasuringConfig = MeasuringConfig()
    against: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Values of axes: what the other conditions are compared with; the first condition when left out."""
    level: float = Field(default=0.95, gt=0, lt=1)
    """Of the intervals."""
    plot: PlotConfig | None = None
    """What is drawn."""

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
    def wanted(self) -> tuple[Wanted, ...]:
        """The measures, taken apart."""
        return tuple(map(Wanted.parse, self.measures))

    def seeds_of(self, repeats: int) -> tuple[int, ...]:
        """The seeds of so many repeats."""
        following = max(self.seeds, default=-1) + 1
        return (*self.seeds, *range(following, following + repeats))[:repeats]

    @model_validator(mode="after")
    def _fits_together(self) -> "SuiteSpec":
        self._check_grid()
        for name, chosen in (("against", self.against), ("begin_with", self.begin_with)):
            for axis, value in chosen.items():
                if value not in self.axes.get(axis, ()):
                    raise ValueError(f"{name}.{axis}: {value!r} is not among its values in grid or variants")
        for axis in self.begin_with:
            if root(axis) in JUDGING:
                raise ValueError(f"begin_with.{axis}: steers how runs are judged, not what they come to")
        if self.plot:
            self._check_plot(self.plot)
        return self

    def _check_grid(self) -> None:
        for key, values in self.grid.items():
            if key == "seed" or (key == VARIANT and self.variants):
                raise ValueError(f"grid.{key}: is set by {'seeds' if key == 'seed' else 'variants'}")
            if not values or any(value in values[:place] for place, value in enumerate(values)):
                raise ValueError(f"grid.{key}: needs values, each of them once")
            if len(set(map(str, values))) < len(values):
                raise ValueError(f"grid.{key}: two values look the same in tables and pictures")
            if within := next((other for other in self.grid if key.startswith(f"{other}.")), None):
                raise ValueError(f"grid.{key}: grid.{within} sets it too")
        for name, all_of in (("seeds", self.seeds), ("measures", self.measures)):
            if len(set(all_of)) < len(all_of):
                raise ValueError(f"{name}: one is named twice")

    def _check_plot(self, plot: PlotConfig) -> None:
        for name, axis in (("x", plot.x), ("y", plot.y)):
            if axis not in self.axes and (axis is not None or plot.kind == "heatmap"):
                raise ValueError(f"plot.{name}: {axis} is no axis of grid or variants")
        if plot.x == plot.y:
            raise ValueError("plot.y: is the same axis as plot.x")
        for measure in plot.value:
            if measure not in self.measures:
                raise ValueError(f"plot.value: {measure} is not among the measures")


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
