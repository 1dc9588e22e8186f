"""What every report shows, worked out beforehand: the templates only have to print."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from manyheads.core import Tally, Usage
from manyheads.core.events import Said, Stage
from manyheads.core.results import Evidence, RunResult
from manyheads.report.record import Record, Searches, searches_of


@dataclass(frozen=True)
class Share:
    """A row of the usage tables: `part` is its share of the tokens, 0 to 1."""

    name: str
    usage: Usage
    seconds: float
    part: float = 0.0


@dataclass(frozen=True)
class Page:
    """What a report has whatever was run."""

    record: Record
    stages: list[Share]
    speakers: list[Share]
    unwritten: frozenset[str]
    searches: Searches
    hues: dict[str, int]

    @classmethod
    def of(cls, record: Record, people: Iterable[str] = (), **more: Any) -> Self:
        """The page of a record; `people` take part, spoken or not."""
        said = record.of(Said)
        return cls(
            record=record,
            stages=stage_shares(record, said),
            speakers=speaker_shares(record.result, said),
            unwritten=record.unwritten(),
            searches=searches_of(record),
            hues=_hues(people, said),
            **more,
        )

    @property
    def finished(self) -> bool:
        return self.record.result.finished

    @property
    def mixed(self) -> bool:
        """Whether some texts were written by a language model and some were not."""
        return bool(self.unwritten) and len(self.unwritten) < len(self.record.models())

    @property
    def replayed(self) -> bool:
        """Whether nothing but an earlier run's record has spoken."""
        return set(self.record.models().values()) == {"replay"}

    def cited(self, ids: Iterable[str]) -> list[Evidence]:
        """The papers of these ids."""
        return self.record.result.cited(ids)


def stage_shares(record: Record, said: list[Said]) -> list[Share]:
    """Usage and model time of each stage, in the order of the run; what led to nothing comes last."""
    usage = record.result.usage
    spent = usage.by_stage
    begun = dict.fromkeys(event.stage for event in record.of(Stage))
    names = [*(name for name in begun if name in spent), *(name for name in spent if name not in begun)]
    titles = {stage.stage: stage.title for stage in reversed(record.of(Stage))}
    rows = [(titles.get(n, n), spent[n], sum(s.seconds for s in said if s.stage == n)) for n in names]
    if usage.unused.calls:
        rows.append(("led to nothing", usage.unused, 0))
    return _shares(rows)


def speaker_shares(result: RunResult[Any], said: list[Said]) -> list[Share]:
    """Usage and model time of each speaker, most tokens first; calls that no speech stands for come last."""
    usage = Tally()
    seconds: dict[str, float] = {}
    for s in said:
        usage.pay(s.speaker, s.usage)
        seconds[s.speaker] = seconds.get(s.speaker, 0.0) + s.seconds
    rows = [(name, used, seconds[name]) for name, used in usage.items()]
    rows.sort(key=lambda row: -row[1].tokens)
    rest = result.usage.beyond(usage.total)
    if rest.calls:
        rows.append(("not told apart", rest, 0))
    return _shares(rows)


def _shares(rows: list[tuple[str, Usage, float]]) -> list[Share]:
    total = sum(usage.tokens for _, usage, _ in rows) or 1
    return [Share(name, usage, seconds, usage.tokens / total) for name, usage, seconds in rows]


def _hues(people: Iterable[str], said: list[Said]) -> dict[str, int]:
    """A hue for each scientist, far from their neighbours': turns of the golden angle."""
    names = dict.fromkeys([*people, *(s.speaker for s in said)])
    return {name: int(n * 137.508 + 200) % 360 for n, name in enumerate(names)}
