"""What is to be run for cells: jobs with a folder each, some of them after others, and several cells' many of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from manyheads.config import RunConfig, load
from manyheads.engine.jobs import Job
from manyheads.engine.session import given_of, roles_of
from manyheads.errors import ConfigError, UserError
from manyheads.resources import Resources
from manyheads.suites.cells import Cell, Run
from manyheads.suites.spec import Suite, SuiteSpec, label_of
from manyheads.systems import SYSTEMS

CELLS, RANKINGS = "cells", "rankings"
KEPT = ("host", "models", "roles", "paths", "attempts", "budget")
"""What a judge has in common with the runs that it judges."""


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
        begun = config.rebuttal.model_copy(update={"idea": str(first.folder)})
        config, after = config.model_copy(update={"rebuttal": begun}), (first.key,)
    return Job(key, base / key, config, run.label, after, group=run.condition)


def _review(cell: Cell, run: Job, base: Path) -> Job:
    """A conference review of what a run wrote, by the same models on the same host."""
    own = {"seed": run.config.seed, "review": cell.config.review, "subject": str(run.folder)}
    config = _judge("conference-review", cell.config, own)
    key, label = f"{run.key}/{cell.review}", f"review of {run.label}"
    return Job(key, base / key, config, label, (run.key,), "review", run.group)


def _ranking(cell: Cell, runs: Sequence[Job], base: Path) -> Job:
    """The ideas of a cell's runs, ranked beside its target by the same models on the same host."""
    ideas = tuple(str(run.folder) for run in runs)
    ranking = cell.config.ranking.model_copy(update={"ideas": ideas})
    own = {"seed": cell.seed, "rebuttal": cell.config.rebuttal, "ranking": ranking}
    config = _judge("ranking", cell.config, own)
    key, label = f"{RANKINGS}/{cell.ranking}", f"ranking of {cell.label}"
    return Job(
        key, base / key, config, label, tuple(run.key for run in runs), "ranking", label_of(cell.condition)
    )


def _judge(name: str, config: RunConfig, own: Mapping[str, Any]) -> RunConfig:
    same = {key: getattr(config, key) for key in KEPT}
    return _form(name, Resources.of(config.paths)).model_copy(update={**same, **own})


@cache
def _form(name: str, resources: Resources) -> RunConfig:
    return load([name], resources=resources)


# Whether jobs can be run: what their configs, prompts and files lack is said before the first one is paid for.

SEED = {"seed": True}
GIVEN = {
    **dict.fromkeys(("topic", "subject", "background"), True), "rebuttal": {"idea"}, "ranking": {"target", "ideas"}
}  # fmt: skip
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
            SYSTEMS[config.system].ready(job.config)
            if _first(config.model_dump_json(exclude=SEED | GIVEN), checked):
                roles_of(config)
            if job.kind != "review" and _first(config.model_dump_json(exclude=SEED), read):
                given_of(config)
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
    alone = {
        "rebuttal": job.config.rebuttal.model_copy(update={"idea": None}),
        "ranking": job.config.ranking.model_copy(update={"ideas": ()}),
    }
    return job.config.model_copy(update=alone)


def _first(text: str, seen: set[str]) -> bool:
    new = text not in seen
    seen.add(text)
    return new
