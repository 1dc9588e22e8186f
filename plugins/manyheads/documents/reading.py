"""A paper's full text from a file: a PDF, or GROBID's TEI of one."""

import itertools
import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from manyheads.base.errors import DocumentError
from manyheads.base.files import opened
from manyheads.base.pool import Pool
from manyheads.core.texts import count
from manyheads.documents.document import Document, Limits
from manyheads.documents.html import read_html
from manyheads.documents.latex import read_latex
from manyheads.documents.pdf import read_pdf
from manyheads.documents.plain import read_json, read_markdown, read_plain
from manyheads.documents.tei import read_tei

LIMITS = Limits()
LEAST = 20
"""Minimum words of a paper."""
PLAIN = (".txt", ".text")
LATEX = (".tex", ".latex", ".ltx")
HTML = (".html", ".htm", ".xhtml")
TEXTS = (*PLAIN, ".md", ".markdown", ".json")
OFFICE = {
    b"PK\x03\x04": "a Word or OpenDocument file, or another ZIP archive",
    b"\xd0\xcf\x11\xe0": "an old Word file",
    b"{\\rtf": "an RTF file",
    b"%!PS": "a PostScript file",
}
"""Unsupported formats, by first bytes."""
KINDS = "a PDF, GROBID's TEI, LaTeX, HTML, Markdown, plain text or JSON"


def read_document(path: Path, limits: Limits = LIMITS) -> Document:
    """The full text of a paper; the format is determined by the first bytes, else by the ending.

    Raises:
        DocumentError: the file is missing, too large, broken, encrypted, empty, without text, or has another format.
    """
    try:
        document = _read(path, limits)
    except RecursionError as error:
        raise DocumentError(
            f"{path} is nested too deeply: a part in a part, hundreds of times",
            tried="lists, groups, elements and objects within one another",
            hint="use the PDF",
        ) from error
    if document.words < LEAST:
        raise DocumentError(
            f"{path} has no text of a paper: {count(document.words, 'word')}",
            tried=f"its title, abstract, sections, captions, notes and references; {LEAST} words are the least",
            hint="open it, check that it is the whole paper, and download or export it again",
        )
    return document


def _read(path: Path, limits: Limits) -> Document:
    """The document in a file, however short."""
    try:
        size = path.stat().st_size
        with opened(path) as file:
            head = file.read(4096)
    except OSError as error:
        raise DocumentError(
            f"{path} cannot be read: {error.strerror or error}", hint=f"give {KINDS}"
        ) from error
    if size > limits.bytes:
        raise DocumentError(
            f"{path} is too large: {size:,} bytes",
            tried=f"files of up to {limits.bytes:,} bytes are read",
            hint="split it, or print only the paper's pages to a new PDF",
        )
    if not size:
        raise DocumentError(f"{path} is empty", hint="download or copy it again")
    if b"%PDF-" in head[:1024]:
        return read_pdf(path, limits)
    if other := next((name for mark, name in OFFICE.items() if head.startswith(mark)), ""):
        raise DocumentError(
            f"{path} is {other}, which cannot be read",
            tried="its first bytes",
            hint="open it in its own program, save it as a PDF, and use the PDF",
        )
    start = head.lstrip(b"\xef\xbb\xbf \r\n\t")
    kind = path.suffix.lower()
    if b"<TEI" in head or b"tei-c.org" in head or (kind == ".xml" and start[:1] == b"<"):
        return read_tei(path)
    if kind in HTML or re.match(rb"(?i)<!doctype html|<html", start):
        return read_html(path, _text(path, size, limits))
    if kind in LATEX or (kind in PLAIN and b"\\documentclass" in head):
        return read_latex(path, _text(path, size, limits))
    if kind in TEXTS:
        text = _text(path, size, limits)
        if kind == ".json":
            return read_json(path, text)
        return read_plain(path, text) if kind in PLAIN else read_markdown(path, text)
    raise DocumentError(
        f"{path} has an unsupported format",
        tried=f"its first bytes, and its ending `{path.suffix}`",
        hint=f"give {KINDS}",
    )


def _text(path: Path, size: int, limits: Limits) -> str:
    """A text file in UTF-8, or in an older encoding."""
    if size > limits.text:
        raise DocumentError(
            f"{path} is too large: {size:,} bytes",
            tried=f"texts of up to {limits.text:,} bytes are read",
            hint="check that it is a paper, or use a part of it",
        )
    data = path.read_bytes()
    if b"\0" in data:
        raise DocumentError(f"{path} is not text: it contains null bytes", hint=f"use {KINDS}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise DocumentError(f"{path} is blank", hint=f"use {KINDS}")
    return text


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
