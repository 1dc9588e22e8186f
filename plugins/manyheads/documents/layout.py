"""Lines of a page in reading order: one or two columns; running heads, page numbers and footnotes separated.

head of the page            furniture: what repeats in the margins
Title across both           column -1: ends a band
1 1 1 1 1 |  2 2 2 2 2      the gutter: the place near the middle that the fewest words cross;
1 1 1 1 1 |  2 2 2 2 2      a band is read down its left column, then down its right one
wide figure across both     the next band
3 3 3 3 3 |  4 4 4 4 4
* a note  |      7          notes; the page's number
"""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from statistics import median
from types import MappingProxyType
from typing import TypeVar

from manyheads.documents.document import BLANK, Box, word_count
from manyheads.documents.headings import FLOAT
from manyheads.documents.words import PdfPage, PdfWord

T = TypeVar("T")
GAP = 1.6
"""Maximum distance of neighbours in a line, in em."""
PROSE = 0.3
"""Minimum share of the page's width for a line of a text column."""
GUTTER = 6.0
"""Minimum width of a gutter in points."""
MARGIN = 0.1
"""Share of the page's height, at top and bottom, for running heads and page numbers."""
NUMBER = re.compile(r"(?:page\s*)?[-–—]?\s*(?:\d{1,4}|[ivxl]{1,6})\s*[-–—]?(?:\s*(?:of|/)\s*\d+)?", re.I)
STAMP = re.compile(
    r"(?i)^(?:arXiv:\d|Preprint\b|Under review|Published as a|Accepted (?:at|to|as)|Proceedings of|Copyright|©|\d+\w* (?:International )?Conference)"
)
CAPTION = re.compile(rf"^(?:{FLOAT}|Algorithm)\s*[A-Z]?\d", re.I)
ENDS = (".", ":", "?", "!", "。", "：", "？", "！", "．")
"""The last signs of paragraphs."""
ORDINAL = re.compile(r"^(?:\d{1,2}|[A-Z])(?:\.\d{1,2})*\.?$")
MARK = re.compile(r"^[*†‡§¶∗⋆\d]{1,3}")


@dataclass
class TextLine:
    """Words in one line of one column."""

    page: int
    words: list[PdfWord]
    column: int = 0
    """-1 for one across both columns, else 0 or 1."""
    left: float = 0
    """Of its column."""
    right: float = 0
    x0: float = field(init=False)
    x1: float = field(init=False)
    base: float = field(init=False)
    size: float = field(init=False)
    """Size of most of its letters."""
    largest: float = field(init=False)
    text: str = field(init=False)

    def __post_init__(self) -> None:
        words = self.words
        self.x0, self.x1 = min(one.x0 for one in words), max(one.x1 for one in words)
        letters = Counter[float]()
        bases = Counter[float]()
        for one in words:
            letters[round(one.size, 1)] += len(one.text)
            bases[round(one.base, 1)] += len(one.text)
        self.size, self.largest = letters.most_common(1)[0][0], max(letters)
        self.base = bases.most_common(1)[0][0]
        apart = len(words) > 3 and all(len(one.text) == 1 and one.text.isalpha() for one in words)
        self.text = ("" if apart else " ").join(one.text for one in words)

    @property
    def top(self) -> float:
        return self.base - 0.75 * self.size

    @property
    def bottom(self) -> float:
        return self.base + 0.25 * self.size

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def bold(self) -> bool:
        return all(one.bold for one in self.words if any(map(str.isalnum, one.text)))

    @property
    def italic(self) -> bool:
        return all(one.italic for one in self.words if len(one.text) > 2)

    @property
    def box(self) -> Box:
        return self.x0, self.top, self.x1, self.bottom


@dataclass
class PageLines:
    page: PdfPage
    lines: list[TextLine]
    gutter: float | None = None
    """Position of the gap between two columns; None with one column."""
    left: float = 0
    right: float = 0
    notes: list[TextLine] = field(default_factory=list[TextLine])
    furniture: list[TextLine] = field(default_factory=list[TextLine])


def sheets(pages: Sequence[PdfPage]) -> tuple[list[PageLines], float]:
    """The pages' lines in reading order, and the document's main font size."""
    made = [_sheet(page) for page in pages]
    _agree(made)
    for sheet in made:
        if (gutter := sheet.gutter) is not None:
            sheet.lines = [half for line in sheet.lines for half in _halves(line, gutter)]
    sizes = Counter[float]()
    for sheet in made:
        for line in sheet.lines:
            sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    _set_apart_furniture(made)
    for sheet in made:
        _order(sheet)
        _set_apart_notes(sheet, body)
    return made, body


def _sheet(page: PdfPage) -> PageLines:
    def apart(word: PdfWord, last: PdfWord) -> bool:
        size = max(last.size, word.size)
        return abs(word.base - last.base) >= 0.45 * size or not -1.5 * size < word.x0 - last.x1 < GAP * size

    lines = groups((word for word in page.words if word.upright), apart)
    joined = [TextLine(page.number, words) for words in _joined(lines)]
    sheet = PageLines(page, joined)
    if joined:
        prose = [one for one in joined if one.width > PROSE * page.width] or joined
        sheet.left, sheet.right = min(one.x0 for one in prose), max(one.x1 for one in prose)
        sheet.gutter = _gutter(sheet)
    return sheet


def _joined(lines: list[list[PdfWord]]) -> list[list[PdfWord]]:
    """Adjacent pieces of a line drawn one after the other, joined."""
    pieces = sorted((TextLine(0, words) for words in lines), key=lambda one: (one.base, one.x0))
    done: list[TextLine] = []
    for piece in pieces:
        for other in reversed(done[-8:]):
            near, before = _follows(other, piece, piece.size), _follows(piece, other, piece.size)
            if abs(other.base - piece.base) < 1.0 and (near or before):
                done.remove(other)
                first, second = (other, piece) if near else (piece, other)
                done.append(TextLine(0, [*first.words, *second.words]))
                break
        else:
            done.append(piece)
    return _with_indices(done)


def _follows(one: TextLine, other: TextLine, size: float) -> bool:
    """Whether a piece stands right behind another; the number of a heading is farther from its title."""
    return -0.3 * size < other.x0 - one.x1 < (2.2 if ORDINAL.match(one.text) else 0.8) * size


def _with_indices(lines: list[TextLine]) -> list[list[PdfWord]]:
    """Lines, with superscripts and subscripts of formulas in their positions."""
    hosts = [one for one in lines if word_count(one.text) > 3]
    bases = [one.base for one in hosts]
    kept: list[TextLine] = []
    more: dict[int, list[PdfWord]] = {}
    for line in lines:
        near = range(bisect_left(bases, line.base - 12), bisect_left(bases, line.base + 12))
        fits = (
            (abs(hosts[index].base - line.base), index)
            for index in near
            if line.size < 0.85 * hosts[index].size
            and abs(hosts[index].base - line.base) < 0.65 * hosts[index].size
            and hosts[index].x0 < line.x0
            and line.x1 < hosts[index].x1 + hosts[index].size
        )
        if len(line.text) < 12 and (best := min(fits, default=None)):
            more.setdefault(best[1], []).extend(line.words)
        else:
            kept.append(line)
    own = {id(hosts[index]): words for index, words in more.items()}
    return [
        sorted((*one.words, *own[id(one)]), key=lambda word: word.x0) if id(one) in own else one.words
        for one in kept
    ]


def _gutter(sheet: PageLines) -> float | None:
    """The middle of the gap between two columns, if there are two."""
    width = sheet.page.width
    edges = [0] * (int(width) + 2)
    for line in sheet.lines:
        for word in line.words:
            edges[min(max(0, math.ceil(word.x0 - GUTTER / 2)), int(width))] += 1
            edges[min(max(0, math.ceil(word.x1 + GUTTER / 2)), int(width))] -= 1
    # Each word adds 1 where it begins and takes 1 where it ends, so the sum is the number of words above a point.
    crossing = list(accumulate(edges))
    middle = range(int(0.35 * width), int(0.65 * width))
    place = float(min(middle, key=lambda x: (crossing[x], abs(x - width / 2))))
    left, right, across = _sides(sheet, place)
    return place if min(left, right) >= 6 and across <= 0.6 * (left + right) else None


def _sides(sheet: PageLines, place: float) -> tuple[int, int, int]:
    """Number of text lines left and right of a gutter, and across it."""
    halves = [half for line in sheet.lines for half in _halves(line, place)]
    across = sum(one.x0 < place - GUTTER and one.x1 > place + GUTTER for one in halves)
    # Cells of a table and labels of a figure are narrow, or numbers.
    wide = 0.2 * sheet.page.width
    prose = [one for one in halves if one.width > wide and wordy(one)]
    return sum(one.x1 <= place + 1 for one in prose), sum(one.x0 >= place - 1 for one in prose), across


def _agree(made: Sequence[PageLines]) -> None:
    """Use other pages' gutter for pages with an almost empty column."""
    gutters = [sheet.gutter for sheet in made if sheet.gutter is not None]
    if not gutters:
        return
    place = median(gutters)
    for sheet in made:
        if sheet.gutter is None:
            left, right, across = _sides(sheet, place)
            if left + right >= 3 and across <= 0.5 * (left + right):
                sheet.gutter = place
                sheet.right = max(sheet.right, 2 * place - sheet.left)


def wordy(line: TextLine) -> bool:
    """Whether a line consists of words rather than numbers and symbols."""
    letters = sum(map(str.isalpha, line.text))
    return letters > 0.6 * len(line.text.replace(" ", "")) and word_count(line.text) > 2


def _halves(line: TextLine, gutter: float) -> list[TextLine]:
    """Cut a line at the gutter if it continues in the other column."""
    for index, (one, other) in enumerate(pairwise(line.words), 1):
        wide = other.x0 - one.x1 >= max(GUTTER, 0.9 * line.size)
        if wide and one.x1 <= gutter + 1 and other.x0 >= gutter - 1:
            return [TextLine(line.page, line.words[:index]), TextLine(line.page, line.words[index:])]
    return [line]


def _order(sheet: PageLines) -> None:
    """Left column, then right; a line across both ends the part above it."""
    gutter = sheet.gutter
    for line in sheet.lines:
        line.left, line.right = sheet.left, sheet.right
        if gutter is not None:
            across = line.x0 < gutter - GUTTER and line.x1 > gutter + GUTTER
            line.column = -1 if across else int((line.x0 + line.x1) / 2 > gutter)
            if line.column >= 0:
                line.left, line.right = (sheet.left, gutter) if line.column == 0 else (gutter, sheet.right)
    for column in (0, 1) if gutter is not None else (0,):
        own = [one for one in sheet.lines if one.column == column]
        prose = [one for one in own if one.width > 0.6 * (one.right - one.left)]
        if prose:
            left, right = min(one.x0 for one in prose), max(one.x1 for one in prose)
            for line in own:
                line.left, line.right = left, right
    bands = sorted(one.base for one in sheet.lines if one.column == -1)
    sheet.lines.sort(
        key=lambda one: (bisect_left(bands, one.base), one.column if one.column >= 0 else 2, one.base, one.x0)
    )


def _set_apart_furniture(made: list[PageLines]) -> None:
    """Remove page numbers, stamps, and text repeated at the same position on several pages."""
    seen = Counter[str]()
    for sheet in made:
        seen.update({_shape(line) for line in _edge(sheet)})
    several = max(2, min(3, len(made) // 2))
    for sheet in made:
        for line in _edge(sheet):
            if (
                (NUMBER.fullmatch(line.text) and _outermost(line, sheet))
                or STAMP.match(line.text)
                or (
                    len(made) > 1
                    and seen[_shape(line)] >= several
                    and any(map(str.isalpha, line.text))
                    and not CAPTION.match(line.text)
                )
            ):
                sheet.furniture.append(line)
        if sheet.lines and not sheet.furniture:
            # With wide margins, the page number is far from the edge, and far from the text.
            last = max(sheet.lines, key=lambda one: one.base)
            above = max((one.base for one in sheet.lines if one is not last), default=0.0)
            if (
                NUMBER.fullmatch(last.text)
                and last.base > 0.75 * sheet.page.height
                and last.base - above > 1.8 * last.size
            ):
                sheet.furniture.append(last)
        out = set(map(id, sheet.furniture))
        sheet.lines = [line for line in sheet.lines if id(line) not in out]


def _outermost(line: TextLine, sheet: PageLines) -> bool:
    """Whether no line is nearer to the page's edge, and no drawing next to it: axis numbers may be near the edge too."""
    bases = [one.base for one in sheet.lines]
    x, y, wide = (line.x0 + line.x1) / 2, line.base, 0.9 * sheet.page.width
    drawn = any(
        25 < right - left < wide
        and bottom - top > 25
        and left - 12 < x < right + 12
        and top - 12 < y < bottom + 12
        for _, (left, top, right, bottom) in sheet.page.drawings
    )
    return (line.base < min(bases) + 2 or line.base > max(bases) - 2) and not drawn


def _edge(sheet: PageLines) -> Iterable[TextLine]:
    """The lines in the margins, at most the outermost three."""
    height = sheet.page.height
    bases = sorted({round(line.base) for line in sheet.lines})
    outer = {*bases[:3], *bases[-3:]}
    for line in sheet.lines:
        if round(line.base) in outer and not MARGIN * height < line.base < (1 - MARGIN) * height:
            yield line


def _shape(line: TextLine) -> str:
    """Key of a line's text and height, ignoring numbers."""
    return f"{round(line.base / 4)}{re.sub(r'[0-9]+', '#', line.text).casefold()}"


def _set_apart_notes(sheet: PageLines, body: float) -> None:
    """Remove footnotes: at the foot of a column, in small letters, with a mark at the start."""
    for column in (-1, 0, 1):
        own = sorted((one for one in sheet.lines if one.column == column), key=lambda one: one.base)
        start = len(own)
        first = None
        while start and own[start - 1].size < body - 0.6 and own[start - 1].base > sheet.page.height * 0.5:
            start -= 1
            first = start if marked(own[start]) else first
        if first is not None:
            sheet.notes += own[first:]
            out = set(map(id, own[first:]))
            sheet.lines = [line for line in sheet.lines if id(line) not in out]


def marked(line: TextLine) -> bool:
    """Whether a line begins with a footnote's mark."""
    mark = MARK.match(line.text)
    if not mark:
        return False
    rest = line.text[mark.end() :].strip()
    first, touches = line.words[0], line.text[mark.end() :][:1].isalpha()
    raised = first.size < line.size or first.base < line.base - 1 or touches
    return raised and sum(map(str.isalpha, rest)) > 4


def spacing(lines: Sequence[TextLine]) -> float:
    """The usual distance between consecutive lines."""
    steps = [
        below.base - above.base
        for above, below in pairwise(lines)
        if above.page == below.page and above.column == below.column and 0 < below.base - above.base < 30
    ]
    return median(steps) if steps else 12.0


HANGUL = re.compile("[\uac00-\ud7af]")
"""Korean, whose lines may end within a word, without a hyphen."""
COMPOUNDS = frozenset(
    re.findall(
        r"\w+",
        "all cross data few fine graph hard high large long low meta mini model one pseudo quasi real self semi short small "
        "state task three time two well zero",
    )
)
"""Prefixes with a permanent hyphen, unless the document shows otherwise."""


def groups(items: Iterable[T], begins: Callable[[T, T], bool]) -> list[list[T]]:
    """Items up to the next one that begins a group, as seen from the one before it."""
    made: list[list[T]] = []
    for one in items:
        if not made or begins(one, made[-1][-1]):
            made.append([])
        made[-1].append(one)
    return made


def vocabulary(made: Iterable[PageLines]) -> Counter[str]:
    """Number of occurrences of each undivided word of a document."""
    inner = (word.text for sheet in made for line in sheet.lines for word in line.words[:-1])
    return Counter(text.strip(".,;:()[]“”\"'").casefold() for text in inner)


def joined(lines: Iterable[str], words: Mapping[str, int] = MappingProxyType({})) -> str:
    """Lines as one text; words divided at line ends are joined as in `words`."""
    text = ""
    for line in map(str.strip, lines):
        divided = text.endswith("-") and text[-2:-1].isalpha() and line[:1].isalpha()
        if divided or (HANGUL.match(text[-1:]) and HANGUL.match(line)):
            head = text.split()[-1].casefold().strip("(“\"'")
            tail = line.split()[0].casefold().strip(".,;:)”\"'")
            one, two = words.get(head[:-1] + tail, 0), words.get(head + tail, 0)
            kept = two > one if one or two else head[:-1].rpartition("-")[2] in COMPOUNDS
            solid = line[:1].islower() and not kept
            whole = (text[:-1] if solid else text) if divided else text if two else f"{text} "
            text = whole + line
        else:
            text = f"{text} {line}" if text else line
    return BLANK.sub("", text)
