"""Records as they are kept: JSON Lines, one a line."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)


def read_lines(path: Path, kind: type[M]) -> list[M]:
    """The records of a file that a command has written."""
    return [kind.model_validate_json(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
