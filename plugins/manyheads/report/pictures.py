"""The pictures of a report: ideas over time, questions and answers, the team."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil, log2, sqrt
from typing import Literal

from manyheads.report.drawing import (
    LETTER,
    LINE,
    NARROW,
    Bar,
    Curve,
    Label,
    Node,
    Point,
    SvgDrawing,
    arrowhead,
    bend,
    breadth,
    cut,
    drawn_to,
    in_sizes,
    lines,
    towards,
    with_note,
    wrapped,
)

Outcome = Literal["won", "kept", "out", ""]
MOST_IDEAS = 60
"""Ideas in the picture; the table beside it has all."""
IDEA_RADIUS = 12.0
SCORE, HIGH = 7.0, 22.0
"""Width and height of the bar of a score."""


@dataclass(frozen=True)
class IdeaRow:
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
class IdeasPicture:
    """Ideas in the order of time."""

    rows: Sequence[IdeaRow]

    @property
    def drawings(self) -> list[tuple[str, SvgDrawing]]:
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
    def drawn(self) -> Sequence[IdeaRow]:
        """The rows in the picture: the winner and its line first, then the outcomes, then the best."""
        ranks = {"won": 0, "out": 2, "kept": 2, "": 3}
        order = sorted(
            self.rows, key=lambda row: (1 if row.key in self.line else ranks[row.outcome], -row.weight)
        )
        keys = {row.key for row in order[:MOST_IDEAS]}
        return [row for row in self.rows if row.key in keys]

    def _draw(self, width: float) -> SvgDrawing:
        slim = width < NARROW
        gutter = 44.0 if slim else 96.0
        bars = max((len(row.scores) for row in self.drawn), default=0)
        figure = max((breadth(row.figure) for row in self.drawn), default=0) * LETTER
        right = bars * (SCORE + 1) + (figure + 10 if figure else 0)
        notes = 0.0 if slim else 150.0
        x = gutter + IDEA_RADIUS + 10
        room = int((width - x - right - notes - 14) / LETTER)
        curves, nodes, texts, grounds = list[Curve](), list[Node](), list[Label](), list[Bar]()
        at, y, step = dict[str, tuple[int, float]](), 2.0, ""
        for place, row in enumerate(self.drawn):
            if row.step != step:
                step = row.step
                texts += [Label(x, round(y + 1.1 * LINE, 1), each, "step") for each in wrapped(step, room, 1)]
                grounds.append(Bar(0, round(y + 1.5 * LINE, 1), width, 1, "rule"))
                y += 1.9 * LINE
            title = wrapped(row.title, room, 2)
            words = wrapped(row.note, room if slim else int(notes / LETTER), 2)
            rows = len(title) + len(words) if slim else max(len(title), len(words))
            height = max(rows * LINE, 2 * IDEA_RADIUS) + 10
            middle = y + height / 2
            at[row.key] = place, middle
            if row.outcome == "won":
                edge = gutter - IDEA_RADIUS - 5
                grounds.append(Bar(edge, y + 1, width - edge - 1, height - 2, "won"))
            style, told = f"idea {row.outcome}".strip(), f"{row.title} ({row.note})"
            nodes.append(Node(gutter, round(middle, 1), IDEA_RADIUS, row.mark, style, row.hue, told))
            if slim:
                texts += with_note(title, words, x, middle, row.outcome)
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
        return SvgDrawing(width, round(y + 4, 1), curves, nodes, texts, grounds)

    def _curves(self, at: Mapping[str, tuple[int, float]], gutter: float) -> Iterable[Curve]:
        """From each idea to its parents: the farther, the wider; the winner's line is painted last."""
        pairs = [
            (row, parent) for row in self.drawn for parent in row.parents if row.key in at and parent in at
        ]
        pairs.sort(key=lambda pair: pair[0].key in self.line)
        longest = max((abs(at[row.key][0] - at[parent][0]) for row, parent in pairs), default=1)
        for row, parent in pairs:
            (place, end), (origin, start) = at[row.key], at[parent]
            reach = (gutter - IDEA_RADIUS - 6) * 4 / 3 * ((abs(place - origin) / max(longest, 6)) ** 0.6)
            x = gutter - IDEA_RADIUS
            path = f"M{x:.1f} {start:.1f}C{x - reach:.1f} {start:.1f} {x - reach:.1f} {end:.1f} {x:.1f} {end:.1f}"
            mark = "line won" if row.key in self.line else "line"
            yield Curve(path, mark, 2.5 if row.key in self.line else 1.5)


MOST_QUESTIONS = 40
"""Questions in the picture; the list beside it has all."""
SPEAKER_RADIUS, NOTE = 13.0, 6.0
"""Of a speaker's circle, and the width of a letter of a name."""


@dataclass(frozen=True)
class PictureSpeaker:
    """Someone with a line in the picture, by the name that questions have."""

    name: str
    mark: str
    hue: int


@dataclass(frozen=True)
class PictureQuestion:
    """A question of the first speaker to another."""

    to: str
    text: str
    note: str = ""
    answered: bool = True


@dataclass(frozen=True)
class Exchanges:
    """Questions in the order of time; the first speaker asks them all."""

    speakers: Sequence[PictureSpeaker]
    messages: Sequence[PictureQuestion]

    @property
    def drawings(self) -> list[tuple[str, SvgDrawing]]:
        return in_sizes(self._draw)

    @cached_property
    def drawn(self) -> Sequence[PictureQuestion]:
        return self.messages[:MOST_QUESTIONS]

    def _draw(self, width: float) -> SvgDrawing:
        slim = width < NARROW
        broadest = max(breadth(each.name) for each in self.speakers) * NOTE
        # Names that are broader than their lane stand in two rows by turns.
        staggered = len(self.speakers) * broadest > (most := width * (0.45 if slim else 0.38))
        part = max(most, min(len(self.speakers) * broadest / 1.6, 0.55 * width)) if staggered else most
        step, head = part / len(self.speakers), LINE * (1 + staggered)
        at = {speaker.name: round(step * (n + 0.5), 1) for n, speaker in enumerate(self.speakers)}
        radius = min(SPEAKER_RADIUS, step / 2 - 1)
        start, room = at[self.speakers[0].name], int((width - part - 6) / LETTER)
        nodes = [
            Node(at[each.name], SPEAKER_RADIUS + head + 4, radius, each.mark, "speaker", each.hue, each.name)
            for each in self.speakers
        ]
        texts = list[Label]()
        for n, each in enumerate(self.speakers):
            name = cut(each.name, max(int(step * (1.6 if staggered else 1) / NOTE), 3))
            x = max(at[each.name], breadth(name) * NOTE / 2)
            texts += lines([name], x, head - LINE / 2 if n % 2 else LINE / 2, "note", "middle")
        curves, y = list[Curve](), 2 * SPEAKER_RADIUS + head + 14
        top = y - 10
        for message in self.drawn:
            question = wrapped(message.text, room, 2)
            note = wrapped(message.note, room, 1)
            height = max(len(question + note) * LINE, 30.0) + 8
            middle, end = y + height / 2, at[message.to]
            texts += with_note(question, note, part + 4, middle)
            curves += _arrow(start, end - 3, middle - 6, "line")
            if message.answered:
                curves += _arrow(end, start + 3, middle + 7, "answer")
            else:
                cross = f"M{end - 5:.1f} {middle + 2:.1f}l10 10m0 -10l-10 10"
                curves.append(Curve(cross, "failed", 2))
            y += height
        bars = [Bar(round(x - 0.5, 1), top, 1, round(y - top, 1), "rule") for x in at.values()]
        return SvgDrawing(width, round(y + 4, 1), curves, nodes, texts, bars)


def _arrow(start: float, end: float, y: float, style: str) -> list[Curve]:
    path = f"M{start:.1f} {y:.1f}H{end:.1f}"
    return [Curve(path, style), Curve(arrowhead((end, y), (start, y), 6), f"head {style}")]


Standing = Literal["leader", "member", "left", "guest", "declined"]
WORDS = {"leader": "leader", "left": "left the team", "guest": "guest", "declined": "declined"}
MOST_PEOPLE, MOST_LINES = 80, 200
"""People and pairs in the picture; the list beside it has all."""
NUMBERED, THIN = 8, 60
"""Pairs whose lines have their number of papers on them, and beyond which all lines are thin."""
PERSON_RADIUS = 15.0


@dataclass(frozen=True)
class PicturePerson:
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

    people: Sequence[PicturePerson]
    joint: Sequence[Pair] | None
    asked: Sequence[Pair]

    @property
    def drawings(self) -> list[tuple[str, SvgDrawing]]:
        return in_sizes(self._draw)

    @property
    def drawn(self) -> Sequence[PicturePerson]:
        return self.people[:MOST_PEOPLE]

    @property
    def lines(self) -> Sequence[Pair]:
        """The joint papers in the picture: those of most papers if there are many."""
        names = {person.name for person in self.drawn}
        pairs = [pair for pair in self.joint or () if {pair.one, pair.other} <= names]
        return sorted(pairs, key=lambda pair: -pair.papers)[:MOST_LINES]

    def joint_of(self, name: str) -> list[tuple[str, int]]:
        """A person's co-authors with the numbers of joint papers."""
        pairs = [(pair, pair.other if pair.one == name else pair.one) for pair in self.joint or ()]
        return [(other, pair.papers) for pair, other in pairs if name in (pair.one, pair.other)]

    def askers_of(self, name: str) -> list[str]:
        """Who asked a guest."""
        return [pair.one for pair in self.asked if pair.other == name]

    def _draw(self, width: float) -> SvgDrawing:
        slim = width < NARROW
        places, height = _ring(len(self.drawn), width, row=50.0 if slim else 40.0)
        place = {person.name: at for person, at in zip(self.drawn, places, strict=True)}
        centre = (width / 2, height / 2 + LINE)
        curves, texts, many = list[Curve](), list[Label](), len(self.lines) > THIN
        for pair in reversed(self.lines):
            one, other = place[pair.one], place[pair.other]
            middle = drawn_to(centre, one, other, 0.35)
            title = f"{pair.one} and {pair.other}: {pair.papers} joint papers"
            thick, style = (0.8, "joint many") if many else (min(1.2 + log2(pair.papers), 6.0), "joint")
            curves.append(Curve(bend(one, middle, other), style, round(thick, 1), title=title))
            if len(self.lines) <= NUMBERED:
                x, y = ((one[n] + 2 * middle[n] + other[n]) / 4 for n in (0, 1))
                texts += lines([str(pair.papers)], x, y, "count", "middle")
        for pair in self.asked:
            if pair.one not in place or pair.other not in place:
                continue
            middle = drawn_to(centre, place[pair.one], place[pair.other], 0.1)
            tip = towards(place[pair.other], middle, PERSON_RADIUS + 2)
            title = f"{pair.one} asked {pair.other}"
            curves.append(Curve(bend(place[pair.one], middle, tip), "asked", title=title))
            curves.append(Curve(arrowhead(tip, middle), "tip"))
        nodes = [
            Node(
                *place[person.name], PERSON_RADIUS + (3 if person.standing == "leader" else 0), person.mark,
                person.standing, person.hue, f"{person.name}: {person.note or 'member'}",
            )
            for person in self.drawn
        ]  # fmt: skip
        nodes += [Node(one.x, one.y, one.radius + 4, style="human") for one, person in zip(nodes, self.drawn, strict=True) if person.human]  # fmt: skip
        for person, node in zip(self.drawn, nodes, strict=False):
            texts += _label(person, node, width)
        return SvgDrawing(width, height, curves, nodes, texts)


def _ring(count: int, width: float, row: float) -> tuple[list[Point], float]:
    """Places on a ring, the first at the top, the others down its two sides in turn, and the height of the picture.

    A side has rows of equal height, so that no label covers another, however many there are.
    """
    across = width * (0.24 if width >= NARROW else 0.18)
    rows = ceil((count - 1) / 2)
    tall, top = max(rows * row, 1.6 * across), PERSON_RADIUS + 2.6 * LINE
    places: list[Point] = [(width / 2, top)]
    for n in range(count - 1):
        side, part = (-1 if n % 2 else 1), (n // 2 + 0.5) / rows
        x = width / 2 + side * across * sqrt(1 - (2 * part - 1) ** 2)
        places.append((round(x, 1), round(top + PERSON_RADIUS + part * tall, 1)))
    return places, round(places[-1][1] + 2 * LINE, 1)


def _label(person: PicturePerson, node: Node, width: float) -> list[Label]:
    """Name and note beside the node, on the outside of the ring; above it for the leader."""
    side = 0 if person.standing == "leader" else 1 if node.x >= width / 2 else -1
    x = node.x + side * (node.radius + 6)
    room = width if not side else width - x if side > 0 else x
    cut = partial(wrapped, most=int((room - 4) / LETTER))
    name, note = cut(person.name, count=1 if width >= NARROW else 2), cut(person.note, count=1)
    anchor = {0: "middle", 1: "start", -1: "end"}[side]
    y = node.y if side else node.y - node.radius - LINE * len(name + note) / 2 - 2
    return with_note(name, note, x, y, anchor=anchor)
