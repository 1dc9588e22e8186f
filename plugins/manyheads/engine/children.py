"""Runs below the folder of another run: jobs of the command's engine, paid from that run's budget."""

import shlex
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial

from manyheads.base.errors import ModelError
from manyheads.config import RunConfig
from manyheads.core import Charge, Meter
from manyheads.core.events import AnyEvent
from manyheads.engine.jobs import Failure, Job, JobNews, Scheduler
from manyheads.engine.local import BELOW, ENGINE, Process
from manyheads.engine.session import HostFactory
from manyheads.team.run import Run


def _the_same(make_host: HostFactory, host: str) -> HostFactory:
    """The factory of a run's host, for all below it: for a worker, it must hold nothing else of the run."""
    return make_host


async def run_below(
    run: Run, configs: Mapping[str, RunConfig], ended: Callable[[str, Failure | None], None]
) -> dict[str, Failure]:
    """Finish runs in folders below a run's own, each named by its key; finished ones are kept.

    Args:
        ended: called as each ends, with its failure.

    Returns:
        The failures by key.

    Raises:
        BudgetError: the run's budget, which is theirs too, is spent.
        ModelError: they failed for one reason, so that some were not tried.
    """
    below, folder = run.below, run.folder
    assert below
    assert folder
    budget, engine, untried = below.budget, ENGINE.get(Process(BELOW)), list[Failure]()
    jobs = {key: Job(key, folder / key, each, key, group=key) for key, each in configs.items()}
    assert budget.shared
    again = f"manyheads resume {shlex.quote(str(folder))}"
    factory = partial(_the_same, below.make_host)
    execute = engine.executor(factory, budget.shared, below.accept_changes, again)

    def listen(news: JobNews) -> None:
        if news.state == "left out" and news.failure:
            untried.append(news.failure)
        if news.state in ("kept", "finished", "failed"):
            ended(news.job.key, news.failure)

    async def metered(job: Job, meter: Meter, note: Callable[[AnyEvent], None]) -> Failure | None:
        @asynccontextmanager
        async def both(charge: Charge) -> AsyncGenerator[None]:
            async with below.meter(charge), meter(charge):
                yield

        return await execute(job, both, note)

    below.go_live()
    failures = await Scheduler(metered, budget, listen, at_once=engine.at_once).run(jobs)
    if failures and (refusal := budget.refusal()):
        raise refusal
    if untried:
        raise ModelError(f"{untried[0]}", hint="resume the run: they are tried again")
    return failures
