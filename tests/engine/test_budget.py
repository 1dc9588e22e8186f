"""A turn that cannot be paid is not asked."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from manyheads.config import BudgetConfig
from manyheads.core import Usage
from manyheads.engine.budget import Budgeted, Ledger
from manyheads.errors import BudgetError, ModelError
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
        ({"tokens": 250}, 3),
        ({"tokens": 200}, 2),
        ({"calls": 4}, 2),
        ({"calls": 5}, 3),
        ({"money": 1.0}, 2),
    ],
)
async def test_asks_until_a_limit_is_reached(limits: dict[str, Any], asked: int) -> None:
    host = FilledHost(EACH)
    budgeted = Budgeted(host, Ledger(BudgetConfig(**limits)))
    for _ in range(asked):
        await budgeted.ask(turn())
    key = next(iter(limits))
    with pytest.raises(
        BudgetError, match=rf"budget\.{key} is {limits[key]}[\s\S]*--set budget\.{key}=<larger>"
    ):
        await budgeted.ask(turn())
    assert len(host.asked) == asked


async def test_time_is_a_limit() -> None:
    ledger = Ledger(BudgetConfig(seconds=0.05))
    budgeted = Budgeted(FilledHost(EACH), ledger)
    await budgeted.ask(turn())
    await asyncio.sleep(0.06)
    with pytest.raises(BudgetError, match=r"budget\.seconds"):
        await budgeted.ask(turn())


async def test_recorded_turns_count() -> None:
    ledger = Ledger(BudgetConfig(tokens=100))
    ledger.pay(EACH)
    with pytest.raises(BudgetError):
        await Budgeted(FilledHost(EACH), ledger).ask(turn())


async def test_what_was_spent_is_known() -> None:
    ledger = Ledger(BudgetConfig())
    budgeted = Budgeted(FilledHost(EACH), ledger)
    for _ in range(3):
        await budgeted.ask(turn())
    assert ledger.spent == Usage(input_tokens=210, output_tokens=90, calls=6, cost=1.5)


async def test_questions_under_way_count_as_calls() -> None:
    ledger = Ledger(BudgetConfig(calls=2))
    with ledger.asking(), ledger.asking(), pytest.raises(BudgetError, match="used: 2"), ledger.asking():
        raise AssertionError("asked although two were under way")
    with ledger.asking():
        pass


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


async def test_waiting_is_the_hosts_matter() -> None:
    host = FilledHost()
    await Budgeted(host, Ledger(BudgetConfig())).gate()
    assert host.gated == 1


@pytest.mark.parametrize("limits", [{"tokens": 0}, {"calls": -1}, {"money": 0}, {"seconds": 0}, {"token": 5}])
def test_limits_that_mean_nothing_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BudgetConfig(**limits)


def test_time_starts_with_the_ledger() -> None:
    ledger = Ledger(BudgetConfig(seconds=60))
    began = time.monotonic()
    with ledger.asking():
        pass
    assert time.monotonic() - began < 1
