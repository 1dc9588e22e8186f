"""Estimates are corrected by the bills of a user's own runs, if these are enough."""

import json
from pathlib import Path

import pytest

from manyheads.config import RunConfig
from manyheads.core import Tally, Usage
from manyheads.engine.bills import TOTAL, Bills, scaled
from manyheads.engine.estimate import DRAWS, QUICK, compared, estimate
from manyheads.systems.loading import load
from support.llm import LLM
from support.play import config_for, play

ESTIMATE = Usage(calls=10, input_tokens=1000, output_tokens=100, cost=0.01)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MANYHEADS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def config_of(name: str = "x", *sets: str) -> RunConfig:
    model = (
        "models.default.provider=openai",
        f"models.default.name={name}",
        "idea=Owls plan well.",
    )
    return load(["rebuttal"], [*model, "models.default.price={input: 1, output: 2}", *sets])


def bills_of(config: RunConfig, *factors: float) -> Bills:
    bills = Bills.of(config)
    for number, factor in enumerate(factors):
        paid = {"Ideas": ESTIMATE.times(factor), "Abstracts": ESTIMATE}
        bill = {stage: (ESTIMATE, usage) for stage, usage in paid.items()}
        bills.keep(Path(f"run-{number}"), {**bill, TOTAL: (ESTIMATE.times(2), Tally(paid).total)})
    return bills


def test_each_stage_has_its_own_factor_and_a_new_stage_that_of_all() -> None:
    right = bills_of(config_of(), 2, 3, 4).corrected(
        {"Ideas": ESTIMATE, "Abstracts": ESTIMATE, "New": ESTIMATE}
    )
    assert right["Ideas"] == ESTIMATE.times(3)
    assert right["Abstracts"] == ESTIMATE
    assert right["New"] == ESTIMATE.times(2)


def test_input_output_calls_and_cost_differ() -> None:
    paid = Usage(calls=11, input_tokens=2000, output_tokens=900, cost=0.03)
    assert scaled(ESTIMATE, ESTIMATE, paid).model_dump() == pytest.approx(paid.model_dump())
    assert scaled(ESTIMATE.times(2), ESTIMATE, paid).cost == pytest.approx(0.06)


def test_cost_follows_the_tokens_where_the_runs_had_no_price_and_is_never_made_up() -> None:
    free = ESTIMATE.model_copy(update={"cost": None})
    assert scaled(ESTIMATE, free, free.times(3)).cost == pytest.approx(0.03)
    assert scaled(free, ESTIMATE, ESTIMATE.times(3)).cost is None
    assert scaled(free, free, free.times(3)).cost is None


def test_counts_that_no_estimate_has_follow_the_tokens() -> None:
    paid = ESTIMATE.model_copy(update={"estimated": 5})
    assert scaled(ESTIMATE.times(2), ESTIMATE, paid).estimated == 10


def test_each_run_is_measured_without_itself() -> None:
    plain, corrected = bills_of(config_of(), 2, 2, 5).each_by_the_others()
    assert plain == pytest.approx([1.5, 1.5, 3])
    assert corrected == pytest.approx([1.5 / 2.25, 1.5 / 2.25, 3 / 1.5])


async def test_fewer_than_three_runs_correct_nothing_and_it_is_said() -> None:
    config = config_of()
    before = await estimate([config])
    for number in range(3):
        bills_of(config, *[2.0] * number)
        made = await estimate([config], QUICK)
        assert made.spent == before.spent
        [words] = made.basis
        assert words.startswith("not corrected")
        assert f"{number} run" in words
    bills_of(config, 2, 2, 2)
    made = await estimate([config], QUICK)
    assert made.basis == ["corrected by 3 runs of rebuttal with openai/x"]
    assert made.spent.total.tokens == pytest.approx(1.5 * before.spent.total.tokens, rel=0.01)


@pytest.mark.slow
async def test_a_corrected_estimate_is_the_mean_of_several_seeds() -> None:
    config = config_of()
    draws = [await estimate([config_of("y", f"seed={config.seed + number}")]) for number in range(DRAWS)]
    calls = [each.spent.total.calls for each in draws]
    bills_of(config, 1, 1, 1)
    made = await estimate([config, config.model_copy(update={"seed": 7})])
    assert made.spent.total.calls == pytest.approx(2 * sum(calls) / DRAWS, abs=4)
    assert max(calls) > 1.5 * min(calls), "the offline model decides by chance"


async def test_only_runs_of_the_same_system_and_models_count() -> None:
    bills_of(config_of(), 2, 2, 2)
    judge = "models.judge={provider: openai, name: y}"
    for other in (
        config_of("y"),
        config_of("x", judge),
        load(["self-reflection"], ["models.default.provider=openai"]),
    ):
        assert not Bills.of(other)
    assert Bills.of(config_of("x", "models.me.provider=human")), "people are not paid"
    offline = load(["rebuttal"], ["idea=Owls plan well."])
    assert (await estimate([offline])).basis == []


def test_a_damaged_file_or_no_cache_is_no_bill(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of()
    bills = bills_of(config, 2, 2, 2)
    assert len(Bills.of(config).runs) == 3
    bills.file.write_text("{", encoding="utf-8")
    assert not Bills.of(config).runs
    (cache / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("MANYHEADS_CACHE", str(cache / "file"))
    assert not Bills.of(config).runs


@pytest.mark.slow
async def test_requests_that_no_result_uses_are_billed_to_the_stages(llm: LLM, tmp_path: Path) -> None:
    folder, config = tmp_path / "run", config_for(llm)
    played = await play(config, folder, llm)
    data = {**played.events[-1].model_dump()["data"]}
    lost = {"calls": data["usage"]["calls"], "input_tokens": 500, "output_tokens": 50}
    data["usage"] |= {name: data["usage"][name] + value for name, value in lost.items()} | {"unused": lost}
    (folder / "result.json").write_text(json.dumps(data), encoding="utf-8")
    [bill] = (await compared(folder, config)).runs.values()
    _, paid = bill.pop(TOTAL)
    assert (paid.calls, paid.input_tokens) == (2 * len(played.requests), data["usage"]["input_tokens"])
    shares = Tally({stage: each for stage, (_, each) in bill.items()})
    assert shares.total.calls == paid.calls
    assert shares.total.input_tokens == pytest.approx(paid.input_tokens, abs=5)
