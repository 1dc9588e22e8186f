"""Files on disk: locks, atomic replacement, checksums, the user's cache folder; resources that several runs share."""

import asyncio
import errno
import hashlib
import io
import json
import logging
import os
import shutil
import stat
import tempfile
import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Generator, Hashable
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO, Generic, Literal, Self, TypeVar

import portalocker

from manyheads.base.errors import CacheError, ConfigError, UserError

log = logging.getLogger("manyheads")

# Locks on files.


class LockedError(Exception):
    """Another process has the lock, or this process has it elsewhere."""


class FileLock:
    """A lock that the system frees when its process dies. Held from creation until `release`.

    Args:
        shared: other shared locks are allowed, an exclusive one is not.
        wait: block until it is free; else `LockedError` if another lock exists.
        mode: mode to open the file with; `r` does not create it.
    """

    def __init__(self, path: Path, *, shared: bool = False, wait: bool = False, mode: str = "a+") -> None:
        self.path, self.shared = path, shared
        flags = portalocker.LockFlags.SHARED if shared else portalocker.LockFlags.EXCLUSIVE
        if not wait:
            flags |= portalocker.LockFlags.NON_BLOCKING
        self._file = open(path, mode, opener=_at_once)  # noqa: SIM115
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


# Files that others made.


def _at_once(name: str, flags: int) -> int:
    """Opens without waiting for the other end of a pipe, and writes to no other file through a link."""
    own = os.O_NOFOLLOW if flags & os.O_CREAT and hasattr(os, "O_NOFOLLOW") else 0
    return os.open(name, flags | own | getattr(os, "O_NONBLOCK", 0), 0o666)


def opened(path: Path, mode: Literal["rb", "wb", "ab"] = "rb") -> BinaryIO:
    """A regular file. `OSError` at once for a pipe, a socket or a device, which may be endless, and for a link, to write."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "a file name cannot contain NUL", str(path).replace("\0", "?"))
    file = open(path, mode, opener=_at_once)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a file", str(path))
    return file


def inside(folder: Path, name: str) -> Path | None:
    """The regular file at a path that others wrote; None if there is none, or if it is not in the folder, be it by a link."""
    try:
        home, path = folder.resolve(), (folder / name).resolve()
        return path if path.is_relative_to(home) and path.is_file() else None
    except (OSError, ValueError, RuntimeError, TypeError):  # no possible name, a loop of links
        return None


@cache
def allowed_files() -> int:
    """How many files this process may have open; raises its limit as far as the system lets it."""
    try:
        import resource
    except ImportError:  # Windows
        return 1024
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 10_240 if most == resource.RLIM_INFINITY else min(most, 65_536)  # macOS has no more
    if now != resource.RLIM_INFINITY and now < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
            return wanted
    return wanted if now == resource.RLIM_INFINITY else now


FEWER = "raise the limit of open files (ulimit -n), or run fewer at once"
"""The next step after an error that is `out_of_files`."""


def out_of_files(error: BaseException | None) -> bool:
    """Whether this process has too many open files, by an error or its cause. SQLite does not say so: another file is tried."""
    codes = (errno.EMFILE, errno.ENFILE)
    while error is not None:
        if isinstance(error, OSError) and error.errno in codes:
            return True
        if getattr(error, "sqlite_errorname", "") == "SQLITE_CANTOPEN":
            try:
                os.close(os.open(os.devnull, os.O_RDONLY))
            except OSError as other:
                return other.errno in codes
        error = error.__cause__ or error.__context__
    return False


def own_cores() -> int:
    """Processors for this process: as many as OMP_NUM_THREADS says, which Ray sets for its workers, else all."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return (int(said) if said.isdecimal() else 0) or os.cpu_count() or 1


# Paths from users.


def expanded(name: str | Path) -> Path:
    """A path with `~` expanded; for an unknown user the path stays as it is, and does not exist."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


MOST_BYTES = 64_000_000


def read_text(path: Path, most: int = MOST_BYTES, encoding: str = "utf-8") -> str:
    """The text of a regular file; raises `OSError`, also for one of more than `most` bytes, and `UnicodeDecodeError`."""
    with opened(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most / 1e6:,.0f} MB", str(path))
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding).read()


# Atomic files and folders.


def replace_text(path: Path, text: str) -> None:
    """Write a file atomically: after a kill, the old or the new version is there. Raises OSError."""
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, data: bytes) -> None:
    """As `replace_text`. Raises OSError."""
    beside = path.with_name(f"{path.name}.part")
    with opened(beside, "wb") as file:
        file.write(data)
    os.replace(beside, path)


@contextmanager
def folder_beside(target: Path, *, checked: bool = False) -> Generator[Path]:
    """A new folder to fill, renamed to `target` at the end of the block, unless another process was quicker. Raises OSError.

    Args:
        checked: record its checksums; a damaged `target` is set aside, unless another process has repaired it meanwhile.
    """
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.name}-") as workplace:
        made = Path(workplace) / target.name
        made.mkdir()
        yield made
        if checked:
            record_checksums(made)
            if damaged_files(target):
                set_aside(target, "its files have changed")
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
    """Write `checksums.json`: size and checksum of every file in a folder except locks and files and folders in `apart`."""
    names = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    sums = {
        name.as_posix(): [(folder / name).stat().st_size, _checksum(folder / name)[0]]
        for name in names
        if name.suffix != ".lock" and not {CHECKSUMS, *apart}.intersection(name.parts)
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
    """CRC-32 of all non-zero blocks with their offsets, and the bytes in them: the files of banks are mostly holes."""
    value = read = position = 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            if block != _ZEROS[: len(block)]:
                value = zlib.crc32(block, zlib.crc32(position.to_bytes(8, "little"), value))
                read += len(block)
            position = file.seek(_after_hole(file.fileno(), position + _BLOCK))
    return value, read


def _after_hole(file: int, position: int) -> int:
    """The next block with data, as far as the system knows the holes of a file; its end, if only a hole follows."""
    try:
        return os.lseek(file, position, os.SEEK_DATA) // _BLOCK * _BLOCK
    except (AttributeError, OSError) as error:  # Windows, or a disk that knows none
        at_end = getattr(error, "errno", None) == errno.ENXIO
        return os.fstat(file).st_size if at_end else position


def sha256_of(path: Path) -> str:
    """Hexadecimal sha256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, where missing. Raises OSError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except RecursionError:  # of pathlib, which calls itself for each parent
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), str(folder)) from None


@contextmanager
def writable(
    path: Path, error_type: type[UserError] = ConfigError, hint: str = "choose another --out"
) -> Generator[None]:
    """Turns an error of a file or folder that cannot be written into a user's error."""
    try:
        yield
    except OSError as error:
        raise error_type(f"{path}: cannot be written: {error.strerror or error}", hint=hint) from error


def cache_folder() -> Path:
    """The user's cache folder, `MANYHEADS_CACHE` or the system's, created if missing; raises `CacheError` on failure."""
    import platformdirs

    named = os.environ.get("MANYHEADS_CACHE")
    folder = expanded(named) if named else platformdirs.user_cache_path("manyheads")
    try:
        make_folder(folder)
    except OSError as error:
        raise unwritable(folder, error) from error
    return folder


def unwritable(path: Path, error: OSError) -> CacheError:
    """The error for a cache that cannot be written: full disk, read-only disk, no permission."""
    return CacheError(
        f"the cache {path} cannot be written: {error.strerror or error}",
        hint="set MANYHEADS_CACHE to a writable folder with 200 MB of free space",
    )


T = TypeVar("T")


class Closing(ABC):
    """Mixin: closed at the end of its `with` block."""

    @abstractmethod
    def close(self) -> None:
        """Close and free resources; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()


# Resources shared by the runs of one process: opened once, counted, closed by the last user.


class _Lease(Generic[T]):
    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.things: list[T] = []
        """The resource, once open."""


class Pool(Generic[T]):
    """Resources by key, for any number of threads and event loops.

        corpora = Pool(Ecosystem.close)
        async with corpora.lent_in_thread(folder, lambda: Ecosystem.open(folder)) as ecosystem: ...

    The key of a resource that belongs to one event loop, such as an HTTP client, includes the loop.
    """

    def __init__(self, close: Callable[[T], object]) -> None:
        self._close = close
        self._lock = threading.Lock()
        self._entries: dict[Hashable, _Lease[T]] = {}

    def take(self, key: Hashable, make: Callable[[], T]) -> T:
        """The resource of a key, made by the first caller while others wait; `give_back` must follow."""
        with self._lock:
            entry = self._entries.setdefault(key, _Lease[T]())
            entry.users += 1
        try:
            with entry.lock:
                if not entry.things:
                    entry.things.append(make())
                return entry.things[0]
        except BaseException:
            self.give_back(key)
            raise

    def give_back(self, key: Hashable) -> object:
        """Return a resource. The last return closes it and gives the result of `close`."""
        with self._lock:
            entry = self._entries[key]
            entry.users -= 1
            if entry.users:
                return None
            del self._entries[key]
        return self._close(entry.things[0]) if entry.things else None

    @asynccontextmanager
    async def lent_in_thread(self, key: Hashable, make: Callable[[], T]) -> AsyncGenerator[T]:
        """The resource of a key for a block, opened and closed in a thread so that the loop is not blocked."""
        opening = asyncio.ensure_future(asyncio.to_thread(self.take, key, make))
        try:
            thing = await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(
                lambda done: done.cancelled() or done.exception() or self.give_back(key)
            )
            raise
        try:
            yield thing
        finally:
            await asyncio.shield(asyncio.to_thread(self.give_back, key))
