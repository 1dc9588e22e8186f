"""Completion in the shell: names of configs, suites, corpora, runs and so on, read from the disk without heavy imports.

Each function gets the typed part of a word and returns its completions. Without any, the shell completes files.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias

import typer

from manyheads.base.errors import UserError

Completion: TypeAlias = Callable[[typer.Context, str], Sequence[str]]


def _files(ctx: Any, kind: str, suffix: str) -> Iterable[str]:
    """Names, without suffix, of files from the package, from packs and from the folders of `--path`."""
    from manyheads.base.resources import Resources

    with suppress(UserError):
        names = Resources.of(ctx.params.get("path") or ()).names(kind, suffix)
        return [name.removesuffix(suffix) for name in names]
    return []


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted({name for name in names if name.startswith(incomplete)})


def configs(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    names = {name for name in _files(ctx, "configs", ".yaml") if "/" not in name}
    brought = {entry.name for entry in entry_points(group="manyheads.systems")}
    own = (path.name for path in Path().glob("*.y*ml"))
    return _matching({*names, *brought, *own}, incomplete)


def hosts(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    from manyheads.config.hosts import hosts

    return _matching(hosts(), incomplete)


def suites(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    own = (str(path.parent) for path in (*Path().glob("*/suite.yaml"), *Path().glob("evals/*/suite.yaml")))
    shipped = (
        name.removesuffix("/suite") for name in _files(ctx, "evals", ".yaml") if name.endswith("/suite")
    )
    return _matching({*shipped, *own}, incomplete)


def corpora(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    from manyheads.base.resources import data_file

    shipped = (path.stem for path in data_file("configs/corpora").glob("*.jsonl"))
    own = (str(path.parent) for path in (*Path().glob("*/meta.json"), *Path().glob("corpora/*/meta.json")))
    return _matching({*shipped, *own}, incomplete)


def arenas(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    folders = (*Path().glob("*/arena.sqlite"), *Path().glob("*/*/arena.sqlite"))
    return _matching((str(path.parent) for path in folders), incomplete)


def arena_forms(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    names = _files(ctx, "configs", ".yaml")
    return _matching((name.removeprefix("arena/") for name in names if name.startswith("arena/")), incomplete)


def formats(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    names = (
        name.removeprefix("formats/")
        for name in _files(ctx, "configs", ".yaml")
        if name.startswith("formats/")
    )
    return _matching((*names, "auto"), incomplete)


def runs(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    folders = (*Path().glob("*/config.yaml"), *Path().glob("runs/*/config.yaml"))
    return _matching((str(path.parent) for path in folders), incomplete)


def texts(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    """Run folders; before anything is typed, files too."""
    files = (
        (str(path) for path in Path().iterdir() if not path.name.startswith(".")) if not incomplete else ()
    )
    return _matching((*runs(ctx, incomplete), *files), incomplete)


def roles(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    return _matching(_files(ctx, "roles", ".yaml"), incomplete)


def forms(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    """Review forms for papers, and the two for abstracts."""
    folder = "review_leader/forms/"
    names = (name for name in _files(ctx, "prompts", ".yaml") if name.startswith(folder))
    return _matching((*(name.removeprefix(folder) for name in names), "conference", "rating"), incomplete)


def models(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    """Models with a list price, and the providers that serve any other."""
    from manyheads.base.resources import data_file, parse_yaml

    listed = parse_yaml(data_file("configs/models/prices.yaml").read_text(encoding="utf-8"))["models"]
    names = (name for name in listed if "*" not in name)
    return _matching(("offline", "openai/", "anthropic/", "ollama/", *names), incomplete)


def one_of(*choices: str) -> Completion:
    """The completion of an option with fixed choices."""

    def complete(ctx: typer.Context, incomplete: str) -> Sequence[str]:
        return _matching(choices, incomplete)

    return complete


def limits(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    return _matching(("calls=", "tokens=", "money=", "minutes="), incomplete)


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
