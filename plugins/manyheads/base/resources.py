"""Where roles, prompts, configs and suites are found, file by file.

The first of these that holds a file wins: the user's folders (`--path`, then `MANYHEADS_PATH`), installed
packs (entry points of the group `manyheads.packs`), then what ships with manyheads.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from manyheads.base.entry_points import folders, point, points
from manyheads.base.errors import ConfigError, describe, did_you_mean
from manyheads.base.files import expanded, read_text
from manyheads.base.text import shortened

M = TypeVar("M", bound=BaseModel)
KINDS = ("roles", "prompts", "configs", "evals")
PACKS = "manyheads.packs"
LARGEST = 4_000_000
"""Maximum characters of a YAML file, which may contain whole papers."""
DEEPEST, MOST_NODES = 50, 200_000
EXPORT = "create one with copies of the shipped files: manyheads prompts export FOLDER WHAT"


@cache
def shipped() -> Path:
    """The folder with the shipped `roles/`, `prompts/`, `configs/` and `evals/`."""
    here = Path(__file__).resolve().parents[1]
    return here / "_data" if (here / "_data").is_dir() else here.parents[1]


def parse_yaml(text: str) -> Any:
    """YAML as plain data, by libyaml, which is ten times as fast as PyYAML's own parser.

    Raises `yaml.YAMLError` also for what is nested too deeply, too large, or holds values that no file or request can.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    _bounded(text, loader)
    try:
        return sound(yaml.load(text, Loader=loader))
    # PyYAML's constructors pass malformed numbers and dates to Python.
    except (ValueError, OverflowError, LookupError, AttributeError, TypeError) as error:
        raise yaml.YAMLError(f"invalid value: {shortened(str(error), 200)}") from error


def _bounded(text: str, loader: Any) -> None:
    """Raises yaml.YAMLError for text that would crash the parser or, with aliases expanded, fill the memory."""
    if len(text) > LARGEST:
        raise yaml.YAMLError(f"longer than {LARGEST:,} characters")
    depth = nodes = 0
    anchors = dict[str, int | None]()
    open_anchors = list[tuple[str | None, int]]()
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.AliasEvent):
            size = anchors.get(event.anchor, 1)
            if size is None:
                raise yaml.YAMLError(f"*{event.anchor} contains itself")
            nodes += size
        elif isinstance(event, yaml.ScalarEvent):
            nodes += 1
            if event.anchor:
                anchors[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            depth, nodes = depth + 1, nodes + 1
            open_anchors.append((event.anchor, nodes - 1))
            if event.anchor:
                anchors[event.anchor] = None
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            anchor, before = open_anchors.pop()
            if anchor:
                anchors[anchor] = nodes - before
        if depth > DEEPEST:
            raise yaml.YAMLError(f"nested more than {DEEPEST} levels deep")
        if nodes > MOST_NODES:
            raise yaml.YAMLError(f"more than {MOST_NODES:,} values with aliases expanded")


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; raises `ConfigError` with the line."""
    try:
        data = parse_yaml(read_text(path))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or error
        has_tabs = re.search(rb"^[ ]*\t", path.read_bytes(), re.MULTILINE)
        hint = "indent with blanks, not tabs" if has_tabs else None
        raise ConfigError(
            f"{path}{f':{mark.line + 1}' if mark else ''}: not valid YAML: {problem}",
            hint="save it as UTF-8" if isinstance(error, UnicodeDecodeError) else hint,
        ) from error
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    if not isinstance(data, dict | None):
        raise ConfigError(f"{path}: should be a mapping of keys to values")
    return cast(dict[str, Any], data or {})


def read_model(path: Path, kind: type[M], hint: str) -> M:
    """A YAML file as a model; raises `ConfigError` with each wrong key, and the hint."""
    try:
        return kind.model_validate(read_yaml(path))
    except ValidationError as error:
        raise ConfigError(f"{path}: {describe(error)}", hint=hint) from error


def parse_json(text: str) -> Any:
    """JSON as plain data with the same limits; raises ValueError."""
    try:
        return sound(json.loads(text, parse_constant=no_constant))
    except RecursionError:
        raise ValueError("nested too deep") from None


def no_constant(name: str) -> NoReturn:
    """For `json.loads`: NaN and Infinity are no JSON."""
    raise ValueError(f"{name} is not valid JSON")


def sound(data: Any) -> Any:
    """The data unchanged; raises ValueError if it cannot be stored or sent."""
    waiting: list[tuple[Any, int]] = [(data, 0)]
    while waiting:
        value, depth = waiting.pop()
        match value:
            case str():
                if "\0" in value:
                    raise ValueError("a text contains a NUL character")
                value.encode()  # lone surrogates cannot be stored or sent
            case int():
                if not -(2**63) <= value < 2**63:
                    raise ValueError("a number has more than 64 bits")
            case dict() | list():
                if depth >= DEEPEST:
                    raise ValueError(f"nested more than {DEEPEST} levels deep")
                items = cast("dict[Any, Any] | list[Any]", value)
                inner = [*items, *items.values()] if isinstance(items, dict) else items
                waiting += [(each, depth + 1) for each in inner]
            case _:
                pass
    return data


def data_file(name: str) -> Path:
    """A file that ships with manyheads, such as `configs/corpora/sample.jsonl`."""
    return shipped() / name


def packs() -> Mapping[str, str]:
    """The packages that bring files or reply types, from their entry points; raises `ConfigError` for duplicate names."""
    return {name: point(PACKS, name, "pack").module for name in points(PACKS)}


@cache
def pack_folders() -> tuple[Path, ...]:
    """The folders of packs, without importing their code; raises `ConfigError` for a package that is not installed."""
    return folders(PACKS) if packs() else ()


@dataclass(frozen=True)
class Resources:
    """A search path over folders that each may hold `roles/`, `prompts/`, `configs/`, `evals/`."""

    folders: tuple[Path, ...] = ()
    """The user's folders, highest priority first."""

    @classmethod
    def of(cls, paths: Sequence[str | Path] = ()) -> "Resources":
        """The search path for these user folders and `MANYHEADS_PATH`; raises `ConfigError` for a missing folder."""
        named = [*paths, *filter(None, os.environ.get("MANYHEADS_PATH", "").split(os.pathsep))]
        folders = tuple(expanded(path).resolve() for path in named)
        for folder in folders:
            if not folder.is_dir():
                raise ConfigError(f"{folder}: no such folder", tried="--path and MANYHEADS_PATH", hint=EXPORT)
        return cls(folders)

    @property
    def search_path(self) -> tuple[Path, ...]:
        return (*self.folders, *pack_folders(), shipped())

    def tried(self, kind: str) -> str:
        """Where files of a kind are looked for, in words."""
        return ", ".join([*(str(root / kind) for root in self.search_path[:-1]), f"the {kind} of manyheads"])

    def find(self, kind: str, name: str) -> Path | None:
        """The winning file `kind/name`, or None. `name` is a relative POSIX path inside `kind`."""
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts:
            raise ConfigError(f"{kind}/{name}: the name must stay inside its folder")
        candidates = ((root, root / kind / inside) for root in self.search_path)
        found = next(((root, path) for root, path in candidates if path.is_file()), None)
        return found and self._own(*found)

    def _own(self, root: Path, path: Path) -> Path:
        """A file of a folder; raises `ConfigError` if a link leads out of a user's folder, which may be a stranger's."""
        if root in self.folders and not path.resolve().is_relative_to(root.resolve()):
            hint = "replace the link by a copy of the file"
            raise ConfigError(f"{path}: a link that leads out of {root}", hint=hint)
        return path

    def need(self, kind: str, name: str) -> Path:
        """Like `find`, but a missing file is a `ConfigError` with the search path and the neighbouring files."""
        if found := self.find(kind, name):
            return found
        every = sorted(self.names(kind))
        beside = [each for each in every if PurePosixPath(each).parent == PurePosixPath(name).parent]
        raise ConfigError(
            f"{kind}/{name}: not found",
            tried=self.tried(kind),
            hint=did_you_mean(
                PurePosixPath(name).stem,
                [PurePosixPath(each).stem for each in beside],
                f"choose one of: {', '.join(beside or every) or 'none'}",
            ),
        )

    def names(self, kind: str, suffix: str = "", inside: str = "") -> dict[str, Path]:
        """Every file of a kind that ends in `suffix`, below `inside`, by its name inside the kind; highest priority wins."""
        return {name: Path(entry.path) for name, entry in self._files(kind, suffix, inside).items()}

    def state(self, kind: str) -> "State":
        """The winning files of a kind with their state on disk; equal as long as no file changes."""
        files = ((name, entry.path, entry.stat()) for name, entry in self._files(kind).items())
        return tuple((name, path, stat.st_ino, stat.st_mtime_ns, stat.st_size) for name, path, stat in files)

    def _files(self, kind: str, suffix: str = "", inside: str = "") -> "dict[str, os.DirEntry[str]]":
        found = dict[str, os.DirEntry[str]]()
        for root in reversed(self.search_path):
            self._own(root, root / kind / inside)
            folders = [(inside, os.path.join(root, kind, inside))]
            files = dict[str, os.DirEntry[str]]()
            for before, folder in folders:  # grows with each subfolder
                with suppress(OSError), os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append((f"{before}{entry.name}/", entry.path))
                        elif (name := before + entry.name).endswith(suffix) and entry.is_file():
                            if entry.is_symlink():
                                self._own(root, Path(entry.path))
                            files[name] = entry
            found |= {name: files[name] for name in sorted(files, key=lambda name: name.split("/"))}
        return found


State = tuple[tuple[str, str, int, int, int], ...]
"""Files by name, with their modification state."""


def summary(file: Path) -> str:
    """The first sentence of a config's opening comment, without its full stop; empty if it has none."""
    try:
        lines = read_text(file).splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    comment = takewhile(lambda line: line.startswith("#"), lines)
    words = (line.lstrip("# ") for line in comment if "yaml-language-server" not in line)
    return re.split(r"(?<!App)\. |: manyheads ", " ".join(words).strip())[0].rstrip(".:")
