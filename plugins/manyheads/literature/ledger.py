"""The search ledger: every look-up with source, time and outcome, a line of JSON each."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from manyheads.base.errors import JournalError
from manyheads.base.files import opened, writable
from manyheads.core.events import Searched

LEDGER = "searches.jsonl"
"""Its name in a run's folder."""

_PLACE = {"kind", "stage", "turn"}
_OF_THE_MOMENT = {*_PLACE, "at", "seconds", "cached"}


class SearchLedger:
    """Look-ups in order. Pass `note` to a `Library`.

    Each is appended to the file, if there is one; entries of earlier starts of the run are read first. Raises `JournalError`
    if the file cannot be read or written, or is not a ledger.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._torn_at = path, -1
        self._entries: dict[str, Searched] = {}
        """By line, without the place in the run: it is the same look-up at any place."""
        self._answered = set[tuple[str, ...]]()
        self._unanswered = dict[tuple[str, ...], str]()
        if path and path.exists():
            self._read(path)

    @property
    def entries(self) -> tuple[Searched, ...]:
        """All look-ups, earlier starts first."""
        return tuple(self._entries.values())

    @property
    def degraded(self) -> tuple[str, ...]:
        """Sources with a failed request that never succeeded later, in order of failure."""
        return tuple(dict.fromkeys(self._unanswered.values()))

    def note(self, entry: Searched) -> None:
        """Add a look-up; one replayed from a resumed run's record stays one entry."""
        line = entry.model_dump_json(exclude=_PLACE)
        if line in self._entries:
            return
        self._take(entry, line)
        if (path := self._path) is None:
            return
        with writable(path, JournalError, "free some space on the disk"):
            path.parent.mkdir(parents=True, exist_ok=True)
            if self._torn_at >= 0:
                os.truncate(path, self._torn_at)
                self._torn_at = -1
            with opened(path, "ab") as file:
                file.write(line.encode() + b"\n")

    def as_data(self) -> dict[str, Any]:
        """For `result.json`: without times, without duplicates and in a fixed order, so that a resumed run gives the same as an
        uninterrupted one.

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
        """Read the entries of a file; an incomplete last line is dropped, and overwritten later."""
        try:
            with opened(path) as file:
                *lines, torn = file.read().split(b"\n")
        except OSError as error:
            raise JournalError(f"{path}: cannot be read: {error.strerror or error}") from error
        if torn:
            self._torn_at = sum(len(line) + 1 for line in lines)
        for number, line in enumerate(lines, start=1):
            try:
                entry = Searched.model_validate_json(line)
            except ValidationError as error:
                raise JournalError(
                    f"{path}: line {number} is not a look-up", hint="remove the file"
                ) from error
            self._take(entry, entry.model_dump_json(exclude=_PLACE))
