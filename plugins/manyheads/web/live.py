"""A run as it happens: its events, read from its folder as they are written, and the stream of a live page."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from pydantic import ValidationError

from manyheads.base.files import opened
from manyheads.base.folders import EVENTS
from manyheads.core.events import AnyEvent, Began, Result, Said, Searched, Waiting, Warned, words
from manyheads.engine.tracing import RunStatus
from manyheads.report.drawing import hues
from manyheads.report.record import EVENT, read_event

WINDOW = 200
"""Events that a page shows at once."""
PAUSE = 0.3
"""Seconds between two looks at a run's events."""
PART = 50
"""Events that are sent between two looks."""
LOGS = 64
"""Maximum number of runs whose events are kept in mind."""
WARNINGS = 100
"""Warnings of a run that a page shows, of at most 600 characters each."""
LONGEST_LINE = 64_000_000
Place = tuple[str, int, str, str]


@dataclass(frozen=True)
class ShownEvent:
    """An event on a page: `number` counts all that are shown of the run, from 0."""

    number: int
    kind: str
    who: str
    does: str
    text: str
    model: str = ""
    said: bool = False
    turn: int = 0
    hue: int = 200


@dataclass
class Log:
    """The events of one run. Every page of the run shares it.

    Attributes:
        life: changes when the run is resumed, as this replaces the file.
        standing: stage, turn, who is thinking, spending.
        warnings: the last ones; `warned` counts all.
        waiting: requests to people, by place, that nobody has answered.
        seconds: time of the last event, from the beginning.
        speakers: who has spoken, in order; a candidate who only declines takes nobody's colour.
    """

    path: Path
    life: int = 0
    standing: RunStatus = field(default_factory=RunStatus)
    warnings: list[str] = field(default_factory=list[str])
    warned: int = 0
    began: Began | None = None
    waiting: dict[Place, dict[str, Any]] = field(default_factory=dict["Place", dict[str, Any]])
    seconds: float = 0.0
    speakers: dict[str, None] = field(default_factory=dict[str, None])
    _size: int = 0
    _places: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    _lock: Lock = field(default_factory=Lock)

    def update(self) -> "Log":
        """Read what was written since the last time. Lines that cannot be read are left out."""
        with self._lock:
            try:
                stat = self.path.stat()
            except OSError:
                return self
            if stat.st_ino != self.life or stat.st_size < self._size:
                fresh = Log(self.path, life=stat.st_ino)
                for name, value in vars(fresh).items():
                    if name != "_lock":
                        setattr(self, name, value)
            if stat.st_size > self._size:
                with suppress(OSError):  # no file, or gone meanwhile
                    self._read()
        return self

    def _read(self) -> None:
        with opened(self.path) as file:
            file.seek(self._size)
            for line in iter(lambda: file.readline(LONGEST_LINE), b""):
                if not line.endswith(b"\n"):
                    break  # it is being written
                if found := read_event(line):
                    event, at, _ = found
                    self.seconds = max(self.seconds, at)
                    self._note(event, len(line))
                self._size += len(line)

    def _note(self, event: AnyEvent, length: int) -> None:
        self.standing.note(event, self.seconds)
        match event:
            case Began():
                self.began = event
            case Warned():
                self.warned += 1
                self.warnings = [*self.warnings, event.message[:600]][-WARNINGS:]
            case Result():
                self.waiting = {}
            case Waiting():
                self.waiting[_place(event)] = event.model_dump(mode="json")
            case Said():
                self.waiting.pop(_place(event), None)
                if event.part != "candidate":
                    self.speakers.setdefault(event.speaker)
            case _:
                pass
        if _is_shown(event):
            self._places.append((self._size, length))

    def __len__(self) -> int:
        return len(self._places)

    def events(self, first: int, last: int) -> Iterator[ShownEvent]:
        with self._lock:
            places, colours = self._places[max(first, 0) : last], hues(self.speakers)
        if not places:
            return
        try:
            with self.path.open("rb") as file:
                for number, (start, length) in enumerate(places, max(first, 0)):
                    file.seek(start)
                    event = EVENT.validate_json(file.read(length))
                    told = words(event)
                    if told is not None:
                        yield ShownEvent(
                            number, event.kind, told.who, told.does, told.text,
                            model=event.model if isinstance(event, Said) else "",
                            said=isinstance(event, Said), turn=event.turn, hue=colours.get(told.who, 200),
                        )  # fmt: skip
        except (OSError, ValidationError):  # the run was resumed meanwhile
            return


def _place(event: Said | Waiting) -> Place:
    return event.stage, event.turn, event.speaker, event.task


def _is_shown(event: AnyEvent) -> bool:
    match event:
        case Searched():
            return not event.cached and event.outcome in ("found", "empty")  # the others are in the warnings
        case Warned():  # counted in the state, where they open
            return False
        case Said():  # a candidate's reply and a vote are shown by the event that follows
            return event.part != "candidate" and "choice" not in event.data
        case _:
            return words(event) is not None


class Logs:
    def __init__(self) -> None:
        self._logs, self._lock = OrderedDict[Path, Log](), Lock()

    def of(self, folder: Path) -> Log:
        with self._lock:
            log = self._logs.setdefault(folder, Log(folder / EVENTS))
            self._logs.move_to_end(folder)
            while len(self._logs) > LOGS:
                self._logs.popitem(last=False)
        return log.update()


class Look(NamedTuple):
    """What is new on a run's page.

    Attributes:
        turns: events as HTML, with their numbers.
        state: where the run stands, as HTML.
        life: of the log.
        live: whether more will happen.
    """

    turns: list[tuple[int, str]]
    state: str
    life: int
    live: bool


async def follow(
    look: Callable[[int], Look], life: int, first: int, over: Callable[[], bool] = lambda: False
) -> AsyncGenerator[dict[str, str]]:
    """The server-sent events of a run's page: `turn` for each event from `first` on, `state` when it changes.

    `again` says that the run was resumed, and the page must be loaded again; `done` that nothing more will happen.

    Args:
        look: what is new from an event's number on; at most `PART` events.
        over: whether the server ends.
    """
    before = ""
    while not over():
        new = await asyncio.to_thread(look, first)
        if new.life != life:
            yield {"event": "again", "data": ""}
            return
        for number, html in new.turns:
            yield {"event": "turn", "id": str(number + 1), "data": html}
            first = number + 1
        if new.state != before:
            before = new.state
            yield {"event": "state", "data": new.state}
        if len(new.turns) == PART:
            continue
        if not new.live:
            yield {"event": "done", "data": ""}
            return
        await asyncio.sleep(PAUSE)
