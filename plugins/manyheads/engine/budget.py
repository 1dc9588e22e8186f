"""One budget for one or many runs: tokens, money, time, calls. Fail-closed: a request outside the budget is not sent."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar
from uuid import uuid4

from pydantic import ValidationError

from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import BudgetError, ConfigError, JournalError, describe, did_you_mean
from manyheads.base.files import FileLock, LockedError
from manyheads.base.sqlite import Database
from manyheads.config import BudgetConfig, RunConfig
from manyheads.core import NOTHING, Charge, Host, Meter, Reply, Turn, Usage
from manyheads.engine.journal import spent_in
from manyheads.models.prices import need_prices

R = TypeVar("R", bound=ReplyModel)
MINUTE = 60
KEYS = ("calls", "tokens", "money", "minutes")
EXAMPLE = "such as --budget calls=1000 --budget minutes=30; limits: calls, tokens, money and minutes"
POLL, LONGEST_POLL = 0.02, 3.0
"""Seconds between two looks at what the requests under way have left, at first and at most: in batches, hundreds wait for hours."""


class Budget:
    """Limits, what was used of them, and what the requests under way may still use.

    A request reserves the most that it may use before it is sent, and pays what it used when it has ended. One that fits only
    without those under way waits for them; one that does not fit at all is refused. So no limit is passed, however many requests
    are sent at once, by however many processes.

    Args:
        limits: those of a config, or of `--budget`; seconds count from this start.
        whose: whose `--budget` it is, for messages; None for the budget of a run's config.

    Attributes:
        spent: usage so far, with recorded and lost turns; of a folder's jobs, see `shared`.
        reserved: the most that the requests under way may use.
        limited: whether there is any limit.
        shared: what a folder's jobs paid and reserved, over all starts and processes.
        stopped: the first refusal of this start.
    """

    def __init__(self, limits: BudgetConfig, whose: str | None = None) -> None:
        self.limits, self._whose = limits, whose
        self.spent, self.reserved = NOTHING, NOTHING
        self.shared: Shared | None = None
        self.stopped: BudgetError | None = None
        self.limited = limits != BudgetConfig()
        self._began = time.monotonic()

    @classmethod
    def parse(cls, settings: Sequence[str], whose: str = "the suite's") -> Self:
        """The budget for settings such as `calls=1000`.

        Raises:
            ConfigError: one is not a limit, or one is set twice.
        """
        limits, hint = dict[str, str](), f"write it {EXAMPLE}"
        for setting in settings:
            key, equals, value = (part.strip() for part in setting.partition("="))
            if not equals or key not in KEYS:
                raise ConfigError(f"--budget {setting}: not a limit", hint=did_you_mean(key, KEYS, hint))
            if key in limits:
                raise ConfigError(f"--budget {setting}: {key} is set twice")
            limits[key] = value
        minutes = limits.pop("minutes", None)
        try:
            if minutes is not None:
                limits["seconds"] = str(float(minutes) * MINUTE)
            return cls(BudgetConfig.model_validate(limits), whose)
        except ValidationError as error:
            raise ConfigError(f"--budget: {describe(error)}", hint=hint) from error
        except ValueError as error:
            raise ConfigError(f"--budget minutes={minutes}: not a number", hint=hint) from error

    def limited_to(self, limits: BudgetConfig) -> Self:
        return type(self)(limits, self._whose)

    def need_prices(self, configs: Iterable[RunConfig]) -> None:
        """Raises `ConfigError` if money is limited and a model has no price."""
        for config in configs if self.limits.money is not None else ():
            need_prices(config, "--budget money")

    def open(self, folder: Path, journals: Mapping[str, Path] | None = None) -> "Shared":
        """Share the budget with all processes and starts of a folder's jobs, until `close`.

        Args:
            journals: journals of jobs by key, including earlier ones. Those with more than was paid count: their runs were
                resumed by hand.

        Raises:
            BudgetError: money is limited, and the earlier cost is unknown.
            JournalError: the payments cannot be read.
        """
        shared = self.shared = Shared(folder)
        paid = shared.payments()
        # another process has counted them, and its runs block their journals
        for key, journal in (journals or {}).items() if not shared.others else ():
            if self.limited or key not in paid:
                # a damaged one stops only its own run
                with nullcontext() if self.limited else suppress(JournalError):
                    shared.account(key, spent_in(journal))
        for key, usage in shared.payments().items():
            if self.limits.money is not None and usage.cost is None:
                raise BudgetError(
                    f"--budget money: {key}: was begun without prices, so its cost is unknown",
                    hint="limit calls or tokens, or start again in a new folder: --out FOLDER",
                )
        return shared

    def close(self) -> bool:
        """Share it no longer; returns whether no other process does."""
        return self.shared.close() if self.shared else True

    @property
    def overdue(self) -> bool:
        return self.limits.seconds is not None and time.monotonic() - self._began >= self.limits.seconds

    def pay(self, usage: Usage) -> None:
        """Count what earlier starts paid."""
        self.spent += usage

    def rest(self, seconds: float) -> None:
        """Do not count this time, in which the run waited for a person."""
        self._began += seconds

    def refusal(self) -> BudgetError | None:
        """Why no request is sent any more: one was refused, or a limit is reached; None if there is budget left."""
        self.stopped = self.stopped or self._fit(Usage(calls=1), self._state()[0])
        return self.stopped

    @asynccontextmanager
    async def asking(self, charge: Charge, job: str = "run") -> AsyncGenerator[None]:
        """Wraps one request to a model, of one of the jobs; a `core.Meter`.

        Raises:
            BudgetError: it does not fit into what is left; it must not be sent.
        """
        pause = POLL
        while (number := self._reserve(charge.most, job)) is None:
            await asyncio.sleep(pause)  # other processes settle theirs, too
            pause = min(1.1 * pause, LONGEST_POLL)  # a tenth of the wait so far
            if self.shared:
                self.shared.bury_dead()
        try:
            yield
        finally:
            if self.shared:
                self.shared.settle(number, job, charge.usage)
            else:
                self.reserved -= charge.most
                self.spent += charge.usage

    def _reserve(self, most: Usage, job: str) -> int | None:
        """The number of a new reservation; None while it does not fit beside the requests under way."""
        with self.shared.transaction() if self.shared else nullcontext():
            spent, reserved = self._state()
            if refusal := self._fit(most, spent):
                self.stopped = self.stopped or refusal
                raise refusal
            if self._fit(most, spent + reserved):
                return None
            if self.shared:
                return self.shared.reserve(job, most)
            self.reserved += most
            return 0

    def _state(self) -> tuple[Usage, Usage]:
        return self.shared.spent() if self.shared else (self.spent, self.reserved)

    def _fit(self, most: Usage, spent: Usage) -> BudgetError | None:
        seconds = time.monotonic() - self._began
        for key, used, more in (
            ("tokens", spent.tokens, most.tokens),
            ("money", spent.cost or 0.0, most.cost or 0.0),
            ("seconds", seconds, 0),
            ("calls", spent.calls, most.calls),
        ):
            limit = getattr(self.limits, key)
            if limit is not None and (used >= limit or round(used + more, 9) > limit):
                return self._error(key, limit, used, more if used < limit else 0)
        return None

    def _error(self, key: str, limit: float, used: float, more: float) -> BudgetError:
        if self._whose and key == "seconds":
            key, limit, used = "minutes", limit / MINUTE, used / MINUTE
        what = f"budget.{key} is {limit}" if self._whose is None else f"{key} {limit:g}"
        beyond = f"; the next request may use {more:.6g}" if more else ""
        return BudgetError(
            f"{self._whose or 'the'} budget is spent: {what}, used: {used:.6g}{beyond}",
            hint=f"run the same command again with --budget {key}=<larger>"
            if self._whose
            else f"resume with a larger one: manyheads resume RUN --set budget.{key}=<larger>",
        )


FILE, LIFE = "jobs.sqlite", ".worker-*"
SCHEMA = (
    """CREATE TABLE IF NOT EXISTS payment (
    job TEXT PRIMARY KEY, calls INTEGER NOT NULL DEFAULT 0, input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0, cost REAL
)""",
    """CREATE TABLE IF NOT EXISTS reservation (
    number INTEGER PRIMARY KEY, worker TEXT NOT NULL, job TEXT NOT NULL, calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, cost REAL
)""",
    "CREATE TABLE IF NOT EXISTS server (key TEXT PRIMARY KEY, known TEXT NOT NULL)",
)
AMOUNTS = "calls, input_tokens, output_tokens, cost"


class Shared:
    """The file that processes on one folder share: payments by job, reservations of requests under way, abilities of servers.

    Each process keeps a file of its own locked while it lives: neither a wrong clock nor a sleeping machine ends its reservations.
    All run on one machine (required by SQLite's write-ahead log).

    Raises:
        JournalError: it cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._worker = folder, uuid4().hex
        self._life = life = folder / f".worker-{self._worker}"
        with self._speaking():
            self._alive = FileLock(life, wait=True)
            # another process took it for that of a dead one, before it was locked
            while not self._alive.stands:
                self._alive = FileLock(life, wait=True)
            self._db = Database(folder / FILE, *SCHEMA)
        self.others = any(_lives(path) for path in folder.glob(LIFE) if path != life)
        """Whether other processes had it already."""
        self.bury_dead()

    @contextmanager
    def transaction(self) -> Generator[None]:
        with self._speaking(), self._db.transaction():
            yield

    @contextmanager
    def _speaking(self) -> Generator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise JournalError(
                f"{self._folder / FILE}: cannot be read or written: {error}",
                hint="check that the disk is writable and not full, or name another --out",
            ) from error

    def bury_dead(self) -> None:
        """Count as paid what dead processes had reserved, since nobody knows what was not used of it."""
        rows = self._db.rows(f"SELECT worker, number, job, {AMOUNTS} FROM reservation")
        workers = {worker for worker, *_ in rows} - {self._worker}
        dead = {worker for worker in workers if not _lives(self._folder / f".worker-{worker}")}
        for worker, number, job, *amounts in rows:
            if worker in dead:
                self.settle(number, job, _usage(*amounts))

    def close(self) -> bool:
        """Leave the file; returns whether nobody else has it."""
        self._db.close()
        self._life.unlink(missing_ok=True)
        self._alive.release()
        return not in_use(self._folder)

    def payments(self) -> dict[str, Usage]:
        rows = self._db.rows(f"SELECT job, {AMOUNTS} FROM payment WHERE calls > 0")
        return {key: _usage(*amounts) for key, *amounts in rows}

    def spent(self) -> tuple[Usage, Usage]:
        """Total paid for all jobs, and the most that the requests under way may use."""
        sums = "coalesce(sum(calls), 0), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), sum(cost)"
        query = f"SELECT {sums} FROM payment UNION ALL SELECT {sums} FROM reservation"
        paid, reserved = (_usage(*amounts) for amounts in self._db.rows(query))
        return paid, reserved

    def reserve(self, key: str, most: Usage) -> int:
        """Reserve the most that a job's request may use; returns the reservation's number."""
        new = f"INSERT INTO reservation (worker, job, {AMOUNTS}) VALUES (?, ?, ?, ?, ?, ?) RETURNING number"
        return self._db.rows(new, self._worker, key, *_amounts(most))[0][0]

    def settle(self, number: int, key: str, usage: Usage) -> None:
        """Put what a request used in the place of its reservation, unless that counts as paid already."""
        with self.transaction():
            if self._db.change("DELETE FROM reservation WHERE number = ?", number):
                self._pay(key, self._paid(key) + usage)

    def account(self, key: str, usage: Usage) -> None:
        """Set what was paid for a job, if a journal has more than this file."""
        with self.transaction():
            if usage.calls > self._paid(key).calls:
                self._pay(key, usage)

    def _paid(self, key: str) -> Usage:
        row = self._db.row(f"SELECT {AMOUNTS} FROM payment WHERE job = ?", key)
        return _usage(*row) if row else NOTHING

    def _pay(self, key: str, usage: Usage) -> None:
        self._db.change("INSERT OR REPLACE INTO payment VALUES (?, ?, ?, ?, ?)", key, *_amounts(usage))

    def first_known(self, key: str, known: str) -> str:
        """The stored abilities of a server; stores these if there are none."""
        with self.transaction():
            self._db.change("INSERT OR IGNORE INTO server VALUES (?, ?)", key, known)
            return self._db.rows("SELECT known FROM server WHERE key = ?", key)[0][0]


def in_use(folder: Path) -> bool:
    """Whether a process is running the jobs of a folder."""
    return any(map(_lives, folder.glob(LIFE)))


def _lives(path: Path) -> bool:
    """Whether a process keeps this file locked; removes that of a dead one."""
    try:
        with FileLock(path, mode="r+"):
            path.unlink(missing_ok=True)
    except FileNotFoundError:
        return False
    except LockedError:
        return True
    return False


def _usage(calls: int, read: int, written: int, cost: float | None) -> Usage:
    return Usage(input_tokens=read, output_tokens=written, calls=calls, cost=cost)


def _amounts(usage: Usage) -> tuple[float | None, ...]:
    return usage.calls, usage.input_tokens, usage.output_tokens, usage.cost


class Budgeted:
    """A host that sends no request once a budget is spent, not even to repair a reply; each of its meters counts.

    Args:
        before: awaited before each request, when it is reserved.
    """

    def __init__(
        self, host: Host, *meters: Meter, before: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._host, self._meters, self._before = host, meters, before

    async def gate(self) -> None:
        await self._host.gate()

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """See `Host.ask`.

        Raises:
            BudgetError: a limit is reached.
        """
        return await self._host.ask(replace(turn, meter=self._asking))

    @asynccontextmanager
    async def _asking(self, charge: Charge) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for meter in self._meters:
                await stack.enter_async_context(meter(charge))
            if self._before:
                await self._before()
            yield
