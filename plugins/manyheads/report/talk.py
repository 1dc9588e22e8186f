"""The discussion by turns: replies, outside scientists, decisions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from manyheads.config import PERSON
from manyheads.core import ToolCall
from manyheads.core.events import Invited, Judged, Retrieved, Said
from manyheads.core.results import ScoredIdea
from manyheads.report.record import Record, count

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
