"""The jobs of a suite, run side by side, each once; one that fails leaves those alone that do not need it."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from difflib import get_close_matches
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import ValidationError

from manyheads.config.sections import BudgetConfig
from manyheads.core import Usage
from manyheads.core.events import Stage
from manyheads.core.results import RESULT, is_finished, result_data
from manyheads.engine.budget import Ledger
from manyheads.engine.folder import JOURNAL
from manyheads.engine.journal import spent_in
from manyheads.engine.session import Session
from manyheads.errors import BudgetError, ConfigError, SubjectError, UserError, describe
from manyheads.hosts import host_factory
from manyheads.suites.plan import Job
from manyheads.suites.spec import Absent, SuiteSpec, Wanted, at

# Measures that no result has are noticed before everything is paid for.


class Lookout:
    """Looks at results as they come. A measure is given up where nothing that is still to come can have it.

    Runs of one condition have results of one form, and all judgings of a kind have: one that lacks a key tells of all.
    """

    def __init__(self, spec: SuiteSpec, jobs: Mapping[Path, Job]) -> None:
        self._wanted = [each for each in spec.wanted if each.of != "novelty"]
        self._forms = defaultdict[str, set[str]](set)
        for job in jobs.values():
            self._forms[job.of].add(_form(job))
        self._had = set[str]()
        self._lacking: dict[str, set[str]] = defaultdict(set)

    def look(self, job: Job) -> Iterable[str]:
        """Look at a finished job; what is said of it, once each measure.

        Raises:
            ConfigError: a measure that no result has had, nor one to come can have.
        """
        wanted = [each for each in self._wanted if each.of == job.of and each.name not in self._had]
        if not wanted:
            return
        try:
            result = result_data(job.folder)
        except SubjectError:
            return  # said where it is measured
        absent = dict[Wanted, Absent]()
        for each in wanted:
            match at(result, each.path):
                case Absent(never=True) as found:
                    absent[each] = found
                case Absent():
                    pass
                case _:
                    self._had.add(each.name)
        for each, found in absent.items():
            if each.name not in self._lacking:
                yield f"no {each.name}: {found.why}"
            self._lacking[each.name].add(_form(job))
        self._check(absent)

    def _check(self, absent: Mapping[Wanted, Absent]) -> None:
        for measure, found in absent.items():
            if self._lacking[measure.name] < self._forms[measure.of]:
                continue
            near = get_close_matches(measure.path[-1], found.there, 1)
            raise ConfigError(
                f"measures: {measure.name}: {found.why}, nor can any other {measure.of} of this suite have it",
                tried=f"there are {', '.join(found.there)}" if found.there else None,
                hint=f"mend it in suite.yaml{f' (is it {near[0]}?)' if near else ''}; "
                "what is finished is kept, and the same command goes on",
            )


def _form(job: Job) -> str:
    return job.condition if job.of == "run" else job.of


# One budget for a whole suite: what earlier starts have paid for counts, and a question that it cannot pay is not put.


MINUTE = 60
SUCH_AS = "such as --budget calls=1000 --budget minutes=30; there are calls, tokens, money and minutes"


class Purse(Ledger):
    """What the jobs of a suite may spend together; minutes are those of this start."""

    def error(self, key: str, limit: float, used: float) -> BudgetError:
        if key == "seconds":
            key, limit, used = "minutes", limit / MINUTE, used / MINUTE
        return BudgetError(
            f"the suite's budget is spent: {key} {limit:g}, used are {used:.6g}",
            hint=f"go on with more: the same command with --budget {key}=<larger>",
        )

    def open(self, jobs: Iterable[Job], folder: Path) -> None:
        """Count what earlier starts have paid in a suite's folder, for these jobs or for others.

        Raises:
            ConfigError: money is limited, and a model has no price.
            BudgetError: money is limited, and what was paid earlier is not known.
            JournalError: what was paid cannot be read.
        """
        if self.limits == BudgetConfig():
            return
        for job in jobs:
            self._need_prices(job)
        for journal in folder.rglob(JOURNAL):
            self._count(journal.parent, spent_in(journal))

    def _need_prices(self, job: Job) -> None:
        unpriced = [alias for alias, model in job.config.models.items() if model.price is None]
        if self.limits.money is not None and unpriced:
            raise ConfigError(
                f"--budget money: models.{unpriced[0]} has no price",
                hint=f"--set 'models.{unpriced[0]}.price={{input: 0.15, output: 0.6}}', per million tokens",
            )

    def _count(self, run: Path, paid: Usage) -> None:
        if self.limits.money is not None and paid.calls and paid.cost is None:
            raise BudgetError(
                f"--budget money: {run}: was begun without prices, so that nobody knows what it has cost",
                hint="limit calls or tokens, or begin anew: --out FOLDER",
            )
        self.pay(paid)


def purse_of(settings: Sequence[str]) -> Purse:
    """The purse of settings such as `calls=1000`.

    Raises:
        ConfigError: one is no limit, or one is given twice.
    """
    given: dict[str, str] = {}
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or key not in ("calls", "tokens", "money", "minutes"):
            raise ConfigError(f"--budget {setting}: no limit", hint=SUCH_AS)
        if key in given:
            raise ConfigError(f"--budget {setting}: there is a limit of {key} already")
        given[key] = value
    return Purse(_limits(given))


def _limits(given: dict[str, str]) -> BudgetConfig:
    minutes = given.pop("minutes", None)
    try:
        limits = BudgetConfig.model_validate(given)
        return limits if minutes is None else _timed(limits, minutes)
    except ValidationError as error:
        raise ConfigError(f"--budget: {describe(error)}", hint=SUCH_AS) from error


def _timed(limits: BudgetConfig, minutes: str) -> BudgetConfig:
    try:
        seconds = float(minutes) * MINUTE
    except ValueError as error:
        raise ConfigError(f"--budget minutes={minutes}: no number", hint=SUCH_AS) from error
    return BudgetConfig.model_validate({**limits.model_dump(), "seconds": seconds})


State: TypeAlias = Literal["kept", "began", "goes on", "finished", "lacks", "failed", "left out"]
Tell: TypeAlias = Callable[[Job, State, str], None]
"""Told of a job, how it stands, and what there is to say of that: its stage, its error, or what its result lacks.

What is left out is not begun: something that it needs has failed, or it would fail as others did."""
Failures: TypeAlias = dict[Path, str]
"""By the job's folder, why it has no result."""
ENOUGH = 3
"""Failures in a row for one reason, after which the same is not tried again."""
AGAIN = "the same manyheads eval command"


@dataclass
class Streak:
    """Failures for one reason, with no success between them."""

    reason: str = ""
    failing: list[str] = field(default_factory=list[str])
    """Their conditions."""
    working: set[str] = field(default_factory=set[str])
    """Conditions that have had a success, in this start or an earlier one."""

    def failed(self, job: Job, reason: str) -> None:
        if reason != self.reason:
            self.reason, self.failing = reason, []
        self.failing.append(job.condition)

    def succeeded(self, job: Job) -> None:
        self.working.add(job.condition)
        self.failing = []

    def hopeless(self, job: Job) -> bool:
        """Whether a job would fail as well. One of a condition that works is tried: the reason may lie in others."""
        return len(self.failing) >= ENOUGH and (
            job.condition in self.failing or job.condition not in self.working
        )


class Queue:
    """Jobs in their order, each after those that it needs."""

    def __init__(self, jobs: Mapping[Path, Job]) -> None:
        self._jobs, self._number = jobs, {folder: number for number, folder in enumerate(jobs)}
        self._order = TopologicalSorter({folder: job.after for folder, job in jobs.items()})
        self._order.prepare()
        self._ready: list[tuple[int, Job]] = []

    def __bool__(self) -> bool:
        """Whether there are jobs that are not done."""
        return self._order.is_active()

    def next(self) -> Job | None:
        """The next job; None where others have to be done before."""
        for folder in self._order.get_ready():
            heappush(self._ready, (self._number[folder], self._jobs[folder]))
        return heappop(self._ready)[-1] if self._ready else None

    def done(self, job: Job) -> None:
        self._order.done(job.folder)


@dataclass
class Runner:
    """Runs jobs; those that are finished are left as they are, stopped ones go on by their journals.

    Args:
        at_once: jobs at a time.
        accept_changes: whether jobs that were stopped go on under another config or other prompts.
        purse: what they may spend together.
    """

    at_once: int
    accept_changes: bool
    purse: Purse
    lookout: Lookout
    tell: Tell
    failures: Failures = field(default_factory=dict[Path, str])
    _to_run: set[Path] = field(default_factory=set[Path])
    _streaks: defaultdict[str, Streak] = field(default_factory=lambda: defaultdict(Streak))
    """Of runs, reviews and rankings: a judge may fail while runs succeed."""

    async def run(self, jobs: Mapping[Path, Job]) -> Failures:
        """Run every job whose result is not there.

        Raises:
            ConfigError: a measure that no result can have; what is under way is stopped, and goes on another time.
        """
        queue, running = Queue(jobs), dict[asyncio.Task[None], Job]()
        self._to_run = {folder for folder, job in jobs.items() if not finished(job)}
        try:
            while queue:
                while len(running) < self.at_once and (job := queue.next()):
                    if self._settled(job):
                        queue.done(job)
                    else:
                        running[asyncio.create_task(self._job(job))] = job
                if running:
                    ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    for task in ended:
                        queue.done(running.pop(task))
                        await task
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        return self.failures

    def _settled(self, job: Job) -> bool:
        """Whether there is nothing to be run: it is finished, or cannot be tried."""
        if why := self._hindrance(job):
            self._give_up(job, why)
            self.tell(job, "left out", why)
        elif finished(job):
            self._streaks[job.of].working.add(job.condition)
            self.tell(job, "kept", "")
            self._look(job)
        else:
            return False
        return True

    def _hindrance(self, job: Job) -> str | None:
        """Why a job cannot be tried."""
        if failed := [self.failures[folder] for folder in job.after if folder in self.failures]:
            return failed[0]
        if finished(job):
            return None
        if reached := self.purse.reached():
            return in_one_line(self.purse.error(*reached))
        if self._streaks[job.of].hopeless(job):
            return (
                f"not tried, as {ENOUGH} in a row had failed for one reason: {self._streaks[job.of].reason}"
            )
        return None

    async def _job(self, job: Job) -> None:
        self.tell(job, "began", "")
        session = Session(job.config, job.folder, self.accept_changes, AGAIN, self.purse)
        try:
            async with aclosing(session.events(host_factory(job.config.host))) as events:
                async for event in events:
                    if isinstance(event, Stage):
                        self.tell(job, "goes on", f"{event.number}/{event.total} {event.title}")
        except UserError as error:
            if not isinstance(error, BudgetError):  # which is that run's own
                self._streaks[job.of].failed(job, error.message)
            said = in_one_line(error)
            self._give_up(job, said)
            self.tell(job, "failed", said)
            return
        self._streaks[job.of].succeeded(job)
        self._to_run.discard(job.folder)
        self.tell(job, "finished", "")
        self._look(job)

    def _give_up(self, job: Job, why: str) -> None:
        self.failures[job.folder] = why
        self._to_run.discard(job.folder)

    def _look(self, job: Job) -> None:
        """Look at what a result has of the measures; where nothing is left to be paid, all of it is said at the end."""
        try:
            for said in self.lookout.look(job):
                self.tell(job, "lacks", said)
        except ConfigError:
            if self._to_run:
                raise


def finished(job: Job) -> bool:
    """Whether a job has come to its end, and after all that it needs: another result there makes it go on, or anew."""
    try:
        ended = (job.folder / RESULT).stat().st_mtime_ns
        return is_finished(job.folder) and all(
            (folder / RESULT).stat().st_mtime_ns <= ended for folder in job.after
        )
    except FileNotFoundError:
        return False


def in_one_line(error: UserError) -> str:
    """All that an error says."""
    return "; ".join(line.strip() for line in str(error).splitlines())
