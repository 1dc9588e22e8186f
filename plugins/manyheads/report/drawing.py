"""A drawing of a report: what a template turns into SVG. Positions are plain geometry, and the width of a text is estimated without a
font, so that the same input gives the same file."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile
from math import hypot

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


def hues(names: Iterable[str]) -> dict[str, int]:
    """The colour of each scientist of a run, a hue in degrees, in the order in which they first speak; those who say nothing come last.

    It is the same on the run's page, in its report and in its pictures. Twelve are at least 30° apart, the next twelve lie between them.
    """
    return {name: hue(place) for place, name in enumerate(dict.fromkeys(names))}


def hue(place: int) -> int:
    """The hue of the scientist, or the idea, at a place from 0 on."""
    return (200 + 150 * place + 15 * (place // 12)) % 360


SIZES = {"broad": 704.0, "slim": 350.0}
"""Widths: in the report's column, and on a telephone."""
NARROW = 500.0
"""Drawings narrower than this have less text."""
Point = tuple[float, float]


@dataclass(frozen=True)
class Label:
    """A line of text; `anchor` is `start`, `middle` or `end`."""

    x: float
    y: float
    text: str
    style: str = ""
    anchor: str = "start"


@dataclass(frozen=True)
class Curve:
    """A line; `title` is shown on hover."""

    path: str
    style: str = ""
    width: float = 1.5
    title: str = ""


@dataclass(frozen=True)
class Node:
    """A circle with a short mark in it. `hue` is that of a person or an idea, None for the style's own colour; `title` is shown on hover."""

    x: float
    y: float
    radius: float
    mark: str = ""
    style: str = ""
    hue: int | None = None
    title: str = ""


@dataclass(frozen=True)
class Bar:
    """A rectangle, such as a score or the ground of a row."""

    x: float
    y: float
    width: float
    height: float
    style: str = ""


@dataclass(frozen=True)
class SvgDrawing:
    """All parts, in the order of painting: bars, curves, nodes, texts."""

    width: float
    height: float
    curves: Sequence[Curve] = ()
    nodes: Sequence[Node] = ()
    texts: Sequence[Label] = ()
    bars: Sequence[Bar] = ()


def in_sizes(draw: Callable[[float], SvgDrawing]) -> list[tuple[str, SvgDrawing]]:
    """A drawing in each width."""
    return [(name, draw(width)) for name, width in SIZES.items()]


def lines(texts: Iterable[str], x: float, y: float, style: str = "", anchor: str = "start") -> list[Label]:
    """Lines of text below each other, centred around `y`."""
    rows = list(texts)
    top = y - len(rows) * LINE / 2 + 0.78 * LINE
    return [
        Label(round(x, 1), round(top + n * LINE, 1), row, style, anchor) for n, row in enumerate(rows) if row
    ]


def with_note(
    texts: Sequence[str], note: Sequence[str], x: float, y: float, style: str = "", anchor: str = "start"
) -> list[Label]:
    """Lines of text with those of a note below them, all centred around `y`."""
    rows = lines([*texts, *note], x, y, style, anchor)
    return [*rows[: len(texts)], *(replace(row, style="note") for row in rows[len(texts) :])]


def bend(start: Point, middle: Point, end: Point) -> str:
    """The path of a curve that is drawn towards a point."""
    return f"M{start[0]:.1f} {start[1]:.1f}Q{middle[0]:.1f} {middle[1]:.1f} {end[0]:.1f} {end[1]:.1f}"


def drawn_to(centre: Point, one: Point, other: Point, part: float) -> Point:
    """The middle of two points, drawn to the centre by some part of the way."""
    x, y = ((one[n] + other[n]) / 2 * (1 - part) + centre[n] * part for n in (0, 1))
    return x, y


def arrowhead(tip: Point, source: Point, size: float = 7.0) -> str:
    """The path of a triangle at the end of a curve, as it comes from `source`."""
    across, down = tip[0] - source[0], tip[1] - source[1]
    length = hypot(across, down) or 1.0
    across, down = across / length * size, down / length * size
    base = (tip[0] - across, tip[1] - down)
    one, other = (base[0] - down / 2, base[1] + across / 2), (base[0] + down / 2, base[1] - across / 2)
    return f"M{tip[0]:.1f} {tip[1]:.1f}L{one[0]:.1f} {one[1]:.1f} {other[0]:.1f} {other[1]:.1f}Z"


def towards(start: Point, end: Point, length: float) -> Point:
    """The point at some distance from `start` on the way to `end`."""
    whole = hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    part = length / whole
    return start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part
