"""Records as JSON Lines, one a line: what is measured is kept and read back so."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from manyheads.errors import MeasureError
from manyheads.roles import describe

M = TypeVar("M", bound=BaseModel)


def as_lines(records: Iterable[BaseModel]) -> str:
    """A record a line."""
    return "".join(f"{record.model_dump_json()}\n" for record in records)


def read_lines(path: Path, kind: type[M]) -> list[M]:
    """The records of a file that holds what `as_lines` gave.

    Raises:
        MeasureError: the file cannot be read, or a line holds no such record.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise MeasureError(f"{path}: cannot be read: {error}") from error
    return [_record(path, number, line, kind) for number, line in enumerate(lines, 1) if line.strip()]


def _record(path: Path, number: int, line: str, kind: type[M]) -> M:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise MeasureError(f"{path}:{number}: {describe(error)}") from error
