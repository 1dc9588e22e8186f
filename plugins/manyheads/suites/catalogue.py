"""The list of suites: the table of a paper that each repeats, and its cost; see `manyheads eval --list`.

The calls and tokens of the suites here are kept in `evals/costs.json`, as dry runs of all of them take minutes.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

from pydantic import BaseModel, ConfigDict, TypeAdapter

from manyheads.base.errors import UserError
from manyheads.base.resources import Resources, shipped
from manyheads.config import ModelConfig, RunConfig
from manyheads.core import Usage
from manyheads.engine.estimate import estimate
from manyheads.models.abilities import settled
from manyheads.models.prices import with_prices
from manyheads.models.requests import usage_of
from manyheads.suites.cells import RUN, Load, cells_of, expected_runs
from manyheads.suites.spec import FILE, KIND, Preset, Suite, read_suite, root

SAMPLE = 3
"""Runs of a suite that are estimated; the others are taken to be like them."""
SECONDS = 20.0
"""Process time for these."""
COSTS = "evals/costs.json"
"""Of the suites here; `python tools/costs.py` writes it."""


class KnownCost(BaseModel):
    """What a suite comes to at one of its sizes, with any model that can see pictures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    runs: int
    calls: int
    input_tokens: int
    output_tokens: int
    judged: tuple[str, ...] = ()


@dataclass(frozen=True)
class SuiteSize:
    """A suite at one of its sizes.

    Attributes:
        runs: with all repeats.
        usage: estimated, of all runs without their judges; None if it cannot be estimated.
        why: it cannot.
        judged: kinds of judgements that come on top.
        whole: whether the dry runs came to their end in time; if not, it is more.
        own_models: whether the suite compares models, so that no other is used.
    """

    preset: Preset
    runs: int
    usage: Usage | None
    why: str = ""
    judged: tuple[str, ...] = ()
    whole: bool = True
    own_models: bool = False


async def sizes_of(
    name: str,
    resources: Resources,
    load_for: Callable[[Suite], Load],
    settings: Sequence[str],
    model: ModelConfig | None = None,
    within: float = SECONDS,
) -> tuple[Suite, list[SuiteSize]]:
    """A suite once with each condition and case, and at its publication's own size if it has one.

    Args:
        load_for: loads the configs of a suite.
        settings: further `KEY=VALUE`, such as of the model; those of the model are left out if the suite compares models.
        model: if nothing but the model is set: then known costs are used.
        within: maximum seconds of process time for the dry runs of one size.

    Raises:
        UserError: there is no such suite, or it cannot be read.
    """
    suite, sizes = read_suite(name, resources), list[SuiteSize]()
    costs = _costs_of(name, resources, model) if model else {}
    for preset in get_args(Preset):
        if preset == "paper" and suite.spec.paper is None:
            break
        sized = read_suite(name, resources, preset=preset)
        if model and preset in costs:
            sizes.append(_known_size(sized, costs[preset], model))
            continue
        repeats = sized.spec.repeats if preset == "paper" else 1
        own = [each for each in settings if not (_own_models(sized) and root(each) == "models")]
        sizes.append(await _size_of(sized, repeats, load_for(sized), own, within))
    return suite, sizes


@cache
def known_costs() -> dict[str, dict[Preset, KnownCost]]:
    """What is kept in `COSTS`, by suite and size."""
    return TypeAdapter(dict[str, dict[Preset, KnownCost]]).validate_json((shipped() / COSTS).read_bytes())


def _costs_of(name: str, resources: Resources, model: ModelConfig) -> Mapping[Preset, KnownCost]:
    """The known costs of a shipped suite, for a model that sees."""
    if not model.sees or settled(model).vision is False or Path(name, FILE).is_file():
        return {}
    file = resources.find(KIND, f"{name}/{FILE}")
    return known_costs().get(name, {}) if file and file.is_relative_to(shipped()) else {}


def _known_size(suite: Suite, known: KnownCost, model: ModelConfig) -> SuiteSize:
    own, priced = _own_models(suite), with_prices({"": model}, ())[""]
    cost = None if own or not known.calls else usage_of(priced, known.input_tokens, known.output_tokens).cost
    usage = Usage(**known.model_dump(include={"calls", "input_tokens", "output_tokens"}), cost=cost)
    return SuiteSize(suite.preset, known.runs, usage, judged=known.judged, own_models=own)


def _own_models(suite: Suite) -> bool:
    """Whether conditions differ in their models."""
    return any(
        root(key) == "models"
        for condition in suite.spec.conditions()
        for key in suite.spec.settings(condition)
    )


async def _size_of(
    suite: Suite, repeats: int, load: Load, settings: Sequence[str], within: float
) -> SuiteSize:
    try:
        cells = cells_of(suite, 1, load, Path(tempfile.gettempdir()) / "manyheads-list", settings)
        jobs = [job for cell in cells for job in cell.jobs]
        runs = expected_runs(jobs)
        known = await estimate(sample := [*_spread(runs)], within)
    except UserError as error:
        return SuiteSize(suite.preset, 0, None, error.message)
    judged = tuple(sorted({job.kind for job in jobs if job.kind != RUN}))
    published = suite.spec.paper.cases if suite.preset == "paper" and suite.spec.paper else None
    count = len(runs) * repeats * (published or len(suite.cases)) // len(suite.cases)
    usage = known.spent.total.times(count / len(sample))
    return SuiteSize(
        suite.preset, count, usage, judged=judged, whole=known.whole, own_models=_own_models(suite)
    )


def _spread(runs: Sequence[RunConfig]) -> Iterator[RunConfig]:
    """Some runs from the first to the last."""
    places = {round(place * (len(runs) - 1) / (SAMPLE - 1)) for place in range(SAMPLE)}
    return (runs[place] for place in sorted(places))
