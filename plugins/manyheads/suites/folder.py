"""A suite's folder: what a suite leaves, so that it can go on at any moment.

<folder>/
    suite.json       what its cells are made from
    cells/<name>/    a run folder each; in it `review/`, where a review was asked for
    rankings/<name>/ a ranking of the ideas of a cell's runs each, where one was asked for
    results.jsonl    a line for each cell, with all that was measured
    summary.jsonl    a line for each condition and measure; summary.csv the same as a table
    plot.png, .svg   what the suite draws
    report.md        the same to read
"""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import portalocker

from manyheads.errors import ChangedError, JournalError
from manyheads.folder import RESULT, writing
from manyheads.suites.plan import CELLS
from manyheads.suites.record import ACCEPTED, Record, changes, kept

RECORD, RESULTS, REPORT = "suite.json", "results.jsonl", "report.md"
NAMED = 5
"""Changes that a message names."""
_LOCK = ".lock"


class SuiteFolder:
    """The folder of a suite; see `opened`.

    Attributes:
        accepted: changes that were accepted, now or before: results of both sides stand in it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.accepted = path, list[str]()

    @classmethod
    @contextmanager
    def opened(cls, path: Path, record: Record, *, accept_changes: bool = False) -> "Generator[SuiteFolder]":
        """The folder for what is made from this, new or begun, and nobody else's until the end of the block.

        Other repeats are no change: finished cells stand beside new ones. Nor are other measures, plots or words:
        all cells are measured anew each time.

        Raises:
            ChangedError: it was begun by another suite, config or prompts, and changes are not accepted.
            JournalError: it cannot be written, is in use, or holds something else.
        """
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            folder = cls(path)
            folder._begin(record, accept_changes)
            yield folder

    def write(self, name: str, text: str) -> Path:
        """Write a file as a whole, or not at all."""
        beside = self.path / f"{name}.part"
        with writing(self.path):
            beside.write_text(text, encoding="utf-8", newline="")
            beside.replace(self.path / name)
        return self.path / name

    def _begin(self, record: Record, accept_changes: bool) -> None:
        if (self.path / RECORD).exists():
            before = self._recorded()
            found = changes(before, record)
            if found and not accept_changes:
                more = f"; and {len(found) - NAMED} more" if found[NAMED:] else ""
                raise ChangedError(
                    f"{self.path}: was begun otherwise: {'; '.join(found[:NAMED])}{more}",
                    hint="--out FOLDER begins anew; --accept-changes goes on, and keeps what is finished",
                )
            self.accepted = [*before.get(ACCEPTED, ()), *found]
            record = kept(before, record)
        elif (self.path / CELLS).exists() or (self.path / RESULT).exists():
            raise JournalError(f"{self.path}: holds something else", hint="name another --out")
        record |= {ACCEPTED: self.accepted} if self.accepted else {}
        self.write(RECORD, json.dumps(record, ensure_ascii=False, indent=2) + "\n")

    def _recorded(self) -> Record:
        try:
            record: object = json.loads((self.path / RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise JournalError(
                f"{self.path / RECORD}: damaged: {error}", hint="name another --out"
            ) from error
        return cast(Record, record) if isinstance(record, dict) else {}


@contextmanager
def _alone(path: Path) -> Generator[None]:
    with writing(path):
        file = (path / _LOCK).open("a")
    with file:
        try:
            portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.LockException as error:
            raise JournalError(
                f"{path}: another process is running this suite", hint="wait for it, or name another --out"
            ) from error
        yield
