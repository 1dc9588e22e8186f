"""A suite expanded into cells, and these into jobs: runs, and judgements of runs."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from manyheads.base.errors import ConfigError, UserError, describe
from manyheads.base.text import hash_of
from manyheads.config import RunConfig
from manyheads.engine.jobs import Job
from manyheads.engine.readiness import need_person, prepare, read_inputs, roles_of
from manyheads.suites.spec import MOST_RUNS, VARIANT, Condition, Suite, judges, label_of, leaves, mapped, root
from manyheads.systems import systems
from manyheads.team.system import Judge, System, system_of

# Checks of a suite, its settings and its cases, before anything runs.


def judged_in(config: RunConfig) -> set[str]:
    """The sections of a run's config that steer only how the run is judged."""
    judge = system_of(config).judge
    return {*judges()} - ({judge.name} if judge else set())


def check_keys(suite: Suite, given: Iterable[str]) -> None:
    """Raises `ConfigError` if a key is set in two places."""
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
                within = f"{key}.".startswith(f"{other}.") or f"{other}.".startswith(f"{key}.")
                if where != place and within:
                    raise ConfigError(
                        f"{suite.name}: {where} sets {other}, but {place} of the suite sets {key}",
                        hint="set it in one place only, or edit the suite in a folder of your own",
                    )
        taken |= dict.fromkeys(keys, place)


def check_config(
    suite: Suite, config: RunConfig, judging: Mapping[str, RunConfig], condition: Condition, case: str
) -> None:
    """Raises `ConfigError` if a cell's config does not fit the suite."""
    where = f"{suite.name}: {f'case {case!r}' if case else label_of(condition)}"
    if suite.spec.begin_with:
        if getattr(config.inputs, "idea", None):
            both = f"{where}: begin_with and inputs.idea both give its runs an idea"
            raise ConfigError(both, hint="leave one of them out")
        if {**condition, **suite.spec.begin_with} != condition and not _takes_idea(system_of(config)):
            takers = ", ".join(name for name, system in systems().items() if _takes_idea(system))
            raise ConfigError(
                f"{suite.name}: {label_of(condition)}: begin_with gives its runs an idea, but {config.system} takes none",
                hint=f"systems that do: {takers}",
            )
    for kind, judge in judging.items():
        name = judge_of(judge).input
        if system_of(config).judge:
            hint = "measure a judge by a path of its result, such as usage.calls"
            raise ConfigError(f"{where}: {config.system} is a judge: {kind} cannot judge its runs", hint=hint)
        if getattr(judge.inputs, name):
            own = f"{where}: {kind}.{name} is set, but the suite judges its own runs"
            raise ConfigError(own, hint="leave it out")
    for key in suite.spec.settings(condition):
        if root(key) in judged_in(config) - judging.keys():
            judge = judges()[root(key)].judge
            raise ConfigError(
                f"{suite.name}: grid or variants set {key}, but no measure uses {root(key)}",
                hint=f"measure {judge.measure if judge else root(key)}, or leave it out",
            )


def _takes_idea(system: System) -> bool:
    """Whether a run of it begins with one idea, given as a run's folder."""
    return "idea" in system.slots and system.inputs.model_fields["idea"].default is None


def judge_of(config: RunConfig) -> Judge:
    """The judging part of a config's system."""
    judge = system_of(config).judge
    assert judge, f"{config.system} judges nothing"
    return judge


Load: TypeAlias = Callable[[tuple[str, ...], str | None], RunConfig]
"""Loads a config from the suite's own and `key=value` settings, read by the run's system or by another."""
LONGEST = 60
CELLS, RUN, RIVALS = "cells", "run", "rivals"
MOST_TOKENS = 10**9
"""Stands for the tokens of a run that is not over yet."""


@dataclass(frozen=True)
class Cell:
    """A condition, a case and a seed, with its jobs.

    Attributes:
        name: stable over restarts.
        config: of its runs, without seed and initial idea; `judges` has that of each judge.
        runs: cells that differ only in their judges share them.
        judgings: by judge, one for each run or one for all.
    """

    condition: Condition
    case: str
    seed: int
    name: str
    config: RunConfig
    judges: Mapping[str, RunConfig]
    runs: tuple[Job, ...]
    judgings: Mapping[str, tuple[Job, ...]]

    @property
    def kind(self) -> str:
        """Condition and case in words; repeats share it."""
        return _kind(self.condition, self.case)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All of them, dependencies first."""
        return (*self.runs, *(job for jobs in self.judgings.values() for job in jobs))


def together(system: System) -> bool:
    """Whether the judge judges all runs of a cell together."""
    return bool(system.judge and system.slots[system.judge.input].many)


def cells_of(
    suite: Suite, repeats: int, load: Load, folder: Path, settings: Sequence[str] = ()
) -> list[Cell]:
    """Every cell of a suite: by condition, then case, then seed.

    Args:
        load: loads the config for the suite's own settings, then `settings`, then those of a condition and a case.
        folder: of the suite; its jobs have theirs in it.

    Raises:
        ConfigError: too many cells, a setting of a key that the suite varies, or an invalid config of a cell.
    """
    axes = {axis: len(values) for axis, values in suite.spec.axes.items()}
    factors = {**axes, "cases": len(suite.cases), "repeats": repeats, "ideas": suite.spec.ideas}
    if prod(factors.values()) > MOST_RUNS:
        size = " × ".join(f"{number:,} {of}" for of, number in factors.items() if number > 1)
        hint = "split it into several suites, or use fewer repeats"
        raise ConfigError(f"{suite.name}: {size}: more than {MOST_RUNS:,} runs", hint=hint)
    check_keys(suite, [setting.partition("=")[0].strip() for setting in settings])
    cells = _Expansion(suite, load, (*_as_settings(suite.spec.set), *settings), folder.resolve())
    return [
        cells.cell(*each)
        for each in product(suite.spec.conditions(), suite.cases, suite.spec.seeds_of(repeats))
    ]


def jobs_of(cells: Sequence[Cell]) -> dict[str, Job]:
    """Every job by its key: one repeat of all conditions and cases, then the next.

    So early results cover all conditions, and a missing measure shows early.
    """
    seeds = list(dict.fromkeys(cell.seed for cell in cells))
    cases = list(dict.fromkeys(cell.case for cell in cells))
    ordered = sorted(cells, key=lambda cell: (seeds.index(cell.seed), cases.index(cell.case)))
    return {job.key: job for cell in ordered for job in cell.jobs}


STAND_IN = f"An idea of another run\n\n{'We plan with owls. ' * 50}"
"""As long as an abstract."""


def expected_runs(jobs: Iterable[Job]) -> list[RunConfig]:
    """The configs of runs for an estimate: with a stand-in for the idea that another job has yet to write."""
    runs = {job.key: job for job in jobs if job.kind == RUN}

    def expected(job: Job) -> RunConfig:
        if not job.after:
            return job.config
        if getattr(job.config.settings, "like", None):  # as many tokens as another run, which may be over
            return runs[job.after[0]].config if job.after[0] in runs else job.config
        return _with_inputs(job.config, job.config.seed, idea=STAND_IN)

    return [*map(expected, runs.values())]


class _Expansion:
    """Makes cells; reads and checks each config once."""

    def __init__(self, suite: Suite, load: Load, common: tuple[str, ...], folder: Path) -> None:
        self._suite, self._spec, self._load, self._common = suite, suite.spec, load, common
        self._folder = folder
        self._configs: dict[str, tuple[RunConfig, Mapping[str, RunConfig]]] = {}
        measured = {each.of for each in suite.spec.measure_paths}
        self._judges = {name: system.name for name, system in judges().items() if name in measured}

    def cell(self, condition: Condition, case: str, seed: int) -> Cell:
        config, judging = self._config(condition, case)
        seeds = range(seed * self._spec.ideas, (seed + 1) * self._spec.ideas)
        runs = tuple(self._run(condition, case, each) for each in seeds)
        judgings = {kind: tuple(self._judgings(kind, condition, case, seed, runs)) for kind in judging}
        config = config.model_copy(update={"seed": seed, "name": self._suite.name})
        return Cell(condition, case, seed, self._name(condition, case, seed), config, judging, runs, judgings)

    def _judgings(
        self, kind: str, condition: Condition, case: str, seed: int, runs: Sequence[Job]
    ) -> Iterator[Job]:
        """Judgements by the models and on the host of the judged runs."""
        config, judging = self._config(condition, case)
        judge, folders = judging[kind], tuple(str(run.folder) for run in runs)
        name = judge_of(judge).input
        if together(system_of(judge)):
            others = judged_in(config) - {kind}
            key = f"{kind}s/{self._name(self._without(condition, others), case, seed)}"
            label, after = f"{kind} of {_kind(condition, case)}, seed {seed}", tuple(run.key for run in runs)
            inputs = {name: folders}
            if RIVALS in system_of(judge).slots and self._spec.rivals:
                if (rival := self._spec.rivals.get(str(condition[VARIANT]))) is None:
                    return  # others are compared with it
                their = [self._run({**condition, VARIANT: rival}, case, each.config.seed) for each in runs]
                inputs[RIVALS] = tuple(str(each.folder) for each in their)
                key, label = f"{key}-{rival}", f"{label}, and {rival}"
                after = (*after, *(each.key for each in their))
            judge = _with_inputs(judge, seed, **inputs)
            yield Job(key, self._folder / key, judge, label, after, kind, label_of(condition))
            return
        own = {key: value for key, value in self._spec.settings(condition).items() if root(key) == kind}
        for run, folder in zip(runs, folders, strict=True):
            key = f"{run.key}/{kind}-{_mark(own)}" if own else f"{run.key}/{kind}"
            config = _with_inputs(judge, run.config.seed, **{name: folder})
            label = f"{kind} of {run.label}"
            yield Job(key, self._folder / key, config, label, (run.key,), kind, run.group)

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

    def _run(self, condition: Condition, case: str, seed: int) -> Job:
        config, _ = self._config(condition, case)
        sections = judged_in(config)
        steered = self._without(condition, sections)
        key, inputs, after = f"{CELLS}/{self._name(steered, case, seed, sections)}", {}, ()
        first = {**condition, **self._spec.begin_with}
        if first != condition:
            base = self._run(first, case, seed)
            inputs, after = {"idea": str(base.folder)}, (base.key,)
        if other := self._spec.like.get(str(condition.get(VARIANT))):
            base = self._run({**condition, VARIANT: other}, case, seed)
            config, after = _held_to(config, str(base.folder)), (base.key,)
        config = _with_inputs(config, seed, **inputs).model_copy(update={"name": self._suite.name})
        label = f"{_kind(steered, case)}, seed {seed}"
        return Job(key, self._folder / key, config, label, after, group=label_of(steered))

    def _without(self, condition: Condition, sections: Collection[str]) -> dict[str, Any]:
        """A condition without keys of these sections; equal variants get the name of the first."""
        kept = {axis: value for axis, value in condition.items() if root(axis) not in sections}
        if self._spec.variants:
            left = {
                name: (
                    {key: value for key, value in keys.items() if root(key) not in sections},
                    self._spec.like.get(name),
                )
                for name, keys in self._spec.variants.items()
            }
            alike = [name for name, keys in left.items() if keys == left[condition[VARIANT]]]
            kept[VARIANT] = alike[0]
            if len(alike) == len(left) > 1:
                del kept[VARIANT]
        return kept

    def _name(self, condition: Condition, case: str, seed: int, without: Collection[str] = ()) -> str:
        """Uses file names without folders: a project that is moved keeps its cells."""
        keys = {key: value for key, value in self._suite.cases[case].items() if root(key) not in without}
        words = "-".join([*map(str, condition.values()), *filter(None, [case])])
        slug = re.sub(r"[^A-Za-z0-9]+", "-", words)[:LONGEST].strip("-")
        placeless = mapped(keys, lambda text: Path(text).name if text.startswith("/") else text)
        return "-".join(filter(None, [slug, f"seed{seed}", _mark([condition, case, placeless, seed])]))


def _as_settings(keys: Mapping[str, Any]) -> tuple[str, ...]:
    """`key=JSON` settings; JSON is YAML."""
    return tuple(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in keys.items())


def _kind(condition: Condition, case: str) -> str:
    return f"{label_of(condition)}{f', {case}' if case else ''}"


def _mark(exact: Any) -> str:
    return hash_of(json.dumps(exact, sort_keys=True, default=str))[:8]


def _held_to(config: RunConfig, folder: str | None) -> RunConfig:
    """A baseline's config with the run whose tokens it gets, or for a check, with any number. Raises `ConfigError` if it takes none."""
    own = {"like": folder, "tokens": None if folder else MOST_TOKENS}
    try:
        settings = type(config.settings).model_validate({**dict(config.settings), **own})
    except ValidationError as error:
        raise ConfigError(
            f"like: {config.system} cannot be given another run's tokens: {describe(error)}",
            hint="such as system: single",
        ) from error
    return config.model_copy(update={"settings": settings})


def _with_inputs(config: RunConfig, seed: int, **inputs: Any) -> RunConfig:
    return config.model_copy(update={"inputs": config.inputs.model_copy(update=inputs), "seed": seed})


# Checks of the jobs' configs, prompts and files, before anything is paid for.

SEED = {"seed": True}
INPUTS = {"inputs": True}
"""Config keys that no role card or prompt depends on."""


def need_all(suite: Suite, jobs: Iterable[Job]) -> None:
    """Raises `ConfigError` if a job lacks what its system needs; jobs that differ only in seeds are checked once."""
    seen = set[str]()

    def first(text: str) -> bool:
        new = text not in seen
        seen.add(text)
        return new

    for job in jobs:
        config, readable = job.config, True
        if job.after:  # set by other jobs
            slots, name = system_of(config).slots, "idea" if job.kind == RUN else judge_of(config).input
            set_by = [each for each in (name, RIVALS) if each in slots]
            none = {each: () if isinstance(getattr(config.inputs, each), tuple) else None for each in set_by}
            config = _with_inputs(config, config.seed, **none)
            readable = not set_by or slots[name].many or job.kind == RUN
            if getattr(config.settings, "like", None):
                config = _held_to(config, None)
        try:
            prepare(config if job.kind == RUN else job.config)
            if first(config.model_dump_json(exclude=SEED | INPUTS)):
                need_person(config, roles_of(config))
            if readable and first(config.model_dump_json(exclude=SEED)):
                read_inputs(config)
        except UserError as error:
            raise ConfigError(
                f"{suite.name}: {job.label}: {error.message}",
                tried=error.tried,
                hint="add or remove keys in suite.yaml, its cases, or with --set KEY=VALUE",
            ) from error


class CellRow(BaseModel):
    """The results of one cell, as in `results.jsonl`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cell: str
    condition: dict[str, Any]
    case: str
    seed: int
    error: str | None = None
    """Why the cell has no result."""
    values: dict[str, float] = {}
    """The measures; means if the cell has several runs with a value each."""
    each: dict[str, tuple[float, ...]] = {}
    """The values of single runs by measure; empty for a cell of one run."""
    shares: tuple[str, ...] = ()
    """Yes-or-no measures, 1 or 0 for each run: their means are shares."""
    unknown: tuple[str, ...] = ()
    """Measures that are null in the result, such as a cost without prices; this is no failure."""
    missing: dict[str, str] = {}
    """Missing measures, each with the reason."""
    partial: dict[str, str] = {}
    """Measures over a part of their runs, or of the citation counts, such as `4 of 5 runs`; they are in `values`."""
    by_language_model: bool | None = None
    """Whether a language model wrote in it; false for the offline model alone, null for a cell without a result."""
    warnings: tuple[str, ...] = ()
    """Warnings of its run, such as a source that could not be searched; its values count."""
