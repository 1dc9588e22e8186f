"""Many runs: concurrent jobs in order of their dependencies; a failed one leaves the others alone.

Processes started on one folder share its jobs: a run folder is locked by its journal, and finished when its result says so. A
process takes the jobs that are free, and waits for the others; the lock of one that dies is free at once.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Literal, TypeAlias

from manyheads.base.errors import HeldError
from manyheads.base.folders import is_held
from manyheads.config import RunConfig
from manyheads.core import Meter
from manyheads.core.events import AnyEvent, Stage
from manyheads.core.results import RESULT, is_finished
from manyheads.engine.budget import Budget

POLL = 0.5
"""Seconds between two looks at jobs of other processes."""
ENOUGH = 3
"""Number of consecutive failures for one reason that stops further tries."""
ELSEWHERE = "by another process"


@dataclass(frozen=True)
class Job:
    """A run to do.

    Attributes:
        key: the job's identity for all processes and starts.
        folder: its run folder.
        label: its name in messages.
        after: keys of the jobs that must finish first.
        kind: the kind of job, such as a judge's: one kind may fail where another does not.
        group: jobs of its kind that are likely to fail together.
    """

    key: str
    folder: Path
    config: RunConfig
    label: str
    after: tuple[str, ...] = ()
    kind: str = "run"
    group: str = ""


@dataclass(frozen=True)
class Failure:
    """Why a job has no result.

    Attributes:
        reason: the full error message.
        cause: equal for equal failures; empty if other jobs are not affected.
    """

    reason: str
    cause: str = ""

    def __str__(self) -> str:
        return "; ".join(line.strip() for line in self.reason.splitlines())


State: TypeAlias = Literal["kept", "held", "began", "goes on", "finished", "lacks", "failed", "left out"]
"""A job that is `held` is tried again when the process that has it ends. Jobs that are `left out` are not started: a dependency failed, or the job would
fail for the same reason as others. `lacks` is for clients that miss something in a result."""


@dataclass(frozen=True)
class JobNews:
    """A job's state with its detail: the stage, or the error.

    Attributes:
        event: of a job that goes on, the last event.
        failure: of a job that failed or was left out.
    """

    job: Job
    state: State
    text: str = ""
    event: AnyEvent | None = None
    failure: Failure | None = None


Listener: TypeAlias = Callable[[JobNews], None]
"""May raise a `UserError`: running jobs are stopped, to be resumed later."""


Executor: TypeAlias = Callable[[Job, Meter, Callable[[AnyEvent], None]], Coroutine[Any, Any, Failure | None]]
"""Runs a job to its end, or resumes it from its journal; returns the failure, None for success. The meter counts its requests, and may
refuse one. Raises `HeldError` if another process has the job, or has just finished it."""


@dataclass
class FailureStreak:
    cause: str = ""
    failing: list[str] = field(default_factory=list[str])
    """Their groups."""
    working: set[str] = field(default_factory=set[str])
    """Groups with a success, in this start or an earlier one."""


class Scheduler:
    """Runs the jobs of a folder; finished jobs are left alone.

    Args:
        budget: the opened budget of all jobs together.
        at_once: concurrent jobs in this process.
    """

    def __init__(self, executor: Executor, budget: Budget, listener: Listener, *, at_once: int) -> None:
        self._executor, self._budget = executor, budget
        self._listener, self._at_once = listener, at_once
        self._running = dict[asyncio.Task[Failure | None], Job]()
        self._held = set[str]()
        self._failures = dict[str, Failure]()
        self._streaks = defaultdict[str, FailureStreak](FailureStreak)
        """By kind."""

    async def run(self, jobs: Mapping[str, Job]) -> dict[str, Failure]:
        """Finish every job; returns the failures by key.

        Raises:
            UserError: the listener stops, or the payments cannot be written.
        """
        self._jobs, self._waiting = jobs, list[Job]()
        self._kept = {key for key, finished in finished_jobs(jobs).items() if finished}
        self._order = TopologicalSorter({key: job.after for key, job in jobs.items()})
        self._order.prepare()
        numbers = {key: number for number, key in enumerate(jobs)}
        try:
            while self._order.is_active():
                self._waiting += [jobs[key] for key in self._order.get_ready()]
                self._waiting.sort(key=lambda job: numbers[job.key])
                held = self._hand_out()
                if self._running or held:
                    await self._change(POLL if held else None)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
        ended = finished_jobs(jobs) if self._failures else {}  # another process may have had more luck
        return {key: failure for key, failure in self._failures.items() if not ended[key]}

    def _hand_out(self) -> bool:
        """Settle finished jobs, and start the ready ones; returns whether other processes have some."""
        held = list[Job]()
        while self._waiting and len(self._running) < self._at_once:
            if not self._take(job := self._waiting.pop(0)):
                held.append(job)
        self._waiting += held
        return bool(held)

    async def _change(self, most: float | None) -> None:
        """Wait until a job ends here, at most some seconds."""
        if self._running:
            await asyncio.wait(self._running, timeout=most, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(POLL)
        # in the order in which they began, so that several that end together are settled alike each time
        for task in [task for task in self._running if task.done()]:
            job = self._running.pop(task)
            try:
                failure = task.result()
            except HeldError:
                self._waiting.append(job)
                self._hold(job)
            else:
                self._end(job, "failed" if failure else "finished", failure)

    def _take(self, job: Job) -> bool:
        """Settle or start a job; False if another process has it."""
        # looked at before its result, which is written while it is held
        held = job.key not in self._kept and is_held(job.folder)
        if failure := next((self._failures[key] for key in job.after if key in self._failures), None):
            self._end(job, "left out", failure)
        elif job.key in self._kept:
            self._end(job, "kept")
        elif self._is_finished(job):
            self._end(job, "finished", text=ELSEWHERE)
        elif held and not self._budget.overdue:
            self._hold(job)
            return False
        elif failure := self._out_of_budget() or self._fails_again_and_again(job):
            self._end(job, "left out", failure)
        else:

            def note(event: AnyEvent) -> None:
                stage = f"{event.number}/{event.total} {event.title}" if isinstance(event, Stage) else ""
                self._listener(JobNews(job, "goes on", stage, event))

            self._listener(JobNews(job, "began"))
            run = self._executor(job, partial(self._budget.asking, job=job.key), note)
            self._running[asyncio.create_task(run)] = job
        return True

    def _hold(self, job: Job) -> None:
        if job.key not in self._held:
            self._held.add(job.key)
            self._listener(JobNews(job, "held", f"another process is running in {job.folder}"))

    def _is_finished(self, job: Job) -> bool:
        """Whether its result is newer than those that it depends on, which are finished."""
        own = ended_at(job)
        return own is not None and all((ended_at(self._jobs[key]) or own) <= own for key in job.after)

    def _out_of_budget(self) -> Failure | None:
        refusal = self._budget.refusal()
        return Failure(str(refusal)) if refusal else None

    def _fails_again_and_again(self, job: Job) -> Failure | None:
        streak = self._streaks[job.kind]
        # a job of a group with a success is tried: the reason may lie in other groups
        if len(streak.failing) < ENOUGH or (job.group in streak.working and job.group not in streak.failing):
            return None
        return Failure(f"not tried: {ENOUGH} jobs in a row failed for the same reason: {streak.cause}")

    def _end(self, job: Job, state: State, failure: Failure | None = None, *, text: str = "") -> None:
        streak = self._streaks[job.kind]
        if failure:
            self._failures[job.key] = failure
        if state in ("kept", "finished"):
            streak.working.add(job.group)
        if state == "finished":
            streak.failing = []
        elif state == "failed" and failure and failure.cause:
            streak.failing = [*(streak.failing if failure.cause == streak.cause else ()), job.group]
            streak.cause = failure.cause
        self._order.done(job.key)
        self._listener(JobNews(job, state, str(failure) if failure else text, failure=failure))


def ended_at(job: Job) -> int | None:
    """When the result of a job was written; None if there is none, or the run is unfinished."""
    try:
        return (job.folder / RESULT).stat().st_mtime_ns if is_finished(job.folder) else None
    except FileNotFoundError:
        return None


def finished_jobs(jobs: Mapping[str, Job]) -> dict[str, bool]:
    """For each job, whether it and all its dependencies are finished.

    If a dependency has a new result, the job is resumed or restarted.
    """

    @cache
    def ended(key: str) -> int | None:
        own, before = ended_at(jobs[key]), [ended(each) for each in jobs[key].after]
        return own if own is not None and all(each is not None and each <= own for each in before) else None

    return {key: ended(key) is not None for key in jobs}
