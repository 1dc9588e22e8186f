"""The pages of a PDF: words with their places, what nobody sees of them, drawings, rendered pixels."""

import ctypes
import math
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from manyheads.literature.documents.document import Box, Hidden, Limits
from manyheads.literature.documents.letters import (
    WHITE,
    Letter,
    Place,
    Style,
    Word,
    accented,
    letters_of,
    word_of,
)
from manyheads.literature.documents.pdfium import Turn, opened

TINY = 2.0
"""Points; smaller letters are not read by anyone."""
INK = 24
"""Levels of grey by which a word must differ from what it stands on."""
SCANNED = 20
"""Words below which a page that is a picture has no text."""


class Drawing(NamedTuple):
    """An image, a form or a path."""

    kind: Literal["image", "form", "path"]
    box: Box


@dataclass
class Page:
    """What stands on a page, in the order in which it is drawn."""

    number: int
    """From 1."""
    width: float
    height: float
    turn: Turn = 0
    words: list[Word] = field(default_factory=list[Word])
    drawings: list[Drawing] = field(default_factory=list[Drawing])
    hidden: list[Hidden] = field(default_factory=list[Hidden])
    pixels: Any = None
    """Grey levels (rows, columns), uint8."""
    scale: float = 1.0
    """Pixels a point."""
    faults: list[str] = field(default_factory=list[str])


def read_pages(path: Path, limits: Limits) -> tuple[list[Page], int, list[str], str]:
    """The pages within the limits, how many there are, what is missing, and the title that the file names."""
    import pypdfium2 as pdfium

    pages: list[Page] = []
    faults: list[str] = []
    deadline = time.monotonic() + limits.seconds
    with opened(path) as document:
        count = len(document)
        title = str(document.get_metadata_dict().get("Title", ""))
        if count > limits.pages:
            faults.append(f"only the first {limits.pages} of {count} pages were read")
        for index in range(min(count, limits.pages)):
            if time.monotonic() > deadline:
                faults.append(
                    f"pages {index + 1} to {count} were not read: the first took {limits.seconds:g} s"
                )
                break
            try:
                raw = document[index]
            except pdfium.PdfiumError:
                faults.append(f"page {index + 1} cannot be read: it is broken")
                continue
            try:
                page = _page(raw, index + 1, limits)
            except pdfium.PdfiumError:
                faults.append(f"page {index + 1} cannot be read: it is broken")
            else:
                pages.append(page)
                faults += page.faults
            finally:
                raw.close()
    return pages, count, faults, title


def _page(raw: Any, number: int, limits: Limits) -> Page:
    """What stands on a page that PDFium has opened."""
    textpage = raw.get_textpage()
    try:
        letters = letters_of(textpage, limits)
        faults = [f"page {number}: only the first {limits.characters} characters were read"] * (
            textpage.count_chars() > limits.characters
        )
    finally:
        textpage.close()
    turns = Counter[int]()
    for letter in letters:
        if letter.style is not None and letter.style.quarter is not None:
            turns[letter.style.quarter] += 1
    shown = raw.get_rotation() // 90
    quarter = turns.most_common(1)[0][0] if turns else shown
    place = Place.on(raw, quarter)
    turn: Any = (quarter - shown) % 4 * 90
    page = Page(number, place.width, place.height, turn, faults=faults)
    page.drawings, cut = _drawings(raw, place, limits)
    if cut:
        page.faults.append(f"page {number}: only {limits.objects} of its drawings were looked at")
    page.scale = min(1.0, math.sqrt(limits.pixels / max(1.0, page.width * page.height)))
    bitmap = raw.render(scale=page.scale, rotation=turn, grayscale=True)
    page.pixels = bitmap.to_numpy().copy()
    bitmap.close()
    _sort_words(page, letters, place)
    return page


def _drawings(raw: Any, place: Place, limits: Limits) -> tuple[list[Drawing], bool]:
    """Images, forms and paths that show on a page, and whether there are too many to look at."""
    import pypdfium2 as pdfium
    import pypdfium2.raw as c

    kinds: dict[int, Any] = {
        c.FPDF_PAGEOBJ_IMAGE: "image",
        c.FPDF_PAGEOBJ_FORM: "form",
        c.FPDF_PAGEOBJ_PATH: "path",
        c.FPDF_PAGEOBJ_SHADING: "path",
    }
    values = [ctypes.c_float() for _ in range(4)]
    drawings: list[Drawing] = []
    seen = 0

    def walk(owner: Any, count: int, item: Any, matrix: pdfium.PdfMatrix, depth: int) -> None:
        nonlocal seen
        for index in range(count):
            seen += 1
            if seen > limits.objects:
                return
            drawing = item(owner, index)
            kind = kinds.get(c.FPDFPageObj_GetType(drawing))
            if not kind or not c.FPDFPageObj_GetBounds(drawing, *values):
                continue
            x0, y0, x1, y1 = place.box(*matrix.on_rect(*(value.value for value in values)))
            if x1 <= 0 or y1 <= 0 or x0 >= place.width or y0 >= place.height:
                continue
            if kind == "form" and depth < 3 and (x1 - x0) * (y1 - y0) > place.width * place.height / 2:
                # The whole page may be one form; what is in it has the form's coordinates.
                own = c.FS_MATRIX()
                c.FPDFPageObj_GetMatrix(drawing, own)
                inner = pdfium.PdfMatrix.from_raw(own).multiply(matrix)
                walk(drawing, c.FPDFFormObj_CountObjects(drawing), c.FPDFFormObj_GetObject, inner, depth + 1)
            else:
                box = max(0.0, x0), max(0.0, y0), min(place.width, x1), min(place.height, y1)
                drawings.append(Drawing(kind, box))

    walk(raw.raw, c.FPDFPage_CountObjects(raw.raw), c.FPDFPage_GetObject, pdfium.PdfMatrix(), 0)
    return drawings, seen > limits.objects


def _sort_words(page: Page, letters: list[Letter], place: Place) -> None:
    """Put letters together into words, and set those apart that nobody sees."""
    area = page.width * page.height
    scanned = any(
        one.kind == "image" and (one.box[2] - one.box[0]) * (one.box[3] - one.box[1]) > area / 2
        for one in page.drawings
    )
    unseen: list[tuple[str, str]] = []
    seen_by_recognition = False
    word: list[Letter] = []

    def close() -> None:
        nonlocal seen_by_recognition
        if not word:
            return
        made, style = word_of(word, place), word[0].style
        word.clear()
        assert style is not None
        why = _unseen(page, made, style, scanned)
        seen_by_recognition |= style.invisible and why is None
        if why is None:
            page.words.append(made)
        elif any(character.isalnum() for character in made.text):
            unseen.append((why, made.text))

    for letter in accented(letters):
        if letter.style is None or letter.text.isspace():
            close()
            continue
        if word:
            before = word[-1]
            size = max(letter.style.size, before.style.size if before.style else 0)
            (x, y), (last, base) = place.point(letter.x, letter.y), place.point(before.x, before.y)
            if abs(y - base) > 0.7 * size or not -0.7 * size < x - last < 2.5 * size:
                close()
        word.append(letter)
    close()
    for why, text in unseen:
        if page.hidden and page.hidden[-1].why == why:
            text = f"{page.hidden.pop().text} {text}"
        page.hidden.append(Hidden(text=text, page=page.number, why=why))  # pyright: ignore[reportArgumentType]
    if scanned and len(page.words) < SCANNED:
        page.faults.append(f"page {page.number} is a picture without text: nothing of it was read")
    if seen_by_recognition:
        page.faults.append(
            f"page {page.number} is a picture; its text is what a text recognition put behind it"
        )


def _unseen(page: Page, word: Word, style: Style, scanned: bool) -> str | None:
    """Why a word cannot be seen; None where it can."""
    x0, y0, x1, y1 = word.ink
    if x1 <= 0 or y1 <= 0 or x0 >= page.width or y0 >= page.height:
        return "off the page"
    if word.size < TINY:
        return "tiny"
    if style.invisible and not scanned:
        return "invisible"
    rows = slice(max(0, int(y0 * page.scale)), math.ceil(y1 * page.scale) + 1)
    columns = slice(max(0, int(x0 * page.scale)), math.ceil(x1 * page.scale) + 1)
    ink = page.pixels[rows, columns]
    if not ink.size or x1 - x0 < 0.2 or y1 - y0 < 0.2:
        return None
    if int(ink.max()) - int(ink.min()) < INK:
        return "invisible"
    return "invisible" if style.white and float(ink.mean()) >= WHITE else None
