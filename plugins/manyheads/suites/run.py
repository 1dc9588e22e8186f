"""The cells of a suite, run side by side; one that fails leaves the others alone."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from manyheads.config import RunConfig, load
from manyheads.errors import UserError
from manyheads.events import Stage
from manyheads.hosts import host_factory
from manyheads.resources import Resources
from manyheads.session import Session
from manyheads.suites.cells import Cell
from manyheads.suites.folder import SuiteFolder, finished

State: TypeAlias = Literal["kept", "began", "goes on", "finished", "failed"]
Tell: TypeAlias = Callable[[Cell, State, str], None]
"""Told of a cell, how it stands, and what there is to say of that: its stage, or its error."""
Failures: TypeAlias = dict[str, str]
"""By the cell's name, why it has no result."""


@dataclass(frozen=True)
class Runner:
    """Runs cells in the folder of their suite.

    Args:
        reviewed: whether what each cell wrote is reviewed too.
        jobs: cells at a time.
        accept_changes: whether cells that were stopped go on under another config or other prompts.
    """

    folder: SuiteFolder
    reviewed: bool
    jobs: int
    accept_changes: bool
    tell: Tell

    async def run(self, cells: Sequence[Cell]) -> Failures:
        """Run what is not finished; finished cells are left as they are, stopped ones go on by their journals."""
        places = asyncio.Semaphore(self.jobs)
        async with asyncio.TaskGroup() as group:
            tasks = {cell.name: group.create_task(self._cell(cell, places)) for cell in cells}
        return {name: error for name, task in tasks.items() if (error := task.result()) is not None}

    async def _cell(self, cell: Cell, places: asyncio.Semaphore) -> str | None:
        """Why it failed, if it did."""
        runs = self._runs(cell)
        if not runs:
            self.tell(cell, "kept", "")
            return None
        async with places:
            self.tell(cell, "began", "")
            try:
                for config, folder in runs:
                    await self._session(cell, Session(config, folder, self.accept_changes))
            except UserError as error:
                said = "; ".join(str(error).splitlines())
                self.tell(cell, "failed", said)
                return said
            self.tell(cell, "finished", "")
            return None

    def _runs(self, cell: Cell) -> list[tuple[RunConfig, Path]]:
        """What is to be run for a cell still: itself, and the review of it."""
        run, review = self.folder.of(cell), self.folder.review_of(cell)
        wanted = [(cell.config, run)]
        if self.reviewed:
            wanted.append((_review(cell.config, run), review))
        return [(config, folder) for config, folder in wanted if not finished(folder)]

    async def _session(self, cell: Cell, session: Session) -> None:
        async with aclosing(session.events(host_factory(session.config.host))) as events:
            async for event in events:
                if isinstance(event, Stage):
                    self.tell(cell, "goes on", f"{event.number}/{event.total} {event.title}")


def _review(config: RunConfig, run: Path) -> RunConfig:
    """A conference review of what a run wrote, by the same models on the same host, as the run's config wants it."""
    kept = ("host", "seed", "models", "roles", "paths", "attempts", "review", "budget")
    same = {key: getattr(config, key) for key in kept}
    form = load(["conference-review"], resources=Resources.of(config.paths))
    return form.model_copy(update={**same, "subject": str(run.resolve())})
