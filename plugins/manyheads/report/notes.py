"""What its owner says of a run: a name, tags and a note, in `notes.yaml` in the run's folder. It is no part of the result."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ConfigDict

from manyheads.base.errors import scrubbed
from manyheads.base.files import read_text, replace_text
from manyheads.base.folders import writing
from manyheads.base.resources import parse_yaml
from manyheads.base.text import plain, printable
from manyheads.core.results import Part

NOTES = "notes.yaml"


class Notes(Part):
    """Name, tags and note of a run, each empty if there is none."""

    model_config = ConfigDict(frozen=True)

    name: str = ""
    tags: tuple[str, ...] = ()
    text: str = ""


def notes_of(name: str, tags: Iterable[str], text: str) -> Notes:
    """Notes in their limits, without keys: a line of 200 characters, 20 tags of 40, a text of 5,000."""
    parts = (part for each in tags for part in scrubbed(each).split(","))
    known = dict.fromkeys(tag for part in parts if (tag := plain(part).strip()[:40]))
    text = printable(scrubbed(text)).strip()[:5_000]
    return Notes(name=plain(scrubbed(name))[:200], tags=tuple(known)[:20], text=text)


def read_notes(folder: Path) -> Notes:
    """The notes of a run; none if the file is missing or cannot be read."""
    try:
        data: Any = parse_yaml(read_text(folder / NOTES))
        told = Notes.model_validate(data)
        return notes_of(told.name, told.tags, told.text)
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return Notes()


def write_notes(folder: Path, notes: Notes) -> None:
    """Write the notes of a run; raises `JournalError` where the folder cannot be written."""
    with writing(folder):
        text = yaml.safe_dump(notes.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
        replace_text(folder / NOTES, text)
