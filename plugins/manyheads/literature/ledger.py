"""The search ledger: every look-up with its source, its time and what came of it, a line of JSON each."""

import os
from collections import Counter
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from pydantic import ValidationError

from manyheads.core.events import Searched
from manyheads.errors import JournalError

LEDGER = "searches.jsonl"
"""Its name in a run's folder."""

Key: TypeAlias = tuple[str, ...]

_PLACE = {"kind", "stage", "turn"}
_OF_THE_MOMENT = {*_PLACE, "at", "seconds", "cached"}


class SearchLedger:
    """Look-ups in the order in which they came. Give `note` to a `Library`.

    Args:
        path: a file to which each is appended; what an earlier start of the run has left there is read first.

    Raises:
        JournalError: the file cannot be read or written, or is no ledger.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._entries: list[Searched] = []
        self._known: set[str] = set()
        self._answered: set[Key] = set()
        self._unanswered: dict[Key, str] = {}
        for entry in _read(path) if path and path.exists() else ():
            self._take(entry, _line(entry))

    @property
    def entries(self) -> tuple[Searched, ...]:
        """All look-ups, those of earlier starts first."""
        return tuple(self._entries)

    @property
    def degraded(self) -> tuple[str, ...]:
        """Sources that failed at something that they have not answered since, in the order in which they did."""
        return tuple(dict.fromkeys(self._unanswered.values()))

    def note(self, entry: Searched) -> None:
        """Take a look-up down; one that a resumed run only repeats from its record stays one entry."""
        line = _line(entry)
        if line in self._known:
            return
        self._take(entry, line)
        if self._path:
            _append(self._path, line)

    def _take(self, entry: Searched, line: str) -> None:
        self._known.add(line)
        self._entries.append(entry)
        asked = (entry.source, entry.operation, entry.query, entry.asked, entry.window)
        if entry.outcome in ("found", "empty"):
            self._answered.add(asked)
            self._unanswered.pop(asked, None)
        elif entry.outcome == "failed" and asked not in self._answered:
            self._unanswered[asked] = entry.source

    def as_data(self) -> dict[str, Any]:
        """For `result.json`: without times, each different look-up once and in an order of its own, so that a run that
        was interrupted and resumed gives the same as one that was not.

        Returns:
            `sources` (counts by source and outcome, and hits), `degraded`, `searches`.
        """
        looked_up = {_line(entry, _OF_THE_MOMENT): entry for entry in self._entries}
        entries = [looked_up[line] for line in sorted(looked_up)]
        return {
            "sources": {name: _counts(name, entries) for name in sorted({entry.source for entry in entries})},
            "degraded": sorted(self.degraded),
            "searches": [entry.model_dump(mode="json", exclude=_OF_THE_MOMENT) for entry in entries],
        }


def _counts(source: str, entries: list[Searched]) -> dict[str, int]:
    of_it = [entry for entry in entries if entry.source == source]
    outcomes = Counter(entry.outcome for entry in of_it)
    counts = {outcome: outcomes[outcome] for outcome in ("found", "empty", "skipped", "failed")}
    return {**counts, "hits": sum(entry.hits for entry in of_it)}


def _line(entry: Searched, but: set[str] = _PLACE) -> str:
    """An entry without its place in the run, which is the same look-up wherever it stands."""
    return entry.model_dump_json(exclude=but)


def _read(path: Path) -> list[Searched]:
    """The entries of a file; a last line that a kill has cut short is left out."""
    try:
        whole, _, _ = path.read_text(encoding="utf-8", errors="replace").rpartition("\n")
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror or error}") from error
    entries: list[Searched] = []
    for number, line in enumerate(whole.split("\n") if whole else (), start=1):
        try:
            entries.append(Searched.model_validate_json(line))
        except ValidationError as error:
            raise JournalError(f"{path}: line {number} is no look-up", hint="remove the file") from error
    return entries


def _append(path: Path, line: str) -> None:
    """Write a line of its own, in the place of one that a kill has cut short."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            _drop_torn_end(file)
            file.write(line.encode() + b"\n")
    except OSError as error:
        raise JournalError(
            f"{path}: cannot be written: {error.strerror or error}", hint="make room on the disk"
        ) from error


def _drop_torn_end(file: BinaryIO) -> None:
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 1))
    if file.read(1) in (b"", b"\n"):
        return
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)
