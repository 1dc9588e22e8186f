"""Config files: found, read, merged in order, then `--set a.b=c`, then validated (used by `systems.load`); JSON Schemas of models."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import cache, reduce
from operator import methodcaller
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from manyheads.asking.replies import REPLIES, TEXT
from manyheads.base.errors import MOST, ConfigError, closest, describe, did_you_mean, is_secret, scrubbed
from manyheads.base.files import expanded
from manyheads.base.resources import Resources, parse_json, parse_yaml, read_yaml
from manyheads.base.text import shortened
from manyheads.config import RunConfig, Strict, documented

M = TypeVar("M", bound=BaseModel)
HERE: ContextVar[Path | None] = ContextVar("HERE", default=None)
"""Where the command of a run was given, if not in this process: as a worker has it."""
JSON = ('"', "[", "{")
SHOWN = 100
"""Maximum characters of a setting in a message."""


def layers(names: Sequence[str], sets: Iterable[str], resources: Resources) -> Iterator[dict[str, Any]]:
    """The contents of files or shipped configs, in order, then of `a.b=c` settings; raises `ConfigError` if invalid."""
    for name in names:
        path = config_file(name, resources)
        data = _relative_to(path.parent, read_yaml(path))
        if not data:
            hint = "name the system to run in it, such as system: virsci"
            raise ConfigError(f"{path}: the config is empty", hint=hint)
        if of_run(path) and isinstance(corpus := data.get("corpus"), str):
            data["corpus"] = _absolute(corpus, path.parent)
        yield {"name": path.stem, **data}
    for setting in sets:
        yield _relative_to(Path(), parse_set(setting))


def common(names: Sequence[str], sets: Iterable[str] = ()) -> RunConfig:
    """The keys of every run, ignoring those of systems. Raises `ConfigError`."""
    keys, sets = RunConfig.model_fields.keys() - {"settings", "inputs"}, tuple(sets)
    merged: dict[str, Any] = {}
    for data in layers(names, sets, Resources.of()):
        merged = merge(merged, {key: value for key, value in data.items() if key in keys}, RunConfig)
    return validated(RunConfig, merged, " + ".join(names), sets)


def validated(
    model: type[M], data: Mapping[str, Any], where: str, sets: Iterable[str] = (), lifted: Sequence[str] = ()
) -> M:
    """The validated model; raises a `ConfigError` with each wrong key and the settings that may have caused it.

    Args:
        lifted: sections whose keys may also appear at the top level.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        unknown = [
            [*map(str, item["loc"])]
            for item in error.errors(include_url=False, include_context=False)
            if item["type"] == "extra_forbidden"
        ][:MOST]
        tried = dict.fromkeys(
            f"the keys of {'.'.join(above) or 'a config'}: {', '.join(_keys(model, above))}"
            for *above, _ in unknown
        )
        near = ", ".join(dict.fromkeys(filter(None, (_suggested(model, path, lifted) for path in unknown))))
        every = "docs/reference/config.md explains all keys"
        raise ConfigError(
            f"{' + '.join(filter(None, [where, *map(setting_in_short, sets)]))}: {describe(error)}",
            tried="; ".join(tried) or None,
            hint=f"did you mean {near}? If not, {every}" if near else every,
        ) from error


def _suggested(model: type[BaseModel], path: Sequence[str], lifted: Sequence[str]) -> str | None:
    """The closest key to a misspelt one, as it may be written."""
    *above, key = path
    names = {name: ".".join([*above, name]) for name in _keys(model, above)}
    for section in lifted:
        names |= {} if above else {name: name for name in _keys(model, [section])}
    if (near := closest(key, names)) is None:
        return None
    return reduce(lambda name, section: name.removeprefix(f"{section}."), lifted, names[near])


def _keys(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    """The keys below a path of keys, such as `models.default`."""
    schema = node = _schema(model)
    for key in path:
        node = node["properties"][key] if "properties" in node else node["additionalProperties"]
        options: list[dict[str, Any]] = node.get("anyOf", [node])
        name = next((str(option["$ref"]).rsplit("/", 1)[-1] for option in options if "$ref" in option), None)
        node = schema["$defs"][name] if name else node
    return list(node["properties"])


_schema = cache(methodcaller("model_json_schema"))
"""Of a model; each unknown key takes a walk through it."""


def config_file(name: str, resources: Resources) -> Path:
    """The file of a config: a path, or a name in a `configs/` folder."""
    path = Path(name)
    if path.is_file():
        return path
    is_path = name.endswith((".yaml", ".yml")) or "/" in name
    if not is_path and (shipped := resources.find("configs", f"{name}.yaml")):
        return shipped
    files = (file for file in resources.names("configs", ".yaml") if "/" not in file)
    names = sorted(file.removesuffix(".yaml") for file in files)
    tried = str(path.absolute()) if is_path else f"{path.absolute()}, {resources.tried('configs')}"
    hint = did_you_mean(name, names, f"name a file, or one of {', '.join(names)}")
    raise ConfigError(f"{name}: no such {'file' if is_path else 'config'}", tried=tried, hint=hint)


def merge(
    base: Mapping[str, Any], over: Mapping[str, Any], model: type[BaseModel] | None = None
) -> dict[str, Any]:
    """`over` merged into `base`, recursively.

    Args:
        model: the model of the mappings. A section written as a number is expanded before single keys of it are
            merged: `turns: 5` becomes `turns: {default: 5}`.
    """
    merged = dict(base)
    parts = {
        field.alias or name: field.annotation
        for name, field in (model.model_fields.items() if model else ())
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }
    for key, value in over.items():
        below, part = merged.get(key), parts.get(key)
        if isinstance(below, int | str) and (plain := getattr(part, "plain", None)):
            below = {plain: below}
        both = isinstance(value, Mapping) and isinstance(below, Mapping)
        merged[key] = merge(cast(Any, below), cast(Any, value), part) if both else value
    return merged


ARXIV = re.compile(r"\d{4}\.\d{4,5}")
"""The number of a paper, which as a number of YAML would lose its last zero."""


def parse_set(setting: str) -> dict[str, Any]:
    """`team.size=8` as a mapping; the value is parsed as JSON, else as YAML."""
    key, equals, value = setting.partition("=")
    if not equals or not key.strip():
        form = "must have the form key=value, such as team.size=8"
        raise ConfigError(f"--set {setting_in_short(setting)}: {form}")
    try:
        nested: Any = _value(value)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or error
        raise ConfigError(f"--set {setting_in_short(setting)}: not valid YAML: {problem}") from error
    for part in reversed(key.strip().split(".")):
        nested = {part: nested}
    return nested


def _value(text: str) -> Any:
    """YAML allows no control characters, even in JSON texts, and some abstracts contain them."""
    if text.lstrip().startswith(JSON):
        with suppress(ValueError):
            return parse_json(text)
    return text if ARXIV.fullmatch(text.strip()) else parse_yaml(text)


def setting_in_short(setting: str) -> str:
    """A setting for a message: shortened, and without secrets."""
    key, equals, _ = setting.partition("=")
    return f"{key}{equals}…" if is_secret(key.strip()) else scrubbed(shortened(setting, SHOWN))


def _relative_to(base: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Resolve folders and the file of labels: relative to the config file, or to the current folder for a setting.

    Absolute from here on, as the run folder stores them in its own config file.
    """
    folders, labels = data.get("paths"), data.get("labels")
    if isinstance(labels, str) and labels:
        data = {**data, "labels": os.path.abspath(base / expanded(labels))}
    if not isinstance(folders, list):
        return data
    named = [expanded(str(folder)) for folder in cast(list[object], folders)]
    return {**data, "paths": [os.path.abspath(base / folder) for folder in named]}


# The config in a run's folder names files from where it lies, so that a project can be moved.


def of_run(path: Path) -> bool:
    """Whether a config file is the one in a run's folder."""
    beside = (path.parent / name for name in ("events.jsonl", "journal.sqlite"))
    return path.name == "config.yaml" and any(file.is_file() for file in beside)


def portable(config: RunConfig, folder: Path) -> dict[str, Any]:
    """A config as data for `folder`: files of the same project are named from there, all others in full."""
    data: dict[str, Any] = config.model_dump(mode="json", by_alias=True, exclude_none=True)
    home, here = folder.resolve(), HERE.get() or Path.cwd()
    projects = [home.parent, *([home.parents[1]] if home.parent.name == "runs" else [])]
    projects += [here] if home.is_relative_to(here) else []

    def relative(name: str) -> str:
        path = Path(name)
        if "\n" in name or not any(map(path.is_relative_to, projects)):
            return name
        short = os.path.relpath(path, home)
        return short if short.startswith(os.pardir) else os.path.join(os.curdir, short)

    data |= {"paths": [*map(relative, data["paths"])], "corpus": relative(data["corpus"])}
    return _with_files(data, type(config), relative)


def moved(config: RunConfig, move: Callable[[str], str]) -> RunConfig:
    """A config whose own folders, and files of its section and inputs, are elsewhere."""

    def elsewhere(section: Any) -> Any:
        if not isinstance(section, Strict):
            return section
        files = {name: getattr(section, name) for name, slot in section.slots().items() if slot.file}
        changed = {
            name: move(each) if isinstance(each, str) else tuple(map(move, each))
            for name, each in files.items()
            if each
        }
        return section.model_copy(update=changed)

    own = {"settings": elsewhere(config.settings), "inputs": elsewhere(config.inputs)}
    return config.model_copy(update={**own, "paths": tuple(map(move, config.paths))})


def with_files_in_full(data: Mapping[str, Any], model: type[RunConfig], folder: Path) -> dict[str, Any]:
    """The config of a run's folder as `portable` gave it, its sections with the files in full."""
    return _with_files(data, model, lambda name: _absolute(name, folder))


def _absolute(name: str, folder: Path) -> str:
    """A path that is relative to a run's folder, as `portable` writes it, in full; any other text as it is."""
    near = name.startswith((f"{os.curdir}{os.sep}", f"{os.pardir}{os.sep}")) and "\n" not in name
    return os.path.normpath(folder.resolve() / name) if near else name


def _with_files(
    data: Mapping[str, Any], model: type[RunConfig], change: Callable[[str], str]
) -> dict[str, Any]:
    """The data with each file changed that its section or its inputs name."""
    changed = dict(data)
    for field in (model.model_fields["settings"], model.model_fields["inputs"]):
        key, part = field.alias or "inputs", cast(type[Strict], field.annotation)
        if not isinstance(section := changed.get(key), Mapping):
            continue
        files = {
            name: cast(list[str] | str, value)
            for name, value in cast(Mapping[str, Any], section).items()
            if name in part.slots() and part.slots()[name].file and isinstance(value, list | str)
        }
        changed[key] = {
            **section,
            **{k: change(v) if isinstance(v, str) else [*map(change, v)] for k, v in files.items()},
        }
    return changed


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a model. One that stands for several names them by a class method `kinds`."""
    schema = model.model_json_schema()
    parts: dict[str, Any] = {model.__name__.partition("[")[0]: schema, **schema.get("$defs", {})}
    for each in _models(model):
        if each.__name__ in parts:
            for field, text in documented(each).items():
                key = each.model_fields[field].alias or field if field in each.model_fields else field
                if key in (properties := parts[each.__name__].get("properties", {})):
                    properties[key]["description"] = text
            # A section may be written as a number where its model says for which of its keys that stands.
            for name, field in each.model_fields.items():
                part = cast(Any, field.annotation)
                if getattr(part, "plain", None):
                    node = parts[each.__name__]["properties"][name]
                    node["anyOf"] = [{"$ref": node.pop("$ref")}, {"type": "integer", "minimum": 1}]
                    node["description"] = parts[part.__name__]["description"]
    if "Task" in parts:
        parts["Task"]["properties"]["reply"]["anyOf"] = [
            {"enum": [TEXT, *REPLIES]},
            {"type": "string", "pattern": r"^\w+\.\w+$|^[\w.]+:\w+$|\.json$"},
            {"type": "object", "required": ["properties"]},
        ]
    return schema


def _models(model: type[BaseModel]) -> list[type[BaseModel]]:
    """A model and those of its fields, theirs too."""
    found: list[type[BaseModel]] = []
    waiting: list[Any] = [model]
    while waiting:
        each = waiting.pop()
        if not (isinstance(each, type) and issubclass(each, BaseModel)):
            waiting += getattr(each, "__args__", ())
        elif each not in found:
            found.append(each)
            waiting += [field.annotation for field in each.model_fields.values()]
            waiting += each.kinds() if hasattr(each, "kinds") else ()  # pyright: ignore[reportAttributeAccessIssue]
    return found
