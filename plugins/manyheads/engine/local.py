"""Jobs as runs of this process."""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from manyheads.base.errors import BudgetError, BugError, HeldError, UserError
from manyheads.base.folders import door
from manyheads.config import ModelConfig
from manyheads.core import Meter
from manyheads.core.events import AnyEvent
from manyheads.engine.budget import Shared
from manyheads.engine.jobs import Failure, Job, ended_at
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
    """

    factory: Callable[[str], HostFactory]
    shared: Shared
    accept_changes: bool = False
    again: str | None = None

    async def __call__(self, job: Job, meter: Meter, note: Callable[[AnyEvent], None]) -> Failure | None:
        before = ended_at(job)

        def need_unfinished() -> None:
            if ended_at(job) not in (None, before):
                raise HeldError(f"{job.folder}: finished by another process")

        def settle(model: ModelConfig) -> ModelConfig:
            known = self.shared.first_known(key_of_server(model), abilities_of(model).model_dump_json())
            return settled(model, Abilities.model_validate_json(known))

        models = {alias: settle(model) for alias, model in job.config.models.items()}
        session = Session(
            job.config.model_copy(update={"models": models}), job.folder, self.accept_changes, self.again, meter,
            settle=lambda model: model, locked=need_unfinished,
        )  # fmt: skip
        try:
            with door(job.folder):
                async with aclosing(session.events(self.factory(job.config.host))) as events:
                    async for event in events:
                        note(event)
        except HeldError:
            raise
        except (BudgetError, BugError) as error:  # it says nothing of other runs
            error.hint = error.hint or (None if self.again else session.way_back)
            return Failure(str(error))
        except UserError as error:
            return Failure(str(error), error.message)
        return None
