"""A suite taken apart into cells, and these into the runs that they need."""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from manyheads.config import RankingConfig, ReviewConfig, RunConfig
from manyheads.errors import ConfigError
from manyheads.suites.spec import JUDGING, VARIANT, Condition, Suite, label_of, leaves, mapped, root
from manyheads.systems import SYSTEMS

# Whether a suite, its settings and its cases fit each other: what is wrong with them is said before anything is run.


OWN = {"conference-review": "review", "ranking": "ranking"}
"""Systems whose runs are judgings themselves, and the section that steers them."""


def judged_in(config: RunConfig) -> set[str]:
    """The sections of a run's config that do not steer the run, but how it is judged."""
    return {*JUDGING} - {OWN.get(config.system)}


def check_keys(suite: Suite, given: Iterable[str]) -> None:
    """No key may be set in two places: which of them won would be a matter of their order.

    Raises:
        ConfigError: one is.
    """
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


def check_config(suite: Suite, config: RunConfig, condition: Condition, case: str) -> None:
    """Whether a cell's config has what the suite does with it.

    Raises:
        ConfigError: it begins with another's idea and has one, or cannot begin with any; its ideas are to be ranked
            and it names no target; or the suite varies how runs are judged that nobody judges.
    """
    where = f"{suite.name}: {f'case {case!r}' if case else label_of(condition)}"
    if suite.spec.begin_with:
        _check_beginning(suite, config, condition, where)
    measured = {each.of for each in suite.spec.measure_paths}
    if "ranking" in measured:
        _check_ranking(config, where)
    for key in suite.spec.settings(condition):
        if root(key) in judged_in(config) - measured:
            raise ConfigError(
                f"{suite.name}: grid and variants set {key}, and no measure is of a {root(key)}",
                hint=f"measure {'ranking.s' if root(key) == 'ranking' else 'review.overall'}, or leave it out",
            )


def _check_beginning(suite: Suite, config: RunConfig, condition: Condition, where: str) -> None:
    if config.rebuttal.idea is not None:
        raise ConfigError(
            f"{where}: begin_with gives its runs an idea to begin with, and rebuttal.idea is set too",
            hint="leave one of both out",
        )
    if {**condition, **suite.spec.begin_with} != condition and not SYSTEMS[config.system].background:
        raise ConfigError(
            f"{suite.name}: {label_of(condition)}: begin_with gives its runs an idea, and {config.system} takes none",
            hint=f"systems that do: {', '.join(name for name, system in SYSTEMS.items() if system.background)}",
        )


def _check_ranking(config: RunConfig, where: str) -> None:
    if config.system in OWN:
        raise ConfigError(
            f"{where}: its runs of {config.system} come to no ideas that could be ranked",
            hint="what a ranking came to is measured by its path alone, such as s",
        )
    if config.ranking.target is None:
        raise ConfigError(
            f"{where}: its ideas are to be ranked, and ranking.target does not say beside what",
            hint="name it under set in suite.yaml, or in each line of the cases",
        )
    if config.ranking.ideas:
        raise ConfigError(
            f"{where}: ranking.ideas is set, and the suite ranks the ideas of its own runs",
            hint="leave it out",
        )


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
