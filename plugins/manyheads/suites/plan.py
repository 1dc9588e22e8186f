"""What is to be run for cells: jobs with a folder each, some of them after others, and several cells' many of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manyheads.config import RunConfig
from manyheads.engine.jobs import Job
from manyheads.engine.readiness import need, roles_of
from manyheads.engine.system import system_of
from manyheads.errors import ConfigError, UserError
from manyheads.suites.cells import Cell, Run
from manyheads.suites.spec import Suite, SuiteSpec, label_of

CELLS, RANKINGS = "cells", "rankings"


@dataclass(frozen=True)
class Plan:
    """A cell and its jobs; `reviews` and `rankings` are empty where nothing of them is measured."""

    cell: Cell
    runs: tuple[Job, ...]
    reviews: tuple[Job, ...]
    rankings: tuple[Job, ...]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All of them, those that others need first."""
        return (*self.runs, *self.reviews, *self.rankings)


def plans_of(spec: SuiteSpec, cells: Iterable[Cell], folder: Path) -> list[Plan]:
    """A plan for each cell, in the cells' order; `folder` is the suite's.

    Raises:
        ConfigError: the config of a judge cannot be read.
    """
    base, measured = folder.resolve(), {each.of for each in spec.measure_paths}
    return [_plan(cell, base, measured) for cell in cells]


def jobs_of(plans: Sequence[Plan]) -> dict[str, Job]:
    """Every job once, by its key: one repeat of all conditions and cases, then the next.

    So all conditions are known a little before any is known well, and what cannot be measured shows early.
    """
    seeds = list(dict.fromkeys(plan.cell.seed for plan in plans))
    cases = list(dict.fromkeys(plan.cell.case for plan in plans))
    ordered = sorted(plans, key=lambda plan: (seeds.index(plan.cell.seed), cases.index(plan.cell.case)))
    return {job.key: job for plan in ordered for job in plan.jobs}


def _plan(cell: Cell, base: Path, measured: set[str]) -> Plan:
    runs = tuple(_run(run, base) for run in cell.runs)
    reviews = tuple(_review(cell, run, base) for run in runs) if "review" in measured else ()
    rankings = (_ranking(cell, runs, base),) if "ranking" in measured else ()
    return Plan(cell, runs, reviews, rankings)


def _run(run: Run, base: Path) -> Job:
    key, config, after = f"{CELLS}/{run.name}", run.config, ()
    if run.begins_with is not None:
        first = _run(run.begins_with, base)
        config, after = _given(config, idea=str(first.folder)), (first.key,)
    return Job(key, base / key, config, run.label, after, group=run.condition)


def _review(cell: Cell, run: Job, base: Path) -> Job:
    """A conference review of what a run wrote, by the same models on the same host."""
    config = _given(cell.judges["review"], subject=str(run.folder))
    config = config.model_copy(update={"seed": run.config.seed})
    key, label = f"{run.key}/{cell.review}", f"review of {run.label}"
    return Job(key, base / key, config, label, (run.key,), "review", run.group)


def _ranking(cell: Cell, runs: Sequence[Job], base: Path) -> Job:
    """The ideas of a cell's runs, ranked beside its target by the same models on the same host."""
    config = _given(cell.judges["ranking"], ideas=tuple(str(run.folder) for run in runs))
    config = config.model_copy(update={"seed": cell.seed})
    key, label = f"{RANKINGS}/{cell.ranking}", f"ranking of {cell.label}"
    return Job(
        key, base / key, config, label, tuple(run.key for run in runs), "ranking", label_of(cell.condition)
    )


def _given(config: RunConfig, **inputs: Any) -> RunConfig:
    return config.model_copy(update={"inputs": config.inputs.model_copy(update=inputs)})


# Whether jobs can be run: what their configs, prompts and files lack is said before the first one is paid for.

SEED = {"seed": True}
GIVEN = {"inputs": True}
"""Config keys that no role card or prompt has to fit."""


def need_all(suite: Suite, jobs: Iterable[Job]) -> None:
    """Check all jobs; what only seeds set apart is looked at once.

    Raises:
        ConfigError: the config of one lacks what its system needs, or does not fit its roles and prompts, or names a
            text that cannot be read.
    """
    checked, read = set[str](), set[str]()
    for job in jobs:
        config = _before(job)
        try:
            need(job.config, "inputs")
            if _first(config.model_dump_json(exclude=SEED | GIVEN), checked):
                roles_of(config)
            if job.kind != "review" and _first(config.model_dump_json(exclude=SEED), read):
                system_of(config).read(config)
        except UserError as error:
            raise ConfigError(
                f"{suite.name}: {job.label}: {error.message}",
                tried=error.tried,
                hint="set what is missing in suite.yaml or its cases, or by --set KEY=VALUE; take out what is too much",
            ) from error


def _before(job: Job) -> RunConfig:
    """A job's config but for what other jobs have yet to come to."""
    if not job.after:
        return job.config
    yet = {"idea": None, "ideas": (), "subject": None}
    return _given(
        job.config, **{key: value for key, value in yet.items() if key in system_of(job.config).slots}
    )


def _first(text: str, seen: set[str]) -> bool:
    new = text not in seen
    seen.add(text)
    return new
