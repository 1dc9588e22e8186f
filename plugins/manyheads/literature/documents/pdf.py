"""A paper's full text from a PDF: pages, lines, floats, then title, abstract, sections and references."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from manyheads.errors import DocumentError
from manyheads.literature.documents.bibliography import entries, reference
from manyheads.literature.documents.dates import numbers_told, year_told
from manyheads.literature.documents.document import Document, Hidden, Limits, Note
from manyheads.literature.documents.draft import Draft
from manyheads.literature.documents.figures import floats
from manyheads.literature.documents.layout import Line, joined, marked, sheets, vocabulary
from manyheads.literature.documents.page import SCANNED
from manyheads.literature.documents.pages import read_pages
from manyheads.literature.documents.sections import (
    ABSTRACT,
    Division,
    divisions,
    paragraphs,
    title_and_authors,
)
from manyheads.literature.documents.speech import speech


def read_pdf(path: Path, limits: Limits) -> Document:
    """The full text of a PDF.

    Raises:
        DocumentError: it is broken, encrypted, empty, or has no text.
    """
    pages, count, faults, about = read_pages(path, limits)
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
    title, authors, text = title_and_authors(lines, body)
    if not title and about.get("Title", "").casefold() not in ("", "untitled", "title"):
        title = about["Title"]
        faults.append("the title is that of the file's own description: none stands out on the first page")
    parts = divisions(text, body)
    for part in parts:
        part.text, part.starts = paragraphs(part.lines, words)
        stood = {one.page for one in part.lines} | ({part.heading.page} if part.heading else set())
        part.pages = tuple(sorted(stood))
    abstract, abstract_page = _abstract(parts)
    first = " ".join(word.text for word in pages[0].words)
    return Draft(
        title=title,
        abstract=abstract,
        abstract_page=abstract_page,
        authors=authors,
        year=year_told(first),
        numbers=numbers_told(first),
        divisions=[one for one in parts if not (one.references or ABSTRACT.match(one.title))],
        references=[
            reference(text)
            for part in parts
            if part.references
            for text in entries(part.lines, words)
            if re.search(r"[^\W\d_]{3}", text)
        ],
        figures=[*figures],
        tables=[*tables],
        notes=[note for sheet in made for note in _notes(sheet.notes, words)],
        hidden=[
            *(hidden for page in pages for hidden in page.hidden),
            *(Hidden(text=text, page=0, why="metadata") for text in about.values() if speech(text)),
        ],
        pages=count,
        faults=faults,
    ).document(kinds=False)


def _abstract(parts: list[Division]) -> tuple[str, int]:
    """The abstract and its page; without a heading it is what stands before the introduction, and is taken out."""
    for part in parts:
        if ABSTRACT.match(part.title) and (text := ABSTRACT.sub("", part.text)):
            return text, part.pages[0]
    if len(parts) > 1 and not parts[0].title and parts[1].kind == "introduction":
        part = parts.pop(0)
        return part.text, next(iter(part.pages), 0)
    return "", 0


def _notes(lines: Sequence[Line], words: Mapping[str, int]) -> list[Note]:
    groups: list[list[Line]] = []
    for line in lines:
        if marked(line) or not groups:
            groups.append([])
        groups[-1].append(line)
    return [Note(text=joined((line.text for line in group), words), page=group[0].page) for group in groups]
