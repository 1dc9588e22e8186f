"""The search ledger: every look-up with its source, its time and what came of it, a line of JSON each."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from manyheads.core.events import Searched
from manyheads.errors import JournalError

LEDGER = "searches.jsonl"
"""Its name in a run's folder."""

_PLACE = {"kind", "stage", "turn"}
_OF_THE_MOMENT = {*_PLACE, "at", "seconds", "cached"}


class SearchLedger:
    """Look-ups in the order in which they came. Give `note` to a `Library`.

    Each is appended to the file, if there is one; what an earlier start of the run has left there is read first. Raises
    `JournalError` where it cannot be read or written, or is no ledger.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._torn_at = path, -1
        self._entries: dict[str, Searched] = {}
        """By their lines, which leave out the place in the run: it is the same look-up wherever it stands."""
        self._answered = set[tuple[str, ...]]()
        self._unanswered = dict[tuple[str, ...], str]()
        if path and path.exists():
            self._read(path)

    @property
    def entries(self) -> tuple[Searched, ...]:
        """All look-ups, those of earlier starts first."""
        return tuple(self._entries.values())

    @property
    def degraded(self) -> tuple[str, ...]:
        """Sources that failed at something that they have not answered since, in the order in which they did."""
        return tuple(dict.fromkeys(self._unanswered.values()))

    def note(self, entry: Searched) -> None:
        """Take a look-up down; one that a resumed run only repeats from its record stays one entry."""
        line = entry.model_dump_json(exclude=_PLACE)
        if line in self._entries:
            return
        self._take(entry, line)
        if (path := self._path) is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if self._torn_at >= 0:
                os.truncate(path, self._torn_at)
                self._torn_at = -1
            with path.open("ab") as file:
                file.write(line.encode() + b"\n")
        except OSError as error:
            message = f"{path}: cannot be written: {error.strerror or error}"
            raise JournalError(message, hint="make room on the disk") from error

    def as_data(self) -> dict[str, Any]:
        """For `result.json`: without times, each different look-up once and in an order of its own, so that a run that
        was interrupted and resumed gives the same as one that was not.

        Returns:
            `sources` (counts by source and outcome, and hits), `degraded`, `searches`.
        """
        looked_up = {entry.model_dump_json(exclude=_OF_THE_MOMENT): entry for entry in self.entries}
        entries = [looked_up[line] for line in sorted(looked_up)]
        sources: dict[str, dict[str, int]] = {}
        for name in sorted({entry.source for entry in entries}):
            outcomes = Counter(entry.outcome for entry in entries if entry.source == name)
            sources[name] = {each: outcomes[each] for each in ("found", "empty", "skipped", "failed")}
            sources[name]["hits"] = sum(entry.hits for entry in entries if entry.source == name)
        return {
            "sources": sources,
            "degraded": sorted(self.degraded),
            "searches": [entry.model_dump(mode="json", exclude=_OF_THE_MOMENT) for entry in entries],
        }

    def _take(self, entry: Searched, line: str) -> None:
        self._entries[line] = entry
        question = (entry.source, entry.operation, entry.query, entry.asked, entry.window)
        if entry.outcome in ("found", "empty"):
            self._answered.add(question)
            self._unanswered.pop(question, None)
        elif entry.outcome == "failed" and question not in self._answered:
            self._unanswered[question] = entry.source

    def _read(self, path: Path) -> None:
        """Take the entries of a file; a last line that a kill has cut short is left out, and written over later."""
        try:
            *lines, torn = path.read_bytes().split(b"\n")
        except OSError as error:
            raise JournalError(f"{path}: cannot be read: {error.strerror or error}") from error
        if torn:
            self._torn_at = sum(len(line) + 1 for line in lines)
        for number, line in enumerate(lines, start=1):
            try:
                entry = Searched.model_validate_json(line)
            except ValidationError as error:
                raise JournalError(f"{path}: line {number} is no look-up", hint="remove the file") from error
            self._take(entry, entry.model_dump_json(exclude=_PLACE))
