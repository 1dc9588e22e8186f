"""SQLite files: shared by threads, durable as needed, replaced when broken."""

import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from manyheads.base.errors import UserError
from manyheads.base.files import Closing, FileLock, allowed_files, set_aside

T = TypeVar("T")
Safety: TypeAlias = Literal["each write", "process", "none"]
"""What a write survives: a power failure, a killed process, or nothing, for temporary files."""
_PRAGMAS: dict[Safety, tuple[str, ...]] = {
    "each write": ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL"),
    "process": ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL"),
    "none": ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF"),
}
WAIT_SECONDS = 30.0
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Database(Closing):
    """One SQLite file. Threads may share it; each statement commits by itself.

    Args:
        schema: statements that create its tables, without effect if they exist.
        alone: locked against other processes until `close`.
        replace_broken: a broken file is set aside with a warning and replaced by an empty one. For caches.
        wait: seconds that a statement waits for another process.
        failure: the user's error for one of SQLite or of the disk, which else is raised itself; with it, the folder is made.

    Raises:
        sqlite3.Error: from each call, if the file cannot be opened, read or written, or another process has it.
    """

    def __init__(
        self,
        path: Path | None,
        *schema: str,
        safety: Safety = "process",
        alone: bool = False,
        replace_broken: bool = False,
        wait: float = WAIT_SECONDS,
        failure: Callable[[Exception], UserError] | None = None,
    ) -> None:
        self._path, self._failure = path and path.absolute(), failure
        if alone:
            allowed_files()  # a process may have many of them
        first = "PRAGMA locking_mode=EXCLUSIVE" if alone else ""
        self._open = partial(connect, self._path, *schema, safety=safety, wait=wait, first=first)
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._replace_broken, self._closed = replace_broken, False
        with self._errors():
            if path and failure:
                path.parent.mkdir(parents=True, exist_ok=True)
        self._do(lambda database: None)

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Execute a statement. On return, a change is as durable as `safety` says."""
        return self._do(lambda database: database.execute(sql, values).fetchall())

    def row(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        """The first row."""
        return next(iter(self.rows(sql, *values)), None)

    def each(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """The rows one by one, for results larger than memory. For files that one thread uses."""
        # `yield from` would close the cursor late if this is not read to its end, maybe after the database.
        with self._errors():
            for row in self._connection().execute(sql, values):  # noqa: UP028
                yield row

    def change(self, sql: str, *values: Any) -> int:
        """The number of rows that a statement changed."""
        return self._do(lambda database: database.execute(sql, values).rowcount)

    def change_all(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Execute a statement for each row, all or none."""
        self.change_in_turn((sql, rows))

    def change_in_turn(self, *changes: tuple[str, Iterable[tuple[Any, ...]]]) -> None:
        """Execute several statements, each for its rows, all or none."""
        kept = [(sql, list(rows)) for sql, rows in changes]

        def change(database: sqlite3.Connection) -> None:
            if [len(rows) for _, rows in kept] == [1]:
                # A transaction by itself: in a busy process, each statement waits for Python's lock when it ends.
                [(sql, [row])] = kept
                database.execute(sql, row)
                return
            with database:  # committed, or rolled back
                database.execute("BEGIN IMMEDIATE")
                for sql, rows in kept:
                    database.executemany(sql, rows)

        self._do(change)

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Several statements that depend on what they read, all or none. Others wait."""
        with self._errors(), self._lock, self._connection() as database:  # committed, or rolled back
            database.execute("BEGIN IMMEDIATE")
            yield database

    def copy(self) -> bytes:
        """The content of the file, with changes that are only in its log."""
        return self._do(lambda database: database.serialize())

    def close(self) -> None:
        """Close the file; may be called twice."""
        with self._lock:
            self._closed = True
            with suppress(sqlite3.Error):
                self._disconnect()

    def _do(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """The result of `act`; retried on an empty file if a broken one may be replaced."""
        with self._errors(), self._lock:
            try:
                return act(self._connection())
            except sqlite3.DatabaseError as error:
                path, code = self._path, getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
                if not (self._replace_broken and path and (code in _BROKEN or path.is_dir())):
                    raise
                self._disconnect()
                with FileLock(path.with_name(f"{path.name}.lock"), wait=True):
                    if self._is_broken():  # and no other process has replaced it meanwhile
                        set_aside(path, str(error))
                        for beside in ("-wal", "-shm"):
                            path.with_name(path.name + beside).unlink(missing_ok=True)
            return act(self._connection())

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if self._failure is None:
                raise
            raise self._failure(error) from error

    def _is_broken(self) -> bool:
        try:
            with closing(self._open()) as database:
                return database.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",)
        except sqlite3.DatabaseError:
            return True

    def _connection(self) -> sqlite3.Connection:
        if self._closed:
            raise sqlite3.ProgrammingError("the database is closed")
        if self._db is None:
            self._db = self._open()
        return self._db

    def _disconnect(self) -> None:
        database, self._db = self._db, None
        if database is not None:
            database.close()


def connect(
    path: Path | None, *schema: str, safety: Safety = "process", wait: float = WAIT_SECONDS, first: str = ""
) -> sqlite3.Connection:
    """SQLite's own connection to a file, created if missing, or to memory; see `Database`."""
    _need_own(path)
    database = sqlite3.connect(
        path or ":memory:", timeout=wait, check_same_thread=False, isolation_level=None
    )
    try:
        for statement in (first, *_PRAGMAS[safety], *schema):
            database.execute(statement)
    except sqlite3.Error:
        database.close()
        raise
    return database


def _need_own(path: Path | None) -> None:
    """Raises `sqlite3.OperationalError` for a pipe, which may block, and for a link, through which a file elsewhere is changed."""
    if path and (path.is_symlink() or (path.exists() and not path.is_file() and not path.is_dir())):
        raise sqlite3.OperationalError("it is a link, a pipe or a device, not a file")


@contextmanager
def reading(path: Path, wait: float = 1) -> Generator[sqlite3.Connection]:
    """A SQLite file opened read-only; raises sqlite3.Error if it cannot be read."""
    _need_own(path)
    # On a read-only disk, SQLite cannot lock the file.
    shared = os.access(path.parent, os.W_OK) or path.with_name(f"{path.name}-wal").exists()
    alone = "" if shared else "&immutable=1"
    address = f"{path.resolve().as_uri()}?mode=ro{alone}"
    with closing(sqlite3.connect(address, uri=True, timeout=wait)) as database:
        yield database
