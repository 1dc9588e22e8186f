"""Files on disk: SQLite, atomic replacement, checksums, locks, the user's cache folder."""

import atexit
import errno
import hashlib
import io
import json
import logging
import os
import shutil
import sqlite3
import stat
import tempfile
import threading
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import portalocker

from manyheads.errors import CacheError

T = TypeVar("T")
log = logging.getLogger("manyheads")

Safety: TypeAlias = Literal["each write", "process", "none"]
"""Durability: `each write` survives a power failure, `process` survives a killed process, `none` is for temporary
files."""
_PRAGMAS: dict[Safety, tuple[str, ...]] = {
    "each write": ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL"),
    "process": ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL"),
    "none": ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF"),
}
WAIT_SECONDS = 30.0
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Database:
    """One SQLite file. Threads may share it; each statement commits by itself.

    Args:
        path: the file, created if missing. Its folder must exist.
        schema: statements that create its tables, without effect if they exist.
        alone: exclusive to this process. The number of open files is bounded: the least recently used is closed,
            stays reserved (see `_Claim`), and reopens on its next use.
        replace_broken: a broken file is set aside with a warning and replaced by an empty one. For caches.
        wait: seconds that a statement waits for another process.

    Raises:
        sqlite3.Error: from each call, if the file cannot be opened, read or written, or another process has it.
        OSError: a broken file cannot be set aside.
    """

    def __init__(
        self,
        path: Path | None,
        *schema: str,
        safety: Safety = "process",
        alone: bool = False,
        replace_broken: bool = False,
        wait: float = WAIT_SECONDS,
    ) -> None:
        self._path = path and path.absolute()
        self._open = partial(connect, self._path, *schema, safety=safety, wait=wait)
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._claim = _Claim(path) if alone and path is not None else None
        self._replace_broken, self._closed = replace_broken, False
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
            with database:  # committed, or rolled back
                database.execute("BEGIN IMMEDIATE")
                for sql, rows in kept:
                    database.executemany(sql, rows)

        self._do(change)

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Several statements that depend on what they read, all or none. Others wait."""
        with self._lock, self._connection() as database:  # committed, or rolled back
            database.execute("BEGIN IMMEDIATE")
            yield database

    def close(self) -> None:
        """Close the file; may be called twice."""
        with self._lock:
            self._closed = True
            _forget(self)
            with suppress(sqlite3.Error):
                self._disconnect()
            if self._claim:
                self._claim.drop()

    def _do(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """The result of `act`; retried on an empty file if a broken one may be replaced."""
        with self._lock:
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
            self._db = self._connect()
        if self._claim:
            _used(self)
        return self._db

    def _connect(self) -> sqlite3.Connection:
        if self._claim is None:
            return self._open()
        self._claim.need_free()
        database = self._open(first="PRAGMA locking_mode=EXCLUSIVE")
        try:
            self._claim.need_free()  # it may have been closed before we got the lock
        except sqlite3.Error:
            database.close()
            raise
        self._claim.drop()
        return database

    def lay_by(self) -> bool:
        """Close the file until its next use, still reserved; False while another thread uses it."""
        if self._claim is None or not self._lock.acquire(blocking=False):
            return False
        try:
            if self._db is not None:
                self._claim.make()
                self._disconnect()
            return True
        finally:
            self._lock.release()

    def _disconnect(self) -> None:
        database, self._db = self._db, None
        if database is not None:
            database.close()


def connect(
    path: Path | None, *schema: str, safety: Safety = "process", wait: float = WAIT_SECONDS, first: str = ""
) -> sqlite3.Connection:
    """SQLite's own connection to a file, created if missing, or to memory; see `Database`."""
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


@contextmanager
def reading(path: Path, wait: float = 1) -> Generator[sqlite3.Connection]:
    """A SQLite file opened read-only; raises sqlite3.Error if it cannot be read."""
    # On a read-only disk, SQLite cannot lock the file.
    shared = os.access(path.parent, os.W_OK) or path.with_name(f"{path.name}-wal").exists()
    alone = "" if shared else "&immutable=1"
    address = f"{path.resolve().as_uri()}?mode=ro{alone}"
    with closing(sqlite3.connect(address, uri=True, timeout=wait)) as database:
        yield database


# Open files of exclusive databases, within the system's limit.

_open_files: dict[int, Database] = {}
"""Least recently used first."""
_open_files_lock = threading.Lock()


@cache
def most_open() -> int:
    """Maximum number of open `alone` databases: each has two files, and half of the system's limit is for others."""
    try:
        import resource
    except ImportError:
        return 256
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 4096 if allowed == resource.RLIM_INFINITY else max(8, min(allowed // 4, 4096))


def _used(database: Database) -> None:
    with _open_files_lock:
        _open_files.pop(id(database), None)
        _open_files[id(database)] = database
        surplus = [*_open_files.values()][: max(0, len(_open_files) - most_open())]
    for other in surplus:
        if other is not database and other.lay_by():
            _forget(other)


def _forget(database: Database) -> None:
    with _open_files_lock:
        _open_files.pop(id(database), None)


class _Claim:
    """Marks, in a file beside a closed database, that it is still reserved by this process.

    The file names another file, which the process keeps locked while it lives, so the mark of a dead process
    does not block anybody.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.with_name(f"{path.name}.claim")
        self._made = False

    def make(self) -> None:
        self._file.write_text(str(_sign_of_life().path), encoding="utf-8")
        self._made = True

    def need_free(self) -> None:
        """Raises sqlite3.OperationalError if another live process has reserved the database."""
        if self._made:
            return
        try:
            FileLock(Path(self._file.read_text(encoding="utf-8")), mode="r").release()
        except LockedError as held:
            raise sqlite3.OperationalError("database is locked") from held
        except (OSError, ValueError):  # no claim, or one of a dead process
            return

    def drop(self) -> None:
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
        self._made = False


@cache
def _sign_of_life() -> "FileLock":
    """A file that this process keeps locked until it ends."""
    handle, name = tempfile.mkstemp(prefix="manyheads-", suffix=".lock")
    os.close(handle)
    atexit.register(Path(name).unlink, missing_ok=True)
    return FileLock(Path(name))


# Locks on files.


class LockedError(Exception):
    """Another process has the lock, or this process has it elsewhere."""


class FileLock:
    """A lock that the system frees when its process dies. Held from creation until `release`.

    Args:
        path: the file to lock, created if missing.
        shared: other shared locks are allowed, an exclusive one is not.
        wait: block until it is free.
        mode: mode to open the file with; `r` does not create it.

    Raises:
        LockedError: another lock exists, and `wait` is false.
        OSError: the file cannot be created.
    """

    def __init__(self, path: Path, *, shared: bool = False, wait: bool = False, mode: str = "a+") -> None:
        self.path, self.shared = path, shared
        flags = portalocker.LockFlags.SHARED if shared else portalocker.LockFlags.EXCLUSIVE
        if not wait:
            flags |= portalocker.LockFlags.NON_BLOCKING
        self._file = path.open(mode)
        try:
            portalocker.lock(self._file, flags)
        except portalocker.LockException as error:
            self.release()
            raise LockedError(str(path)) from error

    @property
    def stands(self) -> bool:
        """Whether the file is still there: another process may have removed it during the wait."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self.path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Release the lock; may be called twice."""
        self._file.close()

    def __enter__(self) -> "FileLock":
        return self

    def __exit__(self, *ended: object) -> None:
        self.release()


# Paths from users.


def expanded(name: str | Path) -> Path:
    """A path with `~` expanded; for an unknown user the path stays as it is, and does not exist."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


MOST_BYTES = 64_000_000


def read_text(path: Path, most: int = MOST_BYTES, encoding: str = "utf-8") -> str:
    """The text of a regular file with at most `most` bytes.

    Raises:
        OSError: it cannot be read, is larger, or is a device or a pipe, which may be endless.
        UnicodeDecodeError: it is not UTF-8.
    """
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "a file name cannot contain NUL", str(path).replace("\0", "?"))
    if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
        raise OSError(errno.EINVAL, "not a file", str(path))
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most / 1e6:,.0f} MB", str(path))
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding).read()


# Atomic files and folders.


def replace_text(path: Path, text: str, *, newline: str | None = None) -> None:
    """Write a file atomically: after a kill, the old or the new version is there. Raises OSError."""
    beside = path.with_name(f"{path.name}.part")
    beside.write_text(text, encoding="utf-8", newline=newline)
    os.replace(beside, path)


def replace_bytes(path: Path, data: bytes) -> None:
    """Like `replace_text`, for bytes. Raises OSError."""
    beside = path.with_name(f"{path.name}.part")
    beside.write_bytes(data)
    os.replace(beside, path)


@contextmanager
def folder_beside(target: Path) -> Generator[Path]:
    """A new folder to fill; at the end of the block it is renamed to `target`.

    If another process was quicker, its folder stays. Raises OSError.
    """
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.name}-") as workplace:
        made = Path(workplace) / target.name
        made.mkdir()
        yield made
        try:
            os.replace(made, target)
        except OSError:
            if not target.is_dir():
                raise


def set_aside(path: Path, why: str) -> None:
    """Rename a broken part of a cache with a warning, replacing an earlier broken one. Raises OSError."""
    aside = path.with_name(f"{path.name}.broken")
    if aside.is_dir():
        shutil.rmtree(aside)
    os.replace(path, aside)
    log.warning("warning: %s was damaged (%s); kept as %s and rebuilt", path, why, aside.name)


# Checksums of a finished folder, to detect damage.

CHECKSUMS = "checksums.json"
QUICK = 256 * 2**20
"""Maximum bytes read to check a folder, without holes. Beyond it, only the sizes of the largest files are compared."""
_BLOCK = 2**16
_ZEROS = bytes(_BLOCK)


def record_checksums(folder: Path, *apart: str) -> None:
    """Write `checksums.json`: size and checksum of every file in a folder except locks and those in `apart`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = {
        path.relative_to(folder).as_posix(): [path.stat().st_size, _checksum(path)[0]]
        for path in files
        if path.suffix != ".lock" and path.name not in (CHECKSUMS, *apart)
    }
    replace_text(folder / CHECKSUMS, json.dumps(sums, indent=0))


def has_checksums(folder: Path) -> bool:
    return (folder / CHECKSUMS).exists()


def damaged_files(folder: Path, *, whole: bool = False) -> list[str]:
    """Files that differ from `record_checksums`; only `whole` reads every file completely."""
    if not has_checksums(folder):
        return []
    try:
        sums = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
        files = sorted((int(size), str(name), int(value)) for name, (size, value) in sums.items())
    except (OSError, ValueError, TypeError, AttributeError):
        return [CHECKSUMS]
    damaged, left = list[str](), QUICK
    for size, name, expected in files:
        path = folder / name
        try:
            same = path.is_file() and path.stat().st_size == size
            if same and (whole or left > 0):
                value, read = _checksum(path)
                same, left = value == expected, left - read
        except (OSError, ValueError):
            same = False
        if not same:
            damaged.append(name)
    return damaged


def _checksum(path: Path) -> tuple[int, int]:
    """CRC-32 of all non-zero blocks with their offsets, and the bytes read. Holes of a sparse file cost nothing."""
    value = read = position = 0
    with path.open("rb", buffering=0) as file:
        while True:
            if hasattr(os, "SEEK_DATA"):
                try:
                    position = file.seek(position, os.SEEK_DATA) // _BLOCK * _BLOCK
                except OSError as error:
                    if error.errno == errno.ENXIO:  # only a hole is left
                        return value, read
                    raise
            file.seek(position)
            if not (block := file.read(_BLOCK)):
                return value, read
            read += len(block)
            if block != _ZEROS[: len(block)]:
                value = zlib.crc32(block, zlib.crc32(position.to_bytes(8, "little"), value))
            position += _BLOCK


def sha256_of(path: Path) -> str:
    """Hexadecimal sha256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cache_folder() -> Path:
    """The user's cache folder, `MANYHEADS_CACHE` or the system's, created if missing; raises `CacheError` on failure."""
    import platformdirs

    named = os.environ.get("MANYHEADS_CACHE")
    folder = expanded(named) if named else platformdirs.user_cache_path("manyheads")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    return folder


def unwritable(path: Path, error: OSError) -> CacheError:
    """The error for a cache that cannot be written: full disk, read-only disk, no permission."""
    return CacheError(
        f"the cache {path} cannot be written: {error.strerror or error}",
        hint="set MANYHEADS_CACHE to a writable folder with 200 MB of free space",
    )
