"""Where a run stands, counted from its events."""

from dataclasses import dataclass, field

from manyheads.core import NOTHING, Usage
from manyheads.core.events import AnyEvent, Asked, Began, Judged, Result, Said, Stage
from manyheads.core.results import currency_of


@dataclass
class Standing:
    """The state of a run, counted from its events."""

    stage: str = "Setting up"
    turns: int | None = None
    """Maximum of the stage."""
    number: int = 0
    total: int = 0
    turn: int = 0
    usage: Usage = NOTHING
    currency: str | None = None
    thinking: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """By speaker, the times at which unanswered questions were put, in seconds of the clock."""

    def note(self, event: AnyEvent, now: float) -> None:
        """Count an event that happened at `now`."""
        self.turn = event.turn or self.turn
        match event:
            case Began():
                self.currency = currency_of(event.prices)
            case Stage():
                self.stage, self.turns, self.turn = event.title, event.turns, 0
                self.number, self.total = event.number, event.total
                self.thinking.clear()
            case Asked():
                self.thinking.setdefault(event.speaker, []).append(now)
            case Said():
                self._answered(event.speaker)
                self.usage += event.usage
            case Judged():
                self._answered(event.subject)  # a judge without a usable ranking says nothing
            case Result():
                self.thinking.clear()
            case _:
                pass

    def _answered(self, speaker: str) -> None:
        waits = self.thinking.get(speaker, [])
        if len(waits) > 1:
            waits.pop(0)
        else:
            self.thinking.pop(speaker, None)
