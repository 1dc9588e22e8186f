"""The discussion as a reader follows it: turns, in each what was said, who was asked from outside, what was decided."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from manyheads.core import ToolCall
from manyheads.core.events import AnyEvent, Invited, Judged, Retrieved, Said
from manyheads.core.results import ScoredIdea
from manyheads.report.record import Record

STANCES = {
    "agree": ("agrees", "does not agree yet"),
    "stay": ("stays", "leaves"),
    "another_turn": ("wants another turn", "closes the stage"),
    "accept": ("joins", "declines"),
    "approve": ("approves the idea", "does not approve it yet"),
    "done": ("calls it finished", "sees more to do"),
}
"""Yes-or-no replies in words, by the field that holds them."""

HEADINGS = {"agree": "Does the team agree?", "rationale": "The topic", "stay": "Who stays?"}
"""What stands above a part of a stage that is no turn of talk, by a field of the replies in it."""

Numbers = dict[tuple[str, int, str], int]
"""The number of an idea by who put it forward, in which turn, under which title."""


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
    """A turn of a stage, or what is asked at its end under a `title`: its lines in order, and the leader's words on it."""

    turn: int
    title: str = ""
    lines: list[Line] = field(default_factory=list[Line])
    summary: Line | None = None

    @property
    def counts(self) -> str:
        """What folds away under the turn, in words."""
        kinds = [line.kind for line in self.lines]
        words = {
            "said": "answer" if self.title else "contribution",
            "guest": "guest",
            "looked": "look-up",
            "judged": "decision",
        }
        parts = [(kinds.count(kind), word) for kind, word in words.items()]
        return ", ".join(f"{n} {word}{'s' * (n > 1)}" for n, word in parts if n)


def rounds(record: Record, stage: str, ideas: Sequence[ScoredIdea] = ()) -> list[Round]:
    """The turns of a stage in the order they were held; what belongs to no turn stays with the one under way.

    Look-ups are left out where the ideas themselves name what was found.
    """
    cited = any(idea.references for idea in ideas)
    numbers = {(idea.by, idea.turn, idea.title): idea.number for idea in ideas}
    held: list[Round] = []
    for event in record.events:
        if event.stage != stage or not isinstance(event, Said | Invited | Retrieved | Judged):
            continue
        if cited and isinstance(event, Retrieved):
            continue
        if not held or _begins(event, held[-1]):
            held.append(Round(event.turn, _title(event)))
        _hear(held[-1], event, numbers)
    for one in held:
        _complete(one)
    return held


def guests(record: Record, stage: str) -> list[tuple[int, Line]]:
    """The exchanges with outside scientists in a stage, each with its turn."""
    turns: dict[int, Round] = {}
    for event in record.events:
        if event.stage == stage and isinstance(event, Said | Invited):
            _hear(turns.setdefault(event.turn, Round(event.turn)), event, {})
    for one in turns.values():
        _complete(one)
    return [(turn, line) for turn, one in turns.items() for line in one.lines if line.kind == "guest"]


def _title(event: AnyEvent) -> str:
    data = event.data if isinstance(event, Said) and event.part != "guest" else {}
    return next((title for key, title in HEADINGS.items() if key in data), "")


def _begins(event: AnyEvent, held: Round) -> bool:
    """Whether an event opens a new round; decisions and events without a turn belong to what is under way."""
    another = event.turn not in (0, held.turn)
    return another or (isinstance(event, Said) and _title(event) != held.title)


def _hear(held: Round, event: AnyEvent, numbers: Numbers) -> None:
    if isinstance(event, Invited):
        line = _guest(held.lines, event.guest, lambda line: not line.question)
        line.by, line.question = event.by, event.question
    elif isinstance(event, Said) and event.part == "guest":
        line = _guest(held.lines, event.speaker, lambda line: not line.text)
        line.text, line.model = event.text, event.model
    elif isinstance(event, Said) and ("summary" in event.data or "rationale" in event.data):
        held.summary = _said(event, numbers)
    else:
        held.lines += _lines(event, numbers)


def _guest(lines: list[Line], name: str, lacks: Callable[[Line], bool]) -> Line:
    """The guest's line that lacks the other half of the exchange, which may come first, or a new one."""
    for line in lines:
        if line.kind == "guest" and line.speaker == name and lacks(line):
            return line
    lines.append(Line("guest", name))
    return lines[-1]


def _complete(held: Round) -> None:
    """A reply out of the journal calls no guest again: their advice then stands in the asker's tool call."""
    calls = [call for line in held.lines for call in line.tools if not call.failed]
    for line in held.lines:
        if line.kind == "guest" and not line.text:
            line.text = next((c.result for c in calls if c.arguments.get("name") == line.speaker), "")


def _lines(event: AnyEvent, numbers: Numbers) -> Iterator[Line]:
    match event:
        case Said():
            yield _said(event, numbers)
        case Retrieved() if event.hits:
            titles = tuple(str(hit.get("title", "")) for hit in event.hits)
            yield Line("looked", "", event.query, titles=titles)
        case Judged():
            yield Line("judged", event.subject, event.reasoning, note=event.outcome)
        case _:
            return


def _said(said: Said, numbers: Numbers) -> Line:
    settled = [str(said.data[key]) for key in ("topic", "rationale")] if "rationale" in said.data else []
    stance = [words[0 if said.data[key] else 1] for key, words in STANCES.items() if key in said.data]
    idea = numbers.get((said.speaker, said.turn, str(said.data.get("title", ""))), 0)
    return Line(
        "said",
        said.speaker,
        "\n\n".join(settled) or str(said.data.get("remark") or said.text),
        note=stance[0] if stance else "",
        favours=str(said.data.get("topic", "")) if "remark" in said.data else "",
        idea=idea,
        model=said.model,
        tools=said.tool_calls,
    )
