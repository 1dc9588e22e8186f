"""Texts, and the files that hold them, as a config names them."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from manyheads.subjects import is_there


def in_full(value: str) -> str:
    """A file or folder, or a line of a file, that is there, named in full so that a run goes on from any directory.

    Anything else is the text itself.
    """
    try:
        path = Path(value).expanduser()
        return str(path.resolve()) if is_there(path) else value
    except (OSError, RuntimeError):  # no name that a file could have
        return value


def file_or_text(value: str | None) -> str | None:
    """The same, None of what is blank."""
    return in_full(value) if value and value.strip() else None


def _no_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("is blank")
    return value


FileOrText = Annotated[str | None, AfterValidator(file_or_text)]
"""The name of a file or folder, or a text; None where it is blank."""
Given = Annotated[str, AfterValidator(_no_blank), AfterValidator(in_full)]
"""One of several that are given: the name of a file or folder, or a text."""
Trait = Annotated[str, AfterValidator(_no_blank)]
"""By what a quality is known."""
