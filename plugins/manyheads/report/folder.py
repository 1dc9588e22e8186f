"""What a run folder holds for a reader: events, result and config, as far as the run has come."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

from manyheads.config import read_yaml
from manyheads.errors import JournalError
from manyheads.events import AnyEvent, Event, Said
from manyheads.models.offline import OFFLINE

E = TypeVar("E", bound=Event)
EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)


@dataclass(frozen=True)
class Record:
    """A run as its folder tells it.

    Attributes:
        folder: the run folder.
        events: in the order they happened.
        result: the content of `result.json`; None while the run is unfinished.
        config: the resolved config as data, `config_text` as it is written.
        unread: numbers of the lines of `events.jsonl` that no event could be read from.
        seconds: wall time up to the last event.
    """

    folder: Path
    events: tuple[AnyEvent, ...] = ()
    result: dict[str, Any] | None = None
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    config_text: str = ""
    unread: tuple[int, ...] = ()
    seconds: float = 0.0

    @property
    def system(self) -> str:
        """What was run."""
        return str((self.result or self.config).get("system", ""))

    def of(self, kind: type[E], *stages: str) -> list[E]:
        """The events of one kind, of some stages or of all."""
        return [e for e in self.events if isinstance(e, kind) and (not stages or e.stage in stages)]

    def models(self) -> dict[str, str]:
        """Each model that spoke, in the order of appearance, with its provider as far as the config tells."""
        configured = list(cast(dict[str, dict[str, Any]], self.config.get("models") or {}).values())
        providers = {str(model.get("name")): str(model.get("provider", "")) for model in configured}
        replays = "replay" in providers.values()
        labels = dict.fromkeys(said.model for said in self.of(Said) if said.model)
        return {label: _provider(label, providers, replays) for label in labels}


def _provider(label: str, providers: dict[str, str], replays: bool) -> str:
    """The provider behind a reply's model. A replayed reply bears the name of the model that once wrote it."""
    if label == OFFLINE:
        return OFFLINE
    return providers.get(label) or providers.get(label.partition("/")[2]) or ("replay" if replays else "")


def read_run(folder: Path) -> Record:
    """Read a run folder. A line that a kill has cut is left out and counted in `unread`.

    Raises:
        JournalError: there is no `events.jsonl`, or a file cannot be read.
    """
    lines = _text(folder / "events.jsonl").split("\n")
    read = [_line(line) for line in lines]
    unread = tuple(number for number, row in enumerate(read, 1) if row is None and lines[number - 1].strip())
    rows = [row for row in read if row is not None]
    config = folder / "config.yaml"
    return Record(
        folder=folder,
        events=tuple(event for event, _ in rows),
        result=_result(folder / "result.json"),
        config=read_yaml(config) if config.is_file() else {},
        config_text=_text(config) if config.is_file() else "",
        unread=unread,
        seconds=max((seconds for _, seconds in rows), default=0.0),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        hint = "give the folder of a run, such as runs/20260101-virsci"
        raise JournalError(f"{path}: {error.strerror}", hint=hint) from error


def _line(line: str) -> tuple[AnyEvent, float] | None:
    try:
        data = json.loads(line)
        at = data.get("at")  # of a look-up it is the day and hour, which its own event tells
        return EVENT.validate_python(data), float(at) if isinstance(at, int | float) else 0.0
    except (ValueError, TypeError, AttributeError):
        return None


def _result(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        data = json.loads(_text(path))
    except ValueError as error:
        raise JournalError(f"{path}: not valid JSON: {error}", hint="run `manyheads resume` again") from error
    if not isinstance(data, dict):
        raise JournalError(f"{path}: a result is a JSON object")
    return cast(dict[str, Any], data)
