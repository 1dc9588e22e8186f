"""The systems by name; each run's config is read by its system's model.

Those of this room stand in `BUILT_IN`. All others come by entry points: the judges in this wheel, and what other packages bring.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from manyheads.base.errors import ConfigError, did_you_mean
from manyheads.config import RunConfig
from manyheads.team import system
from manyheads.team.system import System

GROUP = "manyheads.systems"  # entry points of systems
DEFAULT = "virsci"  # the system of a config that names none
OURS = "manyheads"
BUILT_IN = {
    "virsci": "manyheads.systems.virsci.system:VIRSCI",
    "self-reflection": "manyheads.systems.baselines.desk:SELF_REFLECTION",
    "discussion": "manyheads.systems.baselines.desk:DISCUSSION",
    "single": "manyheads.systems.baselines.desk:SINGLE",
    "conference-review": "manyheads.systems.conference_review.reviews:CONFERENCE_REVIEW",
    "rebuttal": "manyheads.systems.rebuttal.rounds:REBUTTAL",
    "ranking": "manyheads.systems.ranking.judging:RANKING",
    "scipip": "manyheads.systems.scipip.proposal:SCIPIP",
    "mamorx": "manyheads.systems.mamorx.system:MAMORX",
}


log = logging.getLogger("manyheads")


class _Registry(Mapping[str, System]):
    """Systems by name, imported on first use.

    Looking up an unusable system of another package raises `ConfigError`; iterating skips it with a warning.
    """

    def __init__(self) -> None:
        self._systems, self._broken = dict[str, System](), dict[str, ConfigError]()
        self._brought: dict[str, list[EntryPoint]] = {}
        entries = entry_points(group=GROUP)
        self.own = (*BUILT_IN, *sorted(entry.name for entry in entries if _package(entry) == OURS))
        """The systems of this package: those of this room, then those that its own entry points name."""
        if len(self.own) == len(BUILT_IN):
            _warn(
                "manyheads was installed before its code was changed: its judges are missing",
                "install it again",
            )
        for entry in sorted(entries, key=lambda entry: (entry.name not in self.own, entry.name)):
            if entry.name in self.own and _package(entry) != OURS:
                _warn(
                    f"{_package(entry)} has a system {entry.name!r}, a name of manyheads itself; it is left out",
                    f"pip uninstall {_package(entry)}",
                )
            else:
                self._brought.setdefault(entry.name, []).append(entry)

    def __getitem__(self, name: str) -> System:
        if name in self._broken:
            raise self._broken[name]
        if name not in self._systems:
            if home := BUILT_IN.get(name):
                module, _, attribute = home.partition(":")
                self._systems[name] = getattr(import_module(module), attribute)
            else:
                self._systems[name] = _load(self._brought[name])
        return self._systems[name]

    def __contains__(self, name: object) -> bool:
        return name in BUILT_IN or name in self._brought

    def __iter__(self) -> Iterator[str]:
        yield from BUILT_IN
        for name in self._brought:
            if name not in self._broken:
                try:
                    self[name]
                except ConfigError as error:
                    self._broken[name] = error
                    _warn(f"{error.message}; it is left out", error.hint)
                else:
                    yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def systems() -> _Registry:
    """Every system by name: those of this package, then those of other packages; see `_Registry`."""
    return _Registry()


def system_of(of: RunConfig | str, where: str = "") -> System:
    """The system of a config, or of a name.

    Args:
        where: the place of the name, for errors.

    Raises:
        ConfigError: there is no such system, or it cannot be imported.
    """
    if isinstance(of, RunConfig):
        return system.system_of(of)
    if of not in systems():
        raise ConfigError(
            f"{where}{': ' * bool(where)}system: no such system {of!r}, not in an installed package either (entry points {GROUP})",
            tried=f"systems: {', '.join(systems())}",
            hint=did_you_mean(of, systems(), f"name one of these, or pip install the package with {of!r}"),
        )
    return systems()[of]


def _load(entries: Sequence[EntryPoint]) -> System:
    [entry, *others] = entries
    package = _package(entry)
    if others:
        raise ConfigError(
            f"{package} and {_package(others[0])} both have a system {entry.name!r}",
            hint=f"remove one of them: pip uninstall {package}",
        )
    hint = f"fix or remove it: pip uninstall {package}"
    try:
        loaded = entry.load()
    except ConfigError as error:
        raise ConfigError(f"{package}: {error.message}", tried=error.tried, hint=error.hint) from error
    except Exception as error:  # other packages may raise anything on import
        raise ConfigError(
            f"{package}: its system {entry.name!r} cannot be imported: {type(error).__name__}: {error}",
            tried=f"{GROUP}: {entry.name} = {entry.value}",
            hint=hint,
        ) from error
    if not isinstance(loaded, System) or loaded.name != entry.name:
        raise ConfigError(f"{package}: {entry.value} is not a System named {entry.name!r}", hint=hint)
    return loaded  # pyright: ignore[reportUnknownVariableType]


def _warn(problem: str, hint: str | None) -> None:
    """A line on stderr unless logging is set up."""
    log.warning("warning: %s", " ".join(f"{problem} (next: {hint})".split()))


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value.partition(":")[0]
