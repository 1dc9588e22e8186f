"""Captions of figures and tables on a page, and the region of each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from manyheads.documents.document import Box
from manyheads.documents.layout import Line, Sheet, joined, wordy
from manyheads.documents.letters import Word
from manyheads.documents.sections import small_capitals

LABEL = re.compile(
    r"^(?:(?:Supplementary|Extended Data)\s+)?(Figure|Fig\.?|FIGURE|FIG\.?|Table|TABLE|Tab\.)\s*"
    r"([A-Z]?\.?\d{1,3}(?:\.\d{1,2})?|[IVX]{1,5})(?![\w)])\s*([:.|–—]?)\s*(.*)$"
)


@dataclass
class Caption:
    """A caption with its figure or table."""

    kind: Literal["figure", "table"]
    number: str
    lines: list[Line]
    left: float
    """Horizontal bounds of its region."""
    right: float
    box: Box | None = None
    source: Literal["raster", "vector", "space", ""] = ""
    words: list[Word] = field(default_factory=list[Word])

    @property
    def top(self) -> float:
        return min(one.top for one in self.lines)

    @property
    def bottom(self) -> float:
        return max(one.bottom for one in self.lines)

    def text(self, words: Mapping[str, int]) -> str:
        """The caption without its label."""
        text = joined(map(small_capitals, self.lines), words)
        match = LABEL.match(text)
        return match[4] if match else text


def captions_of(sheet: Sheet, body: float) -> list[Caption]:
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
        kind = "table" if match[1].casefold().startswith("tab") else "figure"
        made.append(Caption(kind, match[2], lines, left, right))
    for one in made:
        _keep_apart(one, made, sheet, body)
    return made


def _starts_caption(line: Line, sheet: Sheet, body: float) -> bool:
    """Whether a line begins a caption rather than a text line: `Figure 2. We see` may be either."""
    match = LABEL.match(line.text)
    if not match:
        return False
    if match[3] in (":", "|", "–", "—") or not match[4]:
        return True
    above = [
        one
        for one in sheet.lines
        if one is not line and one.base < line.base and overlap((one.x0, one.x1), (line.x0, line.x1)) > 0
    ]
    previous = max(above, key=lambda one: one.base, default=None)
    apart = previous is None or line.base - previous.base > 1.5 * line.size or not prose(previous, body)
    marked = line.words[0].bold or abs(line.size - body) > 0.4
    if match[3] == ".":
        return (apart or marked) and not match[4][:1].islower()
    return apart and marked and match[4][:1].isupper()


def _next_line(lines: Sequence[Line], sheet: Sheet, starts: Sequence[Line]) -> Line | None:
    """The next line of the caption."""
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


def _keep_apart(one: Caption, captions: Sequence[Caption], sheet: Sheet, body: float) -> None:
    """Set the horizontal bounds of a caption's region, if another caption is beside it."""
    left, right = min(line.x0 for line in one.lines), max(line.x1 for line in one.lines)
    for other in captions:
        if other is not one and not _text_between(one, other, sheet, body):
            edges = min(line.x0 for line in other.lines), max(line.x1 for line in other.lines)
            if edges[0] >= right:
                one.right = min(one.right, (right + edges[0]) / 2)
            elif edges[1] <= left:
                one.left = max(one.left, (left + edges[1]) / 2)


def _text_between(one: Caption, other: Caption, sheet: Sheet, body: float) -> bool:
    """Whether a paragraph separates two captions, so that their regions are not side by side."""
    top, bottom = min(one.bottom, other.bottom), max(one.top, other.top)
    return any(top < line.base < bottom and prose(line, body) for line in sheet.lines)


def prose(line: Line, body: float) -> bool:
    """Whether a line is part of a paragraph: words in the text's font, across its whole column."""
    wide = line.width > 0.55 * (line.right - line.left)
    gaps = any(other.x0 - one.x1 > 1.3 * line.size for one, other in pairwise(line.words))
    return wide and wordy(line) and abs(line.size - body) < 0.6 and not gaps


def overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    return min(one[1], other[1]) - max(one[0], other[0])
