"""A page of a PDF from PDFium: letters, words with positions, drawings, pixels; and its hidden words.

A word is visible if the page looks different without its text. This excludes white on white, text under a picture, without
ink, or clipped.
"""

import ctypes
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

from manyheads.documents.document import Box, Limits, Turn, Why, word_count
from manyheads.documents.pdfium import objects

LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00a0": " "}
)
HYPHENS = {0x02: "-", 0xFFFE: "-", 0xAD: "-", 0x2010: "-"}
"""Characters for a hyphen at the end of a line in PDFium and fonts."""
WHITE = 245
"""Minimum level of each colour for white letters."""
BOLD = ("bold", "black", "heavy", "cmbx", "-medi", "demi")
ITALIC = ("italic", "oblique", "slanted", "cmti", "-ital", "regularital", "reguital", "mediital", "boldital")
CAPS = ("cmcsc", "caps", "-sc")
"""Parts of font names."""


class PdfWord(NamedTuple):
    """Letters between two spaces; positions in points from the upper left corner of the page in reading direction."""

    text: str
    x0: float
    x1: float
    base: float
    """The baseline."""
    size: float
    bold: bool
    italic: bool
    upright: bool
    """Whether it has the direction of most words of the page."""
    ink: Box
    """Bounds of the letters."""
    caps: bool = False
    """Whether it has small capitals, which `text` shows as small letters."""
    level: str = ""
    """Its letters on the line, without marks above it, such as those of affiliations; empty if there are none above."""


@dataclass(frozen=True)
class Style:
    """Properties shared by the letters of a text object."""

    size: float
    bold: bool
    italic: bool
    caps: bool
    quarter: int | None
    """Rotation in right angles, counterclockwise; None for any other angle."""
    white: bool
    invisible: bool


class Letter(NamedTuple):
    text: str
    left: float
    right: float
    bottom: float
    top: float
    x: float
    y: float
    style: Style | None
    """None for PDFium's own insertions: spaces, ends of lines."""


class PageFrame(NamedTuple):
    """Converts a page's coordinates to those in reading direction."""

    quarter: int
    left: float
    bottom: float
    right: float
    top: float

    @classmethod
    def on(cls, page: Any, quarter: int | None = None) -> Self:
        """For a page with a reading direction; None: as displayed."""
        left, bottom, right, top = page.get_cropbox()
        return cls(page.get_rotation() // 90 if quarter is None else quarter, left, bottom, right, top)

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

    def source(self, x: float, y: float) -> tuple[float, float]:
        """The page's own coordinates of a `point`."""
        match self.quarter:
            case 0:
                return x + self.left, self.top - y
            case 1:
                return y + self.left, x + self.bottom
            case 2:
                return self.right - x, y + self.bottom
            case _:
                return self.right - y, self.top - x

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        (x0, y0), (x1, y1) = self.point(left, bottom), self.point(right, top)
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def letters_of(
    textpage: Any, limits: Limits, clips: Mapping[int, Box] = MappingProxyType({})
) -> list[Letter]:
    """The characters of a page, in drawing order.

    Args:
        clips: the visible part of each clipped text object, by address: left, bottom, right, top, in the page's coordinates.
    """
    import pypdfium2.raw as c

    raw = textpage.raw
    values = [ctypes.c_double() for _ in range(6)]
    left, right, bottom, top, x, y = values
    refs = [ctypes.byref(value) for value in values]
    # As a number, which is the same for all letters of a text object.
    number = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    owner_of = number(ctypes.cast(c.FPDFText_GetTextObject, ctypes.c_void_p).value or 0)
    styles: dict[int, Style] = {}
    letters: list[Letter] = []
    for index in range(min(textpage.count_chars(), limits.characters)):
        code = c.FPDFText_GetUnicode(raw, index)
        c.FPDFText_GetCharBox(raw, index, *refs[:4])
        c.FPDFText_GetCharOrigin(raw, index, *refs[4:])
        valid = 0x20 <= code < 0x110000 and not 0xD800 <= code < 0xE000
        text = HYPHENS.get(code) or (chr(code) if valid else " ")
        style = None
        # An inserted space is assigned to its neighbour's object, but has another size.
        if not text.isspace() and (owner := owner_of(raw, index)) is not None:
            style = styles.get(owner)
            if style is None:
                style = styles[owner] = _style(c, raw, index)
            if (clip := clips.get(owner)) and not (
                clip[0] < (left.value + right.value) / 2 < clip[2]
                and clip[1] < (bottom.value + top.value) / 2 < clip[3]
            ):
                style = replace(style, invisible=True)
        letters.append(
            Letter(text, left.value, right.value, bottom.value, top.value, x.value, y.value, style)
        )
    return letters


def direction_of(letters: Iterable[Letter]) -> int | None:
    """The rotation of most letters; None if there are none."""
    turns = Counter(one.style.quarter for one in letters if one.style and one.style.quarter is not None)
    return turns.most_common(1)[0][0] if turns else None


def _style(c: Any, raw: Any, index: int) -> Style:
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
    return Style(
        size=abs(size),
        bold=any(mark in font for mark in BOLD),
        italic=any(mark in font for mark in ITALIC),
        caps=any(mark in font for mark in CAPS) and "-scr" not in font,
        quarter=round(angle) % 4 if abs(angle - round(angle)) < 0.05 else None,
        white=min(red.value, green.value, blue.value) >= WHITE,
        invisible=mode == c.FPDF_TEXTRENDERMODE_INVISIBLE,
    )


MARKS = "\u0301\u030c\u0300\u0308\u0303\u0302\u030a\u0327\u0306\u0304\u0307\u030b\u0328"
ACCENTS = dict(zip("´ˇ`¨˜ˆ˚¸˘¯˙˝˛", MARKS, strict=True))
"""Accents that TeX draws as separate characters."""


def accented(letters: list[Letter]) -> list[Letter]:
    """Letters combined with accents drawn above or below them."""
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
            around = [index for index in range(number - 2, number + 3) if index in merged]
            blank = [index for index in around if merged[index].text.isspace()]
            before, behind = merged.get(min([number, *blank]) - 1), merged.get(max([number, *blank]) + 1)
            if before and behind and abs(behind.left - before.right) < 0.15 * size:
                for index in blank:
                    del merged[index]
    return list(merged.values())


def ink_of(letters: Sequence[Letter], place: PageFrame) -> Box:
    """The bounds of letters."""
    lefts, rights, bottoms, tops = zip(*(one[1:5] for one in letters), strict=True)
    return place.box(min(lefts), min(bottoms), max(rights), max(tops))


def word_of(letters: list[Letter], place: PageFrame) -> PdfWord:
    ink = ink_of(letters, place)
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
    raised = [at < base - 1 and size < 0.9 * largest.size for at, size in zip(bases, sizes, strict=True)]
    plain = "".join(one.text for one, mark in zip(letters, raised, strict=True) if not mark)
    return PdfWord(
        text,
        ink[0],
        ink[2],
        base,
        largest.size,
        sum(style.bold for style in styles) * 2 > len(styles),
        sum(style.italic for style in styles) * 2 > len(styles),
        largest.quarter == place.quarter,
        ink,
        caps or all(style.caps for style in styles),
        plain.translate(LIGATURES) if any(raised) else "",
    )


TINY = 2.0
"""Points; smaller letters are unreadable."""
INK = 24
"""Minimum difference in grey levels between a word and its background."""
SCANNED = 20
"""Minimum words on a page that is a picture, below which it has no text."""
RECOGNISED = 0.2
"""Share of visible words below which a picture's text comes from text recognition."""


class Graphic(NamedTuple):
    kind: Literal["image", "form", "path"]
    box: Box


@dataclass
class Unseen:
    """Consecutive words hidden for one reason, with the ink of each."""

    text: str
    why: Why
    boxes: list[Box]


@dataclass
class PdfPage:
    """The content of a page, in drawing order."""

    number: int
    """From 1."""
    width: float
    height: float
    turn: Turn = 0
    words: list[PdfWord] = field(default_factory=list[PdfWord])
    drawings: list[Graphic] = field(default_factory=list[Graphic])
    hidden: list[Unseen] = field(default_factory=list[Unseen])
    pixels: Any = None
    """Grey levels (rows, columns), uint8."""
    ground: Any = None
    """The same without the page's text; None if not rendered."""
    scale: float = 1.0
    """Pixels per point."""
    faults: list[str] = field(default_factory=list[str])
    unread: bool = False
    """Whether only text recognition can read it."""


def hide_text(raw: Any, most: int) -> bool:
    """Exclude all text from further renderings of a page; False if it has more than `most` objects."""
    import pypdfium2.raw as c

    for number, (drawing, kind, *_) in enumerate(objects(raw, most + 1)):
        if number == most:
            return False
        if kind == c.FPDF_PAGEOBJ_TEXT:
            c.FPDFPageObj_SetIsActive(drawing, False)
    return True


def sort_words(page: PdfPage, letters: list[Letter], place: PageFrame) -> None:
    """Join letters into words, and separate hidden words."""
    area = page.width * page.height
    scanned = any(
        one.kind == "image" and (one.box[2] - one.box[0]) * (one.box[3] - one.box[1]) > area / 2
        for one in page.drawings
    )
    words: list[tuple[PdfWord, Style, bool]] = []
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
    if scanned and sum(word_count(one.text) for one in page.words) < SCANNED:
        page.unread = True
        page.faults.append(f"page {page.number} is a picture without text: it was not read")
    if seen_by_recognition:
        page.faults.append(f"page {page.number} is a picture; its text comes from text recognition")


def _unseen(page: PdfPage, word: PdfWord, style: Style, shows: bool) -> Why | None:
    x0, y0, x1, y1 = word.ink
    if x1 <= 0 or y1 <= 0 or x0 >= page.width or y0 >= page.height:
        return "off the page"
    if word.size < TINY:
        return "tiny"
    if shows:
        return None
    inkless = style.invisible or style.white or _range(page.pixels, page, word) < INK
    return "invisible" if inkless else "covered"


def _shows(page: PdfPage, word: PdfWord, style: Style) -> bool:
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


def _part(pixels: Any, page: PdfPage, word: PdfWord) -> Any:
    if pixels is None:
        return None
    x0, y0, x1, y1 = word.ink
    rows = slice(max(0, int(y0 * page.scale)), math.ceil(y1 * page.scale) + 1)
    columns = slice(max(0, int(x0 * page.scale)), math.ceil(x1 * page.scale) + 1)
    part = pixels[rows, columns]
    return part if part.size else None


def _range(pixels: Any, page: PdfPage, word: PdfWord) -> int:
    part = _part(pixels, page, word)
    return 255 if part is None else int(part.max()) - int(part.min())
