"""A suite taken apart into cells, these into the runs that they need, and those into jobs."""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

from manyheads.config import RunConfig
from manyheads.engine.jobs import Job
from manyheads.engine.readiness import prepare, roles_of
from manyheads.engine.system import Judge, System, system_of
from manyheads.errors import ConfigError, UserError
from manyheads.suites.spec import MOST_RUNS, VARIANT, Condition, Suite, judges, label_of, leaves, mapped, root
from manyheads.systems import systems

# Whether a suite, its settings and its cases fit each other: what is wrong with them is said before anything is run.


def judged_in(config: RunConfig) -> set[str]:
    """The sections of a run's config that do not steer the run, but how it is judged."""
    judge = system_of(config).judge
    return {*judges()} - ({judge.name} if judge else set())


def check_keys(suite: Suite, given: Iterable[str]) -> None:
    """Raises `ConfigError` where a key is set in two places: which of them won would be a matter of their order."""
    spec = suite.spec
    places = {
        "the command": given,
        "grid": spec.grid,
        "variants": {key for keys in spec.variants.values() for key, _ in leaves(keys)},
        "cases": {key for keys in suite.cases.values() for key, _ in leaves(keys)},
        "repeats and seeds": ("seed",),
    }
    taken: dict[str, str] = {}
    for place, keys in places.items():
        for key in keys:
            for other, where in taken.items():
                if where != place and (
                    f"{key}.".startswith(f"{other}.") or f"{other}.".startswith(f"{key}.")
                ):
                    raise ConfigError(
                        f"{suite.name}: {where} sets {other}, and so does {place} of the suite ({key})",
                        hint="leave it to one of them, or change the suite in a folder of your own",
                    )
        taken |= dict.fromkeys(keys, place)


def check_config(
    suite: Suite, config: RunConfig, judging: Mapping[str, RunConfig], condition: Condition, case: str
) -> None:
    """Raises `ConfigError` where a cell's config has not what the suite does with it."""
    where = f"{suite.name}: {f'case {case!r}' if case else label_of(condition)}"
    if suite.spec.begin_with:
        if getattr(config.inputs, "idea", None) is not None:
            raise ConfigError(
                f"{where}: begin_with gives its runs an idea to begin with, and inputs.idea is set too",
                hint="leave one of both out",
            )
        if {**condition, **suite.spec.begin_with} != condition and "idea" not in system_of(config).slots:
            takers = ", ".join(name for name, system in systems().items() if "idea" in system.slots)
            raise ConfigError(
                f"{suite.name}: {label_of(condition)}: begin_with gives its runs an idea, and {config.system} takes none",
                hint=f"systems that do: {takers}",
            )
    for kind, judge in judging.items():
        name = judge_of(judge).input
        if system_of(config).judge:
            raise ConfigError(
                f"{where}: its runs of {config.system} judge, and come to nothing that {kind} could judge",
                hint="what a judge came to is measured by its path alone, such as usage.calls",
            )
        if getattr(judge.inputs, name):
            raise ConfigError(
                f"{where}: {kind}.{name} is set, and the suite has its own runs judged", hint="leave it out"
            )
    for key in suite.spec.settings(condition):
        if root(key) in judged_in(config) - judging.keys():
            judge = judges()[root(key)].judge
            raise ConfigError(
                f"{suite.name}: grid and variants set {key}, and no measure is of a {root(key)}",
                hint=f"measure {judge.measure if judge else root(key)}, or leave it out",
            )


def judge_of(config: RunConfig) -> Judge:
    """How the system of a config judges."""
    judge = system_of(config).judge
    assert judge, f"{config.system} judges nothing"
    return judge


Load: TypeAlias = Callable[[tuple[str, ...], str | None], RunConfig]
"""The config of all cells with `key=value` settings laid on, as the run's system reads it, or as another does."""
LONGEST = 60


@dataclass(frozen=True)
class Run:
    """A run of a cell. Cells that differ only in how they are judged have the same ones.

    Attributes:
        name: of its folder, the same at each start.
        condition: what it shares with its repeats in all cases, in words.
        begins_with: the run whose idea it begins with.
    """

    name: str
    condition: str
    label: str
    config: RunConfig
    begins_with: "Run | None" = None


@dataclass(frozen=True)
class Cell:
    """What one number of a suite comes from: its runs, most often one, and how these are judged.

    Attributes:
        condition, case, seed: what it is a cell of; `case` is empty in a suite without cases.
        name: another cell has another, the same cell of another start the same.
        config: of its runs.
        judges: by judge, the config of its judgings.
        folders: by judge, the name of the folder of a judging: of each run within that run's, of all runs among others.
    """

    condition: Condition
    case: str
    seed: int
    name: str
    config: RunConfig
    judges: Mapping[str, RunConfig]
    runs: tuple[Run, ...]
    folders: Mapping[str, str]

    @property
    def kind(self) -> str:
        """What it shares with its repeats, in words."""
        return _kind(self.condition, self.case)

    @property
    def label(self) -> str:
        """What a table calls it."""
        return f"{self.kind}, seed {self.seed}"


def cells_of(suite: Suite, repeats: int, load: Load, settings: Sequence[str] = ()) -> list[Cell]:
    """Every cell of a suite: by condition, then case, then seed.

    Args:
        load: gives the config for the suite's own settings, then `settings`, then those of a condition and a case.

    Raises:
        ConfigError: there are too many; a setting is what the suite varies; a cell is no config, or lacks something.
    """
    axes = {axis: len(values) for axis, values in suite.spec.axes.items()}
    factors = {**axes, "cases": len(suite.cases), "repeats": repeats, "ideas": suite.spec.ideas}
    if prod(factors.values()) > MOST_RUNS:
        product = " × ".join(f"{number:,} {of}" for of, number in factors.items() if number > 1)
        raise ConfigError(
            f"{suite.name}: {product}: more than {MOST_RUNS:,} runs",
            hint="part it into several suites, or repeat less",
        )
    check_keys(suite, [setting.partition("=")[0].strip() for setting in settings])
    cells = _Expansion(suite, load, (*_as_settings(suite.spec.set), *settings))
    return [
        cells.cell(condition, case, seed)
        for condition in suite.spec.conditions()
        for case in suite.cases
        for seed in suite.spec.seeds_of(repeats)
    ]


class _Expansion:
    """Makes cells; each config is read and checked once."""

    def __init__(self, suite: Suite, load: Load, common: tuple[str, ...]) -> None:
        self._suite, self._spec, self._load, self._common = suite, suite.spec, load, common
        self._configs: dict[str, tuple[RunConfig, Mapping[str, RunConfig]]] = {}
        measured = {each.of for each in suite.spec.measure_paths}
        self._judges = {name: system.name for name, system in judges().items() if name in measured}

    def cell(self, condition: Condition, case: str, seed: int) -> Cell:
        keys, (config, judging) = self._suite.cases[case], self._config(condition, case)
        seeds = range(seed * self._spec.ideas, (seed + 1) * self._spec.ideas)
        folders: dict[str, str] = {}
        for kind, judge in judging.items():
            if together(system_of(judge)):
                others = judged_in(config) - {kind}
                folders[kind] = _name(self._without(condition, others), case, keys, seed)
            else:
                settings = self._spec.settings(condition).items()
                own = {key: value for key, value in settings if root(key) == kind}
                folders[kind] = f"{kind}-{_mark(own)}" if own else kind
        return Cell(
            condition,
            case,
            seed,
            _name(condition, case, keys, seed),
            config.model_copy(update={"seed": seed, "name": self._suite.name}),
            judging,
            tuple(self._run(condition, case, each) for each in seeds),
            folders,
        )

    def _config(self, condition: Condition, case: str) -> tuple[RunConfig, Mapping[str, RunConfig]]:
        settings = _as_settings({**self._spec.settings(condition), **self._suite.cases[case]})
        key = json.dumps(settings)
        if key not in self._configs:
            all_settings = (*self._common, *settings)
            try:
                config = self._load(all_settings, None)
                judging = {
                    kind: self._load(all_settings, system).model_copy(update={"name": system})
                    for kind, system in self._judges.items()
                }
            except ConfigError as error:
                message = f"{self._suite.name}: {_kind(condition, case)}: {error.message}"
                raise ConfigError(message, tried=error.tried, hint=error.hint) from error
            check_config(self._suite, config, judging, condition, case)
            self._configs[key] = config, judging
        return self._configs[key]

    def _run(self, condition: Condition, case: str, seed: int) -> Run:
        config, _ = self._config(condition, case)
        sections = judged_in(config)
        steered = self._without(condition, sections)
        keys = {key: value for key, value in self._suite.cases[case].items() if root(key) not in sections}
        first = {**condition, **self._spec.begin_with}
        return Run(
            _name(steered, case, keys, seed),
            label_of(steered),
            f"{_kind(steered, case)}, seed {seed}",
            config.model_copy(update={"seed": seed, "name": self._suite.name}),
            None if first == condition else self._run(first, case, seed),
        )

    def _without(self, condition: Condition, sections: Collection[str]) -> dict[str, Any]:
        """A condition but for what sets only these sections; variants that are left alike go by the first's name."""
        kept = {axis: value for axis, value in condition.items() if root(axis) not in sections}
        if self._spec.variants:
            left = {
                name: {key: value for key, value in keys.items() if root(key) not in sections}
                for name, keys in self._spec.variants.items()
            }
            alike = [name for name, keys in left.items() if keys == left[condition[VARIANT]]]
            kept[VARIANT] = alike[0]
            if len(alike) == len(left) > 1:
                del kept[VARIANT]
        return kept


def _as_settings(keys: Mapping[str, Any]) -> tuple[str, ...]:
    """JSON is YAML: what stands there is read as it was, a text as that text."""
    return tuple(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in keys.items())


def _kind(condition: Condition, case: str) -> str:
    return f"{label_of(condition)}{f', {case}' if case else ''}"


def _name(condition: Condition, case: str, keys: Mapping[str, Any], seed: int) -> str:
    """Files of a case go by their names: a project that is moved has the same cells."""
    told = "-".join([*map(str, condition.values()), *filter(None, [case])])
    slug = re.sub(r"[^A-Za-z0-9]+", "-", told)[:LONGEST].strip("-")
    placeless = mapped(keys, lambda text: Path(text).name if text.startswith("/") else text)
    return "-".join(filter(None, [slug, f"seed{seed}", _mark([condition, case, placeless, seed])]))


def _mark(exact: Any) -> str:
    text = json.dumps(exact, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


CELLS, RUN = "cells", "run"


@dataclass(frozen=True)
class Plan:
    """A cell and its jobs: those of its runs, and by judge those of its judgings, of each run or of all together."""

    cell: Cell
    runs: tuple[Job, ...]
    judgings: Mapping[str, tuple[Job, ...]]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All of them, those that others need first."""
        return (*self.runs, *(job for jobs in self.judgings.values() for job in jobs))


def together(system: System) -> bool:
    """Whether it judges all runs of a cell together."""
    return bool(system.judge and system.slots[system.judge.input].many)


def plans_of(cells: Iterable[Cell], folder: Path) -> list[Plan]:
    """A plan for each cell, in the cells' order; `folder` is the suite's."""
    base, plans = folder.resolve(), list[Plan]()
    for cell in cells:
        runs, judgings = tuple(_run(run, base) for run in cell.runs), dict[str, tuple[Job, ...]]()
        for kind, config in cell.judges.items():
            if together(system_of(config)):
                key, group = f"{kind}s/{cell.folders[kind]}", label_of(cell.condition)
                folders, after = tuple(str(run.folder) for run in runs), tuple(run.key for run in runs)
                config = _judging(config, cell.seed, folders)
                label = f"{kind} of {cell.label}"
                judgings[kind] = (Job(key, base / key, config, label, after, kind, group),)
                continue
            judgings[kind] = tuple(
                Job(
                    key := f"{run.key}/{cell.folders[kind]}",
                    base / key,
                    _judging(config, run.config.seed, str(run.folder)),
                    f"{kind} of {run.label}",
                    (run.key,),
                    kind,
                    run.group,
                )
                for run in runs
            )
        plans.append(Plan(cell, runs, judgings))
    return plans


def _judging(config: RunConfig, seed: int, judged: str | tuple[str, ...]) -> RunConfig:
    """The config of a judging, by the same models on the same host as what is judged."""
    return _with_inputs(config, **{judge_of(config).input: judged}).model_copy(update={"seed": seed})


def jobs_of(plans: Sequence[Plan]) -> dict[str, Job]:
    """Every job once, by its key: one repeat of all conditions and cases, then the next.

    So all conditions are known a little before any is known well, and what cannot be measured shows early.
    """
    seeds = list(dict.fromkeys(plan.cell.seed for plan in plans))
    cases = list(dict.fromkeys(plan.cell.case for plan in plans))
    ordered = sorted(plans, key=lambda plan: (seeds.index(plan.cell.seed), cases.index(plan.cell.case)))
    return {job.key: job for plan in ordered for job in plan.jobs}


def _run(run: Run, base: Path) -> Job:
    key, config, after = f"{CELLS}/{run.name}", run.config, ()
    if run.begins_with is not None:
        first = _run(run.begins_with, base)
        config, after = _with_inputs(config, idea=str(first.folder)), (first.key,)
    return Job(key, base / key, config, run.label, after, group=run.condition)


def _with_inputs(config: RunConfig, **inputs: Any) -> RunConfig:
    return config.model_copy(update={"inputs": config.inputs.model_copy(update=inputs)})


# Whether jobs can be run: what their configs, prompts and files lack is said before the first one is paid for.

SEED = {"seed": True}
INPUTS = {"inputs": True}
"""Config keys that no role card or prompt has to fit."""


def need_all(suite: Suite, jobs: Iterable[Job]) -> None:
    """Raises `ConfigError` where a job lacks what its system needs; what only seeds set apart is looked at once."""
    seen = set[str]()

    def first(text: str) -> bool:
        new = text not in seen
        seen.add(text)
        return new

    for job in jobs:
        config, readable = job.config, True
        if job.after:  # what other jobs have yet to come to
            name = "idea" if job.kind == RUN else judge_of(config).input
            many = system_of(config).slots[name].many
            config, readable = _with_inputs(config, **{name: () if many else None}), many or job.kind == RUN
        try:
            prepare(job.config)
            if first(config.model_dump_json(exclude=SEED | INPUTS)):
                roles_of(config)
            if readable and first(config.model_dump_json(exclude=SEED)):
                system_of(config).read(config)
        except UserError as error:
            raise ConfigError(
                f"{suite.name}: {job.label}: {error.message}",
                tried=error.tried,
                hint="set what is missing in suite.yaml or its cases, or by --set KEY=VALUE; take out what is too much",
            ) from error
