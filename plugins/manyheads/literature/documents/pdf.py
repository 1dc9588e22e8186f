"""A paper's full text from a PDF: pages, lines, floats, then title, abstract, sections and references."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from manyheads.errors import DocumentError
from manyheads.literature.documents.bibliography import entries, reference
from manyheads.literature.documents.dates import numbers_told, year_told
from manyheads.literature.documents.document import Document, Figure, Hidden, Limits, Note
from manyheads.literature.documents.draft import Draft
from manyheads.literature.documents.figures import floats
from manyheads.literature.documents.layout import Line, joined, marked, sheets, vocabulary
from manyheads.literature.documents.page import SCANNED, Unseen
from manyheads.literature.documents.pages import read_pages
from manyheads.literature.documents.sections import (
    ABSTRACT,
    Division,
    divisions,
    paragraphs,
    title_and_authors,
)
from manyheads.literature.documents.speech import speech
from manyheads.texts import count

BESIDE = 20.0
"""Maximum points between a figure and its labels."""


def read_pdf(path: Path, limits: Limits) -> Document:
    """The full text of a PDF.

    Raises:
        DocumentError: it is broken, encrypted, empty, or has no text.
    """
    pages, total, faults, about = read_pages(path, limits)
    if not total:
        raise DocumentError(f"{path} has no pages", hint="export the paper to a PDF again")
    if not pages:
        raise DocumentError(f"no page of {path} can be read", tried="; ".join(faults[:3]))
    words_read = sum(len(page.words) for page in pages)
    if words_read < min(SCANNED * len(pages), 200):
        left_out = f"; only the first {len(pages):,} of them were read" * (len(pages) < total)
        raise DocumentError(
            f"{path} has no text: {count(words_read, 'word')} on {count(total, 'page')}, so it is probably a scan",
            tried=f"the text of its pages, not their pictures{left_out}",
            hint="run text recognition (ocrmypdf IN.pdf OUT.pdf), and use the result",
        )
    made, body = sheets(pages)
    words = vocabulary(made)
    figures, tables, missing = floats(made, body, words)
    faults += missing
    lines = [line for sheet in made for line in sheet.lines]
    title, authors, text = title_and_authors(lines, body)
    if not title and about.get("Title", "").casefold() not in ("", "untitled", "title"):
        title = about["Title"]
        faults.append("the title is from the file's metadata: none was found on the first page")
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
            *(
                Hidden(
                    text=one.text, page=page.number, why=one.why, figure=_figure(one, page.number, figures)
                )
                for page in pages
                for one in page.hidden
            ),
            *(Hidden(text=text, page=0, why="metadata") for text in about.values() if speech(text)),
        ],
        pages=total,
        faults=faults,
    ).document(kinds=False)


def _abstract(parts: list[Division]) -> tuple[str, int]:
    """The abstract and its page; without a heading, the text before the introduction, which is removed."""
    for part in parts:
        if ABSTRACT.match(part.title) and (text := ABSTRACT.sub("", part.text)):
            return text, part.pages[0]
    if len(parts) > 1 and not parts[0].title and parts[1].kind == "introduction":
        part = parts.pop(0)
        return part.text, next(iter(part.pages), 0)
    return "", 0


def _figure(text: Unseen, page: int, figures: Sequence[Figure]) -> str:
    """The number of the figure in or beside which all of a hidden text is, such as clipped or tiny labels of axes; empty for
    other text, and for text addressed to a reviewer or a model."""
    for one in figures:
        if one.page == page and one.box and not speech(text.text):
            left, top, right, bottom = one.box
            wide, high = left - BESIDE, top - BESIDE
            if all(
                wide <= x0 and high <= y0 and x1 <= right + BESIDE and y1 <= bottom + BESIDE
                for x0, y0, x1, y1 in text.boxes
            ):
                return one.number
    return ""


def _notes(lines: Sequence[Line], words: Mapping[str, int]) -> list[Note]:
    groups: list[list[Line]] = []
    for line in lines:
        if marked(line) or not groups:
            groups.append([])
        groups[-1].append(line)
    return [Note(text=joined((line.text for line in group), words), page=group[0].page) for group in groups]
