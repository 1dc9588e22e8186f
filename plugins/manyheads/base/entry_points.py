"""What other packages bring: the entry points of a group, by name. None is imported before it is asked for."""

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import Distribution, EntryPoint, EntryPoints, entry_points
from importlib.util import find_spec
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from manyheads.base.errors import ConfigError, did_you_mean

OURS = "manyheads"
"""The package whose entry points go before those of others."""


def points(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """The entry points of a group by name, sorted; several packages may have one of a name."""
    return _points(group, tuple(sys.path))


@cache
def _points(group: str, path: tuple[str, ...]) -> Mapping[str, tuple[EntryPoint, ...]]:
    name = attrgetter("name")
    entries = sorted(_of_all_groups(path).select(group=group), key=name)
    return {each: tuple(some) for each, some in groupby(entries, name)}


@cache
def _of_all_groups(path: tuple[str, ...]) -> EntryPoints:
    """Looked for once a search path: it takes longer than reading a small file for each package."""
    return cast(EntryPoints, entry_points())  # before Python 3.12 another class, with the same `select`


def package_of(entry: EntryPoint) -> str:
    """The name to install or remove what brings it."""
    return _name_of(entry.dist) if entry.dist else entry.module


@cache
def _name_of(package: Distribution) -> str:
    return package.name  # reads all that it says of itself


def point(group: str, name: str, what: str, ours: Iterable[str] = ()) -> EntryPoint:
    """The entry point of a name.

    Args:
        what: what it should be, in words, such as `measure`.
        ours: other names that may be given, for the error.

    Raises:
        ConfigError: no installed package has one of this name, or two have different ones.
    """
    several = points(group).get(name, ())
    several = [each for each in several if package_of(each) == OURS] or several
    if not several:
        names = (*ours, *points(group))
        raise ConfigError(
            f"there is no {what} {name!r}, not in an installed package either (entry points {group})",
            tried=f"{what}s: {', '.join(names) or 'none'}",
            hint=did_you_mean(name, names, f"pip install the package with {name!r}"),
        )
    one, *others = {each.value: each for each in several}.values()
    if others:
        raise ConfigError(
            f"{package_of(one)} and {package_of(others[0])} both have a {what} {name!r}",
            hint=f"remove one of them: pip uninstall {package_of(one)}",
        )
    return one


def load(group: str, name: str, what: str, ours: Iterable[str] = ()) -> Any:
    """What the entry point of a name names; see `point`. Raises `ConfigError` also if it cannot be imported."""
    entry = point(group, name, what, ours)
    try:
        return entry.load()
    except ConfigError as error:
        raise ConfigError(
            f"{package_of(entry)}: {error.message}", tried=error.tried, hint=error.hint
        ) from error
    except Exception as error:  # other packages may raise anything on import
        failed = f"its {what} {name!r} cannot be imported: {type(error).__name__}: {error}"
        raise _unusable(entry, failed) from error


def misfit(group: str, name: str, what: str) -> ConfigError:
    """The error for an entry point that names something else than `what` is: such as `a function of a text`."""
    entry = point(group, name, what)
    return _unusable(entry, f"{entry.value} is not {what}")


def folders(group: str) -> tuple[Path, ...]:
    """The folders of the packages that a group names, which are not imported; those around them are.

    Raises:
        ConfigError: one is not installed, or a package around it cannot be imported.
    """
    places = list[str]()
    for entry in chain(*points(group).values()):
        named = f"its entry point {entry.name!r} names {entry.module}, which"
        try:
            spec = find_spec(entry.module)
        except Exception as error:  # the package around it may raise anything
            raise _unusable(entry, f"{named} cannot be imported: {type(error).__name__}: {error}") from error
        if spec is None:
            raise _unusable(entry, f"{named} is not installed")
        places += spec.submodule_search_locations or ()
    return tuple(map(Path, dict.fromkeys(places)))


def _unusable(entry: EntryPoint, why: str) -> ConfigError:
    package = package_of(entry)
    hint = f"fix or remove it: pip uninstall {package}"
    return ConfigError(f"{package}: {why}", tried=f"{entry.group}: {entry.name} = {entry.value}", hint=hint)
