"""Figures and tables: captions, and the region of each on the page.

A region is the graphics between its caption and the next text, with their labels, as in pdffigures2 (Clark and Divvala,
JCDL 2016). It is trimmed to the visible part, since drawings may be larger.

    text text text text     the next text ends the band above the caption
    - - - - - - - - - -
      | .:'    label      drawings of the band, then letters in or near them (NEAR, ASIDE)
      |.:______ x
    - - - - - - - - - -
    Figure 1: Owls.         the caption; tables look below it first, where most of the document's tables are
    - - - - - - - - - -
    text text text text     the next text ends the band below
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from manyheads.documents.document import Box, Figure, Table, hull
from manyheads.documents.headings import FLOAT, is_table
from manyheads.documents.layout import ENDS, PageLines, TextLine, groups, joined, wordy
from manyheads.documents.sections import PLAIN, bare, heading, opens_abstract, small_capitals
from manyheads.documents.words import Graphic, PdfWord

LABEL = re.compile(
    rf"^{FLOAT}\s*"
    r"([A-Z]?\.?\d{1,3}(?:[.-]\d{1,2})?|[IVX]{1,5})(?![a-zA-Z\d_)])\s*([:：.．|–—]?)\s*(.*)$"
)


@dataclass
class Caption:
    kind: Literal["figure", "table"]
    number: str
    lines: list[TextLine]
    left: float
    """Horizontal bounds of its region."""
    right: float
    box: Box | None = None
    source: Literal["raster", "vector", "space", ""] = ""
    words: list[PdfWord] = field(default_factory=list[PdfWord])

    @property
    def top(self) -> float:
        return min(one.top for one in self.lines)

    @property
    def bottom(self) -> float:
        return max(one.bottom for one in self.lines)

    @property
    def across(self) -> tuple[float, float]:
        return min(one.x0 for one in self.lines), max(one.x1 for one in self.lines)

    def text(self, words: Mapping[str, int]) -> str:
        """The caption without its label."""
        text = joined(map(small_capitals, self.lines), words)
        match = LABEL.match(text)
        return match[4] if match else text


def captions_of(sheet: PageLines, body: float) -> list[Caption]:
    """The captions of a page, in reading order."""
    starts = [line for line in sheet.lines if _starts_caption(line, sheet, body)]
    made: list[Caption] = []
    for line in starts:
        match = LABEL.match(line.text)
        assert match
        lines = [line]
        while following := _next_line(lines, sheet, starts):
            lines.append(following)
        left, right = 0.0, sheet.page.width
        if sheet.gutter is not None and line.column >= 0 and max(one.x1 for one in lines) < line.right + 20:
            left, right = (left, sheet.gutter) if line.column == 0 else (sheet.gutter, right)
        kind = "table" if is_table(match[1]) else "figure"
        made.append(Caption(kind, match[2], lines, left, right))
    for one in made:
        _keep_apart(one, made, sheet, body)
    return made


def _starts_caption(line: TextLine, sheet: PageLines, body: float) -> bool:
    """Whether a line begins a caption rather than a text line: `Figure 2. We see` may be either."""
    match = LABEL.match(line.text)
    if not match:
        return False
    if match[3] in (":", "：", "|", "–", "—") or not match[4]:
        return True
    above = [
        one
        for one in sheet.lines
        if one is not line and one.base < line.base and overlap((one.x0, one.x1), (line.x0, line.x1)) > 0
    ]
    previous = max(above, key=lambda one: one.base, default=None)
    apart = previous is None or line.base - previous.base > 1.5 * line.size or not prose(previous, body)
    marked = line.words[0].bold or abs(line.size - body) > 0.4
    if match[3] in (".", "．"):
        return (apart or marked) and not match[4][:1].islower()
    return apart and marked and match[4][:1].isalpha() and not match[4][:1].islower()


def _next_line(lines: Sequence[TextLine], sheet: PageLines, starts: Sequence[TextLine]) -> TextLine | None:
    last, left, right = lines[-1], min(one.x0 for one in lines), max(one.x1 for one in lines)
    step = last.base - lines[-2].base if len(lines) > 1 else 1.45 * last.size
    candidates = [
        one
        for one in sheet.lines
        if 0.5 * last.size < one.base - last.base < min(1.5 * last.size, step + 0.25 * last.size)
        and overlap((one.x0, one.x1), (left, right)) > 0
        and abs(one.size - last.size) < 0.5
        and one.x0 > left - 25
        and not any(one is start for start in starts)
    ]
    # A full line of a caption continues; a short one is the last.
    full = last.x1 > right - 0.25 * (right - left) or len(lines) == 1
    return candidates[0] if candidates and full else None


def _keep_apart(one: Caption, captions: Sequence[Caption], sheet: PageLines, body: float) -> None:
    """Set the horizontal bounds of a caption's region, if another caption is beside it."""
    left, right = one.across
    for other in captions:
        if other is not one and not _text_between(one, other, sheet, body):
            edges = other.across
            if edges[0] >= right:
                one.right = min(one.right, (right + edges[0]) / 2)
            elif edges[1] <= left:
                one.left = max(one.left, (left + edges[1]) / 2)


def _text_between(one: Caption, other: Caption, sheet: PageLines, body: float) -> bool:
    """Whether a paragraph separates two captions, so that their regions are not side by side."""
    top, bottom = min(one.bottom, other.bottom), max(one.top, other.top)
    return any(top < line.base < bottom and prose(line, body) for line in sheet.lines)


def prose(line: TextLine, body: float) -> bool:
    """Whether a line is part of a paragraph: words in the text's font, across its whole column."""
    wide = line.width > 0.55 * (line.right - line.left)
    gaps = any(other.x0 - one.x1 > 1.3 * line.size for one, other in pairwise(line.words))
    return wide and wordy(line) and abs(line.size - body) < 0.6 and not gaps


def overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    return min(one[1], other[1]) - max(one[0], other[0])


NEAR = 18.0
"""Maximum points between letters and the graphics that they belong to."""
ASIDE = 45.0
"""Maximum points between graphics and the names of axes and legends."""
ROW = 22.0
"""Maximum points between two rows of a table."""
SMALL = 25.0
"""Minimum height of a figure in points."""
PAPER = 250
"""Grey level from which on pixels count as empty."""


@dataclass
class Band:
    """The page between a caption and the next text above or below it."""

    box: Box
    drawings: list[Graphic]
    words: list[PdfWord]

    @property
    def drawn(self) -> float:
        """Square points of the drawings, without lines."""
        sizes = ((x1 - x0, y1 - y0) for _, (x0, y0, x1, y1) in self.drawings)
        return sum(wide * high for wide, high in sizes if min(wide, high) > 4)

    def within(self, box: Box) -> "Band":
        drawings = [one for one in self.drawings if _inside(one.box, box)]
        return Band(box, drawings, [one for one in self.words if _inside(_extent(one), box)])


def floats(
    made: Sequence[PageLines], body: float, words: Mapping[str, int]
) -> tuple[tuple[Figure, ...], tuple[Table, ...], tuple[str, ...]]:
    """All figures and tables, and missing ones; removes their lines from the sheets."""
    figures: list[Figure] = []
    tables: list[Table] = []
    faults: list[str] = []
    captions = [(sheet, captions_of(sheet, body)) for sheet in made]
    below = _tables_below(captions, body)
    for sheet, own in captions:
        _place(sheet, own, body, below)
        page = sheet.page
        for one in own:
            parts: dict[str, Any] = {"number": one.number, "caption": one.text(words), "page": page.number}
            parts |= {"box": one.box, "turn": page.turn}
            if one.kind == "figure":
                figures.append(Figure(**parts, source=one.source))
            else:
                tables.append(Table(**parts, rows=_rows(one.words)))
            if one.box is None:
                faults.append(f"{one.kind} {one.number} on page {page.number}: only its caption was found")
        _take_out(sheet, own)
    return tuple(figures), tuple(tables), tuple(faults)


def _texts(sheet: PageLines, captions: Sequence[Caption], body: float) -> list[TextLine]:
    """Lines outside figures and tables: complete paragraphs, headings, captions, separated parts."""
    captioned = {id(line) for one in captions for line in one.lines}
    ruled = [box for one in captions if one.kind == "table" and (box := _ruled(sheet, one, captions))]
    apart = (one for one in sheet.lines if id(one) not in captioned)
    lines = [one for one in apart if not any(_inside(one.box, box) for box in ruled)]
    text = {id(one) for one in lines if prose(one, body)}
    for number, line in enumerate(lines):
        # The last line of a paragraph that begins on the previous page or column.
        first = number == 0 or line.column != lines[number - 1].column
        last = line.text.endswith(ENDS) and wordy(line)
        if first and last and abs(line.size - body) < 0.6 and line.x0 - line.left < 3:
            text.add(id(line))
    for _ in range(2):
        for above, line in pairwise(lines):
            near = line.column == above.column and 0 < line.base - above.base < 1.35 * max(body, line.size)
            alike = abs(line.size - above.size) < 0.6 and line.x0 - line.left < 30
            if near and alike and id(above) in text and (wordy(line) or line.x0 - line.left < 3):
                text.add(id(line))
    named = {
        id(one)
        for one in lines
        if heading(one, body) and one.x0 - one.left < 8 and (one.largest > body + 0.5 or bare(one)[0])
    }
    if sheet.page.number == 1:
        named |= {id(one) for one in _front(sheet, lines, body)}
    kept = [one for one in lines if id(one) in text or id(one) in named]
    return [*kept, *(line for one in captions for line in one.lines), *sheet.furniture, *sheet.notes]


def _front(sheet: PageLines, lines: Sequence[TextLine], body: float) -> list[TextLine]:
    """Title, authors and addresses: above the abstract or the first heading, and above all pictures."""
    opening = next((one for one in lines if opens_abstract(one, body) or PLAIN.match(bare(one)[1])), None)
    drawn = (box[1] for _, box in sheet.page.drawings if box[3] - box[1] > 4)
    low = min(opening.base if opening else 0.0, *drawn, math.inf)
    return [one for one in lines if one.bottom < low]


def _bands(
    one: Caption, sheet: PageLines, texts: Sequence[TextLine], taken: set[int], captions: Sequence[Caption]
) -> tuple[Band, Band]:
    """The regions above and below a caption, up to the next text or another caption's region."""
    left, right = one.across
    for drawing in sheet.page.drawings:
        x0, y0, x1, y1 = drawing.box
        own = _off(one, drawing)
        close = -5 < own < 40 and not any(
            _off(other, drawing) < own for other in captions if other is not one
        )
        solid = min(x1 - x0, y1 - y0) > SMALL and not _is_ground(drawing, sheet.page.width, sheet.page.height)
        if close and solid and overlap((x0, x1), (one.left, one.right)) > 0.3 * (x1 - x0):
            one.left, one.right = min(one.left, x0), max(one.right, x1)
            left, right = min(left, x0), max(right, x1)
    if one.kind == "table" and (ruled := _ruled(sheet, one, captions)):
        left, right = min(left, ruled[0]), max(right, ruled[2])
    own = set(map(id, one.lines))
    others = [line.box for line in texts if id(line) not in own]
    others += [other.box for other in captions if other is not one and other.box]
    across = [
        box for box in others if overlap((box[0], box[2]), (left, right)) > min(5, (box[2] - box[0]) / 2)
    ]
    high = max((box[3] for box in across if box[3] <= one.top + 3), default=0.0)
    low = min((box[1] for box in across if box[1] >= one.bottom - 3), default=sheet.page.height)
    for y0, y1 in _head_rules(sheet):
        high, low = max(high, y1 if y1 < one.top else 0), min(low, y0 if y0 > one.bottom else low)
    page = sheet.page
    free = (each for each in page.drawings if id(each) not in taken)
    drawings = [each for each in free if not _is_ground(each, page.width, page.height)]
    bands: list[Band] = []
    for top, bottom in ((high, one.top), (one.bottom, low)):
        # Text may stand beside a figure, in its column.
        beside = [box for box in others if top < (box[1] + box[3]) / 2 < bottom]
        west = max((box[2] for box in beside if box[2] <= left + 5), default=one.left)
        east = min((box[0] for box in beside if box[0] >= right - 5), default=one.right)
        box = max(one.left, west) - 2, top, min(one.right, east) + 2, bottom
        bands.append(Band(box, drawings, page.words).within(box))
    return bands[0], bands[1]


def _off(caption: Caption, drawing: Graphic) -> float:
    """Distance of a drawing above or below a caption; infinite if it is neither."""
    x0, y0, x1, y1 = drawing.box
    if overlap((x0, x1), caption.across) <= 0:
        return math.inf
    return min((off for off in (caption.top - y1, y0 - caption.bottom) if off > -5), default=math.inf)


def _ruled(sheet: PageLines, caption: Caption, captions: Sequence[Caption]) -> Box | None:
    """The region between the first and last similar rules near a table's caption, up to the next caption."""
    wide = (box for _, box in sheet.page.drawings if box[3] - box[1] < 3 and box[2] - box[0] > 60)
    rules = sorted(wide, key=lambda box: box[1])
    line = caption.lines[0]
    others = [other for other in captions if other is not caption]
    for down in (True, False):
        near = (
            box
            for box in (rules if down else rules[::-1])
            if -3 < (box[1] - caption.bottom if down else caption.top - box[3]) < 40
            and overlap((box[0], box[2]), (line.x0, line.x1)) > 0
        )
        if (first := next(near, None)) is None:
            continue
        low = high = first[1]
        if down:
            high = min((other.top for other in others if other.top > low), default=math.inf)
        else:
            low = max((other.bottom for other in others if other.bottom < high), default=-math.inf)
        alike = [
            box
            for box in rules
            if max(abs(box[0] - first[0]), abs(box[2] - first[2])) < 3 and low <= box[1] <= high
        ]
        if len(alike) > 1:
            return hull(alike)
    return None


def _head_rules(sheet: PageLines) -> list[tuple[float, float]]:
    """Upper and lower edges of the rules that separate running heads and footnotes."""
    edges = [*(one.bottom for one in sheet.furniture), *(one.top for one in sheet.notes[:1])]
    return [
        (y0, y1)
        for _, (x0, y0, x1, y1) in sheet.page.drawings
        if y1 - y0 < 3 and x1 - x0 > 60 and any(abs(y0 - edge) < 14 for edge in edges)
    ]


def _is_ground(one: Graphic, width: float, height: float) -> bool:
    return one.box[2] - one.box[0] > 0.95 * width and one.box[3] - one.box[1] > 0.95 * height


def _tables_below(captions: Sequence[tuple[PageLines, list[Caption]]], body: float) -> bool:
    """Whether most tables of this document are below their captions."""
    votes = 0
    for sheet, own in captions:
        if any(one.kind == "table" for one in own):
            texts = _texts(sheet, own, body)
            for one in own:
                if one.kind == "table":
                    above, below = (len(_grown(band, one)) for band in _bands(one, sheet, texts, set(), own))
                    votes += (below > 3) - (above > 3)
    return votes >= 0


def _grown(band: Band, caption: Caption) -> list[PdfWord]:
    """The words of a table: row by row from its caption, until the gap is too wide."""
    down = band.box[1] >= caption.bottom - 4
    edge = caption.bottom if down else caption.top
    rows = sorted((one for one in band.words if one.upright), key=lambda one: one.base, reverse=not down)
    words: list[PdfWord] = []
    for word in rows:
        x0, y0, x1, y1 = _extent(word)
        if (y0 - edge if down else edge - y1) > ROW:
            # A rule may bridge the blank.
            rule = any(
                x < x1 and right > x0 and (edge - 3 < y < y0 + 3 if down else y1 - 3 < y < edge + 3)
                for _, (x, y, right, _) in band.drawings
            )
            if not rule or (y0 - edge if down else edge - y1) > 2 * ROW:
                break
        words.append(word)
        edge = max(edge, y1) if down else min(edge, y0)
    return words


def _place(sheet: PageLines, captions: Sequence[Caption], body: float, tables_below: bool) -> None:
    """Find the region of each caption of a page."""
    if not captions:
        return
    texts = _texts(sheet, captions, body)
    taken = set[int]()
    for one in sorted(captions, key=lambda one: one.kind, reverse=True):
        above, below = _bands(one, sheet, texts, taken, captions)
        if one.kind == "table":
            above, below = (_without_figures(each, one, captions) for each in (above, below))
            order = (below, above) if tables_below else (above, below)
            band = next((each for each in order if len(_grown(each, one)) > 3), None)
            band = band or next((each for each in order if each.drawn > 400), None)
            if band is None:
                continue
            one.words = _grown(band, one)
            boxes = [*map(_extent, one.words)]
            around = hull(boxes) if boxes else hull(each.box for each in band.drawings)
            near = [each for each in band.drawings if _inside(each.box, wider(around, 14))]
            one.box = _trimmed(sheet, hull((around, *(each.box for each in near))), band.box)
        else:
            band = above if above.drawn > 200 or below.drawn <= 200 else below
            near = _connected(band)
            if near:
                boxes = [each.box for each in near]
                one.box = _trimmed(sheet, _with_letters(hull(boxes), band, one), band.box)
                one.source = "raster" if all(each.kind == "image" for each in near) else "vector"
            elif (box := _trimmed(sheet, band.box, band.box)) and box[3] - box[1] > SMALL:
                one.box, one.source = box, "space"
        if not one.box:
            one.source = ""
        else:
            taken |= {id(each) for each in sheet.page.drawings if _inside(each.box, one.box)}


def _without_figures(band: Band, table: Caption, captions: Sequence[Caption]) -> Band:
    """A table's region, limited by the pictures of a figure whose caption ends it."""
    left, top, right, bottom = band.box
    down = top >= table.bottom - 4
    ends = (abs(one.top - bottom if down else one.bottom - top) for one in captions if one.kind == "figure")
    pictures = (box for kind, box in band.drawings if kind != "path")
    solid = [box for box in pictures if min(box[2] - box[0], box[3] - box[1]) > SMALL]
    if not solid or min(ends, default=math.inf) >= 4:
        return band
    least, most = min(box[1] for box in solid), max(box[3] for box in solid)
    return band.within((left, top, right, least) if down else (left, most, right, bottom))


def _connected(band: Band) -> list[Graphic]:
    """The drawings of a figure: those of its region except isolated rules."""
    solid = [one for one in band.drawings if min(one.box[2] - one.box[0], one.box[3] - one.box[1]) > 4]
    if not solid:
        solid = band.drawings if len(band.drawings) > 3 else []
    if not solid:
        return []
    around = hull(one.box for one in solid)
    if around[3] - around[1] < SMALL / 2:
        return []
    return [one for one in band.drawings if _inside(one.box, wider(around, NEAR))]


def _with_letters(box: Box, band: Band, caption: Caption) -> Box:
    """A box, extended by letters in or near it, and everything up to the caption."""
    for _ in range(4):
        above = caption.top > box[3] - 4
        up, down = (NEAR, caption.top - box[3]) if above else (box[1] - caption.bottom, NEAR)
        reach = box[0] - ASIDE, box[1] - up, box[2] + ASIDE, box[3] + max(NEAR, down)
        wider = hull((box, *(extent for one in band.words if _touches(extent := _extent(one), reach))))
        if wider == box:
            break
        box = wider
    return box


def _trimmed(sheet: PageLines, box: Box, bounds: Box) -> Box | None:
    """A box trimmed to the visible content, or extended within limits if the content continues beyond an edge."""
    page = sheet.page
    scale, pixels = page.scale, page.pixels
    rows, columns = pixels.shape

    def at(values: Box) -> list[int]:
        limits = (columns, rows, columns, rows)
        return [min(max(0, round(value * scale)), most) for value, most in zip(values, limits, strict=True)]

    outer = at((bounds[0], bounds[1] + 1, bounds[2], bounds[3] - 1))
    x0, y0, x1, y1 = at(box)
    x0, y0, x1, y1 = max(x0, outer[0]), max(y0, outer[1]), min(x1, outer[2]), min(y1, outer[3])
    ink: Any = pixels < PAPER
    if x1 <= x0 or y1 <= y0 or not ink[y0:y1, x0:x1].any():
        return None
    for _ in range(int(30 * scale)):
        before = x0, y0, x1, y1
        y0 -= bool(y0 > outer[1] and ink[y0 - 1, x0:x1].any())
        y1 += bool(y1 < outer[3] and ink[y1, x0:x1].any())
        x0 -= bool(x0 > outer[0] and ink[y0:y1, x0 - 1].any())
        x1 += bool(x1 < outer[2] and ink[y0:y1, x1].any())
        if before == (x0, y0, x1, y1):
            break
    inner = ink[y0:y1, x0:x1]
    (down,), (across,) = inner.any(axis=1).nonzero(), inner.any(axis=0).nonzero()
    left, top, right, bottom = x0 + across[0], y0 + down[0], x0 + across[-1] + 1, y0 + down[-1] + 1
    return tuple(round(float(value) / scale, 1) for value in (left, top, right, bottom))  # pyright: ignore[reportReturnType]


def _rows(words: Sequence[PdfWord]) -> tuple[tuple[str, ...], ...]:
    """The words of a table by rows and cells."""
    rows: list[list[PdfWord]] = []
    for word in sorted((one for one in words if one.upright), key=lambda one: (one.base, one.x0)):
        if rows and abs(word.base - rows[-1][0].base) < 0.45 * max(word.size, rows[-1][0].size):
            rows[-1].append(word)
        else:
            rows.append([word])
    made: list[tuple[str, ...]] = []
    for row in rows:
        row.sort(key=lambda one: one.x0)
        cells = groups(row, lambda other, one: other.x0 - one.x1 > 0.75 * max(one.size, other.size))
        made.append(tuple(" ".join(word.text for word in cell) for cell in cells))
    return tuple(made)


def _take_out(sheet: PageLines, captions: Sequence[Caption]) -> None:
    captioned = {id(line) for one in captions for line in one.lines}
    boxes = [wider(one.box, 3) for one in captions if one.box]
    apart = (line for line in sheet.lines if id(line) not in captioned)
    sheet.lines = [line for line in apart if not any(_inside(line.box, box) for box in boxes)]


def _extent(word: PdfWord) -> Box:
    if not word.upright:
        return word.ink
    return word.x0, min(word.ink[1], word.base - 0.5 * word.size), word.x1, max(word.ink[3], word.base)


def _inside(box: Box, outer: Box) -> bool:
    """Whether most of a box, with its centre, is in another."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    tall = overlap((box[1], box[3]), (outer[1], outer[3])) >= 0.6 * (box[3] - box[1])
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3] and tall


def _touches(box: Box, other: Box) -> bool:
    return box[0] <= other[2] and box[2] >= other[0] and box[1] <= other[3] and box[3] >= other[1]


def wider(box: Box, by: float) -> Box:
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by
