"""What other packages bring: the entry points of a group, by name."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from manyheads.base.errors import ConfigError


@cache
def brought(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name; nothing is imported."""
    return {entry.name: entry for entry in entry_points(group=group)}


def package_of(entry: EntryPoint) -> str:
    """The name to install or remove what brings it."""
    return entry.dist.name if entry.dist else entry.module


@cache
def load(group: str, name: str, what: str) -> Any:
    """What an entry point of a group names.

    Args:
        what: what it should be, in words, such as `measure`.

    Raises:
        ConfigError: no installed package has one of this name, or two have, or it cannot be imported.
    """
    several = [package_of(entry) for entry in entry_points(group=group) if entry.name == name]
    if len(several) > 1:
        raise ConfigError(
            f"{several[0]} and {several[1]} both have a {what} {name!r}",
            hint=f"remove one of them: pip uninstall {several[0]}",
        )
    if not (entry := brought(group).get(name)):
        raise ConfigError(
            f"there is no {what} {name!r} in an installed package (entry points {group})",
            tried=f"{what}s: {', '.join(brought(group)) or 'none'}",
            hint=f"pip install the package with {name!r}",
        )
    try:
        return entry.load()
    except Exception as error:  # other packages may raise anything on import
        raise ConfigError(
            f"{package_of(entry)}: its {what} {name!r} cannot be imported: {type(error).__name__}: {error}",
            tried=f"{group}: {name} = {entry.value}",
            hint=f"fix or remove it: pip uninstall {package_of(entry)}",
        ) from error


def misfit(group: str, name: str, what: str) -> ConfigError:
    """The error for an entry point that names something else than `what` is: such as `a function of a text`."""
    entry = brought(group)[name]
    return ConfigError(
        f"{package_of(entry)}: {name} = {entry.value} is not {what}",
        hint=f"fix or remove it: pip uninstall {package_of(entry)}",
    )
