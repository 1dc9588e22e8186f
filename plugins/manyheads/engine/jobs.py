"""Many runs: jobs side by side, each once and after those that it needs; one that fails leaves the others alone.

Processes that are started on one folder share its jobs, see `JobTable`. Each ends when every job has: here, elsewhere,
or not at all.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cache, partial
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from manyheads.config import ModelConfig, RunConfig
from manyheads.core import Meter
from manyheads.core.events import AnyEvent, Stage
from manyheads.core.results import RESULT, is_finished
from manyheads.engine.budget import JobMeter, JobsBudget
from manyheads.engine.jobtable import HEARTBEAT, Failure, JobTable, Standing
from manyheads.engine.session import HostFactory, Session
from manyheads.errors import BudgetError, UserError
from manyheads.models.abilities import Abilities, abilities_of, key_of_server, settled

__all__ = ["Executor", "Failure", "Job", "JobNews", "Listener", "Local", "Scheduler", "finished_jobs"]

POLL = 0.5
"""Seconds between two looks at jobs that other processes have."""
ENOUGH = 3
"""Failures in a row for one reason, after which the same is not tried again."""
ELSEWHERE = "by another process"


@dataclass(frozen=True)
class Job:
    """A run to be made.

    Attributes:
        key: what makes it the same job for all processes and starts.
        folder: its run folder.
        label: what it is called where it is told of.
        after: keys of the jobs that have to be finished before.
        kind: jobs of another kind may fail where these do not, such as a judge's.
        group: what it shares with jobs of its kind that are likely to fail with it.
    """

    key: str
    folder: Path
    config: RunConfig
    label: str
    after: tuple[str, ...] = ()
    kind: str = "run"
    group: str = ""


State: TypeAlias = Literal["kept", "began", "goes on", "finished", "lacks", "failed", "left out"]
"""What is left out is not begun: something that it needs has failed, or it would fail as others did. `lacks` is for
clients that miss something in a result."""


@dataclass(frozen=True)
class JobNews:
    """How a job stands now, and what there is to say of that: its stage, or its error.

    Attributes:
        event: of a job that goes on, what has happened.
        failure: of one that has failed or was left out.
    """

    job: Job
    state: State
    text: str = ""
    event: AnyEvent | None = None
    failure: Failure | None = None


Listener: TypeAlias = Callable[[JobNews], None]
"""May raise a `UserError`: what is under way is stopped, and goes on another time."""


class Executor(Protocol):
    """Where jobs are run."""

    def run(
        self, job: Job, meter: Meter, note: Callable[[AnyEvent], None]
    ) -> Coroutine[Any, Any, Failure | None]:
        """Run a job to its end, or go on with it by its journal; why it has no result, None where it has one.

        Args:
            meter: counts its questions; it may refuse one.
            note: takes what happens.
        """
        ...


@dataclass(frozen=True)
class Local:
    """Runs jobs in this process.

    Args:
        factory: gives what makes a host of that name.
        accept_changes: whether jobs that were stopped go on under another config or other prompts.
        again: the command that goes on with them, where it is another than `manyheads resume`.
        table: of the folder's jobs, all of which go by what was known of a server when the first of them was begun.
    """

    factory: Callable[[str], HostFactory]
    table: JobTable
    accept_changes: bool = False
    again: str | None = None

    async def run(self, job: Job, meter: Meter, note: Callable[[AnyEvent], None]) -> Failure | None:
        """See `Executor.run`."""
        session = Session(job.config, job.folder, self.accept_changes, self.again, meter, self._settled)
        try:
            async with aclosing(session.events(self.factory(job.config.host))) as events:
                async for event in events:
                    note(event)
        except BudgetError as error:  # which is this run's own, or ends all of them
            return Failure(str(error))
        except UserError as error:
            return Failure(str(error), error.message)
        return None

    def _settled(self, model: ModelConfig) -> ModelConfig:
        known = self.table.first_known(key_of_server(model), abilities_of(model).model_dump_json())
        return settled(model, Abilities.model_validate_json(known))


@dataclass
class FailureStreak:
    """Failures for one reason, with no success between them."""

    cause: str = ""
    failing: list[str] = field(default_factory=list[str])
    """Their groups."""
    working: set[str] = field(default_factory=set[str])
    """Groups that have had a success, in this start or an earlier one."""

    def failed(self, job: Job, cause: str) -> None:
        if cause != self.cause:
            self.cause, self.failing = cause, []
        self.failing.append(job.group)

    def succeeded(self, job: Job) -> None:
        self.working.add(job.group)
        self.failing = []

    def hopeless(self, job: Job) -> bool:
        """Whether a job would fail as well. One of a group that works is tried: the reason may lie in others."""
        return len(self.failing) >= ENOUGH and (job.group in self.failing or job.group not in self.working)


class Scheduler:
    """Runs the jobs of a folder; those that are finished are left as they are.

    Args:
        table: of the folder; this worker has joined it.
        budget: what the jobs may spend together, opened.
        at_once: jobs at a time, in this process.
    """

    def __init__(
        self, table: JobTable, executor: Executor, budget: JobsBudget, listener: Listener, *, at_once: int
    ) -> None:
        self._table, self._executor, self._budget = table, executor, budget
        self._listener, self._at_once = listener, at_once
        self._running = dict[asyncio.Task[Failure | None], Job]()
        self._elsewhere = dict[str, Job]()
        self._failures = dict[str, Failure]()
        self._streaks = defaultdict[str, FailureStreak](FailureStreak)
        """Of each kind."""

    async def run(self, jobs: Mapping[str, Job]) -> dict[str, Failure]:
        """Bring every job to its end; by key, why jobs have no result.

        Raises:
            UserError: the listener gives up, or the table cannot be used.
        """
        self._kept = {key for key in jobs if self._table.standing(key)[0] == "done"}
        self._order = TopologicalSorter({key: job.after for key, job in jobs.items()})
        self._order.prepare()
        self._waiting = list[Job]()
        numbers = {key: number for number, key in enumerate(jobs)}
        beating = asyncio.create_task(self._beat())
        try:
            while self._order.is_active():
                self._waiting += [jobs[key] for key in self._order.get_ready()]
                self._waiting.sort(key=lambda job: numbers[job.key])
                self._hand_out()
                if self._running or self._elsewhere:
                    await self._change(beating)
        finally:
            for task in (beating, *self._running):
                task.cancel()
            await asyncio.gather(beating, *self._running, return_exceptions=True)
        return self._failures

    def _hand_out(self) -> None:
        """Settle what is settled, and begin what can be begun."""
        for job in list(self._elsewhere.values()):
            if len(self._running) < self._at_once and self._take(job):
                del self._elsewhere[job.key]
        while len(self._running) < self._at_once and self._waiting:
            if not self._take(job := self._waiting.pop(0)):
                self._elsewhere[job.key] = job

    async def _change(self, beating: asyncio.Task[None]) -> None:
        """Wait until a job ends, here or elsewhere."""
        wait = POLL if self._elsewhere else None
        ended, _ = await asyncio.wait(
            {beating, *self._running}, timeout=wait, return_when=asyncio.FIRST_COMPLETED
        )
        if beating in ended:
            beating.result()
        for task in [task for task in self._running if task in ended]:
            self._ended(self._running.pop(task), task)
        if self._elsewhere:
            self._table.bury_dead()

    async def _beat(self) -> None:
        """Hold the leases. Where they were lost, as this process was held up, stop what others have begun since."""
        while True:
            await asyncio.sleep(HEARTBEAT)
            if not self._table.beat():
                for task, job in self._running.items():
                    if not self._table.claim(job.key):
                        task.cancel()

    def _take(self, job: Job) -> bool:
        """Settle a job, or begin it; False where another process has it."""
        if failure := next((self._failures[key] for key in job.after if key in self._failures), None):
            self._end(job, "left out", failure)
            return True
        standing, failure = self._table.standing(job.key)
        match standing:
            case "done":
                kept = job.key in self._kept
                self._end(job, "kept" if kept else "finished", text="" if kept else ELSEWHERE)
            case "failed" | "left out":
                self._end(job, standing, failure)
            case "pending" if failure := self._hindrance(job):
                self._end(job, "left out", failure)
            case "running" if (reached := self._budget.reached()) and reached[0] == "seconds":
                self._end(job, "left out", self._spent())
            case _ if not self._table.claim(job.key):
                return False
            case _:
                self._listener(JobNews(job, "began"))
                meter = JobMeter(self._budget, job.key)
                run = self._executor.run(job, meter, partial(self._note, job))
                self._running[asyncio.create_task(run)] = job
        return True

    def _hindrance(self, job: Job) -> Failure | None:
        """Why a job is not tried. That would be so in every process, but for what this one may spend."""
        if failure := self._spent():
            return failure
        streak = self._streaks[job.kind]
        if not streak.hopeless(job):
            return None
        failure = Failure(f"not tried, as {ENOUGH} in a row had failed for one reason: {streak.cause}")
        return failure if self._table.settle(job.key, "left out", failure) else None

    def _spent(self) -> Failure | None:
        reached = self._budget.reached()
        return Failure(str(self._budget.error(*reached))) if reached else None

    def _note(self, job: Job, event: AnyEvent) -> None:
        stage = f"{event.number}/{event.total} {event.title}" if isinstance(event, Stage) else ""
        self._listener(JobNews(job, "goes on", stage, event))

    def _ended(self, job: Job, task: asyncio.Task[Failure | None]) -> None:
        """Settle a job that ran here, unless its lease was lost: then another process settles it."""
        failure = None if task.cancelled() else task.result()
        standing: Standing = "failed" if failure else "done"
        if failure and not failure.cause and self._budget.reached():
            standing = "pending"  # another process may have more to spend
        if task.cancelled() or not self._table.settle(job.key, standing, failure):
            self._elsewhere[job.key] = job
        else:
            self._end(job, "failed" if failure else "finished", failure)

    def _end(self, job: Job, state: State, failure: Failure | None = None, *, text: str = "") -> None:
        streak = self._streaks[job.kind]
        if failure:
            self._failures[job.key] = failure
        if state == "kept":
            streak.working.add(job.group)
        elif state == "finished":
            streak.succeeded(job)
        elif state == "failed" and failure and failure.cause:
            streak.failed(job, failure.cause)
        self._order.done(job.key)
        self._listener(JobNews(job, state, str(failure) if failure else text, failure=failure))


def finished_jobs(jobs: Mapping[str, Job]) -> dict[str, bool]:
    """Of each job, whether it has come to its end, and so has all that it needs, before it.

    Another result there makes it go on, or anew.
    """

    @cache
    def ended(key: str) -> int | None:
        """When the result was written; None where there is none, or one of a run that goes on."""
        folder = jobs[key].folder
        try:
            own = (folder / RESULT).stat().st_mtime_ns if is_finished(folder) else None
        except FileNotFoundError:
            return None
        before = [ended(each) for each in jobs[key].after]
        return own if own is not None and all(each is not None and each <= own for each in before) else None

    return {key: ended(key) is not None for key in jobs}
