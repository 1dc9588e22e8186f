"""A paper's full text from a PDF: pages, lines, floats, then title, abstract, sections and references."""

import ctypes
import math
import re
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from manyheads.base.errors import DocumentError
from manyheads.base.text import count
from manyheads.documents.bibliography import entries, reference
from manyheads.documents.document import (
    Box,
    Document,
    Figure,
    Hidden,
    Limits,
    Note,
    hull,
    letter_count,
    word_count,
)
from manyheads.documents.draft import Draft, day_made, numbers_told, speech, year_told
from manyheads.documents.figures import floats, wider
from manyheads.documents.headings import ABSTRACT
from manyheads.documents.layout import groups, joined, marked, sheets, vocabulary
from manyheads.documents.pdfium import address, clips, objects, opened, spare
from manyheads.documents.sections import Division, divisions, opens_abstract, paragraphs, title_and_authors
from manyheads.documents.words import (
    SCANNED,
    Graphic,
    PageFrame,
    PdfPage,
    Unseen,
    direction_of,
    hide_text,
    letters_of,
    sort_words,
)


def read_pages(path: Path, limits: Limits) -> tuple[list[PdfPage], int, list[str], dict[str, str]]:
    """The pages within the limits, their total number, faults, and the file's metadata."""
    import pypdfium2 as pdfium

    pages: list[PdfPage] = []
    faults: list[str] = []
    deadline = time.monotonic() + limits.seconds
    with opened(path, faults) as document:
        count = len(document)
        about = {name: " ".join(str(text).split()) for name, text in document.get_metadata_dict().items()}
        if count > limits.pages:
            faults.append(f"only the first {limits.pages} of {count} pages were read")
        for index in range(min(count, limits.pages)):
            if time.monotonic() > deadline:
                rest = f"pages {index + 1} to {count}"
                faults.append(f"{rest} were not read: the first took {limits.seconds:g} s")
                break
            try:
                with closing(document[index]) as raw:
                    side = max(raw.get_size())
                    if side > limits.side:
                        faults.append(f"page {index + 1} was not read: it is {side:,.0f} points wide or high")
                        continue
                    page = _page(raw, index + 1, limits)
            except pdfium.PdfiumError:
                faults.append(f"page {index + 1} cannot be read: it is broken")
            else:
                pages.append(page)
                faults += page.faults
    return pages, count, faults, about


def _page(raw: Any, number: int, limits: Limits) -> PdfPage:
    with closing(raw.get_textpage()) as textpage:
        letters = letters_of(textpage, limits, clips(raw, limits.objects))
        characters = textpage.count_chars()
        unmapped = _unmapped(textpage, min(characters, limits.characters))
    place = PageFrame.on(raw, direction_of(letters))
    turn: Any = (place.quarter - raw.get_rotation() // 90) % 4 * 90
    drawings, cut = _drawings(raw, place, limits)
    faults = [
        *[f"only the first {limits.characters} characters were read"] * (characters > limits.characters),
        *[f"only {limits.objects} of its drawings were read"] * cut,
        *(
            f"a picture of {wide:,} × {high:,} pixels was not rendered: it is too large"
            for wide, high in spare(raw)
        ),
    ]
    page = PdfPage(number, place.width, place.height, turn, drawings=drawings)
    page.faults = [f"page {number}: {fault}" for fault in faults]
    page.scale = min(1.0, math.sqrt(limits.pixels / max(1.0, page.width * page.height)))

    def pixels() -> Any:
        with closing(raw.render(scale=page.scale, rotation=turn, grayscale=True)) as bitmap:
            return bitmap.to_numpy().copy()

    page.pixels = pixels()
    page.ground = pixels() if hide_text(raw, limits.objects) else None
    sort_words(page, letters, place)
    page.ground = None
    if unmapped or (len(page.words) >= SCANNED and of_signs([word.text for word in page.words])):
        page.words, page.unread = [], True
        page.faults.append(f"page {number} was not read: {UNMAPPED}")
    return page


def _unmapped(textpage: Any, characters: int) -> bool:
    """Whether the fonts of most of a page's letters do not say which letters they draw."""
    import pypdfium2.raw as c

    errors = sum(c.FPDFText_HasUnicodeMapError(textpage.raw, index) == 1 for index in range(characters))
    return 2 * errors > characters


def _drawings(raw: Any, place: PageFrame, limits: Limits) -> tuple[list[Graphic], bool]:
    """Visible images, forms and paths of a page, and whether there are too many."""
    import pypdfium2.raw as c

    kinds: dict[int, Any] = {
        c.FPDF_PAGEOBJ_IMAGE: "image",
        c.FPDF_PAGEOBJ_FORM: "form",
        c.FPDF_PAGEOBJ_PATH: "path",
        c.FPDF_PAGEOBJ_SHADING: "path",
    }
    values = [ctypes.c_float() for _ in range(4)]
    drawings: list[Graphic] = []
    pages = {0}
    """The page itself, and forms that are most of it: what is drawn in others belongs to them."""
    for number, (drawing, code, around, matrix) in enumerate(objects(raw, limits.objects + 1)):
        if number == limits.objects:
            return drawings, True
        kind = kinds.get(code)
        if around not in pages or not kind or not c.FPDFPageObj_GetBounds(drawing, *values):
            continue
        x0, y0, x1, y1 = place.box(*matrix.on_rect(*(value.value for value in values)))
        if x1 <= 0 or y1 <= 0 or x0 >= place.width or y0 >= place.height:
            continue
        if kind == "form" and (x1 - x0) * (y1 - y0) > place.width * place.height / 2:
            pages.add(address(drawing))
        else:
            box = max(0.0, x0), max(0.0, y0), min(place.width, x1), min(place.height, y1)
            drawings.append(Graphic(kind, box))
    return drawings, False


BESIDE = 20.0
"""Maximum points between a figure and its labels."""
RECOGNISE = "for pages without text, name a reader with text recognition: `ocrmypdf` or `tesseract`"
UNMAPPED = "its fonts do not say which letters they draw"
LEGIBLE = 0.6
"""Minimum share of words with two letters, among those and signs; among all words but numbers, a quarter of it."""
SIGN = re.compile(r"[-!-'?@\\_`\ue000-\uf8ff\ufffd]")
"""Signs that are seldom words of their own; formulas have others."""


def read_pdf(path: Path, limits: Limits) -> Document:
    """The full text of a PDF.

    Raises:
        DocumentError: it is broken, encrypted, empty, or has no text.
    """
    pages, total, faults, about = read_pages(path, limits)
    _need_text(path, pages, total, faults)
    made, body = sheets(pages)
    words = vocabulary(made)
    figures, tables, missing = floats(made, body, words)
    faults += missing
    known = about.get("Title", "")
    title, authors, text = title_and_authors([line for sheet in made for line in sheet.lines], body, known)
    if not title and known.casefold() not in ("", "untitled", "title") and not speech(known):
        title = known
        faults.append("the title is from the file's metadata: none was found on the first page")
    parts = divisions(text, body)
    for one in parts:
        one.text, one.starts = paragraphs(one.lines, words)
        on = {line.page for line in one.lines} | ({one.heading.page} if one.heading else set())
        one.pages = tuple(sorted(on))
    part, label = _abstract(parts, body)
    first = " ".join(word.text for word in pages[0].words)
    listed = [entry for one in parts if one.references for entry in entries(one.lines, words)]
    seen = (word for page in pages for word in page.words if not _beside([word.ink], page.number, figures, 0))
    return Draft(
        title=title,
        abstract=part.text[label:] if part else "",
        abstract_starts=tuple((page, max(0, start - label)) for page, start in part.starts) if part else (),
        authors=authors,
        year=year_told(first),
        made=day_made(about.get("CreationDate", "")),
        numbers=numbers_told(first),
        divisions=[one for one in parts if not one.references and one is not part],
        references=[reference(entry) for entry in listed if re.search(r"[^\W\d_]{3}", entry)],
        figures=[*figures],
        tables=[*tables],
        notes=[
            Note(text=joined((line.text for line in group), words), page=group[0].page)
            for sheet in made
            for group in groups(sheet.notes, lambda line, _: marked(line))
        ],
        hidden=[
            *(_hidden(one, page.number, figures) for page in pages for one in page.hidden),
            *(Hidden(text=text, page=0, why="metadata") for text in about.values() if speech(text)),
        ],
        pages=total,
        unread=tuple(page.number for page in pages if page.unread),
        faults=[*faults, *[RECOGNISE] * any(page.unread for page in pages)],
        letters=sum(letter_count(word.text) for word in seen),
    ).document()


def _need_text(path: Path, pages: Sequence[PdfPage], total: int, faults: Sequence[str]) -> None:
    if not pages:
        raise DocumentError(f"no page of {path} can be read", tried="; ".join(faults[:3]))
    words = [word.text for page in pages for word in page.words]
    few = sum(map(word_count, words)) < min(SCANNED * len(pages), 200)
    if few or garbled(words):
        fonts = not few or any(UNMAPPED in fault for fault in faults)
        why = f"mostly signs: {UNMAPPED}" if fonts else "so it is probably a scan"
        left_out = f"; only the first {len(pages):,} of them were read" * (len(pages) < total)
        raise TextlessError(
            f"{path} has no text: {count(len(words), 'word')} on {count(total, 'page')}, {why}",
            tried=f"the text of its pages, not their pictures{left_out}",
            hint="run text recognition (ocrmypdf IN.pdf OUT.pdf), and use the result; or name the reader `ocrmypdf` or `tesseract`",
            pages=tuple(page.number for page in pages),
        )


class TextlessError(DocumentError):
    """Nothing but text recognition can read a PDF, on these pages."""

    def __init__(self, message: str, *, tried: str, hint: str, pages: Sequence[int]) -> None:
        super().__init__(message, tried=tried, hint=hint)
        self.pages = tuple(pages)


def garbled(words: Sequence[str]) -> bool:
    """Whether the text is not what the pages show: its words are signs, or hardly any is one of letters."""
    others = sum(not any(map(str.isdigit, one)) for one in words)
    return of_signs(words) or _legible(words) < LEGIBLE / 4 * others


def of_signs(words: Sequence[str]) -> bool:
    """Whether many words are signs that are neither letters nor a formula."""
    signs = sum(not any(map(str.isalnum, one)) and bool(SIGN.search(one)) for one in words)
    legible = _legible(words)
    return signs > len(words) / 5 and legible < LEGIBLE * (legible + signs)


def _legible(words: Sequence[str]) -> int:
    return sum(sum(map(str.isalpha, one)) > 1 or "\u3040" <= one[:1] <= "\ud7af" for one in words)


def _abstract(parts: Sequence[Division], body: float) -> tuple[Division | None, int]:
    """The abstract, and the length of its label: the first with its heading and a text; without a heading, the text before the
    introduction."""
    for part in parts:
        if ABSTRACT.fullmatch(part.title) and not part.number:
            labelled = part.lines and opens_abstract(part.lines[0], body)
            label = ABSTRACT.match(part.lines[0].text) if labelled else None
            letters = len("".join(label[0].split())) if label else 0
            place = re.match(rf"(?:\s*\S){{{letters}}}\s*", part.text)
            if place and place.end() < len(part.text):
                return part, place.end()
    untitled = len(parts) > 1 and not parts[0].title and parts[1].kind == "introduction"
    return parts[0] if untitled else None, 0


def _hidden(text: Unseen, page: int, figures: Sequence[Figure]) -> Hidden:
    """A hidden text; with its figure if all of it is in or beside one, such as clipped or tiny labels of axes, and it is not
    addressed to a reviewer or a model."""
    one = None if speech(text.text) else _beside(text.boxes, page, figures, BESIDE)
    return Hidden(text=text.text, page=page, why=text.why, figure=one.number if one else "")


def _beside(boxes: Sequence[Box], page: int, figures: Sequence[Figure], margin: float) -> Figure | None:
    """The figure in which all of some boxes are, or at most `margin` points outside."""
    x0, y0, x1, y1 = hull(boxes)
    for one in figures:
        if one.page == page and one.box:
            left, top, right, bottom = wider(one.box, margin)
            if left <= x0 and top <= y0 and x1 <= right and y1 <= bottom:
                return one
    return None
