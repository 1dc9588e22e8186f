"""The picture of papers and the ideas they led to: positions of boxes and lines, in SVG units."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from manyheads.report.drawing import LETTER, LINE, wrapped

PAD, GAP = 7.0, 8.0
"""Space in a box around its text, and between boxes."""
EDGE = 1.0
"""Margin of the picture, so that no frame is cut."""


@dataclass(frozen=True)
class Entry:
    """The content of a box: its mark, such as a number, its title, a note below, and its style."""

    key: str
    mark: str
    title: str
    note: str = ""
    style: str = ""
    hue: int = 0


@dataclass(frozen=True)
class Box:
    """An entry with its position; `title` and `note` are lines of text, each with its height."""

    entry: Entry
    x: float
    y: float
    width: float
    height: float
    title: tuple[tuple[float, str], ...]
    note: tuple[tuple[float, str], ...]

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    @property
    def whole(self) -> str:
        """The full title if it is cut."""
        return f"{self.entry.mark} {self.entry.title}" + f" ({self.entry.note})" * bool(self.entry.note)


@dataclass(frozen=True)
class Line:
    """A line from a paper to an idea: the path of a curve, and the idea, whose style it takes."""

    path: str
    entry: Entry


@dataclass(frozen=True)
class Picture:
    """Papers on the left, ideas on the right, a line for each paper that an idea builds on."""

    width: float
    height: float
    papers: Sequence[Box]
    ideas: Sequence[Box]
    lines: Sequence[Line]


def draw(
    papers: Sequence[Entry],
    ideas: Sequence[Entry],
    links: Mapping[str, Iterable[str]],
    width: float,
    lines: int,
) -> Picture:
    """Two columns with lines between them. Papers are placed near the ideas that build on them, so that few lines cross.

    Ideas without papers, and papers without ideas, are at the bottom.

    Args:
        links: by the key of an idea, the keys of its papers.
        width: of the picture.
        lines: maximum lines of a title.
    """
    ideas = sorted(ideas, key=lambda idea: not links.get(idea.key))
    at = {idea.key: place for place, idea in enumerate(ideas)}
    places: dict[str, list[int]] = {}
    for idea, keys in links.items():
        for key in keys:
            places.setdefault(key, []).append(at[idea])

    def order(place: int) -> tuple[bool, float, int]:
        rows = places.get(papers[place].key)
        return not rows, sum(rows) / len(rows) if rows else 0.0, place

    ordered = [papers[place] for place in sorted(range(len(papers)), key=order)]
    column = round(width * 0.41)
    texts = [[_text(each, column, lines) for each in entries] for entries in (ordered, ideas)]
    heights = [sum(len(title + note) * LINE + 2 * PAD + GAP for title, note in each) for each in texts]
    total = max([*heights, LINE])
    left = _stacked(ordered, texts[0], EDGE, column - EDGE, total - heights[0])
    right = _stacked(ideas, texts[1], width - column, column - EDGE, total - heights[1])
    boxes = {box.entry.key: box for box in left}
    curves = [
        Line(_curve(boxes[key], box), box.entry)
        for box in right
        for key in links.get(box.entry.key, ())
        if key in boxes
    ]
    return Picture(width, total, left, right, curves)


def _curve(paper: Box, idea: Box) -> str:
    start, end = paper.x + paper.width, idea.x
    middle = (start + end) / 2
    return (
        f"M{start:.1f} {paper.middle:.1f} C{middle:.1f} {paper.middle:.1f} {middle:.1f} {idea.middle:.1f} "
        f"{end:.1f} {idea.middle:.1f}"
    )


Words = tuple[list[str], list[str]]
"""The lines of a box: its title, wrapped and cut, and its note."""


def _text(entry: Entry, width: float, lines: int) -> Words:
    letters = int((width - 2 * PAD) / LETTER)
    return wrapped(f"{entry.mark} {entry.title}", letters, lines), wrapped(entry.note, letters, lines)


def _stacked(
    entries: Sequence[Entry], texts: Sequence[Words], x: float, width: float, spare: float
) -> list[Box]:
    """A column of boxes; spare height is divided between them."""
    boxes, y = list[Box](), GAP / 2
    for entry, (title, note) in zip(entries, texts, strict=True):
        y += spare / len(entries) / 2
        height = len(title + note) * LINE + 2 * PAD
        lines = [(round(y + PAD + (n + 0.78) * LINE, 1), line) for n, line in enumerate(title + note)]
        head, below = tuple(lines[: len(title)]), tuple(lines[len(title) :])
        boxes.append(Box(entry, x, round(y, 1), width, height, head, below))
        y += height + GAP + spare / len(entries) / 2
    return boxes
