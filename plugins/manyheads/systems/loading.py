"""A run's config: files and settings, merged in order, read by the model of their system."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias, cast

from pydantic import ValidationError

from manyheads.base.errors import ConfigError, JournalError
from manyheads.base.folders import CONFIG
from manyheads.base.resources import Resources
from manyheads.config import RunConfig, files
from manyheads.config.files import layers, merge
from manyheads.models.prices import with_prices
from manyheads.systems import DEFAULT, system_of, systems
from manyheads.team.system import System


def load(
    names: Sequence[str],
    sets: Iterable[str] = (),
    *,
    resources: Resources | None = None,
    system: str | None = None,
    strict: bool = True,
) -> RunConfig:
    """The run config from files or shipped names, merged in order, then `a.b=c` settings.

    Example:
        >>> load_config(["virsci"], ["team.size=3"]).settings.team.size
        3

    Args:
        system: overrides that of the files.
        strict: refuse keys of other systems, instead of ignoring them.

    Raises:
        ConfigError: a file is missing or not YAML, a key is unknown, a value is invalid, or there is no such system.
    """
    sets, resources = tuple(sets), resources or Resources.of()
    data = list(_layers(names, sets, resources))
    return _read(data, " + ".join(names), sets, system, strict, resources.folders)


def _layers(names: Sequence[str], sets: Iterable[str], resources: Resources) -> Iterator[dict[str, Any]]:
    """See `layers`; a system without a config file of its name has an empty one."""
    for name in names:
        shipped = Path(name).is_file() or resources.find("configs", f"{name}.yaml")
        if name in systems() and not shipped:
            yield {"name": name, "system": name}
        else:
            [data], path = layers([name], (), resources), files.config_file(name, resources)
            yield _with_files(data, path.parent) if files.of_run(path) else data
    yield from layers([], sets, resources)


AnyConfig: TypeAlias = RunConfig | Mapping[str, Any] | str | Path | None
"""A config, its data, its file, or the name of a shipped one; a system's own when None."""


def load_for(
    what: str,
    system: str,
    config: AnyConfig,
    sets: Iterable[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> RunConfig:
    """The config of a system from code.

    Args:
        what: what takes the config, for messages: `VirSciTeam runs virsci`.
        sets: `a.b=c` settings.
        changes: further keys, applied last: `{"team": {"size": 3}}`.

    Raises:
        ConfigError: as `load`, or the config is of another system or of another type.
    """
    sets, where = tuple(sets), "config"
    match config:
        case RunConfig():
            first = [config.model_dump(mode="json", exclude_unset=True)]
        case Mapping():
            first = [config]
        case None | str() | Path():
            where = str(config or system)
            first = list(_layers([where], (), Resources.of()))
        case _:
            hint = f"give a name such as {system!r}, a file, a dict, or the result of load_config"
            raise ConfigError(f"config: a config cannot be of type {type(config).__name__}", hint=hint)
    if isinstance(config, RunConfig) and not sets and not changes:
        read = config
    else:
        data = [*first, *layers([], sets, Resources.of()), *([changes] if changes else [])]
        read = _read(data, where, sets, _system_named(data, system), True)
    if read.system != system:
        raise ConfigError(f"{what}, the config is of system {read.system!r}")
    return read


def validate(data: Mapping[str, Any], where: str = "config", *, strict: bool = True) -> RunConfig:
    """The run config from data; raises `ConfigError` as `load`."""
    return _read([data], where, (), None, strict)


def name_of(names: Sequence[str], sets: Iterable[str] = (), resources: Resources | None = None) -> str:
    """The system that files and settings name; raises `ConfigError` if one of them cannot be read."""
    return _system_named(list(_layers(names, sets, resources or Resources.of())))


def reopen(folder: Path, sets: tuple[str, ...] = ()) -> RunConfig:
    """The config of an earlier run, with changes. Texts in its folder move with it.

    Raises:
        JournalError: it is not a run folder, or one of version 0.1.0.
    """
    path = folder / CONFIG
    if not path.is_file():
        problem = f"{folder}: not a run folder (it has no {CONFIG})"
        raise JournalError(problem, hint="name a run folder, such as runs/TIME-NAME")
    [config, *changes] = layers([str(path)], sets, Resources.of())
    if "inputs" not in config:
        problem = f"{path}: this run is from an earlier version and cannot be resumed"
        raise JournalError(problem, hint="start again: manyheads run")
    config = _with_files(config, folder)
    config = _read([config, *changes], str(path), sets, None, True)
    texts = {
        name: _beside(getattr(config.inputs, name), folder)
        for name, slot in system_of(config).slots.items()
        if slot.file
    }
    return config.model_copy(update={"inputs": config.inputs.model_copy(update=texts)})


def _with_files(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    return files.with_files_in_full(data, system_of(_system_named([data])).model, folder)


def _beside(value: Any, folder: Path) -> Any:
    """A text's file, or that of the same name in the run's folder, if the folder was moved."""
    if isinstance(value, tuple):
        return tuple(_beside(each, folder) for each in cast(tuple[str, ...], value))
    with suppress(OSError, TypeError):  # nothing, or a text, not a valid file name
        path = Path(value)
        if path.is_absolute() and not path.exists() and (kept := (folder / path.name).resolve()).is_file():
            return str(kept)
    return value


def _system_named(data: Iterable[Mapping[str, Any]], default: str = DEFAULT) -> str:
    """The last system that the layers name."""
    return next((str(each["system"]) for each in reversed([*data]) if each.get("system")), default)


def _read(
    data: Sequence[Mapping[str, Any]], where: str, sets: Sequence[str], name: str | None, strict: bool,
    folders: Sequence[Path] = (),
) -> RunConfig:  # fmt: skip
    system = system_of(name := name or _system_named(data), where)
    merged: dict[str, Any] = {}
    for each in data:
        own, rest = system.lift(each)
        # Keys of no system stay, for the model to report.
        own |= {key: value for key, value in rest.items() if not _of_another(system, key, where, strict)}
        merged = merge(merged, own, system.model)
    merged["system"] = name
    try:
        config = system.model.model_validate(merged)
    except ValidationError as error:
        wrong = {".".join(map(str, item["loc"][:2])) for item in error.errors()}
        named = [each for each in sets if _leads_to(system, each, wrong)]
        return files.validated(system.model, merged, where, named, lifted=(system.name, "inputs"))
    models = with_prices(config.models, (*folders, *config.paths))
    return config if models == config.models else config.model_copy(update={"models": models})


def _leads_to(system: System, setting: str, wrong: Iterable[str]) -> bool:
    """Whether a setting belongs to a section with errors."""
    lifted, rest = system.lift(files.parse_set(setting))
    own = (system.name, "inputs")
    inner = (
        (key, lifted[key] if key in own and isinstance(lifted[key], Mapping) else ("",)) for key in lifted
    )
    places = {f"{key}.{name}" for key, names in inner for name in names} | set(rest)
    return any(f"{place}.".startswith(f"{each}.") or f"{each}.".startswith(f"{place.rstrip('.')}.")
               for place in places for each in wrong)  # fmt: skip


def _of_another(system: System, key: str, where: str, strict: bool) -> bool:
    """Whether a key belongs to another system and is ignored; raises `ConfigError` if `strict`."""
    others = (other for other in systems().values() if other is not system)
    owners = [other.name for other in others if not other.lift({key: {"": None}})[1]]
    if not owners or not strict:
        return bool(owners)
    section, inputs = (", ".join(part.model_fields) for part in (system.config, system.inputs))
    raise ConfigError(
        f"{where}: {key}: a key of {', '.join(owners)}, but this run is of {system.name}",
        tried=f"the section {system.name!r} has {section}; the inputs are {inputs or 'none'}",
        hint="leave it out, or choose the system with the key system",
    )
