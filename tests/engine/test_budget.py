"""A turn that cannot be paid is not asked."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import BudgetError, ModelError
from manyheads.config import BudgetConfig
from manyheads.core import Charge, Usage
from manyheads.engine.budget import Budget, Budgeted
from support.hosts import FilledHost
from support.llm import LLM
from support.play import config_for, play
from support.requests import Request
from support.turns import turn


def nonsense(request: Request) -> str:
    return "nonsense"


EACH = Usage(input_tokens=70, output_tokens=30, calls=2, cost=0.5)


@pytest.mark.parametrize(
    ("limits", "asked"),
    [
        ({"tokens": 299}, 2),
        ({"tokens": 300}, 3),
        ({"calls": 4}, 2),
        ({"calls": 5}, 2),
        ({"money": 1.0}, 2),
        ({"money": 0.9}, 1),
        ({"calls": 6, "tokens": 200}, 2),
    ],
)
async def test_asks_until_a_limit_is_reached(limits: dict[str, Any], asked: int) -> None:
    host = FilledHost(EACH)
    budgeted = Budgeted(host, Budget(BudgetConfig(**limits)).asking)
    for _ in range(asked):
        await budgeted.ask(turn())
    key = list(limits)[-1]
    with pytest.raises(
        BudgetError, match=rf"budget\.{key} is {limits[key]}[\s\S]*--set budget\.{key}=<larger>"
    ):
        await budgeted.ask(turn())
    assert len(host.asked) == asked


async def test_time_is_a_limit() -> None:
    ledger = Budget(BudgetConfig(seconds=0.05))
    budgeted = Budgeted(FilledHost(EACH), ledger.asking)
    await budgeted.ask(turn())
    await asyncio.sleep(0.06)
    with pytest.raises(BudgetError, match=r"budget\.seconds"):
        await budgeted.ask(turn())


async def test_a_request_that_fits_only_alone_waits_for_those_under_way() -> None:
    budget = Budget(BudgetConfig(tokens=100, calls=4))
    under_way, most, order = 0, Charge(Usage(input_tokens=60, calls=1)), list[int]()

    async def ask(used: int) -> None:
        nonlocal under_way
        charge = Charge(most.most)
        async with budget.asking(charge):
            under_way += 1
            assert under_way == 1, "two at once may use 120 of 100 tokens"
            await asyncio.sleep(0.01)
            charge.usage = Usage(input_tokens=used, calls=1)
            order.append(used)
            under_way -= 1

    await asyncio.gather(ask(10), ask(20), ask(30))
    assert (sorted(order), budget.spent.tokens, budget.reserved.tokens) == ([10, 20, 30], 60, 0)
    with pytest.raises(BudgetError, match=r"tokens is 100, used: 60; the next request may use 60"):
        await ask(1)
    assert budget.spent.tokens == 60


async def test_a_request_that_was_not_sent_costs_nothing() -> None:
    budget = Budget(BudgetConfig(calls=1))
    with pytest.raises(OSError, match="refused"):
        async with budget.asking(Charge(Usage(calls=1))):
            raise OSError("refused")
    assert (budget.spent, budget.reserved.calls, budget.refusal()) == (Usage(), 0, None)


async def test_a_reply_that_is_asked_for_anew_is_paid_and_counted(llm: LLM, tmp_path: Path) -> None:
    llm.reply = nonsense
    config = config_for(llm, "budget.calls=2", "attempts=5")
    with pytest.raises(BudgetError, match=r"budget\.calls is 2, used: 2"):
        await play(config, tmp_path / "run", llm)
    assert llm.calls == 2


async def test_what_was_paid_for_nothing_is_remembered_by_the_run(llm: LLM, tmp_path: Path) -> None:
    llm.reply, alone = nonsense, ("topic=T", "team.size=1")
    with pytest.raises(ModelError):
        await play(config_for(llm, *alone, "budget.calls=4"), tmp_path / "run", llm)
    assert llm.calls == 3
    with pytest.raises(BudgetError, match="used: 4"):
        await play(config_for(llm, *alone, "budget.calls=4"), tmp_path / "run", llm)
    assert llm.calls == 4


async def test_time_that_was_waited_for_a_person_does_not_count() -> None:
    budget = Budget(BudgetConfig(seconds=0.2))
    await asyncio.sleep(0.15)
    budget.rest(0.15)
    await asyncio.sleep(0.1)
    assert not budget.overdue, "it counts once in the end, and was taken out once"
    await asyncio.sleep(0.15)
    assert budget.overdue, "it was taken out once, not twice"
