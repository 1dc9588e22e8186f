"""A run's config: files and settings, merged in order, read by the model of the system that they name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from manyheads.config import RunConfig, layers, merge, parse_set, validated
from manyheads.engine.folder import CONFIG
from manyheads.engine.system import System
from manyheads.errors import ConfigError, JournalError
from manyheads.resources import Resources
from manyheads.systems import DEFAULT, system_of, systems


def load(
    names: Sequence[str],
    sets: Iterable[str] = (),
    *,
    resources: Resources | None = None,
    system: str | None = None,
    strict: bool = True,
) -> RunConfig:
    """The run config of some files or shipped names, merged in order, then `a.b=c` settings.

    Args:
        system: whose config it is, whatever the files say.
        strict: refuse keys that another system has; else they are left out.

    Raises:
        ConfigError: a file is missing or not YAML, a key is unknown, a value does not fit, there is no such system.
    """
    sets = tuple(sets)
    data = list(_layers(names, sets, resources or Resources.of()))
    return _read(data, " + ".join(names), sets, system, strict)


def _layers(names: Sequence[str], sets: Iterable[str], resources: Resources) -> Iterator[dict[str, Any]]:
    """See `layers`; a system that brings no config file of its name is run as it is."""
    for name in names:
        bare = (
            name in systems() and not Path(name).is_file() and not resources.find("configs", f"{name}.yaml")
        )
        yield from [{"name": name, "system": name}] if bare else layers([name], (), resources)
    yield from layers([], sets, resources)


def validate(data: Mapping[str, Any], where: str = "config", *, strict: bool = True) -> RunConfig:
    """The run config of some data; raises `ConfigError` as `load` does."""
    return _read([data], where, (), None, strict)


def name_of(names: Sequence[str], sets: Iterable[str] = (), resources: Resources | None = None) -> str:
    """The system that files and settings name; raises `ConfigError` where one of them cannot be read."""
    return _named(list(_layers(names, sets, resources or Resources.of())))


def reopen(folder: Path, sets: tuple[str, ...] = ()) -> RunConfig:
    """The config of an earlier run, with changes laid on. A text that the folder keeps goes where it goes.

    Raises:
        JournalError: the folder is no run folder.
    """
    path = folder / CONFIG
    if not path.is_file():
        raise JournalError(
            f"{folder}: no run folder (it has no {CONFIG})", hint="name one, such as runs/<time>-<name>"
        )
    # Version 0.1.0 kept the sections of all systems.
    [kept] = layers([str(path)], (), Resources.of())
    given = [data for each in sets for data in layers([], [each], Resources.of())]
    system = system_of(_named([kept, *given]), str(path))
    config = _read([system.lift(kept)[0], *given], str(path), sets, None, True)
    return system.moved(config, folder)


def _named(data: Iterable[Mapping[str, Any]]) -> str:
    named = [str(each["system"]) for each in data if each.get("system")]
    return named[-1] if named else DEFAULT


def _read(
    data: Sequence[Mapping[str, Any]], where: str, sets: Sequence[str], name: str | None, strict: bool
) -> RunConfig:
    name = name or _named(data)
    system = system_of(name, where)
    merged: dict[str, Any] = {}
    for each in data:
        lifted, rest = system.lift(each)
        lifted |= {key: value for key, value in rest.items() if _unknown(system, key, value, where, strict)}
        merged = merge(merged, lifted, system.model)
    try:
        return system.model.model_validate({**merged, "system": name})
    except ValidationError as error:
        wrong = {".".join(map(str, item["loc"][:2])) for item in error.errors()}
        blamed = [each for each in sets if _leads_to(system, each, wrong)]
        return validated(system.model, {**merged, "system": name}, where, blamed)


def _leads_to(system: System, setting: str, wrong: Iterable[str]) -> bool:
    """Whether a setting is of a section in which something is wrong."""
    lifted, rest = system.lift(parse_set(setting))
    places = {
        f"{key}.{inner}"
        for key, value in lifted.items()
        for inner in (value if key in (system.name, "inputs") and isinstance(value, Mapping) else ("",))
    } | set(rest)
    return any(f"{place}.".startswith(f"{each}.") or f"{each}.".startswith(f"{place.rstrip('.')}.")
               for place in places for each in wrong)  # fmt: skip


def _unknown(system: System, key: str, value: Any, where: str, strict: bool) -> bool:
    """Whether a key is of no system at all: a model will say so. What is another's own and says nothing is left out.

    Args:
        strict: refuse what is another's own and says something.

    Raises:
        ConfigError: it is another system's.
    """
    others = (other for other in systems().values() if other is not system)
    owners = [other for other in others if not other.lift({key: {"": None}})[1]]
    if not owners:
        return True
    if not strict or any(_says_nothing(other, key, value) for other in owners):
        return False
    section, inputs = (", ".join(part.model_fields) for part in (system.config, system.inputs))
    raise ConfigError(
        f"{where}: {key}: a key of {', '.join(other.name for other in owners)}, and this run is of {system.name}",
        tried=f"its section {system.name!r} has {section}; its inputs are {inputs or 'none'}",
        hint="leave it out, or say by system: what is to be run",
    )


def _says_nothing(system: System, key: str, value: Any) -> bool:
    """Whether a value is what its system takes anyway; version 0.1.0 wrote down the sections of all systems."""
    lifted, rest = system.lift({key: value})
    try:
        read = system.model.model_validate(lifted)
    except ValidationError:
        return False
    return not rest and read == system.model()
