"""The picture of questions and answers: a line for each speaker, an arrow for each question and for its answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from manyheads.report.drawing import NARROW, Bar, Curve, Drawing, Node, Text, arrowhead, in_sizes, lines
from manyheads.report.lettering import LETTER, LINE, wrapped

MOST = 40
"""Questions in the picture; the list beside it has all."""
RADIUS, NOTE = 13.0, 6.0
"""Of a speaker's circle, and the width of a letter of a name."""


@dataclass(frozen=True)
class Speaker:
    """Someone with a line in the picture, by the name that questions have."""

    name: str
    mark: str
    hue: int


@dataclass(frozen=True)
class Message:
    """A question of the first speaker to another."""

    to: str
    text: str
    note: str = ""
    answered: bool = True


@dataclass(frozen=True)
class Exchanges:
    """Questions in the order of time; the first speaker asks them all."""

    speakers: Sequence[Speaker]
    messages: Sequence[Message]

    @property
    def drawings(self) -> list[tuple[str, Drawing]]:
        return in_sizes(self._draw)

    @cached_property
    def shown(self) -> Sequence[Message]:
        return self.messages[:MOST]

    def _draw(self, width: float) -> Drawing:
        slim = width < NARROW
        part = width * (0.45 if slim else 0.38)
        step = part / len(self.speakers)
        at = {speaker.name: round(step * (n + 0.5), 1) for n, speaker in enumerate(self.speakers)}
        radius = min(RADIUS, step / 2 - 1)
        start, room = at[self.speakers[0].name], int((width - part - 6) / LETTER)
        nodes = [
            Node(at[each.name], RADIUS + LINE + 4, radius, each.mark, "speaker", each.hue, each.name)
            for each in self.speakers
        ]
        texts = [
            text
            for each in self.speakers
            for name in wrapped(each.name, max(int(step / NOTE), 3), 1)
            for text in lines([name], at[each.name], LINE / 2, "note", "middle")
        ]
        curves, y = list[Curve](), 2 * RADIUS + LINE + 14
        top = y - 10
        for message in self.shown:
            question = wrapped(message.text, room, 2)
            note = wrapped(message.note, room, 1)
            height = max(len(question + note) * LINE, 30.0) + 8
            middle, end = y + height / 2, at[message.to]
            rows = lines([*question, *note], part + 4, middle)
            texts += rows[: len(question)]
            texts += [Text(row.x, row.y, row.text, "note") for row in rows[len(question) :]]
            curves += _arrow(start, end - 3, middle - 6, "line")
            if message.answered:
                curves += _arrow(end, start + 3, middle + 7, "answer")
            else:
                cross = f"M{end - 5:.1f} {middle + 2:.1f}l10 10m0 -10l-10 10"
                curves.append(Curve(cross, "failed", 2))
            y += height
        bars = [Bar(round(x - 0.5, 1), top, 1, round(y - top, 1), "rule") for x in at.values()]
        return Drawing(width, round(y + 4, 1), curves, nodes, texts, bars)


def _arrow(start: float, end: float, y: float, style: str) -> list[Curve]:
    path = f"M{start:.1f} {y:.1f}H{end:.1f}"
    return [Curve(path, style), Curve(arrowhead((end, y), (start, y), 6), f"head {style}")]
