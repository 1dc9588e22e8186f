"""The map of a text among its nearest papers: each at its exact distance from the text, in a direction that says which are
alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import cos, radians, sin

from manyheads.report.drawing import NARROW, Curve, Drawing, Node, Text, in_sizes, lines
from manyheads.report.lettering import LETTER, LINE, wrapped
from manyheads.report.top import Near

RADIUS = 150.0
"""Of the farthest paper."""
LABELLED, MARKED = 24, 50
"""Papers that have a label beside the map, and a number on it."""
ROW = 3 * LINE + 5


@dataclass(frozen=True)
class Place:
    """A paper with its number and its place, in units of the map around the text."""

    number: int
    paper: Near
    past: bool
    x: float
    y: float

    @property
    def note(self) -> str:
        year = f"{self.paper.year}, " if self.paper.year else ""
        return f"{year}distance {self.paper.distance:.2f}"


@dataclass(frozen=True)
class Map:
    """Past and contemporary papers, the nearest first, each with its bearing."""

    past: Sequence[Near]
    contemporary: Sequence[Near]

    @property
    def drawings(self) -> list[tuple[str, Drawing]]:
        return in_sizes(self._draw)

    @cached_property
    def farthest(self) -> float:
        return max(paper.distance for paper in (*self.past, *self.contemporary)) or 1.0

    @property
    def nearest(self) -> float:
        return min(paper.distance for paper in (*self.past, *self.contemporary))

    @cached_property
    def places(self) -> list[Place]:
        """The papers by period, then distance.

        Bearings are moved half of the way to even ones, in their order, so that no paper covers another.
        """
        papers = [(paper, True) for paper in self.past] + [(paper, False) for paper in self.contemporary]
        raw = [paper.bearing or 0.0 for paper, _ in papers]
        order = sorted(range(len(papers)), key=lambda n: (raw[n], n))
        step = 360 / len(papers)
        shift = sum(raw[n] - place * step for place, n in enumerate(order)) / len(papers)
        angles = {n: radians((raw[n] + place * step + shift) / 2) for place, n in enumerate(order)}
        return [
            Place(
                n + 1,
                paper,
                past,
                RADIUS * paper.distance / self.farthest * cos(angles[n]),
                -RADIUS * paper.distance / self.farthest * sin(angles[n]),
            )
            for n, (paper, past) in enumerate(papers)
        ]

    @cached_property
    def rings(self) -> list[float]:
        """Distances with a circle."""
        step = next((s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if self.farthest / s <= 4), 0.5)
        return [round(step * n, 2) for n in range(1, int(self.farthest / step + 1e-6) + 1)]

    def _draw(self, width: float) -> Drawing:
        labelled = width >= NARROW and len(self.places) <= LABELLED
        sides = [[p for p in self.places if (p.x < 0) == left] for left in (True, False)]
        tall = max(2 * RADIUS + 44, *(len(side) * ROW if labelled else 0 for side in sides))
        x, y = width / 2, tall / 2
        circles = [Curve(_circle(x, y, RADIUS * ring / self.farthest), "ring", 1) for ring in self.rings]
        texts = [Text(x, round(y - RADIUS * ring / self.farthest - 4, 1), f"{ring:g}", "note", "middle") for ring in self.rings]  # fmt: skip
        small = len(self.places) > MARKED
        nodes = [Node(x, y, 7, "", "text", title="The abstract")]
        nodes += [
            Node(
                round(x + place.x, 1),
                round(y + place.y, 1),
                4 if small else 10,
                "" if small else str(place.number),
                "past" if place.past else "contemporary",
                title=f"{place.number}. {place.paper.title} ({place.note})",
                square=not place.past,
            )
            for place in self.places
        ]
        texts.append(Text(x, round(y + 22, 1), "the abstract", "note", "middle"))
        if labelled:
            for side, left in zip(sides, (True, False), strict=True):
                for place, row in zip(*_stacked(side, y, tall), strict=True):
                    end = x + (-1 if left else 1) * (RADIUS + 20)
                    start = (x + place.x + (-10 if left else 10), y + place.y)
                    circles.append(Curve(f"M{start[0]:.1f} {start[1]:.1f}L{end:.1f} {row:.1f}", "pointer", 1))
                    texts += _label(place, end + (-4 if left else 4), row, x - RADIUS - 26, left)
        return Drawing(width, tall, circles, nodes, texts)


def _circle(x: float, y: float, radius: float) -> str:
    return f"M{x - radius:.1f} {y:.1f}a{radius:.1f} {radius:.1f} 0 1 0 {2 * radius:.1f} 0a{radius:.1f} {radius:.1f} 0 1 0 {-2 * radius:.1f} 0"


def _stacked(side: Sequence[Place], middle: float, tall: float) -> tuple[list[Place], list[float]]:
    """The places of a side from top to bottom, with the heights of their labels: near them, none over another."""
    ordered = sorted(side, key=lambda place: (place.y, place.number))
    rows, least = list[float](), ROW / 2
    for place in ordered:
        rows.append(max(middle + place.y, least))
        least = rows[-1] + ROW
    most = tall - ROW / 2
    for n in reversed(range(len(rows))):
        rows[n] = min(rows[n], most)
        most = rows[n] - ROW
    return ordered, rows


def _label(place: Place, x: float, y: float, room: float, left: bool) -> Iterator[Text]:
    """Title and distance of a paper, beside the map."""
    title = wrapped(f"{place.number}. {place.paper.title}", int(room / LETTER), 2)
    rows = lines([*title, place.note], x, y, "", "end" if left else "start")
    yield from rows[:-1]
    yield Text(rows[-1].x, rows[-1].y, rows[-1].text, "note", rows[-1].anchor)
