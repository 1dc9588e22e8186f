"""The picture of a team: members, guests and candidates on a ring, with joint papers and questions as lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, log2, sqrt
from typing import Literal

from manyheads.report.drawing import (
    NARROW,
    Curve,
    Drawing,
    Node,
    Point,
    Text,
    arrowhead,
    bend,
    in_sizes,
    lines,
    towards,
)
from manyheads.report.lettering import LETTER, LINE, wrapped

Standing = Literal["leader", "member", "left", "guest", "declined"]
WORDS = {"leader": "leader", "left": "left the team", "guest": "guest", "declined": "declined"}
MOST, MOST_LINES = 80, 200
"""People and pairs in the picture; the list beside it has all."""
NUMBERED, THIN = 8, 60
"""Pairs whose lines have their number of papers on them, and beyond which all lines are thin."""
RADIUS = 15.0


@dataclass(frozen=True)
class Person:
    """Someone in the picture.

    Attributes:
        standings: what they were, the latest last: one who declined may become a guest.
        human: whether a person answered, not a model.
        mark: their monogram.
    """

    name: str
    standings: tuple[Standing, ...]
    mark: str
    hue: int
    human: bool = False

    @property
    def standing(self) -> Standing:
        return self.standings[-1]

    @property
    def note(self) -> str:
        words = [WORDS[each] for each in self.standings if each in WORDS]
        return ", ".join([*words, *(["a person"] if self.human else [])])


@dataclass(frozen=True)
class Pair:
    """Two people with their joint papers, or one who asked another for advice."""

    one: str
    other: str
    papers: int


@dataclass(frozen=True)
class TeamPicture:
    """A team with its lines.

    Attributes:
        people: the leader first, then members, guests, and those who declined.
        joint: pairs who have written together; None if unknown.
        asked: pairs of a member and a guest; `papers` counts the questions.
    """

    people: Sequence[Person]
    joint: Sequence[Pair] | None
    asked: Sequence[Pair]

    @property
    def drawings(self) -> list[tuple[str, Drawing]]:
        return in_sizes(self._draw)

    @property
    def shown(self) -> Sequence[Person]:
        return self.people[:MOST]

    @property
    def lines(self) -> Sequence[Pair]:
        """The joint papers in the picture: those of most papers if there are many."""
        names = {person.name for person in self.shown}
        pairs = [pair for pair in self.joint or () if {pair.one, pair.other} <= names]
        return sorted(pairs, key=lambda pair: -pair.papers)[:MOST_LINES]

    def joint_of(self, name: str) -> list[tuple[str, int]]:
        """A person's co-authors with the numbers of joint papers."""
        pairs = [(pair, pair.other if pair.one == name else pair.one) for pair in self.joint or ()]
        return [(other, pair.papers) for pair, other in pairs if name in (pair.one, pair.other)]

    def askers_of(self, name: str) -> list[str]:
        """Who asked a guest."""
        return [pair.one for pair in self.asked if pair.other == name]

    def _draw(self, width: float) -> Drawing:
        slim = width < NARROW
        places, height = _ring(len(self.shown), width, row=50.0 if slim else 40.0)
        place = {person.name: at for person, at in zip(self.shown, places, strict=True)}
        centre = (width / 2, height / 2 + LINE)
        curves, texts, many = list[Curve](), list[Text](), len(self.lines) > THIN
        for pair in reversed(self.lines):
            one, other = place[pair.one], place[pair.other]
            middle = _drawn_to(centre, one, other, 0.35)
            title = f"{pair.one} and {pair.other}: {pair.papers} joint papers"
            thick, style = (0.8, "joint many") if many else (min(1.2 + log2(pair.papers), 6.0), "joint")
            curves.append(Curve(bend(one, middle, other), style, round(thick, 1), title=title))
            if len(self.lines) <= NUMBERED:
                x, y = ((one[n] + 2 * middle[n] + other[n]) / 4 for n in (0, 1))
                texts += lines([str(pair.papers)], x, y, "count", "middle")
        for pair in self.asked:
            if pair.one not in place or pair.other not in place:
                continue
            middle = _drawn_to(centre, place[pair.one], place[pair.other], 0.1)
            tip = towards(place[pair.other], middle, RADIUS + 2)
            title = f"{pair.one} asked {pair.other}"
            curves.append(Curve(bend(place[pair.one], middle, tip), "asked", title=title))
            curves.append(Curve(arrowhead(tip, middle), "tip"))
        nodes = [
            Node(
                *place[person.name],
                RADIUS + (3 if person.standing == "leader" else 0),
                person.mark,
                person.standing,
                person.hue,
                f"{person.name}: {person.note or 'member'}",
            )
            for person in self.shown
        ]
        nodes += [Node(one.x, one.y, one.radius + 4, style="human") for one, person in zip(nodes, self.shown, strict=True) if person.human]  # fmt: skip
        for person, node in zip(self.shown, nodes, strict=False):
            texts += _label(person, node, width)
        return Drawing(width, height, curves, nodes, texts)


def _drawn_to(centre: Point, one: Point, other: Point, part: float) -> Point:
    """The middle of two points, drawn to the centre by some part of the way."""
    x, y = ((one[n] + other[n]) / 2 * (1 - part) + centre[n] * part for n in (0, 1))
    return x, y


def _ring(count: int, width: float, row: float) -> tuple[list[Point], float]:
    """Places on a ring, the first at the top, the others down its two sides in turn, and the height of the picture.

    A side has rows of equal height, so that no label covers another, however many there are.
    """
    across = width * (0.24 if width >= NARROW else 0.18)
    rows = ceil((count - 1) / 2)
    tall, top = max(rows * row, 1.6 * across), RADIUS + 2.6 * LINE
    places: list[Point] = [(width / 2, top)]
    for n in range(count - 1):
        side, part = (-1 if n % 2 else 1), (n // 2 + 0.5) / rows
        x = width / 2 + side * across * sqrt(1 - (2 * part - 1) ** 2)
        places.append((round(x, 1), round(top + RADIUS + part * tall, 1)))
    return places, round(places[-1][1] + 2 * LINE, 1)


def _label(person: Person, node: Node, width: float) -> list[Text]:
    """Name and note beside the node, on the outside of the ring; above it for the leader."""
    side = 0 if person.standing == "leader" else 1 if node.x >= width / 2 else -1
    x = node.x + side * (node.radius + 6)
    room = width if not side else width - x if side > 0 else x
    cut = partial(wrapped, most=int((room - 4) / LETTER))
    name, note = cut(person.name, count=1 if width >= NARROW else 2), cut(person.note, count=1)
    anchor = {0: "middle", 1: "start", -1: "end"}[side]
    y = node.y if side else node.y - node.radius - LINE * len(name + note) / 2 - 2
    rows = lines([*name, *note], x, y, "", anchor)
    return [*rows[: len(name)], *(Text(one.x, one.y, one.text, "note", anchor) for one in rows[len(name) :])]
