"""The discussion as a reader follows it: turns, in each what was said, who was asked from outside, what was decided."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from manyheads.core import AnyEvent, Invited, Judged, Retrieved, Said, ToolCall
from manyheads.report.folder import Record
from manyheads.report.outcome import Idea

STANCES = {
    "agree": ("agrees", "does not agree yet"),
    "stay": ("stays", "leaves"),
    "another_turn": ("wants another turn", "closes the stage"),
    "accept": ("joins", "declines"),
}
"""Yes-or-no replies in words, by the field that holds them."""

Numbers = dict[tuple[int, str], int]
"""The number of an idea by the turn it was put forward in and its title."""


@dataclass
class Line:
    """One contribution.

    Attributes:
        kind: `said`, `guest` (an exchange with an outside scientist), `looked` (references), `judged`.
        speaker: who speaks; for `judged` what was decided on.
        text: what was said; for a guest the advice, empty while it is awaited.
        by, question: for a guest, who asked and what.
        note: a stance, or the outcome of a decision.
        favours: the topic that the speaker favours.
        idea: number of the idea that was put forward, 0 for none.
        titles: of the references looked up.
    """

    kind: str
    speaker: str
    text: str = ""
    by: str = ""
    question: str = ""
    note: str = ""
    favours: str = ""
    idea: int = 0
    titles: tuple[str, ...] = ()
    model: str = ""
    tools: tuple[ToolCall, ...] = ()


@dataclass
class Round:
    """A turn of a stage: its lines in order, and the leader's summary of it."""

    turn: int
    lines: list[Line] = field(default_factory=list[Line])
    summary: Line | None = None

    @property
    def counts(self) -> str:
        """What folds away under the turn, in words."""
        kinds = [line.kind for line in self.lines]
        words = {"said": "contribution", "guest": "guest", "looked": "look-up", "judged": "decision"}
        parts = [(kinds.count(kind), word) for kind, word in words.items()]
        return ", ".join(f"{n} {word}{'s' * (n > 1)}" for n, word in parts if n)


def rounds(record: Record, stage: str, ideas: Iterable[Idea] = ()) -> list[Round]:
    """The turns of a stage in the order they were held; a discussion that started over has its numbers twice."""
    numbers = {(idea.turn, idea.title): idea.number for idea in ideas}
    events = [event for event in record.events if event.stage == stage]
    found = [_round(turn, group, numbers) for turn, group in groupby(events, key=lambda event: event.turn)]
    return [r for r in found if r.lines or r.summary]


def guests(record: Record, stage: str) -> list[tuple[int, Line]]:
    """The exchanges with outside scientists in a stage, each with its turn."""
    return [(r.turn, line) for r in rounds(record, stage) for line in r.lines if line.kind == "guest"]


def _round(turn: int, events: Iterable[AnyEvent], numbers: Numbers) -> Round:
    held = Round(turn)
    for event in events:
        if isinstance(event, Said) and event.part == "guest":
            _answer(held.lines, event)
        elif isinstance(event, Said) and "summary" in event.data:
            held.summary = _said(event, numbers)
        else:
            held.lines += _lines(event, numbers)
    return held


def _lines(event: AnyEvent, numbers: Numbers) -> Iterator[Line]:
    match event:
        case Said():
            yield _said(event, numbers)
        case Invited():
            yield Line("guest", event.guest, by=event.by, question=event.question)
        case Retrieved() if event.hits:
            yield Line("looked", "", event.query, titles=tuple(str(hit.get("title", "")) for hit in event.hits))
        case Judged():
            yield Line("judged", event.subject, event.reasoning, note=event.outcome)
        case _:
            return


def _said(said: Said, numbers: Numbers) -> Line:
    stance = [words[0 if said.data[key] else 1] for key, words in STANCES.items() if key in said.data]
    """An idea stands in the report as a card; beside it only the thought that led to it is told."""
    idea = numbers.get((said.turn, str(said.data.get("title", ""))), 0)
    return Line(
        "said",
        said.speaker,
        str(said.data.get("thought", "")) if idea else said.text,
        note=stance[0] if stance else "",
        favours=str(said.data.get("topic", "")) if "remark" in said.data else "",
        idea=idea,
        model=said.model,
        tools=said.tool_calls,
    )


def _answer(lines: list[Line], said: Said) -> None:
    """Put a guest's answer to the question that awaits it."""
    for line in reversed(lines):
        if line.kind == "guest" and line.speaker == said.speaker and not line.text:
            line.text, line.model = said.text, said.model
            return
    lines.append(Line("guest", said.speaker, said.text, model=said.model))
