"""Reads documents in a separate process: if PDFium crashes or hangs on a file, only that file is lost.

For many files, or untrusted ones. `python -m manyheads.documents.apart` is the process: a line of JSON in, a
line of JSON out.
"""

import itertools
import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from manyheads.base.errors import DocumentError
from manyheads.base.files import Pool
from manyheads.documents.document import Document, Limits
from manyheads.documents.reading import LIMITS, read_document

GRACE = 10.0
"""Seconds after its limit at which a process is stopped."""
MEMORY = 768 * 1024**2
"""Maximum memory of the process in bytes, if the system can enforce it: a paper of 200 pages takes half of it, a file of
2 kB can take any."""


class Reader:
    """Reads documents like `read_document`, one at a time; close it, or use it in a `with`."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._limits, self._lock = limits, threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, path: Path) -> Document:
        """The full text of a paper.

        Raises:
            DocumentError: as in `read_document`; or the process crashed or hung on the file.
        """
        request = json.dumps({"path": str(path), "limits": asdict(self._limits)}).encode() + b"\n"
        with self._lock:
            process = self._running()
            assert process.stdin
            assert process.stdout
            late = threading.Event()

            def stop() -> None:
                late.set()
                process.kill()

            timer = threading.Timer(self._limits.seconds + GRACE, stop)
            timer.start()
            try:
                process.stdin.write(request)
                process.stdin.flush()
                line = process.stdout.readline()
            except BrokenPipeError:
                line = b""
            finally:
                timer.cancel()
            if not line.endswith(b"\n"):
                self._end()
                what = (
                    f"took more than {self._limits.seconds + GRACE:g} s"
                    if late.is_set()
                    else f"takes more than {MEMORY // 2**20} MB of memory, or crashed PDFium"
                )
                raise DocumentError(
                    f"{path} cannot be read: it {what}",
                    tried="reading it in a separate process",
                    hint="open it in a viewer, print it to a new PDF, and use that",
                )
        answer = json.loads(line)
        if "error" in answer:
            raise DocumentError(answer["error"], tried=answer["tried"], hint=answer["hint"])
        return Document.model_validate_json(answer["document"])

    def close(self) -> None:
        """Stop the process."""
        with self._lock:
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                # with -P, no file of the working folder is imported
                [sys.executable, "-P", "-m", __spec__.name if __spec__ else __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={
                    **os.environ,
                    "OPENBLAS_NUM_THREADS": "1",
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
            )
        return self._process

    def _end(self) -> None:
        if process := self._process:
            self._process = None
            process.kill()
            process.communicate()


READERS = Pool(Reader.close)
"""Processes shared by the runs here, one per processor."""
_turns = itertools.count()


def read_apart(path: Path) -> Document:
    """The full text of a paper, read in a process shared with concurrent readers; see `Reader.read`."""
    place = next(_turns) % (os.cpu_count() or 1)
    reader = READERS.take(place, Reader)
    try:
        return reader.read(path)
    finally:
        READERS.give_back(place)


def main() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    # Output of libraries must not mix with the answers.
    os.dup2(2, 1)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        request: Any = json.loads(line)
        try:
            document = read_document(Path(request["path"]), Limits(**request["limits"]))
            answer = {"document": document.model_dump_json()}
        except DocumentError as error:
            answer = {"error": error.message, "tried": error.tried, "hint": error.hint}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
