"""The live view of a run on a terminal: events, and the state of the run below them."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from manyheads.base.text import first_few, plain
from manyheads.core.events import (
    AnyEvent,
    Invited,
    Judged,
    Recruited,
    Said,
    Searched,
    Stage,
    Voted,
    Warned,
    Words,
    words,
)
from manyheads.engine.tracing import RunStatus

NAMES_SHOWN = 6
SHOWN_BY_EVENTS = {"choice", "ranking"}
"""Fields of replies that other events show."""
STYLES = {"invited": "blue", "voted": "cyan", "judged": "bold"}


class LiveView:
    """Events scroll by, one line each, above the state of the run."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock, self._began = console, clock, clock()
        self._standing = RunStatus()
        self._held: list[AnyEvent] | None = None
        self._spinner = Spinner("dots", style="cyan")
        self.live = Live(
            console=console, get_renderable=self._view, refresh_per_second=8, transient=True,
            redirect_stdout=False,
        )  # fmt: skip

    @contextmanager
    def paused(self) -> Generator[None]:
        """Show nothing for a block; what happens meanwhile is shown after it."""
        self.live.stop()
        self._held = list[AnyEvent]()
        try:
            yield
        finally:
            held, self._held = self._held, None
            self.live.start()
            for event in held:
                self.show(event)

    def tell(self, line: str) -> None:
        self._console.print(Text(line))

    def show(self, event: AnyEvent) -> None:
        if self._held is not None:
            self._held.append(event)
            return
        self._standing.note(event, self._clock())
        if line := line_of(event, self._console.width):
            self._console.print(line, no_wrap=True, overflow="ellipsis", crop=True)

    def _view(self) -> Group:
        now, at = self._clock(), self._standing
        head = Text.assemble(
            (f" {at.number}/{at.total}" if at.total else "", "bold cyan"), (f" {at.stage}", "bold"),
            f"  turn {at.turn}" if at.turn else "",
        )  # fmt: skip
        if at.turn and at.turn <= (at.turns or 0):  # a restarted discussion counts on past its maximum
            head.append(f" of {at.turns}")
        waits = [
            f"{plain(name)}{f' ×{len(since)}' if len(since) > 1 else ''} {now - min(since):.0f} s"
            for name, since in at.thinking.items()
        ]
        thinking = f"{first_few(waits, NAMES_SHOWN)} thinking" if waits else ""
        rows = Table.grid(padding=(0, 1))
        rows.add_row(self._spinner, Text(thinking, overflow="ellipsis", no_wrap=True))
        minutes, seconds = divmod(int(now - self._began), 60)
        tokens = f"{at.usage.input_tokens:,} tokens in · {at.usage.output_tokens:,} out"
        figures = f" {minutes}:{seconds:02d} · {tokens} · {at.spending}"
        return Group(Text(), head, rows, Text(figures, style="dim"))


def line_of(event: AnyEvent, width: int = 100) -> Text | None:
    """An event in one line, or None if the view only counts it.

    Replies of candidates, guests, voters and judges are shown by the decision, invitation, vote or judgement that follows.
    """
    told = words(event)
    if told is None:
        return None
    match event:
        case Stage():
            return Text(f"\n{told.does}", style="bold cyan")
        case Warned():
            return Text(f"  warning: {plain(told.text)}", style="yellow")
        case Recruited():
            return _line(told, "green" if event.accepted else "magenta", width)
        case Searched() if not event.cached:
            return _line(told, "dim" if event.outcome in ("found", "empty") else "yellow", width)
        case Invited() | Voted() | Judged():
            return _line(told, STYLES[event.kind], width)
        case Said() if event.part not in ("candidate", "guest") and not event.data.keys() & SHOWN_BY_EVENTS:
            return _line(told, "dim", width)
        case _:
            return None


def _line(told: Words, style: str, width: int) -> Text:
    line = Text.assemble(
        "  ", (plain(told.who), "bold"), " ", (plain(told.does), style),
        "  ", (plain(told.text[: 2 * width]), "dim"),
    )  # fmt: skip
    line.truncate(width, overflow="ellipsis")
    return line
