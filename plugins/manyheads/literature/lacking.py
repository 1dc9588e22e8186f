"""Look-ups that a source does not have."""

from typing import NoReturn

from manyheads.errors import LiteratureError


class LackingError(LiteratureError):
    """A source has no such look-up at all. It is passed over for it, which is no failure."""


def lacks(source: str, what: str) -> NoReturn:
    """Say that a source has no such look-up; raises `LackingError`."""
    raise LackingError(f"{source} knows no {what}", source=source)
