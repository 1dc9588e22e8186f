"""Corpora on other machines: the sums of a corpus's files, their pieces, and a machine's own copy, made once."""

import asyncio
import hashlib
import json
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from manyheads.base.errors import CorpusError
from manyheads.base.files import (
    FileLock,
    LockedError,
    cache_folder,
    make_folder,
    set_aside,
    sha256_of,
    unwritable,
)
from manyheads.corpus.corpora import folder_of, is_sound, resolve_corpus
from manyheads.corpus.layers import parts_of
from manyheads.corpus.meta import REJECTS, read_meta

Ask = Callable[[str, int], Awaitable[bytes]]
"""Asks for the piece of a file, by its full name where the corpus is, from a byte on."""

PIECE = 2 * 2**20
"""Most bytes of a piece."""
AHEAD = 4
"""Pieces asked for at once."""
UNUSED = 30 * 86_400.0
"""Seconds after which a copy that no job has used is removed."""
TRIES = 2
"""Times that a file is fetched."""
POLL = 0.1
"""Seconds between looks whether another process or job still makes the copy."""


@dataclass(frozen=True)
class FileSum:
    """A file: its name in the corpus, bytes, time of its last change in nanoseconds, hexadecimal sha256."""

    name: str
    size: int
    changed: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The files of a corpus: its name in configs, and its folder and fingerprint where it is."""

    corpus: str
    folder: str
    files: tuple[FileSum, ...]
    fingerprint: str

    @property
    def sha256(self) -> str:
        """Hexadecimal sha256 over names, sizes and sums."""
        lines = [(one.name, one.size, one.sha256) for one in self.files]
        return hashlib.sha256(json.dumps(lines).encode()).hexdigest()

    @classmethod
    def of(cls, corpus: str, folder: Path) -> "Manifest":
        """The manifest of a built corpus; reads every file. Raises `CorpusError`."""
        files = list[FileSum]()
        try:
            for path in sorted(folder.rglob("*")):
                stat, name = path.stat(), path.relative_to(folder).as_posix()
                passing = name.endswith((".lock", "-shm", REJECTS)) or (
                    name.endswith("-wal") and not stat.st_size
                )
                if path.is_file() and not passing:
                    files.append(FileSum(name, stat.st_size, stat.st_mtime_ns, sha256_of(path)))
        except OSError as error:
            raise CorpusError(f"{folder}: cannot be read: {error}") from error
        return cls(corpus, str(folder), tuple(files), read_meta(folder).fingerprint)

    def is_at(self, folder: Path) -> bool:
        """Whether a folder has these files; reads only those that were changed at another time. Raises OSError."""
        for one in self.files:
            try:
                stat = (path := folder / one.name).stat()
            except OSError:
                return False
            if stat.st_size != one.size or (
                stat.st_mtime_ns != one.changed and sha256_of(path) != one.sha256
            ):
                return False
        return True


def manifests_of(corpus: str, known: dict[Path, Manifest]) -> tuple[Manifest, ...]:
    """Of what is under a corpus's layers, lowest first, and of the corpus itself.

    Args:
        known: of earlier corpora's parts, by folder; receives the new ones, so that each is read once.

    Raises:
        CorpusError: there is no such corpus, or a part of it cannot be read.
    """
    *under, top = parts_of(resolve_corpus(corpus).absolute())
    for folder in under:
        known[folder] = known.get(folder) or Manifest.of(str(folder), folder)
    return (*(known[folder] for folder in under), Manifest.of(corpus, top))


class CorpusSource:
    """Hands out the pieces of files, where the corpora are."""

    def piece(self, path: str, start: int) -> bytes:
        """Up to `PIECE` bytes; none if all are zero: most of a bank is holes. Raises OSError."""
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read(PIECE)
        return data if data.strip(b"\0") else b""


async def local_copy(manifest: Manifest, ask: Ask) -> Path:
    """The folder of a corpus on this machine: the one of this name if it is the same, else a copy in the user's cache.

    The copy is made once for all processes, is complete when it is there, and goes on where a killed process stopped.
    Copies that have not been used for 30 days are removed.

    Raises:
        CorpusError: the pieces have other sums than the manifest says.
        CacheError: the copy cannot be written.
    """
    own, folder = folder_of(manifest.corpus), cache_folder() / "corpora" / manifest.sha256
    if own != folder and await asyncio.to_thread(manifest.is_at, own):
        return own
    beside = folder.with_name(f"{folder.name}.part")
    try:
        make_folder(folder.parent)
        with await _one_writer(folder.with_name(f"{folder.name}.lock")):
            if folder.exists() and not await asyncio.to_thread(is_sound, folder):
                set_aside(folder, "its files have changed")
            if not folder.exists():
                for each in manifest.files:
                    await _fetch(manifest, each, beside / each.name, ask)
                os.replace(beside, folder)
            os.utime(folder.with_name(f"{folder.name}.lock"))
        await asyncio.to_thread(_remove_unused, folder.parent)
    except OSError as error:
        raise unwritable(folder, error) from error
    return folder


def _remove_unused(copies: Path) -> None:
    """Remove copies that no job has asked for since `UNUSED`, and no process has open. Raises OSError."""
    # the shipped corpora, which are built, lie there, too
    for lock in copies.glob("[0-9a-f]" * 64 + ".lock"):
        if time.time() - lock.stat().st_mtime > UNUSED:
            with suppress(LockedError), FileLock(lock), ExitStack() as closed:
                for bank in copies.glob(f"{lock.stem}/**/use.lock"):
                    closed.enter_context(FileLock(bank))
                for each in copies.glob(f"{lock.stem}*/"):  # with what a killed process left
                    shutil.rmtree(each)


async def _one_writer(path: Path) -> FileLock:
    """Waits without a thread: many jobs that wait would leave none to the one that writes."""
    while True:
        with suppress(LockedError):
            return FileLock(path)
        await asyncio.sleep(POLL)


async def _fetch(manifest: Manifest, file: FileSum, path: Path, ask: Ask) -> None:
    make_folder(path.parent)
    for _ in range(TRIES):
        if await asyncio.to_thread(_has_sum, path, file):
            return
        starts = range(0, file.size, PIECE)
        with path.open("wb") as out:
            out.truncate(file.size)
            for at in range(0, len(starts), AHEAD):
                some = starts[at : at + AHEAD]
                pieces = await asyncio.gather(*(ask(f"{manifest.folder}/{file.name}", one) for one in some))
                for start, piece in zip(some, pieces, strict=True):
                    out.seek(start)
                    out.write(piece)
        os.utime(path, ns=(file.changed, file.changed))  # `Manifest.is_at` need not read it again
    if not await asyncio.to_thread(_has_sum, path, file):
        raise CorpusError(
            f"{manifest.folder}: {file.name} has another sha256 than when it was announced",
            hint="it changed meanwhile, or was damaged on its way: run the same command again",
        )


def _has_sum(path: Path, file: FileSum) -> bool:
    return path.exists() and sha256_of(path) == file.sha256
