"""One budget for one or many runs: tokens, money, time, calls. Fail-closed: a request outside the budget is not sent."""

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar

from pydantic import ValidationError

from manyheads.config import BudgetConfig, RunConfig
from manyheads.core import Host, Meter, Reply, Turn, Usage
from manyheads.engine.jobtable import JobTable
from manyheads.engine.journal import spent_in
from manyheads.errors import BudgetError, ConfigError, JournalError, describe, did_you_mean
from manyheads.models.prices import need_prices
from manyheads.replies import ReplyModel

R = TypeVar("R", bound=ReplyModel)
MINUTE = 60
KEYS = ("calls", "tokens", "money", "minutes")
EXAMPLE = "such as --budget calls=1000 --budget minutes=30; limits: calls, tokens, money and minutes"


class Ledger:
    """A run's usage, with recorded and lost turns, and its limits. A `core.Meter`."""

    def __init__(self, limits: BudgetConfig) -> None:
        self.limits, self.spent = limits, Usage()
        self._under_way = 0
        self._began = time.monotonic()

    def pay(self, usage: Usage) -> None:
        self.spent += usage

    def rest(self, seconds: float) -> None:
        """Do not count this time, in which the run waited for a person."""
        self._began += seconds

    @contextmanager
    def asking(self) -> Generator[None]:
        """Wraps one request to a model; each pending request counts as a call.

        Raises:
            BudgetError: a limit is reached; the request must not be sent.
        """
        if reached := self.reached():
            raise self.error(*reached)
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def reached(self) -> tuple[str, float, float] | None:
        """The first limit reached: its key, the limit, and the usage; None if there is budget left."""
        for key, used in self._used().items():
            limit = getattr(self.limits, key)
            if limit is not None and used >= limit:
                return key, limit, used
        return None

    def error(self, key: str, limit: float, used: float) -> BudgetError:
        """The error for a reached limit."""
        return BudgetError(
            f"the budget is spent: budget.{key} is {limit}, used: {used:g}",
            hint=f"resume with a larger one: manyheads resume RUN --set budget.{key}=<larger>",
        )

    def _used(self) -> dict[str, float]:
        return {
            "tokens": self.spent.tokens,
            "money": self.spent.cost or 0.0,
            "seconds": time.monotonic() - self._began,
            "calls": self.spent.calls + self._under_way,
        }


class CommandBudget(Ledger):
    """The budget of a whole command, from `--budget`; seconds count from this start.

    Args:
        limits: the limits of `--budget`.
        whose: whose budget it is, for messages.
    """

    def __init__(self, limits: BudgetConfig, whose: str = "the suite's") -> None:
        super().__init__(limits)
        self._whose = whose

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

    def error(self, key: str, limit: float, used: float) -> BudgetError:
        if key == "seconds":
            key, limit, used = "minutes", limit / MINUTE, used / MINUTE
        return BudgetError(
            f"{self._whose} budget is spent: {key} {limit:g}, used: {used:.6g}",
            hint=f"run the same command again with --budget {key}=<larger>",
        )

    def need_prices(self, configs: Iterable[RunConfig]) -> None:
        """Raises `ConfigError` if money is limited and a model has no price."""
        for config in configs if self.limits.money is not None else ():
            need_prices(config, "--budget money")


class JobsBudget(CommandBudget):
    """The shared budget of a folder's jobs, over all starts and processes.

    Args:
        limits: the limits of `--budget`.
        whose: whose budget it is, for messages.
    """

    def __init__(self, limits: BudgetConfig, whose: str = "the suite's") -> None:
        super().__init__(limits, whose)
        self.table: JobTable | None = None
        self.stopped = False
        """Whether a limit stopped a job of this start."""

    def open(self, table: JobTable, journals: Mapping[str, Path], *, first: bool) -> None:
        """Load the payments from a table, and from journals with more: of runs resumed by hand, or begun without the table.

        Args:
            journals: journals of jobs by key, including earlier ones.
            first: whether no other process is running, which would have done this and would block the journals.

        Raises:
            BudgetError: money is limited, and the earlier cost is unknown.
            JournalError: the payments cannot be read.
        """
        self.table = table
        limited = self.limits != BudgetConfig()
        counted = {key for key, usage, _ in table.payments() if usage.calls}
        for key, journal in journals.items() if first else ():
            if limited:
                table.account(key, spent_in(journal))
            elif key not in counted:
                with suppress(JournalError):  # a damaged one stops only its own run
                    table.account(key, spent_in(journal))
        for key, usage, _ in table.payments():
            if self.limits.money is not None and usage.calls and usage.cost is None:
                raise BudgetError(
                    f"--budget money: {key}: was begun without prices, so its cost is unknown",
                    hint="limit calls or tokens, or start again in a new folder: --out FOLDER",
                )

    def reached(self) -> tuple[str, float, float] | None:
        """See `Ledger.reached`."""
        reached = super().reached()
        self.stopped |= reached is not None
        return reached

    def _used(self) -> dict[str, float]:
        assert self.table
        self.spent, self._under_way = self.table.spent()
        return super()._used()


class JobMeter:
    """A job's share of an open budget: its requests are reserved in the table before they are sent. A `core.Meter`."""

    def __init__(self, budget: JobsBudget, key: str) -> None:
        assert budget.table
        self._budget, self._table, self._key = budget, budget.table, key
        self._answered = 0
        """Requests that are paid, in a block that has not ended."""

    @contextmanager
    def asking(self) -> Generator[None]:
        """Wraps one request to a model; raises `BudgetError` if a limit is reached."""
        with self._table.transaction():
            if reached := self._budget.reached():
                raise self._budget.error(*reached)
            self._table.ask(self._key)
        try:
            yield
        finally:
            if self._answered:
                self._answered -= 1
            else:
                self._table.ask(self._key, -1)

    def pay(self, usage: Usage) -> None:
        """Add the usage of an answer and end its reservation, so that it never counts twice."""
        self._table.pay(self._key, usage, 1)
        self._answered += 1


class Budgeted:
    """A host that sends no request once a budget is spent, not even to repair a reply; each of its meters counts.

    Args:
        on_again: called before a turn is asked again, when its last reply was lost.
    """

    def __init__(self, host: Host, *meters: Meter, on_again: Callable[[], None] = lambda: None) -> None:
        self._host, self._meters, self._on_again = host, meters, on_again

    async def gate(self) -> None:
        await self._host.gate()

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """See `Host.ask`.

        Raises:
            BudgetError: a limit is reached.
        """
        return await self._host.ask(replace(turn, meter=_TurnMeter(self._meters, self._on_again)))


class _TurnMeter:
    """The meters of one turn. A `core.Meter`."""

    def __init__(self, meters: Sequence[Meter], on_again: Callable[[], None]) -> None:
        self._meters, self._on_again, self._paid = meters, on_again, False

    @contextmanager
    def asking(self) -> Generator[None]:
        """Wraps one request to a model; raises `BudgetError` if a meter refuses it."""
        if self._paid:
            self._on_again()
        with ExitStack() as stack:
            for meter in self._meters:
                stack.enter_context(meter.asking())
            yield

    def pay(self, usage: Usage) -> None:
        self._paid = True
        for meter in self._meters:
            meter.pay(usage)
