"""A suite taken apart into cells: one run each."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from manyheads.config import RunConfig
from manyheads.errors import ConfigError
from manyheads.suites.spec import Condition, label_of
from manyheads.suites.suite import Suite

Load: TypeAlias = Callable[[tuple[str, ...]], RunConfig]
"""The config of all cells with `key=value` settings laid on."""
LONGEST = 60


@dataclass(frozen=True)
class Cell:
    """One run of a suite.

    Attributes:
        condition, case, seed: what it is a run of; `case` is empty in a suite without cases.
        name: of its folder; another cell has another, the same cell of another start the same.
        config: of the run.
    """

    condition: Condition
    case: str
    seed: int
    name: str
    config: RunConfig

    @property
    def kind(self) -> str:
        """What it shares with its repeats, in words."""
        return f"{label_of(self.condition)}{f', {self.case}' if self.case else ''}"

    @property
    def label(self) -> str:
        """What a table calls it."""
        return f"{self.kind}, seed {self.seed}"


def cells_of(suite: Suite, repeats: int, load: Load, settings: Sequence[str] = ()) -> list[Cell]:
    """Every cell of a suite: by condition, then case, then seed.

    Args:
        load: gives the config for the suite's own settings, then `settings`, then those of a condition and a case.

    Raises:
        ConfigError: a setting is what the suite varies, or what comes of a cell is no config.
    """
    _check(suite, [setting.partition("=")[0].strip() for setting in settings])
    return list(_cells(suite, suite.spec.seeds_of(repeats), load, (*_as_settings(suite.spec.set), *settings)))


def _cells(suite: Suite, seeds: Sequence[int], load: Load, common: tuple[str, ...]) -> Iterator[Cell]:
    for condition in suite.spec.conditions():
        for case, keys in suite.cases.items():
            varied = {**suite.spec.settings(condition), **keys}
            config = load((*common, *_as_settings(varied)))
            for seed in seeds:
                name = _name(condition, case, keys, seed)
                named = {"seed": seed, "name": suite.name}
                yield Cell(condition, case, seed, name, config.model_copy(update=named))


def _as_settings(keys: Mapping[str, Any]) -> tuple[str, ...]:
    """JSON is YAML: what stands there is read as it was, a text as that text."""
    return tuple(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in keys.items())


def _check(suite: Suite, given: Iterable[str]) -> None:
    """No key may be set in two places: which of them won would be a matter of their order."""
    spec = suite.spec
    places = {
        "the command": given,
        "grid": spec.grid,
        "variants": {key for keys in spec.variants.values() for key in keys},
        "cases": {key for keys in suite.cases.values() for key in keys},
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


def _name(condition: Condition, case: str, keys: Mapping[str, Any], seed: int) -> str:
    told = "-".join([*map(str, condition.values()), *filter(None, [case])])
    slug = re.sub(r"[^A-Za-z0-9]+", "-", told)[:LONGEST].strip("-")
    exact = json.dumps([condition, case, keys, seed], sort_keys=True, default=str)
    return "-".join(filter(None, [slug, f"seed{seed}", hashlib.sha256(exact.encode()).hexdigest()[:8]]))
