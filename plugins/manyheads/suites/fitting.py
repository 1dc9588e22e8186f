"""Whether a suite, its settings and its cases fit each other: what is wrong with them is said before anything is run."""

from collections.abc import Iterable

from manyheads.config import RunConfig
from manyheads.errors import ConfigError
from manyheads.suites.spec import Condition, label_of, leaves, root
from manyheads.suites.suite import Suite
from manyheads.suites.wanted import JUDGING
from manyheads.systems import SYSTEMS

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
    measured = {each.of for each in suite.spec.wanted}
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
