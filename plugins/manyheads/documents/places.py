"""The location of a passage on a page of a PDF, for marking it."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from manyheads.documents.document import Box, Limits
from manyheads.documents.letters import Letter, Place, letters_of
from manyheads.documents.pdfium import opened, page_of
from manyheads.documents.quotes import GAP, LOOSE, Letters, folded, near

LEAST = 12
"""Minimum letters of half a passage to locate it."""


def places(path: Path, page: int, text: str) -> list[Box]:
    """The lines of a page that contain a passage, in display coordinates (`render` without a turn); [] if not found.

    Args:
        path: the PDF.
        page: from 1.
        text: a passage from `find_quote`; it may begin on the previous page, or continue on the next.

    Raises:
        DocumentError: the file cannot be read, or has no such page.
    """
    with opened(path) as document:
        raw = page_of(document, path, page)
        shown = Place.on(raw)
        textpage = raw.get_textpage()
        try:
            letters = [one for one in letters_of(textpage, Limits()) if one.style and not one.style.invisible]
        finally:
            textpage.close()
        quarters = Counter(
            one.style.quarter for one in letters if one.style and one.style.quarter is not None
        )
        reading = Place.on(raw, next((quarter for quarter, _ in quarters.most_common(1)), None))
        raw.close()
    # A letter may be drawn as a ligature, and count as two.
    folds = [folded(one.text) for one in letters]
    printed = "".join(folds)
    owners = [number for number, fold in enumerate(folds) for _ in fold]
    lines: list[list[Letter]] = []
    for part in GAP.split(text):
        for start, end in _spans(printed, Letters(part, cited=True).text):
            for number in dict.fromkeys(owners[start:end]):
                if lines and _goes_on(_box(reading, lines[-1]), _box(reading, [letters[number]])):
                    lines[-1].append(letters[number])
                else:
                    lines.append([letters[number]])
    return [_box(shown, line) for line in lines]


def _box(place: Place, letters: Sequence[Letter]) -> Box:
    lefts, rights, bottoms, tops = zip(*(one[1:5] for one in letters), strict=True)
    return place.box(min(lefts), min(bottoms), max(rights), max(tops))


def _spans(printed: str, part: str) -> list[tuple[int, int]]:
    """The location of letters; of their halves, if separated by a page's end or a figure."""
    if not part:
        return []
    start = printed.find(part)
    if start >= 0:
        return [(start, start + len(part))]
    if one := next(near(printed, part, max(1, int(LOOSE * len(part)))), None):
        return [one[:2]]
    middle = len(part) // 2
    return [*_spans(printed, part[:middle]), *_spans(printed, part[middle:])] if middle >= LEAST else []


def _goes_on(line: Box, letter: Box) -> bool:
    """Whether a letter is on the same line."""
    high = max(line[3] - line[1], letter[3] - letter[1])
    level = min(line[3], letter[3]) - max(line[1], letter[1]) > -0.3 * high and (
        max(line[3], letter[3]) - min(line[1], letter[1]) < 1.9 * high
    )
    return level and -0.5 * high < letter[0] - line[2] < 3 * high
