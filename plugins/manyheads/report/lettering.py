"""Texts of a picture: their width without a font, cut and wrapped to fit. Units are those of the picture."""

import unicodedata
from itertools import accumulate, takewhile

LINE, LETTER = 15.0, 6.8
"""Height of a line and width of a letter at the size of labels, 12 units: a generous estimate."""
BROAD, LATIN = frozenset("MWm@%—"), "ɏ"
"""The broadest letters, and the last one of the Latin script: most others are broader."""


def breadth(text: str) -> float:
    """Width of a text, in small letters. East Asian letters count as two, capitals and broad letters as more than one,
    so that a title in capitals stays in its box."""
    return sum(map(_breadth, text))


def _breadth(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 2.0
    if letter in BROAD:
        return 1.75
    return 1.25 if letter.isupper() or (letter.isalpha() and letter > LATIN) else 1.0


def cut(text: str, most: float) -> str:
    """A text cut to a maximum width in letters."""
    if breadth(text) <= most:
        return text
    breadths = accumulate(map(_breadth, text))
    kept = sum(1 for _ in takewhile(lambda so_far: so_far <= most - 1, breadths))
    return text[:kept].rstrip() + "…"


def wrapped(text: str, most: int, count: int) -> list[str]:
    """A text in at most `count` lines of limited width; the rest is cut off."""
    lines, rest = list[str](), " ".join(text.split())
    while rest and len(lines) < count - 1 and breadth(rest) > most:
        head = cut(rest, most + 1).removesuffix("…")
        if rest[len(head) : len(head) + 1] not in (" ", "") and " " in head:
            head = head[: head.rindex(" ")]
        lines.append(head.rstrip())
        rest = rest[len(head) :].lstrip()
    return [*lines, cut(rest, most)] if rest else lines
