"""Each request that is sent counts, on any host: retries, time-outs, refused forms, rounds of tools."""

import asyncio
from typing import Any

import pytest

from manyheads.base.errors import BudgetError, ModelError
from manyheads.config import BudgetConfig, ModelConfig
from manyheads.core import Usage
from manyheads.engine.budget import Budget, Budgeted
from manyheads.models.requests import usage_of
from support.faults import Fault, refuses_format
from support.llm import LLM
from support.native import Hosting
from support.turns import LOOK_UP, model, turn

PRICE = {"input": 1000.0, "output": 2000.0}


@pytest.mark.parametrize(
    ("fault", "tokens", "patience"),
    [(Fault("status", times=None), 0, 30), (Fault("slow", times=None), 99, 0.5)],
    ids=["500s", "never answers"],
)
async def test_a_retry_is_a_call(llm: LLM, host: Hosting, fault: Fault, tokens: int, patience: float) -> None:
    llm.faults.append(fault)
    budget = Budget(BudgetConfig(calls=3))
    settings = {"retries": 5, "timeout": patience, "max_wait": 0.01, "max_tokens": 99, "price": PRICE}
    async with host(model(llm, **settings)) as on:
        with pytest.raises(BudgetError, match=r"calls is 3, used: 3"):
            await Budgeted(on, budget.asking).ask(turn())
    assert llm.calls == budget.spent.calls == 3
    assert budget.spent.output_tokens == 3 * tokens, "what timed out may be charged for, to its limit"
    assert (budget.spent.estimated, budget.spent.input_tokens > 0) == (3 * bool(tokens), bool(tokens))
    assert budget.reserved.calls == 0


async def test_the_usage_of_a_reply_has_every_request(llm: LLM, host: Hosting) -> None:
    llm.faults += [Fault("status", status=503), Fault("slow"), refuses_format()]
    async with host(model(llm, retries=5, timeout=1, max_wait=0.01)) as on:
        reply = await on.ask(turn())
    assert reply.usage.calls == llm.calls > 3
    assert reply.usage.estimated == 1


async def test_nothing_that_was_not_sent_is_paid(host: Hosting) -> None:
    with LLM() as gone:
        pass
    budget = Budget(BudgetConfig(calls=3))
    async with host(model(gone, retries=4, max_wait=0.01)) as on:
        with pytest.raises(ModelError):
            await Budgeted(on, budget.asking).ask(turn())
    assert budget.spent == Usage()


async def test_a_limit_stops_between_two_rounds_of_tools(llm: LLM, host: Hosting) -> None:
    llm.tool_calls = [("look_up", {"subject": "owls"})]
    budget = Budget(BudgetConfig(calls=1))
    async with host(model(llm)) as on:
        with pytest.raises(BudgetError):
            await Budgeted(on, budget.asking).ask(turn(tools=(LOOK_UP,)))
    assert llm.calls == 1


@pytest.mark.parametrize("limits", [{"tokens": 3000}, {"money": 4.0}])
async def test_many_at_once_never_pass_a_limit(llm: LLM, host: Hosting, limits: dict[str, Any]) -> None:
    """Eight at once, each with an answer of at most 300 tokens."""
    budget = Budget(BudgetConfig(**limits))
    async with host(model(llm, max_tokens=300, price=PRICE, concurrency=8)) as on:
        asked = Budgeted(on, budget.asking)
        answers = await asyncio.gather(*(asked.ask(turn()) for _ in range(8)), return_exceptions=True)
    kinds = {type(each).__name__ for each in answers}
    assert kinds == {"Reply", "BudgetError"}
    [(key, limit)] = limits.items()
    used = {"tokens": budget.spent.tokens, "money": budget.spent.cost or 0.0}
    assert limit / 4 < used[key] <= limit


@pytest.mark.parametrize(
    ("read", "written", "estimated"),
    [(1, 0, 1), (100, 0, 1), (4, 100, 1), (100, 4, 1), (100, 5, 0), (5, 100, 0), (90, 80, 0), (9000, 100, 0)],
)
def test_a_count_far_below_what_was_written_is_an_estimate(read: int, written: int, estimated: int) -> None:
    usage = usage_of(ModelConfig(), read, written, "x" * 399, "y" * 399)
    assert usage.estimated == estimated
    assert (usage.input_tokens, usage.output_tokens) == ((100, 100) if estimated else (read, written))


def test_an_answer_of_a_few_letters_may_be_counted_as_nothing() -> None:
    assert usage_of(ModelConfig(), 100, 0, 100, "Yes.").estimated == 0
