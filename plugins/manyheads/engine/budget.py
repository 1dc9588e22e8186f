"""One budget for a run: tokens, money, time, calls. Fail-closed: a turn that cannot be paid is not asked."""

import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeVar

from manyheads.config.sections import BudgetConfig
from manyheads.core import Host, Meter, Reply, Turn, Usage
from manyheads.errors import BudgetError
from manyheads.replies import ReplyModel

R = TypeVar("R", bound=ReplyModel)


class Ledger:
    """What a run has spent, recorded and lost turns included, held against its limits. It is a `core.Meter`."""

    def __init__(self, limits: BudgetConfig) -> None:
        self.limits, self.spent = limits, Usage()
        self._under_way = 0
        self._began = time.monotonic()

    def pay(self, usage: Usage) -> None:
        self.spent += usage

    @contextmanager
    def asking(self) -> Generator[None]:
        """Around one question to a model; questions under way count as a call each.

        Raises:
            BudgetError: a limit is reached; nothing is to be asked.
        """
        if reached := self.reached():
            raise self.error(*reached)
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def reached(self) -> tuple[str, float, float] | None:
        """The first limit that is reached: its key, the limit, and what is used; None while there is something left."""
        for key, used in self._used().items():
            limit = getattr(self.limits, key)
            if limit is not None and used >= limit:
                return key, limit, used
        return None

    def error(self, key: str, limit: float, used: float) -> BudgetError:
        """What is said where a limit is reached."""
        return BudgetError(
            f"the budget is spent: budget.{key} is {limit}, used are {used:g}",
            hint=f"go on with more: manyheads resume RUN --set budget.{key}=<larger>",
        )

    def _used(self) -> dict[str, float]:
        return {
            "tokens": self.spent.tokens,
            "money": self.spent.cost or 0.0,
            "seconds": time.monotonic() - self._began,
            "calls": self.spent.calls + self._under_way,
        }


class Meters:
    """Several meters as one: each is asked, and told of every answer."""

    def __init__(self, *meters: Meter) -> None:
        self._meters = meters

    @contextmanager
    def asking(self) -> Generator[None]:
        """Around one question to a model; raises `BudgetError` where one of them refuses it."""
        with ExitStack() as stack:
            for meter in self._meters:
                stack.enter_context(meter.asking())
            yield

    def pay(self, usage: Usage) -> None:
        for meter in self._meters:
            meter.pay(usage)


class Budgeted:
    """A host that asks nothing once the budget is spent, not even an invalid reply anew."""

    def __init__(self, host: Host, meter: Meter) -> None:
        self._host, self._meter = host, meter

    async def gate(self) -> None:
        await self._host.gate()

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """See `Host.ask`.

        Raises:
            BudgetError: a limit is reached.
        """
        return await self._host.ask(replace(turn, meter=self._meter))
