"""Programs that read a paper: the one place that starts them, with limits of time and output. Pandoc is one of them."""

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, NamedTuple

from manyheads.base.errors import DocumentError, install_command
from manyheads.base.processes import end_group

SECONDS, MEMORY, OUTPUT = 20.0, "-M512m", 60_000_000
"""Pandoc's limits: of time, of its heap, and bytes of its answer."""
PIECE = 1_000_000
LAST = 2000
"""Bytes that are kept of what a program says."""


class Ended(NamedTuple):
    """A program that has ended, or was stopped."""

    code: int
    answer: bytes
    """Its output, or one byte more than was allowed."""
    said: str
    """The end of what it wrote to standard error, or, if no answer is expected, to standard output as well."""
    late: bool


def run_program(
    command: Sequence[str],
    given: bytes = b"",
    *,
    seconds: float,
    most: int = 0,
    env: Mapping[str, str] | None = None,
) -> Ended:
    """Run a program to its end, or stop it: after `seconds`, or at more than `most` bytes of output.

    Args:
        given: its standard input.
        most: 0 if no answer is expected.
        env: variables added to those of this process.
    """
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as told:
        source.write(given)
        source.seek(0)
        begin, answer = time.monotonic(), b""
        # Without an answer there is no pipe: children of the program would keep it open.
        process = subprocess.Popen(
            command, stdin=source, stdout=subprocess.PIPE if most else told, stderr=told, env={**os.environ, **(env or {})},
            start_new_session=True,
        )  # fmt: skip
        timer = threading.Timer(seconds, end_group, [process.pid])
        timer.start()
        try:
            if process.stdout:
                with process.stdout:
                    answer = b"".join(_pieces(process.stdout, most + 1))
            if len(answer) <= most:
                process.wait()
        finally:
            end_group(process.pid)
            timer.cancel()
            process.wait()
        late = process.returncode != 0 and time.monotonic() - begin >= seconds
        told.seek(max(0, told.seek(0, os.SEEK_END) - LAST))
        return Ended(process.returncode, answer, told.read().decode("utf-8", "replace").strip(), late)


def _pieces(file: IO[bytes], most: int) -> Iterator[bytes]:
    """At most so many bytes of a file, piece by piece: a read of a billion bytes would ask for them all at once."""
    while most > 0 and (piece := file.read(min(most, PIECE))):
        most -= len(piece)
        yield piece


def pandoc_for(what: str, otherwise: str) -> str:
    """Pandoc: the extra `office`, or a `pandoc` on the PATH; raises `DocumentError` without it, which says what needs it."""
    try:
        import pypandoc

        return str(pypandoc.get_pandoc_path())
    except (ImportError, OSError) as error:
        if found := shutil.which("pandoc"):
            return found
        raise DocumentError(
            f"{what} needs Pandoc", tried="the extra `office`; `pandoc` on the PATH",
            hint=f"{install_command('office')}, or {otherwise}",
        ) from error  # fmt: skip


def run_pandoc(what: str, options: str, data: bytes, otherwise: str) -> bytes:
    """What Pandoc makes of a text. It opens no other file.

    Args:
        what: begins the message of an error.
        otherwise: what else a person can do.

    Raises:
        DocumentError: there is no Pandoc, it fails, or takes more than its limits of time, memory and output.
    """
    command = [pandoc_for(what, otherwise), "+RTS", MEMORY, "-RTS", "--sandbox", *options.split()]
    env = {"HOME": tempfile.gettempdir(), "LC_ALL": "C.UTF-8"}
    ended = run_program(command, data, seconds=SECONDS, most=OUTPUT, env=env)
    said = " ".join(ended.said.split())[:300]
    if ended.late:
        why = f"it took more than {SECONDS:g} s"
    elif len(ended.answer) > OUTPUT:
        why = f"its text is larger than {OUTPUT:,} bytes"
    elif ended.code:
        why = said if said and "Heap exhausted" not in said else f"it takes more memory than {MEMORY[2:]}B"
    else:
        return ended.answer
    raise DocumentError(f"{what} by Pandoc failed: {why}", hint=otherwise)
