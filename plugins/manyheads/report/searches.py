"""The search ledger as the report shows it: what was wanted, and how each source answered."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from manyheads.events import Searched
from manyheads.literature.ledger import LEDGER, SearchLedger
from manyheads.report.folder import Record

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
class Wanted:
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

    wanted: tuple[Wanted, ...] = ()
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


def _grouped(entries: Iterable[Searched]) -> tuple[Wanted, ...]:
    groups: dict[tuple[str, str], list[Searched]] = {}
    for entry in entries:
        groups.setdefault((entry.operation, entry.query), []).append(entry)
    return tuple(Wanted(operation, query, tuple(found)) for (operation, query), found in groups.items())
