"""A paper's full text from a file: a PDF, or GROBID's TEI of one."""

import re
from pathlib import Path

from manyheads.base.errors import DocumentError
from manyheads.base.files import opened
from manyheads.core.texts import count
from manyheads.documents.document import Document, Limits
from manyheads.documents.html import read_html
from manyheads.documents.latex import read_latex
from manyheads.documents.pdf import read_pdf
from manyheads.documents.plain import read_markdown, read_plain
from manyheads.documents.structured import read_json
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
