"""Jobs as runs of this process."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from manyheads.base.errors import BudgetError, BugError, HeldError, UserError
from manyheads.base.folders import door
from manyheads.config import ModelConfig, RunConfig
from manyheads.core import Meter
from manyheads.core.events import AnyEvent
from manyheads.engine.budget import Shared
from manyheads.engine.jobs import Executor, Failure, Job, ended_at
from manyheads.engine.journal import Journal
from manyheads.engine.session import HostFactory, Session
from manyheads.models.abilities import Abilities, abilities_of, key_of_server, settled


@dataclass(frozen=True)
class Local:
    """Runs jobs in this process.

    Args:
        factory: makes a host by name.
        shared: has the servers' abilities as known when the folder's first job began; all its jobs use them.
        accept_changes: whether stopped jobs resume with another config or other prompts.
        again: the command that resumes them, if not `manyheads resume`.
        journal: opens a job's journal.
    """

    factory: Callable[[str], HostFactory]
    shared: Shared
    accept_changes: bool = False
    again: str | None = None
    journal: Callable[[Path], Journal] = Journal

    async def __call__(self, job: Job, meter: Meter, note: Callable[[AnyEvent], None]) -> Failure | None:
        before = ended_at(job)

        def need_unfinished() -> None:
            if ended_at(job) not in (None, before):
                raise HeldError(f"{job.folder}: finished by another process")

        session = Session(
            with_first_known(job.config, self.shared), job.folder, self.accept_changes, self.again, meter,
            settle=lambda model: model, locked=need_unfinished, journal=self.journal,
        )  # fmt: skip
        return await failure_of(session, self.factory, note)


Work: TypeAlias = Callable[..., Awaitable[Any]]
"""A coroutine function of a module, called with a meter, a config and what else it needs. All that it takes and gives can be pickled."""


class Engine(Protocol):
    """Where jobs run."""

    @property
    def at_once(self) -> int:
        """Jobs at once."""
        ...

    def executor(
        self, factory: Callable[[str], HostFactory], shared: Shared, accept_changes: bool, again: str | None
    ) -> Executor:
        """Runs them; arguments as of `Local`."""
        ...

    async def call(self, work: Work, config: RunConfig, *arguments: Any, meter: Meter) -> Any:
        """The value of work that is no run, such as one question to a judge. Raises its `UserError`."""
        ...


@dataclass(frozen=True)
class Process:
    """This process, as an `Engine`; `journal` as of `Local`."""

    at_once: int
    journal: Callable[[Path], Journal] = Journal

    def executor(
        self, factory: Callable[[str], HostFactory], shared: Shared, accept_changes: bool, again: str | None
    ) -> Executor:
        return Local(factory, shared, accept_changes, again, self.journal)

    async def call(self, work: Work, config: RunConfig, *arguments: Any, meter: Meter) -> Any:
        return await work(meter, config, *arguments)


ENGINE: ContextVar[Engine] = ContextVar("ENGINE")
"""Where the runs below a run are jobs; this process, unless a command or a worker has set it."""
BELOW = 4
"""Such runs at once in one process."""


def with_first_known(config: RunConfig, shared: Shared) -> RunConfig:
    """A job's config with its servers' abilities as the folder's first job knew them."""

    def settle(model: ModelConfig) -> ModelConfig:
        known = shared.first_known(key_of_server(model), abilities_of(model).model_dump_json())
        return settled(model, Abilities.model_validate_json(known))

    return config.model_copy(
        update={"models": {alias: settle(model) for alias, model in config.models.items()}}
    )


async def failure_of(
    session: Session, factory: Callable[[str], HostFactory], note: Callable[[AnyEvent], None]
) -> Failure | None:
    """Run a job to its end; returns why it failed. Raises `HeldError`."""
    try:
        with door(session.folder):
            async with aclosing(session.events(factory(session.config.host))) as events:
                async for event in events:
                    note(event)
    except HeldError:
        raise
    except (BudgetError, BugError) as error:  # it says nothing of other runs
        error.hint = error.hint or (None if session.again else session.way_back)
        return Failure(str(error))
    except UserError as error:
        return Failure(str(error), error.message)
    return None
