"""Text files as streams of lines: plain, gzip, or inside a zip, with clear errors."""

import gzip
import zipfile
import zlib
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

from manyheads.base.errors import CorpusError
from manyheads.base.files import opened

LONGEST = 2**24
"""Maximum bytes of a line: a file with longer ones has another format and would fill the memory."""
_SHORT, MOST_OBJECTS, MOST_VALUES = 2**20, 100_000, 500_000
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"


def lines(source: Path, member: str | None = None) -> Generator[tuple[int, bytes], None, None]:
    """The non-blank lines of a file (of a zip with several files, of one `member`), with their numbers from 1.

    Drops the byte order mark. Raises `CorpusError` if the file is missing, a folder, cut off, compressed differently than its
    name says, UTF-16, or binary.
    """
    number = 0
    with open_file(source, member, where=lambda: f" after line {number}" if number else "") as stream:
        while line := stream.readline(LONGEST):
            if len(line) == LONGEST:
                raise CorpusError(
                    f"{source}: a line of more than {LONGEST >> 20} MB", hint="check that it is a text file"
                )
            number += 1
            if line.strip():
                yield number, line.removeprefix(UTF8_MARK) if number == 1 else line


def crowded(line: bytes) -> tuple[str, str] | None:
    """Why a line of JSON is not read, as field and reason: many small values would take a hundred times its size."""
    if len(line) > _SHORT:
        objects, values = line.count(b"[") + line.count(b"{"), line.count(b",")
        if objects > MOST_OBJECTS or values > MOST_VALUES:
            return "json", f"{max(objects, values):,} values in one line"
    return None


@contextmanager
def open_file(
    source: Path, member: str | None = None, *, where: Callable[[], str] = str
) -> Generator[IO[bytes]]:
    """The file's bytes, unpacked; a file that clearly has another format is rejected here.

    For a zip with several files, `member` is read. `where` gives the position for errors within the block.
    """
    start = head(source)
    if source.suffix == ".gz" and not start.startswith(GZIP):
        raise CorpusError(
            f"{source}: has the ending .gz but is not gzip", hint="rename it, or compress it with gzip"
        )
    if start.startswith(UTF16):
        raise CorpusError(f"{source}: UTF-16, not UTF-8", hint=f"iconv -f utf-16 -t utf-8 {source.name}")
    with reading(source, where), ExitStack() as held:
        raw: IO[bytes] = held.enter_context(opened(source))
        if start.startswith(GZIP):
            yield cast(IO[bytes], held.enter_context(gzip.GzipFile(fileobj=raw)))
        elif start.startswith(ZIP):
            archive = held.enter_context(zipfile.ZipFile(raw))
            names = [member] if member else _files_of(archive)
            if len(names) != 1:
                raise CorpusError(
                    f"{source}: contains {len(names)} files, not one", hint=f"unzip {source.name}"
                )
            yield held.enter_context(archive.open(names[0]))
        else:
            yield raw


def members(source: Path) -> list[str | None]:
    """The files inside a zip; [None] for any other file."""
    if not head(source).startswith(ZIP):
        return [None]
    with reading(source), zipfile.ZipFile(source) as archive:
        return [*_files_of(archive)]


def head(source: Path, size: int = 4) -> bytes:
    """The first bytes of a file on disk; raises CorpusError if it cannot be read."""
    if source.is_dir() or not source.exists():
        what = "a folder, not a file" if source.is_dir() else "no such file"
        raise CorpusError(f"{source}: {what}", hint="name a file of papers, such as papers.jsonl.gz")
    try:
        with opened(source) as raw:
            return raw.read(size)
    except OSError as wrong:
        raise CorpusError(f"{source}: cannot be read: {wrong.strerror or wrong}") from wrong


@contextmanager
def reading(source: Path, where: Callable[[], str] = str) -> Generator[None]:
    """Add file and position to errors in reading a file's bytes."""
    try:
        yield
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as wrong:
        hint = "download the file again"
        raise CorpusError(f"{source}: cannot be read{where()}: {wrong}", hint=hint) from wrong


def _files_of(archive: zipfile.ZipFile) -> list[str]:
    return [
        each.filename
        for each in archive.infolist()
        if not (each.is_dir() or each.filename.startswith("__MACOSX/"))
    ]
