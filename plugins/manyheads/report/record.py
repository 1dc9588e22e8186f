"""What a run folder holds for a reader: events, result and config, as far as the run has come."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter

from manyheads.config import read_yaml
from manyheads.core import NOTHING, Tally
from manyheads.core.events import AnyEvent, Event, Said, Searched, Warned
from manyheads.core.results import FOLDERS, FORMAT, RESULT, RunResult, RunUsage, parse_result, result_data
from manyheads.errors import JournalError
from manyheads.literature.ledger import LEDGER, SearchLedger
from manyheads.models.offline import OFFLINE
from manyheads.texts import count as count

E = TypeVar("E", bound=Event)
EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
_BEGUN: Mapping[str, Any] = {
    "format": FORMAT, "system": "", "seed": 0, "corpus": "", "models": {}, "written_by_language_model": False,
    "finished": False, "usage": {}, "result": {},
}  # fmt: skip
"""The result of a run that has left none."""


@dataclass(frozen=True)
class Record:
    """A run as its folder tells it.

    Attributes:
        folder: the run folder.
        events: in the order they happened.
        result: what it has come to, finished or not.
        config: the resolved config as data, `config_text` as it is written.
        unread: numbers of the lines of `events.jsonl` that no event could be read from.
        seconds: wall time up to the last event.
    """

    folder: Path
    result: RunResult[Any]
    events: tuple[AnyEvent, ...] = ()
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    config_text: str = ""
    unread: tuple[int, ...] = ()
    seconds: float = 0.0

    def typed(self, kind: type[BaseModel]) -> "Record":
        """The same with what its system came to; raises `SubjectError` where `result.json` does not hold that."""
        return replace(self, result=parse_result(self.result.model_dump(), kind, self.folder))

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

    def unwritten(self) -> frozenset[str]:
        """The labels of those that spoke in the run and are no language model of this run."""
        return frozenset(
            label for label, provider in self.models().items() if provider in ("offline", "replay")
        )


def _provider(label: str, providers: dict[str, str], replays: bool) -> str:
    """The provider behind a reply's model. A replayed reply bears the name of the model that once wrote it."""
    if label == OFFLINE:
        return OFFLINE
    return providers.get(label) or providers.get(label.partition("/")[2]) or ("replay" if replays else "")


def read_run(folder: Path) -> Record:
    """Read a run folder; what its system came to is data as yet, see `Record.typed`.

    A line that a kill has cut is left out and counted in `unread`.

    Raises:
        JournalError: there is no `events.jsonl`, or a file cannot be read.
        SubjectError: `result.json` is not what a run writes.
    """
    lines = _text(folder / "events.jsonl").split("\n")
    read = [_line(line) for line in lines]
    unread = tuple(number for number, row in enumerate(read, 1) if row is None and lines[number - 1].strip())
    rows = [row for row in read if row is not None]
    path = folder / "config.yaml"
    config = read_yaml(path) if path.is_file() else {}
    if (folder / RESULT).is_file():
        data = result_data(folder, unfinished=True)
    elif "system" in config:
        data = {**_BEGUN, **{key: config[key] for key in _BEGUN if key in config and key != "models"}}
    else:
        raise JournalError(f"{folder}: no run folder (it has neither {RESULT} nor {path.name})", hint=FOLDERS)
    result: RunResult[Any] = parse_result(data, cast(Any, Any), folder)
    record = Record(
        folder=folder,
        events=tuple(event for event, _ in rows),
        result=result,
        config=_flat(config),
        config_text=_text(path) if path.is_file() else "",
        unread=unread,
        seconds=max((seconds for _, seconds in rows), default=0.0),
    )
    return replace(record, result=_up_to_date(record))


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    """A config with its system's section and inputs among the keys of every run."""
    name = str(config.get("system", ""))
    own = {**(config.get(name) or {}), **(config.get("inputs") or {})}
    return {**config, **own, **({name: own} if own else {})}


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


def _up_to_date(record: Record) -> RunResult[Any]:
    """A result with what the events know better: of a killed run it is as old as the stage that was under way."""
    result, said = record.result, record.of(Said)
    known = {"host": result.host or str(record.config.get("host", ""))}
    spent = sum((each.usage for each in said), NOTHING)
    if result.finished or spent.calls <= result.usage.calls:
        return result.model_copy(update=known)
    by_stage = Tally()
    for each in said:
        by_stage.pay(each.stage, each.usage)
    known |= {
        "usage": RunUsage(**spent.model_dump(), by_stage=by_stage),
        "warnings": [each.message for each in record.of(Warned)],
        "written_by_language_model": not record.unwritten(),
    }
    return result.model_copy(update=known)


# The search ledger as the report shows it: what was wanted, and how each source answered.

_NAMES: Mapping[str, str] = {
    "local": "The corpus",
    "semantic_scholar": "Semantic Scholar",
    "openalex": "OpenAlex",
    "arxiv": "arXiv",
}


def source_name(key: str) -> str:
    """What a source of a config is called by everybody else."""
    return _NAMES.get(key, key)


@dataclass(frozen=True)
class LookUp:
    """One thing that was looked up, with every look-up that it took."""

    operation: str
    query: str
    searches: tuple[Searched, ...]

    @property
    def hits(self) -> int:
        """Papers that the sources gave, before the same ones were put together."""
        return sum(one.hits for one in self.searches)


@dataclass(frozen=True)
class Searches:
    """All look-ups of a run.

    Attributes:
        wanted: in the order in which they were first asked for.
        silent: sources that failed at something that they have not answered since.
    """

    wanted: tuple[LookUp, ...] = ()
    silent: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return sum(len(one.searches) for one in self.wanted)


def searches_of(record: Record) -> Searches:
    """The ledger of a run's folder; of a folder without one, what the events tell.

    Raises:
        JournalError: the ledger cannot be read.
    """
    path = record.folder / LEDGER
    ledger = SearchLedger(path if path.is_file() else None)
    for event in record.of(Searched) if not path.is_file() else ():
        ledger.note(event)
    return Searches(_grouped(ledger.entries), ledger.degraded)


def _grouped(entries: Iterable[Searched]) -> tuple[LookUp, ...]:
    groups: dict[tuple[str, str], list[Searched]] = {}
    for entry in entries:
        groups.setdefault((entry.operation, entry.query), []).append(entry)
    return tuple(LookUp(operation, query, tuple(found)) for (operation, query), found in groups.items())
