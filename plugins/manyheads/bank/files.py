"""Files of text as streams of lines: plain, gzip, or inside a zip; a clear word on what cannot be read."""

import gzip
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

from manyheads.errors import CorpusError

LONGEST = 64 * 2**20
"""Bytes of a line above which a file is taken for another kind of file, instead of filling the memory."""
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"


def lines(source: Path, member: str | None = None) -> Generator[tuple[int, bytes], None, None]:
    """The lines of a file that are not blank, with their numbers from 1, and without the byte order mark.

    Args:
        member: of a zip that holds several files, the one to read.

    Raises:
        CorpusError: missing, a folder, cut off, of another compression than its name says, UTF-16, or binary.
    """
    number = 0
    with reading(source, lambda: f" after line {number}" if number else ""), opened(source, member) as stream:
        for number, line in enumerate(_bounded(source, stream), 1):
            if line.strip():
                yield number, line.removeprefix(UTF8_MARK) if number == 1 else line


@contextmanager
def opened(source: Path, member: str | None = None) -> Generator[IO[bytes]]:
    """The file's bytes, unpacked; a file that plainly holds something else is refused here."""
    start = head(source)
    if source.suffix == ".gz" and not start.startswith(GZIP):
        raise CorpusError(
            f"{source}: named .gz but not gzip", hint="rename it to what it is, or pack it with gzip"
        )
    if start.startswith(UTF16):
        raise CorpusError(f"{source}: UTF-16, not UTF-8", hint=f"iconv -f utf-16 -t utf-8 {source.name}")
    with ExitStack() as held:
        raw: IO[bytes] = held.enter_context(source.open("rb"))
        if start.startswith(GZIP):
            yield cast(IO[bytes], held.enter_context(gzip.GzipFile(fileobj=raw)))
        elif start.startswith(ZIP):
            yield held.enter_context(_member(source, held.enter_context(zipfile.ZipFile(raw)), member))
        else:
            yield raw


def members(source: Path) -> list[str | None]:
    """The files inside a zip; [None] for a file that is none."""
    if not head(source).startswith(ZIP):
        return [None]
    with reading(source), zipfile.ZipFile(source) as archive:
        return [*_files_of(archive)]


def head(source: Path, size: int = 4) -> bytes:
    """The first bytes of a file as they lie on the disk; raises CorpusError when there is none to read."""
    if source.is_dir() or not source.exists():
        what = "a folder, not a file" if source.is_dir() else "no such file"
        raise CorpusError(f"{source}: {what}", hint="name a file of papers, such as papers.jsonl.gz")
    try:
        with source.open("rb") as raw:
            return raw.read(size)
    except OSError as wrong:
        raise CorpusError(f"{source}: cannot be read: {wrong.strerror or wrong}") from wrong


@contextmanager
def reading(source: Path, where: Callable[[], str] = str) -> Generator[None]:
    """Say of any trouble with a file's bytes which file it was, and how far the reading came."""
    try:
        yield
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as wrong:
        hint = "fetch the file again"
        raise CorpusError(f"{source}: cannot be read{where()}: {wrong}", hint=hint) from wrong


def _member(source: Path, archive: zipfile.ZipFile, member: str | None) -> IO[bytes]:
    names = _files_of(archive)
    if member is None and len(names) != 1:
        raise CorpusError(f"{source}: holds {len(names)} files, not one", hint=f"unzip {source.name}")
    return archive.open(names[0] if member is None else member)


def _files_of(archive: zipfile.ZipFile) -> list[str]:
    found = (one.filename for one in archive.infolist() if not one.is_dir())
    return [name for name in found if not name.startswith("__MACOSX/")]


def _bounded(source: Path, stream: IO[bytes]) -> Iterator[bytes]:
    while line := stream.readline(LONGEST):
        if len(line) == LONGEST:
            raise CorpusError(f"{source}: a line of more than {LONGEST >> 20} MB", hint="is it text at all?")
        yield line
