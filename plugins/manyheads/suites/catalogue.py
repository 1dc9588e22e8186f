"""The list of suites: the table of a paper that each repeats, and its cost; see `manyheads eval --list`."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from manyheads.base.errors import UserError
from manyheads.base.resources import Resources
from manyheads.config import RunConfig
from manyheads.core import NOTHING, Usage
from manyheads.engine.estimate import estimate
from manyheads.suites.cells import RUN, Load, cells_of, expected_runs
from manyheads.suites.spec import Preset, Suite, read_suite

SAMPLE = 3
"""Runs of a suite that are estimated; the others are taken to be like them."""
SECONDS = 1.0
"""Most seconds of process time for each of these."""


@dataclass(frozen=True)
class SuiteSize:
    """A suite at one of its sizes.

    Attributes:
        runs: with all repeats.
        usage: estimated, of all runs without their judges; None if it cannot be estimated.
        why: it cannot.
        judged: kinds of judgements that come on top.
    """

    preset: Preset
    runs: int
    usage: Usage | None
    why: str = ""
    judged: tuple[str, ...] = ()


async def sizes_of(
    name: str, resources: Resources, load_for: Callable[[Suite], Load], settings: Sequence[str]
) -> tuple[Suite, list[SuiteSize]]:
    """A suite once with each condition and case, and at its publication's own size if it has one.

    Args:
        load_for: loads the configs of a suite.
        settings: further `KEY=VALUE`, such as of the model.

    Raises:
        UserError: there is no such suite, or it cannot be read.
    """
    suite, sizes = read_suite(name, resources), list[SuiteSize]()
    for preset in get_args(Preset):
        if preset == "paper" and suite.spec.paper is None:
            break
        sized = read_suite(name, resources, preset=preset)
        repeats = sized.spec.repeats if preset == "paper" else 1
        sizes.append(await _size_of(sized, repeats, load_for(sized), settings))
    return suite, sizes


async def _size_of(suite: Suite, repeats: int, load: Load, settings: Sequence[str]) -> SuiteSize:
    try:
        cells = cells_of(suite, 1, load, Path(tempfile.gettempdir()) / "manyheads-list", settings)
        jobs = [job for cell in cells for job in cell.jobs]
        runs, spent = expected_runs(jobs), NOTHING
        for config in (sample := [*_spread(runs)]):
            spent += (await estimate([config], SECONDS)).spent.total
    except UserError as error:
        return SuiteSize(suite.preset, 0, None, error.message)
    judged = tuple(sorted({job.kind for job in jobs if job.kind != RUN}))
    published = suite.spec.paper.cases if suite.preset == "paper" and suite.spec.paper else None
    count = len(runs) * repeats * (published or len(suite.cases)) // len(suite.cases)
    return SuiteSize(suite.preset, count, spent.times(count / len(sample)), judged=judged)


def _spread(runs: Sequence[RunConfig]) -> Iterator[RunConfig]:
    """Some runs from the first to the last."""
    places = {round(place * (len(runs) - 1) / (SAMPLE - 1)) for place in range(SAMPLE)}
    return (runs[place] for place in sorted(places))
