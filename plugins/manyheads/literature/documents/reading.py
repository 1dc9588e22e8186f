"""A paper's full text from a file: a PDF, or the TEI that GROBID makes of one."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from manyheads.errors import DocumentError
from manyheads.literature.documents.bibliography import Citations, entries, reference
from manyheads.literature.documents.dates import year_told
from manyheads.literature.documents.document import Document, Limits, Reference, Section
from manyheads.literature.documents.figures import floats
from manyheads.literature.documents.layout import Line, joined, marked, sheets, vocabulary
from manyheads.literature.documents.pages import SCANNED, read_pages
from manyheads.literature.documents.sections import (
    ABSTRACT,
    Passage,
    paragraphs,
    passages,
    title_and_authors,
)
from manyheads.literature.documents.tei import read_tei

LIMITS = Limits()


def read_document(path: Path, limits: Limits = LIMITS) -> Document:
    """The full text of a paper; the file's first bytes say what it is, else its ending.

    Raises:
        DocumentError: the file is missing, too large, broken, encrypted, empty, without text, or of another kind.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise DocumentError(
            f"{path} cannot be read: {error.strerror or error}",
            hint="give the path of a PDF or of a TEI file",
        ) from error
    if size > limits.bytes:
        raise DocumentError(
            f"{path} is too large: {size:,} bytes",
            tried=f"files of up to {limits.bytes:,} bytes are read",
            hint="split it, or print only the paper's pages into a new PDF",
        )
    if not size:
        raise DocumentError(f"{path} is empty", hint="fetch or copy it again")
    if b"%PDF-" in head[:1024]:
        return _read_pdf(path, limits)
    if (
        b"<TEI" in head
        or b"tei-c.org" in head
        or (path.suffix == ".xml" and head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"<")
    ):
        return read_tei(path)
    raise DocumentError(
        f"{path} is neither a PDF nor TEI",
        tried="the file's first bytes",
        hint="give a PDF, or the TEI that GROBID makes of one",
    )


def _read_pdf(path: Path, limits: Limits) -> Document:
    pages, count, faults, named = read_pages(path, limits)
    if not count:
        raise DocumentError(f"{path} has no pages", hint="export the paper into a PDF again")
    if not pages:
        raise DocumentError(f"no page of {path} can be read", tried="; ".join(faults[:3]))
    count_of_words = sum(len(page.words) for page in pages)
    if count_of_words < min(SCANNED * len(pages), 200):
        raise DocumentError(
            f"{path} has no text: {count_of_words} words on {len(pages)} pages, as of a scan",
            tried="the text of its pages; pictures are not read",
            hint="have its text recognised (ocrmypdf IN.pdf OUT.pdf), and give what that makes",
        )
    made, body = sheets(pages)
    words = vocabulary(made)
    figures, tables, missing = floats(made, body, words)
    faults += missing
    lines = [line for sheet in made for line in sheet.lines]
    title, authors, begin = title_and_authors(lines, body)
    if not title and named.strip():
        title = " ".join(named.split())
        faults.append("the title is that of the file's own description: none stands out on the first page")
    parts = passages(lines[begin:], body)
    abstract = ""
    for part in parts:
        if ABSTRACT.match(part.title) and not abstract:
            abstract = ABSTRACT.sub("", paragraphs(part.lines, words))
    if not abstract and len(parts) > 1 and not parts[0].title and parts[1].kind == "introduction":
        abstract = paragraphs(parts.pop(0).lines, words)
    references = tuple(
        reference(text)
        for part in parts
        if part.references
        for text in entries(part.lines, words)
        if re.search(r"[^\W\d_]{3}", text)
    )
    if not abstract:
        faults.append("no abstract was found")
    if not references:
        faults.append("no list of references was found")
    return Document(
        title=title,
        abstract=abstract,
        authors=authors,
        year=year_told(" ".join(word.text for word in pages[0].words)),
        sections=_sections(parts, references, words),
        references=references,
        figures=figures,
        tables=tables,
        notes=tuple(text for sheet in made for text in _notes(sheet.notes, words)),
        hidden=tuple(hidden for page in pages for hidden in page.hidden),
        pages=count,
        faults=tuple(faults),
    )


def _sections(
    parts: list[Passage], references: tuple[Reference, ...], words: Mapping[str, int]
) -> tuple[Section, ...]:
    citations = Citations(references)
    sections: list[Section] = []
    for part in parts:
        if part.references or ABSTRACT.match(part.title):
            continue
        text = paragraphs(part.lines, words)
        stood = {one.page for one in part.lines} | ({part.heading.page} if part.heading else set())
        sections.append(
            Section(
                title=part.title,
                number=part.number,
                kind=part.kind,
                text=text,
                pages=tuple(sorted(stood)),
                cites=citations.of(text),
            )
        )
    return tuple(sections)


def _notes(lines: Sequence[Line], words: Mapping[str, int]) -> list[str]:
    groups: list[list[str]] = []
    for line in lines:
        if marked(line) or not groups:
            groups.append([])
        groups[-1].append(line.text)
    return [joined(group, words) for group in groups]
