"""The files of a suite: `suite.yaml`, its cases, and people's ratings of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import normpath
from typing import Any, cast

from pydantic import ValidationError

from manyheads.base.errors import ConfigError, describe, did_you_mean
from manyheads.base.files import expanded, read_text
from manyheads.base.resources import Resources, data_file, parse_json
from manyheads.config import Slot
from manyheads.config.files import read_yaml
from manyheads.measures.ratings import SCORE, Ratings, read_ratings
from manyheads.suites.spec import SuiteSpec
from manyheads.systems import systems

# A suite's cases: a JSON Lines file, one case per line.


ID, ABOUT = "id", "about"
LARGEST = 20_000_000
"""Maximum bytes of the file."""


def read_cases(path: Path, key: str | None = None) -> dict[str, dict[str, Any]]:
    """The config keys of each case by its id. Relative paths are resolved against this file.

    Args:
        key: for a folder: the key that is set to each file.

    Raises:
        ConfigError: the file cannot be read, is empty, or has a duplicate.
    """
    if path.is_dir():
        return _cases_of_folder(path, key)
    try:
        lines = read_text(path, LARGEST).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(
            f"{path}: cannot be read: {why}",
            hint="put the cases next to the suite, or name a file with --cases",
        ) from error
    cases: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            data: object = parse_json(line)
        except ValueError as error:
            raise ConfigError(f"{where}: not valid JSON: {error}") from error
        keys = cast(dict[str, Any], data) if isinstance(data, dict) else {}
        case = keys.pop(ID, None)
        case = str(case) if type(case) is int else case
        if not isinstance(case, str) or not case.strip():
            raise ConfigError(
                f"{where}: not a case: {ID} is {'missing' if case is None else 'not a text or a whole number'}",
                hint='such as {"id": "robots", "topic": "Robots that learn"}',
            )
        if not isinstance(keys.pop(ABOUT, ""), str):
            raise ConfigError(f"{where}: {ABOUT} must be a text for readers")
        if case in cases:
            raise ConfigError(f"{where}: duplicate case {case!r}")
        cases[case] = {key: _beside(path.parent, key, value) for key, value in keys.items()}
    if not cases:
        raise ConfigError(f"{path}: no cases in it")
    return cases


def _cases_of_folder(folder: Path, key: str | None) -> dict[str, dict[str, Any]]:
    if key is None:
        raise ConfigError(
            f"{folder}: is a folder; this suite takes a file of cases", hint="JSON Lines, one case per line"
        )
    cases: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.iterdir()):
        if (
            not file.is_file() or file.name.startswith(".") or file.suffix == ".csv"
        ):  # people's ratings may be there too
            continue
        case = file.name.partition(".")[0] or file.name
        if case in cases:
            raise ConfigError(f"{file}: duplicate case {case!r}", hint="rename one of the files")
        cases[case] = {key: str(file.absolute())}
    if not cases:
        raise ConfigError(f"{folder}: no files in it")
    return cases


def _beside(base: Path, key: str, value: Any) -> Any:
    """A value with the paths of its files made absolute."""
    if isinstance(value, Mapping):
        inner = cast(Mapping[str, Any], value)
        return {each: _beside(base, f"{key}.{each}", below) for each, below in inner.items()}
    slot = _slot(key)
    if isinstance(value, list) and slot.file:
        return [_beside(base, key, each) for each in cast(list[Any], value)]
    kinds = slot.metavar.split("|")
    is_file = (slot.file or "FILE" in kinds) and ("TEXT" not in kinds or _exists(base, key, value))
    return str((base / expanded(value)).absolute()) if is_file and isinstance(value, str) else value


def _slot(key: str) -> Slot:
    """The slot of a key, in the inputs or the section of any system."""
    if key in ("paths", "corpus"):
        return Slot(file=True, metavar="FOLDER" if key == "paths" else "FOLDER|TEXT")
    above, _, name = key.rpartition(".")
    slots = (
        slot
        for system in systems().values()
        if above in ("", "inputs", system.name, *system.aliases)
        for fields in (system.inputs.model_fields, system.config.model_fields)
        if name in fields
        for slot in fields[name].metadata
        if isinstance(slot, Slot)
    )
    return next(slots, Slot())


def _exists(base: Path, key: str, value: object) -> bool:
    """Whether a text is the name of a file, here or there.

    A file in the working folder counts as missing next to the cases, not as found.
    """
    if not isinstance(value, str) or (key == "corpus" and "/" not in value):
        return False
    try:
        path = expanded(value)
        return (base / path).exists() or path.exists()
    except (OSError, RuntimeError):  # no name that a file could have
        return False


# Reading a suite: from `evals/<name>/` of a user's folder, a pack or the package, or from a named folder.

FILE = "suite.yaml"
LARGEST_SUITE = 500_000
"""Maximum bytes of that file."""
KIND = "evals"


@dataclass(frozen=True)
class Suite:
    """A suite, with the config keys of each case by its id; without cases there is one, `""`.

    Attributes:
        people: their ratings of the cases, for `calibration`.
    """

    name: str
    spec: SuiteSpec
    cases: dict[str, dict[str, Any]] = field(default_factory=lambda: {"": dict[str, Any]()})
    people: Ratings | None = None


def read_suite(name: str, resources: Resources, cases: Path | None = None) -> Suite:
    """The suite of that name, in that folder, or of that `suite.yaml`.

    Args:
        cases: a file of cases to use instead, or a folder with one file per case.

    Raises:
        ConfigError: there is no such suite, a file cannot be read, or a key or value is invalid.
        RatingError: people's ratings of its cases cannot be read.
    """

    def find(file: str) -> Path:
        return folder / file if own else resources.need(KIND, normpath(f"{name}/{file}"))

    folder = Path(name).parent if Path(name).name == FILE else Path(name)
    own = (folder / FILE).is_file()
    if not own and (folder.name != name or not resources.find(KIND, f"{name}/{FILE}")):
        raise ConfigError(
            f"{name}: no such suite",
            tried=", ".join([str(folder.absolute()), *(str(root / KIND) for root in resources.search_path)]),
            hint=did_you_mean(
                name,
                suite_names(resources),
                f"name a folder with a {FILE}, or one of {', '.join(suite_names(resources)) or 'none'}",
            ),
        )
    path = find(FILE)
    if path.stat().st_size > LARGEST_SUITE:
        raise ConfigError(
            f"{path}: more than {LARGEST_SUITE // 1000} kB", hint="put the cases in a file of their own"
        )
    try:
        spec = SuiteSpec.model_validate(read_yaml(path))
    except ValidationError as error:
        hint = f"all keys are described in {data_file('evals/suite.schema.json')}"
        raise ConfigError(f"{path}: {describe(error)}", hint=hint) from error
    name = folder.resolve().name if own else name
    file = cases or (find(spec.cases) if spec.cases else None)
    if not file:
        return Suite(name, spec)
    calibration, beside = spec.calibration, file if file.is_dir() else file.parent
    keys = read_cases(file, spec.files)
    people = read_ratings([beside / calibration.people], {SCORE: calibration.on}) if calibration else None
    return Suite(name, spec, keys, people)


def suite_names(resources: Resources) -> list[str]:
    """The names of all suites."""
    return sorted(name.removesuffix(f"/{FILE}") for name in resources.names(KIND, f"/{FILE}"))
