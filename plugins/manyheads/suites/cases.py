"""A suite's cases: a JSON Lines file, a case a line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from manyheads.errors import ConfigError

ID, ABOUT = "id", "about"
PATHS = ("subject", "paths", "baseline.like")
"""Config keys that name files or folders."""
OR_TEXTS = ("background", "rebuttal.idea", "ranking.target", "ranking.ideas", "corpus")
"""Config keys that may do so."""
SUCH_AS = 'such as {"id": "robots", "topic": "Robots that learn"}'


def read_cases(path: Path) -> dict[str, dict[str, Any]]:
    """The config keys of each case, by its id. Files that they name are found beside this one, wherever it lies.

    Raises:
        ConfigError: the file cannot be read, holds no cases, or one twice.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(
            f"{path}: cannot be read: {why}",
            hint="cases are in a file beside the suite, or --cases names one",
        ) from error
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            case, keys = _case(f"{path}:{number}", line)
            if case in found:
                raise ConfigError(f"{path}:{number}: there is a case {case!r} already")
            found[case] = {key: _beside(path.parent, key, value) for key, value in keys.items()}
    if not found:
        raise ConfigError(f"{path}: no cases in it")
    return found


def _case(where: str, line: str) -> tuple[str, dict[str, Any]]:
    try:
        data: object = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"{where}: not valid JSON: {error}") from error
    keys = cast(dict[str, Any], data) if isinstance(data, dict) else {}
    case = keys.pop(ID, None)
    if not isinstance(case, str) or not case.strip():
        raise ConfigError(f"{where}: no case", hint=SUCH_AS)
    if not isinstance(keys.pop(ABOUT, ""), str):
        raise ConfigError(f"{where}: {ABOUT} is a text that tells readers of the case")
    return case, keys


def _beside(base: Path, key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        inner = cast(Mapping[str, Any], value)
        return {each: _beside(base, f"{key}.{each}", below) for each, below in inner.items()}
    if isinstance(value, list) and key != "background":  # a list of which is of texts
        return [_beside(base, key, each) for each in cast(list[Any], value)]
    if not isinstance(value, str) or not (key in PATHS or (key in OR_TEXTS and _exists(base, key, value))):
        return value
    return str((base / Path(value).expanduser()).absolute())


def _exists(base: Path, key: str, value: str) -> bool:
    """Whether a text is the name of a file, here or there.

    One that lies in the present folder alone counts: it is not taken from there, but missed beside the cases.
    """
    if key == "corpus" and "/" not in value:
        return False
    try:
        path = Path(value).expanduser()
        return (base / path).exists() or path.exists()
    except (OSError, RuntimeError):  # no name that a file could have
        return False
