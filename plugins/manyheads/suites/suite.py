"""A suite, read: from `evals/<name>/` of a user's folder, a pack or ours, or from a folder that is named."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import normpath
from typing import Any

from pydantic import ValidationError

from manyheads.config import read_yaml
from manyheads.errors import ConfigError
from manyheads.resources import Resources, data_file
from manyheads.roles import describe
from manyheads.suites.cases import read_cases
from manyheads.suites.spec import SuiteSpec

FILE = "suite.yaml"
KIND = "evals"


@dataclass(frozen=True)
class Suite:
    """A suite, and the config keys of each of its cases, by the case's id; a suite without cases has one, `""`."""

    name: str
    spec: SuiteSpec
    cases: dict[str, dict[str, Any]] = field(default_factory=lambda: {"": dict[str, Any]()})


def read_suite(name: str, resources: Resources, cases: Path | None = None) -> Suite:
    """The suite of that name, or in that folder.

    Args:
        cases: a file of cases that take the place of its own.

    Raises:
        ConfigError: there is none, a file of it cannot be read, or a key or value does not fit.
    """
    if (Path(name) / FILE).is_file():
        return _read(Path(name).resolve().name, lambda file: Path(name) / file, cases)
    if not resources.find(KIND, f"{name}/{FILE}"):
        raise ConfigError(
            f"{name}: no such suite",
            tried=", ".join(
                [str(Path(name).absolute()), *(str(root / KIND) for root in resources.search_path)]
            ),
            hint=f"name a folder with a {FILE}, or one of {', '.join(suite_names(resources)) or 'none'}",
        )
    return _read(name, lambda file: resources.need(KIND, normpath(f"{name}/{file}")), cases)


def suite_names(resources: Resources) -> list[str]:
    """The suites that there are."""
    return sorted(name.removesuffix(f"/{FILE}") for name in resources.names(KIND, f"/{FILE}"))


def _read(name: str, find: Callable[[str], Path], cases: Path | None) -> Suite:
    path = find(FILE)
    try:
        spec = SuiteSpec.model_validate(read_yaml(path))
    except ValidationError as error:
        hint = f"all keys, with what they mean, are in {data_file('evals/suite.schema.json')}"
        raise ConfigError(f"{path}: {describe(error)}", hint=hint) from error
    file = cases or (find(spec.cases) if spec.cases else None)
    return Suite(name, spec, read_cases(file)) if file else Suite(name, spec)
