"""The pages of a PDF by PDFium: words with their places, drawings, rendered pixels.

PDFium is not made for threads: every call of this package stands under one lock, and all is closed under it.
"""

import ctypes
import math
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

from manyheads.errors import DocumentError
from manyheads.literature.documents.document import Box, Hidden, Limits

LOCK = threading.RLock()
LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00a0": " "}
)
HYPHENS = {0x02: "-", 0xFFFE: "-", 0xAD: "-", 0x2010: "-"}
"""How PDFium and fonts write the hyphen at the end of a line."""
TINY = 2.0
"""Points; smaller letters are not read by anyone."""
INK = 24
"""Levels of grey by which a word must differ from what it stands on."""
WHITE = 245
SCANNED = 20
"""Words below which a page that is a picture has no text."""
BOLD = ("bold", "black", "heavy", "cmbx", "-medi", "demi")
ITALIC = ("italic", "oblique", "slanted", "cmti", "-ital", "regularital")
"""In the names of fonts."""
Turn = Literal[0, 90, 180, 270]


class Word(NamedTuple):
    """Letters between two spaces; places in points from the upper left corner of the page as it is read."""

    text: str
    x0: float
    x1: float
    base: float
    """The line that letters stand on."""
    size: float
    bold: bool
    italic: bool
    upright: bool
    """Whether it is read in the direction of most words of the page."""
    ink: Box
    """The letters' own bounds."""
    caps: bool = False
    """Whether some of it are small capitals; `text` has them as small letters."""


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


@contextmanager
def opened(path: Path) -> Generator[Any]:
    """PDFium's document, under the lock.

    Raises:
        DocumentError: the file is broken, encrypted, or no PDF.
    """
    import pypdfium2 as pdfium

    with LOCK:
        try:
            document = pdfium.PdfDocument(path)
        except pdfium.PdfiumError as error:
            if "password" in str(error).casefold():
                raise DocumentError(
                    f"{path} is encrypted",
                    tried="opening it without a password",
                    hint="save a copy without a password, and give that",
                ) from error
            raise DocumentError(
                f"{path} is broken: no page of it can be read",
                tried=f"PDFium: {error}",
                hint="open it in a viewer; where that shows it, print it into a new PDF, and give that",
            ) from error
        try:
            yield document
        finally:
            document.close()


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


def render(
    path: Path, page: int, box: Box | None = None, *, turn: Turn = 0, width: int = 1000, margin: float = 3
) -> bytes:
    """A crop of a page (all of it without a box) as PNG.

    Args:
        path: the PDF.
        page: counted from 1.
        box: of a figure or table, in points.
        turn: of the same figure or table.
        width: pixels; a crop that would have more than 4 million pixels is drawn smaller.
        margin: points left around the box.

    Raises:
        DocumentError: the file cannot be read, or has no such page.
    """
    import pypdfium2 as pdfium

    with opened(path) as document:
        if not 1 <= page <= len(document):
            raise DocumentError(f"{path} has no page {page}", tried=f"it has {len(document)} pages")
        try:
            raw = document[page - 1]
            across, down = raw.get_size()
            if turn in (90, 270):
                across, down = down, across
            left, top, right, bottom = box or (0.0, 0.0, across, down)
            left, top = max(0.0, left - margin), max(0.0, top - margin)
            right, bottom = min(across, right + margin), min(down, bottom + margin)
            wide, high = max(1.0, right - left), max(1.0, bottom - top)
            scale = min(width / wide, math.sqrt(4_000_000 / (wide * high)))
            crop = (left, down - bottom, across - right, top)
            image = raw.render(scale=scale, rotation=turn, crop=crop).to_pil()
        except pdfium.PdfiumError as error:
            raise DocumentError(f"page {page} of {path} cannot be rendered", tried=str(error)) from error
    png = BytesIO()
    image.save(png, "PNG")
    return png.getvalue()


def page_size(path: Path, page: int) -> tuple[float, float]:
    """Width and height of a page, in points; raises `DocumentError` where there is none."""
    with opened(path) as document:
        if not 1 <= page <= len(document):
            raise DocumentError(f"{path} has no page {page}", tried=f"it has {len(document)} pages")
        return document[page - 1].get_size()


def _page(raw: Any, number: int, limits: Limits) -> Page:
    """What stands on a page that PDFium has opened."""
    textpage = raw.get_textpage()
    try:
        letters = _letters(textpage, limits)
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
    left, bottom, right, top = raw.get_cropbox()
    place = _Place(quarter, left, bottom, right, top)
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


@dataclass(frozen=True)
class _Style:
    """What the letters of one text object share."""

    size: float
    bold: bool
    italic: bool
    quarter: int | None
    """By how many right angles they are turned, counterclockwise; None for those that stand aslant."""
    white: bool
    invisible: bool


class _Letter(NamedTuple):
    text: str
    left: float
    right: float
    bottom: float
    top: float
    x: float
    y: float
    style: _Style | None
    """None for what PDFium puts between letters: spaces, ends of lines."""


class _Place(NamedTuple):
    """How a page's own coordinates become those of the page as it is read."""

    quarter: int
    left: float
    bottom: float
    right: float
    top: float

    @property
    def width(self) -> float:
        return self.top - self.bottom if self.quarter % 2 else self.right - self.left

    @property
    def height(self) -> float:
        return self.right - self.left if self.quarter % 2 else self.top - self.bottom

    def point(self, x: float, y: float) -> tuple[float, float]:
        match self.quarter:
            case 0:
                return x - self.left, self.top - y
            case 1:
                return y - self.bottom, x - self.left
            case 2:
                return self.right - x, y - self.bottom
            case _:
                return self.top - y, self.right - x

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        (x0, y0), (x1, y1) = self.point(left, bottom), self.point(right, top)
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def _letters(textpage: Any, limits: Limits) -> list[_Letter]:
    """The characters of a page, in the order in which they are drawn."""
    import pypdfium2.raw as c

    raw = textpage.raw
    values = [ctypes.c_double() for _ in range(6)]
    left, right, bottom, top, x, y = values
    refs = [ctypes.byref(value) for value in values]
    # As a number, which is the same for all letters of a text object.
    number = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    owner_of = number(ctypes.cast(c.FPDFText_GetTextObject, ctypes.c_void_p).value or 0)
    styles: dict[int, _Style] = {}
    letters: list[_Letter] = []
    for index in range(min(textpage.count_chars(), limits.characters)):
        code = c.FPDFText_GetUnicode(raw, index)
        c.FPDFText_GetCharBox(raw, index, *refs[:4])
        c.FPDFText_GetCharOrigin(raw, index, *refs[4:])
        text = HYPHENS.get(code) or (
            chr(code) if 0x20 <= code < 0x110000 and not 0xD800 <= code < 0xE000 else " "
        )
        style = None
        # A space that PDFium puts in says it is its neighbour's, but has another size.
        if not text.isspace() and (owner := owner_of(raw, index)) is not None:
            style = styles.get(owner)
            if style is None:
                style = styles[owner] = _style(c, raw, index)
        letters.append(
            _Letter(text, left.value, right.value, bottom.value, top.value, x.value, y.value, style)
        )
    return letters


def _style(c: Any, raw: Any, index: int) -> _Style:
    matrix = c.FS_MATRIX()
    c.FPDFText_GetMatrix(raw, index, matrix)
    size = c.FPDFText_GetFontSize(raw, index) * math.hypot(matrix.c, matrix.d)
    angle = math.degrees(math.atan2(matrix.b, matrix.a)) / 90
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    c.FPDFText_GetFillColor(raw, index, red, green, blue, alpha)
    name = ctypes.create_string_buffer(128)
    c.FPDFText_GetFontInfo(raw, index, name, 128, ctypes.c_int())
    font = name.value.decode("latin-1").casefold()
    mode = c.FPDFTextObj_GetTextRenderMode(c.FPDFText_GetTextObject(raw, index))
    return _Style(
        size=abs(size),
        bold=any(mark in font for mark in BOLD),
        italic=any(mark in font for mark in ITALIC),
        quarter=round(angle) % 4 if abs(angle - round(angle)) < 0.05 else None,
        white=min(red.value, green.value, blue.value) >= WHITE,
        invisible=mode == c.FPDF_TEXTRENDERMODE_INVISIBLE,
    )


def _drawings(raw: Any, place: _Place, limits: Limits) -> tuple[list[Drawing], bool]:
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


def _sort_words(page: Page, letters: list[_Letter], place: _Place) -> None:
    """Put letters together into words, and set those apart that nobody sees."""
    area = page.width * page.height
    scanned = any(
        one.kind == "image" and (one.box[2] - one.box[0]) * (one.box[3] - one.box[1]) > area / 2
        for one in page.drawings
    )
    unseen: list[tuple[str, str]] = []
    seen_by_recognition = False
    word: list[_Letter] = []

    def close() -> None:
        nonlocal seen_by_recognition
        if not word:
            return
        made, style = _word(word, place), word[0].style
        word.clear()
        assert style is not None
        why = _unseen(page, made, style, scanned)
        seen_by_recognition |= style.invisible and why is None
        if why is None:
            page.words.append(made)
        elif any(character.isalnum() for character in made.text):
            unseen.append((why, made.text))

    for letter in _accented(letters):
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


ACCENTS = dict(
    zip(
        "´ˇ`¨˜ˆ˚¸˘¯˙˝˛",
        "\u0301\u030c\u0300\u0308\u0303\u0302\u030a\u0327\u0306\u0304\u0307\u030b\u0328",
        strict=True,
    )
)
"""Drawn as signs of their own by TeX."""


def _accented(letters: list[_Letter]) -> list[_Letter]:
    """Letters, with accents that are drawn above or below one put on it."""
    marks = [number for number, one in enumerate(letters) if one.text in ACCENTS and one.style]
    if not marks:
        return letters
    merged = dict(enumerate(letters))
    for number in marks:
        mark = letters[number]
        middle, size = (mark.left + mark.right) / 2, mark.style.size if mark.style else 0
        near = (
            (abs((one.left + one.right) / 2 - middle), index)
            for index, one in enumerate(letters[max(0, number - 200) : number + 200], max(0, number - 200))
            if one.text.isalpha()
            and one.text not in ACCENTS
            and one.left - 1 < middle < one.right + 1
            and abs(one.y - mark.y) < 0.5 * size
        )
        if best := min(near, default=None):
            bearer = merged[best[1]]
            text = unicodedata.normalize("NFC", bearer.text.replace("ı", "i") + ACCENTS[mark.text])
            merged[best[1]] = bearer._replace(text=text)
            del merged[number]
            # PDFium puts spaces around a sign that goes back.
            blank = [
                index
                for index in range(number - 2, number + 3)
                if index in merged and merged[index].text.isspace()
            ]
            before, behind = merged.get(min([number, *blank]) - 1), merged.get(max([number, *blank]) + 1)
            if before and behind and abs(behind.left - before.right) < 0.15 * size:
                for index in blank:
                    del merged[index]
    return list(merged.values())


def _word(letters: list[_Letter], place: _Place) -> Word:
    lefts, rights, bottoms, tops = zip(*(one[1:5] for one in letters), strict=True)
    ink = place.box(min(lefts), min(bottoms), max(rights), max(tops))
    styles = [one.style for one in letters if one.style]
    largest = max(styles, key=lambda style: style.size)
    sizes = [style.size for style in styles]
    text = "".join(one.text for one in letters).translate(LIGATURES)
    bases = [place.point(one.x, one.y)[1] for one in letters]
    # Indices of a formula are small too, but do not stand on the line.
    level = max(bases) - min(bases) < 0.5
    caps = text.isupper() and level and min(sizes) < 0.9 * largest.size
    if caps:
        text = "".join(
            one.text.lower() if one.style and one.style.size < 0.9 * largest.size else one.text
            for one in letters
        ).translate(LIGATURES)
    base = max(zip(sizes, bases, strict=True))[1]
    return Word(
        text,
        ink[0],
        ink[2],
        base,
        largest.size,
        sum(style.bold for style in styles) * 2 > len(styles),
        sum(style.italic for style in styles) * 2 > len(styles),
        largest.quarter == place.quarter,
        ink,
        caps,
    )


def _unseen(page: Page, word: Word, style: _Style, scanned: bool) -> str | None:
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
