"""The picture of ideas over time: a row each, with scores, votes and outcome, and curves to the ideas that came from it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from manyheads.report.drawing import NARROW, Bar, Curve, Drawing, Node, Text, in_sizes, lines
from manyheads.report.lettering import LETTER, LINE, breadth, wrapped

Outcome = Literal["won", "kept", "out", ""]
MOST = 60
"""Ideas in the picture; the table beside it has all."""
RADIUS = 12.0
SCORE, HIGH = 7.0, 22.0
"""Width and height of the bar of a score."""


@dataclass(frozen=True)
class Row:
    """An idea, or a version of one.

    Attributes:
        step: the heading of its part of the picture, such as its turn.
        mark: in its circle, such as its author's monogram or its number.
        parents: keys of the ideas that it comes from.
        scores: each from 0 to 1, None if unknown.
        figure: its total score as written.
        weight: which ideas are left out first if there are too many: those of the lowest.
        outcome: `won`, `kept` to a vote or by a filter, `out` if discarded or left out.
        note: its author, votes and outcome in words.
    """

    key: str
    title: str
    step: str = ""
    mark: str = ""
    parents: tuple[str, ...] = ()
    scores: tuple[float | None, ...] = ()
    figure: str = ""
    weight: float = 0.0
    outcome: Outcome = ""
    note: str = ""
    hue: int = 190


@dataclass(frozen=True)
class Lineage:
    """Ideas in the order of time."""

    rows: Sequence[Row]

    @property
    def drawings(self) -> list[tuple[str, Drawing]]:
        return in_sizes(self._draw)

    @cached_property
    def line(self) -> frozenset[str]:
        """The ideas that won, with all that they come from."""
        parents, line = {row.key: row.parents for row in self.rows}, set[str]()
        waiting = [row.key for row in self.rows if row.outcome == "won"]
        while waiting:
            if (key := waiting.pop()) not in line:
                line.add(key)
                waiting += parents.get(key, ())
        return frozenset(line)

    @cached_property
    def shown(self) -> Sequence[Row]:
        """The rows in the picture: the winner and its line first, then the outcomes, then the best."""
        ranks = {"won": 0, "out": 2, "kept": 2, "": 3}
        order = sorted(
            self.rows, key=lambda row: (1 if row.key in self.line else ranks[row.outcome], -row.weight)
        )
        keys = {row.key for row in order[:MOST]}
        return [row for row in self.rows if row.key in keys]

    def _draw(self, width: float) -> Drawing:
        slim = width < NARROW
        gutter = 44.0 if slim else 96.0
        bars = max((len(row.scores) for row in self.shown), default=0)
        figure = max((breadth(row.figure) for row in self.shown), default=0) * LETTER
        right = bars * (SCORE + 1) + (figure + 10 if figure else 0)
        notes = 0.0 if slim else 150.0
        x = gutter + RADIUS + 10
        room = int((width - x - right - notes - 14) / LETTER)
        curves, nodes, texts, grounds = list[Curve](), list[Node](), list[Text](), list[Bar]()
        at, y, step = dict[str, tuple[int, float]](), 2.0, ""
        for place, row in enumerate(self.shown):
            if row.step != step:
                step = row.step
                texts += [Text(x, round(y + 1.1 * LINE, 1), each, "step") for each in wrapped(step, room, 1)]
                grounds.append(Bar(0, round(y + 1.5 * LINE, 1), width, 1, "rule"))
                y += 1.9 * LINE
            title = wrapped(row.title, room, 2)
            words = wrapped(row.note, room if slim else int(notes / LETTER), 2)
            rows = len(title) + len(words) if slim else max(len(title), len(words))
            height = max(rows * LINE, 2 * RADIUS) + 10
            middle = y + height / 2
            at[row.key] = place, middle
            if row.outcome == "won":
                grounds.append(
                    Bar(gutter - RADIUS - 5, y + 1, width - gutter + RADIUS + 4, height - 2, "won")
                )
            style = f"idea {row.outcome}".strip()
            nodes.append(
                Node(gutter, round(middle, 1), RADIUS, row.mark, style, row.hue, f"{row.title} ({row.note})")
            )
            if slim:
                both = lines([*title, *words], x, middle)
                texts += [Text(t.x, t.y, t.text, row.outcome) for t in both[: len(title)]]
                texts += [Text(t.x, t.y, t.text, "note") for t in both[len(title) :]]
            else:
                texts += lines(title, x, middle, row.outcome)
                texts += lines(words, width - notes, middle, "note")
            left = width - notes - right - 6 + (0 if notes else 4)
            foot = round(middle + HIGH / 2, 1)
            if row.scores:
                grounds.append(Bar(left, foot - HIGH, len(row.scores) * (SCORE + 1) - 1, HIGH, "scale"))
            for n, score in enumerate(row.scores):
                part = round(HIGH * (score or 0), 1)
                grounds.append(Bar(left + n * (SCORE + 1), round(foot - part, 1), SCORE, part, "score"))
            if row.figure:
                texts += lines([row.figure], left + right - 4, middle, "figure", "end")
            y += height
        curves += self._curves(at, gutter)
        return Drawing(width, round(y + 4, 1), curves, nodes, texts, grounds)

    def _curves(self, at: Mapping[str, tuple[int, float]], gutter: float) -> Iterable[Curve]:
        """From each idea to its parents: the farther, the wider; the winner's line is painted last."""
        pairs = [
            (row, parent) for row in self.shown for parent in row.parents if row.key in at and parent in at
        ]
        pairs.sort(key=lambda pair: pair[0].key in self.line)
        longest = max((abs(at[row.key][0] - at[parent][0]) for row, parent in pairs), default=1)
        for row, parent in pairs:
            (place, end), (origin, start) = at[row.key], at[parent]
            reach = (gutter - RADIUS - 6) * 4 / 3 * ((abs(place - origin) / max(longest, 6)) ** 0.6)
            x = gutter - RADIUS
            path = f"M{x:.1f} {start:.1f}C{x - reach:.1f} {start:.1f} {x - reach:.1f} {end:.1f} {x:.1f} {end:.1f}"
            mark = "line won" if row.key in self.line else "line"
            yield Curve(path, mark, 2.5 if row.key in self.line else 1.5)
