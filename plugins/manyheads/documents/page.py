"""A page of a PDF from PDFium: words, drawings, pixels; and its hidden words.

A word is visible if the page looks different without its text. This excludes white on white, text under a picture, without
ink, or clipped.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from manyheads.documents.document import Box, Why
from manyheads.documents.letters import WHITE, Letter, Place, Style, Word, accented, word_of
from manyheads.documents.pdfium import Turn, objects

TINY = 2.0
"""Points; smaller letters are unreadable."""
INK = 24
"""Minimum difference in grey levels between a word and its background."""
SCANNED = 20
"""Minimum words on a page that is a picture, below which it has no text."""
RECOGNISED = 0.2
"""Share of visible words below which a picture's text comes from text recognition."""


class Drawing(NamedTuple):
    """An image, a form or a path."""

    kind: Literal["image", "form", "path"]
    box: Box


@dataclass
class Unseen:
    """Consecutive words hidden for one reason, with the ink of each."""

    text: str
    why: Why
    boxes: list[Box]


@dataclass
class Page:
    """The content of a page, in drawing order."""

    number: int
    """From 1."""
    width: float
    height: float
    turn: Turn = 0
    words: list[Word] = field(default_factory=list[Word])
    drawings: list[Drawing] = field(default_factory=list[Drawing])
    hidden: list[Unseen] = field(default_factory=list[Unseen])
    pixels: Any = None
    """Grey levels (rows, columns), uint8."""
    ground: Any = None
    """The same without the page's text; None if not rendered."""
    scale: float = 1.0
    """Pixels per point."""
    faults: list[str] = field(default_factory=list[str])


def hide_text(raw: Any, most: int) -> bool:
    """Exclude all text from further renderings of a page; False if it has more than `most` objects."""
    import pypdfium2.raw as c

    for number, (drawing, kind, *_) in enumerate(objects(raw, most + 1)):
        if number == most:
            return False
        if kind == c.FPDF_PAGEOBJ_TEXT:
            c.FPDFPageObj_SetIsActive(drawing, False)
    return True


def sort_words(page: Page, letters: list[Letter], place: Place) -> None:
    """Join letters into words, and separate hidden words."""
    area = page.width * page.height
    scanned = any(
        one.kind == "image" and (one.box[2] - one.box[0]) * (one.box[3] - one.box[1]) > area / 2
        for one in page.drawings
    )
    words: list[tuple[Word, Style, bool]] = []
    word: list[Letter] = []

    def close() -> None:
        if word and (style := word[0].style):
            made = word_of(word, place)
            words.append((made, style, _shows(page, made, style)))
        word.clear()

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
    recognised = scanned and sum(shows for *_, shows in words) < RECOGNISED * len(words)
    seen_by_recognition = False
    run: Unseen | None = None
    for made, style, shows in words:
        why = _unseen(page, made, style, shows or (recognised and _range(page.pixels, page, made) >= INK))
        seen_by_recognition |= not shows and why is None
        if why is None:
            page.words.append(made)
            run = None
        elif any(map(str.isalnum, made.text)):
            # One run, though what is seen of noise below a word may differ from word to word.
            if run and (run.why == why or {run.why, why} == {"invisible", "covered"}):
                run.text, run.why = f"{run.text} {made.text}", min(run.why, why)
            else:
                page.hidden.append(run := Unseen(made.text, why, []))
            run.boxes.append(made.ink)
    # Numbers of axes are clipped away often; they speak to nobody.
    page.hidden = [one for one in page.hidden if re.search(r"[^\W\d_]{2}", one.text)]
    if scanned and len(page.words) < SCANNED:
        page.faults.append(f"page {page.number} is a picture without text: it was not read")
    if seen_by_recognition:
        page.faults.append(f"page {page.number} is a picture; its text comes from text recognition")


def _unseen(page: Page, word: Word, style: Style, shows: bool) -> Why | None:
    """Why a word is hidden; None if it is visible."""
    x0, y0, x1, y1 = word.ink
    if x1 <= 0 or y1 <= 0 or x0 >= page.width or y0 >= page.height:
        return "off the page"
    if word.size < TINY:
        return "tiny"
    if shows:
        return None
    return (
        "invisible" if style.invisible or style.white or _range(page.pixels, page, word) < INK else "covered"
    )


def _shows(page: Page, word: Word, style: Style) -> bool:
    """Whether the page looks different without a word."""
    if style.invisible:
        return False
    part, bare = _part(page.pixels, page, word), _part(page.ground, page, word)
    x0, y0, x1, y1 = word.ink
    if part is None or x1 - x0 < 0.2 or y1 - y0 < 0.2:
        return True
    if style.white and float(part.mean() if bare is None else bare.mean()) >= WHITE:
        # Other text may be drawn where white letters stand.
        return False
    if bare is None:
        return _range(page.pixels, page, word) >= INK
    return int(abs(part.astype("int16") - bare).max()) >= INK


def _part(pixels: Any, page: Page, word: Word) -> Any:
    """The pixels of a word; None if there are none."""
    if pixels is None:
        return None
    x0, y0, x1, y1 = word.ink
    rows = slice(max(0, int(y0 * page.scale)), math.ceil(y1 * page.scale) + 1)
    columns = slice(max(0, int(x0 * page.scale)), math.ceil(x1 * page.scale) + 1)
    part = pixels[rows, columns]
    return part if part.size else None


def _range(pixels: Any, page: Page, word: Word) -> int:
    part = _part(pixels, page, word)
    return 255 if part is None else int(part.max()) - int(part.min())
