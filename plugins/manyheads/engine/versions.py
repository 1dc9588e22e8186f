"""The versions that begin and resume a run, and its start date."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from platform import python_version

from manyheads import __version__
from manyheads.config.hosts import hosts
from manyheads.core.events import MadeBy
from manyheads.engine.journal import DAMAGES, Journal


class Starts:
    """The starts of a run, from its journal.

    Attributes:
        made_by: the versions of this start, with the date of the first.
    """

    def __init__(self, journal: Journal, host: str) -> None:
        self._journal, self._before = journal, list[MadeBy]()
        with suppress(*DAMAGES):
            self._before += [MadeBy.model_validate(each) for each in journal.fact("versions")["starts"]]
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        self.made_by = MadeBy(
            manyheads=__version__,
            host=host,
            host_version=known.version if (known := hosts().get(host)) else None,
            python=python_version(),
            at=self._before[0].at if self._before else now,
        )
        if not journal.turns:
            self.keep()

    def warnings(self) -> Iterator[str]:
        """One sentence if an earlier start used another version of manyheads or of the same host."""
        now = self.made_by
        for each in self._before:
            other_host = each.host == now.host and each.host_version != now.host_version
            if each.manyheads != now.manyheads or other_host:
                yield f"this run began with {each} and is resumed with {now}"
                return

    def keep(self) -> None:
        """Record this start in the journal."""
        if self.made_by not in self._before:
            self._before.append(self.made_by)
            self._journal.state("versions", {"starts": [each.model_dump() for each in self._before]})
