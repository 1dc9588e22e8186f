"""The systems by name, a line each, and those of other packages; a run's config is read by the model of its system."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from manyheads.config import RunConfig
from manyheads.engine import system
from manyheads.engine.system import System
from manyheads.errors import ConfigError

GROUP = "manyheads.systems"
"""The group of entry points by which other packages bring systems."""
DEFAULT = "virsci"
"""What a config that names no system runs."""
BUILT_IN = {
    "virsci": "manyheads.systems.virsci:VIRSCI",
    "self-reflection": "manyheads.systems.baselines:SELF_REFLECTION",
    "discussion": "manyheads.systems.baselines:DISCUSSION",
    "single": "manyheads.systems.baselines:SINGLE",
    "conference-review": "manyheads.systems.conference_review:CONFERENCE_REVIEW",
    "rebuttal": "manyheads.systems.rebuttal:REBUTTAL",
    "ranking": "manyheads.systems.ranking:RANKING",
}


class _Registry(Mapping[str, System]):
    """Systems by name, each imported when it is first asked for."""

    def __init__(self, homes: Mapping[str, str | EntryPoint]) -> None:
        self._homes, self._systems = homes, dict[str, System]()

    def __getitem__(self, name: str) -> System:
        if name not in self._systems:
            home = self._homes[name]
            if isinstance(home, str):
                module, _, attribute = home.partition(":")
                self._systems[name] = getattr(import_module(module), attribute)
            else:
                self._systems[name] = _of_package(home)
        return self._systems[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


@cache
def systems() -> Mapping[str, System]:
    """Every system by name: the built-in ones, then those of other packages.

    Raises:
        ConfigError: two packages bring a system of the same name. Where one is looked up: it cannot be imported.
    """
    homes: dict[str, str | EntryPoint] = {**BUILT_IN}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        if entry.name in homes:
            raise ConfigError(
                f"{_package(entry)} brings a system {entry.name!r}, and there is one of this name already",
                hint=f"remove it: pip uninstall {_package(entry)}",
            )
        homes[entry.name] = entry
    return _Registry(homes)


def system_of(of: RunConfig | str) -> System:
    """The system of a config, or of a name.

    Raises:
        ConfigError: there is none of this name, or it cannot be imported.
    """
    if isinstance(of, RunConfig):
        return system.system_of(of)
    if of not in systems():
        raise ConfigError(f"system: there is no {of!r}", tried=f"systems: {', '.join(systems())}")
    return systems()[of]


def _of_package(entry: EntryPoint) -> System:
    package = _package(entry)
    hint = f"mend or remove it: pip uninstall {package}"
    try:
        system = entry.load()
    except ConfigError as error:
        raise ConfigError(f"{package}: {error.message}", tried=error.tried, hint=error.hint) from error
    except Exception as error:  # whatever a package of others raises while it is imported
        raise ConfigError(
            f"{package}: its system {entry.name!r} cannot be imported: {type(error).__name__}: {error}",
            tried=f"{GROUP}: {entry.name} = {entry.value}",
            hint=hint,
        ) from error
    if not isinstance(system, System) or system.name != entry.name:
        raise ConfigError(f"{package}: {entry.value} is no System of the name {entry.name!r}", hint=hint)
    return system  # pyright: ignore[reportUnknownVariableType]


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value.partition(":")[0]
