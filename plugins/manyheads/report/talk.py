"""The discussion by turns: replies, outside scientists, decisions; and the differences of two texts."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from manyheads.base.text import count
from manyheads.config import PERSON
from manyheads.core import ToolCall
from manyheads.core.events import Invited, Judged, Retrieved, Said
from manyheads.core.results import ScoredIdea
from manyheads.report.record import Record

LONGEST = 3000
"""Maximum words of a text to compare word by word, which takes quadratic time."""

LONG, BESIDE = 120, 30
"""Unchanged words in a row that make a gap, and words kept on either side of it."""


Opcode = tuple[str, int, int, int, int]


class Piece(NamedTuple):
    """A stretch of text that was kept, added or removed; a `gap` was kept, and is not shown."""

    kind: Literal["same", "ins", "del", "gap"]
    text: str


def word_diff(old: str, new: str) -> list[Piece]:
    """The differences of `old` and `new`; without `ins` they read as `old`, without `del` as `new`, up to white space.

    Kept words between two changes, no longer than either, count as changed: fragments are hard to read.
    """
    a, b = _words(old), _words(new)
    if max(len(a), len(b)) > LONGEST:
        codes: list[Opcode] = [("equal" if a == b else "replace", 0, len(a), 0, len(b))]
    else:
        plain = ([word.rstrip() for word in a], [word.rstrip() for word in b])
        codes = list[Opcode](SequenceMatcher(None, *plain, autojunk=False).get_opcodes())
    pieces: list[Piece] = []
    for tag, i, j, k, m in _smooth(codes):
        if tag == "equal":
            pieces.append(Piece("same", "".join(b[k:m])))
        else:
            changes = (Piece("del", "".join(a[i:j])), Piece("ins", "".join(b[k:m])))
            pieces += [piece for piece in changes if piece.text]
    return pieces


def shortened(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with a gap in each long unchanged stretch; the words next to a change are kept."""
    shown: list[Piece] = []
    for number, piece in enumerate(pieces):
        words = _words(piece.text) if piece.kind == "same" else []
        if len(words) <= LONG:
            shown.append(piece)
            continue
        # The beginning is kept too: it identifies the text.
        end = len(words) - BESIDE * (number < len(pieces) - 1)
        first, rest, last = words[:BESIDE], words[BESIDE:end], words[end:]
        shown += [Piece("same", "".join(first)), Piece("gap", "".join(rest))]
        shown += [Piece("same", "".join(last))] * bool(last)
    return shown


def changed_words(pieces: Sequence[Piece]) -> tuple[int, int]:
    """Numbers of added and removed words."""
    came, went = (sum(len(p.text.split()) for p in pieces if p.kind == kind) for kind in ("ins", "del"))
    return came, went


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|^\s+", text)


def _smooth(codes: list[Opcode]) -> list[Opcode]:
    """Opcodes with adjacent changes merged, and unchanged stretches between them that are too short to read."""
    smooth: list[Opcode] = []
    for code in codes:
        smooth.append(code)
        while len(smooth) > 2:
            before, stayed, after = smooth[-3:]
            length, *others = (max(each[2] - each[1], each[4] - each[3]) for each in (stayed, before, after))
            tags = [each[0] == "equal" for each in (before, stayed, after)]
            if tags != [False, True, False] or not (length < 2 or length <= min(others)):
                break
            smooth[-3:] = [("replace", before[1], after[2], before[3], after[4])]
    return smooth


STANCES = {
    "agree": ("agrees", "does not agree yet"),
    "stay": ("stays", "leaves"),
    "another_turn": ("wants another turn", "closes the stage"),
    "accept": ("joins", "declines"),
    "approve": ("approves the idea", "does not approve it yet"),
    "done": ("calls it finished", "sees more to do"),
}
"""Yes-or-no replies in words, by field."""

HEADINGS = {"agree": "Does the team agree?", "rationale": "The topic", "stay": "Who stays?"}
"""Headings of parts of a stage that are not turns, by a field of their replies."""

Numbers = dict[tuple[str, int, str], int]
"""Idea numbers by author, turn and title."""


@dataclass
class Line:
    """One contribution.

    Attributes:
        kind: `said`, `guest` (an exchange with an outside scientist), `looked` (references), `judged`.
        speaker: for `judged`, the subject of the decision.
        text: for a guest the advice, empty while it is awaited.
        by, question: for a guest, who asked and what.
        note: a stance, or the outcome of a decision.
        favours: the topic that the speaker favours.
        idea: number of the proposed idea, 0 for none.
        titles: of the references looked up.
        person: whether a person said it.
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
    person: bool = False
    tools: tuple[ToolCall, ...] = ()


@dataclass
class Round:
    """A turn of a stage, or a question at its end under a `title`: its lines in order, and the leader's summary."""

    turn: int
    title: str = ""
    lines: list[Line] = field(default_factory=list[Line])
    summary: Line | None = None

    @property
    def counts(self) -> str:
        """Numbers of folded contributions, in words."""
        said = "answer" if self.title else "contribution"
        words = {"said": said, "guest": "guest", "looked": "look-up", "judged": "decision"}
        kinds = Counter(line.kind for line in self.lines)
        return ", ".join(count(kinds[kind], word) for kind, word in words.items() if kinds[kind])


def rounds(record: Record, stage: str, ideas: Sequence[ScoredIdea] = ()) -> list[Round]:
    """The turns of a stage in order; events without a turn belong to the current one.

    Look-ups are left out if the ideas list their references themselves.
    """
    cited = any(idea.references for idea in ideas)
    numbers = {(idea.by, idea.turn, idea.title): idea.number for idea in ideas}
    rounds: list[Round] = []
    for event in record.events:
        if event.stage != stage or not isinstance(event, Said | Invited | Retrieved | Judged):
            continue
        if cited and isinstance(event, Retrieved):
            continue
        data = event.data if isinstance(event, Said) and event.part != "guest" else {}
        title = next((title for key, title in HEADINGS.items() if key in data), "")
        # Decisions, and events without a turn, belong to the current turn.
        if (
            not rounds
            or event.turn not in (0, rounds[-1].turn)
            or (isinstance(event, Said) and title != rounds[-1].title)
        ):
            rounds.append(Round(event.turn, title))
        _hear(rounds[-1], event, numbers)
    # A reply from the journal calls no guest again: the advice is in the tool call of the one who asked.
    for held in rounds:
        calls = [call for line in held.lines for call in line.tools if not call.failed]
        for line in held.lines:
            if line.kind == "guest" and not line.text:
                line.text = next((c.result for c in calls if c.arguments.get("name") == line.speaker), "")
    return rounds


def guests(record: Record, stage: str) -> list[tuple[int, Line]]:
    """The exchanges with outside scientists in a stage, with their turns."""
    held = rounds(record, stage)
    return [(each.turn, line) for each in held for line in each.lines if line.kind == "guest"]


def _hear(held: Round, event: Said | Invited | Retrieved | Judged, numbers: Numbers) -> None:
    match event:
        case Invited():
            line = _guest(held.lines, event.guest, "question")
            line.by, line.question = event.by, event.question
        case Said(part="guest"):
            line = _guest(held.lines, event.speaker, "text")
            line.text, line.model, line.person = event.text, event.model, event.by_person
        case Said() if "summary" in event.data or "rationale" in event.data:
            held.summary = _said(event, numbers)
        case Said():
            held.lines.append(_said(event, numbers))
        case Retrieved():
            titles = tuple(str(hit.get("title", "")) for hit in event.hits)
            held.lines += [Line("looked", "", event.query, titles=titles)] * bool(titles)
        case Judged():
            held.lines.append(Line("judged", event.subject, event.reasoning, note=event.outcome))


def _guest(lines: list[Line], name: str, half: str) -> Line:
    """The guest's line that lacks this half of the exchange, or a new one; either half may come first."""
    for line in lines:
        if line.kind == "guest" and line.speaker == name and not getattr(line, half):
            return line
    lines.append(Line("guest", name))
    return lines[-1]


def _said(said: Said, numbers: Numbers) -> Line:
    data = said.data
    topic = [str(data[key]) for key in ("topic", "rationale")] if "rationale" in data else []
    return Line(
        "said",
        said.speaker,
        "\n\n".join(topic) or (said.text if said.part == PERSON else str(data.get("remark") or said.text)),
        note=next((words[0 if data[key] else 1] for key, words in STANCES.items() if key in data), ""),
        favours=str(data.get("topic", "")) if "remark" in data else "",
        idea=numbers.get((said.speaker, said.turn, str(data.get("title", ""))), 0),
        model=said.model,
        person=said.by_person,
        tools=said.tool_calls,
    )
