"""Completion in the shell: names of configs, suites, corpora, runs and so on, read from the disk without heavy imports.

Each function gets the typed part of a word and returns its completions. Without any, the shell completes files.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import typer

from manyheads.base.entry_points import points
from manyheads.base.errors import UserError

Completion: TypeAlias = Callable[[typer.Context, str], Sequence[str]]


def _completes(names: Callable[[Any], Iterable[str]]) -> Completion:
    """The completion whose names a function of the command's context gives."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        return sorted({name for name in names(ctx) if name.startswith(incomplete)})

    return complete


def one_of(*choices: str) -> Completion:
    """The completion of an option with fixed choices."""
    return _completes(lambda ctx: choices)


def _shipped(ctx: Any, kind: str, folder: str = "") -> list[str]:
    """Names in a folder, of YAML files from the package, from packs and from the folders of `--path`."""
    from manyheads.base.resources import Resources

    with suppress(UserError):
        names = Resources.of(ctx.params.get("path") or ()).names(kind, ".yaml")
        return [name.removeprefix(folder).removesuffix(".yaml") for name in names if name.startswith(folder)]
    return []


def _holding(*patterns: str) -> list[str]:
    """The folders of the files that patterns find."""
    return [str(path.parent) for pattern in patterns for path in Path().glob(pattern)]


arenas = _completes(lambda ctx: _holding("*/arena.sqlite", "*/*/arena.sqlite"))
arena_forms = _completes(lambda ctx: _shipped(ctx, "configs", "arena/"))
formats = _completes(lambda ctx: [*_shipped(ctx, "configs", "formats/"), "auto"])
forms = _completes(lambda ctx: [*_shipped(ctx, "prompts", "review_leader/forms/"), "conference", "rating"])
limits = one_of("calls=", "tokens=", "money=", "minutes=")
roles = _completes(lambda ctx: _shipped(ctx, "roles"))
measures = _completes(lambda ctx: points("manyheads.measures"))


@_completes
def runs(ctx: Any) -> Iterable[str]:
    """The folders of the project's runs."""
    from manyheads.report.index import folders_of_runs

    return (str(path.parent) for folder in folders_of_runs() for path in folder.glob("*/config.yaml"))


@_completes
def configs(ctx: Any) -> Iterable[str]:
    """Configs, systems of packs, and the user's own files."""
    own = (path.name for path in Path().glob("*.y*ml"))
    return (
        *(name for name in _shipped(ctx, "configs") if "/" not in name),
        *points("manyheads.systems"),
        *own,
    )


@_completes
def hosts(ctx: Any) -> Iterable[str]:
    from manyheads.config.environment import hosts

    return hosts()


@_completes
def sources(ctx: Any) -> Iterable[str]:
    from manyheads.base.papers import source_names

    return source_names()


@_completes
def suites(ctx: Any) -> Iterable[str]:
    shipped = (name for name in _shipped(ctx, "evals") if name.endswith("/suite"))
    own = _holding("*/suite.yaml", "evals/*/suite.yaml")
    return (*(name.removesuffix("/suite") for name in shipped), *own)


@_completes
def corpora(ctx: Any) -> Iterable[str]:
    from manyheads.base.resources import data_file

    shipped = (path.stem for path in data_file("configs/corpora").glob("*.jsonl"))
    return (*shipped, *_holding("*/meta.json", "corpora/*/meta.json"))


@_completes
def models(ctx: Any) -> Iterable[str]:
    """Models with a list price, and the providers that serve any other."""
    from manyheads.base.resources import data_file, parse_yaml

    listed = parse_yaml(data_file("configs/models/prices.yaml").read_text(encoding="utf-8"))["models"]
    return (
        "offline", "openai/", "anthropic/", "ollama/", "command/",
        *(name for name in listed if "*" not in name),
    )  # fmt: skip


def system_options(names: Sequence[str]) -> list[str]:
    """The options of the last of these systems, from the shipped schema of run files."""
    from manyheads.base.resources import data_file

    definitions = json.loads(data_file("configs/run.schema.json").read_text(encoding="utf-8"))["$defs"]
    for name in reversed(names):
        inputs = definitions.get(name, {}).get("properties", {}).get("inputs", {})
        if reference := inputs.get("$ref", ""):
            properties = definitions[reference.rsplit("/", 1)[-1]]["properties"]
            return [f"--{each.replace('_', '-')}" for each in properties]
    return []
