"""What a client may ask for: configs, settings and files in one folder, within a budget."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, cast

from manyheads.base.errors import BudgetError, ConfigError
from manyheads.base.files import expanded
from manyheads.base.resources import Resources, shipped
from manyheads.base.text import printable
from manyheads.config import BudgetConfig, RunConfig
from manyheads.config.files import parse_set
from manyheads.core import NOTHING, Usage
from manyheads.core.texts import IDEA, LINE
from manyheads.models.prices import need_prices
from manyheads.systems.loading import load

OWNERS = {
    "models", "host", "embedding", "paths", "roles", "reader", "budget", "confirm", "base_url", "api_key_env", "endpoints",
    "semantic_scholar_key_env", "inputs", "system",
}  # fmt: skip
"""Keys that a client cannot set: they say who is asked, what is run or what it costs."""
KEY = re.compile(r"[A-Za-z_][\w.-]{0,200}")
LONGEST = 4_000
"""Characters of the longest path."""
MOST_FOLDERS = 10_000
"""Folders, one within another, that are looked through for links."""
LIMITS = ("calls", "tokens", "money", "seconds")


@dataclass(frozen=True)
class Bounds:
    """The owner's bounds for all clients of a server.

    Args:
        folder: clients name files in it alone.
        settings: the owner's own `key=value` settings, such as the model.
        paths: the owner's folders with roles and prompts.
        run: the most that one run may use.
        cap: the most that all runs of this server may use.
    """

    folder: Path
    settings: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    run: BudgetConfig = field(default_factory=BudgetConfig)
    cap: BudgetConfig = field(default_factory=BudgetConfig)

    def config(
        self, name: str, inputs: Mapping[str, Any], settings: Mapping[str, Any], steer: Sequence[str] = ()
    ) -> RunConfig:
        """The config of a run: a shipped one or a file in the folder, with the owner's settings and the client's.

        Raises:
            ConfigError: the client may not use one of them, or they do not fit together.
        """
        changes = [*self._client_settings(settings), *(["steer=" + _written([*steer])] if steer else [])]
        changes += [f"inputs.{_key(key)}={_written(value)}" for key, value in inputs.items() if value]
        config = self.checked(load([self._named(name)], (*self.settings, *changes), resources=self.resources))
        paths = (*(str(path.resolve()) for path in self.paths), *config.paths)
        return config.model_copy(update={"paths": tuple(dict.fromkeys(paths))})

    @property
    def resources(self) -> Resources:
        return Resources.of(self.paths)

    def _named(self, name: str) -> str:
        if "/" not in name and "\\" not in name and not name.endswith((".yaml", ".yml")):
            return name
        return str(self.path(name))

    def _client_settings(self, settings: Mapping[str, Any]) -> Iterator[str]:
        for key, value in settings.items():
            within = (name for name, _ in _nested(value))
            names = {part for name in (_key(key), *within) for part in (name, *name.split("."))}
            if owned := sorted(names & OWNERS):
                raise ConfigError(
                    f"{key}: {', '.join(owned)} cannot be set by a client",
                    hint="the server's owner sets it: manyheads mcp -s KEY=VALUE, or a config file in the folder",
                )
            yield f"{key}={_written(value)}"

    def path(self, name: str) -> Path:
        """A file or folder that a client names, its links resolved; raises `ConfigError` if it is outside, or not there."""
        path = self._real(name)
        if path is None:
            raise ConfigError(f"{name[:200]}: no such file in the server's folder", hint="name it from there")
        self._inside(name, path)
        return path

    def checked(self, config: RunConfig) -> RunConfig:
        """The config; raises `ConfigError` if one of its texts is the path of something outside the folder."""
        owned = {self._real(text) for each in self.settings for text in _texts(parse_set(each))}
        owned |= {path.resolve() for path in self.paths}
        for text in _texts(config.model_dump(mode="json")):
            if (path := self._real(text)) and path not in owned and not path.is_relative_to(shipped()):
                self._inside(text, path)
        return config

    def _real(self, text: str) -> Path | None:
        """The file or folder of this name, links resolved; None if there is none."""
        if not text or len(text) > LONGEST or "\0" in text:
            return None
        line = LINE.fullmatch(text) or IDEA.fullmatch(text)
        for name in (text, *([line[1]] if line else [])):
            with suppress(OSError, RuntimeError, ValueError):  # no possible name, a loop of links
                if (path := self.folder / expanded(name)).exists():
                    return path.resolve()
        return None

    def _inside(self, name: str, path: Path) -> None:
        for each in chain([path], _entries(path) if path.is_dir() else ()):
            if not each.resolve().is_relative_to(self.folder):
                raise ConfigError(
                    f"{name[:200]}: outside the server's folder, or a link that leads out of it",
                    hint="copy it into the folder: clients of manyheads mcp read nothing else",
                )

    def allowance(
        self, config: RunConfig, wanted: Mapping[str, float], used: Sequence[Usage]
    ) -> BudgetConfig:
        """The budget of the next run: what the client wants, within the bound of a run, and what is left of the cap.

        Args:
            used: what earlier runs used, or may still use.

        Raises:
            ConfigError: the client wants more than a run may use, or money is limited and a model has no price.
            BudgetError: the cap is used up.
        """
        limits, total = dict[str, Any](), sum(used, NOTHING)
        own = BudgetConfig.model_validate({**config.budget.model_dump(), **wanted})
        for name in LIMITS:
            asked, most, cap = (getattr(each, name) for each in (own, self.run, self.cap))
            if name in wanted and most is not None and wanted[name] > most:
                raise ConfigError(
                    f"budget.{name}: {wanted[name]:g} is more than a run may use, {most:g}",
                    hint=f"ask for less; the owner sets it: manyheads mcp --budget {name}=NUMBER",
                )
            left = cap
            if cap is not None and name != "seconds":
                left = cap - {"calls": total.calls, "tokens": total.tokens, "money": total.cost or 0}[name]
            if left is not None and left <= 0:
                raise BudgetError(
                    f"{name}: the runs of this server have used all of {cap:g}, or may still use it",
                    hint="wait for running ones; the owner sets it: manyheads mcp --cap, and restarts the server",
                )
            limits[name] = min((each for each in (asked, most, left) if each is not None), default=None)
        if limits["money"] is not None:
            need_prices(config, "a budget in money")
        return BudgetConfig.model_validate(limits)


def _key(key: str) -> str:
    if not KEY.fullmatch(key):
        raise ConfigError(f"{key[:200]!r}: not a key of a config", hint="write it as team.size")
    return key


def _written(value: object) -> str:
    return printable(json.dumps(value, ensure_ascii=False))


def _nested(value: object) -> Iterator[tuple[str, object]]:
    """What stands in a value, at any depth, each with its key, which is empty in a list."""
    match value:
        case Mapping():
            items = cast(Mapping[object, object], value).items()
        case list() | tuple():
            items = (("", inner) for inner in cast(Sequence[object], value))
        case _:
            return
    for key, inner in items:
        yield str(key), inner
        yield from _nested(inner)


def _texts(data: Mapping[str, Any]) -> Iterator[str]:
    return (inner for _, inner in _nested(data) if isinstance(inner, str))


def _entries(folder: Path) -> Iterator[Path]:
    """The entries of a folder, at any depth; links to folders are not followed."""
    for number, (top, folders, files) in enumerate(os.walk(folder)):
        if number > MOST_FOLDERS:
            raise ConfigError(f"{folder}: has more than {MOST_FOLDERS:,} folders", hint="name one of them")
        yield from (Path(top, name) for name in (*folders, *files))
