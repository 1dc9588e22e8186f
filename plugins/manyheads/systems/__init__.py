"""The systems by name; each run's config is read by its system's model.

Those of this room stand in `BUILT_IN`. All others come by entry points: the judges in this wheel, and what other packages bring.
"""

import logging
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from manyheads.base.entry_points import OURS, load, misfit, package_of, points
from manyheads.base.errors import ConfigError, did_you_mean
from manyheads.config import RunConfig

if TYPE_CHECKING:
    from manyheads.team.system import System

GROUP = "manyheads.systems"  # entry points of systems
DEFAULT = "virsci"  # the system of a config that names none
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
    "society": "manyheads.systems.society.system:SOCIETY",
    "interview": "manyheads.systems.interview.interview:INTERVIEW",
}


log = logging.getLogger("manyheads")


class _Registry(Mapping[str, "System"]):
    """Systems by name, imported on first use.

    Looking up an unusable system of another package raises `ConfigError`; iterating skips it with a warning.
    """

    def __init__(self) -> None:
        self._systems, self._broken = dict[str, "System"](), dict[str, ConfigError]()
        brought = points(GROUP)
        judges = (name for name, entries in brought.items() if OURS in map(package_of, entries))
        self.own = (*BUILT_IN, *judges)
        """The systems of this package: those of this room, then those that its own entry points name."""
        if len(self.own) == len(BUILT_IN):
            older = "manyheads was installed before its code was changed: its judges are missing"
            _warn(older, "install it again")
        for name in self.own:
            for package in {package_of(entry) for entry in brought.get(name, ())} - {OURS}:
                taken = f"{package} has a system {name!r}, a name of manyheads itself; it is left out"
                _warn(taken, f"pip uninstall {package}")
        self._names = tuple(dict.fromkeys((*self.own, *brought)))

    def __getitem__(self, name: str) -> "System":
        if name in self._broken:
            raise self._broken[name]
        if name not in self:
            raise KeyError(name)
        if name not in self._systems:
            if home := BUILT_IN.get(name):
                module, _, attribute = home.partition(":")
                self._systems[name] = getattr(import_module(module), attribute)
            else:
                self._systems[name] = _brought(name)
        return self._systems[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        yield from BUILT_IN
        for name in self._names[len(BUILT_IN) :]:
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


def system_of(of: RunConfig | str, where: str = "") -> "System":
    """The system of a config, or of a name.

    Args:
        where: the place of the name, for errors.

    Raises:
        ConfigError: there is no such system, or it cannot be imported.
    """
    if isinstance(of, RunConfig):
        from manyheads.team.system import system_of

        return system_of(of)
    if of not in systems():
        raise ConfigError(
            f"{where}{': ' * bool(where)}system: no such system {of!r}, not in an installed package either (entry points {GROUP})",
            tried=f"systems: {', '.join(systems())}",
            hint=did_you_mean(of, systems(), f"name one of these, or pip install the package with {of!r}"),
        )
    return systems()[of]


def _brought(name: str) -> "System":
    from manyheads.team.system import System

    found = load(GROUP, name, "system")
    if not isinstance(found, System) or found.name != name:
        raise misfit(GROUP, name, f"a System named {name!r}")
    return found  # pyright: ignore[reportUnknownVariableType]


def _warn(problem: str, hint: str | None) -> None:
    """A line on stderr unless logging is set up."""
    log.warning("warning: %s", " ".join(f"{problem} (next: {hint})".split()))
