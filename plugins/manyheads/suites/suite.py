"""A suite, read: from `evals/<name>/` of a user's folder, a pack or ours, or from a folder that is named."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from manyheads.config import read_yaml
from manyheads.errors import ConfigError
from manyheads.resources import Resources, data_file
from manyheads.roles import describe
from manyheads.suites.spec import SuiteSpec

FILE = "suite.yaml"
KIND = "evals"


@dataclass(frozen=True)
class Suite:
    """A suite, and the config keys of each of its cases, by the case's id; a suite without cases has one, `""`."""

    name: str
    spec: SuiteSpec
    cases: dict[str, dict[str, Any]] = field(default_factory=lambda: {"": dict[str, Any]()})


def read_suite(name: str, resources: Resources) -> Suite:
    """The suite of that name, or in that folder.

    Raises:
        ConfigError: there is none, a file of it cannot be read, or a key or value does not fit.
    """
    if (Path(name) / FILE).is_file():
        return _read(Path(name).resolve().name, lambda file: Path(name) / file)
    if not resources.find(KIND, f"{name}/{FILE}"):
        raise ConfigError(
            f"{name}: no such suite",
            tried=", ".join(
                [str(Path(name).absolute()), *(str(root / KIND) for root in resources.search_path)]
            ),
            hint=f"name a folder with a {FILE}, or one of {', '.join(suite_names(resources)) or 'none'}",
        )
    return _read(name, lambda file: resources.need(KIND, f"{name}/{file}"))


def suite_names(resources: Resources) -> list[str]:
    """The suites that there are."""
    return sorted(name.removesuffix(f"/{FILE}") for name in resources.names(KIND, f"/{FILE}"))


def _read(name: str, find: Callable[[str], Path]) -> Suite:
    path = find(FILE)
    try:
        spec = SuiteSpec.model_validate(read_yaml(path))
    except ValidationError as error:
        hint = f"all keys, with what they mean, are in {data_file('evals/suite.schema.json')}"
        raise ConfigError(f"{path}: {describe(error)}", hint=hint) from error
    return Suite(name, spec, _cases(find(spec.cases))) if spec.cases else Suite(name, spec)


def _cases(path: Path) -> dict[str, dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: cannot be read: {error}", hint="cases names a file beside the suite"
        ) from error
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            case, keys = _case(f"{path}:{number}", line)
            if case in found:
                raise ConfigError(f"{path}:{number}: there is a case {case!r} already")
            found[case] = keys
    if not found:
        raise ConfigError(f"{path}: no cases in it")
    return found


def _case(where: str, line: str) -> tuple[str, dict[str, Any]]:
    try:
        data: object = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"{where}: not valid JSON: {error}") from error
    keys = cast(dict[str, Any], data) if isinstance(data, dict) else {}
    case = keys.pop("id", None)
    if not isinstance(case, str) or not case.strip():
        raise ConfigError(f"{where}: no case", hint='such as {"id": "robots", "topic": "Robots that learn"}')
    return case, keys
