"""The tokens of a baseline: how far they reach, what a run may be like, and that they are never overrun."""

import asyncio
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from manyheads.asking.roles import Roles
from manyheads.base.errors import BudgetError, ConfigError, ModelError
from manyheads.base.papers import NoLiterature
from manyheads.base.resources import Resources
from manyheads.core import Turn, Usage
from manyheads.core.events import AnyEvent, Warned
from manyheads.systems import systems
from manyheads.systems.baselines.config import BaselineResult
from manyheads.systems.equal_cost import resolve
from manyheads.systems.loading import validate
from manyheads.team.run import Run
from support.direct import config_for, play
from support.faults import Fault
from support.hosts import FilledHost
from support.llm import LLM
from support.results import today

ROLES = Roles(Resources())
Costs = Callable[[str, int], Usage]
"""What a reply costs, by its task and its number in the run, from 0."""


def tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def usage(read: int, written: int) -> Usage:
    return Usage(input_tokens=read, output_tokens=written, calls=1)


@dataclass
class Told:
    """What a baseline did on a host whose replies cost what a test says."""

    tasks: list[str] = field(default_factory=list[str])
    costs: list[int] = field(default_factory=list[int])
    events: list[AnyEvent] = field(default_factory=list[AnyEvent])
    result: dict[str, Any] | None = None

    @property
    def used(self) -> int:
        return sum(self.costs)


def held(system: str, costs: Costs, **baseline: Any) -> Told:
    """Run a system without literature; a `BudgetError` leaves no result."""
    told = Told()

    def price(turn: Turn[Any]) -> None:
        host.usage = costs(turn.place.task, len(told.tasks))
        told.tasks.append(turn.place.task)
        told.costs.append(tokens(host.usage))

    host = FilledHost(before=price)
    data = {"system": system, "topic": "T", "ideas": {"references": 0}, "novelty": {"references": 0}}
    run = Run(
        validate({**data, "baseline": baseline}, "test"),
        host,
        ROLES,
        NoLiterature(),
        told.events.append,
        BaselineResult(),
    )
    try:
        told.result = asyncio.run(drive(system, run))
    except BudgetError:
        told.result = None
    return told


async def drive(system: str, run: Run) -> dict[str, Any]:
    await systems()[system].run(run)
    return run.result.model_dump(mode="json")


@pytest.mark.parametrize(
    ("allowed", "ideas"),
    [(201, 1), (849, 1), (850, 2), (1149, 2), (1150, 3), (1300, 4), (1449, 4), (1450, 5)],
)
def test_ideas_are_drafted_while_another_can_be_paid(allowed: int, ideas: int) -> None:
    """Replies of 100 + 50 tokens. A choice among k ideas may take 100 k + 50 (k + 1), the abstract 200.

    So n drafts need 150 n, a choice among the best 3 of them 350 or 500, and the abstract: 850 for 2, 1150 for 3.
    """
    told = held("single", lambda task, number: usage(100, 50), tokens=allowed)
    choice = ["pick"] if ideas > 1 else []
    assert told.tasks == ["propose"] * ideas + choice + ["abstract"]
    assert told.result
    assert told.result["baseline"]["tokens_used"] == told.used <= max(allowed, 300)


@pytest.mark.parametrize(
    ("system", "allowed", "cause"),
    [
        ("self-reflection", None, ""),
        ("self-reflection", 800, ""),
        ("self-reflection", 1000, "rounds"),
        ("discussion", 100_000, "turns"),
    ],
)
def test_only_tokens_that_would_pay_another_round_are_missed(
    system: str, allowed: int | None, cause: str
) -> None:
    """Three rounds and the proposal cost 600; another round takes 150, and the abstract 200."""
    told = held(system, lambda task, number: usage(100, 50), tokens=allowed, rounds=3, turns=3)
    assert told.tasks.count("reflect") + told.tasks.count("criticise") == 3
    warned = [event.message for event in told.events if isinstance(event, Warned)]
    assert [f"for equal cost allow more {cause}" in each for each in warned if "equal cost" in each] == [
        True
    ] * bool(cause)


def test_rounds_of_reflection_end_while_the_abstract_can_be_paid() -> None:
    """150 tokens a reply, of the first round 200 are expected and 200 are kept for the abstract: 550, then 150 more."""
    rounds = [
        held("self-reflection", lambda task, number: usage(100, 50), tokens=allowed).tasks.count("reflect")
        for allowed in (549, 550, 649, 650, 799, 800)
    ]
    assert rounds == [0, 1, 1, 2, 2, 3]


@given(
    system=st.sampled_from(["single", "self-reflection", "discussion"]),
    costs=st.lists(st.tuples(st.integers(0, 4000), st.integers(50, 4000)), min_size=1, max_size=12),
    allowed=st.integers(1, 30_000),
)
@example(system="single", costs=[(10, 10), (10, 10), (900, 10)], allowed=200)
def test_tokens_are_overrun_by_the_last_reply_at_most(
    system: str, costs: list[tuple[int, int]], allowed: int
) -> None:
    """Whatever replies cost: no question is put once the tokens are spent."""
    told = held(
        system, lambda task, number: usage(*costs[number % len(costs)]), tokens=allowed, rounds=20, turns=5
    )
    assert told.used - told.costs[-1] < allowed
    if told.result:
        assert told.tasks[-1] == "abstract"
        assert told.result["baseline"]["tokens_used"] == told.used
        assert told.result["baseline"]["ideas"] == len(told.result["ideas"])


def test_a_dear_draft_costs_the_choice_before_it_costs_the_abstract() -> None:
    def costs(task: str, number: int) -> Usage:
        return usage(1000, 50) if number == 2 else usage(100, 50)

    told = held("single", costs, tokens=1500)
    assert told.tasks == ["propose", "propose", "propose", "abstract"]
    [warned] = [event for event in told.events if isinstance(event, Warned) and event.stage == "novelty"]
    assert "the most confident one is taken" in warned.message


@pytest.mark.parametrize(
    ("cost", "said"),
    [((100, 50), r"100 tokens .*150 used[\s\S]*--set tokens=<larger>"), ((0, 0), "reports no token usage")],
)
def test_what_cannot_be_held_to_tokens_stops_after_its_first_reply(cost: tuple[int, int], said: str) -> None:
    data = {"system": "single", "topic": "T", "ideas": {"references": 0}, "baseline": {"tokens": 100}}
    host = FilledHost(usage(*cost))
    run = Run(validate(data, "test"), host, ROLES, NoLiterature(), list[AnyEvent]().append, BaselineResult())
    with pytest.raises(BudgetError, match=said):
        asyncio.run(drive("single", run))
    assert len(host.asked) == 1


async def test_a_baseline_may_use_what_a_team_has_used(llm: LLM, tmp_path: Path) -> None:
    small = ("topic=T", "turns=1", "embedding=lexical", "ideas.references=1", "novelty.references=1")
    team = await play(config_for(llm, *small), tmp_path / "team", llm)
    cost = team.result["usage"]["input_tokens"] + team.result["usage"]["output_tokens"]
    config = config_for(llm, *small, "system=single", f"baseline.like={team.folder}")
    llm.faults.append(Fault("status", when=lambda request: request.title == "Abstract", status=403))
    with pytest.raises(ModelError):
        await play(config, tmp_path / "alone", llm)
    kept = yaml.safe_load((tmp_path / "alone" / "config.yaml").read_text(encoding="utf-8"))
    assert kept["single"]["like"] == {"run": str(team.folder), "tokens": cost}
    shutil.rmtree(team.folder)
    alone = await play(validate(kept, "config.yaml"), tmp_path / "alone", llm)
    told = alone.result["baseline"]
    assert (told["tokens_allowed"], told["like"]) == (cost, str(team.folder))
    assert 0.5 * cost < told["tokens_used"] <= cost


def result(**spent: object) -> str:
    return json.dumps(today({"system": "virsci", "usage": spent}))


@pytest.mark.parametrize(
    ("files", "says", "hint"),
    [
        ({}, "not a run folder", "runs/<time>-<name>"),
        ({"config.yaml": ""}, "not a finished run", "manyheads resume"),
        ({"result.json": "{"}, "not valid JSON", None),
        ({"result.json": "[]"}, "not a JSON object", None),
        ({"result.json": result(input_tokens=5, output_tokens=None)}, r"usage\.output_tokens", None),
        ({"result.json": result(input_tokens=0, output_tokens=0)}, "counted no tokens", "tokens=N"),
    ],
)
def test_a_run_that_cannot_be_followed_is_named(
    tmp_path: Path, files: dict[str, str], says: str, hint: str | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    config = validate({"system": "single", "topic": "T", "baseline": {"like": str(tmp_path)}}, "test")
    with pytest.raises(ConfigError, match=says) as refused:
        resolve(config)
    assert str(tmp_path) in str(refused.value)
    assert hint is None or hint in str(refused.value.hint)


def test_a_number_and_a_run_cannot_both_be_followed() -> None:
    with pytest.raises(ConfigError, match="give tokens or like, not both"):
        validate({"system": "single", "baseline": {"tokens": 5, "like": "runs/x"}}, "test")
