"""A run's config: files and settings, merged in order, read by the model of the system that they name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from manyheads.config import RunConfig
from manyheads.config.files import (
    config_file,
    layers,
    merge,
    of_run,
    parse_set,
    validated,
    with_files_in_full,
)
from manyheads.engine.folder import CONFIG
from manyheads.engine.system import System
from manyheads.errors import ConfigError, JournalError
from manyheads.models.prices import with_prices
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
    sets, resources = tuple(sets), resources or Resources.of()
    data = list(_layers(names, sets, resources))
    return _read(data, " + ".join(names), sets, system, strict, resources.folders)


def _layers(names: Sequence[str], sets: Iterable[str], resources: Resources) -> Iterator[dict[str, Any]]:
    """See `layers`; a system that brings no config file of its name is run as it is."""
    for name in names:
        bare = (
            name in systems() and not Path(name).is_file() and not resources.find("configs", f"{name}.yaml")
        )
        if bare:
            yield {"name": name, "system": name}
        else:
            [data], path = layers([name], (), resources), config_file(name, resources)
            yield _with_files(data, path.parent) if of_run(path) else data
    yield from layers([], sets, resources)


def load_for(
    system: str,
    config: RunConfig | Mapping[str, Any] | str | Path | None,
    sets: Iterable[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> RunConfig:
    """The config of a system as code gives it: loaded, as data, by its file or name, or the system's own when None.

    Args:
        system: whose config it is where the config names none.
        sets: `a.b=c` settings laid on it.
        changes: keys laid on it after that: `{"team": {"size": 3}}`.

    Raises:
        ConfigError: as `load` does; the config is nothing of these.
    """
    sets = tuple(sets)
    match config:
        case RunConfig():
            if not sets and not changes:
                return config
            where, first = "config", [config.model_dump(mode="json", exclude_unset=True)]
        case Mapping():
            where, first = "config", [config]
        case None | str() | Path():
            where = str(config or system)
            first = list(_layers([where], (), Resources.of()))
        case _:
            raise ConfigError(
                f"config: a config cannot be of type {type(config).__name__}",
                hint=f"give a name such as {system!r}, a file, a dict, or what load_config gives",
            )
    data = [*first, *layers([], sets, Resources.of()), *([changes] if changes else [])]
    return _read(data, where, sets, _named(data, system), True)


def validate(data: Mapping[str, Any], where: str = "config", *, strict: bool = True) -> RunConfig:
    """The run config of some data; raises `ConfigError` as `load` does."""
    return _read([data], where, (), None, strict)


def name_of(names: Sequence[str], sets: Iterable[str] = (), resources: Resources | None = None) -> str:
    """The system that files and settings name; raises `ConfigError` where one of them cannot be read."""
    return _named(list(_layers(names, sets, resources or Resources.of())))


def reopen(folder: Path, sets: tuple[str, ...] = ()) -> RunConfig:
    """The config of an earlier run, with changes laid on. A text that the folder keeps goes where it goes.

    Raises:
        JournalError: the folder is no run folder, or one of version 0.1.0.
    """
    path = folder / CONFIG
    if not path.is_file():
        raise JournalError(
            f"{folder}: not a run folder (it has no {CONFIG})",
            hint="name a run folder, such as runs/TIME-NAME",
        )
    [config, *changes] = layers([str(path)], sets, Resources.of())
    if "inputs" not in config:
        raise JournalError(
            f"{path}: this run is from an earlier version and cannot be resumed",
            hint="start again: manyheads run",
        )
    config = _with_files(config, folder)
    config = _read([config, *changes], str(path), sets, None, True)
    texts = {
        name: _beside(getattr(config.inputs, name), folder)
        for name, slot in system_of(config).slots.items()
        if slot.file
    }
    return config.model_copy(update={"inputs": config.inputs.model_copy(update=texts)})


def _with_files(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The config in a run's folder with its files in full."""
    return with_files_in_full(data, system_of(_named([data])).model, folder)


def _beside(value: Any, folder: Path) -> Any:
    """A text's file, or the one that a run's folder keeps by its name, where the folder was moved with it."""
    if isinstance(value, tuple):
        return tuple(_beside(each, folder) for each in cast(tuple[str, ...], value))
    with suppress(OSError, TypeError):  # nothing, or a text, which has no name that a file could have
        path = Path(value)
        if path.is_absolute() and not path.exists() and (kept := (folder / path.name).resolve()).is_file():
            return str(kept)
    return value


def _named(data: Iterable[Mapping[str, Any]], default: str = DEFAULT) -> str:
    """The system that the last of some layers names."""
    return next((str(each["system"]) for each in reversed([*data]) if each.get("system")), default)


def _read(
    data: Sequence[Mapping[str, Any]],
    where: str,
    sets: Sequence[str],
    name: str | None,
    strict: bool,
    folders: Sequence[Path] = (),
) -> RunConfig:
    system = system_of(name := name or _named(data), where)
    merged: dict[str, Any] = {}
    for each in data:
        own, rest = system.lift(each)
        # What is of no system at all stays, for the model to name it.
        own |= {key: value for key, value in rest.items() if not _of_another(system, key, where, strict)}
        merged = merge(merged, own, system.model)
    merged["system"] = name
    try:
        config = system.model.model_validate(merged)
    except ValidationError as error:
        wrong = {".".join(map(str, item["loc"][:2])) for item in error.errors()}
        return validated(
            system.model,
            merged,
            where,
            [each for each in sets if _leads_to(system, each, wrong)],
            lifted=(system.name, "inputs"),
        )
    models = with_prices(config.models, (*folders, *config.paths))
    return config if models == config.models else config.model_copy(update={"models": models})


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


def _of_another(system: System, key: str, where: str, strict: bool) -> bool:
    """Whether a key is another system's, and so left out; raises `ConfigError` for one where that is `strict`."""
    owners = [
        other.name
        for other in systems().values()
        if other is not system and not other.lift({key: {"": None}})[1]
    ]
    if not owners or not strict:
        return bool(owners)
    section, inputs = (", ".join(part.model_fields) for part in (system.config, system.inputs))
    raise ConfigError(
        f"{where}: {key}: a key of {', '.join(owners)}, but this run is of {system.name}",
        tried=f"the section {system.name!r} has {section}; the inputs are {inputs or 'none'}",
        hint="leave it out, or choose the system with the key system",
    )
