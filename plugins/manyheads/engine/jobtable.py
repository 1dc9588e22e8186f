"""The table of a folder's jobs, shared by processes: leases, results, payments.

A participating process is a worker. It holds a lease on its jobs while it lives, which the lock on a file of its own shows: neither
a wrong clock nor a sleeping machine ends a lease. All processes run on one machine (required by SQLite's write-ahead log).

A session lasts from the first worker to the last. Job states and failures end with it, so that the next start retries
failed jobs; payments and the known abilities of each model's server are kept.
"""

import sqlite3
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias
from uuid import uuid4

from manyheads.base.errors import JournalError
from manyheads.base.files import FileLock, LockedError
from manyheads.base.sqlite import connect
from manyheads.core import Usage

TABLE = "jobs.sqlite"
PATIENCE = 30.0
"""Seconds that a write waits for others."""
Standing: TypeAlias = Literal["pending", "running", "done", "failed", "left out"]
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS worker (id TEXT PRIMARY KEY)",
    """CREATE TABLE IF NOT EXISTS job (
    key TEXT PRIMARY KEY, state TEXT NOT NULL, worker TEXT, reason TEXT NOT NULL DEFAULT '', cause TEXT NOT NULL DEFAULT ''
)""",
    """CREATE TABLE IF NOT EXISTS payment (
    job TEXT PRIMARY KEY, calls INTEGER NOT NULL DEFAULT 0, input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0, cost REAL
)""",
    """CREATE TABLE IF NOT EXISTS reservation (
    number INTEGER PRIMARY KEY, worker TEXT NOT NULL, job TEXT NOT NULL, calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, cost REAL
)""",
    "CREATE TABLE IF NOT EXISTS server (key TEXT PRIMARY KEY, known TEXT NOT NULL)",
)

AMOUNTS = "calls, input_tokens, output_tokens, cost"
RELEASE = "UPDATE job SET state = 'pending', worker = NULL WHERE worker = ? AND state = 'running'"


@dataclass(frozen=True)
class Failure:
    """Why a job has no result.

    Attributes:
        reason: the full error message.
        cause: equal for equal failures; empty if other jobs are not affected.
    """

    reason: str
    cause: str = ""

    def __str__(self) -> str:
        """The reason in one line."""
        return "; ".join(line.strip() for line in self.reason.splitlines())


class JobTable:
    """The table in a folder, as one worker sees it.

    Raises:
        JournalError: it cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._path, self._worker = folder, folder / TABLE, uuid4().hex
        try:
            self._alive = FileLock(self._life(self._worker))
            self._db = connect(self._path, *SCHEMA, wait=PATIENCE)
        except (OSError, sqlite3.Error) as error:
            raise self._error(error) from error

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Several changes in one transaction; within another, a part of it."""
        if self._db.in_transaction:
            yield
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._error(error) from error

    # Workers and their leases.

    def join(self, done: Mapping[str, bool]) -> bool:
        """Join with these jobs; returns whether there is no other worker, so that a session begins.

        Args:
            done: for each job, whether it already has a result.
        """
        with self.transaction():
            self._bury(self._dead())
            if first := not self._others():
                self._db.execute("DELETE FROM job")
            self._db.execute("INSERT INTO worker (id) VALUES (?)", (self._worker,))
            rows = [(key, "done" if ended else "pending") for key, ended in done.items()]
            self._db.executemany("INSERT OR IGNORE INTO job (key, state) VALUES (?, ?)", rows)
            self._db.executemany("INSERT OR IGNORE INTO payment (job) VALUES (?)", [(key,) for key in done])
        return first

    def bury_dead(self) -> None:
        """Free the jobs of processes that have died."""
        if dead := self._dead():
            with self.transaction():
                self._bury(dead)

    def _others(self) -> set[str]:
        query = "SELECT id FROM worker WHERE id != ?"
        return {worker for (worker,) in self._db.execute(query, (self._worker,))}

    def _dead(self) -> set[str]:
        """The workers whose process has died: their lock files are free."""
        return {worker for worker in self._others() if not _is_locked(self._life(worker))}

    def _bury(self, workers: Collection[str]) -> None:
        """Free the jobs of workers. Their reservations count as paid, since nobody knows what was not used of them."""
        for worker in workers:
            query = f"SELECT number, job, {AMOUNTS} FROM reservation WHERE worker = ?"
            for number, job, *amounts in self._db.execute(query, (worker,)).fetchall():
                self.settle_charge(number, job, _usage(*amounts))
            self._db.execute(RELEASE, (worker,))
            self._db.execute("DELETE FROM worker WHERE id = ?", (worker,))
            self._life(worker).unlink(missing_ok=True)

    def _life(self, worker: str) -> Path:
        """The file that a worker's process keeps locked."""
        return self.folder / f".worker-{worker}"

    def close(self) -> bool:
        """Leave the table and free this worker's jobs; returns whether it was the last."""
        with closing(self._db), self._alive:
            with self.transaction():
                self._db.execute(RELEASE, (self._worker,))
                self._db.execute("DELETE FROM worker WHERE id = ?", (self._worker,))
                last = not self._others()
            self._life(self._worker).unlink(missing_ok=True)
        return last

    # States of jobs.

    def standing(self, key: str) -> tuple[Standing, Failure]:
        """A job's state, with the failure of a failed or skipped job."""
        query = "SELECT state, reason, cause FROM job WHERE key = ?"
        state, *failure = self._db.execute(query, (key,)).fetchone()
        return state, Failure(*failure)

    def claim(self, key: str) -> bool:
        """Claim a job if nobody has it; returns whether it is this worker's."""
        claim = "UPDATE job SET state = 'running', worker = ? WHERE key = ? AND (state = 'pending' OR (state = 'running' AND worker = ?))"
        with self.transaction():
            return self._db.execute(claim, (self._worker, key, self._worker)).rowcount == 1

    def settle(self, key: str, state: Standing, failure: Failure | None = None) -> bool:
        """Set a job's final state, or `pending` for another worker to take; False if it is another's."""
        said = (failure.reason, failure.cause) if failure else ("", "")
        settle = (
            "UPDATE job SET state = ?, reason = ?, cause = ? WHERE key = ?"
            " AND (state = 'pending' OR (state = 'running' AND worker = ?))"
        )
        with self.transaction():
            return self._db.execute(settle, (state, *said, key, self._worker)).rowcount == 1

    # Payments by job, and reservations of requests under way.

    def payments(self) -> Iterator[tuple[str, Usage]]:
        """What was paid for each job, by its key."""
        for key, *amounts in self._db.execute(f"SELECT job, {AMOUNTS} FROM payment").fetchall():
            yield key, _usage(*amounts)

    def spent(self) -> tuple[Usage, Usage]:
        """Total paid for all jobs, and the most that the requests under way may use."""
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in AMOUNTS.split(", ")[:3])
        paid, reserved = (
            _usage(*self._db.execute(f"SELECT {sums}, sum(cost) FROM {table}").fetchone())
            for table in ("payment", "reservation")
        )
        return paid, reserved

    def reserve(self, key: str, most: Usage) -> int:
        """Reserve the most that a job's request may use; returns the reservation's number."""
        new = f"INSERT INTO reservation (worker, job, {AMOUNTS}) VALUES (?, ?, ?, ?, ?, ?)"
        number = self._db.execute(new, (self._worker, key, *_amounts(most))).lastrowid
        assert number is not None
        return number

    def settle_charge(self, number: int, key: str, usage: Usage) -> None:
        """Put what a request used in the place of its reservation, unless that counts as paid already."""
        pay = (
            "UPDATE payment SET calls = calls + ?, input_tokens = input_tokens + ?, output_tokens = output_tokens + ?,"
            " cost = CASE WHEN ? IS NULL THEN cost ELSE coalesce(cost, 0) + ? END WHERE job = ?"
        )
        with self.transaction():
            if self._db.execute("DELETE FROM reservation WHERE number = ?", (number,)).rowcount:
                self._db.execute("INSERT OR IGNORE INTO payment (job) VALUES (?)", (key,))
                self._db.execute(pay, (*_amounts(usage), usage.cost, key))

    def account(self, key: str, usage: Usage) -> None:
        """Set what was paid for a job, if a journal has more than this table."""
        with self.transaction():
            self._db.execute("INSERT OR IGNORE INTO payment (job) VALUES (?)", (key,))
            self._db.execute(
                "UPDATE payment SET calls = ?, input_tokens = ?, output_tokens = ?, cost = ?"
                " WHERE job = ? AND calls < ?",
                (usage.calls, usage.input_tokens, usage.output_tokens, usage.cost, key, usage.calls),
            )

    # Known abilities of models' servers.

    def first_known(self, key: str, known: str) -> str:
        """The stored abilities of a server; stores these if there are none."""
        with self.transaction():
            self._db.execute("INSERT OR IGNORE INTO server (key, known) VALUES (?, ?)", (key, known))
            return self._db.execute("SELECT known FROM server WHERE key = ?", (key,)).fetchone()[0]

    def _error(self, error: Exception) -> JournalError:
        return JournalError(
            f"{self._path}: the table of jobs is not usable: {error}",
            hint="check that the disk is writable and not full, or name another --out",
        )


def in_use(folder: Path) -> bool:
    """Whether a process is running the jobs of a folder."""
    return any(map(_is_locked, folder.glob(".worker-*")))


def _is_locked(path: Path) -> bool:
    try:
        FileLock(path, mode="r+").release()
    except FileNotFoundError:
        return False
    except LockedError:
        return True
    return False


def _usage(calls: int, read: int, written: int, cost: float | None) -> Usage:
    return Usage(input_tokens=read, output_tokens=written, calls=calls, cost=cost)


def _amounts(usage: Usage) -> tuple[float | None, ...]:
    return usage.calls, usage.input_tokens, usage.output_tokens, usage.cost
