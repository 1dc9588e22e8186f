"""A suite taken apart into cells, and these into the runs that they need."""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from manyheads.config import RankingConfig, ReviewConfig, RunConfig
from manyheads.errors import ConfigError
from manyheads.suites.fitting import check_config, check_keys, judged_in
from manyheads.suites.spec import VARIANT, Condition, label_of, mapped, root
from manyheads.suites.suite import Suite

Load: TypeAlias = Callable[[tuple[str, ...]], RunConfig]
"""The config of all cells with `key=value` settings laid on."""
LONGEST = 60
UNJUDGED = {"review": ReviewConfig(), "ranking": RankingConfig()}
"""What stands in the config of a run that another judges."""


@dataclass(frozen=True)
class Run:
    """A run of a cell. Cells that differ only in how they are judged have the same ones.

    Attributes:
        name: of its folder; another run has another, the same run of another start the same.
        condition: what it shares with its repeats in all cases, in words.
        label: what it is called where it is told of.
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
        config: of its runs and how they are judged.
        review: name of the folder of a review, within that of the run.
        ranking: name of the folder of the ranking of the runs' ideas.
    """

    condition: Condition
    case: str
    seed: int
    name: str
    config: RunConfig
    runs: tuple[Run, ...]
    review: str
    ranking: str

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
        ConfigError: a setting is what the suite varies, or what comes of a cell is no config, or lacks what the suite
            does with it.
    """
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
        self._configs: dict[str, RunConfig] = {}

    def cell(self, condition: Condition, case: str, seed: int) -> Cell:
        keys, config = self._suite.cases[case], self._config(condition, case)
        seeds = range(seed * self._spec.ideas, (seed + 1) * self._spec.ideas)
        judged = self._without(condition, {"review"} & judged_in(config))
        return Cell(
            condition,
            case,
            seed,
            _name(condition, case, keys, seed),
            config.model_copy(update={"seed": seed, "name": self._suite.name}),
            tuple(self._run(condition, case, each) for each in seeds),
            self._review(condition, config),
            _name(judged, case, keys, seed),
        )

    def _config(self, condition: Condition, case: str) -> RunConfig:
        settings = _as_settings({**self._spec.settings(condition), **self._suite.cases[case]})
        key = json.dumps(settings)
        if key not in self._configs:
            config = self._loaded(settings, _kind(condition, case))
            check_config(self._suite, config, condition, case)
            self._configs[key] = config
        return self._configs[key]

    def _loaded(self, settings: Sequence[str], where: str) -> RunConfig:
        try:
            return self._load((*self._common, *settings))
        except ConfigError as error:
            message = f"{self._suite.name}: {where}: {error.message}"
            raise ConfigError(message, tried=error.tried, hint=error.hint) from error

    def _run(self, condition: Condition, case: str, seed: int) -> Run:
        config = self._config(condition, case)
        sections = judged_in(config)
        steered = self._without(condition, sections)
        keys = {key: value for key, value in self._suite.cases[case].items() if root(key) not in sections}
        told = {"seed": seed, "name": self._suite.name, **{each: UNJUDGED[each] for each in sections}}
        first = {**condition, **self._spec.begin_with}
        return Run(
            _name(steered, case, keys, seed),
            label_of(steered),
            f"{_kind(steered, case)}, seed {seed}",
            config.model_copy(update=told),
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

    def _review(self, condition: Condition, config: RunConfig) -> str:
        own = {"review"} & judged_in(config)
        keys = {key: value for key, value in self._spec.settings(condition).items() if root(key) in own}
        return f"review-{_mark(keys)}" if keys else "review"


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
