"""What a user gives as a file or as a text: which of both it is."""

import re
from contextlib import suppress
from pathlib import Path

from manyheads.errors import SubjectError
from manyheads.subjects import LINE, Subject, is_there

TEXTS = (".md", ".markdown", ".txt")
LINES = (".json", ".jsonl")
NAME = re.compile(r"[\w.-]*\w", re.ASCII)
"""A single word without a sentence's end: the name of a folder rather than an idea."""
PAPERS = (".bib", ".csv", ".tsv", ".parquet", ".xml", ".gz", ".zip")


def path_of(named: str, kinds: str) -> Path | None:
    """The file or folder that is named, None where it is a text; what only looks like a file is taken for one.

    Args:
        kinds: what could be given, in words.

    Raises:
        SubjectError: there is no such file.
    """
    path = Path(named)
    with suppress(OSError):
        if named.strip() and is_there(path):
            return path
    if _looks_like_a_file(named):
        raise SubjectError(f"{named}: no such file", hint=f"name {kinds}")
    return None


def _looks_like_a_file(named: str) -> bool:
    """A slash in a single word tells folders too, but not in a script that parts no words by blanks."""
    if "\n" in named:
        return False
    path = Path(named)
    if path.is_absolute() or path.suffix.lower() in (*TEXTS, *LINES, *PAPERS) or LINE.fullmatch(named):
        return True
    if NAME.fullmatch(named):
        return True
    return "/" in named and named.isascii() and len(named.split()) == 1


def text_of(text: str, what: str, kinds: str) -> Subject:
    """A text that was given as it is; `what` is to come of it.

    Raises:
        SubjectError: it is blank.
    """
    if not text.strip():
        raise SubjectError(f"{what}: a text of nothing but blanks", hint=f"give {kinds}")
    return Subject("", "", text.strip())
