"""A paper's full text from a file: the readers of all formats, and the one that fits a file.

PDFs may be read in a process of their own: if PDFium crashes or hangs on one, only that file is lost.
`python -m manyheads.documents.reading` is the process: JSON in, JSON out.
"""

import itertools
import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from manyheads.base.entry_points import load, misfit, points
from manyheads.base.errors import DocumentError
from manyheads.base.files import opened, own_cores
from manyheads.base.text import count
from manyheads.documents.document import Document, Limits
from manyheads.documents.draft import heard
from manyheads.documents.grobid import ask_grobid
from manyheads.documents.html import read_html
from manyheads.documents.latex import read_latex
from manyheads.documents.office import office_reader
from manyheads.documents.pdf import TextlessError, read_pdf
from manyheads.documents.plain import read_json, read_markdown, read_plain
from manyheads.documents.programs import run_program
from manyheads.documents.recognition import TOOLS, recognised
from manyheads.documents.tei import read_tei

GROUP = "manyheads.readers"
"""Entry points of packages that bring readers."""
AUTO = "auto"
LIMITS = Limits()
LEAST = 20
"""Minimum words of a paper."""
OFFICE = {
    b"PK\x03\x04": "a ZIP archive, but no Word, OpenDocument or EPUB file",
    b"\xd0\xcf\x11\xe0": "an old Word file",
    b"{\\rtf": "an RTF file",
    b"%!PS": "a PostScript file",
}
"""Unsupported formats, by first bytes."""
KINDS = "a PDF, GROBID's TEI, LaTeX, HTML, Markdown, plain text or JSON; with the extra `office` Word, OpenDocument, EPUB, JATS, reStructuredText or Typst"
ANSWER = 1_000_000_000
"""Maximum bytes of a document."""
GRACE = 10.0
"""Seconds after its limit at which a process is stopped."""
MEMORY = 768 * 1024**2
"""Maximum memory of the process in bytes, if the system can enforce it: a paper of 200 pages takes half of it, a file of
2 kB can take any."""


@runtime_checkable
class DocumentReader(Protocol):
    """Reads the papers of a format, by itself or through a server.

    A package brings one by an entry point of the group `manyheads.readers`, whose name is the reader's.
    """

    def reads(self, path: Path, head: bytes, /) -> bool:
        """Whether it can read a file, by its name and its first bytes (some thousands, without blanks before them)."""
        ...

    def read(self, path: Path, limits: Limits, /) -> Document:
        """The full text; what it cannot read raises `DocumentError`."""
        ...


@dataclass(frozen=True)
class _Format:
    """A reader of ours, of files with an ending or a beginning."""

    endings: tuple[str, ...]
    begins: bytes
    """A regular expression."""
    read: Callable[[Path, Limits], Document]

    def reads(self, path: Path, head: bytes) -> bool:
        return path.suffix.lower() in self.endings or bool(re.match(self.begins, head, re.I | re.S))


def _of_text(read: Callable[[Path, str], Document]) -> Callable[[Path, Limits], Document]:
    return lambda path, limits: read(path, _text(path, limits))


NEVER = rb"(?!)"
READERS: Mapping[str, DocumentReader] = {
    "pdf": _Format((), rb".{0,1019}%PDF-", read_pdf),
    "docx": _Format((".docx", ".docm"), rb"PK\x03\x04.{26}\[Content_Types\]\.xml", office_reader("docx")),
    "odt": _Format(
        (".odt",), rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis\.opendocument\.text", office_reader("odt")
    ),
    "epub": _Format((".epub",), rb"PK\x03\x04.{26}mimetypeapplication/epub", office_reader("epub")),
    "jats": _Format(
        (".nxml",), rb"(?:<\?[^>]*>|<!--.*?-->|\s)*<(?:!DOCTYPE )?article\b", office_reader("jats")
    ),
    "rst": _Format((".rst", ".rest"), NEVER, office_reader("rst")),
    "typst": _Format((".typ", ".typst"), NEVER, office_reader("typst")),
    "tei": _Format((".xml",), rb".*(?:<TEI|tei-c\.org)", lambda path, _: read_tei(path.read_bytes(), path)),
    "html": _Format(
        (".html", ".htm", ".xhtml"),
        rb"(?:<\?xml[^>]*>|<!--.*?-->|\s)*<(?:!doctype html|html)",
        _of_text(read_html),
    ),
    "latex": _Format(
        (".tex", ".latex", ".ltx"), rb"(?:%[^\n]*\s+)*\\document(?:class|style)", _of_text(read_latex)
    ),
    "json": _Format((".json",), NEVER, _of_text(read_json)),
    "markdown": _Format((".md", ".markdown"), NEVER, _of_text(read_markdown)),
    "plain": _Format((".txt", ".text"), NEVER, _of_text(read_plain)),
}
"""Ours: the first that reads a file is taken, before those of other packages."""


def ending_of(head: bytes) -> str:
    """The ending of files that begin so; empty if no reader of ours knows them by that."""
    ours = (one for one in READERS.values() if isinstance(one, _Format))
    return next(((*one.endings, ".pdf")[0] for one in ours if one.reads(Path(), head.lstrip())), "")


def read_document(path: Path, limits: Limits = LIMITS, reader: str = AUTO) -> Document:
    """The full text of a paper.

    Args:
        reader: one of ours (see `READERS`) or of another package, by name; the address of a GROBID server; `ocrmypdf` or
            `tesseract`, which read a PDF's pages without text; `auto`: the first that reads the file.

    Raises:
        DocumentError: the file is missing, too large, broken, encrypted, empty, without text, or has another format.
        ConfigError: there is no such reader, or it cannot be imported.
    """
    try:
        document = _chosen(path, limits, reader).read(path, limits)
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
    return document.model_copy(update={"speech": heard(document)})


def _chosen(path: Path, limits: Limits, name: str) -> DocumentReader:
    """The reader of a name; else the first of ours, then of others, that reads the file."""
    try:
        size = path.stat().st_size
        with opened(path) as file:
            head = file.read(4096).lstrip(b"\xef\xbb\xbf \r\n\t")
    except OSError as error:
        why = error.strerror or error
        raise DocumentError(f"{path} cannot be read: {why}", hint=f"give {KINDS}") from error
    if size > limits.bytes:
        tried = f"files of up to {limits.bytes:,} bytes are read"
        hint = "split it, or print only the paper's pages to a new PDF"
        raise DocumentError(f"{path} is too large: {size:,} bytes", tried=tried, hint=hint)
    if not size:
        raise DocumentError(f"{path} is empty", hint="download or copy it again")
    if name.startswith(("http://", "https://")):
        return _Format((), NEVER, partial(_by_grobid, name))
    if name.partition(":")[0] in TOOLS:
        return _Format((), NEVER, partial(_by_recognition, name))
    if name != AUTO:
        return READERS.get(name) or _brought(name)
    for reader in itertools.chain(READERS.values(), map(_brought, points(GROUP))):
        if reader.reads(path, head):
            return reader
    if other := next((name for mark, name in OFFICE.items() if head.startswith(mark)), ""):
        tried, hint = "its first bytes", "open it in its own program, save it as a PDF, and use the PDF"
        raise DocumentError(f"{path} is {other}, which cannot be read", tried=tried, hint=hint)
    tried, hint = f"its first bytes, and its ending `{path.suffix}`", f"give {KINDS}"
    raise DocumentError(f"{path} has an unsupported format", tried=tried, hint=hint)


def _brought(name: str) -> DocumentReader:
    ours = (AUTO, *READERS, *TOOLS, "the address of a GROBID server")
    reader = load(GROUP, name, "document reader", ours)
    if not isinstance(reader, DocumentReader):
        raise misfit(GROUP, name, "a document reader: it needs the methods `reads` and `read`")
    return reader


def _text(path: Path, limits: Limits) -> str:
    """A text file in UTF-8, or in an older encoding."""
    data = path.read_bytes()
    if len(data) > limits.text:
        tried = f"texts of up to {limits.text:,} bytes are read"
        hint = "check that it is a paper, or use a part of it"
        raise DocumentError(f"{path} is too large: {len(data):,} bytes", tried=tried, hint=hint)
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


_places = threading.BoundedSemaphore(own_cores())
"""For processes at once."""


def read_apart(path: Path, limits: Limits = LIMITS, reader: str = AUTO) -> Document:
    """As `read_document`, but our reader of PDFs runs in a process of its own.

    Raises:
        DocumentError: also where the process crashed or hung on the file.
    """
    if _chosen(path, limits, reader) is not READERS["pdf"]:
        return read_document(path, limits, reader)
    seconds = limits.seconds + GRACE
    failed = f"takes more than {MEMORY // 2**20} MB of memory, or crashed PDFium"
    with _places:
        ended = run_program(
            # with -P, no file of the working folder is imported
            [sys.executable, "-P", "-m", __spec__.name if __spec__ else __name__],
            json.dumps({"path": str(path), "limits": asdict(limits)}).encode(),
            seconds=seconds,
            most=ANSWER,
            env={"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    if ended.late:
        failed = f"took more than {seconds:g} s"
    if not ended.answer.endswith(b"\n"):
        tried = "reading it in a separate process"
        hint = "open it in a viewer, print it to a new PDF, and use that"
        raise DocumentError(f"{path} cannot be read: it {failed}", tried=tried, hint=hint)
    told = json.loads(ended.answer)
    if "error" in told:
        kind = TextlessError if "pages" in told else DocumentError
        raise kind(told.pop("error"), **told)
    return Document.model_validate(told)


def _by_recognition(tool: str, path: Path, limits: Limits) -> Document:
    """A PDF, with the pages that have no text read by text recognition."""
    try:
        document = read_apart(path, limits, "pdf")
        pages = document.unread
    except TextlessError as error:
        document, pages = Document(), error.pages
    if pages:
        with tempfile.TemporaryDirectory() as folder:
            document = read_apart(recognised(path, tool, pages, Path(folder)), limits, "pdf")
        told = f"text recognition by {tool} read {count(len(pages), 'page')}: {', '.join(map(str, pages))}"
        document = document.model_copy(update={"faults": (told, *document.faults)})
    return document


def _by_grobid(address: str, path: Path, limits: Limits) -> Document:
    """A PDF by GROBID, with what only our reader finds: hidden text, pictures, the day on which it was made."""
    ours, document = read_apart(path, limits, "pdf"), ask_grobid(address, path, limits)
    hidden = [one for one in ours.hidden if one.page and not one.figure]
    told = f"GROBID reads hidden text too: {count(len(hidden), 'passage')} of it may stand in the text"
    parts = {name: getattr(ours, name) for name in ("figures", "tables", "hidden", "unread", "made", "pages")}
    return document.model_copy(update={**parts, "faults": (*document.faults, *[told] * bool(hidden))})


def main() -> None:
    """The process: reads what standard input asks for, and prints the document or the error."""
    answers = os.fdopen(os.dup(1), "wb")
    # Output of libraries must not mix with the answer.
    os.dup2(2, 1)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    request: Any = json.load(sys.stdin)
    try:
        answer = read_document(Path(request["path"]), Limits(**request["limits"])).model_dump_json()
    except DocumentError as error:
        told = {"error": error.message, "tried": error.tried, "hint": error.hint}
        answer = json.dumps(told | ({"pages": error.pages} if isinstance(error, TextlessError) else {}))
    answers.write(answer.encode() + b"\n")
    answers.flush()


if __name__ == "__main__":
    main()
