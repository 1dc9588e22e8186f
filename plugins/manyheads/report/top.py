"""The top of a report: the idea in a few sentences, novelty with the map of the nearest papers, reviews of the run; without paths of
the user."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from math import cos, radians, sin
from pathlib import Path
from urllib.parse import quote

from manyheads.base.files import read_text
from manyheads.core.results import MEASURE, RESULT, Part
from manyheads.measures import BY_FIELD
from manyheads.report.drawing import (
    LETTER,
    LINE,
    NARROW,
    Curve,
    Drawing,
    Node,
    Text,
    in_sizes,
    lines,
    wrapped,
)

REPORT = "report.html"

FARTHEST = 1e6
"""The largest distance on a map; embeddings of length one are at most 2 apart."""
LONGEST = 650
"""Maximum characters of an idea's summary."""
SENTENCE_END = re.compile(r"(?<=[.!?。！？])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bal\.)(?<!\bcf\.)\s+")


@dataclass(frozen=True)
class Related:
    """A run that reviews or judges this one.

    Attributes:
        title: of its system.
        href: relative link to its report.
        scores: in words; empty if it ranks or compares.
    """

    title: str
    href: str
    scores: str = ""


class Near(Part):
    """A paper near the text."""

    title: str
    year: int | None = None
    distance: float
    bearing: float | None = None

    @property
    def drawable(self) -> bool:
        """Whether a map can show it: a file may lack the bearing, or hold any number."""
        return self.bearing is not None and abs(self.bearing) <= 360 and 0 <= self.distance <= FARTHEST


class Measured(Part):
    """The novelty of a run's abstract, as saved by `manyheads measure` in `measure.json`."""

    on: float | None = None
    hd: float | None = None
    cd: float | None = None
    ci: float | None = None
    rnd: float | None = None
    corpus: str | None = None
    embedding: str = ""
    normalise: str = ""
    against: str = "corpus"
    past: tuple[Near, ...] = ()
    contemporary: tuple[Near, ...] = ()

    @property
    def values(self) -> Sequence[tuple[str, float]]:
        """The measures by name, without missing ones."""
        names = ("on", "hd", "cd", "ci", "rnd")
        return [(name.upper(), value) for name in names if (value := getattr(self, name)) is not None]

    @property
    def note(self) -> str:
        """What a reader of ON must know, where there is one."""
        return "" if self.on is None else f"{BY_FIELD}."

    @property
    def nearest(self) -> Near | None:
        """The paper nearest to the abstract."""
        return min((*self.past, *self.contemporary), key=lambda paper: paper.distance, default=None)


def read_measure(folder: Path) -> Measured | None:
    """The measures of a run; None if there are none, or the file cannot be read."""
    try:
        return Measured.model_validate(json.loads(read_text(folder / MEASURE)))
    except (OSError, ValueError):
        return None


def first_sentences(text: str, most: int = 3) -> str:
    """The first sentences of a text, cut between words if they are long."""
    sentences = SENTENCE_END.split(" ".join(text.split()))
    return cut(" ".join(sentences[:most]), LONGEST)


def cut(text: str, most: int) -> str:
    """A text cut between words to a maximum length."""
    if len(text) <= most:
        return text
    return f"{text[:most].rpartition(' ')[0].rstrip('.,;:') or text[: most - 1]}…"


def place(source: str) -> str:
    """The name of a file or run folder without its parents; anything but an absolute path is unchanged."""
    full = source.startswith("/") or re.match(r"[A-Za-z]:[\\/]", source)
    return re.split(r"[\\/]", source.rstrip("\\/"))[-1] if full and "\n" not in source else source


def report_link(run: Path, folder: Path) -> str:
    """The relative link from a folder to the report of a run; empty if there is none."""
    try:
        if not (run / RESULT).is_file():
            return ""
    except OSError:  # not a valid folder name
        return ""
    return quote(Path(os.path.relpath(run.resolve() / REPORT, folder.resolve())).as_posix())


def without_places(html: str, folder: Path) -> str:
    """A page without the paths of the project and of the user's home."""
    project = folder.resolve().parent.parent
    for path, short in ((Path.cwd(), ""), (project, ""), (Path.home(), "~/")):
        if len(path.parts) > 2 or (short and len(path.parts) > 1):
            html = html.replace(f"{escape(str(path))}/", short)
    return html


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
        far = [RADIUS * paper.distance / self.farthest for paper, _ in papers]
        return [
            Place(n + 1, paper, past, far[n] * cos(angles[n]), -far[n] * sin(angles[n]))
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
        radii = {ring: RADIUS * ring / self.farthest for ring in self.rings}
        circles = [Curve(_circle(x, y, radius), "ring", 1) for radius in radii.values()]
        texts = [Text(x, round(y - r - 4, 1), f"{ring:g}", "note", "middle") for ring, r in radii.items()]
        small = len(self.places) > MARKED
        nodes = [Node(x, y, 7, "", "text", title="The abstract")]
        nodes += [
            Node(
                round(x + place.x, 1), round(y + place.y, 1), 4 if small else 10, "" if small else str(place.number),
                "past" if place.past else "contemporary", title=f"{place.number}. {place.paper.title} ({place.note})",
                square=not place.past,
            )
            for place in self.places
        ]  # fmt: skip
        texts.append(Text(x, round(y + 22, 1), "the abstract", "note", "middle"))
        for side, aside in zip(sides, (-1, 1), strict=True) if labelled else ():
            for place, row in zip(*_stacked(side, y, tall), strict=True):
                start, end = (x + place.x + aside * 10, y + place.y), x + aside * (RADIUS + 20)
                circles.append(Curve(f"M{start[0]:.1f} {start[1]:.1f}L{end:.1f} {row:.1f}", "pointer", 1))
                texts += _label(place, end + aside * 4, row, x - RADIUS - 26, aside < 0)
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
