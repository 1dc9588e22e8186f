"""One budget for one or many runs: tokens, money, time, calls. Fail-closed: a request outside the budget is not sent."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar

from pydantic import ValidationError

from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import BudgetError, ConfigError, JournalError, describe, did_you_mean
from manyheads.config import BudgetConfig, RunConfig
from manyheads.core import NOTHING, Charge, Host, Meter, Reply, Turn, Usage
from manyheads.engine.jobtable import JobTable
from manyheads.engine.journal import spent_in
from manyheads.models.prices import need_prices

R = TypeVar("R", bound=ReplyModel)
MINUTE = 60
KEYS = ("calls", "tokens", "money", "minutes")
EXAMPLE = "such as --budget calls=1000 --budget minutes=30; limits: calls, tokens, money and minutes"
POLL = 0.02
"""Seconds between two looks at what the requests under way have left."""


class Budget:
    """Limits, what was used of them, and what the requests under way may still use.

    A request reserves the most that it may use before it is sent, and pays what it used when it has ended. One that fits only
    without those under way waits for them; one that does not fit at all is refused. So no limit is passed, however many requests
    are sent at once, by however many processes.

    Args:
        limits: those of a config, or of `--budget`; seconds count from this start.
        whose: whose `--budget` it is, for messages; None for the budget of a run's config.

    Attributes:
        spent: usage so far, with recorded and lost turns; of a folder's jobs, see `table`.
        reserved: the most that the requests under way may use.
        table: payments of a folder's jobs, over all starts and processes.
        stopped: the first refusal of this start.
    """

    def __init__(self, limits: BudgetConfig, whose: str | None = None) -> None:
        self.limits, self._whose = limits, whose
        self.spent, self.reserved = NOTHING, NOTHING
        self.table: JobTable | None = None
        self.stopped: BudgetError | None = None
        self._began = time.monotonic()

    @classmethod
    def parse(cls, settings: Sequence[str], whose: str = "the suite's") -> Self:
        """The budget for settings such as `calls=1000`.

        Raises:
            ConfigError: one is not a limit, or one is set twice.
        """
        limits: dict[str, str] = {}
        for setting in settings:
            key, equals, value = (part.strip() for part in setting.partition("="))
            if not equals or key not in KEYS:
                raise ConfigError(
                    f"--budget {setting}: not a limit", hint=did_you_mean(key, KEYS, f"write it {EXAMPLE}")
                )
            if key in limits:
                raise ConfigError(f"--budget {setting}: {key} is set twice")
            limits[key] = value
        minutes = limits.pop("minutes", None)
        try:
            if minutes is not None:
                limits["seconds"] = str(float(minutes) * MINUTE)
            return cls(BudgetConfig.model_validate(limits), whose)
        except ValidationError as error:
            raise ConfigError(f"--budget: {describe(error)}", hint=f"write it {EXAMPLE}") from error
        except ValueError as error:
            raise ConfigError(
                f"--budget minutes={minutes}: not a number", hint=f"write it {EXAMPLE}"
            ) from error

    def need_prices(self, configs: Iterable[RunConfig]) -> None:
        """Raises `ConfigError` if money is limited and a model has no price."""
        for config in configs if self.limits.money is not None else ():
            need_prices(config, "--budget money")

    def open(self, table: JobTable, journals: Mapping[str, Path], *, first: bool) -> None:
        """Use a table's payments, and those of journals with more: of runs resumed by hand, or begun without the table.

        Args:
            journals: journals of jobs by key, including earlier ones.
            first: whether no other process is running, which would have done this and would block the journals.

        Raises:
            BudgetError: money is limited, and the earlier cost is unknown.
            JournalError: the payments cannot be read.
        """
        self.table = table
        counted = {key for key, usage in table.payments() if usage.calls}
        for key, journal in journals.items() if first else ():
            if self.limited:
                table.account(key, spent_in(journal))
            elif key not in counted:
                with suppress(JournalError):  # a damaged one stops only its own run
                    table.account(key, spent_in(journal))
        for key, usage in table.payments():
            if self.limits.money is not None and usage.calls and usage.cost is None:
                raise BudgetError(
                    f"--budget money: {key}: was begun without prices, so its cost is unknown",
                    hint="limit calls or tokens, or start again in a new folder: --out FOLDER",
                )

    @property
    def limited(self) -> bool:
        return self.limits != BudgetConfig()

    @property
    def overdue(self) -> bool:
        """Whether its time is over."""
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
        """Wraps one request to a model, of a job of the table; a `core.Meter`.

        Raises:
            BudgetError: it does not fit into what is left; it must not be sent.
        """
        while (number := self._reserve(charge.most, job)) is None:  # noqa: ASYNC110
            await asyncio.sleep(POLL)  # other processes settle theirs, too
        try:
            yield
        finally:
            if self.table:
                self.table.settle_charge(number, job, charge.usage)
            else:
                self.reserved -= charge.most
                self.spent += charge.usage

    def _reserve(self, most: Usage, job: str) -> int | None:
        """The number of a new reservation; None while it does not fit beside the requests under way."""
        with self.table.transaction() if self.table else nullcontext():
            spent, reserved = self._state()
            if refusal := self._fit(most, spent):
                self.stopped = self.stopped or refusal
                raise refusal
            if self._fit(most, spent + reserved):
                return None
            if self.table:
                return self.table.reserve(job, most)
            self.reserved += most
            return 0

    def _state(self) -> tuple[Usage, Usage]:
        return self.table.spent() if self.table else (self.spent, self.reserved)

    def _fit(self, most: Usage, spent: Usage) -> BudgetError | None:
        """Why a request does not fit beside what is spent."""
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
        """The error for a limit, with what the refused request may use."""
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


class Budgeted:
    """A host that sends no request once a budget is spent, not even to repair a reply; each of its meters counts.

    Args:
        before: called before each request, when it is reserved.
    """

    def __init__(self, host: Host, *meters: Meter, before: Callable[[], None] = lambda: None) -> None:
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
        """Wraps one request to a model; raises `BudgetError` if a meter refuses it."""
        async with AsyncExitStack() as stack:
            for meter in self._meters:
                await stack.enter_async_context(meter(charge))
            self._before()
            yield
