"""Where roles, prompts, configs and suites are found, file by file.

The first of these that holds a file wins: the user's folders (`--path`, then `MANYHEADS_PATH`), installed
packs (entry points of the group `manyheads.packs`), then what ships with manyheads.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from manyheads.errors import ConfigError

KINDS = ("roles", "prompts", "configs", "evals")
PACKS = "manyheads.packs"
EXPORT = "manyheads prompts export FOLDER makes one, with copies of ours to edit"


@cache
def shipped() -> Path:
    """The folder that holds our own `roles/`, `prompts/`, `configs/` and `evals/`."""
    here = Path(__file__).resolve().parent
    return here / "_data" if (here / "_data").is_dir() else here.parents[1]


def parse_yaml(text: str) -> Any:
    """YAML as plain data. PyYAML's own parser takes ten times as long as libyaml, on which its wheels bring another.

    Raises:
        yaml.YAMLError: the text is no YAML.
    """
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def data_file(name: str) -> Path:
    """A file that ships with manyheads, such as `configs/corpora/sample.jsonl`."""
    return shipped() / name


@cache
def packs() -> Mapping[str, str]:
    """The packages that bring files or reply types, by the names of their entry points.

    Raises:
        ConfigError: two of them have the same name.
    """
    found: dict[str, str] = {}
    for point in entry_points(group=PACKS):
        if found.setdefault(point.name, point.module) != point.module:
            raise ConfigError(
                f"two packs are named {point.name!r}: {found[point.name]} and {point.module}",
                hint="uninstall one of the packages that bring them",
            )
    return found


@cache
def pack_folders() -> tuple[Path, ...]:
    """The folders of installed packs; found without importing their code (a parent package's apart).

    Raises:
        ConfigError: an installed pack names a package that is not there, or two have the same name.
    """
    folders: list[str] = []
    for name, package in packs().items():
        try:
            spec = find_spec(package)
        except ModuleNotFoundError:
            spec = None
        if spec is None:
            raise ConfigError(
                f"pack {name!r}: its entry point names {package}, which is not installed",
                hint="reinstall or uninstall the package that brings it",
            )
        folders += spec.submodule_search_locations or ()
    return tuple(map(Path, folders))


@dataclass(frozen=True)
class Resources:
    """A search path over folders that each may hold `roles/`, `prompts/`, `configs/`, `evals/`.

    Args:
        folders: the user's folders, first one strongest.
    """

    folders: tuple[Path, ...] = ()

    @classmethod
    def of(cls, paths: Sequence[str | Path] = ()) -> "Resources":
        """The search path for these user folders and those of `MANYHEADS_PATH`.

        Raises:
            ConfigError: a named folder does not exist.
        """
        named = [*paths, *filter(None, os.environ.get("MANYHEADS_PATH", "").split(os.pathsep))]
        folders = tuple(Path(path).expanduser().resolve() for path in named)
        for folder in folders:
            if not folder.is_dir():
                raise ConfigError(f"{folder}: no such folder", tried="--path and MANYHEADS_PATH", hint=EXPORT)
        return cls(folders)

    @property
    def search_path(self) -> tuple[Path, ...]:
        return (*self.folders, *pack_folders(), shipped())

    def find(self, kind: str, name: str) -> Path | None:
        """The winning file `kind/name`, or None. `name` is a relative POSIX path inside `kind`."""
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts:
            raise ConfigError(f"{kind}/{name}: a name stays inside its folder")
        candidates = (root / kind / inside for root in self.search_path)
        return next((path for path in candidates if path.is_file()), None)

    def need(self, kind: str, name: str) -> Path:
        """Like `find`, but a missing file is a `ConfigError` that lists where it was looked for, and its neighbours."""
        if found := self.find(kind, name):
            return found
        every = sorted(self.names(kind))
        beside = [each for each in every if PurePosixPath(each).parent == PurePosixPath(name).parent]
        raise ConfigError(
            f"{kind}/{name}: not found",
            tried=", ".join(str(root / kind) for root in self.search_path),
            hint=f"there are: {', '.join(beside or every) or 'none'}",
        )

    def names(self, kind: str, suffix: str = "") -> dict[str, Path]:
        """Every file of a kind that ends in `suffix`, by its name inside the kind; strongest file wins."""
        found: dict[str, Path] = {}
        for root in reversed(self.search_path):
            base = root / kind
            found |= {
                p.relative_to(base).as_posix(): p for p in sorted(base.rglob(f"*{suffix}")) if p.is_file()
            }
        return found


def copy_out(resources: Resources, folder: Path, kinds: Sequence[str]) -> list[Path]:
    """Copy every winning file of some kinds into a user's folder; files that are there already are kept.

    Raises:
        ConfigError: the folder cannot be written.
    """
    written: list[Path] = []
    for kind in kinds:
        for name, source in resources.names(kind).items():
            target = folder / kind / name
            if target.exists():
                continue
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read_bytes())
            except OSError as error:
                raise ConfigError(f"{target}: {error.strerror}") from error
            written.append(target)
    return written
