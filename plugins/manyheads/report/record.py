"""A run folder as read for a report: events, result and config."""

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter

from manyheads.base.errors import JournalError
from manyheads.base.files import opened
from manyheads.config.files import read_yaml
from manyheads.core import Tally
from manyheads.core.events import AnyEvent, Began, Event, Said, Warned
from manyheads.core.results import RESULT, RunResult, RunUsage, read_result
from manyheads.models.offline import OFFLINE

E = TypeVar("E", bound=Event)
LONGEST = 1e9
"""Maximum plausible seconds of a run."""
EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
RANK = TypeAdapter(list[int])
LAST = [sys.maxsize]
"""The rank of an event without one, such as the result."""


@dataclass(frozen=True)
class Record:
    """A run read from its folder.

    Attributes:
        folder: the run folder.
        events: as they happened; those of concurrent branches in the order of the branches, see `core.Branch`.
        result: finished or not.
        config: the resolved config as data; `config_text` is the file.
        unread: numbers of unreadable lines of `events.jsonl`.
        seconds: wall time up to the last event.
    """

    folder: Path
    result: RunResult[Any]
    events: tuple[AnyEvent, ...] = ()
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    config_text: str = ""
    unread: tuple[int, ...] = ()
    seconds: float = 0.0

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def models(self) -> dict[str, str]:
        """Each model that spoke, in order, with its provider if the config has it."""
        models = section(self.config, "models")
        configured = [section(models, alias) for alias in models]
        providers = {str(model.get("name")): str(model.get("provider", "")) for model in configured}
        providers[OFFLINE] = OFFLINE
        # A replayed reply has the name of its original model.
        other = "replay" if "replay" in providers.values() else ""
        labels = dict.fromkeys(said.model for said in self.of(Said) if said.model)
        return {
            label: providers.get(label) or providers.get(label.partition("/")[2]) or other for label in labels
        }

    @property
    def date(self) -> str:
        """The day on which the run began, from the folder's name or its files; empty if unknown."""
        if self.result.made_by:
            return self.result.made_by.at[:10]
        if day := re.match(r"(\d{4})(\d\d)(\d\d)-\d{6}-", self.folder.name):
            return "-".join(day.groups())
        try:
            return f"{datetime.fromtimestamp((self.folder / 'events.jsonl').stat().st_mtime):%Y-%m-%d}"
        except OSError:
            return ""

    def unwritten(self) -> frozenset[str]:
        """Labels of speakers that are not language models of this run."""
        return frozenset(
            label for label, provider in self.models().items() if provider in (OFFLINE, "replay")
        )


def read_run(folder: Path, kind: type[BaseModel]) -> Record:
    """Read a run folder. Truncated lines are counted in `unread`.

    Args:
        kind: the result model of its system.

    Raises:
        JournalError: there is no `events.jsonl`, or a file cannot be read.
        SubjectError: `result.json` is invalid.
    """
    lines = _text(folder / "events.jsonl").split("\n")
    events = [read_event(line) for line in lines]
    path = folder / "config.yaml"
    config = read_yaml(path) if path.is_file() else {}
    name = str(config.get("system", ""))
    # The section and the inputs are among the common keys, too.
    own = {**section(config, name), **section(config, "inputs")}
    if (folder / RESULT).is_file():
        result = read_result(folder, kind, unfinished=True)
    else:
        result: RunResult[Any] = RunResult(
            system=name, seed=seed if isinstance(seed := config.get("seed"), int) else 0,
            corpus=str(config.get("corpus", "")), models={}, written_by_language_model=False, finished=False,
            usage=RunUsage(), result=kind(),
        )  # fmt: skip
    record = Record(
        folder, result,
        events=tuple(event[0] for event in sorted(filter(None, events), key=itemgetter(2))),
        config={**config, **own, **({name: own} if own else {})},
        config_text=_text(path) if path.is_file() else "",
        unread=tuple(n for n, event in enumerate(events, 1) if not event and lines[n - 1].strip()),
        seconds=max((event[1] for event in events if event), default=0.0),
    )  # fmt: skip
    return replace(record, result=_up_to_date(record))


def section(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The mapping at a key of a config file; empty if there is none, as in a truncated file."""
    part = config.get(key)
    return cast(Mapping[str, Any], part) if isinstance(part, Mapping) else {}


def _text(path: Path) -> str:
    try:
        with opened(path) as file:
            return file.read().decode(errors="replace")
    except OSError as error:
        hint = "give the folder of a run, such as runs/<time>-<name>"
        raise JournalError(f"{path}: {error.strerror}", hint=hint) from error


def read_event(line: str | bytes) -> tuple[AnyEvent, float, list[int]] | None:
    """An event, its time, and its rank; None for a line that is none."""
    try:
        data = json.loads(line)
        at = data.get("at")  # a look-up has its own time
        seconds = float(at) if isinstance(at, int | float) and 0 <= at < LONGEST else 0.0
        rank = data.get("rank")
        return EVENT.validate_python(data), seconds, RANK.validate_python(rank or LAST)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _up_to_date(record: Record) -> RunResult[Any]:
    """A result updated by events: in a killed run it is older than they are."""
    result, by_stage = record.result, Tally()
    changes: dict[str, Any] = {
        "host": result.host or str(record.config.get("host", "")),
        "made_by": result.made_by or next((each.made_by for each in record.of(Began)), None),
    }
    for said in record.of(Said):
        by_stage.pay(said.stage, said.usage)
    spent = by_stage.total
    if not result.finished and spent.calls > result.usage.calls:
        changes |= {
            "usage": RunUsage(**spent.model_dump(), by_stage=by_stage),
            "warnings": [each.message for each in record.of(Warned)],
            "written_by_language_model": not record.unwritten(),
        }
    return result.model_copy(update=changes)
